"""Errors become HTTP statuses here, and nowhere else in the servers; what an error says is its own `to_dict` (API-4).

"Nothing found" is a status of a lookup and never comes here.
"""

from __future__ import annotations

from citewell.errors import (
    Busy,
    CitewellError,
    ConfigError,
    EmbedderError,
    Forbidden,
    IngestError,
    InvalidRequest,
    RerankerError,
    ScopeDenied,
    StoreConflict,
    StoreError,
    StoreLocked,
    TimedOut,
    Unauthorized,
    UnknownEvidence,
)

_STATUSES: tuple[tuple[type[CitewellError], int], ...] = (
    (Unauthorized, 401),
    (Forbidden, 403),
    (ScopeDenied, 403),
    (UnknownEvidence, 404),
    (StoreConflict, 409),
    (IngestError, 422),
    (InvalidRequest, 422),
    (Busy, 429),
    (ConfigError, 500),
    (StoreLocked, 503),
    (StoreError, 503),
    (EmbedderError, 503),
    (RerankerError, 503),
    (TimedOut, 504),
)


def status_of(error: CitewellError) -> int:
    """The HTTP status of an error; 500 for one without a place in the table."""
    return next((status for kind, status in _STATUSES if isinstance(error, kind)), 500)
