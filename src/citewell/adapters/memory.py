"""The reference store: everything in memory, exact on every path, gone when the process ends.

Other engines are compared with it, so it prefers the plain formula to speed: a write copies the table of documents,
and the first search after it builds both indexes anew. It deliberately knows no files, no other process, no
approximate search and no text analysis.
"""

from __future__ import annotations

import copy
import math
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from citewell.adapters.memory_sessions import MemorySessions
from citewell.errors import StoreConflict, StoreLocked, StoreUnreachable
from citewell.filtering import passes
from citewell.identity import format_key
from citewell.model import (
    Chunk,
    DocumentChange,
    DocumentCopy,
    DocumentInfo,
    DocumentRecord,
    Filters,
    Reuse,
    Scored,
    StoreBinding,
    StoredChunk,
    StoredDocument,
    StoreStatus,
    VerifyReport,
)
from citewell.ports import check_binding

if TYPE_CHECKING:
    from numpy.typing import NDArray

_K1 = 1.2
_B = 0.75
_WRITER_PATIENCE_S = 30.0


@dataclass(frozen=True, slots=True)
class _Version:
    """One committed version of a document; `vectors` is float32 [chunks, dimensions]."""

    record: DocumentRecord
    number: int
    chunks: tuple[Chunk, ...]
    vectors: NDArray[np.float32]


class _Commit:
    """Everything as it was after one write; never changed afterwards, so it serves as a snapshot as it is."""

    def __init__(self, documents: Mapping[str, _Version], sequence: int) -> None:
        self.documents = documents
        self.sequence = sequence

    @property
    def size(self) -> int:
        """Chunks, whatever the filters."""
        return sum(len(version.chunks) for version in self.documents.values())

    def dense(self, vector: NDArray[np.float32], k: int, filters: Filters) -> tuple[Scored, ...]:
        """Exact cosines, best first, ties by evidence key."""
        allowed = self._within(filters)
        return self._best(_cosines(self._matrix[allowed], vector), allowed, k)

    def lexical(self, terms: Sequence[str], k: int, filters: Filters) -> tuple[Scored, ...]:
        """Plain BM25, best first, ties by evidence key."""
        scores = self._bm25(terms)
        allowed = self._within(filters)
        found = allowed[scores[allowed] > 0]
        return self._best(scores[found], found, k)

    def similarities(self, vector: NDArray[np.float32], keys: Sequence[str]) -> Mapping[str, float]:
        """As `dense` scores them, to the last bit."""
        known = [key for key in keys if key in self._places]
        scores = _cosines(self._matrix[np.array([self._places[key] for key in known], dtype=np.intp)], vector)
        return dict(zip(known, scores.tolist(), strict=True))

    def fetch(self, keys: Sequence[str]) -> Mapping[str, StoredChunk]:
        """The chunks that are there."""
        known = (key for key in keys if key in self._rows)
        return {key: _stored_chunk(key, *self._rows[key]) for key in known}

    @cached_property
    def _rows(self) -> dict[str, tuple[DocumentRecord, Chunk]]:
        """Every chunk by its evidence key, in the order of the keys: a stable sort by score then breaks ties by key."""
        rows = {
            format_key(doc_id, chunk.chunk_index): (version.record, chunk)
            for doc_id, version in self.documents.items()
            for chunk in version.chunks
        }
        return dict(sorted(rows.items()))

    @cached_property
    def _keys(self) -> tuple[str, ...]:
        return tuple(self._rows)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {key: place for place, key in enumerate(self._keys)}

    @cached_property
    def _matrix(self) -> NDArray[np.float32]:
        if not self._rows:
            return np.zeros((0, 1), dtype=np.float32)
        vectors = (self.documents[record.doc_id].vectors[chunk.chunk_index] for record, chunk in self._rows.values())
        return np.stack(list(vectors))

    @cached_property
    def _counts(self) -> tuple[Counter[str], ...]:
        """How often each chunk holds each of its terms."""
        return tuple(Counter(chunk.terms) for _, chunk in self._rows.values())

    def _within(self, filters: Filters) -> NDArray[np.intp]:
        places = (place for place, (record, _) in enumerate(self._rows.values()) if passes(record, filters))
        return np.fromiter(places, dtype=np.intp)

    def _bm25(self, terms: Sequence[str]) -> NDArray[np.float64]:
        """The sum of idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean length)) over the terms as given.

        Robertson and Zaragoza 2009, with idf = ln(1 + (N - n + .5) / (n + .5)), which is never negative.
        """
        scores = np.zeros(self.size)
        lengths = np.array([counts.total() for counts in self._counts], dtype=np.float64)
        for term in terms:
            counts = np.array([held[term] for held in self._counts], dtype=np.float64)
            if holders := np.count_nonzero(counts):
                idf = math.log(1 + (self.size - holders + 0.5) / (holders + 0.5))
                norms = _K1 * (1 - _B + _B * lengths / lengths.mean())
                scores += idf * counts * (_K1 + 1) / (counts + norms)
        return scores

    def _best(
        self, scores: NDArray[np.float32] | NDArray[np.float64], places: NDArray[np.intp], k: int
    ) -> tuple[Scored, ...]:
        order = np.argsort(-scores, kind="stable")[:k]
        return tuple(Scored(self._keys[places[rank]], float(scores[rank])) for rank in order)


def _cosines(vectors: NDArray[np.float32], vector: NDArray[np.float32]) -> NDArray[np.float32]:
    # Not `@`: a matrix product may round equal rows differently by their position, and then ties are none.
    products: NDArray[np.float32] = (vectors * vector).sum(axis=1, dtype=np.float32)
    return np.clip(products, -1.0, 1.0)


def _stored_chunk(key: str, record: DocumentRecord, chunk: Chunk) -> StoredChunk:
    return StoredChunk(
        evidence_key=key,
        doc_id=record.doc_id,
        chunk_index=chunk.chunk_index,
        text=chunk.text,
        source=record.source,
        title=record.title,
        breadcrumb=chunk.breadcrumb,
        category=record.category,
        scope=record.scope,
        span=chunk.span,
        locator=chunk.locator,
        metadata=record.metadata,
        digest=chunk.digest,
    )


class MemoryStore:
    """A `citewell.ports.Store` in memory. Readers take the current commit and never wait; writers take turns."""

    at_hand = True

    def __init__(self) -> None:
        self._commit = _Commit({}, 0)
        self._binding: StoreBinding | None = None
        self._closed = False
        self._turn = threading.Lock()
        self._sessions = MemorySessions()

    @contextmanager
    def snapshot(self) -> Iterator[_Commit]:
        """The current commit, which no later write changes."""
        yield self._current()

    def binding(self) -> StoreBinding | None:
        """What the contents were made with; None before the first `bind`."""
        self._current()
        return self._binding

    def bind(self, binding: StoreBinding) -> None:
        """Record it, or refuse another one (INGEST-8)."""
        with self._writing():
            if self._binding is not None:
                check_binding(self._binding, binding)
            self._binding = binding

    def apply(self, changes: Sequence[DocumentChange]) -> None:
        """Write all of these versions in one commit, or none of them."""
        with self._writing() as commit:
            _check_changes(changes, commit.documents)
            documents, sequence = dict(commit.documents), commit.sequence
            for change in changes:
                sequence += 1
                documents[change.document.doc_id] = _version(change, documents.get(change.document.doc_id), sequence)
            self._commit = _Commit(documents, sequence)

    def copy(self, copies: Sequence[DocumentCopy]) -> None:
        """Store all of these documents again under other ids in one commit, or none of them."""
        with self._writing() as commit:
            documents, sequence = dict(commit.documents), commit.sequence
            for each in copies:
                doc_id, stored, sequence = each.document.doc_id, commit.documents.get(each.source), sequence + 1
                if stored is None or stored.number != each.expected_version or doc_id in documents:
                    raise StoreConflict(
                        f"{each.source!r} can't be copied to {doc_id!r} any more", way_out="Plan again."
                    )
                documents[doc_id] = replace(stored, record=each.document, number=sequence)
            self._commit = _Commit(documents, sequence)

    def delete(self, doc_ids: Sequence[str]) -> int:
        """Remove these documents in one commit and return how many chunks went."""
        with self._writing() as commit:
            gone = commit.documents.keys() & set(doc_ids)
            kept = {doc_id: version for doc_id, version in commit.documents.items() if doc_id not in gone}
            self._commit = _Commit(kept, commit.sequence + len(gone))
            return commit.size - self._commit.size

    def documents(self) -> Iterator[DocumentInfo]:
        """The catalogue of the current commit, ordered by doc_id."""
        documents = self._current().documents
        return (_info(documents[doc_id]) for doc_id in sorted(documents))

    def stored(self, doc_id: str) -> StoredDocument | None:
        """What the planner needs; None if there is no such document."""
        version = self._current().documents.get(doc_id)
        if version is None:
            return None
        return StoredDocument(version.record, version.number, tuple(chunk.context_digest for chunk in version.chunks))

    def vectors(self, doc_id: str) -> Mapping[str, NDArray[np.float32]]:
        """The stored vectors of a document by the context digest of their chunk; empty if there is none."""
        version = self._current().documents.get(doc_id)
        if version is None:
            return {}
        return {chunk.context_digest: version.vectors[chunk.chunk_index].copy() for chunk in version.chunks}

    def holders(self, content_digest: str) -> list[str]:
        """The documents with this content, ordered by doc_id."""
        documents = self._current().documents
        return sorted(name for name, version in documents.items() if version.record.content_digest == content_digest)

    def sessions(self) -> MemorySessions:
        """What sessions were shown."""
        return self._sessions

    def status(self) -> StoreStatus:
        """Figures and binding; the sequence counts document versions written and removed."""
        commit = self._current()
        return StoreStatus("memory:", "memory", len(commit.documents), commit.size, commit.sequence, self._binding)

    def verify(self, *, repair: bool = False) -> VerifyReport:
        """Always sound: both indexes are made from the documents by every commit."""
        return VerifyReport(self._current().size)

    def close(self) -> None:
        """Refuse every further call."""
        self._closed = True
        self._sessions.close()

    def _current(self) -> _Commit:
        if self._closed:
            raise StoreUnreachable("the store memory: is closed", way_out="Open a new one; its contents are gone.")
        return self._commit

    @contextmanager
    def _writing(self) -> Iterator[_Commit]:
        if not self._turn.acquire(timeout=_WRITER_PATIENCE_S):
            raise StoreLocked(
                f"another writer has held the store memory: for {_WRITER_PATIENCE_S:.0f} s", way_out="Try again."
            )
        try:
            yield self._current()
        finally:
            self._turn.release()


def _check_changes(changes: Sequence[DocumentChange], documents: Mapping[str, _Version]) -> None:
    """Refuse the whole batch before anything of it is written."""
    seen: set[str] = set()
    for change in changes:
        doc_id = change.document.doc_id
        stored = documents.get(doc_id)
        number, chunks = (stored.number, len(stored.chunks)) if stored else (0, 0)
        if doc_id in seen:
            raise StoreConflict(f"the batch holds the document {doc_id!r} twice", way_out="Give each document once.")
        if change.expected_version != number:
            raise StoreConflict(
                f"the document {doc_id!r} is stored as version {number}, not {change.expected_version}",
                way_out="Plan again.",
            )
        if any(vector.chunk_index >= chunks for vector in change.vectors if isinstance(vector, Reuse)):
            raise StoreConflict(f"{doc_id!r} reuses a vector that its stored version lacks", way_out="Plan again.")
        seen.add(doc_id)


def _version(change: DocumentChange, stored: _Version | None, number: int) -> _Version:
    vectors = [
        stored.vectors[vector.chunk_index] if stored and isinstance(vector, Reuse) else vector
        for vector in change.vectors
    ]
    # The caller may go on with its own mapping; what was written stays.
    record = replace(change.document, metadata=copy.deepcopy(dict(change.document.metadata)))
    return _Version(record, number, tuple(change.chunks), np.array(vectors, dtype=np.float32))


def _info(version: _Version) -> DocumentInfo:
    record = version.record
    return DocumentInfo(
        doc_id=record.doc_id,
        title=record.title,
        source=record.source,
        category=record.category,
        scope=record.scope,
        metadata=record.metadata,
        chunks=len(version.chunks),
        characters=sum(len(chunk.text) for chunk in version.chunks),
        fingerprint=record.fingerprint,
        content_digest=record.content_digest,
        headings=record.headings,
    )
