"""Lines of one PDF page, with where they stand -> its text: lines of a paragraph joined, words cut by a hyphen whole.

Lines at the top and the bottom of the page are kept apart, because only other pages tell whether they are running
headers. Knows no library.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

_MARGIN = 0.11
_MOST_IN_MARGIN = 3
_NEAR = 10
_SAME_SIZE = 1.12
_WIDE_SPACING = 1.35
_WIDEST_PROSE = 0.75
_LARGER = 1.12
_LONGEST_HEADING = 120
_ITEM = re.compile(r"(?:[•‣◦▪●○■–—*·-]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)]|[①-⑳]|[一二三四五六七八九十]{1,3}、)\s?")
_CUT_WORD = re.compile(r"(?<=[^\W\d_])(?:[\xad‐]|(?<=[a-zà-ÿ])-)$")
_EAST_ASIAN = re.compile(r"[\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60]")
_NO_SPACE_SCRIPT = re.compile(r"[\u2e80-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uff60]")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a page; distances in points, from the left and from the top; all 0 where they aren't known."""

    text: str
    left: float = 0.0
    right: float = 0.0
    top: float = 0.0
    bottom: float = 0.0
    size: float = 0.0

    @property
    def spacing(self) -> float:
        """Points per character, East Asian ones counted twice."""
        width = len(self.text) + len(_EAST_ASIAN.findall(self.text))
        return (self.right - self.left) / max(width, 1)


@dataclass(frozen=True, slots=True)
class Large:
    """A short line in larger letters than the page's text: perhaps a heading."""

    text: str
    size: float


@dataclass(frozen=True, slots=True)
class Page:
    """What is kept of a page.

    Attributes:
        top, bottom: lines in the margins, outermost first in `top`, last in `bottom`.
        body: the text between them.
        sizes: how many characters each size of letters has, sizes rounded to half a point.
    """

    top: tuple[str, ...]
    body: str
    bottom: tuple[str, ...]
    large: tuple[Large, ...] = ()
    sizes: tuple[tuple[float, int], ...] = ()

    @property
    def has_text(self) -> bool:
        """Whether there is anything on it."""
        return bool(self.body or self.top or self.bottom)


def page_of(lines: Sequence[Line], height: float) -> Page:
    """The text of a page from its lines in reading order."""
    top, body, bottom = _margins(lines, height)
    sizes = Counter[float]()
    for line in lines:
        sizes[_rounded(line.size)] += len(line.text)
    usual = max(sizes, key=lambda size: (sizes[size], -size), default=0.0)
    large = tuple(
        Large(line.text, _rounded(line.size))
        for line in lines
        if usual and line.size > _LARGER * usual and len(line.text) <= _LONGEST_HEADING
    )
    return Page(
        tuple(line.text for line in top),
        _flow(body),
        tuple(line.text for line in bottom),
        large,
        tuple(sorted(sizes.items())),
    )


def _rounded(size: float) -> float:
    return round(2 * size) / 2


def _margins(lines: Sequence[Line], height: float) -> tuple[list[Line], list[Line], list[Line]]:
    """Lines at the top, between, and at the bottom; each part in reading order."""
    if not height or not any(line.bottom for line in lines):
        edge = 1 if len(lines) > 2 else 0
        return list(lines[:edge]), list(lines[edge : len(lines) - edge]), list(lines[len(lines) - edge :])
    above = sorted((line for line in lines if line.bottom <= _MARGIN * height), key=lambda line: line.top)[
        :_MOST_IN_MARGIN
    ]
    below = sorted((line for line in lines if line.top >= (1 - _MARGIN) * height), key=lambda line: -line.bottom)[
        :_MOST_IN_MARGIN
    ]
    outer = {id(line) for line in (*above, *below)}
    body = [line for line in lines if id(line) not in outer]
    return [each for each in lines if each in above], body, [each for each in lines if each in below]


def _flow(lines: Sequence[Line]) -> str:
    """Lines as paragraphs."""
    if not lines:
        return ""
    usual = median([line.spacing for line in lines])
    parts = [lines[0].text]
    for index in range(1, len(lines)):
        parts += _joint(lines, index, usual)
        parts.append(lines[index].text)
    return "".join(_without_cut_words(parts))


def _joint(lines: Sequence[Line], index: int, usual: float) -> Iterator[str]:
    """What stands between a line and the one before it: nothing, a space, a line feed or a blank line."""
    before, line = lines[index - 1], lines[index]
    if not line.size or not before.size:
        yield "\n"
        return
    height = max(before.bottom - before.top, 1.0)
    gap = line.top - before.bottom
    other_size = not 1 / _SAME_SIZE <= line.size / before.size <= _SAME_SIZE
    if other_size or gap > 0.9 * height or gap < -1.5 * height:
        yield "\n\n"
    elif _goes_on(lines, index, usual):
        yield "" if _NO_SPACE_SCRIPT.match(before.text[-1]) and _NO_SPACE_SCRIPT.match(line.text[0]) else " "
    else:
        yield "\n"


def _goes_on(lines: Sequence[Line], index: int, usual: float) -> bool:
    """Whether a line goes on with the sentence of the one before: that one reached the right edge and is no table's."""
    before, line = lines[index - 1], lines[index]
    spacing = max(before.spacing, line.spacing)
    if _ITEM.match(line.text) or spacing > min(_WIDE_SPACING * usual, _WIDEST_PROSE * line.size):
        return False
    around = lines[max(index - _NEAR, 0) : index + _NEAR]
    edge = max(each.right for each in around if abs(each.left - before.left) < 4 * before.size or each is before)
    would_fit = edge - before.right > (len(_first_word(line.text)) + 1) * line.spacing
    return not would_fit and line.left <= before.left + 4 * before.size


def _first_word(text: str) -> str:
    """What would have had to fit on the line before."""
    match = _NO_SPACE_SCRIPT.match(text)
    return text[:1] * 2 if match else text.partition(" ")[0]


def _without_cut_words(parts: Sequence[str]) -> Iterator[str]:
    """Text and joints in turn; a hyphen at a line's end goes, with the joint, if the word goes on in small letters."""
    for index in range(0, len(parts), 2):
        text = parts[index]
        joint, following = (parts[index + 1], parts[index + 2]) if index + 2 < len(parts) else ("", "")
        cut = _CUT_WORD.search(text) if joint in {" ", "\n"} and following[:1].islower() else None
        yield text[: cut.start()] if cut else text.replace("\xad", "")
        yield "" if cut else joint
