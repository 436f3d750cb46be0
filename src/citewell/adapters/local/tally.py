"""The sequence of the last commit, noted in the lock file, so that a log that was damaged or lost is noticed.

SQLite takes a log that does not add up, or is not there, for one that holds less; nothing in the database tells. The
note is written after the commit, by the holder of the lock, without waiting for the disk: it may be behind what is
committed and is never ahead of it. It may be lost at any time; then nothing is noticed.
"""

from __future__ import annotations

import json
import os
import zlib
from contextlib import suppress
from pathlib import Path

from citewell.adapters.local.locks import NAME_LENGTH
from citewell.adapters.local.regular import opened
from citewell.errors import StoreUnreachable

_LENGTH = 80


def note(lock: Path, sequence: int) -> None:
    """Write it down, for the holder of the lock; where that fails, it is left."""
    text = json.dumps({"sequence": sequence, "check": _check(sequence)})
    with suppress(OSError, StoreUnreachable):
        descriptor = opened(lock, os.O_WRONLY)
        try:
            os.pwrite(descriptor, text.ljust(_LENGTH).encode(), NAME_LENGTH)
        finally:
            os.close(descriptor)


def noted(lock: Path) -> int:
    """The sequence that was noted; 0 if none was, or it can't be read."""
    try:
        descriptor = opened(lock, os.O_RDONLY)
        try:
            said = json.loads(os.pread(descriptor, _LENGTH, NAME_LENGTH))
        finally:
            os.close(descriptor)
        sequence = int(said["sequence"])
        return sequence if said["check"] == _check(sequence) else 0
    except (OSError, StoreUnreachable, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return 0


def _check(sequence: int) -> int:
    return zlib.crc32(str(sequence).encode())
