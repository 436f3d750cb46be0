"""Which stored documents a walk didn't come to, and what is to become of them.

Gone is what is not there any more, and what `.citewellignore` leaves out, for that file says what the store is to hold.
What is there and only was not looked at (a glob, `.gitignore`, a suffix that nobody reads today) is not gone: leaving
an option out by mistake must not empty a store. Looks at names, never at contents, and deletes nothing itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from citewell.identity import normalize_id
from citewell.ingest.catalogue import Catalogue, Head
from citewell.ingest.fingerprint import root_of
from citewell.ingest.ignore import Reason
from citewell.ingest.walk import Found
from citewell.model import FileReport

_NOT_FOLLOWED = ".gitignore leaves it out now: its stored version stays and is not brought up to date"
_TO_BE_PRUNED = ".citewellignore leaves it out now: its stored version stays until a run prunes"


@dataclass(frozen=True, slots=True)
class Missing:
    """What became of stored documents that the walk didn't come to.

    Attributes:
        leaving: what is to be deleted, with the reason.
        reports: on what stays although it is left out.
    """

    leaving: Mapping[str, str] = field(default_factory=dict)
    reports: tuple[FileReport, ...] = ()


def missing(found: Found, catalogue: Catalogue, *, prune: bool) -> Missing:
    """Judge the stored documents of the walked folders and this prefix; of a folder not walked to its end, none."""
    leaving: dict[str, str] = {}
    reports: list[FileReport] = []
    names = lru_cache(maxsize=None)(_names)
    for head, root, path in _unseen(found, catalogue):
        reason = _left_out(found.left_out, root, path)
        if reason == "glob":
            continue
        if not _is_there(names, root, path):
            leaving[head.doc_id] = "its file is gone"
        elif reason == ".citewellignore" and prune:
            leaving[head.doc_id] = ".citewellignore leaves it out"
        elif reason is not None:
            detail = _TO_BE_PRUNED if reason == ".citewellignore" else _NOT_FOLLOWED
            reports.append(FileReport(head.doc_id, "skipped", head.chunks, detail=detail))
    return Missing(leaving if prune else {}, tuple(reports))


def _unseen(found: Found, catalogue: Catalogue) -> Iterator[tuple[Head, str, str]]:
    """Documents whose file lies in a walked folder and would have this very id there; the folder and the path in it.

    They may have come with a folder above it or below it, or when it was called by another name.
    """
    roots = [(os.path.realpath(root.path).rstrip(os.sep), root.path) for root in found.roots if root.whole]
    if not roots:
        return
    real = lru_cache(maxsize=None)(os.path.realpath)
    seen = {file.doc_id for file in found.files}
    for doc_id, head in catalogue.whole.items():
        origin = root_of(head.fingerprint)
        if not origin or doc_id in seen:
            continue
        place = os.path.join(real(origin), head.source)  # noqa: PTH118 - a text to a text
        for top, root in roots:
            path = place.removeprefix(f"{top}{os.sep}")
            if path != place and doc_id == normalize_id(f"{found.prefix}{path}"):
                yield head, root, path
                break


def _left_out(places: Mapping[tuple[str, str], Reason], root: str, path: str) -> Reason | None:
    """Why the path or a folder above it was left out; None if neither was."""
    while path:
        if (root, path) in places:
            return places[root, path]
        path = path.rpartition("/")[0]
    return None


def _names(folder: str) -> frozenset[str]:
    return frozenset(os.listdir(folder))  # noqa: PTH208 - names alone


def _is_there(names: Callable[[str], frozenset[str]], root: str, path: str) -> bool:
    """Whether there is a file of this very name; a file system may take another spelling for the same."""
    place = root
    try:
        for name in path.split("/"):
            if name not in names(place):
                return False
            place = os.path.join(place, name)  # noqa: PTH118 - a text to a text
    except NotADirectoryError:
        return False
    except OSError:
        return True
    return os.path.isfile(place)  # noqa: PTH113 - as above
