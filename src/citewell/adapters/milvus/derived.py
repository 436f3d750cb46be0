"""A lexical index in this process's memory, for servers without BM25 (before 2.5): derived from the collection.

It reads the terms of every chunk when it is first asked, and before each search what was committed since, so it is
always as new as the snapshot; nothing of it is kept. It costs about 100 bytes per chunk and term, and the first search
reads the whole collection: for large stores use a server with native BM25. Scores are plain BM25 over all chunks that
the snapshot sees, as the embedded engine counts them.
"""

from __future__ import annotations

import math
import threading
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from citewell.adapters.milvus.filters import Bearer, passes
from citewell.adapters.milvus.schema import K1, B
from citewell.adapters.milvus.terms import word
from citewell.model import Filters, Scored

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from citewell.adapters.milvus.catalogue import Catalogue
    from citewell.adapters.milvus.chunks import Chunks
    from citewell.adapters.milvus.state import Head, State

_FIELDS = ["version", "document", "category", "labels", "marks", "terms"]
_AT_ONCE = 500
"""The most versions that are asked for one by one; beyond, all rows are read."""


@dataclass(frozen=True, slots=True)
class _Version:
    """A version that is indexed: where its rows are, and what filters compare with."""

    rows: range
    bearer: Bearer


class Derived:
    """The index; safe to call from several threads, one at a time.

    Args:
        chunks, catalogue: of the store.
        state: what snapshots see.
    """

    def __init__(self, chunks: Chunks, catalogue: Catalogue, state: State) -> None:
        self._chunks, self._catalogue, self._state = chunks, catalogue, state
        self._turn = threading.Lock()
        self._clear()
        self._known = -1

    def _clear(self) -> None:
        self._keys: list[str] = []
        self._lengths = array("q")
        self._postings: dict[str, tuple[array[int], array[int]]] = {}
        self._versions: dict[int, _Version] = {}

    @property
    def size(self) -> int:
        """Rows that it holds."""
        return len(self._keys)

    def best(self, head: Head, terms: Sequence[str], k: int, filters: Filters) -> tuple[Scored, ...]:
        """The k best rows that a snapshot with this head sees, within the filters."""
        with self._turn:
            self._catch_up(head)
            seen, allowed = self._masks(head, filters)
            scores = self._scores(terms, seen)
            rows = np.flatnonzero((scores > 0) & allowed)
            found = sorted((-scores[row], self._keys[row]) for row in rows.tolist())
            return tuple(Scored(key, float(-score)) for score, key in found[:k])

    def _catch_up(self, head: Head) -> None:
        """Take in what was committed since, and forget what has gone."""
        if head.sequence <= self._known:
            return
        committed = self._catalogue.versions("document")
        if max(committed, default=0) > head.sequence:
            committed += self._behind(head)
        live = self._state.live(committed)
        kept = {version for version in self._versions if version in live or self._state.sees(version, head.sequence)}
        for version in self._versions.keys() - kept:
            del self._versions[version]
        if 2 * sum(len(version.rows) for version in self._versions.values()) < len(self._keys):
            self._clear()  # more than half of it is dead: the rows are read anew
        wanted = {version for version in live if version <= head.sequence} | kept
        self._add(wanted - self._versions.keys())
        self._known = head.sequence

    def _behind(self, head: Head) -> list[int]:
        """Versions up to the head that are not indexed, by the rows themselves.

        A commit is in the catalogue a moment before this process knows what it retired, and names none of that.
        """
        found = self._chunks.rows(f"version > {max(self._known, 0)} and version <= {head.sequence}", ["version"])
        return list({int(row["version"]) for row in found})

    def _add(self, versions: Iterable[int]) -> None:
        missing, first = sorted(versions), len(self._keys)
        held: dict[int, list[Any]] = {version: [] for version in missing}
        for row in self._rows(missing):
            held.get(int(row["version"]), []).append(row)
        for version, rows in held.items():
            start = len(self._keys)
            for row in rows:
                self._add_row(row)
            # A version without rows was never written whole; it is remembered so that it is not asked for again.
            bearer = bearer_of(rows[0]) if rows else Bearer("", "", frozenset(), frozenset())
            self._versions[version] = _Version(range(start, len(self._keys)), bearer)
        self._name_keys(first)

    def _rows(self, versions: Sequence[int]) -> Iterable[Any]:
        if len(versions) > _AT_ONCE:
            return self._chunks.rows(f"version >= {versions[0]}", _FIELDS)
        return self._chunks.rows(f"version in {list(versions)}", _FIELDS) if versions else []

    def _add_row(self, row: Any) -> None:  # noqa: ANN401 - a mapping of pymilvus's own
        at = len(self._keys)
        words = str(row["terms"]).split()
        self._keys.append(str(row["id"]))
        self._lengths.append(len(words))
        for held, times in Counter(words).items():
            rows, counts = self._postings.setdefault(held, (array("q"), array("q")))
            rows.append(at)
            counts.append(times)

    def _name_keys(self, first: int) -> None:
        """Primary keys, from the first new one on, become evidence keys; a long one is read from its row."""
        new = self._keys[first:]
        long = [key for key in new if key.startswith("\x1d")]
        names = {row.id: row.key for row in self._chunks.with_ids(long)} if long else {}
        self._keys[first:] = [names.get(key) or key.rpartition("@")[0] for key in new]

    def _masks(self, head: Head, filters: Filters) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Bool [rows]: what the snapshot sees, and what of it the filters let through."""
        seen, allowed = np.zeros(self.size, dtype=np.bool_), np.zeros(self.size, dtype=np.bool_)
        let_through = passes(filters)
        for number, version in self._versions.items():
            if self._state.sees(number, head.sequence):
                span = slice(version.rows.start, version.rows.stop)
                seen[span] = True
                allowed[span] = let_through(version.bearer)
        return seen, allowed

    def _scores(self, terms: Sequence[str], seen: NDArray[np.bool_]) -> NDArray[np.float64]:
        """BM25 of every row, 0 where none of the terms is; a term that is given twice counts twice."""
        scores = np.zeros(self.size)
        count = int(np.count_nonzero(seen))
        lengths = np.array(self._lengths, dtype=np.float64)
        mean = float(lengths[seen].mean()) if count else 0.0
        for term in terms:
            rows, times = self._of_term(term, seen)
            if rows.size:
                idf = math.log(1 + (count - rows.size + 0.5) / (rows.size + 0.5))
                norms = K1 * (1 - B + B * lengths[rows] / mean)
                scores[rows] += idf * times * (K1 + 1) / (times + norms)
        return scores

    def _of_term(self, term: str, seen: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        held = self._postings.get(word(term))
        if held is None:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        rows, times = np.array(held[0], dtype=np.int64), np.array(held[1], dtype=np.int64)
        return rows[seen[rows]], times[seen[rows]]


def bearer_of(row: Mapping[str, Any]) -> Bearer:
    """What filters compare with, of a row of the collection."""
    return Bearer(row["document"], row["category"], frozenset(row["labels"]), frozenset(row["marks"]))
