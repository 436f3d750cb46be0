"""The lines and tokens of a text, for markdown-it's block rules, made in less time than by the parser itself.

It looks for line breaks and indents as the parser does, but not character by character, and leaves out of a token what
is only of use to who writes HTML. It decides nothing about blocks.
"""

from __future__ import annotations

from itertools import accumulate, repeat
from operator import add, sub
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token

_TAB = 4
_SPACES = " \t"


class BlockState(StateBlock):
    """What the rules read and move on; the same marks and tokens as in the parser's own."""

    def __init__(self, text: str, parser: MarkdownIt) -> None:
        super().__init__("", parser, {}, [])
        self.src = text
        lines = text.split("\n")
        if not lines[-1].strip(_SPACES):
            del lines[-1]  # behind the last line break is no line, and neither are spaces there
        lengths = list(map(len, lines))
        starts = list(accumulate((length + 1 for length in lengths), initial=0))
        visible = map(len, map(str.lstrip, lines, repeat(_SPACES)))
        self.tShift = [*map(sub, lengths, visible), 0]
        starts[-1] = len(text)  # of no line; the rules look one line further without asking
        self.bMarks, self.eMarks = starts, [*map(add, starts, lengths), len(text)]
        self.sCount = list(self.tShift)
        if "\t" in text:
            self.sCount[:-1] = map(_width, lines, self.tShift)
        self.bsCount = [0] * len(starts)
        self.lineMax = len(lines)

    def push(self, ttype: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
        """A new token at the end."""
        token = _Token(ttype, tag, nesting)
        token.level = min(self.level, self.level + nesting)  # both ends of a container bear its own
        self.level += nesting
        self.tokens.append(token)
        return token


def _width(line: str, shift: int) -> int:
    """How far the first `shift` characters of a line indent it."""
    return len(line[:shift].expandtabs(_TAB)) if shift else 0


class _Token(Token):
    """One without attributes and what plugins keep."""

    __slots__ = ()

    def __init__(self, type: str, tag: str, nesting: Literal[-1, 0, 1]) -> None:  # noqa: A002 - the parser's word
        self.type, self.tag, self.nesting = type, tag, nesting
        self.map = None
        self.content = self.markup = self.info = ""
        self.hidden = False
