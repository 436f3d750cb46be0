"""The embedded engine: a `citewell.ports.Store` in one directory, with nothing to start.

    citewell.db      SQLite (WAL): the truth, in tables of its own (schema.py)
    index/           segments of vectors and postings: derived, made anew whenever they are missing or damaged
    citewell.lock    held by the one writer
    sessions.db      what sessions were shown (sessions.py), made when there is something to remember

This file says what each call of the port does, in which order; how is known by the modules beside it.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from citewell.adapters.local.changes import count_since, read_changes
from citewell.adapters.local.copies import copied, read_copy, write_copy
from citewell.adapters.local.core import Core
from citewell.adapters.local.files import transaction
from citewell.adapters.local.opening import open_core
from citewell.adapters.local.reading import (
    as_json,
    count,
    read_binding,
    read_catalogue,
    read_document,
    read_holders,
    read_vectors,
    storable,
)
from citewell.adapters.local.sessions import LocalSessions
from citewell.adapters.local.snapshot import LocalSnapshot
from citewell.adapters.local.writing import copy_documents, delete_documents, read_meta, write_changes, write_meta
from citewell.errors import StoreLocked, StoreUnreachable
from citewell.model import (
    DocumentChange,
    DocumentCopy,
    DocumentInfo,
    StoreBinding,
    StoredDocument,
    StoreStatus,
    VerifyReport,
)
from citewell.model.catalogue import CatalogueChanges, KeptCopy, Mark
from citewell.ports import check_binding

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_ABANDONED: list[Core] = []
"""Cores of a parent process. Closing their connections here would disturb the parent; they are kept and left alone."""


class LocalStore:
    """A store in one directory; make one with `LocalStore.open`. Safe to use from several threads and after a fork."""

    at_hand = True

    def __init__(self, core: Core) -> None:
        self._own = core
        self._closed = False
        self._turn = threading.Lock()
        self._sessions = LocalSessions(core.file.parent, read_only=core.read_only)

    @classmethod
    def open(
        cls, path: Path | str, *, read_only: bool = False, create: bool = True, lock_timeout_s: float = 30.0
    ) -> LocalStore:
        """Open the store in this directory.

        Args:
            path: the directory; made, with its parents, if there is none.
            read_only: never write, not even what is derived; works on read-only media.
            create: whether to make a store where there is none.
            lock_timeout_s: how long a writer waits for another one.

        Raises:
            StoreUnreachable: there is none and none is to be made, the path holds something else, or no permission.
            StoreCorrupt: its database is damaged or lost.
            StoreVersion: its database was made by another version of Citewell.
        """
        return cls(open_core(Path(path), read_only=read_only, create=create, lock_timeout_s=lock_timeout_s))

    @property
    def path(self) -> Path:
        """The directory."""
        return self._own.path

    @contextmanager
    def snapshot(self) -> Iterator[LocalSnapshot]:
        """A view of everything that was committed before the call."""
        core = self._core()
        with core.snapshot() as snapshot:
            yield snapshot

    def binding(self) -> StoreBinding | None:
        """What the contents were made with."""
        with self._core().reading() as connection:
            return read_binding(connection)

    def bind(self, binding: StoreBinding) -> None:
        """Record it, or refuse another one (INGEST-8)."""
        held = self.binding()
        if held is None:
            with self._core().writing() as connection:
                held = _bound(connection, binding)
        check_binding(held, binding)

    def apply(self, changes: Sequence[DocumentChange]) -> None:
        """Write these versions in one transaction, all or none of them."""
        core = self._core()
        if not changes:
            return
        with core.writing() as connection:
            with core.dictionary.transaction(), transaction(connection):
                write_changes(connection, changes, core.dictionary)
            core.settle(connection)

    def copy(self, copies: Sequence[DocumentCopy]) -> None:
        """Store these documents again under other ids in one transaction, all or none of them."""
        core = self._core()
        with core.writing() as connection:
            with transaction(connection):
                copy_documents(connection, copies)
            core.settle(connection)

    def delete(self, doc_ids: Sequence[str]) -> int:
        """Remove these documents in one transaction and return how many chunks went."""
        core = self._core()
        known = [doc_id for doc_id in doc_ids if storable(doc_id)]
        if not known:
            return 0
        with core.writing() as connection:
            with transaction(connection):
                gone = delete_documents(connection, known)
            core.settle(connection)
        return gone

    def compact(self) -> None:
        """Join what many small writes left and forget what has gone; cheap where there is little of both.

        Answers don't change. Worth a call at the end of an ingestion.
        """
        core = self._core()
        with core.writing() as connection:
            core.index.settle(connection, read_meta(connection, "sequence"), compact=True)

    def documents(self) -> Iterator[DocumentInfo]:
        """The catalogue, ordered by doc_id, as of the call."""
        with self._core().reading() as connection:
            return iter(read_catalogue(connection))

    def mark(self) -> Mark:
        """The state of the store; cheap enough to be asked before every lookup."""
        core = self._core()
        with core.reading() as connection:
            return Mark(core, read_meta(connection, "sequence"))

    def changes(self, since: Mark | None) -> CatalogueChanges:
        """What of the catalogue was written after the mark, or ever, in portions; a mark of another file is none.

        What was deleted isn't in it: its absence shows in the count.
        """
        core = self._core()
        after = since.sequence if since is not None and since.origin is core else 0
        with core.reading() as connection:
            return read_changes(connection, core, core.index.view(connection, read_meta(connection, "sequence")), after)

    def kept_mark(self) -> tuple[Mark, int] | None:
        """The state that the kept copy of the catalogue is of, and how many documents were written since; or None."""
        core = self._core()
        with core.reading() as connection:
            sequence = copied(connection)
            return None if sequence is None else (Mark(core, sequence), count_since(connection, sequence))

    def kept_copy(self) -> KeptCopy | None:
        """The copy of the catalogue that was given to keep; None if there is none, or it is damaged."""
        core = self._core()
        with core.reading() as connection:
            sequence, parts = copied(connection), read_copy(connection)
        return None if sequence is None or parts is None else KeptCopy(Mark(core, sequence), parts)

    def keep_copy(self, mark: Mark, base: Mark | None, parts: Iterable[tuple[int, bytes]], count: int) -> bool:
        """Keep a copy of the catalogue at the mark, in so many parts, of which these differ from those of the base.

        False if another copy than the base is kept by now, the store is read-only, or someone writes at the moment.
        Answers don't change, and neither does the sequence.
        """
        core = self._core()
        if core.read_only or mark.origin is not core:
            return False
        with suppress(StoreLocked), core.writing(0.0) as connection:
            if copied(connection) == (None if base is None else base.sequence):
                with transaction(connection):
                    write_copy(connection, mark.sequence, parts, count)
                return True
        return False

    def doc_ids(self) -> set[str]:
        """Every document that there is, without reading its row."""
        with self._core().reading() as connection:
            return {doc_id for (doc_id,) in connection.execute("SELECT doc_id FROM documents")}

    def stored(self, doc_id: str) -> StoredDocument | None:
        """What the planner needs of the stored version."""
        with self._core().reading() as connection:
            return read_document(connection, doc_id) if storable(doc_id) else None

    def holders(self, content_digest: str) -> list[str]:
        """The documents with this content, ordered by doc_id."""
        with self._core().reading() as connection:
            return read_holders(connection, content_digest)

    def vectors(self, doc_id: str) -> Mapping[str, NDArray[np.float32]]:
        """The stored vectors of a document by the context digest of their chunk; empty if there is none."""
        with self._core().reading() as connection:
            return read_vectors(connection, doc_id) if storable(doc_id) else {}

    def doubt(self) -> str:
        """What of the contents is missing; empty if nothing is known to be."""
        return self._core().doubt

    def sessions(self) -> LocalSessions:
        """What sessions were shown."""
        return self._sessions

    def status(self) -> StoreStatus:
        """Figures and binding; the sequence counts writes."""
        core = self._core()
        with core.reading() as connection:
            documents, chunks = count(connection)
            sequence, binding = read_meta(connection, "sequence"), read_binding(connection)
        return StoreStatus(str(core.path), "local", documents, chunks, sequence, binding, core.details())

    def verify(self, *, repair: bool = False) -> VerifyReport:
        """Compare the truth with itself and with everything derived from it; with `repair`, make the derived anew.

        A damaged file of sessions is set aside then.
        """
        from citewell.adapters.local.checking import verify  # noqa: PLC0415 - nothing else here needs it

        report = verify(self._core(), repair=repair)
        return replace(report, findings=(*report.findings, *self._sessions.findings(repair=repair)))

    def close(self) -> None:
        """Close files and connections. Idempotent."""
        if not self._closed:
            self._closed = True
            self._sessions.close()
            if self._own.pid == os.getpid():
                self._own.close()

    def _core(self) -> Core:
        if self._closed:
            raise StoreUnreachable(f"the store {self._own.path} is closed", way_out="Open it again.")
        if self._own.pid != os.getpid():
            _ABANDONED.append(self._own)
            self._own, self._turn = self._own.anew(), threading.Lock()
        elif not self._own.is_current():
            self._renew()
        return self._own

    def _renew(self) -> None:
        """Go on with the file that lies there now; readers of the one before finish with it."""
        with self._turn:
            if not self._own.is_current():
                before, self._own = self._own, self._own.anew()
                before.close()


def _bound(connection: sqlite3.Connection, wanted: StoreBinding) -> StoreBinding:
    """What the store is bound to, which is what is wanted if it was bound to nothing."""
    held = read_binding(connection)
    if held is None:
        with transaction(connection):
            write_meta(connection, "binding", as_json(wanted))
            write_meta(connection, "dimensions", wanted.embedder.dimensions)
    return held or wanted
