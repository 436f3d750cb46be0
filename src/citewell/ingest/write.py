"""Batches of prepared documents -> embedded and written, faults isolated to the document that has them (INGEST-6).

Each batch is tried as a whole, then document by document. What concerns every document (the endpoint is down, the store
is locked or full) ends the run instead. Knows no file and no order of the run.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from citewell.errors import (
    CitewellError,
    EmbedderError,
    EmbedderMismatch,
    EmbedderUnavailable,
    IngestError,
    StoreConflict,
    StoreCorrupt,
    StoreLocked,
    StoreUnreachable,
    StoreVersion,
)
from citewell.identity import format_key
from citewell.ingest.embed import ChunkEmbedder, Input
from citewell.ingest.outcomes import Prepared
from citewell.model import Chunk, DocumentChange, FileReport
from citewell.ports import Embedder, Store

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]
    Vectors = list[Vector]

_FIRST_SLICE, _SMALLEST_SLICE, _LARGEST_SLICE = 32, 8, 256
_CALL_S = 1.0
"""How long one call of the embedder is meant to take: an interrupted run waits for its end."""
_PLANS = 10
"""How often a document is planned anew that others write at the same time."""
_REPLACED = "another writer has replaced it since"
_ENDS_THE_RUN = (EmbedderUnavailable, EmbedderMismatch, StoreLocked, StoreUnreachable, StoreCorrupt, StoreVersion)


class Stopped(Exception):
    """The run was told to stop between two calls of the embedder."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """A prepared document and the vectors of its fresh chunks."""

    prepared: Prepared
    vectors: Vectors

    @property
    def change(self) -> DocumentChange:
        """What is written."""
        return self.prepared.plan.change(self.vectors)


class BatchEmbedder:
    """Embeds batches; one thread at a time. `embedded` is called with the number of chunks after each call."""

    def __init__(
        self,
        embedder: Embedder,
        stop: threading.Event,
        embedded: Callable[[int], None],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._embedder, self._stop, self._embedded = ChunkEmbedder(embedder), stop, embedded
        self._clock, self._slice = clock, _FIRST_SLICE

    def embed(self, batch: Sequence[Prepared]) -> tuple[list[Embedded], list[FileReport]]:
        """The documents that could be embedded, and reports on those that could not.

        Raises:
            EmbedderUnavailable: the model or its endpoint can't be had.
            Stopped: the run was told to stop.
        """
        try:
            return self._together(batch), []
        except EmbedderUnavailable:
            raise
        except EmbedderError as error:
            return self._one_by_one(batch, error)

    def _together(self, batch: Sequence[Prepared]) -> list[Embedded]:
        vectors = self._vectors([each for prepared in batch for each in prepared.inputs])
        done: list[Embedded] = []
        start = 0
        for prepared in batch:
            end = start + len(prepared.plan.fresh)
            done.append(Embedded(prepared, vectors[start:end]))
            start = end
        return done

    def _vectors(self, inputs: Sequence[Input]) -> Vectors:
        vectors: Vectors = []
        while len(vectors) < len(inputs):
            if self._stop.is_set():
                raise Stopped
            started = self._clock()
            part = self._embedder.embed(inputs[len(vectors) : len(vectors) + self._slice])
            self._embedded(len(part))
            self._slice = _next_slice(len(part), self._clock() - started)
            vectors += part
        return vectors

    def _one_by_one(self, batch: Sequence[Prepared], error: EmbedderError) -> tuple[list[Embedded], list[FileReport]]:
        if len(batch) == 1:
            return [], [batch[0].report("failed", str(error))]
        parts = [self.embed([prepared]) for prepared in batch]
        return [each for done, _ in parts for each in done], [report for _, failed in parts for report in failed]


def _next_slice(done: int, seconds: float) -> int:
    """How many texts to embed in the next call, given how long these took."""
    if seconds <= 0:
        return _LARGEST_SLICE
    return max(_SMALLEST_SLICE, min(_LARGEST_SLICE, round(done * _CALL_S / seconds)))


class BatchWriter:
    """Writes batches; one thread at a time."""

    def __init__(self, store: Store, embedder: Embedder) -> None:
        self._store, self._embedder = store, ChunkEmbedder(embedder)

    def write(self, batch: Sequence[Embedded]) -> list[FileReport]:
        """One report per document.

        Raises:
            StoreError: one that concerns every document: locked, unreachable, corrupt, of another version.
        """
        if not batch:
            return []
        try:
            self._store.apply([each.change for each in batch])
        except _ENDS_THE_RUN:
            raise
        except Exception as error:  # noqa: BLE001 - whatever an engine raises over one document must not stop the others
            if len(batch) == 1:
                return [self._again(batch[0], error)]
            return [report for each in batch for report in self.write([each])]
        return list(self._read_back([each.prepared for each in batch]))

    def _again(self, each: Embedded, error: Exception) -> FileReport:
        """A document that changed meanwhile is planned anew, a few times at most; any other fault is its own."""
        prepared = each.prepared
        known = dict(zip((chunk.context_digest for chunk in _fresh(prepared)), each.vectors, strict=True))
        for _ in range(_PLANS):
            if not isinstance(error, StoreConflict):
                break
            prepared = prepared.planned_anew(self._store.stored(prepared.doc_id))
            try:
                self._write_planned(prepared, known)
            except _ENDS_THE_RUN:
                raise
            except Exception as another:  # noqa: BLE001 - as above
                error = another
            else:
                return next(self._read_back([prepared]))
        return prepared.report("failed", _said(error))

    def _write_planned(self, prepared: Prepared, known: dict[str, Vector]) -> None:
        """Write a version with the vectors that are known by context digest; others are made and become known."""
        fresh = _fresh(prepared)
        missing = [chunk for chunk in fresh if chunk.context_digest not in known]
        made = self._embedder.embed([(prepared.subjects[chunk.chunk_index], chunk.text) for chunk in missing])
        known.update(zip((chunk.context_digest for chunk in missing), made, strict=True))
        self._store.apply([prepared.plan.change([known[chunk.context_digest] for chunk in fresh])])

    def _read_back(self, batch: Sequence[Prepared]) -> Iterator[FileReport]:
        """Each document's report, once every chunk of it was found under its key."""
        keys = {
            (each.doc_id, chunk.chunk_index): format_key(each.doc_id, chunk.chunk_index)
            for each in batch
            for chunk in each.plan.chunks
        }
        with self._store.snapshot() as view:
            found = view.fetch(list(keys.values()))
        for each in batch:
            held = (found.get(keys[each.doc_id, chunk.chunk_index]) for chunk in each.plan.chunks)
            whole = sum(
                row is not None and row.digest == chunk.digest
                for row, chunk in zip(held, each.plan.chunks, strict=True)
            )
            yield each.report() if whole == len(each.plan.chunks) else self._unread(each, whole)

    def _unread(self, each: Prepared, whole: int) -> FileReport:
        """A version that can't be read back: another writer has replaced it already, or the store has lost it."""
        stored = self._store.stored(each.doc_id)
        if stored and stored.version > each.plan.expected_version and stored.record != each.plan.record:
            return replace(each.report(), chunks=len(stored.context_digests), detail=_REPLACED)
        detail = f"{len(each.plan.chunks)} chunks were written, but only {whole} of them can be read back"
        return each.report("failed", str(IngestError(detail, way_out="Run `citewell verify`.")))


def _fresh(prepared: Prepared) -> list[Chunk]:
    return [prepared.plan.chunks[index] for index in prepared.plan.fresh]


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, CitewellError) else f"{type(error).__name__}: {error}"
