"""Milvus Lite within this process: one engine per path, shared by all who open it, with one lock for all their writes.

Lite holds its path until it is told to let go (closing a client does not), logs why it could not open instead of saying
so, and loses acknowledged rows when several threads write through it and the process is killed. All three are dealt
with here. It knows no collection.
"""

from __future__ import annotations

import importlib.util
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from citewell.adapters.milvus.faults import translated
from citewell.errors import InvalidRequest

T = TypeVar("T")

_HOLDERS: dict[str, int] = {}
_FLUSHES: dict[str, int] = {}
_LOCKS: dict[str, threading.RLock] = {}
_GENERATIONS: dict[str, int] = {}
_GUARD = threading.Lock()
_LOGGER = "milvus_lite.server_manager"


def lite_path(location: str) -> Path:
    """The path in `milvus:PATH`, absolute.

    Raises:
        InvalidRequest: it doesn't end in `.db`, by which pymilvus knows a path, or milvus-lite is not installed.
    """
    path = location.removeprefix("milvus:")
    if not path.endswith(".db"):
        raise InvalidRequest(f"{location!r} names no Milvus Lite store", way_out="Let it end in '.db': milvus:./kb.db")
    if importlib.util.find_spec("milvus_lite") is None:
        raise InvalidRequest(
            f"{location!r} needs Milvus Lite, which is not installed",
            way_out="Install it: pip install 'citewell[milvus]' (not on Windows), or use a server.",
        )
    return Path(path).expanduser().absolute()


def write_lock(path: Path) -> threading.RLock:
    """The lock that every write to this path holds, whoever opened it."""
    with _GUARD:
        return _LOCKS.setdefault(str(path), threading.RLock())


@contextmanager
def flushing(path: Path) -> Iterator[None]:
    """Tell readers that rows are on their way from memory into files."""
    with write_lock(path):
        _FLUSHES[str(path)] = flushes(path) + 1
        try:
            yield
        finally:
            _FLUSHES[str(path)] += 1


def flushes(path: Path) -> int:
    """How often a flush began or ended; odd while one is under way."""
    return _FLUSHES.get(str(path), 0)


def steadily(path: Path, read: Callable[[], T]) -> T:
    """Read, and again if a flush came between.

    Lite looks into its files first and into its memory then, and would miss what goes from one to the other meanwhile.
    """
    while True:
        before = flushes(path)
        answer = read()
        if before == flushes(path) and before % 2 == 0:
            return answer
        with write_lock(path):  # until the flush is over
            pass


def hold(path: Path) -> None:
    """Start the engine of this path, or join those who use it.

    Raises:
        StoreLocked: another process has it.
        StoreUnreachable, StoreCorrupt: it can't be opened.
    """
    from milvus_lite.server_manager import server_manager_instance  # noqa: PLC0415 - heavy, and an extra

    with _GUARD:
        heard = _Heard()
        logger = logging.getLogger(_LOGGER)
        propagated, logger.propagate = logger.propagate, False
        logger.addHandler(heard)
        try:
            address = server_manager_instance.start_and_get_uri(str(path))
        finally:
            logger.removeHandler(heard)
            logger.propagate = propagated
        if address is None:
            raise translated(heard.error or OSError("it did not start"), str(path)) from heard.error
        _HOLDERS[str(path)] = _HOLDERS.get(str(path), 0) + 1


def let_go(path: Path) -> None:
    """Stop the engine of this path when the last of those who use it is done; its lock goes with it."""
    with _GUARD:
        _HOLDERS[str(path)] = left = _HOLDERS.get(str(path), 1) - 1
        if left <= 0:
            _HOLDERS.pop(str(path))
            _stop(path)


def restart(path: Path) -> None:
    """Open the path anew for all who use it: after a failed write its memory and its files may differ."""
    with _GUARD:
        _stop(path)
        _GENERATIONS[str(path)] = _GENERATIONS.get(str(path), 0) + 1


def generation(path: Path) -> int:
    """How often the path was opened anew: whoever connected before speaks to an engine that was stopped."""
    return _GENERATIONS.get(str(path), 0)


def _stop(path: Path) -> None:
    from milvus_lite.server_manager import server_manager_instance  # noqa: PLC0415 - heavy, and an extra

    server_manager_instance.release_server(str(path))


class _Heard(logging.Handler):
    """Keeps the error that Lite logs while it opens."""

    def __init__(self) -> None:
        super().__init__()
        self.error: BaseException | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Remember the error of a record that has one."""
        if record.exc_info and record.exc_info[1]:
            self.error = record.exc_info[1]
