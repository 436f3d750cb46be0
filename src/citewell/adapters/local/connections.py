"""Connections to a store's database: a pool that readers take from, and one for whoever holds the write lock.

A reader's transaction is its snapshot: it begins when the reader does, and shows one committed state until it ends.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from citewell.adapters.local.schema import connect

_IDLE_AT_MOST = 8


class Connections:
    """Opens connections as they are needed and keeps a few; safe to call from several threads."""

    def __init__(self, file: Path, *, read_only: bool, timeout_s: float) -> None:
        self._file = file
        self._read_only = read_only
        self._timeout_s = timeout_s
        self._idle: list[sqlite3.Connection] = []
        self._writer: sqlite3.Connection | None = None
        self._lock = threading.Lock()
        self._closed = False

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection within a read transaction that has begun."""
        connection = self._take()
        try:
            begin(connection)
            yield connection
        except sqlite3.Error:
            # Whatever broke, the next reader gets another one.
            connection.close()
            raise
        finally:
            self._give_back(connection)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The writer's connection within a transaction; committed at the end, rolled back by any exception."""
        connection = self.writer()
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):  # it may have been rolled back already
                connection.execute("ROLLBACK")
            raise

    def writer(self) -> sqlite3.Connection:
        """The writer's connection, outside a transaction; for the holder of the write lock."""
        if self._writer is None:
            self._writer = connect(self._file, read_only=self._read_only, timeout_s=self._timeout_s)
        return self._writer

    def close(self) -> None:
        """Close every connection that nobody uses, now or when it comes back."""
        with self._lock:
            self._closed = True
            for connection in (*self._idle, *filter(None, [self._writer])):
                connection.close()
            self._idle, self._writer = [], None

    def _take(self) -> sqlite3.Connection:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return connect(self._file, read_only=self._read_only, timeout_s=self._timeout_s)

    def _give_back(self, connection: sqlite3.Connection) -> None:
        try:
            connection.rollback()
        except sqlite3.ProgrammingError:  # it was closed
            return
        with self._lock:
            if not self._closed and len(self._idle) < _IDLE_AT_MOST:
                self._idle.append(connection)
                return
        connection.close()


def begin(connection: sqlite3.Connection) -> None:
    """Begin a read transaction and look at something, which is what pins its state."""
    connection.execute("BEGIN")
    connection.execute("SELECT value FROM meta WHERE name = 'sequence'").fetchone()
