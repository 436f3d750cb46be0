"""Headers of an e-mail -> readable text: encoded words in any charset, bytes that were never encoded, dates as ISO."""

from __future__ import annotations

import re
from collections.abc import Iterator
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.utils import parsedate_to_datetime

from citewell.adapters.readers import declared
from citewell.adapters.readers.decode import clean, decode
from citewell.errors import IngestError

_FOLD = re.compile(r"[\r\n]+[ \t]*")
_LONGEST = 2_000


def header(message: Message, name: str) -> str:
    """The value of a header on one line; empty if there is none."""
    # The parser's own look-up replaces bytes that were never encoded; the raw items keep them.
    value = next((value for key, value in message.raw_items() if key.lower() == name.lower()), None)
    return "" if value is None else readable(str(value))


def readable(raw: str) -> str:
    """A raw header value as a person reads it, at most 2,000 characters."""
    raw = _FOLD.sub(" ", raw)[: 4 * _LONGEST]
    if "=?" not in raw:
        return _tidy(_unescaped(raw))
    try:
        return _tidy("".join(_parts(raw))) or _tidy(raw)
    except (HeaderParseError, ValueError):
        return _tidy(_unescaped(raw))


def _parts(raw: str) -> Iterator[str]:
    for part, charset in decode_header(raw):
        if isinstance(part, str):
            yield _unescaped(part)
        else:
            yield decoded_as(part, charset)


def decoded_as(data: bytes, charset: str | None) -> str:
    """Bytes in the charset that was named for them, or in the one that they read like; at worst as Latin-1."""
    codec = declared.codec(charset) if charset else None
    try:
        return decode(data, codec).text
    except IngestError:
        return clean(data.decode(codec or "cp1252", "replace"))


def _unescaped(text: str) -> str:
    """Header bytes beyond ASCII, which the parser keeps as lone surrogates, as text."""
    if text.isascii():
        return text
    return decoded_as(text.encode("utf-8", "surrogateescape"), None)


def _tidy(text: str) -> str:
    return " ".join(clean(text).split())[:_LONGEST]


def date_of(message: Message) -> str:
    """When it was sent, as ISO; empty if the header is missing or no date."""
    value = message.get("Date")
    try:
        return parsedate_to_datetime(str(value)).isoformat() if value else ""
    except (TypeError, ValueError, IndexError, OverflowError):
        return ""
