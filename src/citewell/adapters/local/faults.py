"""Translates what SQLite and the operating system say into the store's own errors, in this one place (ENGINE-4).

It knows codes, not statements: the same failure reads the same wherever it happens. No way out suggests deleting data.
"""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from citewell.errors import CitewellError, InvalidRequest, StoreCorrupt, StoreError, StoreLocked, StoreUnreachable

RESTORE = (
    "Restore the file from a backup, or ingest the sources into a new directory; keep this one until that is done."
)

MENDED_BY_INGESTION = "Run `citewell verify --repair`; it names the documents, and the next ingestion writes them anew."

GARBLED = (ValueError, TypeError, LookupError, AttributeError, OverflowError)
"""What taking apart a value without a meaning raises."""

_CORRUPT = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)
_REFUSED = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH)


class translated:  # noqa: N801 - it reads as the function that it stands for
    """Run the body; what SQLite or the system raises in it becomes a CitewellError about the store at `path`.

    A class, for a lookup enters it a dozen times: one made of a generator takes five times as long.
    """

    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        """Nothing is to be done before."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Raise the store's error for one of theirs."""
        if error is None or isinstance(error, CitewellError):
            return
        if isinstance(error, sqlite3.Error):
            raise _from_sqlite(error, self._path) from error
        if isinstance(error, UnicodeEncodeError):
            raise InvalidRequest(
                f"a text holds a lone surrogate at position {error.start} and has no UTF-8 form",
                way_out="Replace it, as ingestion does at its entrance.",
            ) from error
        if isinstance(error, OSError):
            raise _from_system(error, self._path) from error


@contextmanager
def decoded(what: str) -> Iterator[None]:
    """Run the body, which takes apart what the tables hold; what has no meaning there is damage, not a bug."""
    try:
        yield
    except (CitewellError, UnicodeEncodeError):  # both may be a ValueError, and say something else
        raise
    except GARBLED as error:
        raise StoreCorrupt(
            f"the database holds {what} that can't be read: {type(error).__name__}: {error}",
            way_out=MENDED_BY_INGESTION,
        ) from error


def code_of(error: sqlite3.Error) -> int:
    """The primary result code; SQLITE_ERROR where Python itself raised it."""
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return code & 0xFF


def _from_sqlite(error: sqlite3.Error, path: Path) -> StoreError:
    code = code_of(error)
    if code in _CORRUPT or str(error).startswith("Could not decode to UTF-8"):
        return StoreCorrupt(f"{path} is damaged: {error}", way_out=RESTORE)
    if code in _BUSY:
        return StoreLocked(f"{path} is held by another process: {error}", way_out="Let it finish, then try again.")
    if code == sqlite3.SQLITE_FULL:
        return StoreUnreachable(f"there is no space left to write {path}", way_out="Free some space, then try again.")
    if code in _REFUSED:
        return StoreUnreachable(
            f"{path} can't be opened or written: {error}", way_out="Check that it exists and who may read and write it."
        )
    if code == sqlite3.SQLITE_IOERR:
        return StoreUnreachable(f"{path} can't be read or written: {error}", way_out="Check the disk below it.")
    return StoreError(f"{path} failed: {error}", way_out="Run `citewell verify`.")


def _from_system(error: OSError, path: Path) -> StoreError:
    where = error.filename or path
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreUnreachable(f"there is no space left to write {where}", way_out="Free some space, then try again.")
    return StoreUnreachable(
        f"{where} can't be read or written: {error.strerror or error}",
        way_out="Check that it exists, that it is a directory, and who may read and write it.",
    )
