"""Plain text -> Text; nothing in it is markup."""

from __future__ import annotations

from citewell.adapters.readers.decode import clean, decode
from citewell.model import Text


def read_plain(data: bytes, name: str) -> Text:
    """A plain text file.

    Raises:
        IngestError: it is no text, or its encoding can't be told.
    """
    decoded = decode(data)
    return Text(decoded.text, "text", remarks=decoded.remarks)


def plain_text(text: str) -> Text:
    """Plain text as a caller hands it over; cleaned if need be."""
    return Text(clean(text), "text")
