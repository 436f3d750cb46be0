"""The library's face: a location, Settings and perhaps an embedder become one Knowledge (API-1).

It knows no rule, no order of steps and no adapter: `wiring` chooses those.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Unpack

from citewell.admission import admit, admit_scope, check_session
from citewell.analysis import ANALYZER_VERSION, analyze
from citewell.config import Settings
from citewell.embed_once import EmbedOnce
from citewell.errors import CitewellError, EmbedderUnavailable, InvalidRequest, UnknownEvidence
from citewell.hints import CatalogueHints
from citewell.identity import normalize_id, parse_key
from citewell.lookup import Lookup, LookupResult, as_block
from citewell.lookup_options import Labels, LookupOptions
from citewell.model import (
    Document,
    DocumentInfo,
    EvidenceBlock,
    IngestReport,
    Mode,
    Scalar,
    SessionInfo,
    StoreBinding,
    StoreStatus,
    VerifyReport,
)
from citewell.ports import Embedder, Reader, Store, check_binding, embedder_identity
from citewell.scope import is_visible
from citewell.search import StoreSearch
from citewell.sessions import SessionMemory
from citewell.wiring import open_counter, open_embedder, open_reader, open_store, texts, watch_paths

if TYPE_CHECKING:
    from citewell.ingest import Ingestion, IngestOptions, Progress


class Knowledge:
    """A store of documents, and the ways to fill it and to look things up in it; safe to use from several threads.

    Make one with `Knowledge.open`. It is a context manager; `close` releases files and threads.
    """

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        settings: Settings,
        readers: Sequence[Reader] = (),
        *,
        owned: bool = False,
    ) -> None:
        self._store, self._embedder, self._settings, self._readers = store, embedder, settings, tuple(readers)
        self._owns_embedder = owned
        once = EmbedOnce(embedder)
        self._search, self._hints = StoreSearch(store, once, settings.search), CatalogueHints(store, once)
        self._memory = SessionMemory(store.sessions(), settings.sessions)
        counter = open_counter(settings.token_counter, embedder)
        self._lookup = Lookup(
            self._search, budget=settings.budget, count_tokens=counter, hints=self._hints, memory=self._memory
        )

    @classmethod
    def open(
        cls,
        location: str | Path | None = None,
        *,
        settings: Settings | None = None,
        embedder: Embedder | None = None,
        readers: Sequence[Reader] = (),
        create: bool = True,
    ) -> Knowledge:
        """Open a store, or make an empty one.

        Args:
            location: a directory for the embedded engine, or `memory:` for one that is gone on close; None = the
                setting `store.location`.
            settings: None = defaults and the environment.
            embedder: None = the one that the settings name.
            readers: asked first for the files that they take, before Citewell's own.
            create: whether to make a store where there is none.

        Raises:
            StoreError: it can't be opened.
            EmbedderMismatch: it was filled by another embedder.
            ConfigError: a setting names what there isn't, such as a token counter that is not installed.
        """
        settings = settings or Settings.load()
        where = str(location) if location is not None else settings.store.location
        store = open_store(where, settings.store, create=create)
        try:
            chosen = embedder if embedder is not None else open_embedder(settings.embedder, store.binding())
            knowledge = cls(store, chosen, settings, readers, owned=embedder is None)
        except BaseException:
            store.close()
            raise
        try:
            knowledge._check_binding()
        except BaseException:
            knowledge.close()
            raise
        return knowledge

    @property
    def settings(self) -> Settings:
        """In force."""
        return self._settings

    @property
    def embedder(self) -> Embedder:
        """In use."""
        return self._embedder

    def _check_binding(self) -> None:
        """Refuse a store of another embedder at once; an endpoint that is down can't say, and searching will tell."""
        bound = self._store.binding()
        if bound is not None:
            with contextlib.suppress(EmbedderUnavailable):
                check_binding(bound, self._own_binding())

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
        return self._ingestion().paths(
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
        run, arm = partial(ingestion.paths, chosen, **options), partial(watch_paths, chosen, ended)
        return watch(run, arm, Concern(chosen, ingestion.takes), trouble=trouble or _untold, pause=ended.wait)

    def ingest_documents(
        self, documents: Iterable[Document], *, progress: Callable[[Progress], None] | None = None
    ) -> IngestReport:
        """Bring the store in line with these documents."""
        return self._ingestion().documents(documents, progress=progress)

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
            raise InvalidRequest(f"a document id can't be {doc_id!r}", way_out="Give one that `documents` lists.")
        return self._store.delete([name])

    def lookup(
        self,
        query: str,
        *,
        category: str | None = None,
        scope: Labels = None,
        where: Mapping[str, Scalar] | None = None,
        mode: Mode | None = None,
        retrieve_k: int | None = None,
        return_n: int | None = None,
        min_similarity: float | Literal["off"] | None = None,
        max_chunks_per_document: int | None = None,
        session: str | None = None,
        neighbours: int = 0,
        repeat: bool = False,
    ) -> LookupResult:
        """Find evidence for a question.

        Args:
            query: in natural language, an error code, a command: text is never syntax.
            category: soft; a guess of where the answer is.
            scope: hard; the labels that the caller holds. None = everything, [] = nothing.
            where: hard; metadata fields and the values that they must equal.
            mode: `dense` or `hybrid`; None = the setting, as for the numbers below.
            retrieve_k: candidates asked of each path.
            return_n: the most blocks returned.
            min_similarity: in [-1, 1]; "off" switches a configured floor off for this call.
            max_chunks_per_document: 0 = no cap.
            session: remembers, within the scope, what `to_agent` showed; such evidence then comes without its text.
            neighbours: how many chunks before and after each hit to show beside it, if there is room.
            repeat: show again what the session was shown before.

        Raises:
            InvalidRequest: an argument can't be used.
            ScopeDenied: the store demands a scope.
            StoreError, EmbedderError: every path failed.
        """
        request = admit(
            query,
            category=category,
            scope=scope,
            where=where,
            mode=mode,
            retrieve_k=retrieve_k,
            return_n=return_n,
            min_similarity=min_similarity,
            max_chunks_per_document=max_chunks_per_document,
            session=session,
            neighbours=neighbours,
            repeat=repeat,
            policy=self._settings.lookup,
            search=self._settings.search,
            require_scope=self._settings.store.require_scope,
        )
        return self._lookup.run(request)

    async def alookup(self, query: str, **options: Unpack[LookupOptions]) -> LookupResult:
        """`lookup`, with the same arguments, in a worker thread, for callers with an event loop."""
        return await asyncio.to_thread(self.lookup, query, **options)

    def show(self, evidence_key: str, *, scope: Labels = None) -> EvidenceBlock:
        """One chunk by its evidence key.

        Raises:
            UnknownEvidence: there is none within the scope; outside it reads the same.
        """
        key = parse_key(evidence_key).evidence_key
        held = admit_scope(scope, require_scope=self._settings.store.require_scope)
        with self._store.snapshot() as view:
            chunk = view.fetch([key]).get(key)
        if chunk is None or not is_visible(chunk.scope, held):
            raise UnknownEvidence(
                f"there is no evidence {evidence_key!r}", way_out="Copy the id of a lookup's evidence."
            )
        return as_block(chunk)

    def documents(self) -> Iterator[DocumentInfo]:
        """The catalogue, ordered by document id."""
        return self._store.documents()

    def sessions(self) -> Iterator[SessionInfo]:
        """The sessions that something was shown to, ordered by id, then scope (SESSION-2)."""
        return self._store.sessions().sessions()

    def forget_session(self, session: str) -> int:
        """Forget a session in every scope, and return how many pieces of evidence it remembered; 0 if there is none.

        Raises:
            InvalidRequest: that can't be a session id.
        """
        name = check_session(session)
        if name is None:
            raise InvalidRequest(f"a session id can't be {session!r}", way_out="Give one that `sessions` lists.")
        return self._store.sessions().forget(name)

    def status(self) -> StoreStatus:
        """Figures of the store, and what it is bound to."""
        return self._store.status()

    def verify(self, *, repair: bool = False) -> VerifyReport:
        """Compare the stored truth with its indexes; with `repair`, put right what differs."""
        return self._store.verify(repair=repair)

    def close(self) -> None:
        """Release files and threads, and the embedder unless the caller brought it. Idempotent."""
        self._search.close()
        self._hints.close()
        self._store.close()
        close_embedder = getattr(self._embedder, "close", None)
        if self._owns_embedder and callable(close_embedder):
            close_embedder()

    def __enter__(self) -> Knowledge:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _as_paths(paths: str | Path | Iterable[str | Path]) -> list[Path]:
    chosen: list[object] = list(paths) if isinstance(paths, Iterable) and not isinstance(paths, str) else [paths]
    # An empty text would be the working folder, which nobody means by it.
    good = [Path(path) for path in chosen if isinstance(path, str | Path) and path != ""]
    if len(good) < len(chosen):
        bad = next(path for path in chosen if path == "" or not isinstance(path, str | Path))
        raise InvalidRequest(f"a path can't be {bad!r}", way_out="Name a file or a folder; '.' is the working folder.")
    return good


def _untold(error: CitewellError, pause_s: float) -> None:
    """Nobody asked."""
