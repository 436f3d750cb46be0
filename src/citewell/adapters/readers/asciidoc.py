"""AsciiDoc -> Markdown, line by line, so that locators stay true (INGEST-1).

Attributes defined in the file are filled in. Nothing is included from other files, and nothing runs.
"""

from __future__ import annotations

from collections.abc import Mapping

from citewell.adapters.readers.asciidoc_blocks import Converter
from citewell.adapters.readers.decode import decode
from citewell.adapters.readers.frontmatter import front_matter
from citewell.adapters.readers.lines import numbered, written
from citewell.model import Text

_FACTS: Mapping[str, str] = {
    "author": "author",
    "revdate": "date",
    "revnumber": "version",
    "description": "description",
    "lang": "language",
}
_LONGEST = 500


def read_asciidoc(data: bytes, name: str) -> Text:
    """A file of AsciiDoc, with or without front matter before it.

    Raises:
        IngestError: it is no text, or its encoding can't be told.
    """
    decoded = decode(data)
    matter = front_matter(decoded.text)
    start = 0 if matter.remark else matter.end
    converter = Converter()
    lines = numbered(decoded.text[start:], first=1 + decoded.text.count("\n", 0, start))
    text, places = written(converter.blocks(lines))
    known = {ours: converter.attributes.get(theirs, "")[:_LONGEST] for theirs, ours in _FACTS.items()}
    return Text(
        text,
        title=matter.title or converter.attributes.get("doctitle") or None,
        category=matter.category,
        metadata={**{name: value for name, value in known.items() if value}, **matter.fields},
        remarks=(*decoded.remarks, matter.remark) if matter.remark else decoded.remarks,
        places=places,
    )
