"""Where a PDF's headings stand in its text: by its outline, or without one by the size of letters."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from citewell.adapters.readers.pdf_layout import Page
from citewell.model import Heading

_LEVELS = 6
_SIZES = 3
_CLEARLY_LARGER = 1.15
_TITLE_LARGER = 1.3
_DENSEST = 0.2
_NUMBERING = re.compile(
    r"(?:chapter|section|part|appendix|kapitel)?\s*[\dIVXA-Z]{0,4}(?:\.\d+)*[.:)]?\s+", re.IGNORECASE
)
_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the outline: level from 0, page index from 0."""

    title: str
    level: int
    page: int


def largest_line(page: Page) -> str:
    """The line in the largest letters if it looks like a title: larger than the page's text, and not alone on it."""
    sizes = [size for size, _ in page.sizes]
    best = max(page.large, key=lambda each: each.size, default=None)
    if best is None or len(sizes) < 2 or not _LETTER.search(best.text):
        return ""
    usual = max(page.sizes, key=lambda item: (item[1], -item[0]))[0]
    return best.text if best.size >= _TITLE_LARGER * usual else ""


def by_outline(text: str, starts: Sequence[int], outline: Sequence[Entry]) -> tuple[Heading, ...]:
    """The entries in reading order, each at the line that says its title, else at the first free line of its page."""
    lines = _Lines(text, starts)
    found: dict[int, Heading] = {}
    position = 0
    for entry in sorted(outline, key=lambda each: each.page):
        place = lines.find(entry.title, entry.page, position)
        if place is None:
            place = lines.free(max(lines.start(entry.page), position), found)
        if place is not None and place not in found:
            found[place] = Heading(place, min(entry.level + 2, _LEVELS), entry.title)
            position = place
    return tuple(found[place] for place in sorted(found))


def by_size(text: str, starts: Sequence[int], pages: Sequence[Page]) -> tuple[Heading, ...]:
    """Short lines in letters clearly larger than most; none if there are too many to be headings."""
    sizes = Counter[float]()
    for page in pages:
        sizes.update(dict(page.sizes))
    usual = max(sizes, key=lambda size: (sizes[size], -size), default=0.0)
    large = [(number, each) for number, page in enumerate(pages) for each in page.large]
    kept = [
        (number, each) for number, each in large if each.size >= _CLEARLY_LARGER * usual and _LETTER.search(each.text)
    ]
    if not usual or sum(len(each.text) for _, each in kept) > _DENSEST * len(text):
        return ()
    levels = {
        size: level for level, size in enumerate(sorted({each.size for _, each in kept}, reverse=True)[:_SIZES], 2)
    }
    lines = _Lines(text, starts)
    return tuple(_placed(lines, [(number, each.text, levels.get(each.size, _SIZES + 2)) for number, each in kept]))


def _placed(lines: _Lines, kept: Sequence[tuple[int, str, int]]) -> Iterator[Heading]:
    position = -1
    for page, title, level in kept:
        place = lines.find(title, page, position + 1)
        if place is not None and place > position:
            position = place
            yield Heading(place, level, title)


class _Lines:
    """The lines of a text, looked up by what they say."""

    def __init__(self, text: str, starts: Sequence[int]) -> None:
        self._places = [0, *(match.end() for match in re.finditer("\n", text))]
        self._text, self._starts = text, starts

    def start(self, page: int) -> int:
        """Where a page starts; the end of the text for a page that isn't there."""
        return self._starts[page] if 0 <= page < len(self._starts) else len(self._text)

    def find(self, title: str, page: int, position: int) -> int | None:
        """The start of the first line on a page, from a position on, that says a title, with or without its number."""
        end = self.start(page + 1)
        wanted = {_said(title), _said(_NUMBERING.sub("", title, count=1))} - {""}
        for place in self._from(max(self.start(page), position)):
            if place >= end:
                return None
            line = self._text[place : place + 4 * len(title) + 40].partition("\n")[0]
            said = _said(line)
            if said in wanted or _said(_NUMBERING.sub("", line, count=1)) in wanted:
                return place
        return None

    def free(self, position: int, taken: dict[int, Heading]) -> int | None:
        """The first line from a position on that is not blank and no heading yet."""
        for place in self._from(position):
            if place not in taken and self._text[place : place + 1].strip():
                return place
        return None

    def _from(self, position: int) -> Iterator[int]:
        for index in range(bisect_left(self._places, position), len(self._places)):
            yield self._places[index]


def _said(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())
