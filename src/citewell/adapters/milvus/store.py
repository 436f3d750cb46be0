"""The engine `milvus`: a `citewell.ports.Store` in two collections of Milvus Lite, a server or a cluster (ENGINE-2).

This file says what each call of the port does, in which order; how is known by the modules beside it:

    client, lite, faults     the connection                 schema, bodies, terms, filters   how values lie in fields
    chunks, catalogue        the two collections            joining                          finding and making them
    state, snapshot          who sees what                  telling, checking, sessions      what else is asked
    writing, rows, lease     the write path                 derived                          BM25 where Milvus has none
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

from citewell.adapters.milvus import telling
from citewell.adapters.milvus.catalogue import HEAD
from citewell.adapters.milvus.checking import verify
from citewell.adapters.milvus.client import Client
from citewell.adapters.milvus.derived import Derived
from citewell.adapters.milvus.joining import Bound, Lexical, check_there, counted, join, make, no_store
from citewell.adapters.milvus.lite import lite_path
from citewell.adapters.milvus.schema import Index, names_of
from citewell.adapters.milvus.sessions import MilvusSessions
from citewell.adapters.milvus.snapshot import EmptySnapshot, MilvusSnapshot
from citewell.adapters.milvus.state import Head, State, shared_state
from citewell.adapters.milvus.writing import Writer
from citewell.errors import StoreCorrupt, StoreError, StoreLocked, StoreUnreachable
from citewell.model import DocumentChange, DocumentInfo, StoreBinding, StoredDocument, StoreStatus, VerifyReport
from citewell.model.catalogue import CatalogueChanges, Mark
from citewell.ports import Snapshot, check_binding

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_STALE_S = 1.0
"""How long a process takes the head for known: others may write to a server meanwhile."""
_UNFLUSHED = 64
"""How many rows Lite may have in memory before a search has them flushed; BM25 wants none (its scores differ there)."""


class MilvusStore:
    """See `citewell.ports.Store`; made by `open`.

    Beyond the port: between processes that use one server, a reader sees what another process wrote as soon as Milvus
    shows it (mostly within a second), a process its own writes at once.
    """

    def __init__(
        self, client: Client, collection: str, *, index: Index, lexical: Lexical, lock_timeout_s: float
    ) -> None:
        self._client, self._names = client, names_of(collection)
        self._index, self._lexical = index, lexical
        self._patience_s = lock_timeout_s
        place = str(lite_path(client.location)) if client.is_lite else client.location
        self._state: State = shared_state(place, self._names.chunks)
        self._sessions = MilvusSessions(client, self._names.sessions)
        self._bound: Bound | None = None
        self._guard = threading.RLock()
        self._damage: StoreCorrupt | None = None
        self._settled = -1
        self._is_closed = False

    @classmethod
    def open(
        cls,
        location: str,
        *,
        collection: str = "citewell",
        token: str | None = None,
        index: Index = "exact",
        lexical: Lexical = "native",
        timeout_s: float = 10.0,
        lock_timeout_s: float = 30.0,
        create: bool = True,
    ) -> MilvusStore:
        """Open the store in these collections.

        Args:
            location: `milvus:PATH.db`, or the URI of a server.
            collection: its name; the catalogue lies beside it.
            token: of the server.
            index: how vectors are to be searched, if the store is made now; Lite is always exact.
            lexical: whose BM25 ranks: Milvus's own where it has one, or that of an index in this process's memory.
            timeout_s: of each call.
            lock_timeout_s: how long a writer waits for another one.
            create: whether a store may be made where there is none.

        Raises:
            StoreUnreachable: nothing answers, or there is no such store and none may be made.
            StoreLocked: another process has the Lite store open.
            StoreVersion: the collection is none of Citewell's, or of another version.
        """
        names_of(collection)
        check_there(location, create=create)
        client = Client(location, token=token, timeout_s=timeout_s)
        store = cls(client, collection, index=index, lexical=lexical, lock_timeout_s=lock_timeout_s)
        try:
            if store._found() is None and not create:
                raise no_store(f"{location}, collection {collection!r}")
        except BaseException:
            store.close()
            raise
        return store

    @property
    def location(self) -> str:
        """As opened."""
        return self._client.location

    @property
    def collection(self) -> str:
        """Of the chunks; the others' names begin with it."""
        return self._names.chunks

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """A view of everything that was acknowledged before the call."""
        bound = self._found()
        if bound is None:
            yield EmptySnapshot()
            return
        self._check_whole()
        self._hear()
        with suppress(StoreError):  # without it the search is slower, no worse
            self._flush(bound, _UNFLUSHED)
        dimensions = bound.binding.embedder.dimensions
        snapshot = MilvusSnapshot(
            bound.chunks, bound.catalogue, self._state, self._refresh, partial(self._before_lexical, bound), dimensions
        )
        try:
            yield snapshot
        finally:
            snapshot.end()

    def binding(self) -> StoreBinding | None:
        """What the contents were made with."""
        bound = self._found()
        return bound.binding if bound else None

    def bind(self, binding: StoreBinding) -> None:
        """Make the collections and record it, or refuse another one (INGEST-8)."""
        bound = self._found()
        if bound is None:
            with self._turn():
                if self._found() is None:
                    make(self._client, self._names, binding, self._index)
                bound = self._found()
        if bound is not None:
            check_binding(bound.binding, binding)

    def apply(self, changes: Sequence[DocumentChange]) -> None:
        """Write these versions in one commit, all or none of them."""
        self._check_open()
        if changes:
            with self._writing() as writer:
                writer.apply(changes)

    def delete(self, doc_ids: Sequence[str]) -> int:
        """Remove these documents and return how many chunks went."""
        if self._found() is None or not doc_ids:
            return 0
        with self._writing() as writer:
            return writer.delete(doc_ids)

    def compact(self) -> None:
        """Bring what Milvus has in memory into files; on Lite look whether all is there.

        A server does so by itself in time. With a graph it is worth a call at the end of an ingestion: what is in
        memory is searched by a coarser index (see docs/milvus.md).
        """
        bound = self._found()
        if bound is None:
            return
        with self._turn():
            if bound.how == "hnsw":
                bound.chunks.flush()
            self._settle(bound)

    def documents(self) -> Iterator[DocumentInfo]:
        """The catalogue, ordered by doc_id, as of the call."""
        bound = self._found()
        return iter(telling.documents(bound) if bound else [])

    def holders(self, content_digest: str) -> list[str]:
        """The documents with this content, ordered by doc_id."""
        bound = self._found()
        return telling.holders(bound, content_digest) if bound else []

    def mark(self) -> Mark:
        """The state of the store."""
        if self._found() is None:
            return Mark(None, 0)
        self._hear()
        return Mark(self._state, self._state.head.sequence)

    def changes(self, since: Mark | None) -> CatalogueChanges:
        """What of the catalogue was written after the mark, or ever, in portions; what was deleted isn't in it."""
        bound = self._found()
        if bound is None:
            return CatalogueChanges(Mark(None, 0), (), 0, complete=True)
        return telling.changes(bound, self._state, since)

    def stored(self, doc_id: str) -> StoredDocument | None:
        """What the planner needs of the stored version."""
        bound = self._found()
        return telling.stored(bound, doc_id) if bound else None

    def vectors(self, doc_id: str) -> Mapping[str, NDArray[np.float32]]:
        """The stored vectors of a document by the context digest of their chunk; empty if there is none."""
        bound = self._found()
        return telling.vectors(bound, doc_id) if bound else {}

    def sessions(self) -> MilvusSessions:
        """What sessions were shown."""
        return self._sessions

    def status(self) -> StoreStatus:
        """Figures and binding; the sequence counts the versions that were written and the commits that removed."""
        bound = self._found()
        self._refresh()
        head = self._state.head if bound else Head()
        location = f"{self._client.location} ({self._names.chunks})"
        binding = bound.binding if bound else None
        details = tuple(telling.details(self._client.server, bound))
        return StoreStatus(location, "milvus", head.documents, head.chunks, head.sequence, binding, details)

    def verify(self, *, repair: bool = False) -> VerifyReport:
        """Compare the catalogue with the rows that are there; with `repair`, put right what differs."""
        bound = self._found()
        if bound is None:
            return VerifyReport(0)
        with self._turn(), bound.lease.held(self._patience_s):
            self._refresh()
            bound.writer.repair()
            report = verify(bound.chunks, bound.catalogue, self._state, repair=repair)
            self._damage = counted(self._client, bound, self._state)
            return report

    def close(self) -> None:
        """Flush, and let go of the connection. Idempotent."""
        with self._guard:
            if self._is_closed:
                return
            if self._bound is not None:
                with suppress(StoreError):
                    self._settle(self._bound)
                with suppress(StoreError):
                    self._bound.lease.release()
            self._is_closed = True
            self._client.close()

    def _check_open(self) -> None:
        if self._is_closed:
            raise StoreUnreachable(f"the store {self._client.location} is closed", way_out="Open it again.")

    def _check_whole(self) -> None:
        """Refuse to answer from what is left; the catalogue and `verify` may still be read."""
        if self._damage is not None:
            raise self._damage

    def _found(self) -> Bound | None:
        """The collections, once they are there and bound."""
        self._check_open()
        if self._bound is None:
            with self._guard:
                if self._bound is None:
                    self._bound = self._joined()
        return self._bound

    def _joined(self) -> Bound | None:
        bound = join(self._client, self._names, self._state, self._turn, self._lexical, self._index)
        if bound is not None:
            self._damage = counted(self._client, bound, self._state)
        return bound

    def _hear(self) -> None:
        """Know what others have committed, at most a second late."""
        if time.monotonic() - self._state.read_at > _STALE_S:
            self._refresh()

    def _refresh(self) -> None:
        """Read the head, which other processes may have moved; within Lite there are none."""
        bound = self._bound
        if bound is None or self._client.is_lite:
            return
        held = bound.catalogue.get([HEAD])
        if HEAD in held:
            head = Head.read(held[HEAD].body)
            if head != self._state.head:
                self._client.expect_changes(self._names.chunks)
            self._state.moved(head)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Be the one writer of this process."""
        self._check_open()
        if not self._state.turn.acquire(timeout=self._patience_s):
            raise StoreLocked(
                f"another writer has held the store {self._client.location} for {self._patience_s:g} s",
                way_out="Try again.",
            )
        try:
            yield
        finally:
            self._state.turn.release()

    @contextmanager
    def _writing(self) -> Iterator[Writer]:
        """Be the one writer of all."""
        with self._turn():
            bound = self._found()
            self._check_whole()
            if bound is None:
                raise StoreError("the store is bound to no embedder yet", way_out="Bind it before the first write.")
            with bound.lease.held(self._patience_s) as is_new:
                if is_new:
                    self._refresh()
                    self._state.is_suspect = True
                yield bound.writer

    def _before_lexical(self, bound: Bound) -> Derived | None:
        """What a snapshot calls before a lexical search; gives the index of this process, if that is to rank."""
        with suppress(StoreError):
            self._flush(bound, 1)
        return bound.derived

    def _settle(self, bound: Bound) -> None:
        """Leave nothing that this process wrote in Lite's memory."""
        self._flush(bound, 0)
        if self._client.server.is_lite and self._state.head.sequence != self._settled:
            bound.catalogue.flush()
            self._settled = self._state.head.sequence

    def _flush(self, bound: Bound, least: int) -> None:
        """Have Lite write what it has in memory, if that is `least` rows and more and nobody writes just now."""
        if not self._client.server.is_lite or self._state.unflushed < max(least, 1):
            return
        if self._state.turn.acquire(blocking=False):
            try:
                self._state.unflushed = 0
                bound.chunks.flush()
                self._damage = counted(self._client, bound, self._state)
            finally:
                self._state.turn.release()
