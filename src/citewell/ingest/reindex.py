"""One store -> another: every document copied whole, analysed anew, and embedded anew where the embedder differs.

What the target already holds of a document, by the fingerprint of everything that the copy depends on, is passed over:
a run that was killed goes on where it stopped. Documents of the target that the source does not have stay. Knows no
engine and no format.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from citewell.errors import CitewellError
from citewell.identity import format_key
from citewell.ingest import split
from citewell.ingest.embed import embedding_digest
from citewell.ingest.fingerprint import digest, fingerprint, root_of
from citewell.ingest.options import OnProgress, Progress
from citewell.ingest.outcomes import Prepared
from citewell.ingest.pipeline import Pipeline
from citewell.ingest.plan import diff
from citewell.ingest.prepare import Analyze
from citewell.ingest.split.bounds import Bounds
from citewell.ingest.split.context import BREADCRUMB, ContextTerms, heading_line
from citewell.ingest.visible import has_text
from citewell.ingest.write import BatchEmbedder, BatchWriter
from citewell.model import Chunk, FileReport, IngestReport, StoreBinding, StoredChunk
from citewell.model.exports import ExportedDocument
from citewell.ports import Embedder, Store

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

VERSION = "1"
"""Of how documents are copied; part of every copy's fingerprint."""
_BATCH_CHUNKS = 256
_READS = 5
"""How often a document is read that others write at the same time."""


@dataclass(frozen=True, slots=True)
class _Passage:
    """A chunk of the source that is copied, and what is known of its vector."""

    chunk: StoredChunk
    vector: Vector | None
    context_digest: str | None


class Reindexing:
    """Fills a store from another one.

    Args:
        target: to be filled.
        embedder: that the target is, or will be, bound to.
        analyze: text -> terms, by the analyser that the binding names.
        binding: of the target.
        clock: seconds, for the report.
    """

    def __init__(
        self,
        target: Store,
        embedder: Embedder,
        *,
        analyze: Analyze,
        binding: StoreBinding,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._target, self._embedder, self._terms = target, embedder, ContextTerms(analyze)
        self._binding, self._clock = binding, clock
        count = getattr(embedder, "count_tokens", None)
        self._bounds = Bounds(split.TARGET, split.MAXIMUM, embedder.max_tokens, split.MAX_BYTES, count)

    def run(self, source: Store, *, progress: OnProgress | None = None) -> IngestReport:
        """Copy every document of the source.

        Vectors are copied where the source says that this embedder made them, and made anew elsewhere.

        Args:
            source: only read.
            progress: called in the caller's thread, now and then.

        Raises:
            EmbedderMismatch, StoreVersion: the target is bound to something else.
            EmbedderUnavailable, StoreError: the run could not go on; the next one goes on from there.
        """
        self._target.bind(self._binding)
        bound = source.binding()
        keeps = bound is not None and bound.embedder == self._binding.embedder
        prepare = partial(self.prepare, keeps_vectors=keeps)
        return _Run(source, prepare, self._target, self._embedder, self._clock, progress).report()

    def prepare(self, document: ExportedDocument, *, keeps_vectors: bool) -> Prepared | FileReport:
        """What is to be done about one document: a report if nothing is."""
        passages, remarks = self._passages(document, keeps_vectors=keeps_vectors)
        doc_id = document.record.doc_id
        if not passages:
            return FileReport(doc_id, "no_text", detail="none of its chunks has a text")
        subjects = tuple(self._subject(document.record.title, passage) for passage in passages)
        parts = zip(passages, subjects, _spans([passage.chunk for passage in passages]), strict=True)
        chunks = tuple(self._chunk(index, *part) for index, part in enumerate(parts))
        stored = self._target.stored(doc_id)
        mark = self._mark(document, chunks, passages)
        if stored is not None and stored.record.fingerprint == mark:
            return FileReport(doc_id, "unchanged", len(chunks))
        record = replace(
            document.record,
            fingerprint=mark,
            content_digest=document.record.content_digest or digest("\n".join(chunk.text for chunk in chunks)),
        )
        others = {
            chunk.context_digest: passage.vector
            for chunk, passage in zip(chunks, passages, strict=True)
            if passage.vector is not None
        }
        return Prepared(diff(stored, record, chunks, others), subjects, remarks, others)

    def _passages(self, document: ExportedDocument, *, keeps_vectors: bool) -> tuple[list[_Passage], tuple[str, ...]]:
        """What is copied, and what is to be said of it."""
        parts = zip(document.chunks, document.vectors, document.context_digests, strict=True)
        passages = [
            _Passage(chunk, _unit(vector) if keeps_vectors else None, context if keeps_vectors else None)
            for chunk, vector, context in parts
            if has_text(chunk.text)
        ]
        blank = len(document.chunks) - len(passages)
        fresh = [passage.chunk.text for passage in passages if passage.vector is None]
        long = sum(self._bounds.tokens(text) > self._bounds.max_tokens for text in fresh)
        remarks = (
            document.remark,
            f"{blank} chunks without text left out" if blank else "",
            f"{long} chunks may be longer than the embedder takes: their vectors may lack their ends" if long else "",
        )
        return passages, tuple(remark for remark in remarks if remark)

    def _subject(self, title: str, passage: _Passage) -> str:
        """What is embedded beside the passage, as an ingestion would; a copied vector says what it was made from."""
        if passage.vector is not None:
            return ""
        outermost = "" if title.strip() else passage.chunk.breadcrumb.partition(BREADCRUMB)[0]
        return heading_line(title, outermost)

    def _chunk(self, index: int, passage: _Passage, subject: str, span: tuple[int, int]) -> Chunk:
        held = passage.chunk
        heading = heading_line(held.title, held.breadcrumb)
        return Chunk(
            chunk_index=index,
            text=held.text,
            breadcrumb=held.breadcrumb,
            span=span,
            locator=held.locator,
            digest=digest(held.text),
            context_digest=passage.context_digest or embedding_digest(subject, held.text),
            terms=self._terms.of(heading, held.text),
        )

    def _mark(self, document: ExportedDocument, chunks: Sequence[Chunk], passages: Sequence[_Passage]) -> str:
        """The fingerprint of the copy; the folder that the original came from stays in it, for `prune`."""
        record, model = document.record, self._binding.embedder
        facts = {
            "versions": [VERSION, self._binding.analyzer],
            "embedder": [model.name, model.dimensions, model.fingerprint, *model.prefixes],
            "record": [
                record.title,
                record.source,
                record.category,
                record.scope,
                repr(sorted(record.metadata.items())),
            ],
            "headings": record.headings,
            "chunks": [
                [chunk.digest, chunk.context_digest, chunk.breadcrumb, *chunk.span, chunk.locator.to_dict()]
                for chunk in chunks
            ],
        }
        vectors = b"".join(b"" if passage.vector is None else passage.vector.tobytes() for passage in passages)
        return fingerprint(vectors, facts, root=root_of(record.fingerprint))


class _Run:
    """One run, and its reports as they come in."""

    def __init__(
        self,
        source: Store,
        prepare: Callable[[ExportedDocument], Prepared | FileReport],
        target: Store,
        embedder: Embedder,
        clock: Callable[[], float],
        progress: OnProgress | None,
    ) -> None:
        self._source, self._prepare, self._target = source, prepare, target
        self._clock, self._progress = clock, progress
        self._stop = threading.Event()
        writer = BatchWriter(target, embedder)
        self._pipeline = Pipeline(BatchEmbedder(embedder, self._stop, self._count), writer, self._stop, self._tell)
        self._reports = self._pipeline.reports
        self._embedded = self._counted = self._copied = 0
        self._latest = ""
        self._total: int | None = None

    def report(self) -> IngestReport:
        """Do the work."""
        started = self._clock()
        self._total = _size(self._source)
        with self._pipeline:
            try:
                self._copy()
                self._pipeline.finish()
                self._compact()
            except CitewellError as error:
                self._pipeline.settle()
                raise self._ended(error) from error
            except KeyboardInterrupt:
                self._tell(stopping=True)
                self._pipeline.settle()
                self._tell(stopping=True)
                raise
        self._latest = ""
        self._tell()
        files = sorted(self._reports, key=lambda file: (file.doc_id, file.status, file.detail))
        return IngestReport(tuple(files), self._clock() - started)

    def _copy(self) -> None:
        batch: list[Prepared] = []
        for document in self._pipeline.reached(exported(self._source)):
            outcome = document if isinstance(document, FileReport) else self._prepare(document)
            self._latest = outcome.doc_id
            if isinstance(outcome, Prepared):
                batch.append(outcome)
            else:
                self._reports.append(outcome)
            if sum(len(each.plan.chunks) for each in batch) >= _BATCH_CHUNKS:
                self._pipeline.put(batch)
                batch = []
            self._tell()
        if batch:
            self._pipeline.put(batch)

    def _compact(self) -> None:
        compact = getattr(self._target, "compact", None)
        if callable(compact) and self._changed():
            compact()

    def _changed(self) -> int:
        """How many documents were copied so far; reports are counted once each."""
        new, self._counted = self._reports[self._counted :], len(self._reports)
        self._copied += sum(file.status in ("added", "updated") for file in new)
        return self._copied

    def _count(self, chunks: int) -> None:
        self._embedded += chunks

    def _tell(self, *, stopping: bool = False) -> None:
        if self._progress:
            done = (len(self._reports), self._total, self._embedded, self._latest)
            self._progress(Progress(*done, changed=self._changed(), stopping=stopping))

    def _ended(self, error: CitewellError) -> CitewellError:
        message = f"{error.message}; {self._changed()} documents were copied before"
        return type(error)(message, way_out=f"{error.way_out} The next run goes on from there.".strip())


def _size(source: Store) -> int:
    """How many documents will come."""
    size: Callable[[], int] | None = getattr(source, "export_size", None)
    return size() if size else source.status().documents


def exported(source: Store) -> Iterator[ExportedDocument | FileReport]:
    """Every document of a store, in the order of its catalogue; an attached collection says itself what they are.

    One that changes time and again while it is read is a failed report instead.
    """
    export: Callable[[], Iterator[ExportedDocument]] | None = getattr(source, "export", None)
    if export is not None:
        yield from export()
        return
    for info in source.documents():
        document = _own(source, info.doc_id)
        if document is not None:
            yield document


def _own(source: Store, doc_id: str) -> ExportedDocument | FileReport | None:
    """A document of a store of our own; None if it has gone by now."""
    for _ in range(_READS):
        stored = source.stored(doc_id)
        if stored is None:
            return None
        keys = [format_key(doc_id, index) for index in range(len(stored.context_digests))]
        vectors: dict[str, Vector] = {}
        with suppress(AttributeError):
            vectors = dict(source.vectors(doc_id))  # type: ignore[attr-defined]  # optional in a Store
        with source.snapshot() as view:
            found = view.fetch(keys)
        again = source.stored(doc_id)
        if again is not None and again.version == stored.version and len(found) == len(keys):
            return ExportedDocument(
                stored.record,
                tuple(found[key] for key in keys),
                tuple(vectors.get(digest) for digest in stored.context_digests),
                stored.context_digests,
            )
    return FileReport(doc_id, "failed", detail="it changes while it is copied; run it again when nobody writes")


def _spans(chunks: Sequence[StoredChunk]) -> list[tuple[int, int]]:
    """Where each chunk is; if that is not known of all, where it is in the text that they make together."""
    known = [chunk.span for chunk in chunks if chunk.span is not None]
    if len(known) == len(chunks):
        return known
    ends = list(accumulate(len(chunk.text) for chunk in chunks))
    return list(zip([0, *ends[:-1]], ends, strict=True))


def _unit(vector: Vector | None) -> Vector | None:
    """The vector at length 1, as stores keep it; None for one without a direction."""
    if vector is None or not np.isfinite(vector).all():
        return None
    length = float(np.linalg.norm(vector.astype(np.float64)))
    if not length:
        return None
    return vector if abs(length - 1.0) <= 1e-6 else (vector.astype(np.float64) / length).astype(np.float32)
