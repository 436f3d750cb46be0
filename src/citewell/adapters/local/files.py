"""The database file of a store and the two that SQLite keeps beside it: connecting, and noticing what became of them.

    citewell.db-wal   the log: commits that are not in the database file yet
    citewell.db-shm   the log's index, which connections share

A user who may not write here shares the log only if both files are there already. SQLite removes them with the last
connection, so they are put back, empty. Where they are missing all the same (a copy, read-only media), the database is
taken as a file that does not change, and whether that holds is looked at around every read. It knows no table.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from citewell.adapters.local.faults import code_of
from citewell.adapters.local.regular import check_regular
from citewell.errors import StoreLocked

_ATTEMPTS = 8
_PATIENT_ATTEMPTS = 3
_PAUSE_S = 0.01
_PAGES_KB = 32_000
"""What a connection keeps of the file, at most: a lookup reads some 200 pages of 8 KB from all over it."""
REFUSED = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
"""What SQLite says where it lacks a file or may not write one."""


@dataclass(frozen=True, slots=True)
class Edition:
    """What a connection was opened on.

    Attributes:
        file: device and inode; others mean that another file has taken the name.
        content: sizes and times of database and log, where nothing else would show a write; empty = SQLite shows it.
    """

    file: tuple[int, int]
    content: tuple[int, ...] = ()

    @property
    def is_frozen(self) -> bool:
        """Whether connections take the file as it lies, beside whoever writes it."""
        return bool(self.content)

    def holds(self, file: Path) -> bool:
        """Whether that is still what lies there."""
        try:
            return _edition(file, frozen=self.is_frozen) == self
        except OSError:
            return False


def connect(file: Path, *, read_only: bool, timeout_s: float) -> tuple[sqlite3.Connection, Edition]:
    """A connection in autocommit mode, usable from any thread by one at a time, and what it was opened on.

    Readers never wait for a writer (WAL). A commit is on the disk when it returns (`synchronous=FULL`): what was
    acknowledged survives a power failure, too.

    Raises:
        StoreUnreachable: a pipe, a folder or a device has the name of one of its files.
        StoreLocked: another file takes its name each time that it is opened.
        sqlite3.Error, OSError: it can't be opened.
    """
    for name in (file, *_beside(file)):
        check_regular(name)
    for attempt in range(_ATTEMPTS):
        shared, frozen = _edition(file, frozen=False), _edition(file, frozen=True)
        try:
            connection, edition = _open(file, "ro" if read_only else "rw", timeout_s), shared
        except sqlite3.OperationalError as error:
            if not read_only or code_of(error) not in REFUSED:
                raise
            if attempt < _PATIENT_ATTEMPTS:  # a writer that has just closed may be about to put the log files back
                time.sleep(_PAUSE_S)
                continue
            if _has_log(file):
                raise
            connection, edition = _open(file, "ro&immutable=1", timeout_s), frozen
        if edition.holds(file):
            return _tuned(connection, read_only=read_only), edition
        connection.close()
    raise StoreLocked(f"{file} changed each time that it was opened", way_out="Let its writer finish, then try again.")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """A transaction that writes: committed at the end, rolled back by any exception."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # it may have been rolled back already; the first error is the one to tell
            connection.execute("ROLLBACK")
        raise


def make(file: Path, fill: Callable[[sqlite3.Connection], None]) -> None:
    """Make a database under another name, then give it its own; for the one process that may, where there is none."""
    new = file.with_name(f"{file.name}.new")
    _clear(new)
    try:
        connection = sqlite3.connect(new, isolation_level=None)
        try:
            fill(connection)
        finally:
            connection.close()
        new.replace(file)
    finally:
        _clear(new)
    _keep_name(file.parent)


def keep_log_files(file: Path) -> None:
    """Put back the log and its index, empty, if SQLite has removed them, so that readers can go on sharing them.

    Nothing rests on it but that: where it fails, it is left.
    """
    with suppress(OSError):
        for name in _beside(file):
            if not name.exists():
                _put_empty(name, file.stat())


def bytes_of(file: Path) -> int:
    """Bytes in the database and its log; a file that comes or goes meanwhile is no matter."""
    return sum(size for name in (file, *_beside(file)) for size in _look_at(name)[:1])


def _clear(new: Path) -> None:
    for end in ("", "-journal", "-wal", "-shm"):
        new.with_name(f"{new.name}{end}").unlink(missing_ok=True)


def _keep_name(folder: Path) -> None:
    """See to it that a power failure can't take the name that a file has got."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _beside(file: Path) -> tuple[Path, Path]:
    return file.with_name(f"{file.name}-wal"), file.with_name(f"{file.name}-shm")


def _edition(file: Path, *, frozen: bool) -> Edition:
    found = file.stat()
    if not frozen:
        return Edition((found.st_dev, found.st_ino))
    log, _ = _beside(file)
    return Edition((found.st_dev, found.st_ino), (found.st_size, found.st_mtime_ns, found.st_ctime_ns, *_look_at(log)))


def _look_at(file: Path) -> tuple[int, ...]:
    """Size and times; nothing if there is no such file."""
    try:
        found = file.stat()
    except FileNotFoundError:
        return ()
    return (found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _has_log(file: Path) -> bool:
    """Whether commits lie in the log alone, so that the database file by itself is not the truth."""
    log, _ = _beside(file)
    return any(_look_at(log)[:1])


def _open(file: Path, mode: str, timeout_s: float) -> sqlite3.Connection:
    uri = f"{file.as_uri()}?mode={mode}"
    connection = sqlite3.connect(uri, uri=True, timeout=timeout_s, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _tuned(connection: sqlite3.Connection, *, read_only: bool) -> sqlite3.Connection:
    if not read_only:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA wal_autocheckpoint = 4000")
    connection.execute(f"PRAGMA cache_size = -{_PAGES_KB}")
    return connection


def _put_empty(name: Path, like: os.stat_result) -> None:
    """An empty file of this name, unless there is one by now, with the permissions and owner of another.

    It is made under another one, closed, then linked: to close a file drops all locks that this process has on it,
    SQLite's as well.
    """
    new = name.with_name(f"{name.name}.{os.urandom(4).hex()}.new")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with suppress(PermissionError):
            os.fchown(descriptor, like.st_uid, like.st_gid)
        os.fchmod(descriptor, like.st_mode & 0o777)
    finally:
        os.close(descriptor)
    try:
        with suppress(FileExistsError):
            name.hardlink_to(new)
    finally:
        new.unlink()
