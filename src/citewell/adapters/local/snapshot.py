"""One consistent view of a store: a read transaction for texts and filters, and the view of the same sequence.

It puts the paths together: filters become a mask, terms become ids, slots become evidence keys, equal scores are put
in the order of their keys. How candidates are found and how rows are read is known elsewhere.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from citewell.adapters.local import lexical, vectors
from citewell.adapters.local.faults import translated
from citewell.adapters.local.filters import Bearers, allowed_slots
from citewell.adapters.local.index import Index
from citewell.adapters.local.reading import count, read_chunks, read_names, rows_of
from citewell.adapters.local.terms import find_terms
from citewell.adapters.local.view import View
from citewell.adapters.local.writing import as_floats, read_meta
from citewell.errors import InvalidRequest, StoreUnreachable
from citewell.identity import format_key
from citewell.model import Filters, Scored, StoredChunk

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from citewell.adapters.local.segments import Bools, Int64s

_MOST_NAMES = 200_000


class Names:
    """The doc_id of each document number, remembered: a number stands for the same document for ever."""

    def __init__(self) -> None:
        self._known: dict[int, str] = {}

    def of(self, connection: sqlite3.Connection, documents: Sequence[int]) -> list[str]:
        """The doc_id of each, in order; blank for a number that no document has."""
        known = self._known
        unknown = sorted({number for number in documents if number not in known})
        if unknown:
            if len(known) > _MOST_NAMES:
                known, unknown = {}, sorted(set(documents))
            # Replaced, not changed: another thread may be reading it.
            self._known = known = known | read_names(connection, unknown)
        return [known.get(number, "") for number in documents]


@lru_cache(maxsize=65_536)
def _key(doc_id: str, index: int) -> str:
    return format_key(doc_id, index)


class LocalSnapshot:
    """A `citewell.ports.Snapshot` of one read transaction; safe to call from several threads."""

    def __init__(
        self, connection: sqlite3.Connection, path: Path, index: Index, bearers: Bearers, names: Names
    ) -> None:
        self.sequence = read_meta(connection, "sequence")
        self._connection: sqlite3.Connection | None = connection
        self._path = path
        self._index = index
        self._bearers = bearers
        self._names = names
        self._made: View | None = None
        self._masks: dict[str, Bools | None] = {}
        self._rows: dict[str, int] = {}
        """The row of each key that this snapshot has handed out."""
        # A connection serves one thread at a time; what is done with arrays goes on beside it.
        self._turn = threading.RLock()

    @property
    def size(self) -> int:
        """Chunks in the store."""
        with self._reading() as connection:
            return count(connection)[1] if self._made is None else self._made.size

    def dense(self, vector: NDArray[np.float32], k: int, filters: Filters) -> tuple[Scored, ...]:
        """The k nearest chunks within the filters."""
        view, allowed = self._within(filters)
        query = self._checked(vector, view)
        return self._ranked(view, *vectors.nearest(view, query, k, allowed), k)

    def lexical(self, terms: Sequence[str], k: int, filters: Filters) -> tuple[Scored, ...]:
        """The k best chunks by BM25 within the filters."""
        view, allowed = self._within(filters)
        words = [term.encode("utf-8", "surrogatepass") for term in terms]
        with self._reading() as connection:
            known = find_terms(connection, list(dict.fromkeys(words)))
        return self._ranked(view, *lexical.best(view, [known[word] for word in words if word in known], k, allowed), k)

    def similarities(self, vector: NDArray[np.float32], keys: Sequence[str]) -> Mapping[str, float]:
        """The similarity of each of these chunks, as `dense` scores it."""
        with self._reading() as connection:
            rows = self._rows_of(connection, keys)
            view = self._view(connection)
        slots = view.slots_of(np.fromiter(rows.values(), dtype=np.int64, count=len(rows)))
        scores = vectors.similarities(view, self._checked(vector, view), slots)
        return dict(zip(rows, scores.tolist(), strict=True))

    def fetch(self, keys: Sequence[str]) -> Mapping[str, StoredChunk]:
        """The chunks with these keys, in the order of the keys."""
        with self._reading() as connection:
            wanted = self._rows_of(connection, keys)
            chunks = read_chunks(connection, {row: key for key, row in wanted.items()})
        return {key: chunks[key] for key in dict.fromkeys(keys) if key in chunks}

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

    def _rows_of(self, connection: sqlite3.Connection, keys: Sequence[str]) -> dict[str, int]:
        unknown = [key for key in keys if key not in self._rows]
        known = {key: self._rows[key] for key in keys if key in self._rows}
        return known | rows_of(connection, unknown) if unknown else known

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
            names = self._names.of(connection, documents)
        if "" in names:  # a document went behind the engine's back: what the view still has of it is no hit
            there = np.array(names, dtype=object) != ""
            return self._ranked(view, slots[there], scores[there], k)
        keys = [_key(name, index) for name, index in zip(names, indexes, strict=True)]
        self._rows.update(zip(keys, view.rows_of(slots).tolist(), strict=True))
        order = sorted(zip((-scores).tolist(), keys, strict=True))
        return tuple(Scored(key, -score) for score, key in order[:k])
