"""What a caller within a scope is told of failures: that there are some, and not where and why (SAFE-3, API-4).

Messages name paths, hosts, processes and what other machines answered: for who runs the server, and for callers who
may see everything. To others the error keeps its code, and the log has the rest. It knows no protocol.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from citewell.errors import CitewellError, ConfigError, EmbedderError, RerankerError, StoreConflict, StoreError

if TYPE_CHECKING:
    from citewell.lookup import LookupResult
    from citewell.model import EvidenceBlock, PathReport
    from citewell.server.callers import Caller
    from citewell.sessions import OnShown

_log = logging.getLogger("citewell.server")

_PARTS: Final[tuple[tuple[type[CitewellError], str], ...]] = (
    (StoreError, "the store"),
    (EmbedderError, "the embedder"),
    (RerankerError, "the reranker"),
    (ConfigError, "the server"),
)
_WAY_OUT: Final = "Try again later; whoever runs the server finds the cause in its log."


def told(error: CitewellError, caller: Caller | None) -> CitewellError:
    """The error as this caller may read it; what is kept back goes to the log."""
    part = next((name for kind, name in _PARTS if isinstance(error, kind)), None)
    if part is None or caller is None or not _is_kept_from(caller) or isinstance(error, StoreConflict):
        return error
    _log.warning("a caller was not told why", extra={"cause": str(error), "caller": caller.name})
    return type(error)(f"{part} can't be had now", way_out=_WAY_OUT)


def found(result: LookupResult, caller: Caller) -> LookupResult:
    """A lookup's result as this caller may read it; why a part of it failed, the log has already."""
    if not _is_kept_from(caller):
        return result
    trace = replace(result.trace, paths=_reports(result.trace.paths), refill_paths=_reports(result.trace.refill_paths))
    causes = tuple(f"{cause.partition(':')[0]}: can't be had now" for cause in result.degraded)
    return replace(result, trace=trace, degraded=causes, on_shown=_recording(result.on_shown, caller))


def _is_kept_from(caller: Caller) -> bool:
    """Whoever starts a server sees its log, and so may read all: only bearers of a token with a scope may not."""
    return caller.bound and caller.apart


def _reports(reports: Sequence[PathReport]) -> tuple[PathReport, ...]:
    return tuple(replace(each, cause="can't be had now") if each.status == "failed" else each for each in reports)


def _recording(record: OnShown | None, caller: Caller) -> OnShown | None:
    """What records what is shown; `to_agent` says why that failed."""
    if record is None:
        return None

    def recorded(shown: Iterable[EvidenceBlock], cut: Mapping[str, int]) -> None:
        try:
            record(shown, cut)
        except StoreError as error:
            raise told(error, caller) from error

    return recorded
