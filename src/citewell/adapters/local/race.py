"""The race for the best rows of the lexical path: which can be among the k best by BM25.

The rare terms are added first, all at once; when the rest can't lift a new row into the best k any more, only rows that
are still in the race are looked up (MaxScore, Turtle and Flood 1995). While few rows hold a term they are kept as a
list, so that the work grows with them and not with the store; where many do, every slot has a sum. All is in float32
and finds out who may win, not by how much. It knows terms by their postings, and no dictionary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from citewell.adapters.local.asked import Listing, Term, list_postings
from citewell.adapters.local.view import View

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from citewell.adapters.local.asked import Doubles
    from citewell.adapters.local.segments import Bools, Counts, Int32s, Int64s

    Floats = NDArray[np.float32]

K1 = 1.2
B = 0.75
_ROUNDING = 1e-4
"""Relative; rows this close to the k-th best stay in the race."""
_MOST = 0.5
_SEARCHED_BELOW = 0.3
_FEW = 6
"""Times k: rows that are scored as they are, since finding the best of them takes as long."""
_RARE = 1 / 64
_RARE_AT_LEAST = 2_000
"""Rows, or share of all, up to which a term is added at once with others: to look for some of them saves nothing."""
_LISTED_BELOW = 1 / 16
"""Share of the slots up to which sorting that many postings is less work than a sum for every slot."""


class Race:
    """Which of the rows allowed (bool [slots], None = all) can be among the k best."""

    def __init__(self, view: View, k: int, allowed: Bools | None) -> None:
        self._view = view
        self._k = k
        self._allowed = allowed
        self._lengths = view.derived(_lengths)
        self._rows = np.empty(0, dtype=np.int64)
        """Slots of the rows in the race, ascending."""
        self._scores = np.empty(0, dtype=np.float32)
        """What each of them has so far."""
        self._counts: dict[Term, Counts] = {}
        """How often each of them holds the terms that were looked up in them."""
        self._sums: Floats | None = None
        """What every slot has so far, once that is kept; rows and scores follow when the race is narrowed."""
        self._is_closed = False
        """Whether no row can come into the race any more."""

    def run(self, terms: Sequence[Term]) -> tuple[Int64s, Doubles]:
        """The slots that may be among the best k, ascending; float64 [terms, slots]: how often each holds each term."""
        most = max(_RARE_AT_LEAST, _RARE * self._lengths.size)
        rare = [term for term in terms if term.holders <= most]
        common = sorted([term for term in terms if term.holders > most], key=_bound, reverse=True)
        listing = list_postings(rare, self._allowed)
        if listing.slots.size:
            self._list(rare, listing)
        done, rest = sum(map(_bound, rare)), sum(map(_bound, common))
        self._narrow(done, rest)
        for term in common:
            if self._is_closed and self._rows.size <= _FEW * self._k:
                break
            self._add(term)
            done, rest = done + _bound(term), rest - _bound(term)
            self._narrow(done, rest)
        self._counts |= zip(rare, listing.counts_in(self._rows, len(rare)), strict=True)
        return self._rows, np.array([self._counts_of(term) for term in terms], dtype=np.float64)

    def _add(self, term: Term) -> None:
        if self._is_closed and self._rows.size < _SEARCHED_BELOW * term.holders:
            self._search(term)
        else:
            self._sum(term)

    def _counts_of(self, term: Term) -> Counts:
        return self._counts[term] if term in self._counts else term.counts_in(self._rows)

    def _narrow(self, done: float, rest: float) -> None:
        """Give up the rows that can't reach the k-th best score with the rest that terms may add to what they did."""
        if rest > done / 2:  # the k-th best rarely has half of what is possible, and finding it out costs
            return
        if self._sums is not None:
            self._rows = self._rows if self._is_closed else np.flatnonzero(self._sums > 0)
            self._scores = self._sums.take(self._rows)
        scores = self._scores
        if scores.size <= self._k:
            return
        least = float(np.partition(scores, scores.size - self._k)[scores.size - self._k]) * (1 - _ROUNDING)
        # Before any have been given up, rows that have none of the terms so far must be unable to come among the best.
        if self._is_closed or least > rest:
            self._is_closed = True
            stays = scores >= least - rest
            self._rows, self._scores = self._rows[stays], scores[stays]
            self._counts = {term: counts[stays] for term, counts in self._counts.items()}

    def _list(self, terms: Sequence[Term], listing: Listing) -> None:
        """Begin with all the rows that hold one of these terms."""
        bounds = np.array([_bound(term) for term in terms], dtype=np.float32).take(listing.owners)
        shares = _shares(listing.counts, self._norms(listing.slots), bounds)
        if shares.size < _LISTED_BELOW * self._lengths.size:
            self._rows, self._scores = _summed(listing.slots, shares)
            return
        sums = np.bincount(listing.slots, shares)
        self._rows = np.flatnonzero(sums)
        self._scores = sums.take(self._rows).astype(np.float32)

    def _sum(self, term: Term) -> None:
        """Add a term to all rows that hold it."""
        sums = self._sums = self._begun() if self._sums is None else self._sums
        for start, places, counts in term.parts:
            if self._allowed is not None:
                stays = self._allowed[start:].take(places)
                places, counts = places[stays], counts[stays]
            sums[start:][places] += _shares(counts, self._norms(places, start), np.float32(_bound(term)))

    def _begun(self) -> Floats:
        """A sum for every slot: what the rows in the race have so far."""
        sums = np.zeros(self._lengths.size, dtype=np.float32)
        if self._allowed is not None and np.count_nonzero(self._allowed) > _MOST * self._allowed.size:
            # Where nearly every row may run, the others are put out of it once, not at each of their postings.
            sums[np.flatnonzero(~self._allowed)] = -np.inf
            self._allowed = None
        sums[self._rows] = self._scores
        return sums

    def _search(self, term: Term) -> None:
        """Add a term to the rows in the race alone."""
        self._sums = None
        self._counts[term] = counts = term.counts_in(self._rows)
        self._scores += _shares(counts, self._norms(self._rows), np.float32(_bound(term)))

    def _norms(self, slots: Int64s | Int32s, start: int = 0) -> Floats:
        """Float32 [slots]: what the length of the row in each, counted from `start`, adds below the formula's line.

        Found for these alone, for each write changes the mean length and with it all of them.
        """
        norms = self._lengths[start:].take(slots)
        norms *= np.float32(K1 * B / self._view.mean_length)
        norms += np.float32(K1 * (1 - B))
        return norms


def _bound(term: Term) -> float:
    """What a term adds to a score at most."""
    return term.idf * (K1 + 1) * term.times


def _lengths(view: View) -> Floats:
    """Float32 [slots]: terms in each row."""
    return np.concatenate([segment.lengths for segment in view.segments], dtype=np.float32)


def _shares(counts: Counts, norms: Floats, bounds: Floats | np.float32) -> Floats:
    """What these postings add to the scores of their rows; `norms` are used up."""
    shares = counts.astype(np.float32)
    norms += shares
    shares *= bounds
    shares /= norms
    return shares


def _summed(slots: Int64s, shares: Floats) -> tuple[Int64s, Floats]:
    """Each slot once, ascending, and the sum of its shares, which are > 0."""
    # A slot and the bits of its share in one number: to sort these takes a third of the time of finding an order.
    both = slots << 32
    both |= shares.view(np.int32)
    both.sort()
    slots, shares = both >> 32, both.astype(np.int32).view(np.float32)
    is_first = np.ones(slots.size, dtype=np.bool_)
    np.not_equal(slots[1:], slots[:-1], out=is_first[1:])
    firsts = np.flatnonzero(is_first)
    return slots.take(firsts), np.add.reduceat(shares, firsts)
