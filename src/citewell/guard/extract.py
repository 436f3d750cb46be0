"""An answer laid out -> its citations as they are written, in reading order (GUARD-1).

What is a citation:

    anything in the form of a key           docA#chunk-2; also `DOCA#chunk-2` and `docA#chunk-02`, which no key is
    every shown key, letter by letter       my notes [old].md#chunk-2, vector:7, content:0123456789abcdef
    other `vector:` and `content:` keys     but in running text no `vector:word` without a digit
    the target of a link                    [text](docA#chunk-2), [text](docA%23chunk-2), [text](docA.md)
    a document's id                         in brackets and footnotes; see `documents`
    a number beside an id in brackets       [docA#chunk-2, 9]; see `further`

It decides no verdict, and asks nobody what exists.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from urllib.parse import unquote

from citewell.guard.brackets import SEPARATED, Pair, enclosing
from citewell.guard.documents import documents, first_chunks
from citewell.guard.further import further
from citewell.guard.occurrences import Other, Span, other_heads
from citewell.guard.page import Page, Places
from citewell.guard.readings import as_written, other_beginnings
from citewell.guard.structure import Link
from citewell.guard.view import squash
from citewell.guard.written import Reading, Written, readings
from citewell.identity import find_marks

_NOWHERE = (-1, -1)
_WORD = re.compile(r"[^\s\"'`*<>\[\](){}【】［］〔〕（）「」『』“”,;，；、。！？|]+")


def extract(page: Page) -> list[Written]:
    """The citations of a page, in reading order, those in code too; none overlap. In linear time."""
    places = Places(page)
    found = _keys(page)
    found += _heads(page, sorted(_span(written) for written in found))
    found = _with_targets(page, places, found)
    found += further(page, [written for written in found if places.target(*_span(written)) is None])
    found += documents(page, sorted(_span(written) for written in found))
    placed = [replace(written, place=places.of(written.start, written.end)) for written in found]
    return sorted(placed, key=_span)


def _span(written: Written) -> Span:
    return written.start, written.end


def _keys(page: Page) -> list[Written]:
    """What is in the form of a key with an index, and every shown key."""
    marks = [start for start, _ in page.shown] + [other.mark for other in page.others]
    around = enclosing(page.brackets, marks)
    floors = [0, *(end for _, end in page.shown)]
    shown = [_shown(page, span, floor, around.get(span[0])) for span, floor in zip(page.shown, floors, strict=False)]
    return shown + [_other(page, other, around.get(other.mark)) for other in page.others]


def _shown(page: Page, span: Span, floor: int, around: Pair | None) -> Written:
    start, end = span
    keys = _alike(page, span)
    starts = other_beginnings(page.view.text, floor, start, start, around)
    if page.view.written(*span) not in keys:
        starts.append(start)  # what is written may be another key that only looks like a shown one
    return Written(start, end, page.view.written(*span), shown=keys, readings=_read(page, starts, end))


def _alike(page: Page, span: Span) -> tuple[str, ...]:
    """The shown keys that look like this; of several the one that is written so, if one is."""
    keys = page.ledger.forms[page.view.text[slice(*span)]]
    begins, ends = page.view.span(*span)
    raw = page.view.raw
    same = [key for key in keys if raw.endswith(key, 0, ends) or raw.startswith(key, begins)]
    return (max(same, key=len),) if same else keys


def _other(page: Page, other: Other, around: Pair | None) -> Written:
    start = as_written(page.view.text, other, page.ledger, around)
    written = Written(start, other.end, page.view.written(start, other.end))
    if not other.clean:
        return written
    further = other_beginnings(page.view.text, other.floor, start, other.mark, around)
    return replace(written, readings=_read(page, sorted({start, *further}), other.end))


def _read(page: Page, starts: Sequence[int], end: int) -> tuple[Reading, ...]:
    """The keys that it is from each of these places on, with the invisible characters before it and without."""
    view = page.view
    found = (
        readings(at, view.written(at, end), view.around(at, end), view.written(at, end), view.text[at:end])
        for at in starts
    )
    return tuple(item for items in found for item in items)


def _heads(page: Page, taken: list[Span]) -> Iterator[Written]:
    """Keys by vector id or content digest that were not shown."""
    text = page.view.text
    heads = list(other_heads(text, taken))
    around = enclosing(page.brackets, heads)
    done = 0
    for start in heads:
        if start < done:
            continue
        end = done = max(_head_end(text, start, around.get(start)), start + 1)
        raw = page.view.written(start, end)
        found = readings(start, raw, page.view.around(start, end), raw, text[start:end])
        is_digest = text[start] in "cC"
        if is_digest or (found and (start in around or any(map(str.isdigit, raw)))):
            yield Written(start, end, raw, readings=found)


def _head_end(text: str, start: int, around: Pair | None) -> int:
    """Where such a key ends: with the item in square brackets, else with the word."""
    if around is not None and around.square:
        item = SEPARATED.match(text, start, around.end - 1)
        return start + len(item[0].rstrip()) if item else start
    word = _WORD.match(text, start)
    return start + len(word[0].rstrip(".:*_~-…")) if word else start


def _with_targets(page: Page, places: Places, found: list[Written]) -> list[Written]:
    """What was found, but the target of a link as a whole where that is a citation."""
    whole = {link.target: written for link in page.structure.links if (written := _target(page, link)) is not None}
    inside = [(written, places.target(written.start, written.end) or _NOWHERE) for written in found]
    for written, target in inside:
        if written.shown and target in whole and not (whole[target].shown or whole[target].document):
            del whole[target]  # an address that names a shown key, such as `https://kb.example/?id=docA...`
    return [written for written, target in inside if target not in whole] + list(whole.values())


def _target(page: Page, link: Link) -> Written | None:
    """The citation that a link's target as a whole is; None if it is none."""
    start, end = link.target
    texts = _unquoted(page.view.text[start:end])
    written = Written(start, end, page.view.written(start, end))
    for form in texts:
        if form in page.ledger.forms:
            return replace(written, shown=page.ledger.forms[form])
        if form in page.ledger.documents:
            return replace(written, document=page.ledger.documents[form])
    if not any(True for form in texts for _ in find_marks(form)):
        first = first_chunks(*texts)
        return replace(written, first=first) if first else None
    read = tuple(dict.fromkeys(item for form in texts for item in readings(start, written.raw, written.raw, form)))
    return replace(written, readings=read, guess=read[-1].key if read else "")


def _unquoted(target: str) -> list[str]:
    """A target as written, without percent-encoding, and each without `./`."""
    texts = [target, squash(unquote(target))]
    return list(dict.fromkeys([*texts, *(text.removeprefix("./") for text in texts)]))
