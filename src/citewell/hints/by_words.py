"""Ranks documents by BM25; words that many hold are looked up only for documents that can be among the best.

Scores are rounded as if every document was scored, a term after the other. It knows slots and numbers, no document.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from citewell.hints.top import kth, least_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

_K1, _B = 1.2, 0.75
_MANY = 2_000
"""Holders of a term from which leaving it out is worth asking whether it can be."""

_ABOVE_ZERO = math.nextafter(0.0, 1.0)
_ROUNDING = 1e-9
"""More than double precision loses on a sum of some thousand terms in another order."""


@dataclass(frozen=True, slots=True, eq=False)
class Holders:
    """The documents that hold a term; at least one does.

    Attributes:
        slots: int32 [holders], ascending.
        counts: uint16 [holders], how often it occurs there.
        spots: uint8 [holders], in which text first.
        weight: > 0, the rarer the larger.
    """

    slots: NDArray[np.int32]
    counts: NDArray[np.uint16]
    spots: NDArray[np.uint8]
    weight: float

    @property
    def most(self) -> float:
        """A bound of what the term adds to a score."""
        return self.weight * (_K1 + 1)

    def spots_at(self, slots: NDArray[np.int32]) -> list[int | None]:
        """Of each of these slots, in which text the term occurs first; None if it doesn't."""
        at = self.slots.searchsorted(slots)
        holds = (self.slots.take(at, mode="clip") == slots).tolist()
        spots = self.spots.take(at, mode="clip").tolist()
        return [spot if held else None for spot, held in zip(spots, holds, strict=True)]

    def counts_at(self, slots: NDArray[np.int32]) -> NDArray[np.uint16]:
        """Uint16 [slots]: how often the term occurs in each."""
        at = self.slots.searchsorted(slots)
        found: NDArray[np.uint16] = self.counts.take(at, mode="clip") * (self.slots.take(at, mode="clip") == slots)
        return found


def norms(lengths: Floats, mean: float) -> Floats:
    """Float32 [slots]: what BM25 adds to the counts of a document of such a length."""
    found: Floats = _K1 * (1 - _B + _B * lengths / max(mean, 1.0))
    return found


def best_by_words(
    terms: Sequence[Holders], normed: Floats, allowed: NDArray[np.bool_] | None, k: int
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """The allowed slots, ascending, that may be among the k best, and the score of each; each holds one of the terms.

    `normed` is what `norms` gave; `allowed` is bool [slots], None = all; there are terms, and each has holders.
    """
    if sum(term.slots.size for term in terms) <= _MANY:
        scores = _masked(_summed(terms, normed), allowed)
        found = np.flatnonzero(scores >= max(least_of(scores, k), _ABOVE_ZERO))
        return found, scores[found]
    slots = _candidates(terms, normed, allowed, k)
    return slots, _at(terms, normed, slots)


def _candidates(
    terms: Sequence[Holders], normed: Floats, allowed: NDArray[np.bool_] | None, k: int
) -> NDArray[np.int32]:
    """Those that may be among the k best, by the rarest terms, up to where the others can't bring in a further slot."""
    rarest = sorted(terms, key=lambda term: term.slots.size)
    few = [term for term in rarest if term.slots.size <= _MANY]
    first, *further = filter(None, [few, *([term] for term in rarest[len(few) :])])
    scores = _masked(_summed(first, normed), allowed)
    left = sum(term.most for term in terms) - sum(term.most for term in first)
    least = least_of(scores, k)
    for some in further:
        if left < least * (1 - _ROUNDING):
            break
        scores += _masked(_summed(some, normed), allowed)
        left, least = left - sum(term.most for term in some), least_of(scores, k)
    else:
        left = 0.0
    least = (least - left) * (1 - _ROUNDING)
    found = np.flatnonzero(scores >= max(least, _ABOVE_ZERO))
    if not left and found.size > k:
        found = found[scores[found] >= kth(scores[found], k) * (1 - _ROUNDING)]
    return found.astype(np.int32)


def _masked(scores: NDArray[np.float64], allowed: NDArray[np.bool_] | None) -> NDArray[np.float64]:
    if allowed is not None:
        scores *= allowed
    return scores


def _summed(terms: Sequence[Holders], normed: Floats) -> NDArray[np.float64]:
    """Float64 [slots]: the scores of all by these terms."""
    slots = np.concatenate([term.slots for term in terms])
    counts = np.concatenate([term.counts for term in terms]).astype(np.float64)
    added = np.repeat([term.weight for term in terms], [term.slots.size for term in terms])
    added *= counts
    added *= _K1 + 1
    counts += normed[slots]
    added /= counts
    # It adds in the order in which they are given: a term after the other.
    summed: NDArray[Any] = np.bincount(slots, weights=added, minlength=normed.size)
    return summed


def _at(terms: Sequence[Holders], normed: Floats, slots: NDArray[np.int32]) -> NDArray[np.float64]:
    """Float64 [slots]: the same of these alone."""
    counts = np.stack([term.counts_at(slots) for term in terms]).astype(np.float64)
    weights = np.array([[term.weight] for term in terms])
    scores = np.zeros(slots.size)
    for added in weights * counts * (_K1 + 1) / (counts + normed[slots]):
        scores += added
    return scores
