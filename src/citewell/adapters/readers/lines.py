"""Lines with the numbers that they have in their file -> one text that remembers them; for markup read line by line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from citewell.model import Locator

_EVERY_LINE = 50_000
_THEN_EVERY = 20
_ITEM = re.compile(r" *(?:-|\d{1,9}\.) ")


@dataclass(frozen=True, slots=True)
class Line:
    """A line and its number, counted from 1."""

    number: int
    text: str

    @property
    def indent(self) -> int:
        """How many spaces it begins with; tabs were expanded before."""
        return len(self.text) - len(self.text.lstrip(" "))

    @property
    def is_blank(self) -> bool:
        """Whether nothing is on it."""
        return not self.text.strip()


def numbered(text: str, *, first: int = 1) -> list[Line]:
    """The lines of a text, tabs expanded to eight columns, white space at their ends gone."""
    return [Line(number, line.expandtabs(8).rstrip()) for number, line in enumerate(text.split("\n"), start=first)]


def dedented(lines: Sequence[Line]) -> list[Line]:
    """The same lines without the indentation that they share, and without blank ones around them."""
    kept = list(lines)
    while kept and kept[0].is_blank:
        kept.pop(0)
    while kept and kept[-1].is_blank:
        kept.pop()
    least = min((line.indent for line in kept if not line.is_blank), default=0)
    return [Line(line.number, line.text[least:]) for line in kept]


def written(blocks: Iterable[Sequence[Line]]) -> tuple[str, tuple[tuple[int, Locator], ...]]:
    """Blocks of lines -> the text, and the place of every line of it, of every 20th beyond 50,000.

    A blank line stands between blocks, but not between items of a list that have none in the file.
    """
    parts: list[str] = []
    places: list[tuple[int, Locator]] = []
    length = 0
    last = 0
    after_item = False
    for block in blocks:
        if not block:
            continue
        is_item = bool(_ITEM.match(block[0].text))
        if parts and not (is_item and after_item and block[0].number == last + 1):
            parts.append("\n")
            length += 1
        for line in block:
            if len(places) < _EVERY_LINE or line.number % _THEN_EVERY == 0:
                places.append((length, Locator(line=line.number)))
            parts.append(f"{line.text}\n")
            length += len(line.text) + 1
        last, after_item = block[-1].number, is_item
    return "".join(parts).rstrip("\n"), tuple(places)


def indented(blocks: Iterable[Sequence[Line]], first: str, rest: str) -> Iterator[list[Line]]:
    """The blocks behind a mark: `first` before the first line, `rest` before the others."""
    lead = first
    for block in blocks:
        yield [
            Line(line.number, f"{lead if index == 0 else rest}{line.text}" if line.text else "")
            for index, line in enumerate(block)
        ]
        lead = rest
