"""The library's face: a location, Settings and perhaps an embedder become one Knowledge (API-1).

It knows no rule, no order of steps and no adapter: `wiring` chooses those.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal, Unpack

from citewell.admission import MAX_NEIGHBOURS, admit, admit_scope, check_session
from citewell.app.answers import ShownTo, check_answer
from citewell.app.embed_once import EmbedOnce
from citewell.app.filling import Filling
from citewell.app.options import Labels, LookupOptions
from citewell.app.reading import Reading
from citewell.checks import check_count, shown
from citewell.config import Settings
from citewell.errors import EmbedderUnavailable, InvalidRequest
from citewell.hints import CatalogueHints
from citewell.lookup import Lookup, LookupResult
from citewell.model import (
    DocumentInfo,
    DocumentRecord,
    EvidenceBlock,
    GuardReport,
    Mode,
    Scalar,
    SessionInfo,
    StoreStatus,
    VerifyReport,
)
from citewell.ports import Embedder, Reader, Reranker, Store, check_binding
from citewell.search import StoreSearch
from citewell.sessions import SessionMemory
from citewell.wiring import open_counter, open_embedder, open_reranker, open_store, takes_processes


class Knowledge(Filling):
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
        reranker: Reranker | None = None,
        owned: bool = False,
    ) -> None:
        self._store, self._embedder, self._settings, self._readers = store, embedder, settings, tuple(readers)
        self._owns_embedder, self._elsewhere = owned, None  # type: tuple[bool, Settings | None]
        self._listeners: tuple[Callable[[LookupResult], None], ...] = ()
        self._once = once = EmbedOnce(embedder, settings.search.timeout_s)
        self._search, self._hints = StoreSearch(store, once, settings.search), CatalogueHints(store, once)
        self._reranker = open_reranker(settings.reranker, reranker)
        self._memory = SessionMemory(store.sessions(), settings.sessions)
        counter = open_counter(settings.token_counter, embedder)
        self._lookup = Lookup(
            self._search,
            budget=settings.budget,
            count_tokens=counter,
            hints=self._hints,
            reranker=self._reranker,
            memory=self._memory,
        )
        self._reading = Reading(store, self._memory, settings.budget, counter)

    @classmethod
    def open(
        cls,
        location: str | Path | None = None,
        *,
        settings: Settings | None = None,
        embedder: Embedder | None = None,
        reranker: Reranker | None = None,
        readers: Sequence[Reader] = (),
        create: bool = True,
    ) -> Knowledge:
        """Open a store, or make an empty one.

        Args:
            location: a directory for the embedded engine; `milvus:PATH.db` or the http(s) URI of a Milvus server;
                `memory:` for a store that is gone on close; None = the setting `store.location`.
            settings: None = defaults and the environment.
            embedder: None = the one that the settings name.
            reranker: None = the one that the settings name, which by default is none. `reranker.timeout` holds for
                any.
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
            knowledge = cls(store, chosen, settings, readers, reranker=reranker, owned=embedder is None)
        except BaseException:
            store.close()
            raise
        if embedder is None and not readers and takes_processes(where):
            knowledge._elsewhere = settings.with_location(where)
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
    def elsewhere(self) -> Settings | None:
        """Settings by which another process opens the same store with the same embedder and readers.

        None where only this one can well: the store is in memory or on Milvus, or the embedder or a reader was given.
        """
        return self._elsewhere

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
        result = self._lookup.run(request)
        for told in self._listeners:
            told(result)
        return result

    def listen(self, told: Callable[[LookupResult], None]) -> None:
        """Have each further lookup's result told to this function too, in the lookup's thread; it must not raise."""
        self._listeners = (*self._listeners, told)

    async def alookup(self, query: str, **options: Unpack[LookupOptions]) -> LookupResult:
        """`lookup`, with the same arguments, in a worker thread, for callers with an event loop."""
        import asyncio  # noqa: PLC0415 - who has no event loop need not load one

        return await asyncio.to_thread(self.lookup, query, **options)

    def show(self, evidence_key: str, *, scope: Labels = None) -> EvidenceBlock:
        """One chunk by its evidence key.

        Raises:
            UnknownEvidence: there is none within the scope; outside it reads the same.
        """
        return self._reading.block(evidence_key, self._held(scope))

    def read(
        self, evidence_key: str, *, scope: Labels = None, session: str | None = None, neighbours: int = 0
    ) -> LookupResult:
        """One chunk and those around it, in reading order, as a lookup's result: `to_agent` shows and records it.

        Raises:
            InvalidRequest: an argument can't be used.
            UnknownEvidence: there is no such chunk within the scope; outside it reads the same.
        """
        width = check_count("neighbours", neighbours, least=0, most=MAX_NEIGHBOURS)
        held, name = self._held(scope), check_session(session)
        return self._reading.chunk(evidence_key, scope=held, session=name, neighbours=width)

    def read_document(self, doc_id: str, *, scope: Labels = None, session: str | None = None) -> LookupResult:
        """A document's chunks in reading order, as a lookup's result: `to_agent` shows and records them.

        Raises:
            UnknownEvidence: there is no such document within the scope; outside it reads the same.
        """
        return self._reading.document(doc_id, scope=self._held(scope), session=check_session(session))

    def document(self, doc_id: str, *, scope: Labels = None) -> DocumentRecord:
        """What the catalogue knows of a document; as `documents`, it asks for no scope where lookups must have one.

        Raises:
            UnknownEvidence: there is none within the scope; outside it reads the same.
        """
        return self._reading.record(doc_id, admit_scope(scope))

    def _held(self, scope: Labels) -> tuple[str, ...] | None:
        return admit_scope(scope, require_scope=self._settings.store.require_scope)

    def check(
        self,
        answer: str | Iterable[str],
        *,
        session: str | None = None,
        shown: ShownTo = None,
        scope: Labels = None,
        strict: bool = False,
    ) -> GuardReport:
        """Say of each citation of an answer whether it was shown; pure but for reading the store (GUARD-1..5).

        Args:
            answer: a text, or a list of ids.
            session: whose evidence counts as shown: what `to_agent` showed it, within this scope.
            shown: instead of a session: a lookup's result (what `to_agent` shows of it counts, not what was found),
                what `to_agent` returned, or a list of evidence keys.
            scope: the labels that the caller holds; an id outside of it reads as unknown.
            strict: one citation that isn't `shown`, or one quote that its chunk doesn't hold, fails the whole answer.

        Raises:
            InvalidRequest: an argument can't be used, or neither or both of `session` and `shown` are given.
            ScopeDenied: the store demands a scope.
            StoreError: the store can't be read.
        """
        held, store, memory = self._held(scope), self._store, self._memory
        return check_answer(answer, store, memory, session=session, shown=shown, scope=held, strict=strict)

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
            raise InvalidRequest(f"a session id can't be {shown(session)}", way_out="Give one that `sessions` lists.")
        return self._store.sessions().forget(name)

    def status(self) -> StoreStatus:
        """Figures of the store, and what it is bound to."""
        return self._store.status()

    def verify(self, *, repair: bool = False) -> VerifyReport:
        """Compare the stored truth with its indexes; with `repair`, put right what differs."""
        return self._store.verify(repair=repair)

    def _filled(self) -> None:
        """Have the store keep what hints need, so that the first lookup of another process has it."""
        if self._settings.lookup.hints:
            self._hints.keep()

    def close(self) -> None:
        """Release files and threads, and the embedder and reranker unless the caller brought them. Idempotent."""
        self._search.close()
        self._hints.close()
        self._once.let_go()
        if self._reranker is not None:
            self._reranker.close()
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
