"""Goes on ingesting what changes: one run at the start, one after each wave of changes, until the source of them ends.

Every run looks at everything again, so it misses nothing that a wave left out. What goes wrong on the way (a locked
store, an endpoint that is down, a folder that is gone for a moment) is told and tried again, later each time. Knows
neither how changes are found nor how long a second is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from citewell.errors import CitewellError, ConfigError, EmbedderMismatch, StoreCorrupt, StoreVersion
from citewell.ingest.ignorefiles import IGNORE_FILES
from citewell.ingest.walk import STORE_FILE
from citewell.model import IngestReport

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0
_FINAL = (EmbedderMismatch, StoreVersion, StoreCorrupt, ConfigError)

Wave = Collection[str]
"""Absolute paths that changed; empty if none did for a while."""
Arm = Callable[[], Iterator[Wave]]
"""Begins to watch: what changes after the call is in the iterator. It ends when watching is to end."""


def watch(
    run: Callable[[], IngestReport],
    arm: Arm,
    concerns: Callable[[str], bool],
    *,
    trouble: Callable[[CitewellError, float], None],
    pause: Callable[[float], bool],
) -> Iterator[IngestReport]:
    """The report of the first run, then of each run after a wave that concerns the documents.

    Args:
        run: one ingestion.
        arm: called before each first run, and again after trouble.
        concerns: whether a changed path is worth a run.
        trouble: told each error and the seconds until the next try.
        pause: waits for these seconds, or until watching is to end; whether it is.

    Raises:
        CitewellError: the first run failed, or a later one with what no waiting can mend.
    """
    started, delay = False, 0.0
    while True:
        try:
            for wave in _first(arm()):
                if wave is None or any(map(concerns, wave)):
                    report = run()
                    started, delay = True, 0.0
                    yield report
        except CitewellError as error:
            if not started or isinstance(error, _FINAL):
                raise
            delay = min(2 * delay or FIRST_PAUSE_S, LONGEST_PAUSE_S)
            trouble(error, delay)
            if pause(delay):
                return
        else:
            return


def _first(waves: Iterator[Wave]) -> Iterator[Wave | None]:
    """None, which stands for everything, then the waves."""
    yield None
    yield from waves


class Concern:
    """Whether a changed path may change what is stored: it lies under one of the paths and is worth reading.

    Hidden files don't count, save ignore files; nor does a store that lies within a watched folder, for each run writes
    there; nor does a file of a kind that nobody reads.
    """

    def __init__(self, paths: Sequence[Path], takes: Callable[[str], bool]) -> None:
        self._takes = takes
        tops = [os.path.abspath(path) for path in paths]  # noqa: PTH100 - as the walk names them
        self._folders = [top for top in tops if os.path.isdir(top)]  # noqa: PTH112 - as above
        self._files = {top for top in tops if top not in self._folders}

    def __call__(self, path: str) -> bool:
        """Whether this one does."""
        return path in self._files or any(self._within(path, folder) for folder in self._folders)

    def _within(self, path: str, folder: str) -> bool:
        if path == folder:
            return True
        if not path.startswith(f"{folder.rstrip(os.sep)}{os.sep}"):
            return False
        *above, name = Path(path).relative_to(folder).parts
        if any(part.startswith(".") for part in above) or (name.startswith(".") and name not in IGNORE_FILES):
            return False
        return name in IGNORE_FILES or (self._may_be_read(path) and not _in_a_store(folder, above))

    def _may_be_read(self, path: str) -> bool:
        """What is no file any more was one, or is a folder: either may have held documents."""
        return not os.path.isfile(path) or self._takes(path)  # noqa: PTH113 - as above


def _in_a_store(folder: str, above: Sequence[str]) -> bool:
    places = (Path(folder, *above[: depth + 1]) for depth in range(len(above)))
    return any((place / STORE_FILE).exists() for place in places)
