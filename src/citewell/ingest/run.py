"""The write path, top to bottom: catalogue -> read, split, plan -> embed what is new -> write -> prune -> report.

A run brings the store in line with what it is given (INGEST-5..7): sources whose fingerprint is stored are passed over
unread; every other document is replaced as a whole. Knows no format, no splitting rule and no engine.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from citewell.admission import check_category, check_labels
from citewell.checks import shown
from citewell.errors import CitewellError, InvalidRequest, StoreConflict
from citewell.ingest import split
from citewell.ingest.catalogue import Catalogue
from citewell.ingest.gone import Missing, missing
from citewell.ingest.ignore import selection
from citewell.ingest.options import OnProgress, Progress
from citewell.ingest.outcomes import Gone, Moved, Outcome, Prepared, Source
from citewell.ingest.pipeline import Pipeline
from citewell.ingest.prepare import Analyze, Options, Preparation
from citewell.ingest.sources import Texts, document_sources, file_source
from citewell.ingest.walk import walk
from citewell.ingest.write import BatchEmbedder, BatchWriter
from citewell.model import Document, DocumentCopy, FileReport, IngestReport, RawDocument, StoreBinding
from citewell.ports import Embedder, Reader, Store

if TYPE_CHECKING:
    from citewell.ingest.outcomes import Vectors

_BATCH_CHUNKS = 256
_BATCH_DOCUMENTS = 256
_BATCH_SECONDS = 2.0


class Ingestion:
    """Fills a store. One run at a time per object."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        *,
        analyze: Analyze,
        binding: StoreBinding,
        reader: Reader,
        texts: Texts,
        target: int = split.TARGET,
        maximum: int = split.MAXIMUM,
        small: int = split.SMALL,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Nothing is read or written yet.

        Args:
            store: to be filled.
            embedder: called from one thread of the run at a time.
            analyze: text -> terms, by the analyser that the binding names.
            binding: what the contents are made with; the store refuses another one.
            reader: of files.
            texts: what makes a Text of a Document, by the Document's format.
            target: characters that a chunk is meant to have.
            maximum: characters that no chunk exceeds.
            small: characters below which a section is joined with its neighbour.
            clock: seconds, for the report and for how long a batch may wait.
        """
        self._store, self._embedder, self._binding, self._clock = store, embedder, binding, clock
        self._reader, self._texts = reader, texts
        self._options = Options(embedder, analyze, binding.analyzer, reader.version, target, maximum, small)

    def paths(
        self,
        paths: str | Path | Sequence[str | Path],
        *,
        category: str | None = None,
        scope: str | Sequence[str] | None = None,
        prefix: str = "",
        prune: bool = False,
        include: str | Sequence[str] = (),
        exclude: str | Sequence[str] = (),
        respect_gitignore: bool = True,
        progress: OnProgress | None = None,
    ) -> IngestReport:
        """Ingest files and folders.

        Args:
            paths: one or several; of a folder every visible file that can be read is taken, in deeper folders too.
            category: of every document; None = what its front matter says.
            scope: labels that every document bears. Front matter can't set them: a document must not decide who may
                see it.
            prefix: put before every document id.
            prune: delete documents that came from these folders under this prefix and whose file is gone, or left out
                by a `.citewellignore`. What a glob or a `.gitignore` leaves out stays, as does what nobody can read
                now. A folder that could not be read to its end is not pruned, nor is anything when a single file is
                given.
            include: globs; if there are any, only files that one of them matches are taken. A glob has the syntax of a
                line in `.gitignore` and is relative to the folder given: `*.md`, `api/`, `docs/**/*.txt`.
            exclude: globs of what is not taken; wins over `include`.
            respect_gitignore: leave out what `.gitignore` files name, in the folders and above them up to the top of
                the working tree. `.citewellignore` files, of the same syntax, are always respected. A file that is
                given itself is taken although an ignore file names it.
            progress: called in the caller's thread, now and then.

        Raises:
            InvalidRequest: there is no such path, or an argument can't be used.
            EmbedderMismatch, StoreVersion: the store is bound to something else.
            EmbedderUnavailable, StoreError: the run could not go on; it says how many documents were stored before.
        """
        label, labels = check_category(category), check_labels(scope)
        chosen = [paths] if isinstance(paths, str | Path) else paths
        picked = selection(include, exclude, gitignore=respect_gitignore)
        found = walk(
            [Path(path) for path in chosen],
            prefix=_checked_prefix(prefix),
            takes=self._reader.takes,
            selection=picked,
        )
        catalogue = self._catalogue()
        lost = missing(found, catalogue, prune=prune)
        sources = (file_source(file, self._reader, label, labels) for file in found.files)
        pruned = {root.path for root in found.roots if root.whole and prune}
        run = _Run(self._store, self._embedder, self._options, self._clock, catalogue, lost, pruned)
        report = run.report([*found.refused, *lost.reports], sources, len(found.files), progress)
        return replace(report, ignored=len(found.left_out))

    def takes(self, path: str) -> bool:
        """Whether a file of this name would be read."""
        return self._reader.takes(Path(path).name)

    def documents(
        self,
        documents: Iterable[Document | RawDocument],
        *,
        apart: bool = False,
        progress: OnProgress | None = None,
    ) -> IngestReport:
        """Ingest documents, taken from the iterable one by one in the caller's thread; raises as `paths`.

        A document without text deletes the stored one. Markdown may begin with front matter; what the Document itself
        says wins. Documents that are not given stay as they are. With `apart`, no report and no saved work tells that
        another stored document has the same text.
        """
        run = _Run(self._store, self._embedder, self._options, self._clock, self._catalogue(apart=apart), Missing())
        return run.report([], document_sources(documents, self._texts, self._reader), None, progress)

    def _catalogue(self, *, apart: bool = False) -> Catalogue:
        self._store.bind(self._binding)
        return Catalogue(self._store, apart=apart)


def _checked_prefix(prefix: object) -> str:
    if not isinstance(prefix, str):
        raise InvalidRequest(
            f"a prefix can't be {shown(prefix)}", way_out="Give a text such as 'docs/', or leave it out."
        )
    return prefix


def _no_vectors(doc_id: str) -> Vectors:
    """Of a store that can't hand vectors out: texts that moved are embedded again."""
    return {}


class _Run:
    """One run: what it was started with, and the reports as they come in."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        options: Options,
        clock: Callable[[], float],
        catalogue: Catalogue,
        lost: Missing,
        pruned: Collection[str] = (),
    ) -> None:
        self._store, self._clock, self._leaving = store, clock, lost.leaving
        vectors: Callable[[str], Vectors] = getattr(store, "vectors", _no_vectors)
        self._copy: Callable[[Sequence[DocumentCopy]], None] | None = getattr(store, "copy", None)
        self._preparation = Preparation(
            options, catalogue, store.stored, vectors,
            leaving=lost.leaving, pruned=pruned, copies=self._copy is not None,
        )  # fmt: skip
        self._stop = threading.Event()
        self._pipeline = Pipeline(
            BatchEmbedder(embedder, self._stop, self._count), BatchWriter(store, embedder), self._stop, self._tell
        )
        self._reports = self._pipeline.reports
        self._pruned: list[FileReport] = []
        self._counted = self._written = 0
        self._embedded, self._latest = 0, ""
        self._total: int | None = None
        self._progress: OnProgress | None = None

    def _count(self, chunks: int) -> None:
        self._embedded += chunks

    def _tell(self, *, stopping: bool = False) -> None:
        if self._progress:
            done = (len(self._reports), self._total, self._embedded, self._latest)
            self._progress(Progress(*done, changed=self._changed(), stopping=stopping))

    def report(
        self,
        refused: Sequence[FileReport],
        sources: Iterable[Source | FileReport],
        total: int | None,
        progress: OnProgress | None,
    ) -> IngestReport:
        """Do the work."""
        started, self._total, self._progress = self._clock(), total, progress
        with self._pipeline:
            try:
                for doc_id in self._take(sources):
                    self._latest = doc_id
                    self._tell()
                self._pipeline.finish()
                self._prune()
                self._compact()
            except CitewellError as error:
                self._pipeline.settle()
                raise self._ended(error) from error
            except KeyboardInterrupt:
                self._tell(stopping=True)
                try:
                    self._pipeline.settle()
                finally:  # it may be interrupted as well
                    self._tell(stopping=True)
                raise
        self._latest = ""
        self._tell()
        files = [*refused, *self._remarked(), *self._pruned]
        files.sort(key=lambda file: (file.doc_id, file.status, file.detail))
        return IngestReport(tuple(files), self._clock() - started)

    def _remarked(self) -> Iterator[FileReport]:
        """The reports, with what is known only now: which texts moved, and which are there twice."""
        lost = {file.doc_id for file in self._reports if file.status == "failed"}
        for file in self._reports:
            remark = self._preparation.remark(file.doc_id, lost) if file.status in ("added", "updated") else ""
            yield replace(file, detail="; ".join(filter(None, (file.detail, remark)))) if remark else file

    def _take(self, sources: Iterable[Source | FileReport]) -> Iterator[str]:
        """Prepare each source and hand full batches on; yields the doc_id of each."""
        batch = _Batch(self._clock)
        moved: list[Moved] = []
        for source in self._pipeline.readable(sources):
            outcome = source if isinstance(source, FileReport) else self._preparation.prepare(source)
            if isinstance(outcome, Moved):
                moved.append(outcome)
            else:
                self._sort(outcome, batch)
            if len(moved) >= _BATCH_DOCUMENTS:
                self._take_along(moved, batch)
            if batch.is_due():
                self._pipeline.put(batch.take())
            yield outcome.doc_id
        self._take_along(moved, batch)
        if batch:
            self._pipeline.put(batch.take())

    def _sort(self, outcome: Outcome, batch: _Batch) -> None:
        if isinstance(outcome, Prepared):
            batch.add(outcome)
        elif isinstance(outcome, Gone):
            self._reports += self._deleted({outcome.doc_id: outcome.detail})
        elif isinstance(outcome, FileReport):
            self._reports.append(outcome)

    def _take_along(self, moved: list[Moved], batch: _Batch) -> None:
        """Write what only moved; if any of it has changed meanwhile, prepare all of it as any other source."""
        some, moved[:] = list(moved), []
        if not some or self._copy is None:
            return
        try:
            self._copy([each.copy for each in some])
        except StoreConflict:
            for each in some:
                self._sort(self._preparation.prepare_anew(each), batch)
        else:
            self._reports += [each.report() for each in some]

    def _prune(self) -> None:
        """Delete what is leaving, but no text that has moved to a document which could not be stored."""
        arrived = {file.doc_id for file in self._reports if file.status in ("added", "updated")}
        gone = dict(self._leaving)
        for doc_id, new in self._preparation.moved.items():
            if new in arrived:
                gone[doc_id] = f"moved to {new!r}"
            else:
                del gone[doc_id]
                detail = f"its file is gone, but its text, now {new!r}, could not be stored there; it stays"
                self._pruned.append(FileReport(doc_id, "skipped", detail=detail))
        self._pruned += self._deleted(gone)

    def _deleted(self, details: Mapping[str, str]) -> list[FileReport]:
        if details:
            self._store.delete(list(details))
        return [FileReport(doc_id, "deleted", detail=detail) for doc_id, detail in details.items()]

    def _changed(self) -> int:
        """How many documents the store holds anew, or no longer; reports are counted once each."""
        new, self._counted = self._reports[self._counted :], len(self._reports)
        self._written += sum(file.status in ("added", "updated", "deleted") for file in new)
        return self._written + sum(file.status == "deleted" for file in self._pruned)

    def _compact(self) -> None:
        compact = getattr(self._store, "compact", None)
        if callable(compact) and self._changed():
            compact()

    def _ended(self, error: CitewellError) -> CitewellError:
        """The same error, saying how far the run came."""
        changed = self._changed()
        done = "1 document was" if changed == 1 else f"{changed} documents were"
        message = f"{error.message}; {done} brought up to date before"
        return type(error)(message, way_out=f"{error.way_out} The next run goes on from there.".strip())


class _Batch:
    """Documents that are embedded and written together."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._since = 0.0
        self._documents: list[Prepared] = []
        self._fresh = 0

    def __bool__(self) -> bool:
        return bool(self._documents)

    def add(self, prepared: Prepared) -> None:
        if not self._documents:
            self._since = self._clock()
        self._documents.append(prepared)
        self._fresh += len(prepared.plan.fresh)

    def is_due(self) -> bool:
        full = self._fresh >= _BATCH_CHUNKS or len(self._documents) >= _BATCH_DOCUMENTS
        return full or (bool(self._documents) and self._clock() - self._since >= _BATCH_SECONDS)

    def take(self) -> list[Prepared]:
        documents, self._documents, self._fresh = self._documents, [], 0
        return documents
