"""An answer without some of its citations: the ids go, with their labels and with what would be left empty around them.

    The disk is slow [docA#chunk-9].            The disk is slow.
    slow [docA#chunk-1, docB#chunk-9]           slow [docA#chunk-1]
    [the runbook](docB#chunk-9) says            the runbook says
    slow[^2] ... [^2]: docB#chunk-9             slow ...

Nothing else changes: no other white space, no other brackets. A sentence that has its id as a word stays without it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence

from citewell.guard.borders import after_labels
from citewell.guard.brackets import SQUARE_CLOSE, SQUARE_OPEN, WRAPS
from citewell.guard.occurrences import Span
from citewell.guard.page import Page, Places
from citewell.guard.structure import Definition, Link
from citewell.guard.written import Written

_CLOSERS = frozenset(WRAPS.values())
_LOOSE = frozenset(",;、，；&")  # a bar is the border of a table's cell
_BEGINNINGS = ",;:，；：、 \t"
_ENDS = frozenset(".,;:!?。，、；：！？…")
_AND = re.compile(r"[]】］〕〗)）>}*_`~]{0,8}([ \t]*(?:\b(?:and|or)\b|&|和|与|及|或)[ \t]*)[\[【［〔〖(（<{*_`~]{0,8}")
_EMPHASIS = re.compile(r"[*_`~]+")
_MOST_TIDIED = 32  # signs around one gap
_EDGES = re.compile(r"[\n,;、，；.。!?！？]")
_BULLET = re.compile(r"[ \t>]*(?:[-*+•]|\d{1,3}[.)]|\[\^?[^\[\]\n]{1,40}\]:?)?[ \t]*")


def without(page: Page, bad: Sequence[Written], good: Sequence[Written]) -> str:
    """The answer without the bad citations, which are in reading order, as are the good ones that stay."""
    spans = sorted(_Removal(page, bad, good).spans())
    raw, pieces, done = page.view.raw, [], 0
    for start, end in spans:
        begins, ends = page.view.span(start, end)
        if begins >= done:
            pieces.append(raw[done:begins])
            done = ends
        else:
            done = max(done, ends)
    return _joined([*pieces, raw[done:]])


class _Removal:
    """Decides what goes, in places of the view."""

    def __init__(self, page: Page, bad: Sequence[Written], good: Sequence[Written]) -> None:
        self._page, self._text, self._bad = page, page.view.text, bad
        self._places = Places(page)
        self._links = {link.target: link for link in page.structure.links}
        self._by_text: dict[Span, list[Link]] = defaultdict(list)
        for link in page.structure.links:
            self._by_text[link.text.inner].append(link)
        self._kept = {(written.start, written.end) for written in good}
        self._starts = sorted(written.start for written in [*bad, *good])
        self._ends = sorted(written.end for written in [*bad, *good])

    def spans(self) -> Iterator[Span]:
        gone = set(self._empty_definitions())
        for written in self._bad:
            target = self._places.target(written.start, written.end)
            if target in self._links:
                yield from self._link(self._links[target])
            elif (titled := self._titled(written)) is not None:
                yield titled.start, titled.end
            elif self._places.definition(written.start, written.end) not in gone:
                yield self._with_label(written), written.end
                yield from self._word(written)
        for definition in gone:
            yield from self._definition(definition)

    def _with_label(self, written: Written) -> int:
        """Where the id begins together with the words that introduce it, if nothing but them would be left."""
        text, start = self._text, written.start
        before = bisect_right(self._ends, start) - 1
        lowest = max(self._ends[before] if before >= 0 else 0, start - 60)
        edge = max([lowest, *(match.end() for match in _EDGES.finditer(text, lowest, start))])
        edge = max([edge, *(text.rfind(char, edge, start) + 1 for char in SQUARE_OPEN + "(（")])
        edge = _bullet_ends(text, edge, start)
        follows = text[written.end : written.end + 8].lstrip(" \t*_`~")
        is_last = not follows or follows[0] == "\n" or follows[0] in _CLOSERS or follows[0] in _ENDS
        return edge if is_last and edge < start and after_labels(text, edge, start) == start else start

    def _word(self, written: Written) -> Iterator[Span]:
        """The `and` between this citation and the next one; if there is none, that between it and the one before."""
        after, before = bisect_right(self._starts, written.start), bisect_right(self._ends, written.start) - 1
        word = _AND.fullmatch(self._text, written.end, self._starts[after]) if after < len(self._starts) else None
        if word is None and before >= 0:
            word = _AND.fullmatch(self._text, self._ends[before], written.start)
        if word is not None:
            yield word.span(1)

    def _titled(self, written: Written) -> Link | None:
        """The link of which the id is the whole text, unless its target is a citation that stays."""
        links = self._by_text.get((written.start, written.end), ())
        return next((link for link in links if link.target not in self._kept), None)

    def _link(self, link: Link) -> Iterator[Span]:
        """Everything of a link but its text; if that is a citation that stays, its brackets stay too."""
        if link.text.inner in self._kept:
            yield link.text.end, link.end
        else:
            yield link.start, link.text.start + 1
            yield link.text.end - 1, link.end

    def _empty_definitions(self) -> Iterator[Definition]:
        """Definitions of which, without the bad citations, no word is left."""
        inside: dict[Definition, list[Written]] = defaultdict(list)
        for written in self._bad:
            definition = self._places.definition(written.start, written.end)
            if definition is not None:
                inside[definition].append(written)
        return (definition for definition, cited in inside.items() if not self._words_beside(definition, cited))

    def _words_beside(self, definition: Definition, cited: Sequence[Written]) -> bool:
        """Whether a definition says anything but these citations and words that introduce them."""
        place = definition.body
        for written in cited:
            if any(map(str.isalnum, self._text[after_labels(self._text, place, written.start) : written.start])):
                return True
            place = written.end
        return any(map(str.isalnum, self._text[place : definition.end]))

    def _definition(self, definition: Definition) -> Iterator[Span]:
        """Its lines, and every reference to it."""
        yield definition.start, min(definition.end + 1, len(self._text))
        for text, use in self._page.structure.uses.get(definition.label, ()):
            yield use.start, use.end
            if text is not None:
                yield text.start, text.start + 1
                yield text.end - 1, text.end


def _bullet_ends(text: str, start: int, end: int) -> int:
    """Where a line's bullet ends, and emphasis that is opened there and not closed before `end`."""
    bullet = _BULLET.match(text, start, end)
    at = bullet.end() if bullet else start
    run = _EMPHASIS.match(text, at, end)
    return run.end() if run and run[0] not in text[run.end() : end] else at


def _joined(pieces: Sequence[str]) -> str:
    """The pieces, and between them no white space, separators, brackets or lines that were there for what is gone."""
    done = [pieces[0]]
    for number, piece in enumerate(pieces[1:], start=1):
        while len(done) > 1 and not done[-1]:
            done.pop()
        left, right = _junction(done.pop(), piece, final=number == len(pieces) - 1)
        done += (left, right)
    return "".join(done)


def _junction(left: str, right: str, *, final: bool) -> tuple[str, str]:
    """The end of one piece and the beginning of the next, tidied; nothing follows the `final` one."""
    parted = False
    for _ in range(_MOST_TIDIED):
        before, after = left.rstrip(" \t"), right.lstrip(" \t")
        parted = parted or before != left or after != right
        last, first = before[-1:], after[:1]
        if last and first and WRAPS.get(last) == first:
            left, right = before[:-1], after[1:]
        elif last == "^" and first in SQUARE_CLOSE and before[-2:-1] in SQUARE_OPEN:
            left, right = before[:-1], after
        elif first in _LOOSE and (last in WRAPS or last in _LOOSE or last in ("", "\n")):
            left, right = before, after[1:]
        elif last in _LOOSE and (first in _CLOSERS or first in _ENDS or first == "\n" or (final and not first)):
            left, right = before[:-1], after
        else:
            break
    if not after and not final:
        return (f"{before} " if parted else before), ""
    return _spaced(left, before, after, parted=parted)


def _spaced(left: str, before: str, after: str, *, parted: bool) -> tuple[str, str]:
    """With a space where there was one or two words would meet, and without a line of which only its bullet is left."""
    line = before[before.rfind("\n") + 1 :]
    if after[:1] in ("", "\n") and _BULLET.fullmatch(line):
        return before[: len(before) - len(line)], after[1:]
    if not line:
        return left, after.lstrip(_BEGINNINGS)
    if after[:1] in ("", "\n") or after[:1] in _ENDS or after[:1] in ")]】］〕〗）」』”’»":
        return before, after
    if before[-1] in "([【［〔〖（「『“‘«":
        return before, after
    meet = all(char.isalnum() and char < "\u2e80" for char in before[-1] + after[0])
    return before + " " if parted or meet else before, after
