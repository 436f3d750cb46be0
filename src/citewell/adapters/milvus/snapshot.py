"""One consistent view of a store on Milvus, which has no snapshots of its own.

A snapshot is a sequence number. Its searches return rows of versions that are visible at that number (see state.py);
while it is open, this process keeps the rows that it may still ask for. So within a process a snapshot goes on showing
what it showed. Another process may meanwhile remove rows of a version that it replaced: then the document drops out of
the snapshot. Rows of two versions of a document are never shown together, whoever writes.

What a search found is remembered, texts included, so that a lookup makes one call per path.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from citewell.adapters.milvus.bodies import read_chunk
from citewell.adapters.milvus.catalogue import Catalogue, damaged_parts
from citewell.adapters.milvus.chunks import Ask, Chunks, Found, best, found_of
from citewell.adapters.milvus.filters import both, expression, token
from citewell.adapters.milvus.state import Head, State
from citewell.errors import InvalidRequest, StoreUnreachable
from citewell.model import Filters, Scored, StoredChunk

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from citewell.adapters.milvus.derived import Derived


class EmptySnapshot:
    """Of a store that was never written."""

    size = 0

    def dense(self, vector: NDArray[np.float32], k: int, filters: Filters) -> tuple[Scored, ...]:
        """Nothing."""
        return ()

    def lexical(self, terms: Sequence[str], k: int, filters: Filters) -> tuple[Scored, ...]:
        """Nothing."""
        return ()

    def similarities(self, vector: NDArray[np.float32], keys: Sequence[str]) -> Mapping[str, float]:
        """Nothing."""
        return {}

    def fetch(self, keys: Sequence[str]) -> Mapping[str, StoredChunk]:
        """Nothing."""
        return {}


class MilvusSnapshot:
    """A `citewell.ports.Snapshot`; safe to call from several threads.

    Args:
        chunks, catalogue: of the store.
        state: where it was pinned, with `head`.
        refresh: reads the head of the catalogue anew.
        prepare: called before lexical searches; gives the index of this process where Milvus has no BM25.
        dimensions: of the stored vectors.
    """

    def __init__(
        self,
        chunks: Chunks,
        catalogue: Catalogue,
        state: State,
        refresh: Callable[[], None],
        prepare: Callable[[], Derived | None],
        dimensions: int,
    ) -> None:
        self._chunks, self._catalogue, self._state, self._refresh = chunks, catalogue, state, refresh
        self._prepare, self._dimensions = prepare, dimensions
        self._turn = threading.Lock()
        self._head = state.pin()
        self._is_fixed = self._has_ended = False
        self._rows: dict[str, Found] = {}

    @property
    def size(self) -> int:
        """Chunks in the store."""
        return self._current().chunks

    def dense(self, vector: NDArray[np.float32], k: int, filters: Filters) -> tuple[Scored, ...]:
        """The k nearest chunks within the filters, k at most 16,000."""
        query = self._checked(vector)
        chosen = expression(filters)
        return self._ranked(lambda mask: self._chunks.dense(query, both(chosen, mask)), k)

    def lexical(self, terms: Sequence[str], k: int, filters: Filters) -> tuple[Scored, ...]:
        """The k best chunks by BM25 within the filters, k at most 16,000."""
        held = [term for term in terms if term]
        if not held:
            return ()
        derived = self._prepare()
        if derived is not None:
            return derived.best(self._fixed(), held, k, filters)
        chosen = expression(filters)
        return self._ranked(lambda mask: self._chunks.bm25(held, both(chosen, mask)), k)

    def similarities(self, vector: NDArray[np.float32], keys: Sequence[str]) -> Mapping[str, float]:
        """The similarity of each of these chunks, from its stored vector."""
        query, head = self._checked(vector), self._fixed()
        if not keys:
            return {}
        ids, vectors = self._chunks.vectors_with_keys(keys, self._state.mask(head.sequence))
        if not ids:
            return {}
        scores = np.clip((vectors * query).sum(axis=1, dtype=np.float32), -1.0, 1.0).tolist()
        rows = [found_of(each, score) for each, score in zip(ids, scores, strict=True)]
        seen = {row.evidence: row.score for row in self._visible(rows, head)}
        return {key: seen[token(key)] for key in keys if token(key) in seen}

    def fetch(self, keys: Sequence[str]) -> Mapping[str, StoredChunk]:
        """The chunks with these keys, in the order of the keys."""
        head = self._fixed()
        unknown = [key for key in dict.fromkeys(keys) if key not in self._rows]
        if unknown:
            rows = self._chunks.with_keys(unknown, self._state.mask(head.sequence))
            self._remember(self._visible(rows, head))
        bodies = ((key, self._body(self._rows[key])) for key in dict.fromkeys(keys) if key in self._rows)
        return {key: read_chunk(key, body) for key, body in bodies if body is not None}

    def end(self) -> None:
        """Let go of what was kept for it; later calls are refused."""
        with self._turn:
            if not self._has_ended:
                self._has_ended = True
                self._state.unpin(self._head.sequence)

    def _body(self, row: Found) -> str | None:
        """The body, whole; None if another process removed the version meanwhile, and its parts with it."""
        rest = self._catalogue.parts(row.id, row.version, row.more) if row.more else ""
        if rest is None and self._chunks.with_ids([row.id]):
            raise damaged_parts(row.key)
        return None if rest is None else row.body + rest

    def _current(self) -> Head:
        with self._turn:
            if self._has_ended:
                raise StoreUnreachable("the snapshot has ended", way_out="Take a new one from the store.")
            return self._head

    def _fixed(self) -> Head:
        """The head that every further call goes by."""
        with self._turn:
            self._is_fixed = True
        return self._current()

    def _ranked(self, search: Callable[[str], Ask], k: int) -> tuple[Scored, ...]:
        """Search within what is visible. Mostly everything is, so that is looked at first, and asked for if not."""
        head = self._current()
        found = best(search(self._state.mask(head.sequence)), k)
        if len(self._visible(found, head)) < len(found):
            self._renew(head)
        head = self._fixed()
        seen = self._visible(found, head)
        if len(seen) < len(found):  # they belong to another state, perhaps to one that another path has found out about
            seen = self._visible(best(search(self._state.mask(head.sequence, always=True)), k), head)
        self._remember(seen)
        return tuple(Scored(each.key, each.score) for each in seen)

    def _visible(self, rows: Sequence[Found], head: Head) -> Sequence[Found]:
        """The rows that the snapshot sees; the same sequence if it sees all."""
        hidden = {version for version in {row.version for row in rows} if not self._state.sees(version, head.sequence)}
        return [row for row in rows if row.version not in hidden] if hidden else rows

    def _renew(self, head: Head) -> None:
        """There are rows of versions that this process has not heard of: hear of them, if nothing was shown yet."""
        with self._turn:
            if self._is_fixed or self._head is not head:
                return
            self._refresh()
            before, self._head = self._head, self._state.pin()
            self._state.unpin(before.sequence)
            self._is_fixed = True

    def _remember(self, rows: Iterable[Found]) -> None:
        self._rows.update({row.key: row for row in rows})

    def _checked(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        query = np.asarray(vector, dtype=np.float32)
        if query.shape != (self._dimensions,) or not np.isfinite(query).all():
            raise InvalidRequest(
                f"the query's vector has the shape {query.shape} or a value that is no finite number; the store holds"
                f" {self._dimensions} dimensions",
                way_out="Embed the query with the embedder that filled the store.",
            )
        return query
