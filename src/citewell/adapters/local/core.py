"""What one process holds of one store: connections, the write lock, the index and what filters remember.

A forked child must not touch its parent's connections; it gets a core of its own. No method of the port is here.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from citewell.adapters.local.connections import Connections, begin
from citewell.adapters.local.faults import translated
from citewell.adapters.local.filters import Bearers
from citewell.adapters.local.index import Index
from citewell.adapters.local.locks import WriteLock
from citewell.adapters.local.schema import FILE_NAME, connect, is_made, make
from citewell.adapters.local.shelf import Shelf
from citewell.adapters.local.snapshot import LocalSnapshot, Names
from citewell.adapters.local.terms import Dictionary
from citewell.adapters.local.writing import read_meta
from citewell.errors import StoreLocked, StoreUnreachable

LOCK_NAME = "citewell.lock"
INDEX_NAME = "index"
_LEAST_TIMEOUT_S = 5.0


class Core:
    """The parts of an open store, for one process."""

    def __init__(self, path: Path, *, read_only: bool, lock_timeout_s: float) -> None:
        self.path = path
        self.pid = os.getpid()
        self.read_only = read_only
        self.lock_timeout_s = lock_timeout_s
        self.file = path / FILE_NAME
        self.shelf = Shelf(path / INDEX_NAME)
        self.index = Index(self.shelf)
        self.connections = Connections(self.file, read_only=read_only, timeout_s=max(lock_timeout_s, _LEAST_TIMEOUT_S))
        self.dictionary = Dictionary()
        self._bearers = Bearers()
        self._names = Names()
        self._lock = WriteLock(path / LOCK_NAME)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection within a read transaction; errors of the body are the store's."""
        with translated(self.file), self.connections.reading() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The write lock and the writer's connection, outside a transaction.

        Raises:
            StoreUnreachable: the store was opened read-only, or may not be written.
            StoreLocked: another writer holds it for too long.
        """
        with self.locked(self.lock_timeout_s), translated(self.file):
            yield self.connections.writer()

    @contextmanager
    def locked(self, patience_s: float) -> Iterator[None]:
        """The write lock alone."""
        if self.read_only:
            raise StoreUnreachable(
                f"the store {self.path} is open for reading only",
                way_out="Open it for writing, by a user who may write there.",
            )
        with translated(self.path), self._lock.held(patience_s):
            yield

    @contextmanager
    def snapshot(self) -> Iterator[LocalSnapshot]:
        """A snapshot of what is committed now; errors of the body are the caller's own."""
        with ExitStack() as stack:
            with translated(self.file):
                connection = stack.enter_context(self.connections.reading())
                snapshot = self._begun(connection)
            stack.callback(self._keep_what_was_made)
            stack.callback(snapshot.end)
            yield snapshot

    def anew(self) -> Core:
        """The same store, opened by another process."""
        return Core(self.path, read_only=self.read_only, lock_timeout_s=self.lock_timeout_s)

    def details(self) -> tuple[tuple[str, str | int | float], ...]:
        """Figures of this engine, for the status: bytes on the disk, and what became of damaged files."""
        database = sum(found.stat().st_size for found in self.path.glob(f"{FILE_NAME}*"))
        notes = [("note", note) for note in self.index.notes]
        access = ("access", "read only" if self.read_only else "read and write")
        return (access, ("database_bytes", database), ("index_bytes", self.shelf.size()), *self.index.figures(), *notes)

    def close(self) -> None:
        """Close the connections."""
        self.connections.close()

    def _begun(self, connection: sqlite3.Connection) -> LocalSnapshot:
        snapshot = LocalSnapshot(connection, self.file, self.index, self._bearers, self._names)
        # Another thread may have moved the view on since the transaction began: then it begins again, later.
        while self.index.sequence > snapshot.sequence:
            connection.rollback()
            begin(connection)
            snapshot = LocalSnapshot(connection, self.file, self.index, self._bearers, self._names)
        if self.index.sequence >= 0:
            snapshot.prepare()
        return snapshot

    def _keep_what_was_made(self) -> None:
        """Put on the shelf what this process had to make anew, if nobody writes at the moment and it may."""
        if self.read_only or not self.index.has_made:
            return
        with suppress(StoreLocked, StoreUnreachable), self.locked(0.0), translated(self.file):
            connection = self.connections.writer()
            self.index.settle(connection, read_meta(connection, "sequence"))


def open_core(path: Path, *, read_only: bool, create: bool, lock_timeout_s: float) -> Core:
    """Open the store in this directory, making one if there is none and `create` says so.

    Raises:
        StoreUnreachable: there is none, or the path holds something else.
        StoreCorrupt, StoreVersion: it can't be used as it is.
    """
    forbidden = path.is_dir() and not os.access(path, os.W_OK)
    core = Core(path, read_only=read_only or forbidden, lock_timeout_s=lock_timeout_s)
    with translated(path):
        if not core.file.exists():
            _check_free(path, create=create and not read_only)
            path.mkdir(parents=True, exist_ok=True)
        with translated(core.file):
            _make_if_empty(core)
    return core


def _check_free(path: Path, *, create: bool) -> None:
    if path.exists() and not path.is_dir():
        raise StoreUnreachable(f"{path} is a file, and a store is a directory", way_out="Name a directory.")
    if not create:
        raise StoreUnreachable(
            f"there is no store at {path}", way_out="Check the path, or ingest something into it first."
        )
    others = sorted(entry.name for entry in path.iterdir() if entry.name != LOCK_NAME) if path.exists() else []
    if others:
        raise StoreUnreachable(
            f"{path} is no store: it holds other files, such as {others[0]!r}",
            way_out="Name an empty or a new directory.",
        )


def _make_if_empty(core: Core) -> None:
    if core.file.exists() and core.file.stat().st_size:
        connection = connect(core.file, read_only=core.read_only, timeout_s=_LEAST_TIMEOUT_S)
        made = is_made(connection, core.file)
        connection.close()
        if made:
            return
    with core.locked(core.lock_timeout_s):
        core.file.touch()
        connection = connect(core.file, read_only=False, timeout_s=_LEAST_TIMEOUT_S)
        if not is_made(connection, core.file):
            make(connection)
        connection.close()
