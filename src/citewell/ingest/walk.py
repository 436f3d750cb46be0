"""Paths -> files to ingest, each with its document id (spec section 0); reads names and ignore files, never contents.

Deterministic: sorted by document id. Hidden files and folders are passed over in silence, as are folders that hold a
store; what globs and ignore files leave out is counted; whatever else can't be taken is named with its reason. Links
are followed within the ingested folder and never out of it, so that a link in a foreign repository can't bring in a
private file. A file named by the caller is taken wherever its link leads and whatever an ignore file says.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from citewell.checks import shown
from citewell.errors import CitewellError, InvalidRequest
from citewell.identity import check_doc_id, normalize_id
from citewell.ingest.ignore import EVERYTHING, Level, Reason, Selection, left_out
from citewell.ingest.ignorefiles import IGNORE_FILES, levels_above, levels_of
from citewell.model import FileReport

STORE_FILE = "citewell.db"
"""A folder that holds one is a store, and no documents."""


@dataclass(frozen=True, slots=True)
class Root:
    """An ingested folder, or the folder of an ingested file.

    Attributes:
        path: absolute, as given; a link in it may lead elsewhere tomorrow, and it is the same root still.
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
        left_out: files and folders that globs and ignore files leave out, by root and path; nothing in such a folder
            is listed.
    """

    files: tuple[File, ...]
    refused: tuple[FileReport, ...]
    roots: tuple[Root, ...]
    prefix: str
    left_out: Mapping[tuple[str, str], Reason] = field(default_factory=dict)


@dataclass(slots=True)
class _State:
    prefix: str
    takes: Callable[[str], bool]
    selection: Selection
    files: dict[str, File] = field(default_factory=dict)
    refused: list[FileReport] = field(default_factory=list)
    left_out: dict[tuple[str, str], Reason] = field(default_factory=dict)
    faults: int = 0


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder that waits to be walked: where it is, its path with a `/` at the end, and what holds in it."""

    path: str
    real: str
    name: str
    level: Level | None
    included: bool


def walk(
    paths: Sequence[Path], *, prefix: str, takes: Callable[[str], bool], selection: Selection = EVERYTHING
) -> Found:
    """Every file under these paths whose name says that it can be read and that the selection takes.

    A document id is the prefix and the path relative to the folder given, with `/`; of a single file its name. A prefix
    that ends in a letter or digit gets a `/` after it.

    Raises:
        InvalidRequest: there is no such file or folder, it can't be looked at, or none was given.
    """
    _check(paths)
    state = _State(f"{prefix}/" if prefix[-1:].isalnum() else prefix, takes, selection)
    roots = [_take(state, path) for path in paths]
    files = tuple(state.files[doc_id] for doc_id in sorted(state.files))
    return Found(
        files,
        tuple(sorted(state.refused, key=lambda report: (report.doc_id, report.detail))),
        tuple(roots),
        state.prefix,
        {place: reason for place, reason in state.left_out.items() if _is_left_out(state, place)},
    )


def _check(paths: Sequence[Path]) -> None:
    if not paths:
        raise InvalidRequest("there is nothing to ingest", way_out="Name a file or a folder.")
    for path in paths:
        try:
            path.stat()
            str(path.absolute()).encode()
        except (FileNotFoundError, NotADirectoryError):
            raise InvalidRequest(f"there is no file or folder {shown(str(path))}", way_out="Check the path.") from None
        except UnicodeEncodeError:
            detail = f"the path {shown(str(path))} is not valid Unicode as a whole"
            raise InvalidRequest(detail, way_out="Rename the folder that is not.") from None
        except (OSError, ValueError) as error:
            detail = f"{shown(str(path))} can't be looked at: {getattr(error, 'strerror', None) or error}"
            raise InvalidRequest(detail, way_out="Check the path, and who may read it.") from error


def _is_left_out(state: _State, place: tuple[str, str]) -> bool:
    """What one path of the call leaves out, another one may name."""
    file = state.files.get(normalize_id(f"{state.prefix}{place[1]}") or "")
    return file is None or (file.root, file.source) != place


def _take(state: _State, path: Path) -> Root:
    top = os.path.abspath(path)  # noqa: PTH100 - Path.absolute keeps `..`
    if os.path.isdir(path):  # noqa: PTH112 - raises nothing
        faults = state.faults
        _Walk(state, top).run()
        return Root(top, whole=state.faults == faults)
    root, name = os.path.split(top)
    if state.selection.excludes(name, folder=False) or not state.selection.includes(name, folder=False):
        state.left_out[root, name] = "glob"
    else:
        _Walk(state, root).take_named(top, name)
    return Root(root, whole=False)


class _Walk:
    """The walk of one root."""

    def __init__(self, state: _State, top: str) -> None:
        self._state, self._top, self._real = state, top, os.path.realpath(top)
        self._waiting: list[_Folder] = []
        self._links: list[_Folder] = []
        self._seen: set[str] = set()

    def run(self) -> None:
        """Take every folder; linked ones last, so that a link never takes the place of the folder it leads to."""
        try:
            above = levels_above(self._real, gitignore=self._state.selection.gitignore)
        except OSError as error:
            self._fail("", f"an ignore file above it can't be read: {error.strerror or error}")
            return
        self._waiting.append(_Folder(self._top, self._real, "", above, included=False))
        while self._waiting or self._links:
            folder = self._waiting.pop() if self._waiting else self._links.pop(0)
            if folder.real not in self._seen:
                self._seen.add(folder.real)
                self._take_folder(folder)

    def _take_folder(self, folder: _Folder) -> None:
        try:
            with os.scandir(folder.path) as entries:
                found = {entry.name: entry for entry in entries}
            if folder.name and STORE_FILE in found:
                return
            ignoring = [name for name in IGNORE_FILES if name in found]
            level = levels_of(folder.path, ignoring, folder.level, len(folder.name), self._state.selection.gitignore)
        except OSError as error:
            self._fail(folder.name, f"the folder can't be read: {error.strerror or error}")
            return
        for name in sorted(found):
            if not name.startswith("."):
                self._take_entry(found[name], _Folder(folder.path, folder.real, folder.name, level, folder.included))

    def _take_entry(self, entry: os.DirEntry[str], within: _Folder) -> None:
        path = f"{within.name}{entry.name}"
        try:
            folder = entry.is_dir()
            included = within.included or self._state.selection.includes(path, folder=folder)
            reason = self._reason(path, within.level, folder=folder, included=included)
            if reason:
                self._state.left_out[self._top, path] = reason
            elif entry.is_symlink() and not self._is_inside(entry.path):
                self._refuse(path, "skipped", "the link leads out of the folder; ingest its target on its own")
            elif folder:
                self._await(entry, within, included=included)
            else:
                self._take_file(entry.path, path)
        except OSError as error:
            if error.errno == errno.ELOOP:
                self._refuse(path, "skipped", "the link leads in a circle")
            else:
                self._fail(path, f"it can't be looked at: {error.strerror or error}")

    def _reason(self, path: str, level: Level | None, *, folder: bool, included: bool) -> Reason | None:
        if self._state.selection.excludes(path, folder=folder):
            return "glob"
        ignored = left_out(level, path, folder=folder)
        return ignored or (None if folder or included else "glob")

    def _is_inside(self, path: str) -> bool:
        real = os.path.realpath(path)
        return real == self._real or real.startswith(f"{self._real.rstrip(os.sep)}{os.sep}")

    def _await(self, entry: os.DirEntry[str], within: _Folder, *, included: bool) -> None:
        linked = entry.is_symlink()
        real = os.path.realpath(entry.path) if linked else os.path.join(within.real, entry.name)  # noqa: PTH118 - fast
        folder = _Folder(entry.path, real, f"{within.name}{entry.name}/", within.level, included)
        (self._links if linked else self._waiting).append(folder)

    def take_named(self, at: str, path: str) -> None:
        """Take a file that the caller named; it may have become unreachable since it was looked at."""
        try:
            self._take_file(at, path)
        except OSError as error:
            self._fail(path, f"it can't be looked at: {error.strerror or error}")

    def _take_file(self, at: str, path: str) -> None:
        """Take the file at a place, `path` relative to the root, or say why not."""
        file = Path(at)
        if file.is_symlink() and not file.exists():
            self._refuse(path, "skipped", "the link leads nowhere")
        elif not file.is_file():
            self._refuse(path, "skipped", "it is no regular file")
        elif not self._state.takes(file.name):
            kind = f"files ending in {file.suffix.lower()!r}" if file.suffix else "files of such a name"
            self._refuse(path, "skipped", f"{kind} can't be read")
        else:
            self._add(file, path)

    def _add(self, file: Path, path: str) -> None:
        name = f"{self._state.prefix}{path}"
        try:
            doc_id = check_doc_id(name)
            name.encode("utf-8")
        except CitewellError as error:
            self._refuse(path, "failed", str(error))
            return
        except UnicodeEncodeError:
            self._refuse(path, "failed", "its name is not valid Unicode; rename it")
            return
        known = self._state.files.setdefault(doc_id, File(doc_id, file, self._top, path))
        if known.path != file and os.path.realpath(known.path) != os.path.realpath(file):
            detail = f"{str(file)!r} and {str(known.path)!r} would both be {doc_id!r}; ingest one of them with a prefix"
            self._state.refused.append(FileReport(doc_id, "failed", detail=detail))

    def _fail(self, path: str, detail: str) -> None:
        self._state.faults += 1
        self._refuse(path.rstrip("/"), "failed", detail)

    def _refuse(self, path: str, status: Literal["skipped", "failed"], detail: str) -> None:
        name = f"{self._state.prefix}{path}".encode("utf-8", "backslashreplace").decode("utf-8")
        self._state.refused.append(FileReport(normalize_id(name) or ".", status, detail=detail))
