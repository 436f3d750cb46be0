"""HTML by trafilatura, an extra for crawled pages: `FileReader([TrafilaturaReader()])`.

It guesses the main text by statistics, where Citewell's own reader goes by the page's markup; code loses its language.
A page in which it finds nothing is read by Citewell's own reader.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import PurePosixPath

import trafilatura

from citewell.adapters.readers import declared
from citewell.adapters.readers.decode import clean, decode
from citewell.adapters.readers.html import read_html
from citewell.model import Locator, Text

_SUFFIXES = frozenset({".html", ".htm", ".xhtml"})
_FACTS: Mapping[str, str] = {"author": "author", "date": "date", "description": "description", "language": "language"}


class TrafilaturaReader:
    """Satisfies `citewell.ports.Reader`."""

    @property
    def version(self) -> str:
        """Of the library."""
        return f"trafilatura-{version('trafilatura')}"

    def takes(self, name: str) -> bool:
        """Whether the name is a page's."""
        return PurePosixPath(name.lower()).suffix in _SUFFIXES

    def read(self, data: bytes, name: str) -> Text:
        """The main text of a page.

        Raises:
            IngestError: its encoding can't be told.
        """
        decoded = decode(data, declared.of_markup(data))
        found = trafilatura.extract(
            decoded.text, output_format="markdown", include_tables=True, include_links=True, include_comments=False
        )
        if not found or not found.strip():
            return read_html(data, name)
        facts = _facts(decoded.text)
        url = facts.get("url")
        return Text(
            clean(found),
            title=facts.get("title"),
            metadata={ours: facts[theirs] for theirs, ours in _FACTS.items() if theirs in facts},
            remarks=decoded.remarks,
            places=((0, Locator(url=url)),),
        )


def _facts(markup: str) -> dict[str, str]:
    values: Mapping[str, object] = trafilatura.extract_metadata(markup).as_dict()
    return {name: " ".join(value.split()) for name, value in values.items() if isinstance(value, str) and value.strip()}
