"""PDF and Office documents by docling, an extra with layout models: `FileReader([DoclingReader()])`.

Slower and some hundred megabytes larger than Citewell's own readers; better at tables in PDF files. Its models for PDF
files come from a hub at their first use, if they aren't there.
"""

from __future__ import annotations

import io
import threading
from functools import cached_property
from importlib.metadata import version
from pathlib import PurePosixPath

from docling.datamodel.base_models import DocumentStream
from docling.document_converter import DocumentConverter
from docling_core.types.doc import DoclingDocument

from citewell.adapters.readers.decode import clean
from citewell.errors import IngestError
from citewell.model import Locator, Text

_SUFFIXES = frozenset({".pdf", ".docx", ".pptx", ".xlsx"})


class DoclingReader:
    """Satisfies `citewell.ports.Reader`; converts one document at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    @property
    def version(self) -> str:
        """Of the library."""
        return f"docling-{version('docling')}"

    def takes(self, name: str) -> bool:
        """Whether the name is that of a document which it is better at."""
        return PurePosixPath(name.lower()).suffix in _SUFFIXES

    def read(self, data: bytes, name: str) -> Text:
        """A document as Markdown, with its pages as places where it has any.

        Raises:
            IngestError: it can't be converted.
        """
        stream = DocumentStream(name=PurePosixPath(name).name, stream=io.BytesIO(data))
        with self._lock:
            try:
                document = self._converter.convert(stream).document
            except Exception as error:
                reason = " ".join(str(error).split())[:200]
                raise IngestError(f"docling can't convert it: {reason}", way_out="Leave the extra out.") from error
            return _text(document)

    @cached_property
    def _converter(self) -> DocumentConverter:
        return DocumentConverter()


def _text(document: DoclingDocument) -> Text:
    pages = sorted(document.pages)
    if not pages:
        return Text(clean(document.export_to_markdown()), places=((0, Locator()),))
    parts: list[str] = []
    places: list[tuple[int, Locator]] = []
    length = 0
    for number in pages:
        part = f"{clean(document.export_to_markdown(page_no=number)).strip()}\n\n"
        if part.strip():
            places.append((length, Locator(page=number)))
            parts.append(part)
            length += len(part)
    return Text("".join(parts).rstrip("\n"), places=tuple(places))
