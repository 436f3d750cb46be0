"""What each lookup's trace tells to the log, the figures and the spans, whichever edge asked for it (API-4).

It knows what may be said: never text of documents, and the query only where the settings say so.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from citewell.lookup import LookupResult
    from citewell.server.observe.metrics import Metrics
    from citewell.server.observe.spans import Spans

_log = logging.getLogger("citewell.server.lookups")


class Observer:
    """Told of each lookup in its thread; raises nothing."""

    def __init__(self, metrics: Metrics, *, spans: Spans | None = None, queries: bool = False) -> None:
        self._metrics, self._spans, self._queries = metrics, spans, queries

    def __call__(self, found: LookupResult) -> None:
        """Tell of one lookup; what fails here is a line in the log, and never the lookup's."""
        try:
            self._metrics.lookup(found)
            if self._spans is not None:
                self._spans.lookup(found)
            _log.info("lookup", extra=self._line(found))
        except Exception:  # noqa: BLE001 - a lookup must not fail because it can't be told of
            _log.exception("a lookup could not be told of")

    def _line(self, found: LookupResult) -> dict[str, object]:
        trace = found.trace
        line: dict[str, object] = {
            "mode": trace.mode,
            "status": found.status,
            "evidence": len(found.evidence),
            "degraded": len(found.degraded),
            "ms": {stage: round(value, 3) for stage, value in trace.milliseconds.items()},
            "paths": {report.path: [report.status, round(report.milliseconds, 3)] for report in trace.paths},
        }
        return {**line, "query": found.query} if self._queries else line
