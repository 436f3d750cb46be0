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
    left, right = _places(dense), _places(hybrid)
    pairs = tuple(
        _pair(key, left.get(key, _ABSENT), right.get(key, _ABSENT)) for key in dict.fromkeys([*second, *first])
    )
    return CompareView(
        pairs=pairs,
        both=sum(pair.dense is not None and pair.hybrid is not None for pair in pairs),
        dense_only=sum(pair.hybrid is None for pair in pairs),
        hybrid_only=sum(pair.dense is None for pair in pairs),
        figure=compare_figure(first, second),
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """Where one mode has a chunk: its place among the evidence, and what became of it."""

    rank: int | None = None
    fate: str = "not_found"
    similarity: float | None = None


_ABSENT = _Place()


def _kept(view: LookupView) -> list[str]:
    return [row.key for row in view.rows if row.kept]


def _places(view: LookupView) -> dict[str, _Place]:
    ranks = {key: rank for rank, key in enumerate(_kept(view), start=1)}
    return {row.key: _Place(ranks.get(row.key), row.fate, row.similarity) for row in view.rows}


def _pair(key: str, dense: _Place, hybrid: _Place) -> Pair:
    similarity = dense.similarity if dense.similarity is not None else hybrid.similarity
    return Pair(key, dense.rank, hybrid.rank, similarity, dense.fate, hybrid.fate)
