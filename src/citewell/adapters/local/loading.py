"""Makes views out of the tables: all of them anew around the segments that are there, or the next after a write.

It runs within the caller's read transaction and knows no file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from citewell.adapters.local.faults import decoded
from citewell.adapters.local.segments import Postings, Segment, join
from citewell.adapters.local.view import View, concatenated
from citewell.adapters.local.writing import read_meta
from citewell.errors import StoreCorrupt

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from citewell.adapters.local.segments import Bools, Int64s

OPEN_UP_TO = 1_024
"""Rows up to which a segment stays open; searching it is then as fast as if it were sorted."""
_AT_ONCE = 4_096


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows as the truth has them, ascending; arrays of int64, one entry per row."""

    rows: Int64s
    documents: Int64s
    indexes: Int64s
    stamps: Int64s

    def at(self, chosen: Int64s | Bools | slice) -> _Rows:
        """Some of them."""
        return _Rows(self.rows[chosen], self.documents[chosen], self.indexes[chosen], self.stamps[chosen])


def load(connection: sqlite3.Connection, sequence: int, segments: Sequence[Segment]) -> View:
    """The view of everything stored: what these segments hold and still is true, and the rest from the tables."""
    truth = _rows_since(connection, 0)
    kept, missing = _usable(segments, truth)
    starts = np.array([segment.rows[0] for segment in kept], dtype=np.int64)
    gaps = np.searchsorted(starts, truth.rows[missing])
    pieces: list[Segment] = []
    for at in range(len(kept) + 1):
        lost = truth.at(np.flatnonzero(missing)[gaps == at])
        if lost.rows.size:
            made = _features(connection, lost)
            pieces.append(made if at == len(kept) and made.size <= OPEN_UP_TO else made.sealed())
        pieces += kept[at : at + 1]
    return _around(sequence, tuple(pieces), truth)


def advance(view: View, connection: sqlite3.Connection, sequence: int) -> View:
    """The view at a later sequence: what went is dead, what came is in the open segment at its end."""
    if read_meta(connection, "removed_floor") > view.sequence:
        return load(connection, sequence, view.segments)
    live = view.live.copy()
    gone = connection.execute("SELECT first_row, chunks FROM removed WHERE sequence > ?", (view.sequence,)).fetchall()
    spans = np.array(gone, dtype=np.int64).reshape(-1, 2)
    slots = np.unique(view.slots_of(_spread(spans[:, 0], spans[:, 1])))
    live[slots] = False
    terms = view.length - int(view.lengths_of(slots).sum())  # to count them all anew would take most of a search
    new, segments = _rows_since(connection, view.sequence), view.segments
    if new.rows.size:
        features = _features(connection, new)
        segments, terms = _grown(segments, features), terms + int(features.lengths.sum())
    return View(
        sequence,
        segments,
        np.concatenate([view.documents, new.documents]),
        np.concatenate([view.indexes, new.indexes.astype(np.int32)]),
        np.concatenate([live, np.ones(new.rows.size, dtype=np.bool_)]),
        terms,
    )


def _grown(segments: tuple[Segment, ...], new: Segment) -> tuple[Segment, ...]:
    """Put new rows behind the others, into the open segment if there is one; a long one is sealed by the keeper."""
    if segments and not segments[-1].is_sealed:
        return (*segments[:-1], join([(segments[-1], None), (new, None)]))
    return (*segments, new)


@decoded("a document")
def _rows_since(connection: sqlite3.Connection, sequence: int) -> _Rows:
    """The rows of every document written after this sequence."""
    found = connection.execute(
        "SELECT first_row, chunks, id, stamp FROM documents WHERE version > ? ORDER BY first_row", (sequence,)
    ).fetchall()
    first, chunks, documents, stamps = np.array(found, dtype=np.int64).reshape(-1, 4).T
    rows = _spread(first, chunks)
    return _Rows(rows, np.repeat(documents, chunks), rows - np.repeat(first, chunks), np.repeat(stamps, chunks))


def _spread(first: Int64s, count: Int64s) -> Int64s:
    """The numbers first, first + 1, ... of each run, one run after the other."""
    before = np.cumsum(count) - count
    spread: Int64s = np.arange(count.sum(), dtype=np.int64) + np.repeat(first - before, count)
    return spread


def _usable(segments: Sequence[Segment], truth: _Rows) -> tuple[list[Segment], Bools]:
    """The segments that say the truth, in order, and which rows of the truth none of them holds."""
    kept = [segment for segment in sorted(segments, key=_first_row) if segment.size and _is_true(segment, truth)]
    while True:
        missing = ~np.isin(truth.rows, concatenated([segment.rows for segment in kept], np.int64), assume_unique=True)
        lost = truth.rows[missing]
        # Slots follow rows; a segment within which rows are missing, or that overlaps another, has no place in that.
        bad = [
            at
            for at, segment in enumerate(kept)
            if _lies_within(lost, segment) or (at and kept[at - 1].rows[-1] >= segment.rows[0])
        ]
        if not bad:
            return kept, missing
        del kept[bad[0]]


def _first_row(segment: Segment) -> int:
    return int(segment.rows[0]) if segment.size else 0


def _is_true(segment: Segment, truth: _Rows) -> bool:
    """Whether each row that is still stored has the stamp that it had when the segment was made."""
    if not truth.rows.size:
        return False
    at = np.minimum(np.searchsorted(truth.rows, segment.rows), truth.rows.size - 1)
    stored = truth.rows[at] == segment.rows
    return bool(stored.any()) and bool((truth.stamps[at[stored]] == segment.stamps[stored]).all())


def _lies_within(rows: Int64s, segment: Segment) -> bool:
    start, end = np.searchsorted(rows, [segment.rows[0], segment.rows[-1] + 1])
    return bool(start < end)


def _around(sequence: int, segments: tuple[Segment, ...], truth: _Rows) -> View:
    rows = concatenated([segment.rows for segment in segments], np.int64)
    if not truth.rows.size:
        nothing = np.empty(0, dtype=np.int64)
        return View(sequence, (), nothing, nothing.astype(np.int32), np.empty(0, dtype=np.bool_))
    at = np.minimum(np.searchsorted(truth.rows, rows), truth.rows.size - 1)
    live = truth.rows[at] == rows
    return View(sequence, segments, truth.documents[at], truth.indexes[at].astype(np.int32), live)


def _features(connection: sqlite3.Connection, wanted: _Rows) -> Segment:
    """An open segment of these rows, from the tables; rows between them that are not wanted are skipped."""
    parts = [
        _segment(wanted.at(slice(start, start + _AT_ONCE)), connection)
        for start in range(0, wanted.rows.size, _AT_ONCE)
    ]
    return join([(part, None) for part in parts])


@decoded("a vector or terms")
def _segment(wanted: _Rows, connection: sqlite3.Connection) -> Segment:
    found = list(_read(connection, wanted.rows))
    if len(found) != wanted.rows.size:
        raise StoreCorrupt(
            f"the database lacks {wanted.rows.size - len(found)} chunks of its documents",
            way_out="Run `citewell verify`; it names the documents, which can then be ingested again.",
        )
    vectors, terms, counts = zip(*found, strict=True)
    dimensions = read_meta(connection, "dimensions")
    if any(len(vector) != 4 * dimensions for vector in vectors):
        raise ValueError(f"not every vector has {dimensions} dimensions")
    held = np.fromiter((len(part) // 4 for part in terms), dtype=np.int64, count=len(terms))
    places = np.repeat(np.arange(wanted.rows.size, dtype=np.int32), held)
    times = _array(counts, np.uint16)
    lengths = np.bincount(places, weights=times, minlength=wanted.rows.size).astype(np.int32)
    postings = Postings(_array(terms, np.int32), None, places, times)
    return Segment(wanted.rows, wanted.stamps, lengths, _array(vectors, np.float32).reshape(-1, dimensions), postings)


def _read(connection: sqlite3.Connection, rows: Int64s) -> Iterator[tuple[bytes, bytes, bytes]]:
    wanted = set(rows.tolist())
    for row, *values in connection.execute(
        "SELECT row, vector, terms, counts FROM features WHERE row BETWEEN ? AND ? ORDER BY row",
        (int(rows[0]), int(rows[-1])),
    ):
        if row in wanted:
            yield (values[0], values[1], values[2])


def _array(parts: Sequence[bytes], dtype: type[np.generic]) -> NDArray[Any]:
    return np.frombuffer(b"".join(parts), dtype=np.dtype(dtype).newbyteorder("<"))
