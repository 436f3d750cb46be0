"""The library's face: one Knowledge, and the use cases behind its calls (API-1).

    knowledge    a location and Settings -> Knowledge; what lookups, checks and reading need, put together
    filling      its writing half: files, folders and documents in
    reading      chunks and documents by name
    answers      an answer against what a session was shown: the guard's facts
    embed_once   one embedding per question, for all stages of a lookup
    options      the arguments of `lookup`, as a type

It knows no rule, no order of steps and no adapter: `wiring` chooses those.
"""

from citewell.app.knowledge import Knowledge

__all__ = ["Knowledge"]
