"""The engine `milvus`: a `citewell.ports.Store` in two collections of Milvus Lite, a server or a cluster (ENGINE-2).

This file says what each call of the port does, in which order; how is known by the modules beside it:

    client, lite, faults     the connection                 schema, bodies, terms, filters   how values lie in fields
    chunks, catalogue        the two collections            state, snapshot                  who sees what
    writing, rows, lease     the write path                 derived                          BM25 where Milvus has none
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from citewell.adapters.milvus import bodies
from citewell.adapters.milvus.catalogue import BINDING, HEAD, Catalogue, Row, document_id
from citewell.adapters.milvus.checking import verify
from citewell.adapters.milvus.chunks import Chunks
from citewell.adapters.milvus.client import Client
from citewell.adapters.milvus.derived import Derived
from citewell.adapters.milvus.lease import Lease, NoLease
from citewell.adapters.milvus.lite import lite_path
from citewell.adapters.milvus.schema import MAX_WIDTH, SCHEMA_VERSION, make_collections, names_of
from citewell.adapters.milvus.sessions import MilvusSessions
from citewell.adapters.milvus.snapshot import EmptySnapshot, MilvusSnapshot
from citewell.adapters.milvus.state import Head, State, shared_state
from citewell.adapters.milvus.writing import Writer
from citewell.errors import StoreCorrupt, StoreError, StoreLocked, StoreUnreachable, StoreVersion
from citewell.model import (
    DocumentChange,
    DocumentInfo,
    StoreBinding,
    StoredDocument,
    StoreStatus,
    VerifyReport,
)
from citewell.model.catalogue import CatalogueChanges, Catalogued, Mark
from citewell.ports import Snapshot, check_binding

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_STALE_S = 1.0
"""How long a process takes the head for known: others may write to a server meanwhile."""
_PORTION = 1_000
"""How many documents are read at once for who keeps a copy of the catalogue."""
_UNFLUSHED = 64
"""How many rows Lite may have in memory before a search has them flushed; BM25 wants none (its scores differ there)."""


@dataclass(frozen=True, slots=True)
class _Bound:
    """What there is once a store is bound: collections, and who works on them."""

    binding: StoreBinding
    chunks: Chunks
    catalogue: Catalogue
    lease: Lease | NoLease
    writer: Writer
    derived: Derived | None


class MilvusStore:
    """See `citewell.ports.Store`; made by `open`.

    Beyond the port: between processes that use one server, a reader sees what another process wrote as soon as Milvus
    shows it (mostly within a second), a process its own writes at once.
    """

    def __init__(self, client: Client, collection: str, *, lock_timeout_s: float) -> None:
        self._client, self._names = client, names_of(collection)
        self._patience_s = lock_timeout_s
        place = str(lite_path(client.location)) if client.is_lite else client.location
        self._state: State = shared_state(place, self._names.chunks)
        self._bound: _Bound | None = None
        self._sessions = MilvusSessions(client, self._names.sessions)
        self._guard = threading.RLock()
        self._damage: StoreCorrupt | None = None
        self._is_closed = False

    @classmethod
    def open(
        cls,
        location: str,
        *,
        collection: str = "citewell",
        token: str | None = None,
        timeout_s: float = 10.0,
        lock_timeout_s: float = 30.0,
        create: bool = True,
    ) -> MilvusStore:
        """Open the store in these collections.

        Args:
            location: `milvus:PATH.db`, or the URI of a server.
            collection: its name; the catalogue lies beside it.
            token: of the server.
            timeout_s: of each call.
            lock_timeout_s: how long a writer waits for another one.
            create: whether a store may be made where there is none.

        Raises:
            StoreUnreachable: nothing answers, or there is no such store and none may be made.
            StoreLocked: another process has the Lite store open.
            StoreVersion: the collection is none of Citewell's, or of another version.
        """
        names_of(collection)
        _check_there(location, create=create)
        store = cls(Client(location, token=token, timeout_s=timeout_s), collection, lock_timeout_s=lock_timeout_s)
        try:
            if store._found() is None and not create:
                raise _no_store(f"{location}, collection {collection!r}")
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
        self._flush(bound, _UNFLUSHED)
        dimensions = bound.binding.embedder.dimensions
        snapshot = MilvusSnapshot(
            bound.chunks, bound.catalogue, self._state, self._refresh, self._before_lexical(bound), dimensions
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
        with self._turn():
            bound = self._found()
            if bound is None:
                self._make(binding)
                bound = self._found()
        if bound is not None:
            check_binding(bound.binding, binding)

    def apply(self, changes: Sequence[DocumentChange]) -> None:
        """Write these versions in one commit, all or none of them."""
        self._open()
        if changes:
            with self._writing() as writer:
                writer.apply(changes)

    def delete(self, doc_ids: Sequence[str]) -> int:
        """Remove these documents and return how many chunks went."""
        if not doc_ids or self._found() is None:
            self._open()
            return 0
        with self._writing() as writer:
            return writer.delete(doc_ids)

    def compact(self) -> None:
        """Bring what Lite has in memory into files, and look whether all is there; servers do so by themselves."""
        bound = self._found()
        if bound is not None:
            with self._turn():
                self._flush(bound, 0)

    def documents(self) -> Iterator[DocumentInfo]:
        """The catalogue, ordered by doc_id, as of the call."""
        bound = self._found()
        rows = bound.catalogue.of_kind("document") if bound else iter(())
        return iter(sorted((bodies.read_info(row.body, row.number) for row in rows), key=lambda info: info.doc_id))

    def holders(self, content_digest: str) -> list[str]:
        """The documents with this content, ordered by doc_id."""
        bound = self._found()
        rows = bound.catalogue.with_content(content_digest) if bound else []
        return sorted(bodies.read_record(row.body).doc_id for row in rows)

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
        head = self._state.head
        after = since.sequence if since is not None and since.origin is self._state else 0
        until, rows = _portion(bound.catalogue, after, head.sequence)
        documents = tuple(Catalogued(bodies.read_info(row.body, row.number), row.centre) for row in rows)
        return CatalogueChanges(Mark(self._state, until), documents, head.documents, until >= head.sequence)

    def stored(self, doc_id: str) -> StoredDocument | None:
        """What the planner needs of the stored version."""
        bound, row = self._row(doc_id)
        if bound is None or row is None:
            return None
        held = bound.chunks.contexts(doc_id, row.version, row.number)
        digests = tuple(held.get(index, "") for index in range(row.number))
        return StoredDocument(bodies.read_record(row.body), row.version, digests)

    def vectors(self, doc_id: str) -> Mapping[str, NDArray[np.float32]]:
        """The stored vectors of a document by the context digest of their chunk; empty if there is none."""
        bound, row = self._row(doc_id)
        if bound is None or row is None:
            return {}
        held = bound.chunks.vectors(doc_id, row.version, row.number)
        digests = bound.chunks.contexts(doc_id, row.version, row.number)
        return {digest: held[index] for index, digest in digests.items() if index in held}

    def sessions(self) -> MilvusSessions:
        """What sessions were shown."""
        return self._sessions

    def status(self) -> StoreStatus:
        """Figures and binding; the sequence counts the versions that were written and the commits that removed."""
        bound = self._found()
        if bound is not None:
            self._refresh()
        head = self._state.head if bound else Head()
        location = f"{self._client.location} ({self._names.chunks})"
        binding = bound.binding if bound else None
        return StoreStatus(
            location, "milvus", head.documents, head.chunks, head.sequence, binding, tuple(self._details(bound))
        )

    def verify(self, *, repair: bool = False) -> VerifyReport:
        """Compare the catalogue with the rows that are there; with `repair`, put right what differs."""
        bound = self._found()
        if bound is None:
            return VerifyReport(0)
        with self._turn(), bound.lease.held(self._patience_s):
            self._refresh()
            bound.writer.repair()
            report = verify(bound.chunks, bound.catalogue, self._state, repair=repair)
            self._damage = self._counted(bound)
            return report

    def close(self) -> None:
        """Flush, and let go of the connection. Idempotent."""
        with self._guard:
            if self._is_closed:
                return
            bound = self._bound
            if bound is not None:
                with suppress(StoreError):
                    self._leave(bound)
            self._is_closed = True
            self._client.close()

    def _leave(self, bound: _Bound) -> None:
        self._flush(bound, 0)
        bound.lease.release()

    def _details(self, bound: _Bound | None) -> Iterator[tuple[str, str | int | float]]:
        yield "milvus", self._client.server.text
        yield "dense", "FLAT, exact" if self._client.server.is_lite else "HNSW"
        if self._client.server.has_bm25:
            yield "lexical", "native BM25" + (", statistics per segment" if self._client.server.is_lite else "")
        else:
            yield "lexical", "an index in this process's memory: this Milvus has no BM25 (2.5 and later have)"
            if bound is not None and bound.derived is not None:
                yield "lexical rows in memory", bound.derived.size

    def _open(self) -> None:
        if self._is_closed:
            raise StoreUnreachable(f"the store {self._client.location} is closed", way_out="Open it again.")

    def _row(self, doc_id: str) -> tuple[_Bound | None, Row | None]:
        bound = self._found()
        if bound is None:
            return None, None
        id_ = document_id(doc_id)
        row = bound.catalogue.get([id_]).get(id_)
        return bound, row if row is not None and row.kind == "document" else None

    def _found(self) -> _Bound | None:
        """The collections, once they are there and bound."""
        self._open()
        if self._bound is None:
            with self._guard:
                if self._bound is None:
                    self._bound = self._join()
        return self._bound

    def _join(self) -> _Bound | None:
        if not self._client.has(self._names.catalogue):
            if self._client.has(self._names.chunks):
                self._check_unfinished()
            return None
        self._client.load(self._names.catalogue, self._names.chunks)
        held = Catalogue(self._client, self._names.catalogue, 0).get([BINDING, HEAD], strong=True)
        if BINDING not in held:
            return None
        binding, schema = bodies.read_binding(held[BINDING].body)
        if schema != SCHEMA_VERSION:
            raise StoreVersion(
                f"the collections {self._names.chunks!r} are of version {schema}, and this Citewell reads"
                f" {SCHEMA_VERSION}",
                way_out="Open them with the version of Citewell that filled them.",
            )
        return self._joined(binding, Head.read(held[HEAD].body))

    def _joined(self, binding: StoreBinding, head: Head) -> _Bound:
        dimensions = binding.embedder.dimensions
        catalogue = Catalogue(self._client, self._names.catalogue, dimensions)
        chunks = Chunks(self._client, self._names.chunks)
        if head.sequence < self._state.head.sequence:
            self._begin_anew(catalogue)
        self._state.moved(head)
        lease = NoLease() if self._client.is_lite else Lease(catalogue, self._client.location)
        writer = Writer(self._client, chunks, catalogue, self._state, lease, dimensions)
        derived = None if self._client.server.has_bm25 else Derived(chunks, catalogue, self._state)
        bound = _Bound(binding, chunks, catalogue, lease, writer, derived)
        self._damage = self._counted(bound)
        return bound

    def _begin_anew(self, catalogue: Catalogue) -> None:
        """A head behind the one known: unless a writer of this process has just moved it, it is another store's."""
        with self._turn():
            held = catalogue.get([HEAD], strong=True)
            if HEAD in held and Head.read(held[HEAD].body).sequence < self._state.head.sequence:
                self._state.forget()

    def _check_unfinished(self) -> None:
        """A collection without a catalogue is somebody else's, unless a store was being made when it was cut short."""
        fields = {field["name"] for field in self._client.call("describe_collection", self._names.chunks)["fields"]}
        if not {"evidence", "tenant", "version", "context"} <= fields:
            raise StoreVersion(
                f"the collection {self._names.chunks!r} at {self._client.location} was not made by Citewell",
                way_out="Attach it (`citewell attach`), or set store.collection to another name.",
            )

    def _make(self, binding: StoreBinding) -> None:
        make_collections(self._client, self._names, binding.embedder.dimensions)
        self._client.load(self._names.catalogue, self._names.chunks)
        catalogue = Catalogue(self._client, self._names.catalogue, binding.embedder.dimensions)
        catalogue.put(
            [
                Row(BINDING, "meta", body=bodies.binding_body(binding, SCHEMA_VERSION)),
                Row(HEAD, "meta", body=Head().body()),
            ]
        )

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
            self._state.moved(Head.read(held[HEAD].body))

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Be the one writer of this process."""
        self._open()
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

    def _before_lexical(self, bound: _Bound) -> Callable[[], Derived | None]:
        """What a snapshot calls before its first lexical search."""

        def prepare() -> Derived | None:
            self._flush(bound, 1)
            return bound.derived

        return prepare

    def _flush(self, bound: _Bound, least: int) -> None:
        """Have Lite write what it has in memory, if that is more than `least` rows and nobody writes just now."""
        if not self._client.is_lite or self._state.unflushed <= max(least - 1, 0):
            return
        if self._state.turn.acquire(blocking=False):
            try:
                self._state.unflushed = 0
                bound.chunks.flush()
                self._damage = self._counted(bound)
            finally:
                self._state.turn.release()

    def _counted(self, bound: _Bound) -> StoreCorrupt | None:
        """Lite opens damaged files with rows missing, and says nothing: so what should be there is counted."""
        head = self._state.head
        if not self._client.is_lite:
            return None
        there = bound.chunks.count(self._state.mask(head.sequence, always=True))
        if there >= head.chunks:
            return None
        return StoreCorrupt(
            f"the store {self._client.location} holds {there} of {head.chunks} chunks: its files are damaged",
            way_out="Restore them from a backup, or run `citewell verify --repair` and ingest again: it writes what is"
            " missing.",
        )

    def _check_whole(self) -> None:
        """Refuse to answer from what is left; the catalogue and `verify` may still be read."""
        if self._damage is not None:
            raise self._damage


def _portion(catalogue: Catalogue, after: int, sequence: int) -> tuple[int, list[Row]]:
    """Some of the documents written since, and the sequence up to which they are all of them."""
    rows: list[Row] = []
    width = _PORTION
    while after < sequence and len(rows) < _PORTION:
        until = min(after + width, sequence)
        rows += catalogue.written(after, until)
        after, width = until, min(2 * width, MAX_WIDTH)
    return after, rows


def _check_there(location: str, *, create: bool) -> None:
    """Refuse a Lite store that is not there, before one is made by opening it."""
    if location.startswith("milvus:"):
        path = lite_path(location)
        if not create and not path.exists():
            raise _no_store(str(path))


def _no_store(where: str) -> StoreUnreachable:
    return StoreUnreachable(
        f"there is no store at {where}", way_out="Check the location, or ingest something into it first."
    )
