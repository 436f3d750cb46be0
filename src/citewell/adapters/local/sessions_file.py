"""The file of sessions: made when there is something to remember, shared by processes, set aside when it is damaged.

It is apart from the store's database so that nothing here waits for an ingestion, and so that damage to it touches no
document. It knows its tables and who may use them; what is asked of them, `sessions` knows.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from citewell.adapters.local.faults import translated
from citewell.adapters.local.files import Edition, connect, keep_log_files, make, transaction
from citewell.adapters.local.locks import WriteLock
from citewell.errors import StoreCorrupt, StoreUnreachable, StoreVersion

NAME = "sessions.db"
_LOCK_NAME = "sessions.lock"
_PATIENCE_S = 10.0
_APPLICATION_ID = 0x43495353  # "CISS"
_VERSION = 1
_WAY_OUT = (
    "Run `citewell verify --repair`: it sets that file aside, and sessions begin anew. It holds nothing but what"
    " sessions were shown; documents are not touched."
)
_TABLES = (
    """CREATE TABLE session (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL, scope TEXT NOT NULL, last_at REAL NOT NULL,
        UNIQUE (name, scope))""",
    "CREATE INDEX session_by_use ON session (last_at)",
    """CREATE TABLE shown (
        session INTEGER NOT NULL, evidence_key TEXT NOT NULL, digest TEXT NOT NULL, at REAL NOT NULL,
        chars INTEGER, PRIMARY KEY (session, evidence_key)) WITHOUT ROWID""",
    "CREATE INDEX shown_by_age ON shown (at)",
)
_T = TypeVar("_T")
_ABANDONED: list[sqlite3.Connection] = []
"""Connections of a parent process. Closing them here would disturb the parent; they are kept and left alone."""


class SessionsFile:
    """One connection to the file, used by one thread at a time, opened anew when another file has taken the name.

    Args:
        directory: of the store.
        read_only: whether never to write.
    """

    def __init__(self, directory: Path, *, read_only: bool = False) -> None:
        self._file, self._read_only = directory / NAME, read_only
        self._making = WriteLock(directory / _LOCK_NAME)
        self._turn, self._pid = threading.Lock(), os.getpid()
        self._connection: sqlite3.Connection | None = None
        self._edition: Edition | None = None
        self._written: tuple[int, ...] = ()
        self._closed = False

    def read(self, ask: Callable[[sqlite3.Connection], _T], nothing: _T) -> _T:
        """What is asked of the file; `nothing` if there is none yet."""
        with self._used():
            if not self._file.exists():
                return nothing
            answer = ask(self._connected())
            if self._edition is not None and self._edition.is_frozen and not self._edition.holds(self._file):
                answer = ask(self._connected())  # it was written while no lock could keep the two apart
            return answer

    @contextmanager
    def written(self) -> Iterator[sqlite3.Connection]:
        """The file, made if there is none, within a transaction that is committed at the end."""
        with self._used():
            self._check_writable()
            if not self._file.exists():
                self._make()
            connection = self._connected()
            with transaction(connection):
                yield connection

    def damage(self) -> str:
        """What is wrong with the file; empty if it is sound or there is none.

        Raises:
            StoreVersion: it is another version's, so that there is no telling.
        """
        try:
            found = self.read(lambda made: made.execute("PRAGMA quick_check(1)").fetchone()[0], "ok")
        except StoreCorrupt as error:
            return error.message
        return "" if found == "ok" else str(found)

    def set_aside(self) -> Path:
        """Give the file another name, so that sessions begin anew, and return that name.

        Raises:
            StoreUnreachable: the store is open for reading only, or the directory may not be written.
        """
        with self._used(), self._making.held(_PATIENCE_S):
            self._check_writable()
            self._drop()
            aside = _free(self._file)
            # The log first: beside a new file, it would be taken for that file's own.
            for end in ("-wal", "-shm", ""):
                name = self._file.with_name(f"{self._file.name}{end}")
                if name.exists():
                    name.replace(aside.with_name(f"{aside.name}{end}"))
            return aside

    def close(self) -> None:
        """Close it. Idempotent."""
        self._after_fork()
        with self._turn:
            self._closed = True
            self._drop()

    @contextmanager
    def _used(self) -> Iterator[None]:
        """This thread's turn; whatever fails is told as a failure of this file."""
        self._after_fork()
        with self._turn, self._told():
            if self._closed:
                raise StoreUnreachable(f"the store {self._file.parent} is closed", way_out="Open it again.")
            yield

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            with translated(self._file):
                yield
        except StoreCorrupt as error:
            self._drop()
            raise StoreCorrupt(error.message, way_out=_WAY_OUT) from error

    def _after_fork(self) -> None:
        """A child leaves its parent's connection alone, and the lock, which a thread of the parent may hold."""
        if self._pid == os.getpid():
            return
        if self._connection is not None:
            _ABANDONED.append(self._connection)
        self._turn, self._pid, self._connection = threading.Lock(), os.getpid(), None
        self._making = WriteLock(self._file.with_name(_LOCK_NAME))

    def _check_writable(self) -> None:
        if self._read_only:
            raise StoreUnreachable(
                f"the store {self._file.parent} is open for reading only, so sessions can't be remembered",
                way_out="Open it by a user who may write there, or look up without a session.",
            )

    def _connected(self) -> sqlite3.Connection:
        if self._connection is None or not self._is_as_opened():
            self._drop()
            connection, self._edition = connect(self._file, read_only=self._read_only, timeout_s=_PATIENCE_S)
            try:
                _check_made(connection, self._file)
            except BaseException:
                connection.close()
                raise
            if not self._read_only:
                # It survives a kill; a power failure may take the last few entries, which are not worth a wait each.
                connection.execute("PRAGMA synchronous = NORMAL")
            # As it is only now: to open or close a connection may write what the log holds into the file.
            self._connection, self._written = connection, _content_of(self._file)
        return self._connection

    def _is_as_opened(self) -> bool:
        same = self._edition is not None and self._edition.holds(self._file)
        return same and _content_of(self._file) == self._written

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
            if not self._read_only:
                keep_log_files(self._file)

    def _make(self) -> None:
        with self._making.held(_PATIENCE_S):
            if not self._file.exists():
                for end in ("-wal", "-shm"):  # left by a file that somebody moved away
                    self._file.with_name(f"{self._file.name}{end}").unlink(missing_ok=True)
                make(self._file, _fill)


def _fill(connection: sqlite3.Connection) -> None:
    with transaction(connection):
        for statement in _TABLES:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {_VERSION}")
    connection.execute("PRAGMA journal_mode = WAL")


def _check_made(connection: sqlite3.Connection, file: Path) -> None:
    """Refuse a file that is not one of sessions, or not one of this version."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != _APPLICATION_ID:
        raise StoreCorrupt(f"{file} has lost what it held, or is another program's", way_out=_WAY_OUT)
    if version != _VERSION:
        raise StoreVersion(
            f"{file} has version {version}, and this Citewell reads version {_VERSION}",
            way_out="Use the Citewell that wrote it, or move that file elsewhere, so that sessions begin anew.",
        )


def _content_of(file: Path) -> tuple[int, ...]:
    """Differs after every write into the file, by SQLite itself (now and then: most writes are in the log) or another.

    SQLite holds what it has read for good as long as its own log tells of no change: it would go on answering from a
    file that somebody has overwritten or cut off, and write into it.
    """
    found = file.stat()
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _free(file: Path) -> Path:
    """A name beside the file that nothing has yet."""
    names = (file.with_name(f"{file.name}.damaged{number or ''}") for number in range(10_000))
    return next(name for name in names if not name.exists())
