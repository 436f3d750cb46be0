"""Which paths a request runs, each with its filters, and why the others don't (PORT-3..5); pure, runs nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from citewell.model import PATHS, Filters, Path, SearchPolicy, SearchRequest


@dataclass(frozen=True, slots=True)
class Plan:
    """The paths that run, each with its filters, and the cause for each that doesn't."""

    run: Mapping[Path, Filters]
    skipped: Mapping[Path, str] = field(default_factory=dict)

    @property
    def dense(self) -> list[Path]:
        """Those that need the query's vector, in the order of PATHS."""
        return [path for path in self.run if path != "lexical"]


def plan(request: SearchRequest, terms: Sequence[str], policy: SearchPolicy) -> Plan:
    """One dense path filtered by the category, or up to three of which `dense_filtered` alone is."""
    if request.mode == "dense":
        return Plan({"dense": request.filters(category=request.category)})
    causes = {path: _why_skip(path, request, terms, policy) for path in PATHS}
    return Plan(
        run={
            path: request.filters(category=request.category if path == "dense_filtered" else None)
            for path in PATHS
            if not causes[path]
        },
        skipped={path: causes[path] for path in PATHS if causes[path]},
    )


def _why_skip(path: Path, request: SearchRequest, terms: Sequence[str], policy: SearchPolicy) -> str:
    if path not in policy.paths:
        return "switched off by retrieval.search.paths"
    if path == "dense_filtered" and request.category is None:
        return "no category"
    if path == "lexical" and not terms:
        return "the query holds no term"
    return ""
