"""An id from a list -> a citation: the whole of it is the id, but for brackets, a label and emphasis around it.

It finds nothing within an id and decides no verdict.
"""

from __future__ import annotations

from citewell.guard.borders import after_labels
from citewell.guard.ledger import Ledger
from citewell.guard.view import view_of
from citewell.guard.written import Written, reading

_AROUND = " \t\r\n\"'“”‘’«»「」『』<>[](){}【】［］〔〕〖〗（）*_`~"
_AFTER = ".,;:。，；：、"


def listed(item: str, ledger: Ledger) -> Written:
    """The citation that an id from a list is; as it stands if that was shown, else without what surrounds it."""
    view = view_of(item)
    best: Written | None = None
    for start, end in _spans(view.text):
        text = view.text[start:end]
        raw = view.written(start, end) if end > start else ""
        found = reading(start, raw, text)
        shown, document = ledger.forms.get(text, ()), ledger.documents.get(text, ())
        same = tuple(key for key in shown if key == raw)
        best = Written(start, end, raw, "list", same or shown, (found,) if found and not shown else (), document)
        if shown or document:
            break
    return best or Written(0, 0, item, "list")


def _spans(text: str) -> list[tuple[int, int]]:
    """What the id may be: all of it, then without brackets and the like, then without a label too."""
    start, end = len(text) - len(text.lstrip()), len(text.rstrip())
    found = [(start, end)]
    while start < end and text[start] in _AROUND:
        start += 1
    while end > start and text[end - 1] in _AROUND + _AFTER:
        end -= 1
    found.append((start, end))
    start = after_labels(text, start, end)
    while start < end and text[start] in _AROUND:
        start += 1
    return list(dict.fromkeys([*found, (start, end)]))
