"""Pieces of a document -> Markdown blocks: paragraphs, headings, fences, lists, quotes. Knows no source format.

Text stays as it is but for marks at the start of a line that would make it something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_MARK = re.compile(r"(?:#{1,6}(?=\s|$)|>|[-+*](?=\s|$)|```|~~~|<|=+\s*$|-+\s*$|([-*_])(?:\s*\1){2,}\s*$|\|)")
_FIRST = frozenset("#>-+*`~<=_|0123456789")
_NUMBER = re.compile(r"^(\d{1,9})([.)])(?=\s|$)")
_TICKS = re.compile(r"`+")
_SPACE = re.compile(r"[ \t\n\r\f\v\xa0]+")
BREAK = "\x00"
"""Stands for a line break inside inline text; clean text holds no NUL."""


@dataclass(frozen=True, slots=True)
class Block:
    """One block of Markdown.

    Attributes:
        text: without a line feed at the end.
        tight: whether it follows the block before it without a blank line.
        heading: whether it is a heading.
        code: what a fence holds; None for other blocks.
    """

    text: str
    tight: bool = False
    heading: bool = False
    code: str | None = None


def joined(blocks: Iterable[Block]) -> str:
    """The blocks as one text."""
    parts: list[str] = []
    for block in blocks:
        if parts:
            parts.append("\n" if block.tight else "\n\n")
        parts.append(block.text)
    return "".join(parts)


def inline(text: str) -> str:
    """White space as HTML shows it: runs are one space; a `BREAK` is a line feed."""
    if BREAK not in text:
        return _SPACE.sub(" ", text).strip()
    lines = (_SPACE.sub(" ", line).strip() for line in text.split(BREAK))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")


def paragraph(text: str) -> Block:
    """Text that nothing in it turns into another kind of block; its lines begin with no white space."""
    return Block("\n".join(map(literal, text.split("\n"))) if "\n" in text else literal(text))


def literal(line: str) -> str:
    """A line whose first characters mean nothing to Markdown."""
    if line[:1] not in _FIRST:
        return line
    if _MARK.match(line):
        return f"\\{line}"
    return _NUMBER.sub(r"\1\\\2", line, count=1)


def heading(level: int, text: str) -> Block:
    """A heading on one line; `level` beyond 6 counts as 6."""
    return Block(f"{'#' * min(max(level, 1), 6)} {' '.join(text.split())}", heading=True)


def fence(code: str, language: str = "") -> Block:
    """Code, between marks longer than any inside it."""
    longest = max((len(run) for run in _TICKS.findall(code)), default=0)
    marks = "`" * max(3, longest + 1)
    return Block(f"{marks}{language}\n{code}\n{marks}", code=code)


def code_span(text: str) -> str:
    """Inline code, its white space collapsed."""
    text = _SPACE.sub(" ", text).strip()
    if not text:
        return ""
    if "`" not in text:
        return f"`{text}`"
    longest = max(len(run) for run in _TICKS.findall(text))
    marks = "`" * (longest + 1)
    return f"{marks} {text} {marks}"


def item(blocks: Sequence[Block], number: int | None, *, tight: bool) -> Block:
    """An item of a list, numbered or not, with whatever it holds."""
    mark = "- " if number is None else f"{number}. "
    indent = " " * len(mark)
    lines = joined(blocks).split("\n")
    rest = (f"{indent}{line}" if line else "" for line in lines[1:])
    return Block("\n".join([f"{mark}{lines[0]}", *rest]), tight=tight)


def quote(blocks: Sequence[Block]) -> Block:
    """Blocks as a quotation."""
    return Block("\n".join(f"> {line}" if line else ">" for line in joined(blocks).split("\n")))
