"""An id from a list -> a citation: the whole of it is the id, but for brackets, a label and emphasis around it.

It finds nothing within an id and decides no verdict.
"""

from __future__ import annotations

import re

from citewell.guard.borders import after_labels
from citewell.guard.brackets import WRAPS
from citewell.guard.documents import first_chunks
from citewell.guard.ledger import Ledger
from citewell.guard.view import view_of
from citewell.guard.written import Reading, Written, readings

_BULLET = re.compile(r"(?:[-+•]|\d{1,3}[.)])[ \t]+")
_LAYERS = 64  # around an id of a list: more are no copying fault, and each is looked at whole
_AFTER = frozenset(".,;:。，；：、") | frozenset(WRAPS.values())


def listed(item: str, ledger: Ledger) -> Written:
    """The citation that an id from a list is: as it stands if that exists, else without what surrounds it."""
    view = view_of(item, ledger.whole)
    found: list[Reading] = []
    for start, end in _spans(view.text):
        text = view.text[start:end]
        if text != text.strip():
            continue
        raw = view.written(start, end) if end > start else ""
        shown, document = ledger.forms.get(text, ()), ledger.documents.get(text, ())
        same = tuple(key for key in shown if key == raw)
        found += () if same or not text else readings(start, raw, view.around(start, end), raw, text)
        if shown or document:
            return Written(start, end, raw, "list", same or shown, tuple(found), document)
    return Written(start, end, raw, "list", readings=tuple(found), first=first_chunks(raw, text))


def _spans(text: str) -> list[tuple[int, int]]:
    """What the id may be: all of it, then without one layer after the other around it, then without a label too."""
    start, end = 0, len(text)
    found: list[tuple[int, int]] = []
    while (start, end) not in found and len(found) < _LAYERS:
        found.append((start, end))
        start, end = _peeled(text, start, end)
    start = after_labels(text, start, end)
    return [*found, (start, end), _peeled(text, start, end)]


def _peeled(text: str, start: int, end: int) -> tuple[int, int]:
    """Without white space, else without a bullet, a pair of brackets, quotes or emphasis, or a sign at one end."""
    inner = text[start:end]
    bare = inner.strip()
    if bare != inner:
        start += len(inner) - len(inner.lstrip())
        return start, start + len(bare)
    bullet = _BULLET.match(text, start, end)
    if bullet is not None:
        return bullet.end(), end
    if len(bare) > 1 and WRAPS.get(bare[0]) == bare[-1]:
        return start + 1, end - 1
    if bare and bare[-1] in _AFTER:
        return start, end - 1
    return (start + 1, end) if bare and bare[0] in WRAPS else (start, end)
