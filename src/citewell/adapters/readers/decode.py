"""Bytes -> clean text (INGEST-2): byte order mark, UTF-8, what the file declares, then what the bytes read like.

Binary content and bytes that fit no encoding are refused with the reason; no character is ever replaced. Knows no file
and no format.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from dataclasses import dataclass

from citewell.adapters.readers.encodings import guess_encoding, is_damaged_utf8, reads_as_wide
from citewell.checks import HALF
from citewell.errors import IngestError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_ESCAPED = ("iso2022_jp_2", "iso2022_kr")
_SHIFTS = (b"\x1b$", b"\x1b(")
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_SAMPLE = 65_536
_WAY_OUT = "Save it as UTF-8."


@dataclass(frozen=True, slots=True)
class Decoded:
    """Clean text and the encoding that it had."""

    text: str
    encoding: str

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the report says of the encoding: nothing about UTF-8."""
        return () if self.encoding == "utf-8" else (f"read as {self.encoding}",)


def decode(data: bytes, declared: str | None = None) -> Decoded:
    """The text of a file, cleaned; `declared` is the codec that the file names, if it does.

    Raises:
        IngestError: it is binary, or in no encoding that can be told.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return Decoded(clean(_strictly(data[len(mark) :], encoding, data)), encoding)
    early = _escaped(data, declared) or _wide(data, _has_zeros)
    return early or _utf8(data) or _wide(data, reads_as_wide) or _declared(data, declared) or _detected(data)


def clean(text: str) -> str:
    """Line feeds alone end lines; no NUL, no byte order mark at the start; a lone surrogate becomes U+FFFD."""
    text = text.removeprefix("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\x00" in text:
        text = text.replace("\x00", "")
    return text if text.isascii() else HALF.sub("\ufffd", text)


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


def _escaped(data: bytes, declared: str | None) -> Decoded | None:
    """Encodings of seven bits, which would pass for UTF-8: those of Japanese and Korean mail, told by their escapes."""
    if declared == "hz":
        return _decoded(data, "hz")
    if not any(shift in data[:_SAMPLE] for shift in _SHIFTS) or not data.isascii():
        return None
    names = [declared, *_ESCAPED] if declared and declared.startswith("iso2022") else list(_ESCAPED)
    return next((found for name in names if (found := _decoded(data, name))), None)


def _decoded(data: bytes, encoding: str) -> Decoded | None:
    text = _try(data, encoding)
    return None if text is None or "\x1b" in text else Decoded(clean(text), encoding.replace("_", "-"))


def _wide(data: bytes, looks_wide: Callable[[bytes, str], bool]) -> Decoded | None:
    """UTF-16 without a mark: Latin text by its zero bytes, East Asian text by its characters."""
    for encoding in ("utf-16-le", "utf-16-be"):
        if len(data) % 2 == 0 and looks_wide(data[:_SAMPLE], encoding):
            text = _try(data, encoding)
            if text and not _CONTROLS.search(text):
                return Decoded(clean(text), encoding)
    return None


def _has_zeros(data: bytes, encoding: str) -> bool:
    """Most of the bytes that are high for ASCII are zero, and the others are not."""
    even, odd = data[0::2], data[1::2]
    low, high = (even, odd) if encoding == "utf-16-le" else (odd, even)
    return 2 * high.count(0) > len(high) and low.count(0) == 0


def _utf8(data: bytes) -> Decoded | None:
    text = _try(data, "utf-8")
    return None if text is None or _controls(text) else Decoded(clean(text), "utf-8")


def _controls(text: str) -> int:
    """How many control characters; 0 for less than one in twenty: stray ones are no sign of a binary."""
    sample = text[:_SAMPLE]
    controls = len(_CONTROLS.findall(sample))
    return controls if controls * 20 > len(sample) else 0


def _declared(data: bytes, declared: str | None) -> Decoded | None:
    text = _try(data, declared) if declared else None
    if declared is None or text is None or _CONTROLS.search(text[:_SAMPLE]):
        return None
    return Decoded(clean(text), declared.replace("_", "-"))


def _detected(data: bytes) -> Decoded:
    _refuse_binary(data)
    encoding = None if is_damaged_utf8(data) else guess_encoding(data)
    if encoding is None:
        fault = _first_fault(data)
        raise IngestError(
            f"its encoding can't be told: it is not UTF-8 ({fault}), and reads like a language in no other",
            way_out=_WAY_OUT,
        )
    return Decoded(clean(data.decode(encoding)), encoding.replace("_", "-"))


def _first_fault(data: bytes) -> str:
    """Where UTF-8 ends: in a file that is nearly all of it, the place to mend."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"byte {data[error.start]:02x} on line {data.count(10, 0, error.start) + 1}"
    return "no fault"  # only what is no UTF-8 comes here


def _refuse_binary(data: bytes) -> None:
    text = _try(data, "utf-8")
    if text is not None:
        raise IngestError(f"it is binary: {_controls(text)} of its first {len(text[:_SAMPLE])} characters are controls")
    if _CONTROLS.search(data[:_SAMPLE].decode("latin-1")):
        raise IngestError("it is binary: it is not valid UTF-8 and holds control characters", way_out=_WAY_OUT)
