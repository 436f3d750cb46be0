"""Dense beside hybrid, for one query: what both found, what one alone did, and how far a chunk moved; pure."""

from __future__ import annotations

from dataclasses import dataclass

from citewell.server.web.views.lookup import LookupView
from citewell.server.web.views.ranking import Figure, compare_figure


@dataclass(frozen=True, slots=True)
class Pair:
    """A chunk's place among the evidence of each; None = it isn't there. Why the other mode left it out, if known."""

    key: str
    dense: int | None
    hybrid: int | None
    similarity: float | None
    dense_fate: str = ""
    hybrid_fate: str = ""

    @property
    def move(self) -> int | None:
        """How many places hybrid has it higher."""
        return None if self.dense is None or self.hybrid is None else self.dense - self.hybrid


@dataclass(frozen=True, slots=True)
class CompareView:
    """What a page draws of the two."""

    pairs: tuple[Pair, ...]
    both: int
    dense_only: int
    hybrid_only: int
    figure: Figure


def compare_view(dense: LookupView, hybrid: LookupView) -> CompareView:
    """Evidence of either, hybrid's order first, then what only dense has."""
    first, second = _kept(dense), _kept(hybrid)
    pairs = tuple(_pair(key, dense, hybrid) for key in dict.fromkeys([*second, *first]))
    return CompareView(
        pairs=pairs,
        both=sum(pair.dense is not None and pair.hybrid is not None for pair in pairs),
        dense_only=sum(pair.hybrid is None for pair in pairs),
        hybrid_only=sum(pair.dense is None for pair in pairs),
        figure=compare_figure(first, second),
    )


def _kept(view: LookupView) -> list[str]:
    return [row.key for row in view.rows if row.kept]


def _pair(key: str, dense: LookupView, hybrid: LookupView) -> Pair:
    first, second = _kept(dense), _kept(hybrid)
    rows = [{row.key: row for row in view.rows} for view in (dense, hybrid)]
    found = [each[key] for each in rows if key in each]
    return Pair(
        key=key,
        dense=first.index(key) + 1 if key in first else None,
        hybrid=second.index(key) + 1 if key in second else None,
        similarity=next((row.similarity for row in found if row.similarity is not None), None),
        dense_fate=rows[0][key].fate if key in rows[0] else "not_found",
        hybrid_fate=rows[1][key].fate if key in rows[1] else "not_found",
    )
