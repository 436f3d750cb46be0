"""What a file is: its content decides, its name helps where content can't tell (INGEST-1). Knows no reader.

PDF, Office documents, other binaries     by their first bytes
HTML under a text's name                  by its first tag
everything else                           by the suffix
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from citewell.adapters.readers import archive, languages

_SUFFIXES: Mapping[str, tuple[str, ...]] = {
    "markdown": ("md", "markdown", "mdown", "mkd", "mdx", "qmd", "rmd"),
    "plain": ("txt", "text", "log"),
    "html": ("html", "htm", "xhtml"),
    "pdf": ("pdf",),
    "docx": ("docx", "docm", "dotx"),
    "pptx": ("pptx", "pptm", "ppsx", "potx"),
    "xlsx": ("xlsx", "xlsm", "xltx"),
    "delimited": ("csv", "tsv", "tab"),
    "rst": ("rst", "rest"),
    "asciidoc": ("adoc", "asciidoc", "asc"),
    "json": ("json", "jsonc", "geojson", "webmanifest"),
    "jsonl": ("jsonl", "ndjson"),
    "yaml": ("yaml", "yml"),
    "notebook": ("ipynb",),
    "mail": ("eml",),
}
_BY_SUFFIX = {f".{suffix}": kind for kind, suffixes in _SUFFIXES.items() for suffix in suffixes}
_NAMES: Mapping[str, str] = {
    "markdown": "Markdown",
    "plain": "plain text",
    "html": "an HTML page",
    "pdf": "a PDF file",
    "docx": "a Word document",
    "pptx": "a PowerPoint presentation",
    "xlsx": "an Excel workbook",
    "delimited": "a table of values",
    "rst": "reStructuredText",
    "asciidoc": "AsciiDoc",
    "json": "JSON",
    "jsonl": "JSON Lines",
    "yaml": "YAML",
    "notebook": "a notebook",
    "mail": "an e-mail",
    "code": "source code",
}
_BINARY = frozenset({"pdf", "docx", "pptx", "xlsx"})
_CONVERT = "Convert it to a format that can be read, or leave it out."
_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"II*\x00", "a TIFF image"),
    (b"MM\x00*", "a TIFF image"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ\x00", "an xz archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90\x00", "a program"),
    (b"SQLite format 3\x00", "a SQLite database"),
    (b"{\\rtf", "a Rich Text document"),
    (b"%!PS-Adobe", "a PostScript file"),
    (b"ID3", "an audio file"),
    (b"OggS", "an audio file"),
    (b"wOFF", "a font"),
)
_WORDS = frozenset({b"GIF87a", b"GIF89a", b"BZh", b"ID3", b"OggS", b"wOFF"})
_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_SIGNED = 64
"""Within so many bytes a binary holds a control character; a text may begin with one of these words as well."""

_OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_HEAD = 1_024
_HTML = re.compile(rb"<(?:!doctype\s+html|html)\b", re.IGNORECASE)
_BEFORE_HTML = ((b"<?xml", b">"), (b"<!--", b"-->"))


@dataclass(frozen=True, slots=True)
class Kind:
    """What a file is.

    Attributes:
        reader: the key of the reader to use; empty if there is none.
        what: in words, for messages.
        locked: whether it is protected by a password.
        remark: what the report says if the content isn't what the name promises.
    """

    reader: str
    what: str
    locked: bool = False
    remark: str = ""


def is_known(name: str) -> bool:
    """Whether a file of this name is worth opening."""
    return _by_name(name) is not None


def kind_of(data: bytes, name: str) -> Kind:
    """What a file is, by its content and its name."""
    named = _by_name(name) or "plain"
    found = _by_content(data, named)
    if found.reader == named or not found.reader or found.locked:
        return found
    promised = _NAMES[named]
    what = _NAMES[found.reader]
    return Kind(found.reader, what, remark=f"it is {what}, not {promised}, and read as such")


def _by_name(name: str) -> str | None:
    path = PurePosixPath(name.replace("\\", "/"))
    kind = _BY_SUFFIX.get(path.suffix.lower())
    if kind:
        return kind
    language = languages.language_of(path.name)
    return {None: None, "text": "plain"}.get(language, "code")


def _by_content(data: bytes, named: str) -> Kind:
    if _is_pdf(data, named):
        return _read_as("pdf")
    if data.startswith(archive.SIGNATURES):
        return _of_archive(archive.office_kind(data))
    if data.startswith(_OLD_OFFICE):
        return _of_old_office(data)
    for signature, what in _SIGNATURES:
        if data.startswith(signature) and (signature not in _WORDS or _CONTROLS.search(data[:_SIGNED])):
            return Kind("", what)
    return _read_as(_of_text(data, named))


def _read_as(reader: str) -> Kind:
    return Kind(reader, _NAMES[reader])


def _is_pdf(data: bytes, named: str) -> bool:
    """Some writers put bytes before the mark; only a file that is called one gets the benefit of the doubt."""
    return data.startswith(b"%PDF-") or (named == "pdf" and b"%PDF-" in data[:_HEAD])


def _of_archive(office: str) -> Kind:
    return _read_as(office) if office in _BINARY else Kind("", office)


def _of_old_office(data: bytes) -> Kind:
    if _ENCRYPTED in data:
        return Kind("", "an Office document", locked=True)
    return Kind("", "an Office document of the time before 2007")


def _of_text(data: bytes, named: str) -> str:
    if named not in {"html", "mail", "code"} and _begins_as_html(data[:_HEAD]):
        return "html"
    return "plain" if named in _BINARY else named


def _begins_as_html(head: bytes) -> bool:
    """Whether the first tag is a page's; comments and an XML declaration may stand before it."""
    rest = head.removeprefix(codecs.BOM_UTF8).lstrip()
    while closing := next((closing for opening, closing in _BEFORE_HTML if rest.startswith(opening)), b""):
        rest = rest.partition(closing)[2].lstrip()
    return bool(_HTML.match(rest))
