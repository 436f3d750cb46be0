"""One writer at a time, across threads and processes: an flock on a file that names its holder.

The kernel releases it when the process ends, however it ends, so the file may stay. It knows no database.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from citewell.adapters.local.regular import opened
from citewell.errors import StoreLocked

_FIRST_PAUSE_S = 0.005
_LONGEST_PAUSE_S = 0.1
NAME_LENGTH = 400
"""Bytes at the beginning of the file that name its holder; what follows is left alone."""


class WriteLock:
    """Held by whoever writes; not reentrant.

    Args:
        file: made when first needed; it may be anywhere that supports flock.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._turn = threading.Lock()

    @contextmanager
    def held(self, patience_s: float) -> Iterator[None]:
        """Wait up to `patience_s` seconds for the lock and hold it in the body.

        Raises:
            StoreLocked: another writer held it all that time; names it.
            StoreUnreachable: a pipe, a folder or a device has the file's name.
            OSError: the file can't be made or written.
        """
        deadline = time.monotonic() + patience_s
        if not self._turn.acquire(timeout=max(patience_s, 0.0)):
            raise self._refusal(patience_s, f"another thread of this process (pid {os.getpid()})")
        try:
            descriptor = opened(self._file, os.O_RDWR | os.O_CREAT)
            try:
                self._wait(descriptor, deadline, patience_s)
                yield
            finally:
                # Not by closing alone: a child forked meanwhile has the descriptor, too, and would hold on to the lock.
                fcntl.flock(descriptor, fcntl.LOCK_UN)
                os.close(descriptor)
        finally:
            self._turn.release()

    def _wait(self, descriptor: int, deadline: float, patience_s: float) -> None:
        pause = _FIRST_PAUSE_S
        while not _taken(descriptor):
            if time.monotonic() >= deadline:
                raise self._refusal(patience_s, _holder(descriptor))
            time.sleep(min(pause, max(deadline - time.monotonic(), 0.0)))
            pause = min(pause * 2, _LONGEST_PAUSE_S)
        name = json.dumps({"pid": os.getpid(), "host": socket.gethostname()})
        # Padded rather than cut to length: changing a file's size costs a turn of the disk's journal.
        os.pwrite(descriptor, name.ljust(NAME_LENGTH).encode(), 0)

    def _refusal(self, patience_s: float, holder: str) -> StoreLocked:
        return StoreLocked(
            f"the store {self._file.parent} is being written by {holder}, for longer than {patience_s:g} s",
            way_out="Let it finish, or set store.lock-timeout higher; reading goes on meanwhile.",
        )


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(descriptor: int) -> str:
    try:
        said = json.loads(os.pread(descriptor, NAME_LENGTH, 0))
        return f"process {said['pid']} on {said['host']}"
    except (ValueError, KeyError, TypeError):
        return "another process"  # it has not written its name yet
