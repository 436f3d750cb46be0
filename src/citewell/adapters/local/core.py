"""What one process holds of one store: connections, the write lock, the index and what filters remember.

A forked child must not touch its parent's connections; it gets a core of its own. No method of the port is here.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from citewell.adapters.local.connections import Connections
from citewell.adapters.local.faults import translated
from citewell.adapters.local.files import bytes_of
from citewell.adapters.local.filters import Bearers
from citewell.adapters.local.index import Index
from citewell.adapters.local.locks import WriteLock
from citewell.adapters.local.schema import FILE_NAME
from citewell.adapters.local.shelf import Shelf
from citewell.adapters.local.snapshot import LocalSnapshot, Names
from citewell.adapters.local.tally import note, noted
from citewell.adapters.local.terms import Dictionary
from citewell.adapters.local.writing import read_meta
from citewell.errors import StoreError, StoreLocked, StoreUnreachable

LOCK_NAME = "citewell.lock"
INDEX_NAME = "index"
_LEAST_TIMEOUT_S = 5.0


class Core:
    """The parts of an open store, for one process."""

    def __init__(self, path: Path, *, read_only: bool, lock_timeout_s: float, root: Path | None = None) -> None:
        self.path = path
        """As it was given; files are named in full, for the process may move to another directory."""
        root = root or path.absolute()
        self.pid = os.getpid()
        self.read_only = read_only
        self.lock_timeout_s = lock_timeout_s
        self.file = root / FILE_NAME
        self.shelf = Shelf(root / INDEX_NAME)
        self.index = Index(self.shelf)
        self.connections = Connections(self.file, read_only=read_only, timeout_s=max(lock_timeout_s, _LEAST_TIMEOUT_S))
        self.dictionary = Dictionary()
        self._bearers = Bearers()
        self._names = Names()
        self._lock_file = root / LOCK_NAME
        self._lock = WriteLock(self._lock_file)
        self._lost: int | None = None
        self._went_back = False

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection within a read transaction; errors of the body are the store's."""
        with translated(self.file), self.connections.reading() as connection:
            yield connection

    @contextmanager
    def writing(self, patience_s: float | None = None) -> Iterator[sqlite3.Connection]:
        """The write lock and the writer's connection, outside a transaction.

        Raises:
            StoreUnreachable: the store was opened read-only, or may not be written.
            StoreLocked: another writer holds it for too long, or the database was put back to an earlier state.
        """
        patience_s = self.lock_timeout_s if patience_s is None else patience_s
        with self.locked(patience_s), translated(self.file), self.connections.writer() as connection:
            if (seen := self.index.sequence) > 0:
                self._check_not_back(seen, read_meta(connection, "sequence"))
            yield connection

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
        with self.connections.reading() as connection:
            with translated(self.file):
                snapshot = self._begun(connection)
            try:
                yield snapshot
            finally:
                snapshot.end()
                self._keep_what_was_made()

    def anew(self) -> Core:
        """The same store, opened by another process."""
        return Core(self.path, read_only=self.read_only, lock_timeout_s=self.lock_timeout_s, root=self.file.parent)

    def details(self) -> tuple[tuple[str, str | int | float], ...]:
        """Figures of this engine, for the status: bytes on the disk, and what became of damaged files."""
        with translated(self.file):
            sizes = (("database_bytes", bytes_of(self.file)), ("index_bytes", self.shelf.size()))
        notes = [("note", said) for said in (*self.index.notes, *filter(None, [self.doubt]))]
        access = ("access", "read only" if self.read_only else "read and write")
        return (access, *sizes, *self.index.figures(), *notes)

    def settle(self, connection: sqlite3.Connection) -> None:
        """Bring the index up to what was committed; the caller holds the write lock.

        What fails here fails the search that needs it: the write is done, and saying otherwise would be wrong.
        """
        with suppress(StoreError), translated(self.file):
            sequence = read_meta(connection, "sequence")
            if not self.lost:
                note(self._lock_file, sequence)
            self.index.settle(connection, sequence)

    @property
    def lost(self) -> int:
        """How many commits were acknowledged and are not there any more; looked for once."""
        if self._lost is None:
            self._lost = self._missing()
        return self._lost

    @property
    def doubt(self) -> str:
        """What of the contents is missing, in a sentence; empty if nothing is known to be."""
        if not self.lost:
            return ""
        gone = "last write is" if self.lost == 1 else f"last {self.lost} writes are"
        return f"the store's {gone} missing: ingest the sources, then run `citewell verify --repair`"

    def accept_losses(self) -> None:
        """Take the store as it is from now on; for the holder of the write lock."""
        with self.reading() as connection:
            note(self._lock_file, read_meta(connection, "sequence"))
        self._lost = 0

    def _missing(self) -> int:
        acknowledged = noted(self._lock_file)  # read first: the sequence only grows
        try:
            with self.reading() as connection:
                return max(0, acknowledged - read_meta(connection, "sequence"))
        except StoreError:
            return 0  # whatever is wrong, the call that needs it will say so

    def is_current(self) -> bool:
        """Whether its file is still the one that lies there, and holds no earlier state than was seen."""
        return not self._went_back and self.connections.is_current()

    def close(self) -> None:
        """Close the connections."""
        self.connections.close()

    def _begun(self, connection: sqlite3.Connection) -> LocalSnapshot:
        sequence = read_meta(connection, "sequence")
        # Another thread may have moved the view on since the transaction began: then it begins again, later.
        while (seen := self.index.sequence) > sequence:
            connection.rollback()
            self.connections.begin(connection)
            sequence = read_meta(connection, "sequence")
            self._check_not_back(seen, sequence)
        era = self.connections.era_of(connection)
        snapshot = LocalSnapshot(connection, self.file, sequence, self.index, self._bearers, self._names, era)
        if self.index.sequence >= 0:
            snapshot.prepare()
        return snapshot

    def _check_not_back(self, seen: int, sequence: int) -> None:
        """Refuse a state that is looked at after a later one was seen: somebody has put an older copy into the file.

        What is remembered of its documents may be another's by now, so the next call begins anew.
        """
        if sequence < seen:
            self._went_back = True
            raise StoreLocked(f"{self.file} was put back to an earlier state at this moment", way_out="Try again.")

    def _keep_what_was_made(self) -> None:
        """Put on the shelf what this process had to make anew, if nobody writes at the moment and it may.

        The lookup before has its answer already, so nothing that fails here may fail it.
        """
        if self.read_only or not self.index.has_made:
            return
        try:
            with self.writing(0.0) as connection:
                self.index.settle(connection, read_meta(connection, "sequence"))
        except StoreLocked:
            return  # whoever writes keeps it, or the next lookup does
        except StoreError as error:
            self.index.could_not_keep(error)
