"""The writing half of a Knowledge: bring its store in line with files, folders and documents (INGEST-1..9).

It knows no rule of ingestion and no adapter, and nothing of lookups.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from citewell.analysis import ANALYZER_VERSION, analyze
from citewell.app.options import Labels
from citewell.checks import shown
from citewell.errors import CitewellError, InvalidRequest
from citewell.identity import normalize_id
from citewell.model import Document, IngestReport, RawDocument, StoreBinding
from citewell.ports import Embedder, Reader, Store, embedder_identity
from citewell.wiring import open_reader, texts, watch_paths

if TYPE_CHECKING:
    from citewell.ingest import Ingestion, IngestOptions, Progress


class Filling:
    """What can be written to a store; the base of Knowledge, which opens and closes it."""

    _store: Store
    _embedder: Embedder
    _readers: tuple[Reader, ...]

    def _filled(self) -> None:
        """Called after each run that may have written."""

    def _own_binding(self) -> StoreBinding:
        return StoreBinding(embedder_identity(self._embedder), ANALYZER_VERSION)

    def ingest(
        self,
        paths: str | Path | Iterable[str | Path],
        *,
        category: str | None = None,
        scope: Labels = None,
        prefix: str = "",
        prune: bool = False,
        include: str | Sequence[str] = (),
        exclude: str | Sequence[str] = (),
        respect_gitignore: bool = True,
        progress: Callable[[Progress], None] | None = None,
    ) -> IngestReport:
        """Bring the store in line with these files and folders (INGEST-1..9).

        Args:
            paths: a file, a folder, or several.
            category: of every document; None = what its front matter says.
            scope: labels that every document bears.
            prefix: put before every document id; sets two roots apart.
            prune: delete stored documents of these roots whose files are gone or that a `.citewellignore` leaves out.
            include: globs in the syntax of `.gitignore`, relative to the folder; only what one of them matches.
            exclude: globs of what is not taken; wins over `include`.
            respect_gitignore: leave out what `.gitignore` files name.
            progress: called now and then with what has been done.
        """
        report = self._ingestion().paths(
            _as_paths(paths),
            category=category,
            scope=scope,
            prefix=prefix,
            prune=prune,
            include=include,
            exclude=exclude,
            respect_gitignore=respect_gitignore,
            progress=progress,
        )
        self._filled()
        return report

    def watch(
        self,
        paths: str | Path | Iterable[str | Path],
        *,
        trouble: Callable[[CitewellError, float], None] | None = None,
        stop: threading.Event | None = None,
        **options: Unpack[IngestOptions],
    ) -> Iterator[IngestReport]:
        """`ingest`, and again whenever something changes: the report of each run, until `stop` is set.

        Runs happen while the caller asks for the next report. Needs the extra `watch`.

        Args:
            paths: as for `ingest`.
            trouble: told what went wrong in a run after the first, such as a locked store, and the seconds until it is
                tried again.
            stop: set it in another thread to end the iteration.
            options: the further arguments of `ingest`.

        Raises:
            InvalidRequest: the extra is not installed.
        """
        from citewell.ingest.watch import Concern, watch  # noqa: PLC0415 - lookups watch nothing

        chosen, ended, ingestion = _as_paths(paths), stop or threading.Event(), self._ingestion()

        def run() -> IngestReport:
            report = ingestion.paths(chosen, **options)
            self._filled()
            return report

        arm = partial(watch_paths, chosen, ended)
        return watch(run, arm, Concern(chosen, ingestion.takes), trouble=trouble or _untold, pause=ended.wait)

    def ingest_documents(
        self,
        documents: Iterable[Document | RawDocument],
        *,
        apart: bool = False,
        progress: Callable[[Progress], None] | None = None,
    ) -> IngestReport:
        """Bring the store in line with these documents.

        Args:
            documents: texts, or bytes in the format of a file; those that are not given stay as they are.
            apart: say of no document that another stored one has the same text, and save no work because of it; for
                callers who must not learn of the others.
            progress: called now and then with what has been done.
        """
        given: object = documents
        if not isinstance(given, Iterable):
            raise InvalidRequest(f"documents can't be {shown(given)}", way_out="Give a list of Document values.")
        report = self._ingestion().documents(documents, apart=apart, progress=progress)
        self._filled()
        return report

    def _ingestion(self) -> Ingestion:
        from citewell.ingest import Ingestion  # noqa: PLC0415 - lookups need no splitter

        reader, own = open_reader(self._readers), self._own_binding()
        return Ingestion(self._store, self._embedder, analyze=analyze, binding=own, reader=reader, texts=texts())

    def delete(self, doc_id: str) -> int:
        """Remove a document and return how many chunks went; 0 if there was none.

        Raises:
            InvalidRequest: that can't be a document id.
        """
        name = normalize_id(doc_id)
        if name is None:
            raise InvalidRequest(f"a document id can't be {shown(doc_id)}", way_out="Give one that `documents` lists.")
        return self._store.delete([name])


def _as_paths(paths: str | Path | Iterable[str | Path]) -> list[Path]:
    chosen: list[object] = list(paths) if isinstance(paths, Iterable) and not isinstance(paths, str) else [paths]
    # An empty text would be the working folder, which nobody means by it.
    good = [Path(path) for path in chosen if isinstance(path, str | Path) and path != ""]
    if len(good) < len(chosen):
        bad = next(path for path in chosen if not isinstance(path, str | Path) or path == "")
        raise InvalidRequest(
            f"a path can't be {shown(bad)}", way_out="Name a file or a folder; '.' is the working folder."
        )
    return good


def _untold(error: CitewellError, pause_s: float) -> None:
    """Nobody asked."""
