"""One consistent view of a store: a read transaction for texts and filters, and the view of the same sequence.

It puts the paths together: filters become a mask, terms become ids, slots become evidence keys, equal scores are put
in the order of their keys. How candidates are found and how rows are read is known elsewhere.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from citewell.adapters.local import lexical, vectors
from citewell.adapters.local.eras import Era
from citewell.adapters.local.faults import translated
from citewell.adapters.local.filters import Bearers, allowed_slots
from citewell.adapters.local.index import Index
from citewell.adapters.local.reading import count, read_chunks, read_names, rows_of
from citewell.adapters.local.terms import numbers_of
from citewell.adapters.local.view import View
from citewell.adapters.local.writing import as_floats
from citewell.errors import InvalidRequest, StoreUnreachable
from citewell.identity import format_key
from citewell.model import Filters, Scored, StoredChunk
from citewell.model.making import maker

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from citewell.adapters.local.segments import Bools, Int64s

_MOST_NAMES = 200_000

_make_scored = maker(Scored)


class Names:
    """How the keys of each document begin, by its number, remembered: a number stands for the same one for ever."""

    def __init__(self) -> None:
        self._known: dict[int, str] = {}

    def of(self, connection: sqlite3.Connection, documents: Sequence[int]) -> list[str]:
        """What a chunk index behind it makes a key of, for each, in order; blank for a number that no document has."""
        stems = [self._known.get(number, "") for number in documents]
        return self._learned(connection, documents) if "" in stems else stems

    def _learned(self, connection: sqlite3.Connection, documents: Sequence[int]) -> list[str]:
        if len(self._known) > _MOST_NAMES:
            self._known = {}
        known = self._known  # which others read meanwhile, each number at once
        read = read_names(connection, sorted({number for number in documents if number not in known}))
        known |= {number: _stem(doc_id) for number, doc_id in read.items()}
        return [known.get(number, "") for number in documents]


def _stem(doc_id: str) -> str:
    # To make a key takes many times as long as to put an index behind what all keys of a document begin with.
    return format_key(doc_id, 0).removesuffix("0")


class LocalSnapshot:
    """A `citewell.ports.Snapshot` of one read transaction; safe to call from several threads."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        sequence: int,
        index: Index,
        bearers: Bearers,
        names: Names,
        era: Era,
    ) -> None:
        self.sequence = sequence
        self._connection: sqlite3.Connection | None = connection
        self._path = path
        self._index = index
        self._bearers = bearers
        self._names = names
        self._era = era
        self._made: View | None = None
        self._masks: dict[str, Bools | None] = {}
        self._slots: dict[str, int] = {}
        """The slot of each key that this snapshot has handed out, within the one view that it has."""
        # A connection serves one thread at a time; what is done with arrays goes on beside it.
        self._turn = threading.RLock()

    @property
    def size(self) -> int:
        """Chunks in the store."""
        made = self._made
        if made is not None and self._connection is not None:
            return made.size
        with self._reading() as connection:
            return count(connection)[1]

    def dense(self, vector: NDArray[np.float32], k: int, filters: Filters) -> tuple[Scored, ...]:
        """The k nearest chunks within the filters."""
        view, allowed = self._within(filters)
        query = self._checked(vector, view)
        return self._ranked(view, *vectors.nearest(view, query, k, allowed), k)

    def lexical(self, terms: Sequence[str], k: int, filters: Filters) -> tuple[Scored, ...]:
        """The k best chunks by BM25 within the filters."""
        view, allowed = self._within(filters)
        with self._reading() as connection:
            numbers = numbers_of(connection, terms, self._era.terms)
        held = [numbers[term] for term in terms if numbers[term]]
        return self._ranked(view, *lexical.best(view, held, k, allowed), k)

    def similarities(self, vector: NDArray[np.float32], keys: Sequence[str]) -> Mapping[str, float]:
        """The similarity of each of these chunks, as `dense` scores it."""
        with self._reading() as connection:
            view = self._view(connection)
            slots = self._slots_of(connection, view, keys)
        query = self._checked(vector, view)
        scores = vectors.similarities(view, query, np.array([*slots.values()], dtype=np.int64))
        return dict(zip(slots, scores.tolist(), strict=True))

    def fetch(self, keys: Sequence[str]) -> Mapping[str, StoredChunk]:
        """The chunks with these keys, in the order of the keys."""
        with self._reading() as connection:
            chunks = read_chunks(connection, self._keys_by_row(connection, keys), self._era.documents)
        return {key: chunks[key] for key in keys if key in chunks}

    def prepare(self) -> None:
        """Make the view now, so that a write in the meantime can't make it dear."""
        with self._reading() as connection:
            self._view(connection)

    def end(self) -> None:
        """Let go of the connection; later calls are refused."""
        with self._turn:
            self._connection = None

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._turn, translated(self._path):
            if self._connection is None:
                raise StoreUnreachable("the snapshot has ended", way_out="Take a new one from the store.")
            yield self._connection

    def _slots_of(self, connection: sqlite3.Connection, view: View, keys: Sequence[str]) -> dict[str, int]:
        known, unknown = self._handed_out(keys)
        if unknown:
            rows = rows_of(connection, unknown)
            slots = view.slots_of(np.array([*rows.values()], dtype=np.int64))
            known |= zip(rows, slots.tolist(), strict=True)
        return known

    def _keys_by_row(self, connection: sqlite3.Connection, keys: Sequence[str]) -> dict[int, str]:
        known, unknown = self._handed_out(keys)
        found = {row: key for key, row in rows_of(connection, unknown).items()} if unknown else {}
        if known and self._made is not None:
            rows = self._made.rows_of(np.array([*known.values()], dtype=np.int64))
            found |= zip(rows.tolist(), known, strict=True)
        return found

    def _handed_out(self, keys: Sequence[str]) -> tuple[dict[str, int], list[str]]:
        """The slots of the keys that this snapshot has handed out, and the other keys."""
        find = self._slots.get
        known = {key: slot for key in keys if (slot := find(key)) is not None}
        return known, [key for key in keys if key not in known] if len(known) < len(keys) else []

    def _view(self, connection: sqlite3.Connection) -> View:
        if self._made is None:
            self._made = self._index.view(connection, self.sequence)
        return self._made

    def _within(self, filters: Filters) -> tuple[View, Bools | None]:
        with self._reading() as connection:
            view = self._view(connection)
            asked = repr(filters)  # not the filters themselves: True equals 1, as a filter it differs
            if asked not in self._masks:
                self._masks[asked] = allowed_slots(self._bearers, connection, view, filters)
            return view, self._masks[asked]

    def _checked(self, vector: NDArray[np.float32], view: View) -> NDArray[np.float32]:
        query = as_floats(vector, "the query's vector")
        dimensions = view.segments[0].vectors.shape[1] if view.segments else query.size
        if query.shape != (dimensions,):
            raise InvalidRequest(
                f"the query's vector has the shape {query.shape}, and the store holds {dimensions} dimensions",
                way_out="Embed the query with the embedder that filled the store.",
            )
        return query

    def _ranked(self, view: View, slots: Int64s, scores: NDArray[np.floating], k: int) -> tuple[Scored, ...]:
        """Best first, equal scores by key, the first k."""
        documents, indexes = view.documents[slots].tolist(), view.indexes[slots].tolist()
        with self._reading() as connection:
            stems = self._names.of(connection, documents)
        if "" in stems:  # a document went behind the engine's back: what the view still has of it is no hit
            there = np.array(stems, dtype=object) != ""
            return self._ranked(view, slots[there], scores[there], k)
        keys = [f"{stem}{index}" for stem, index in zip(stems, indexes, strict=True)]
        self._slots.update(zip(keys, slots.tolist(), strict=True))
        order = sorted(zip((-scores).tolist(), keys, strict=True))
        return tuple([_make_scored(key, -score) for score, key in order[:k]])
