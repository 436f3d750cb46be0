"""Where a block may be cut inside when it doesn't fit: between lines, rows, sentences; at worst between characters.

Knows a block's kind and the text, not how chunks are packed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import regex

from citewell.ingest.split.outline import Block

_AFTER_BLANK_LINE = 0.65
_AT_LINE = 0.5
_AT_SENTENCE = 0.5
_AT_WRAPPED_LINE = 0.2

_LINE = re.compile(r"\n(?=[^\n])")
# An English sentence ends before white space and no small letter ("e.g. this" goes on), a Chinese one anywhere.
_SENTENCE = re.compile(r"""[.!?]["'”’)\]]*\s+(?![a-z\s])|[。！？；…]["”’）」』】]*\s*(?![。！？；…\s])""")
_SPACE = re.compile(r"\s(?=\S)")
_PUNCTUATION = re.compile(r"[,;:，、：；。)\]}）】>|/&]")
_GRAPHEME = regex.compile(r"\X")
_LONGEST_GRAPHEME = 64


def inner_borders(block: Block, text: str, start: int, end: int) -> Iterator[tuple[int, float]]:
    """(position, how good a place it is to cut, 0..1), ascending, within start..end and the block's inner limits."""
    low, high = max(block.inner[0], start), min(block.inner[1], end)
    if block.kind == "prose":
        return _prose_borders(text, low, high)
    return _line_borders(text, low, high)


def _line_borders(text: str, low: int, high: int) -> Iterator[tuple[int, float]]:
    for match in _LINE.finditer(text, low, high):
        place = match.end()
        if low < place < high:
            yield place, _AFTER_BLANK_LINE if text[place - 2 : place - 1] == "\n" else _AT_LINE


def _prose_borders(text: str, low: int, high: int) -> Iterator[tuple[int, float]]:
    places = {match.end(): _AT_WRAPPED_LINE for match in _LINE.finditer(text, low, high)}
    places |= {match.end(): _AT_SENTENCE for match in _SENTENCE.finditer(text, low, high)}
    return ((place, places[place]) for place in sorted(places) if low < place < high)


def any_border(text: str, low: int, high: int) -> int:
    """The best place in low < place <= high for a text that has no better border: line, word, punctuation, grapheme.

    Looks at the later half first, so that parts don't become tiny.
    """
    middle = (low + high) // 2
    for pattern in (_LINE, _SPACE, _PUNCTUATION):
        places = [match.end() for match in pattern.finditer(text, middle, high)]
        if places:
            return places[-1]
    return _grapheme_border(text, low, high)


def _grapheme_border(text: str, low: int, high: int) -> int:
    window = max(low, high - _LONGEST_GRAPHEME)
    ends = [window + match.end() for match in _GRAPHEME.finditer(text[window : high + _LONGEST_GRAPHEME])]
    inside = [end for end in ends if low < end <= high]
    return inside[-1] if inside else high
