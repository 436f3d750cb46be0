"""Waves of changed paths from the operating system; the one door to watchfiles, which is an extra.

It groups what comes at once and decides nothing about it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

from citewell.errors import IngestError, InvalidRequest

Changes = Set[tuple[object, str]]
Identities = tuple[tuple[int, int] | None, ...]

_QUIET_MS, _LONGEST_MS, _LOOK_MS = 100, 1_600, 250


def waves(paths: Sequence[Path], stop: threading.Event) -> Iterator[frozenset[str]]:
    """Begin to watch: absolute paths that changed after the call, wave by wave; ends soon after `stop` is set.

    A wave ends when nothing has changed for 0.1 s, after 1.6 s at the latest. An empty one says that nothing did.

    Raises:
        InvalidRequest: watchfiles is not installed.
        IngestError: the paths can't be watched.
    """
    before = _identities(paths)
    return _follow(_begin(paths, stop), before, paths, stop)


def _follow(
    changes: Iterator[Changes], begun: Identities, paths: Sequence[Path], stop: threading.Event
) -> Iterator[frozenset[str]]:
    """The waves; begun anew when another folder stands in the place of one, of which nothing would be heard else."""
    with _told(paths):
        while not stop.is_set():
            for change in changes:
                if _identities(paths) != begun:
                    break
                yield frozenset(path for _, path in change)
            else:
                return
            begun = _identities(paths)
            changes = _begin(paths, stop)
            yield frozenset(str(path.absolute()) for path in paths)


def _begin(paths: Sequence[Path], stop: threading.Event) -> Iterator[Changes]:
    try:
        from watchfiles import watch  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise InvalidRequest(
            "watching needs the package watchfiles, which is not installed",
            way_out='Run `pip install "citewell[watch]"`.',
        ) from error
    places, deep = _places(paths)
    changes = watch(
        *places,
        watch_filter=None,
        debounce=_LONGEST_MS,
        step=_QUIET_MS,
        rust_timeout=_LOOK_MS,
        yield_on_timeout=True,
        stop_event=stop,
        recursive=deep,
        ignore_permission_denied=True,
    )
    with _told(paths):
        # The watch begins with the first look, not with the call.
        return chain([first], changes) if (first := next(changes, None)) is not None else iter(())


def _identities(paths: Sequence[Path]) -> Identities:
    """Which folder or file each path names; None for one that is not there."""
    return tuple(_identity(path if _is_folder(path) else path.parent) for path in paths)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _places(paths: Sequence[Path]) -> tuple[list[Path], bool]:
    """What to watch, and whether with all below it. A file is watched by its folder, for it may be replaced whole."""
    folders = [path.absolute() for path in paths if _is_folder(path)]
    return folders + [path.absolute().parent for path in paths if not _is_folder(path)], bool(folders)


def _is_folder(path: Path) -> bool:
    """Whether it is one, as far as can be seen: what may not be looked at is told by the run."""
    return os.path.isdir(path)  # noqa: PTH112 - the method of a path raises


@contextmanager
def _told(paths: Sequence[Path]) -> Iterator[None]:
    try:
        yield
    except (OSError, RuntimeError) as error:
        named = ", ".join(map(str, paths))
        way_out = "On Linux the limit is fs.inotify.max_user_watches." if "limit" in str(error) else ""
        raise IngestError(f"{named} can't be watched: {error}", way_out=way_out) from error
