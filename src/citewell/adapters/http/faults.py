"""Every way in which httpx2 can fail, in one table: what it means to a caller, and whether it may pass.

Knows no address, no key and no time; `endpoint` puts the words into a sentence, and a Voice the settings' names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import httpx2

_START = "Check that it runs, and {section}.url."
_PROXY = "Check the proxy that was configured."
_SPEAKS = "Check that {section}.url names {speaks}."
_REPORT = "This is a fault of Citewell; report it."


@dataclass(frozen=True, slots=True)
class Fault:
    """One way to fail.

    Attributes:
        says: what happened, continuing "the embedding endpoint X ...".
        way_out: what the user can do; with places for what a Voice fills in.
        may_pass: whether asking again may help.
        unavailable: whether there is no answer, rather than one that can't be used.
        wait_s: how long the endpoint asks to be left alone; None if it says nothing.
        of_payload: whether it is what was sent that it won't have.
    """

    says: str
    way_out: str = ""
    may_pass: bool = False
    unavailable: bool = True
    wait_s: float | None = None
    of_payload: bool = False


_SLOW = Fault("did not answer in time", _START, may_pass=True)
_GONE = Fault("broke the connection", _START, may_pass=True)
_REFUSED = Fault("can't be reached", _START, may_pass=True)
_GARBLED = Fault("sent what is not HTTP, or stopped halfway", _SPEAKS, may_pass=True)
_ADDRESS = Fault("has an address that can't be used", _SPEAKS)
_OURS = Fault("was not asked properly", _REPORT, unavailable=False)

FAULTS: Mapping[type[Exception], Fault] = {
    httpx2.HTTPError: _GONE,
    httpx2.RequestError: _GONE,
    httpx2.TransportError: _GONE,
    httpx2.TimeoutException: _SLOW,
    httpx2.ConnectTimeout: _SLOW,
    httpx2.ReadTimeout: _SLOW,
    httpx2.WriteTimeout: _SLOW,
    httpx2.PoolTimeout: _SLOW,
    httpx2.NetworkError: _GONE,
    httpx2.ConnectError: _REFUSED,
    httpx2.ReadError: _GONE,
    httpx2.WriteError: _GONE,
    httpx2.CloseError: _GONE,
    httpx2.ProxyError: Fault("can't be reached through the proxy", _PROXY, may_pass=True),
    httpx2.UnsupportedProtocol: _ADDRESS,
    httpx2.InvalidURL: _ADDRESS,
    httpx2.ProtocolError: _GARBLED,
    httpx2.RemoteProtocolError: _GARBLED,
    httpx2.LocalProtocolError: _OURS,
    httpx2.DecodingError: Fault("sent a body that can't be decompressed", _SPEAKS, unavailable=False),
    httpx2.TooManyRedirects: Fault("sends the request elsewhere, again and again", _SPEAKS),
    httpx2.HTTPStatusError: Fault("refused the request", _SPEAKS, unavailable=False),
    httpx2.SSEError: _GARBLED,
    httpx2.CookieConflict: _OURS,
    httpx2.StreamError: _OURS,
    httpx2.StreamConsumed: _OURS,
    httpx2.StreamClosed: _OURS,
    httpx2.ResponseNotRead: _OURS,
    httpx2.RequestNotRead: _OURS,
}
"""Each exception class that httpx2 exports, by itself; a test fails on one that is not here."""


def fault_of(error: Exception) -> Fault:
    """The fault that the error stands for: its own entry, or that of its nearest known base."""
    return next(FAULTS[base] for base in type(error).__mro__ if base in FAULTS)


def fault_of_status(status: int, said: str, *, wait_s: float | None = None) -> Fault | None:
    """The fault that a status stands for, with what the endpoint said about it; None for success (2xx)."""
    says = f"answers {status}" + (f": {said}" if said else "")
    if 200 <= status < 300:
        return None
    if status == 429:
        return Fault(says, "It limits the rate; try again later, or ask it less.", may_pass=True, wait_s=wait_s)
    if status >= 500:
        return Fault(says, "It is out of order; see its log.", may_pass=True, wait_s=wait_s)
    if status in (401, 403):
        return Fault(says, "Check {section}.api-key, and that it may use this model.")
    if status == 404:
        return Fault(says, "Check {section}.url and {section}.name: the address or the model is not known there.")
    if status < 400:
        return Fault(f"answers {status}, a redirection", "Set {section}.url to the address that it redirects to.")
    return Fault(says, "{refused}", unavailable=False, of_payload=True)
