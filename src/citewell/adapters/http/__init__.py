"""JSON over HTTP to one configured address, with bounded patience, for adapters whose model is behind an endpoint.

    endpoint   post, wait, try again, give up
    faults     every way in which that fails, and whether it may pass
    voice      whose endpoint it is: the words and the errors in which a fault is told

It knows neither what is asked nor what an answer means.
"""

from citewell.adapters.http.endpoint import Endpoint, Patience, Refused
from citewell.adapters.http.voice import Voice

__all__ = ["Endpoint", "Patience", "Refused", "Voice"]
