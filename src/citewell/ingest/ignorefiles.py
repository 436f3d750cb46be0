"""Finds and reads the ignore files of a folder and of those above it, as git does: `.gitignore`, `.citewellignore`.

Above an ingested folder they are looked for up to the working tree's top, if it lies in one. Knows no pattern's meaning
and no document.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from citewell.errors import IngestError
from citewell.ingest.files import Unsettled, read_file
from citewell.ingest.ignore import Level, Reason, Rules

IGNORE_FILES: tuple[Reason, ...] = (".gitignore", ".citewellignore")
"""In the order in which they are asked last: where both speak of a path, `.citewellignore` decides."""
_MOST_BYTES = 1024 * 1024


def levels_of(
    folder: str, names: Collection[str], outer: Level | None, cut: int, gitignore: bool, lead: str = ""
) -> Level | None:
    """What holds in a folder that has these ignore files, `outer` being what holds around it.

    Raises:
        OSError: one of them can't be read. What it would leave out is not known then.
    """
    level = outer
    for name in IGNORE_FILES:
        if name in names and (gitignore or name != ".gitignore"):
            level = _level(Path(folder) / name, name, level, cut, lead)
    return level


def levels_above(folder: str, *, gitignore: bool) -> Level | None:
    """What the folders above say, from the top of the working tree down; None outside of one.

    Raises:
        OSError: as `levels_of`.
    """
    place = Path(folder)
    top = next((above for above in (place, *place.parents) if _exists(above / ".git")), None)
    if top is None:
        return None
    level: Level | None = None
    lead = f"{place.relative_to(top).as_posix()}/" if place != top else ""
    private = top / ".git" / "info" / "exclude"
    if gitignore and private.is_file():
        level = _level(private, ".gitignore", None, 0, lead)
    for above in [each for each in reversed(place.parents) if each == top or top in each.parents]:
        names = [name for name in IGNORE_FILES if _exists(above / name)]
        level = levels_of(str(above), names, level, 0, gitignore, f"{place.relative_to(above).as_posix()}/")
    return level


def _exists(path: Path) -> bool:
    return os.path.lexists(path)


def _level(path: Path, reason: Reason, outer: Level | None, cut: int, lead: str) -> Level | None:
    try:
        data = read_file(path, most=_MOST_BYTES)
    except IngestError as error:
        raise OSError(f"{path.name}: {error}") from error
    except Unsettled as error:
        raise OSError(f"{path.name} changes all the time") from error
    # As the names of files are decoded, so that a name in no encoding can be ignored as well.
    rules = Rules(data.decode("utf-8-sig", "surrogateescape").split("\n"))
    return Level(rules, reason, cut, lead, outer) if rules else outer
