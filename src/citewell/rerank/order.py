"""The stage between fusion and post-processing: the best candidates in a Reranker's order (RERANK-1).

It knows no model, no vendor and no clock. Scores of a reranker are compared with each other alone; where it fails, the
fused order stays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from citewell.attempts import attempt
from citewell.errors import RerankerError
from citewell.model import Hit
from citewell.ports import Reranker


@dataclass(frozen=True, slots=True)
class Reranked:
    """Hits in their new order, or in the old one with the cause."""

    hits: tuple[Hit, ...]
    cause: str = ""


def rerank(query: str, hits: Sequence[Hit], reranker: Reranker, k: int) -> Reranked:
    """The first k hits by falling rerank score, equal ones in the order they had; then the others, as they were.

    Only the k have a rerank score; it is copied into no other number, nor any into it. A reranker that raises, or that
    gives other than one finite score for each text, changes nothing: all hits as they were, and the cause.
    """
    best, rest = tuple(hits[:k]), tuple(hits[k:])
    if not best:
        return Reranked(rest)
    scores, error = attempt(lambda: _scores(query, best, reranker), RerankerError, "the reranker failed")
    if scores is None:
        return Reranked(tuple(hits), f"reranker: {error.message if error else 'failed'}")
    scored = [replace(hit, rerank_score=score) for hit, score in zip(best, scores, strict=True)]
    order = sorted(range(len(scored)), key=lambda place: (-scores[place], place))
    return Reranked(tuple(scored[place] for place in order) + rest)


def _scores(query: str, hits: Sequence[Hit], reranker: Reranker) -> list[float]:
    scores = [float(score) for score in reranker.rerank(query, [hit.text for hit in hits])]
    if len(scores) != len(hits) or not all(map(math.isfinite, scores)):
        raise RerankerError(
            f"{reranker.name} gave {len(scores)} scores, {sum(map(math.isfinite, scores))} of them finite,"
            f" for {len(hits)} texts",
            way_out="Check it with citewell.testing.RerankerContract, or switch it off.",
        )
    return scores
