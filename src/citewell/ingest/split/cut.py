"""One range of text -> parts that fit, cut at the best borders, fence marks and header rows repeated.

Sizes are characters; what an embedder's tokens demand comes in as a smaller size.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from citewell.ingest.split.borders import any_border, inner_borders
from citewell.ingest.split.outline import Block, Outline

_BLANK = re.compile(r"\s*")
_AFTER_HEADING = -1.0
_FILL = 1.2
_OVER = 3.0
_CRUMB = 0.3
_GOOD_ENOUGH = 0.5
_LENIENCE = 0.15


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of the text: `shown` is text[start:end] with what was repeated before and after it."""

    start: int
    end: int
    shown: str


def cut(outline: Outline, start: int, end: int, *, target: int, maximum: int) -> Iterator[Part]:
    """Parts of text[start:end] in order, none longer than `maximum` with what it repeats, near `target` where possible.

    Fences, tables and HTML are cut inside only if they exceed `maximum`, prose if it exceeds `target`. Together the
    parts hold everything but white space. Each step looks at the borders within `maximum` only: linear time.
    """
    text = outline.text
    end = start + len(text[start:end].rstrip())
    places = _Places(outline, start, end, target, maximum)
    while (first := _next_visible(text, start, end)) < end:
        start = _with_indentation(text, start, first, maximum)
        cut_at = places.after(start)
        if cut_at <= first:
            start, cut_at = first, places.after(first)
        yield _part(outline, start, cut_at, maximum)
        start = cut_at


def _next_visible(text: str, start: int, end: int) -> int:
    match = _BLANK.match(text, start, end)
    return match.end() if match else start


def _with_indentation(text: str, start: int, first: int, maximum: int) -> int:
    """The start of the line on which `first` is the first visible character, unless that costs much or is taken."""
    line = max(text.rfind("\n", 0, first) + 1, start)
    begins_here = line == 0 or text[line - 1] == "\n"
    return line if begins_here and first - line <= maximum // 4 else first


def _part(outline: Outline, start: int, end: int, maximum: int) -> Part:
    body = outline.text[start:end].rstrip()
    end = start + len(body)
    opening, closing = opening_at(outline, start, maximum), closing_at(outline, end, maximum)
    return Part(start, end, f"{opening}{body}\n{closing}" if closing else f"{opening}{body}")


def opening_at(outline: Outline, start: int, maximum: int) -> str:
    """What a part that starts here must repeat before itself."""
    block = outline.block_at(start)
    opening = _repeated(block, maximum)
    if not opening or not block.inner[0] <= start < block.inner[1]:
        return ""
    return opening if outline.text[start - 1] == "\n" else opening + block.indent


def closing_at(outline: Outline, end: int, maximum: int) -> str:
    """What a part that ends here must repeat after itself."""
    block = outline.block_at(end - 1)
    if not block.closing or not _repeated(block, maximum):
        return ""
    return "" if block.closed and end > block.inner[1] else block.closing


def _repeated(block: Block, maximum: int) -> str:
    """What is repeated before parts of a block: what it opens with, or a fence's bare marks where that is too long."""
    choices = [block.opening, f"{block.closing}\n"] if block.closing else [block.opening]
    marks = len(block.closing) + len(block.indent)
    return next((choice for choice in choices if 3 * (len(choice) + marks) <= maximum), "")


class _Places:
    """The borders of one range, asked for in ascending order."""

    def __init__(self, outline: Outline, start: int, end: int, target: int, maximum: int) -> None:
        self._outline, self._end, self._target, self._maximum = outline, end, target, maximum
        self._borders = [*self._all(start), (end, 1.0)]
        self._next = 0

    def _all(self, start: int) -> Iterator[tuple[int, float]]:
        blocks = self._outline.blocks
        for index in range(self._outline.index_at(start), self._outline.index_at(self._end - 1) + 1):
            block = blocks[index]
            if block.start > start:
                yield block.start, _AFTER_HEADING if blocks[index - 1].level else block.border
            if self._must_split(block):
                yield from inner_borders(block, self._outline.text, start, self._end)

    def _must_split(self, block: Block) -> bool:
        return block.stop - block.start > (self._target if block.kind == "prose" else self._maximum)

    def after(self, start: int) -> int:
        """Where the part that begins at `start` ends."""
        room = self._maximum - len(opening_at(self._outline, start, self._maximum))
        parts = max(1, math.ceil((self._end - start) / self._target - _LENIENCE))
        goal = (self._end - start) / parts
        best = max(((_score(border, start, goal), border[0]) for border in self._within(start, room)), default=None)
        if best is not None and best[0] >= _GOOD_ENOUGH:
            return best[1]
        forced = self._forced(start, min(self._target, room))
        inside = self._must_split(self._outline.block_at(forced - 1))
        return best[1] if best is not None and not inside else forced

    def _within(self, start: int, room: int) -> Iterator[tuple[int, float]]:
        while self._borders[self._next][0] <= start:
            self._next += 1
        for index in range(self._next, len(self._borders)):
            place = self._borders[index][0]
            if place - start > room:
                return
            if place - start + len(closing_at(self._outline, place, self._maximum)) <= room:
                yield self._borders[index]

    def _forced(self, start: int, room: int) -> int:
        """Where to cut when no border is near: neither mark of a fence, nor a header row, is left alone."""
        text = self._outline.text
        block = self._outline.block_at(min(start + room, self._end) - 1)
        if not _repeated(block, self._maximum):
            return any_border(text, start, min(start + room, self._end))
        content, closing = block.inner
        low, high = start, min(start + max(room - len(block.closing) - 1, 1), self._end)
        if high <= content:
            return block.start if block.start > start else high
        low = max(low, content)
        place = any_border(text, low, high)
        if not block.closing or not closing <= place < block.end or low >= closing:
            return place
        after = min(block.end, self._end)
        fits = len(text[start:after].rstrip()) <= room
        return after if fits else any_border(text, low, max((low + closing) // 2, low + 1))


def _score(border: tuple[int, float], start: int, goal: float) -> float:
    """How good a cut is: at a good border, near the goal; too long costs more than too short, crumbs cost most."""
    fill = (border[0] - start) / goal
    near = _FILL * fill if fill <= 1 else _FILL - _OVER * (fill - 1)
    return border[1] + near - (fill < _CRUMB)
