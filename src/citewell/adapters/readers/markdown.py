"""Markdown files and texts -> Text, front matter taken out (INGEST-3). Knows no splitter."""

from __future__ import annotations

from citewell.adapters.readers.decode import clean, decode
from citewell.adapters.readers.frontmatter import front_matter
from citewell.model import Text


def read_markdown(data: bytes, name: str) -> Text:
    """A Markdown file with or without front matter.

    Raises:
        IngestError: it is no text, or its encoding can't be told.
    """
    decoded = decode(data)
    return _with_front_matter(decoded.text, decoded.remarks)


def markdown_text(text: str) -> Text:
    """Markdown as a caller hands it over; cleaned if need be."""
    return _with_front_matter(clean(text), ())


def _with_front_matter(text: str, remarks: tuple[str, ...]) -> Text:
    matter = front_matter(text)
    if matter.remark:
        return Text(text, "markdown", 0, matter.end, remarks=(*remarks, matter.remark))
    if "scope" in matter.fields:
        remarks = (*remarks, "scope in front matter is metadata only; labels come from the caller")
    return Text(
        text,
        "markdown",
        matter.end,
        title=matter.title,
        category=matter.category,
        metadata=matter.fields,
        remarks=remarks,
    )
