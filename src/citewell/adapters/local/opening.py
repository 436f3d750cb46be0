"""Opens the store in a directory, or makes one there: whole or not at all, and once for all who try at the same time.

A database appears under its name when it has all its tables. One without them, or none beside what only a store
leaves, has therefore been lost, and is never replaced by an empty one.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from citewell.adapters.local.core import INDEX_NAME, LOCK_NAME, Core
from citewell.adapters.local.faults import RESTORE, translated
from citewell.adapters.local.files import make
from citewell.adapters.local.schema import FILE_NAME, fill
from citewell.errors import StoreCorrupt, StoreLocked, StoreUnreachable

_LEAST_PATIENCE_S = 5.0
_GLANCE_S = 0.1


def open_core(path: Path, *, read_only: bool, create: bool, lock_timeout_s: float) -> Core:
    """Open the store in this directory, making one if there is none and `create` says so.

    Raises:
        StoreUnreachable: there is none, or the path holds something else.
        StoreCorrupt, StoreVersion: it can't be used as it is.
        StoreLocked: it is being made by another process, for too long.
    """
    if "\0" in str(path):
        raise StoreUnreachable(f"{str(path)!r} can't be the name of a directory", way_out="Name another one.")
    with translated(path):
        core = Core(path, read_only=read_only or _is_forbidden(path), lock_timeout_s=lock_timeout_s)
        if not core.file.exists():
            _check_free(core, create=create and not read_only)
            _make_once(core)
    with core.reading():
        pass
    _ = core.lost  # before anything is written
    return core


def _is_forbidden(path: Path) -> bool:
    return path.is_dir() and not os.access(path, os.W_OK)


def _check_free(core: Core, *, create: bool) -> None:
    """Refuse to make a store, before anything is written, where there is something else or none is wanted."""
    path = core.file.parent
    if path.exists() and not path.is_dir():
        raise StoreUnreachable(f"{core.path} is a file, and a store is a directory", way_out="Name a directory.")
    _check_not_lost(core)
    if not create:
        raise StoreUnreachable(
            f"there is no store at {core.path}", way_out="Check the path, or ingest something into it first."
        )
    others = sorted(entry.name for entry in path.iterdir() if not _is_ours(entry)) if path.exists() else []
    if others:
        raise StoreUnreachable(
            f"{core.path} is no store: it holds other files, such as {others[0]!r}",
            way_out="Name an empty or a new directory.",
        )


def _is_ours(entry: Path) -> bool:
    """Whether the making of a store leaves such a file, or another process that is ahead of this one may have."""
    return entry.name.startswith((LOCK_NAME, FILE_NAME)) or (entry / "segments.json").exists()


def _check_not_lost(core: Core) -> None:
    """Refuse a directory that holds what only a store leaves, but no database."""
    log = core.file.with_name(f"{FILE_NAME}-wal")
    held = (core.file.parent / INDEX_NAME / "segments.json").exists() or (log.exists() and log.stat().st_size)
    # Looked for last: who makes a store begins with the database.
    if held and not core.file.exists():
        raise StoreCorrupt(f"{core.file} is gone, and other files of the store are there", way_out=RESTORE)


def _make_once(core: Core) -> None:
    """Make the database under the write lock, unless another has made it by then."""
    if core.read_only:
        raise StoreUnreachable(
            f"there is no store at {core.path}, and none may be made there", way_out="Check who may write there."
        )
    core.file.parent.mkdir(parents=True, exist_ok=True)
    patience = max(core.lock_timeout_s, _LEAST_PATIENCE_S)
    deadline = time.monotonic() + patience
    while not core.file.exists():
        try:
            # In glances: whoever has made it may hold the lock for long to fill it.
            with core.locked(_GLANCE_S):
                if not core.file.exists():
                    _check_not_lost(core)
                    make(core.file, fill)
        except StoreLocked as held:
            if time.monotonic() >= deadline:
                message = f"no store could be made within {patience:g} s: {held.message}"
                raise StoreLocked(message, way_out=held.way_out) from held
