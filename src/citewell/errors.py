"""Every error that Citewell raises on purpose, each with a stable code and the way out.

It knows no vendor: adapters translate foreign errors into these once, and edges translate these into exit codes,
HTTP statuses and MCP errors once. "Nothing found" is a status of a lookup, never an error.

    CitewellError
    ├── ConfigError            config            a setting is unknown, ill-typed or out of range
    ├── InvalidRequest         invalid_request   an argument of a call can't be used
    ├── UnknownEvidence        unknown_evidence  no such evidence key in the caller's scope
    ├── ScopeDenied            scope_denied      the store demands a scope and none was given
    ├── StoreError             store             the store failed
    │   ├── StoreLocked        store_locked      another writer holds the store
    │   ├── StoreCorrupt       store_corrupt     files are damaged
    │   ├── StoreVersion       store_version     written by another schema or analyser version
    │   ├── StoreUnreachable   store_unreachable no such store, no permission, no answer, no space
    │   └── StoreConflict      store_conflict    a document changed while its new version was prepared
    ├── EmbedderError          embedder          the embedder failed on a text
    │   ├── EmbedderMismatch   embedder_mismatch the store was filled by another embedder
    │   └── EmbedderUnavailable embedder_unavailable  model not installed, endpoint down
    ├── Unauthorized           unauthorized      a server's caller bears no known token
    ├── Forbidden              forbidden         a server's caller may not do this
    ├── Busy                   busy              too many calls wait already
    ├── TimedOut               timed_out         the work took longer than its caller waits
    ├── RerankerError          reranker          the reranker failed or took too long
    └── IngestError            ingest            a document can't be read or split
"""

from __future__ import annotations

from typing import ClassVar


class CitewellError(Exception):
    """What happened, and the way out.

    Attributes:
        code: stable and machine-readable; never changes between versions.
        message: what happened, naming the value.
        way_out: what the caller can do about it; empty if there is nothing to say.
    """

    code: ClassVar[str] = "citewell"

    def __init__(self, message: str, *, way_out: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.way_out = way_out

    def __str__(self) -> str:
        return f"{self.message}. {self.way_out}" if self.way_out else self.message

    def to_dict(self) -> dict[str, str]:
        """The error as an edge hands it out: `{code, message, way_out}`."""
        return {"code": self.code, "message": self.message, "way_out": self.way_out}


class ConfigError(CitewellError, ValueError):
    """A setting is unknown, of the wrong type or out of range."""

    code = "config"


class InvalidRequest(CitewellError, ValueError):
    """An argument of a call can't be used."""

    code = "invalid_request"


class UnknownEvidence(CitewellError, LookupError):
    """There is no such evidence key within the caller's scope (outside it reads the same)."""

    code = "unknown_evidence"


class ScopeDenied(CitewellError):
    """The store demands a scope and the call has none."""

    code = "scope_denied"


class StoreError(CitewellError):
    """The store failed."""

    code = "store"


class StoreLocked(StoreError):
    """Another writer holds the store."""

    code = "store_locked"


class StoreCorrupt(StoreError):
    """Files of the store are damaged."""

    code = "store_corrupt"


class StoreVersion(StoreError):
    """The store was written by another schema or analyser version."""

    code = "store_version"


class StoreUnreachable(StoreError):
    """The store can't be opened, read or written: missing, no permission, no space, no answer."""

    code = "store_unreachable"


class StoreConflict(StoreError):
    """A document changed in the store between planning and writing its new version; plan again."""

    code = "store_conflict"


class EmbedderError(CitewellError):
    """The embedder failed on a text."""

    code = "embedder"


class EmbedderMismatch(EmbedderError):
    """The store was filled by another embedder than the one in use."""

    code = "embedder_mismatch"


class EmbedderUnavailable(EmbedderError):
    """The model is not installed, or its endpoint doesn't answer."""

    code = "embedder_unavailable"


class Unauthorized(CitewellError):
    """The call to a server bears no token that is known."""

    code = "unauthorized"


class Forbidden(CitewellError):
    """The caller of a server may not do this."""

    code = "forbidden"


class Busy(CitewellError):
    """Too many calls wait already; try again in a moment."""

    code = "busy"


class TimedOut(CitewellError):
    """The work took longer than its caller waits; it ends by itself."""

    code = "timed_out"


class RerankerError(CitewellError):
    """The reranker failed or took too long; a lookup goes on without it and says so (RERANK-1)."""

    code = "reranker"


class IngestError(CitewellError):
    """A document can't be read or split."""

    code = "ingest"
