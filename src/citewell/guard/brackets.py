"""Which brackets of a text belong together, and which pair encloses a place; any script's, nested, in linear time.

It knows characters alone: whether a pair holds a citation or a remark, it doesn't ask.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

SQUARE_OPEN, SQUARE_CLOSE = "[【［〔〖", "]】］〕〗"
ROUND_OPEN, ROUND_CLOSE = "(（", ")）"
_BRACKET = re.compile(r"[\[\]()（）【】［］〔〕〖〗]|\n[ \t]*\n")
SEPARATED = re.compile(r"[^,;，；、|]+")
"""One of several things in brackets."""

WRAPS = dict(zip("[【［〔〖(（<{「『“‘«*_~`\"'", "]】］〕〗)）>}」』”’»*_~`\"'", strict=True))
"""What may stand around an id that is no part of it: brackets, quotation marks, emphasis."""

_SURE = frozenset('[【［〔〖(（<{「『"')


@dataclass(frozen=True, slots=True, order=True)
class Pair:
    """Two brackets: where the opening one stands, where the closing one ends, and whether they are square ones."""

    start: int
    end: int
    square: bool

    @property
    def inner(self) -> tuple[int, int]:
        """What stands between them."""
        return self.start + 1, self.end - 1


def pairs(text: str) -> list[Pair]:
    """All pairs, in the order in which they begin. No pair reaches across a blank line."""
    found: list[Pair] = []
    square: list[int] = []
    round_: list[int] = []
    for match in _BRACKET.finditer(text):
        char, at = match[0], match.start()
        if char in SQUARE_OPEN:
            square.append(at)
        elif char in ROUND_OPEN:
            round_.append(at)
        elif char in SQUARE_CLOSE:
            found += [Pair(square.pop(), at + 1, square=True)] if square else []
        elif char in ROUND_CLOSE:
            found += [Pair(round_.pop(), at + 1, square=False)] if round_ else []
        else:
            square.clear()
            round_.clear()
    return sorted(found)


def enclosing(found: Sequence[Pair], places: Iterable[int]) -> dict[int, Pair]:
    """For each place the innermost of these pairs around it; places around which there is none are left out."""
    innermost: dict[int, Pair] = {}
    open_pairs: list[Pair] = []
    ahead = iter([*found, None])
    following = next(ahead)
    for place in sorted(places):
        while following is not None and following.start < place:
            _leave(open_pairs, following.start)
            open_pairs.append(following)
            following = next(ahead)
        _leave(open_pairs, place)
        if open_pairs:
            innermost[place] = open_pairs[-1]
    return innermost


def _leave(open_pairs: list[Pair], place: int) -> None:
    while open_pairs and open_pairs[-1].end <= place:
        open_pairs.pop()


def is_wrapped(text: str, start: int, end: int) -> bool:
    """Whether exactly this stands between two brackets, or plain quotation marks, that belong together."""
    before = text[start - 1] if start > 0 else ""
    return before in _SURE and end < len(text) and WRAPS[before] == text[end]


def covers(spans: Sequence[tuple[int, int]], start: int, end: int) -> tuple[int, int] | None:
    """The one of these sorted spans, none of which overlap, that covers a place; None if none does."""
    at = bisect_right(spans, (start, 1 << 62)) - 1
    return spans[at] if at >= 0 and spans[at][1] >= end else None
