"""What a page says of itself, and which of its blocks are its text: title, metadata, address, main part."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from citewell.adapters.readers.blocks import Block
from citewell.adapters.readers.html_rules import Attributes

_META = {
    "description": "description",
    "author": "author",
    "keywords": "keywords",
    "date": "date",
    "dcterms.date": "date",
    "dc.date": "date",
    "last-modified": "date",
    "article:published_time": "date",
    "article:modified_time": "modified",
    "og:description": "description",
    "article:author": "author",
    "og:site_name": "site",
}
_LONGEST_VALUE = 2_000
_SEPARATOR = re.compile(r"\s+[|·–—•»-]\s+|\s*::\s*")
_FIRST_HEADINGS = 3
_MAIN_SHARE = 0.1
_ARTICLE_SHARE = 0.5


@dataclass(slots=True)
class Page:
    """Collected while the page is read.

    Attributes:
        regions: (tag, first block, block after the last one) of the main part and of articles.
        first_heading: of level 1, wherever it stands.
    """

    title: str = ""
    language: str = ""
    url: str = ""
    share_title: str = ""
    first_heading: str = ""
    metadata: dict[str, object] = field(default_factory=dict)
    regions: list[tuple[str, int, int]] = field(default_factory=list)

    def note(self, tag: str, attributes: Attributes) -> None:
        """Take what an element of the head says."""
        if tag == "html":
            self.language = (
                self.language or attributes.get("lang", "").strip() or attributes.get("xml:lang", "").strip()
            )
        elif tag == "meta":
            self._note_meta(attributes)
        elif tag == "link" and attributes.get("rel", "").lower() == "canonical":
            self.url = self.url or _web_address(attributes.get("href", ""))

    def _note_meta(self, attributes: Attributes) -> None:
        name = (attributes.get("name") or attributes.get("property") or attributes.get("itemprop") or "").lower()
        value = " ".join(attributes.get("content", "").split())[:_LONGEST_VALUE]
        if not value:
            return
        if name == "og:title":
            self.share_title = self.share_title or value
        elif name == "og:url":
            self.url = self.url or _web_address(value)
        elif name in _META:
            self.metadata.setdefault(_META[name], value)

    def best_title(self, text: Sequence[Block]) -> str:
        """The page's own title, without the site's name where a heading of its text shows which part that is."""
        parts = {part.strip() for part in _SEPARATOR.split(self.title)}
        headings = [block.text.lstrip("# ") for block in text if block.heading][:_FIRST_HEADINGS]
        named = next((heading for heading in headings if heading in parts), "")
        return named or self.title or self.share_title or self.first_heading

    def facts(self) -> dict[str, object]:
        """Metadata as JSON values, in the order of their names."""
        facts = dict(self.metadata)
        if self.language and re.fullmatch(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8})*", self.language):
            facts["language"] = self.language
        if isinstance(words := facts.get("keywords"), str):
            facts["keywords"] = [word.strip() for word in words.split(",") if word.strip()]
        return dict(sorted(facts.items()))

    def text_of(self, blocks: Sequence[Block]) -> list[Block]:
        """The blocks of the main part, or of the articles, if they hold most of the text; else all."""
        sizes = [len(block.text) for block in blocks]
        whole = sum(sizes)
        for tag, share in (("main", _MAIN_SHARE), ("article", _ARTICLE_SHARE)):
            ranges = _outermost([(begin, end) for name, begin, end in self.regions if name == tag])
            size = sum(sum(sizes[begin:end]) for begin, end in ranges)
            if size > 0 and size >= share * whole:
                return [block for begin, end in ranges for block in blocks[begin:end]]
        return list(blocks)


def _outermost(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges in order, without those inside others."""
    kept: list[tuple[int, int]] = []
    for begin, end in sorted(ranges, key=lambda each: (each[0], -each[1])):
        if not kept or begin >= kept[-1][1]:
            kept.append((begin, end))
    return kept


def _web_address(text: str) -> str:
    address = text.strip()
    return address if re.match(r"https?://\S+$", address) and len(address) <= _LONGEST_VALUE else ""
