"""Bytes of one file -> Text: the readers by suffix, Markdown and plain text so far (INGEST-1..3).

A reader takes the bytes and the name of a file and returns a Text, or raises IngestError with the reason; further
formats are further lines in the table. Readers know no folder, no store and no splitter.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from citewell.ingest.decode import clean, decode
from citewell.ingest.frontmatter import front_matter
from citewell.model import Locator

VERSION = "1"
"""Changes when the same bytes would be read otherwise; part of every document's fingerprint."""

Format = Literal["markdown", "text"]


@dataclass(frozen=True, slots=True)
class Text:
    """What a reader makes of a file.

    Attributes:
        text: clean: line feeds alone, no NUL, no lone surrogates. Spans count its characters.
        format: how its passages are found.
        start: where passages begin, behind front matter.
        markdown_from: where Markdown begins, if lines from `start` on are none; None = at `start`.
        title, category: what the file says of itself, None if it doesn't.
        metadata: JSON values.
        remarks: what a person should know, such as the encoding.
        places: from which character on which locator holds, ascending; empty = lines are counted in the text.
    """

    text: str
    format: Format = "markdown"
    start: int = 0
    markdown_from: int | None = None
    title: str | None = None
    category: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    places: tuple[tuple[int, Locator], ...] = ()


Reader = Callable[[bytes, str], Text]


def read_markdown(data: bytes, name: str) -> Text:
    """A Markdown file with or without front matter.

    Raises:
        IngestError: it is no text, or its encoding can't be told.
    """
    decoded = decode(data)
    return markdown_text(decoded.text, remarks=_encoding_remark(decoded.encoding))


def read_plain(data: bytes, name: str) -> Text:
    """A plain text file; nothing in it is markup.

    Raises:
        IngestError: it is no text, or its encoding can't be told.
    """
    decoded = decode(data)
    return Text(decoded.text, "text", remarks=_encoding_remark(decoded.encoding))


def _encoding_remark(encoding: str) -> tuple[str, ...]:
    return () if encoding == "utf-8" else (f"read as {encoding}",)


def markdown_text(text: str, *, remarks: tuple[str, ...] = ()) -> Text:
    """Markdown as a caller hands it over; cleaned if need be."""
    text = clean(text)
    matter = front_matter(text)
    if matter.remark:
        return Text(text, "markdown", 0, matter.end, remarks=(*remarks, matter.remark))
    ignored = (
        ("scope in front matter is metadata only; labels come from the caller",) if "scope" in matter.fields else ()
    )
    return Text(
        text,
        "markdown",
        matter.end,
        title=matter.title,
        category=matter.category,
        metadata=matter.fields,
        remarks=remarks + ignored,
    )


def plain_text(text: str) -> Text:
    """Plain text as a caller hands it over; cleaned if need be."""
    return Text(clean(text), "text")


READERS: Mapping[str, Reader] = {
    ".md": read_markdown,
    ".markdown": read_markdown,
    ".mdown": read_markdown,
    ".mkd": read_markdown,
    ".txt": read_plain,
    ".text": read_plain,
    ".log": read_plain,
}
"""By the suffix of a file's name in small letters."""


def has_text(text: str, start: int = 0) -> bool:
    """Whether anything visible stands behind `start`: not only white space, control and format characters."""
    return any(unicodedata.category(character)[0] not in "ZC" for character in text[start:])
