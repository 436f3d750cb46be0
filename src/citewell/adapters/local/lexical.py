"""The lexical path over a view: BM25 (Robertson and Zaragoza 2009) over our own postings, exact statistics included.

    score = sum over the query's terms of idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean length))
    idf = ln(1 + (N - n + .5) / (n + .5)), never negative

The rarest terms are scored first; once the rest can't lift a new row into the best k, only rows that are still in the
race are scored (MaxScore, Turtle and Flood 1995). N, n and the mean length count live rows, whatever the filters: what
was deleted leaves the statistics at once. It knows terms by their ids only, and no evidence key.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from citewell.adapters.local.view import View

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from citewell.adapters.local.segments import Bools, Counts, Int32s, Int64s

    Floats = NDArray[np.float32]
    Doubles = NDArray[np.float64]

K1 = 1.2
B = 0.75
_ROUNDING = 1e-4
"""Relative; the race is run in float32, the rows that reach its end are scored anew in float64."""
_SEARCHED_BELOW = 0.1
_MOST = 0.5


@dataclass(frozen=True, slots=True)
class _Term:
    """A term of the query, its weight, and its postings per segment: (first slot, lengths of rows, places, counts)."""

    parts: tuple[tuple[int, Int32s, Int32s, Counts], ...]
    idf: float
    times: int

    @property
    def bound(self) -> float:
        """What it adds to a score at most."""
        return self.idf * (K1 + 1) * self.times


def best(view: View, terms: Sequence[int], k: int, allowed: Bools | None) -> tuple[Int64s, Doubles]:
    """The slots of the k best rows and their scores, unordered, with all that tie with the k-th.

    `terms` are ids as the query holds them: one that comes twice counts twice. `allowed` is bool [slots], None = all.
    Only rows that hold at least one of the terms; scores are > 0.
    """
    held = {term: _find(view, term, times) for term, times in Counter(terms).items()}
    race = sorted((term for term in held.values() if term.idf > 0), key=lambda term: -term.bound)
    if not race or k < 1:
        return np.empty(0, dtype=np.int64), np.empty(0)
    slots = _Race(view, k, allowed).run(race)
    scores = _scores(view, [held[term] for term in terms], slots)
    if slots.size > k:
        close = scores >= np.partition(scores, slots.size - k)[slots.size - k]
        return slots[close], scores[close]
    return slots, scores


def _find(view: View, term: int, times: int) -> _Term:
    parts = tuple(
        (span.start, segment.lengths, *postings)
        for segment, span in view.parts()
        if (postings := segment.postings.of(term))[0].size
    )
    holders = sum(_live(view, start, places) for start, _, places, _ in parts)
    idf = math.log(1 + (view.size - holders + 0.5) / (holders + 0.5)) if holders else 0.0
    return _Term(parts, idf, times)


def _live(view: View, start: int, places: Int32s) -> int:
    if view.is_whole:
        return int(places.size)
    return int(np.count_nonzero(view.live[start:][places]))


class _Race:
    """Which rows can be among the best k, found term by term."""

    def __init__(self, view: View, k: int, allowed: Bools | None) -> None:
        self._view = view
        self._k = k
        self._allowed = allowed
        self._scores = np.zeros(view.live.size, dtype=np.float32)
        if allowed is not None and np.count_nonzero(allowed) > _MOST * allowed.size:
            # Where nearly every row may run, the others are put out of it once, not at each of their postings.
            self._scores[np.flatnonzero(~allowed)] = -np.inf
            self._allowed = None
        self._open: Int64s | None = None

    def run(self, terms: Sequence[_Term]) -> Int64s:
        """The slots that may be among the best k, ascending; `terms` come with the largest bound first."""
        rest = sum(term.bound for term in terms)
        for term in terms:
            self._narrow(rest)
            rest -= term.bound
            for start, lengths, places, counts in term.parts:
                self._add(term, start, lengths, places, counts)
        self._narrow(0.0)
        return np.flatnonzero(self._scores > 0) if self._open is None else self._open

    def _narrow(self, rest: float) -> None:
        """Give up the rows that can't reach the k-th best score with what the rest of the terms may add."""
        if self._open is None and float(self._scores.max()) <= rest:
            return
        scores = self._scores[self._scores > 0] if self._open is None else self._scores[self._open]
        if scores.size <= self._k:
            return
        least = float(np.partition(scores, scores.size - self._k)[scores.size - self._k]) * (1 - _ROUNDING)
        if self._open is not None:
            self._open = self._open[scores >= least - rest]
        elif least > rest:
            # No row that has none of the terms so far can come among the best any more.
            self._open = np.flatnonzero(self._scores >= least - rest)

    def _add(self, term: _Term, start: int, lengths: Int32s, places: Int32s, counts: Counts) -> None:
        if self._open is not None:
            here = self._open[np.searchsorted(self._open, start) :] - start
            if here.size < _SEARCHED_BELOW * places.size:
                places, counts = _meet(here, places, counts)
        elif self._allowed is not None:
            stays = self._allowed[start:][places]
            places, counts = places[stays], counts[stays]
        tf = counts.astype(np.float32)
        norms = lengths[places].astype(np.float32)
        norms *= np.float32(K1 * B / self._view.mean_length)
        norms += np.float32(K1 * (1 - B))
        norms += tf
        tf *= np.float32(term.bound)
        tf /= norms
        self._scores[start:][places] += tf


def _meet(wanted: Int64s, places: Int32s, counts: Counts) -> tuple[Int32s, Counts]:
    """Those postings whose place is wanted."""
    sought = wanted[wanted <= places[-1]].astype(np.int32)
    at = np.searchsorted(places, sought)
    at = at[places[at] == sought]
    return places[at], counts[at]


def _scores(view: View, terms: Sequence[_Term], slots: Int64s) -> Doubles:
    """The formula as it stands, for these rows: the same sums in the same order whatever the race looked like."""
    scores = np.zeros(slots.size)
    norms = K1 * (1 - B + B * view.lengths_of(slots) / view.mean_length)
    for term in terms:
        counts = np.zeros(slots.size)
        for start, _, places, held in term.parts:
            inside = np.flatnonzero((slots >= start) & (slots - start <= places[-1]))
            sought = (slots[inside] - start).astype(np.int32)
            at = np.searchsorted(places, sought)
            found = places[at] == sought
            counts[inside[found]] = held[at[found]]
        scores += term.idf * counts * (K1 + 1) / (counts + norms)
    return scores
