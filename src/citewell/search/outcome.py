"""What became of each path: its ranking and report, or the error that it met; one error never reaches another path.

It knows no order of steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from citewell.errors import CitewellError
from citewell.model import PATHS, Filters, Path, PathReport, Scored, SearchResponse
from citewell.search.plan import Plan


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one path: its ranking and report, and the error if it failed."""

    report: PathReport
    ranking: tuple[Scored, ...] = ()
    error: CitewellError | None = None


def skipped(path: Path, cause: str) -> Outcome:
    """A path that had nothing to do."""
    return Outcome(PathReport(path, "skipped", cause=cause))


def failed(path: Path, filters: Filters, error: CitewellError | None, milliseconds: float = 0.0) -> Outcome:
    """A path that should have run and broke; the cause names it."""
    cause = f"{path}: {error.message}" if error else path
    report = PathReport(path, "failed", milliseconds=milliseconds, filter=filters.describe(), cause=cause)
    return Outcome(report, error=error)


def nothing_stored(plan: Plan) -> SearchResponse:
    """The answer of an empty store: every path was skipped, none failed."""
    causes = {**dict.fromkeys(plan.run, "the store is empty"), **plan.skipped}
    return SearchResponse(
        (), tuple(skipped(path, causes[path]).report for path in PATHS if path in causes), store_empty=True
    )


def raise_if_all_failed(outcomes: Mapping[Path, Outcome], plan: Plan) -> None:
    """One path that failed degrades the answer; all of them is an error, for "nothing found" would be a lie."""
    errors = [outcomes[path].error for path in PATHS if path in plan.run]
    first = errors[0] if errors else None
    if first is not None and all(errors):
        raise first
