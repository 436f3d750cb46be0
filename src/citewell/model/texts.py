"""What a reader makes of a file: a Text, which the splitter takes apart.

These values don't know which format the file had, nor how passages are found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from citewell.model.documents import Locator

TextFormat = Literal["markdown", "text", "lines"]
"""Markdown; prose without markup; lines that stand for themselves, such as code and data."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading that the text doesn't mark as one by itself: an entry of a PDF's outline, a class, a key.

    Attributes:
        start: the first character of a line of the text; the line is part of the section that it opens.
        level: 1..6.
        title: one line, not blank.
    """

    start: int
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class Text:
    """What a reader makes of a file.

    Attributes:
        text: clean: line feeds alone, no NUL, no lone surrogates. Spans count its characters. Blank = the file holds
            no text, and `remarks` say why.
        format: how its passages are found.
        start: where passages begin, behind front matter.
        markdown_from: where Markdown begins, if lines from `start` on are none; None = at `start`.
        title, category: what the file says of itself, None if it doesn't.
        metadata: JSON values.
        remarks: what a person should know, such as the encoding.
        places: from which character on which locator holds, ascending; empty = lines are counted in the text.
        headings: in reading order, no two at one place; Markdown has its own.
    """

    text: str
    format: TextFormat = "markdown"
    start: int = 0
    markdown_from: int | None = None
    title: str | None = None
    category: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    places: tuple[tuple[int, Locator], ...] = ()
    headings: tuple[Heading, ...] = ()
