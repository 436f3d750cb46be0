"""Connections to a store's database: a pool that readers take from, and one for whoever holds the write lock.

A reader's transaction is its snapshot: it begins when the reader does, and shows one committed state until it ends.
Readers of the same state share an era (see eras.py).
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from citewell.adapters.local.eras import Era, Eras
from citewell.adapters.local.faults import code_of, translated
from citewell.adapters.local.files import REFUSED, Edition, connect, keep_log_files
from citewell.adapters.local.schema import check_made
from citewell.errors import StoreCorrupt, StoreLocked

_IDLE_AT_MOST = 8


class Connections:
    """Opens connections as they are needed and keeps a few; safe to call from several threads."""

    def __init__(self, file: Path, *, read_only: bool, timeout_s: float) -> None:
        self._file = file
        self._read_only = read_only
        self._timeout_s = timeout_s
        self._idle: list[sqlite3.Connection] = []
        self._eras = Eras()
        self._writer: sqlite3.Connection | None = None
        self._lock = threading.Lock()
        self._edition: Edition | None = None
        self._written_at: int | None = None
        self._is_written = False
        self._closed = False

    def is_current(self) -> bool:
        """Whether the file is the one that was connected to, so that its writes are seen."""
        return self._edition is None or self._edition.holds(self._file)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection within a read transaction that has begun; errors of the body are the caller's own.

        Raises:
            StoreLocked: the file was written meanwhile, and no lock kept the writer and this reader apart.
        """
        with translated(self._file):
            connection, known = self._begun()
        try:
            yield connection
            self._check_unwritten()
        except (sqlite3.Error, StoreCorrupt):
            # Whatever broke, the next reader gets another one.
            self._close(connection)
            self._check_unwritten()
            raise
        finally:
            self._give_back(connection, known)

    @contextmanager
    def writer(self) -> Iterator[sqlite3.Connection]:
        """The writer's connection, outside a transaction; for the holder of the write lock."""
        with self._lock:
            self._is_written = True
        try:
            if self._writer is None:
                self._writer = self._connected()
            elif not self.is_current():
                raise self._replaced()
            yield self._writer
        finally:
            with self._lock:
                self._is_written = False
            if self._closed:
                self._close_writer()

    def begin(self, connection: sqlite3.Connection) -> None:
        """Begin a read transaction and look at something, which is what pins its state."""
        before = self._eras.latest
        connection.execute("BEGIN")
        self._eras.begin(connection, connection.execute("PRAGMA data_version").fetchone()[0], before)

    def era_of(self, connection: sqlite3.Connection) -> Era:
        """The era of the read transaction that this connection is in."""
        return self._eras.of(connection)

    def close(self) -> None:
        """Close every connection that nobody uses, now or when it comes back; the writer's when it has done."""
        with self._lock:
            self._closed = True
        self._drop_idle()
        if not self._is_written:
            self._close_writer()

    def _begun(self) -> tuple[sqlite3.Connection, int | None]:
        """A connection within a transaction, and when the file that it reads was written at the latest.

        Another one than the first if a writer that died or left has made that useless.
        """
        written_at, stale = self._looked()
        for connected in (partial(self._anew, stale) if stale else self._take, self._connected):
            connection = connected()
            try:
                self.begin(connection)
            except sqlite3.Error as error:
                failure = error
                self._close(connection)
                self._drop_idle()
                if code_of(error) not in REFUSED:
                    raise
            else:
                return connection, written_at
        raise failure

    def _looked(self) -> tuple[int | None, list[sqlite3.Connection]]:
        """When the file was written, and the idle connections if that was since: by a checkpoint, or by damage.

        SQLite goes by its log alone, and would go on answering from the pages that it read before the damage. So
        nobody gets one of them any more.
        """
        try:
            written_at = self._file.stat().st_mtime_ns
        except OSError:
            return self._written_at, []  # who opens it says so
        with self._lock:
            before, self._written_at = self._written_at, written_at
            if before in (None, written_at):
                return written_at, []
            stale, self._idle = self._idle, []
        return written_at, stale

    def _anew(self, stale: Sequence[sqlite3.Connection]) -> sqlite3.Connection:
        """A new connection in the place of those."""
        try:
            return self._connected()
        finally:
            for connection in stale:  # only now: with the last connection SQLite would take the log away
                self._close(connection)

    def _drop_idle(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            self._close(connection)

    def _take(self) -> sqlite3.Connection:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return self._connected()

    def _connected(self) -> sqlite3.Connection:
        connection, edition = connect(self._file, read_only=self._read_only, timeout_s=self._timeout_s)
        try:
            check_made(connection, self._file)
            with self._lock:
                self._edition = self._edition or edition
            if edition != self._edition:
                raise self._replaced()
        except BaseException:
            connection.close()
            raise
        return connection

    def _replaced(self) -> StoreLocked:
        return StoreLocked(f"{self._file} was replaced by another file at this moment", way_out="Try again.")

    def _check_unwritten(self) -> None:
        if self._edition is not None and self._edition.is_frozen and not self.is_current():
            raise StoreLocked(
                f"{self._file} was written while it was read, and no lock could keep the two apart",
                way_out=f"Look again; let this user write in {self._file.parent} to read beside a writer.",
            )

    def _give_back(self, connection: sqlite3.Connection, known: int | None) -> None:
        self._eras.end(connection)
        try:
            connection.rollback()
        except sqlite3.Error:  # it was closed, or is of no more use
            self._close(connection)
            return
        with self._lock:
            if not self._closed and known == self._written_at and len(self._idle) < _IDLE_AT_MOST:
                self._idle.append(connection)
                return
        self._close(connection)

    def _close_writer(self) -> None:
        with self._lock:
            writer, self._writer = self._writer, None
        if writer is not None:
            self._close(writer)

    def _close(self, connection: sqlite3.Connection) -> None:
        self._eras.forget(connection)
        connection.close()
        if not self._read_only:
            keep_log_files(self._file)
