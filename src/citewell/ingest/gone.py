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
from citewell.ingest.fingerprint import root_of
from citewell.ingest.ignore import Reason
from citewell.ingest.walk import Found
from citewell.model import DocumentInfo, FileReport

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


def missing(found: Found, heads: Mapping[str, DocumentInfo], *, prune: bool) -> Missing:
    """Judge the stored documents of the walked folders and this prefix; of a folder not walked to its end, none."""
    leaving: dict[str, str] = {}
    reports: list[FileReport] = []
    names = lru_cache(maxsize=None)(_names)
    for head, root in _unseen(found, heads):
        reason = _left_out(found.left_out, root, head.source)
        if reason == "glob":
            continue
        if not _is_there(names, root, head.source):
            leaving[head.doc_id] = "its file is gone"
        elif reason == ".citewellignore" and prune:
            leaving[head.doc_id] = ".citewellignore leaves it out"
        elif reason is not None:
            detail = _TO_BE_PRUNED if reason == ".citewellignore" else _NOT_FOLLOWED
            reports.append(FileReport(head.doc_id, "skipped", head.chunks, detail=detail))
    return Missing(leaving if prune else {}, tuple(reports))


def _unseen(found: Found, heads: Mapping[str, DocumentInfo]) -> Iterator[tuple[DocumentInfo, str]]:
    """Documents that came from a walked folder, and the folder; it may have been called by another name then."""
    roots = {os.path.realpath(root.path): root.path for root in found.roots if root.whole}
    real = lru_cache(maxsize=None)(os.path.realpath)
    seen = {file.doc_id for file in found.files}
    for doc_id, head in heads.items():
        origin = root_of(head.fingerprint)
        root = roots.get(str(real(origin))) if origin and doc_id not in seen else None
        if root is not None and doc_id == normalize_id(f"{found.prefix}{head.source}"):
            yield head, root


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
