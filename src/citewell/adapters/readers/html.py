"""HTML pages -> Markdown: the main part without navigation, code with its language, tables, metadata (INGEST-1).

The parser reads broken pages as browsers do, keeps no tree and loads nothing that a page refers to; the time is linear
and elements nest 1,000 deep at most.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lxml import etree

from citewell.adapters.readers import declared
from citewell.adapters.readers.blocks import Block, joined
from citewell.adapters.readers.decode import decode
from citewell.adapters.readers.frontmatter import front_matter
from citewell.adapters.readers.html_writer import Writer
from citewell.model import Locator, Text

_PIECE = 32_768


def read_html(data: bytes, name: str) -> Text:
    """A page, with or without front matter before it.

    Raises:
        IngestError: its encoding can't be told, or it nests too deep.
    """
    decoded = decode(data, declared.of_markup(data))
    matter = front_matter(decoded.text)
    body = decoded.text if matter.remark else decoded.text[matter.end :]
    page = convert(body)
    return Text(
        joined(page.blocks),
        title=matter.title or page.title or None,
        category=matter.category,
        metadata={**page.metadata, **matter.fields},
        remarks=(*decoded.remarks, matter.remark) if matter.remark else decoded.remarks,
        places=((0, Locator(url=page.url or None)),),
    )


@dataclass(frozen=True, slots=True)
class Converted:
    """A page: its text as blocks of Markdown, and what it says of itself."""

    blocks: Sequence[Block] = ()
    title: str = ""
    url: str = ""
    metadata: Mapping[str, object] = field(default_factory=dict)


def convert(markup: str) -> Converted:
    """HTML as clean text -> Markdown.

    Raises:
        IngestError: its elements nest too deep.
    """
    if not markup.strip():
        return Converted()
    writer = Writer()
    parser = etree.HTMLParser(target=writer, encoding="utf-8", huge_tree=True, no_network=True)
    data = markup.encode("utf-8")
    for start in range(0, len(data), _PIECE):  # a target's error ends the parsing only between two pieces
        parser.feed(data[start : start + _PIECE])
    parser.close()
    page = writer.page
    text = page.text_of(writer.canvas.finish())
    return Converted(text, page.best_title(text), page.url, page.facts())
