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
from itertools import pairwise
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
_NARROWED_FROM = 2_000
"""Rows with a term from which on giving up rows before it saves more than it costs."""


@dataclass(frozen=True, slots=True)
class _Term:
    """A term of the query, its weight, and its postings: (number of the segment, places, counts)."""

    parts: tuple[tuple[int, Int32s, Counts], ...]
    idf: float
    times: int

    @property
    def holders(self) -> int:
        """Rows that hold it, those that have gone included."""
        return sum(places.size for _, places, _ in self.parts)

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
        (number, *postings)
        for number, segment in enumerate(view.segments)
        if (postings := segment.postings.of(term))[0].size
    )
    holders = sum(_live(view, view.bases[number], places) for number, places, _ in parts)
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
        self._norms = view.derived(_norms)
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
            if term.holders > _NARROWED_FROM:
                self._narrow(rest)
            rest -= term.bound
            for number, places, counts in term.parts:
                self._add(term, number, places, counts)
        self._narrow(0.0)
        return self._running() if self._open is None else self._open

    def _running(self) -> Int64s:
        return np.flatnonzero(self._scores > 0)

    def _narrow(self, rest: float) -> None:
        """Give up the rows that can't reach the k-th best score with what the rest of the terms may add."""
        running = self._running() if self._open is None else self._open
        scores = self._scores[running]
        if scores.size <= self._k:
            return
        least = float(np.partition(scores, scores.size - self._k)[scores.size - self._k]) * (1 - _ROUNDING)
        # Before any have been given up, rows that have none of the terms so far must be unable to come among the best.
        if self._open is not None or least > rest:
            self._open = running[scores >= least - rest]

    def _add(self, term: _Term, number: int, places: Int32s, counts: Counts) -> None:
        start = self._view.bases[number]
        if self._open is not None:
            if self._open.size < _SEARCHED_BELOW * places.size:
                here = self._open[self._open.searchsorted(start) : self._open.searchsorted(start + places[-1] + 1)]
                places, counts = _meet((here - start).astype(np.int32), places, counts)
        elif self._allowed is not None:
            stays = self._allowed[start:][places]
            places, counts = places[stays], counts[stays]
        tf = counts.astype(np.float32)
        norms = self._norms[number][places]
        norms += tf
        tf *= np.float32(term.bound)
        tf /= norms
        self._scores[start:][places] += tf


def _norms(view: View) -> tuple[Floats, ...]:
    """Float32 [rows] per segment: what a row's length adds below the line of the formula."""
    norms = []
    for segment in view.segments:
        some = segment.lengths.astype(np.float32)
        some *= np.float32(K1 * B / view.mean_length)
        some += np.float32(K1 * (1 - B))
        norms.append(some)
    return tuple(norms)


def _meet(wanted: Int32s, places: Int32s, counts: Counts) -> tuple[Int32s, Counts]:
    """Those postings whose place is wanted."""
    at = places.searchsorted(wanted)
    at = at[places.take(at, mode="clip") == wanted]
    return places[at], counts[at]


def _scores(view: View, terms: Sequence[_Term], slots: Int64s) -> Doubles:
    """The formula as it stands, for these rows, ascending: the same sums in the same order whatever the race was."""
    counts = _counts(view, terms, slots)
    below = counts + K1 * (1 - B + B * view.lengths_of(slots) / view.mean_length)
    counts *= np.array([[term.idf] for term in terms])
    counts *= K1 + 1
    counts /= below
    scores = np.zeros(slots.size)
    for added in counts:  # one after the other: `sum` would add in another order where there is but one row
        scores += added
    return scores


def _counts(view: View, terms: Sequence[_Term], slots: Int64s) -> Doubles:
    """Float64 [terms, slots]: how often each row holds each term."""
    counts = np.zeros((len(terms), slots.size))
    edges = slots.searchsorted(view.bases).tolist()
    wanted = [
        (slots[start:end] - base).astype(np.int32)
        for (start, end), base in zip(pairwise(edges), view.bases[:-1], strict=True)
    ]
    for row, term in zip(counts, terms, strict=True):
        for number, places, held in term.parts:
            at = places.searchsorted(wanted[number])
            found = places.take(at, mode="clip") == wanted[number]
            np.multiply(held.take(at, mode="clip"), found, out=row[edges[number] : edges[number + 1]])
    return counts
