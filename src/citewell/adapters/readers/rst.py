"""reStructuredText -> Markdown, line by line, so that locators stay true (INGEST-1).

Directives of Sphinx and other tools are taken by their shape: code is fenced, admonitions and descriptions keep their
text, tables become tables. Nothing is included from other files, and nothing runs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from citewell.adapters.readers.decode import decode
from citewell.adapters.readers.lines import Line, numbered, written
from citewell.adapters.readers.rst_blocks import Converter
from citewell.adapters.readers.rst_definitions import definitions
from citewell.model import Text

_FIELD = re.compile(r":([A-Za-z][\w -]{0,40}):(?:\s+(.*))?$")
_FACTS = frozenset(
    {
        "author",
        "authors",
        "date",
        "version",
        "revision",
        "status",
        "organization",
        "copyright",
        "tags",
        "category",
        "title",
    }
)


def read_rst(data: bytes, name: str) -> Text:
    """A file of reStructuredText; fields before its first text become metadata.

    Raises:
        IngestError: it is no text, or its encoding can't be told.
    """
    decoded = decode(data)
    lines = numbered(decoded.text)
    facts, begin = _leading_fields(lines)
    substitutions, targets = definitions(lines)
    text, places = written(Converter(substitutions, targets).blocks(lines[begin:]))
    return Text(
        text,
        title=facts.pop("title", None),
        category=facts.pop("category", None),
        metadata=facts,
        remarks=decoded.remarks,
        places=places,
    )


def _leading_fields(lines: Sequence[Line]) -> tuple[dict[str, str], int]:
    """Fields such as `:author: ...` before anything else, and where the rest begins."""
    facts: dict[str, str] = {}
    for index, line in enumerate(lines):
        match = _FIELD.match(line.text)
        if match is None and not line.is_blank:
            return facts, index
        if match and match.group(2) and match.group(1).lower() in _FACTS:
            facts[match.group(1).lower()] = match.group(2).strip()
    return facts, len(lines)
