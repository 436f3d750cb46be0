"""PDF and Office documents by docling, an extra with layout models: `FileReader([DoclingReader()])`.

Slower and some hundred megabytes larger than Citewell's own readers; better at tables in PDF files. Its models for PDF
files come from a hub at their first use, if they aren't there.
"""

from __future__ import annotations

import io
import threading
from dataclasses import replace
from functools import cached_property
from importlib.metadata import version
from pathlib import PurePosixPath

from docling.datamodel.base_models import ConversionStatus, DocumentStream
from docling.datamodel.document import ConversionResult
from docling.document_converter import DocumentConverter
from docling_core.types.doc import DoclingDocument

from citewell.adapters.readers import archive
from citewell.adapters.readers.decode import clean
from citewell.adapters.readers.pdf_scan import refuse_bombs
from citewell.adapters.readers.registry import FileReader
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
        """A document as Markdown, with its pages as places where it has any; pictures leave nothing.

        What docling can't convert, such as a file under a password, is read by Citewell's own reader, and said so.

        Raises:
            IngestError: it is unsafe to unpack, or neither can read it.
        """
        _refuse_bombs(data, name)
        stream = DocumentStream(name=PurePosixPath(name).name, stream=io.BytesIO(data))
        with self._lock:
            try:
                result = self._converter.convert(stream)
                return _text(result.document, _remarks(result))
            except Exception as error:  # noqa: BLE001 - whatever its models throw, there is another reader
                reason = " ".join(str(error).split())[:200] or type(error).__name__
        text = FileReader().read(data, name)
        return replace(text, remarks=(f"read without docling, which can't convert it: {reason}", *text.remarks))

    @cached_property
    def _converter(self) -> DocumentConverter:
        return DocumentConverter()


def _refuse_bombs(data: bytes, name: str) -> None:
    """As Citewell's own readers do before they unpack anything."""
    if name.lower().endswith(".pdf"):
        refuse_bombs(data)
    else:
        archive.open_package(data).close()


def _remarks(result: ConversionResult) -> tuple[str, ...]:
    if result.status == ConversionStatus.SUCCESS:
        return ()
    reasons = "; ".join(dict.fromkeys(" ".join(error.error_message.split()) for error in result.errors))
    return (f"docling read it in part only: {reasons[:200] or 'no reason given'}",)


def _text(document: DoclingDocument, remarks: tuple[str, ...]) -> Text:
    pages = sorted(document.pages)
    if not pages:
        whole = clean(document.export_to_markdown(image_placeholder="")).strip()
        return Text(whole, remarks=remarks, places=((0, Locator()),))
    parts: list[str] = []
    places: list[tuple[int, Locator]] = []
    length = 0
    for number in pages:
        part = f"{clean(document.export_to_markdown(page_no=number, image_placeholder='')).strip()}\n\n"
        if part.strip():
            places.append((length, Locator(page=number)))
            parts.append(part)
            length += len(part)
    return Text("".join(parts).rstrip("\n"), remarks=remarks, places=tuple(places))
