"""Paths -> files to ingest, each with its document id (spec section 0); reads names, never contents.

Deterministic: sorted by document id. Hidden files and folders are passed over in silence; whatever else can't be taken
is named with its reason. Links are followed within the ingested folder and never out of it, so that a link in a
foreign repository can't bring in a private file.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from citewell.errors import CitewellError, InvalidRequest
from citewell.identity import check_doc_id, normalize_id
from citewell.model import FileReport


@dataclass(frozen=True, slots=True)
class Root:
    """An ingested folder, or the folder of an ingested file.

    Attributes:
        path: absolute, links resolved.
        whole: whether all of it was walked without a fault, so that what is missing is gone.
    """

    path: str
    whole: bool


@dataclass(frozen=True, slots=True)
class File:
    """A file to ingest; `source` is its path relative to the root."""

    doc_id: str
    path: Path
    root: str
    source: str


@dataclass(frozen=True, slots=True)
class Found:
    """What a walk found.

    Attributes:
        files: sorted by doc_id, each doc_id once.
        refused: reports on what can't be taken.
        roots: in the order given.
        prefix: as it stands before every doc_id.
    """

    files: tuple[File, ...]
    refused: tuple[FileReport, ...]
    roots: tuple[Root, ...]
    prefix: str


@dataclass(slots=True)
class _Walk:
    prefix: str
    suffixes: Collection[str]
    files: dict[str, File] = field(default_factory=dict)
    refused: list[FileReport] = field(default_factory=list)
    faults: int = 0


def walk(paths: Sequence[Path], *, prefix: str, suffixes: Collection[str]) -> Found:
    """Every file under these paths whose suffix is known.

    A document id is the prefix and the path relative to the folder given, with `/`; of a single file its name. A prefix
    that ends in a letter or digit gets a `/` after it.

    Raises:
        InvalidRequest: there is no such file or folder, or none was given.
    """
    _check(paths)
    state = _Walk(f"{prefix}/" if prefix[-1:].isalnum() else prefix, suffixes)
    roots = [_take(state, path) for path in paths]
    files = tuple(state.files[doc_id] for doc_id in sorted(state.files))
    return Found(
        files,
        tuple(sorted(state.refused, key=lambda report: (report.doc_id, report.detail))),
        tuple(roots),
        state.prefix,
    )


def _check(paths: Sequence[Path]) -> None:
    if not paths:
        raise InvalidRequest("there is nothing to ingest", way_out="Name a file or a folder.")
    for path in paths:
        if not path.exists():
            raise InvalidRequest(f"there is no file or folder {str(path)!r}", way_out="Check the path.")


def _take(state: _Walk, path: Path) -> Root:
    top = path.resolve()
    if top.is_dir():
        faults = state.faults
        _take_folder(state, top)
        return Root(str(top), whole=state.faults == faults)
    _take_file(state, top, top.parent)
    return Root(str(top.parent), whole=False)


def _take_folder(state: _Walk, top: Path) -> None:
    seen: set[str] = set()
    waiting = [top]
    while waiting:
        folder = waiting.pop()
        real = os.path.realpath(folder)
        if real in seen:
            continue
        seen.add(real)
        for entry in _entries(state, folder, top):
            try:
                _take_entry(state, entry, top, waiting)
            except OSError as error:
                state.faults += 1
                _refuse(state, entry, top, "failed", f"it can't be looked at: {error.strerror or error}")


def _take_entry(state: _Walk, entry: Path, top: Path, waiting: list[Path]) -> None:
    if not _is_inside(entry, top):
        _refuse(state, entry, top, "skipped", "the link leads out of the folder; ingest its target on its own")
    elif entry.is_dir():
        waiting.append(entry)
    else:
        _take_file(state, entry, top)


def _entries(state: _Walk, folder: Path, top: Path) -> Iterable[Path]:
    """Visible entries, sorted by name, so that of two links to one folder always the same one is taken."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if not entry.name.startswith("."))
    except OSError as error:
        state.faults += 1
        _refuse(state, folder, top, "failed", f"the folder can't be read: {error.strerror or error}")
        return ()
    return [folder / name for name in names]


def _is_inside(entry: Path, top: Path) -> bool:
    return not entry.is_symlink() or Path(os.path.realpath(entry)).is_relative_to(top)


def _take_file(state: _Walk, path: Path, top: Path) -> None:
    suffix = path.suffix.lower()
    if path.is_symlink() and not path.exists():
        _refuse(state, path, top, "skipped", "the link leads nowhere")
    elif not path.is_file():
        _refuse(state, path, top, "skipped", "it is no regular file")
    elif suffix not in state.suffixes:
        known = ", ".join(sorted(state.suffixes))
        kind = f"files ending in {suffix!r}" if suffix else "files without a suffix"
        _refuse(state, path, top, "skipped", f"{kind} can't be read; known are {known}")
    else:
        _add(state, path, top)


def _add(state: _Walk, path: Path, top: Path) -> None:
    name = _name(state, path, top)
    try:
        doc_id = check_doc_id(name)
        name.encode("utf-8")
    except CitewellError as error:
        _refuse(state, path, top, "failed", str(error))
        return
    except UnicodeEncodeError:
        _refuse(state, path, top, "failed", "its name is not valid Unicode; rename it")
        return
    known = state.files.get(doc_id)
    if known is None:
        state.files[doc_id] = File(doc_id, path, str(top), path.relative_to(top).as_posix())
    elif os.path.realpath(known.path) != os.path.realpath(path):
        detail = f"{str(path)!r} and {str(known.path)!r} would both be {doc_id!r}; ingest one of them with a prefix"
        state.refused.append(FileReport(doc_id, "failed", detail=detail))


def _name(state: _Walk, path: Path, top: Path) -> str:
    return f"{state.prefix}{path.relative_to(top).as_posix()}"


def _refuse(state: _Walk, path: Path, top: Path, status: Literal["skipped", "failed"], detail: str) -> None:
    name = _name(state, path, top).encode("utf-8", "backslashreplace").decode("utf-8")
    state.refused.append(FileReport(normalize_id(name) or name, status, detail=detail))
