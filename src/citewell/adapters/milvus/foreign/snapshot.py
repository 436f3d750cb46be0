"""A view of an attached collection: each path asks for rows until enough of them are within the filters.

Milvus has no snapshots that span calls: a view is of the moment of each call, and rows are remembered from the first
call that read them, so that scores and texts of one lookup belong together.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from citewell.adapters.milvus.foreign.collection import MAX_WIDTH, Collection, Found, vector_of
from citewell.adapters.milvus.foreign.conditions import Conditions, holds
from citewell.adapters.milvus.foreign.rows import PrimaryKey, Row, RowReader
from citewell.errors import EmbedderMismatch, StoreError
from citewell.identity import find_identity
from citewell.model import Filters, Scored, StoredChunk

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from citewell.adapters.milvus.foreign.derived import Derived, Entry
    from citewell.adapters.milvus.foreign.mapping import Entity

    Vector = NDArray[np.float32]
    Similarity = Callable[[Vector, Vector], float]

_SPARE = 14
"""Rows asked for beyond k, so that a tie at the cut or a shared key seldom needs a second search."""
_GROWTH = 8
_MOST_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class _Answer:
    """Rows within the filters, best first; how many rows the engine gave for it, and whether it had no more."""

    ranked: list[Scored]
    seen: int
    is_whole: bool


class AttachedSnapshot:
    """A `citewell.ports.Snapshot`; safe to call from several threads.

    Args:
        collection, reader, conditions: of the attached collection.
        derived: brings the table up to date when it is first asked for.
        vector: the dense vector field, and how many dimensions it has.
        similarity: by the metric of the collection.
        bm25: the sparse field that the engine makes itself; empty if it has none.
    """

    def __init__(
        self,
        collection: Collection,
        reader: RowReader,
        conditions: Conditions,
        derived: Callable[[], Derived],
        *,
        vector: tuple[str, int],
        similarity: Similarity,
        bm25: str = "",
    ) -> None:
        self._collection, self._reader, self._conditions = collection, reader, conditions
        self._derived, self._similarity, self._bm25 = derived, similarity, bm25
        self._vector, self._dimensions = vector
        self._turn = threading.Lock()
        self._size: int | None = None
        self._rows: dict[str, StoredChunk] = {}
        self._vectors: dict[str, dict[PrimaryKey, Vector]] = {}
        self._whole: set[str] = set()
        """Keys of which every row has been read; several rows with one key are one chunk, and the best one speaks."""

    @property
    def size(self) -> int:
        """Rows of the collection."""
        if self._size is None:
            self._size = self._collection.count()
        return self._size

    def dense(self, vector: Vector, k: int, filters: Filters) -> tuple[Scored, ...]:
        """The k nearest rows within the filters; similarities are computed from the stored vectors."""
        self._check(vector)
        chosen = self._conditions.expression(filters)
        if chosen is None or k < 1:
            return ()

        def score(found: Sequence[Found]) -> list[tuple[Entity, float]]:
            return [(each.entity, self._similarity(vector, vector_of(each.entity, self._vector))) for each in found]

        def ask(width: int) -> list[tuple[Entity, float]]:
            return score(self._collection.nearest(vector, width, chosen))

        # An engine may rank what can't be compared (zero length, NaN) anywhere: it says nothing of those behind it.
        incomparable = self._similarity(vector, np.full_like(vector, np.nan))
        answer = self._until_enough(ask, k, filters, worst=incomparable)
        if len(answer.ranked) >= k:
            return tuple(answer.ranked[:k])
        if not answer.is_whole:
            return self._exhaustively(vector, k, filters)
        if not self._collection.is_exact and answer.seen < self._collection.count(chosen) <= MAX_WIDTH:
            # A graph or a list may end early, within filters above all; so few rows are compared one by one.
            all_of_them = [Found(entity, 0.0) for entity in self._collection.matching(chosen)]
            return tuple(self._within(score(all_of_them), filters)[:k])
        return tuple(answer.ranked)

    def lexical(self, terms: Sequence[str], k: int, filters: Filters) -> tuple[Scored, ...]:
        """The k best rows by BM25: the engine's own, over the query as it stands, else by the derived words."""
        if not terms or k < 1:
            return ()
        return self._native(" ".join(terms), k, filters) if self._bm25 else self._by_words(terms, k, filters)

    def similarities(self, vector: Vector, keys: Sequence[str]) -> Mapping[str, float]:
        """As `dense` scores them: from the stored vectors."""
        self._check(vector)
        self._find([key for key in keys if key not in self._whole], vectors=True)
        self._whole.update(keys)
        held = {key: list(self._vectors[key].values()) for key in keys if key in self._vectors}
        return {key: max(self._similarity(vector, each) for each in vectors) for key, vectors in held.items()}

    def fetch(self, keys: Sequence[str]) -> Mapping[str, StoredChunk]:
        """The chunks with these keys, as the collection holds them."""
        self._find([key for key in keys if key not in self._rows], vectors=False)
        return {key: self._rows[key] for key in dict.fromkeys(keys) if key in self._rows}

    def _native(self, text: str, k: int, filters: Filters) -> tuple[Scored, ...]:
        chosen = self._conditions.expression(filters)
        if chosen is None:
            return ()

        def ask(width: int) -> list[tuple[Entity, float]]:
            return [(each.entity, each.score) for each in self._collection.bm25(text, self._bm25, width, chosen)]

        answer = self._until_enough(ask, k, filters)
        if len(answer.ranked) < k and not answer.is_whole:
            raise _too_deep("the engine's own BM25")
        return tuple(each for each in answer.ranked[:k] if each.score > 0)

    def _by_words(self, terms: Sequence[str], k: int, filters: Filters) -> tuple[Scored, ...]:
        """The rows are read in the order of their scores until k are within the filters."""
        if self._conditions.expression(filters) is None:
            return ()
        found: dict[str, float] = {}
        ranking, width = self._derived().ranked(terms), k
        while len(found) < k and (batch := list(islice(ranking, width))):
            self._keep(batch, filters, found)
            width = min(width * 2, max(k, _MOST_AT_ONCE))
        return tuple(Scored(key, score) for key, score in list(found.items())[:k])

    def _keep(self, batch: Sequence[tuple[Entry, float]], filters: Filters, found: dict[str, float]) -> None:
        known = {entry.evidence_key for entry, _ in batch if entry.evidence_key in self._rows}
        self._read([entry.pk for entry, _ in batch if entry.evidence_key not in known], vectors=False)
        for entry, score in batch:
            chunk = self._rows.get(entry.evidence_key)
            if chunk is not None and entry.evidence_key not in found and holds(chunk, filters):
                found[entry.evidence_key] = score

    def _until_enough(
        self,
        ask: Callable[[int], list[tuple[Entity, float]]],
        k: int,
        filters: Filters,
        *,
        worst: float = float("-inf"),
    ) -> _Answer:
        """The rows within the filters, best first, asked for more and more until k of them are known for sure.

        A score of `worst` does not say how good the engine took the row for.
        """
        width = min(k + _SPARE, MAX_WIDTH)
        while True:
            found = ask(width)
            ranked = self._within(found, filters)
            if len(found) < width:
                return _Answer(ranked, len(found), is_whole=True)
            # A row that was not returned may tie with the worst one that was.
            last = min((score for _, score in found if score > worst), default=worst)
            if len(ranked) >= k and ranked[k - 1].score > last:
                return _Answer(ranked, len(found), is_whole=False)
            if width == MAX_WIDTH:
                return _Answer(ranked, len(found), is_whole=False)
            width = min(width * _GROWTH, MAX_WIDTH)

    def _within(self, found: Sequence[tuple[Entity, float]], filters: Filters) -> list[Scored]:
        """Those within the filters, each key once at its best score, best first, equal scores by key."""
        best: dict[str, float] = {}
        for entity, score in found:
            row = self._remember(entity)
            key = row.chunk.evidence_key
            if holds(row.chunk, filters) and score > best.get(key, float("-inf")):
                best[key] = score
        return [Scored(key, score) for key, score in sorted(best.items(), key=lambda each: (-each[1], each[0]))]

    def _exhaustively(self, vector: Vector, k: int, filters: Filters) -> tuple[Scored, ...]:
        """Where the nearest 16,384 rows hold too few that pass: every row that passes is compared, in pages."""
        best: dict[str, float] = {}
        for page in self._collection.scan(vectors=True):
            for row, entity in ((self._reader.read(entity), entity) for entity in page):
                if holds(row.chunk, filters):
                    score = self._similarity(vector, vector_of(entity, self._vector))
                    best[row.chunk.evidence_key] = max(score, best.get(row.chunk.evidence_key, -2.0))
        order = sorted(best.items(), key=lambda each: (-each[1], each[0]))
        return tuple(Scored(key, score) for key, score in order[:k])

    def _find(self, keys: Sequence[str], *, vectors: bool) -> None:
        """Read the rows with these keys: a key of a primary key says it itself, for others the table is asked."""
        held = self._vectors if vectors else self._rows
        self._read([pk for key in keys if (pk := self._primary_key(key)) is not None], vectors=vectors)
        rest = [key for key in keys if key not in held]
        if rest:
            self._read([pk for pks in self._derived().pks_of(rest).values() for pk in pks], vectors=vectors)

    def _primary_key(self, key: str) -> PrimaryKey | None:
        identity = find_identity(key)
        if identity is None or identity.doc_id is not None or not key.startswith("vector:"):
            return None
        name = key.removeprefix("vector:")
        if self._collection.schema.fields[self._collection.schema.primary].kind == "text":
            return name
        return int(name) if name.removeprefix("-").isdecimal() and name.isascii() and len(name) < 20 else None

    def _read(self, pks: Sequence[PrimaryKey], *, vectors: bool) -> None:
        if pks:
            for entity in sorted(self._collection.rows(pks, vectors=vectors), key=self._order, reverse=True):
                self._remember(entity)

    def _order(self, entity: Entity) -> tuple[str, object]:
        pk = entity[self._collection.schema.primary]
        return (type(pk).__name__, pk)

    def _remember(self, entity: Entity) -> Row:
        row = self._reader.read(entity)
        with self._turn:
            self._rows.setdefault(row.chunk.evidence_key, row.chunk)
            if self._vector in entity:
                self._vectors.setdefault(row.chunk.evidence_key, {})[row.pk] = vector_of(entity, self._vector)
        return row

    def _check(self, vector: Vector) -> None:
        if vector.shape != (self._dimensions,):
            raise EmbedderMismatch(
                f"the query's vector has {vector.size} dimensions, and {self._vector!r} of the collection"
                f" {self._collection.schema.collection!r} has {self._dimensions}",
                way_out="Open it with the embedder that filled the collection.",
            )


def _too_deep(what: str) -> StoreError:
    return StoreError(
        f"fewer than retrieve-k of the best {MAX_WIDTH:,} rows by {what} are within the filters",
        way_out="Ask for fewer, or copy the collection into a store of Citewell's own with `citewell reindex`.",
    )
