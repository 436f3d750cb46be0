"""The bytes of one file, whole and of one moment; knows no format.

Never waits: what is no regular file is not read, whatever has become of the name since somebody looked at it.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from citewell.errors import IngestError

MOST_BYTES = 64 * 1024 * 1024
_TRIES = 2


class Unsettled(Exception):
    """The file changed each time while it was read."""


def read_file(path: Path, *, most: int = MOST_BYTES) -> bytes:
    """The bytes of a file; read once more if it changed meanwhile.

    Raises:
        Unsettled: it goes on changing.
        FileNotFoundError: it is gone.
        IngestError: it is too large, or no regular file.
    """
    for _ in range(_TRIES):
        data = _read_once(path, most)
        if data is not None:
            return data
    raise Unsettled


def _read_once(path: Path, most: int) -> bytes | None:
    """None if what was read is not what is there."""
    # Opening a pipe waits for a writer, and some devices do something when they are opened.
    if not stat.S_ISREG(path.stat().st_mode):
        raise IngestError("it is no regular file")
    with open(path, "rb", opener=_without_waiting) as file:
        before = os.fstat(file.fileno())
        if not stat.S_ISREG(before.st_mode):
            raise IngestError("it is no regular file")
        if before.st_size > most:
            detail = f"it has {before.st_size:,} bytes, more than {most:,}"
            raise IngestError(detail, way_out="Split it into several files.")
        data = file.read(before.st_size + 1)
    return data if _marks(before) == _marks(path.stat()) and len(data) == before.st_size else None


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _marks(found: os.stat_result) -> tuple[int, ...]:
    """What differs between two versions of a file; the device and number differ when it was replaced as a whole."""
    return found.st_size, found.st_mtime_ns, found.st_dev, found.st_ino
