"""The terms of a question over a view: their weights, their postings, and how often given rows hold them.

A term's weight is BM25's idf = ln(1 + (N - n + .5) / (n + .5)), never negative. N and n count live rows, whatever the
filters: what was deleted leaves the statistics at once. It knows terms by their ids only, and no score.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from citewell.adapters.local.view import View
from citewell.model.making import maker

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from citewell.adapters.local.segments import Bools, Counts, Int32s, Int64s

    Doubles = NDArray[np.float64]
    _Part = tuple[int, Int32s, Counts]


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """A term of a question and its postings; equal to itself alone.

    Attributes:
        parts: per segment that holds it: the segment's first slot, places ascending, counts.
        holders: rows that hold it, those that have gone included.
        idf: its weight, > 0.
        times: how often the question has it.
    """

    parts: Sequence[_Part]
    holders: int
    idf: float
    times: int

    def counts_in(self, slots: Int64s) -> Counts:
        """Uint16 [slots]: how often the row in each of these slots, ascending, holds it."""
        counts = np.zeros(slots.size, dtype=np.uint16)
        for start, places, held in self.parts:
            first, end = slots.searchsorted((start, start + int(places[-1]) + 1)).tolist()
            # Of the same type: others would have all the places converted to theirs.
            wanted = (slots[first:end] - start).astype(np.int32)
            at = places.searchsorted(wanted)
            np.multiply(held.take(at), places.take(at) == wanted, out=counts[first:end])
        return counts


_make_term = maker(Term)


def find_postings(view: View, ids: Sequence[int]) -> dict[int, Term]:
    """The term of each of these ids that a live row holds, in their order."""
    times: dict[int, int] = {}
    for term in ids:
        times[term] = times.get(term, 0) + 1
    wanted = np.array([*times], dtype=np.int32)
    found = zip(*[segment.postings.of(wanted) for segment in view.segments], strict=True)
    held: dict[int, Term] = {}
    for (term, count), postings in zip(times.items(), found, strict=False):  # none if there is no segment
        parts = [(start, *of) for start, of in zip(view.bases[:-1], postings, strict=True) if of[0].size]
        holders = sum([places.size for _, places, _ in parts])
        if live := holders if view.is_whole else sum([_live(view, start, places) for start, places, _ in parts]):
            idf = math.log(1 + (view.size - live + 0.5) / (live + 0.5))
            held[term] = _make_term(parts, holders, idf, count)
    return held


def _live(view: View, start: int, places: Int32s) -> int:
    """The live rows among the holders in a segment."""
    return int(np.count_nonzero(view.live[start:].take(places)))


@dataclass(frozen=True, slots=True)
class Listing:
    """The postings of several terms in one array, so that a step is taken once for all of them.

    Attributes:
        slots: int64, term by term, ascending within each.
        counts: uint16, how often the row in the slot holds the term.
        owners: int64, ascending, the term's position among them.
    """

    slots: Int64s
    counts: Counts
    owners: Int64s

    def counts_in(self, slots: Int64s, terms: int) -> Counts:
        """Uint16 [terms, slots]: how often the row in each of these slots holds each of the terms."""
        if not self.slots.size:
            return np.zeros((terms, slots.size), dtype=np.uint16)
        held = self.owners << 32 | self.slots
        wanted = (np.arange(terms) << 32)[:, np.newaxis] | slots
        at = held.searchsorted(wanted)
        counts: Counts = self.counts.take(at, mode="clip") * (held.take(at, mode="clip") == wanted)
        return counts


def list_postings(terms: Sequence[Term], allowed: Bools | None) -> Listing:
    """The postings of these terms in the slots allowed (bool [slots], None = all)."""
    parts = [part for term in terms for part in term.parts]
    if not parts:
        return Listing(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint16), np.empty(0, dtype=np.int64))
    slots = np.concatenate([places for _, places, _ in parts], dtype=np.int64)
    slots += np.array([start for start, _, _ in parts]).repeat([len(places) for _, places, _ in parts])
    counts = np.concatenate([counts for _, _, counts in parts])
    owners = np.arange(len(terms)).repeat([term.holders for term in terms])
    if allowed is None:
        return Listing(slots, counts, owners)
    stays = allowed.take(slots)
    return Listing(slots[stays], counts[stays], owners[stays])
