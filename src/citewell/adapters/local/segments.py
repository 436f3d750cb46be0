"""What is searched, as arrays: a segment holds the vectors and the postings of a run of rows, and never changes.

Segments are joined into larger ones without the rows that have gone. This module knows no database, no file and no
query; a place is an index into a segment's arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from citewell.adapters.local.codes import Codes, make_codes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]
    Counts = NDArray[np.uint16]
    Int32s = NDArray[np.int32]
    Int64s = NDArray[np.int64]
    Vectors = NDArray[np.float32]

CODED_FROM = 4_096
"""Rows from which on a sealed segment has sign codes; fewer are scanned."""


@dataclass(frozen=True, slots=True)
class Postings:
    """Which places hold a term, and how often.

    Attributes:
        terms: ids; ascending and each once if `starts` is given, else one per posting.
        starts: int64 [terms + 1], where each term's postings begin; None = not sorted by term yet.
        places: int32, ascending within a term.
        counts: uint16, how often the term occurs there.
    """

    terms: Int32s
    starts: Int64s | None
    places: Int32s
    counts: Counts

    def of(self, terms: Int32s) -> list[tuple[Int32s, Counts]]:
        """For each of these terms the places that hold it, ascending, and the counts there."""
        if self.starts is None:
            found = [np.flatnonzero(self.terms == term) for term in terms]
            return [(self.places.take(at), self.counts.take(at)) for at in found]
        at = self.terms.searchsorted(terms)
        held = self.terms.take(at, mode="clip") == terms if self.terms.size else np.zeros(terms.size, dtype=np.bool_)
        at *= held  # a term that is missing gets the first one's start twice
        spans = zip(self.starts.take(at).tolist(), self.starts.take(at + held).tolist(), strict=True)
        return [(self.places[start:end], self.counts[start:end]) for start, end in spans]

    def spread(self) -> Int32s:
        """The term of every posting, in the order of `places`."""
        return self.terms if self.starts is None else np.repeat(self.terms, np.diff(self.starts))

    def sorted(self) -> Postings:
        """The same postings, by term."""
        if self.starts is not None:
            return self
        order = np.argsort(self.terms, kind="stable")
        terms = self.terms[order]
        # Not `unique`, which would sort them once more.
        starts = np.flatnonzero(np.diff(terms, prepend=terms[:1] - 1))
        ends = np.append(starts, terms.size).astype(np.int64)
        return Postings(terms[starts], ends, self.places[order], self.counts[order])


@dataclass(frozen=True, slots=True)
class Segment:
    """The searched side of a run of rows.

    Attributes:
        rows: int64, ascending.
        stamps: int64, what each row's document version was stamped with; tells whether a file still says the truth.
        lengths: int32, terms in each row, counting repeats.
        vectors: float32 [rows, dimensions].
        postings: of their terms.
        codes: of the vectors, for a large sealed segment.
        name: of the file that holds it; empty = in memory only.
    """

    rows: Int64s
    stamps: Int64s
    lengths: Int32s
    vectors: Vectors
    postings: Postings
    codes: Codes | None = None
    name: str = ""

    @property
    def size(self) -> int:
        """Rows."""
        return int(self.rows.size)

    @property
    def is_sealed(self) -> bool:
        """Whether its postings are sorted, so that it may grow old; an open one is short and still grows."""
        return self.postings.starts is not None

    def sealed(self) -> Segment:
        """The same rows, ready to be kept."""
        codes = make_codes(self.vectors) if self.size >= CODED_FROM else None
        return replace(self, postings=self.postings.sorted(), codes=codes, name="")


def join(parts: Sequence[tuple[Segment, Bools | None]]) -> Segment:
    """One open segment of these, in order, with only the rows where the mask beside each is true (None = all)."""
    if len(parts) == 1 and parts[0][1] is None:
        return parts[0][0]
    kept = [_kept(segment, mask) for segment, mask in parts]
    starts = np.cumsum([0, *(segment.size for segment in kept)])
    places = [segment.postings.places + np.int32(start) for segment, start in zip(kept, starts[:-1], strict=True)]
    postings = Postings(
        np.concatenate([segment.postings.spread() for segment in kept]),
        None,
        np.concatenate(places),
        np.concatenate([segment.postings.counts for segment in kept]),
    )
    return Segment(
        np.concatenate([segment.rows for segment in kept]),
        np.concatenate([segment.stamps for segment in kept]),
        np.concatenate([segment.lengths for segment in kept]),
        np.concatenate([segment.vectors for segment in kept]),
        postings,
    )


def _kept(segment: Segment, mask: Bools | None) -> Segment:
    if mask is None or mask.all():
        return segment
    moved = (np.cumsum(mask) - 1).astype(np.int32)
    postings = segment.postings
    stays = mask[postings.places]
    return Segment(
        segment.rows[mask],
        segment.stamps[mask],
        segment.lengths[mask],
        segment.vectors[mask],
        Postings(postings.spread()[stays], None, moved[postings.places[stays]], postings.counts[stays]),
    )


def groups_to_join(sizes: Sequence[tuple[int, int]], *, most_gone: float, ratio: float) -> tuple[tuple[int, int], ...]:
    """Which runs of segments to join, as (start, end) pairs; each becomes one segment.

    `sizes` are (rows, rows still live) of the sealed segments, in order. Segments shrink from the first to the last by
    at least `ratio`: where one is smaller than `ratio` times all behind it, everything from it on is joined. A segment
    of which more than `most_gone` has gone is rewritten alone.
    """
    behind = [sum(live for _, live in sizes[at + 1 :]) for at in range(len(sizes))]
    first = next((at for at, (_, live) in enumerate(sizes[:-1]) if live < ratio * behind[at]), len(sizes))
    alone = tuple((at, at + 1) for at, (rows, live) in enumerate(sizes[:first]) if rows - live > most_gone * rows)
    return (*alone, (first, len(sizes))) if first < len(sizes) else alone
