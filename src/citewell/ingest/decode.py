"""Bytes -> clean text (INGEST-2): byte order mark, UTF-8, then what the bytes read like.

Binary content and bytes that fit no encoding are refused with the reason; no character is ever replaced. Knows no file
and no format.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from citewell.errors import IngestError
from citewell.ingest.encodings import guess_encoding

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SIGNATURES = {
    b"%PDF-": "a PDF file",
    b"PK\x03\x04": "a ZIP archive or an Office document",
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF87a": "a GIF image",
    b"GIF89a": "a GIF image",
    b"\x1f\x8b": "a gzip archive",
    b"\x7fELF": "a program",
    b"\xd0\xcf\x11\xe0": "an old Office document",
    b"SQLite format 3\x00": "a SQLite database",
}
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_SURROGATES = re.compile(r"[\ud800-\udfff]")
_SAMPLE = 65_536
_WAY_OUT = "Save it as UTF-8."


@dataclass(frozen=True, slots=True)
class Decoded:
    """Clean text and the encoding that it had."""

    text: str
    encoding: str


def decode(data: bytes) -> Decoded:
    """The text of a file, cleaned.

    Raises:
        IngestError: it is binary, or in no encoding that can be told.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return Decoded(clean(_strictly(data[len(mark) :], encoding, data)), encoding)
    _refuse_known_binary(data)
    for encoding in ("utf-16-le", "utf-16-be"):
        if _looks_like_utf16(data, encoding) and (wide := _try(data, encoding)) and not _CONTROLS.search(wide):
            return Decoded(clean(wide), encoding)
    text = _try(data, "utf-8")
    if text is not None:
        _refuse_controls(text)
        return Decoded(clean(text), "utf-8")
    return _detected(data)


def clean(text: str) -> str:
    """Line feeds alone end lines; no NUL, no byte order mark at the start; a lone surrogate becomes U+FFFD."""
    text = text.removeprefix("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\x00" in text:
        text = text.replace("\x00", "")
    return _SURROGATES.sub("\ufffd", text)


def _strictly(data: bytes, encoding: str, whole: bytes) -> str:
    text = _try(data, encoding)
    if text is None:
        mark = whole[: len(whole) - len(data)].hex(" ")
        raise IngestError(f"it begins with the mark {mark} of {encoding} but is not valid {encoding}", way_out=_WAY_OUT)
    return text


def _try(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None


def _refuse_known_binary(data: bytes) -> None:
    for signature, what in _SIGNATURES.items():
        if data.startswith(signature):
            raise IngestError(f"it is {what}, not text", way_out="Convert it, or give it the suffix of its format.")


def _refuse_controls(text: str) -> None:
    """A stray NUL is cleaned away; where one character in twenty is a control character, it is no text."""
    sample = text[:_SAMPLE]
    controls = len(_CONTROLS.findall(sample))
    if controls * 20 > len(sample):
        raise IngestError(f"it is binary: {controls} of its first {len(sample)} characters are control characters")


def _detected(data: bytes) -> Decoded:
    if _CONTROLS.search(data[:_SAMPLE].decode("latin-1")):
        raise IngestError("it is binary: it is not valid UTF-8 and holds control characters", way_out=_WAY_OUT)
    encoding = guess_encoding(data)
    if encoding is None:
        raise IngestError("its encoding can't be told: it is neither UTF-8 nor GB18030", way_out=_WAY_OUT)
    return Decoded(clean(data.decode(encoding)), encoding.replace("_", "-"))


def _looks_like_utf16(data: bytes, encoding: str) -> bool:
    """Without a mark: most of the bytes that are high for ASCII are zero, and the others are not."""
    even, odd = data[0:_SAMPLE:2], data[1:_SAMPLE:2]
    low, high = (even, odd) if encoding == "utf-16-le" else (odd, even)
    return len(data) % 2 == 0 and 2 * high.count(0) > len(high) and low.count(0) == 0
