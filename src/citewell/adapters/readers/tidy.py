"""What a file says of itself -> the same without characters that no store and no screen wants: the end of reading.

References and escapes in a format come out of its parser after the bytes were cleaned. The text itself is its reader's
business, because places and headings count its characters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from citewell.adapters.readers.decode import clean
from citewell.model import Text


def tidied(text: Text) -> Text:
    """The same Text, its title, category, headings and metadata clean; titles are one line."""
    headings = [replace(each, title=_line(each.title)) for each in text.headings]
    return replace(
        text,
        title=_line(text.title) or None if text.title is not None else None,
        category=clean(text.category) if text.category is not None else None,
        metadata=_values(text.metadata),
        headings=tuple(each for each in headings if each.title),
    )


def _line(text: str) -> str:
    return " ".join(clean(text).split())


def _values(values: Mapping[str, object]) -> dict[str, object]:
    return {clean(name): _value(value) for name, value in values.items()}


def _value(value: object) -> object:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return _values(value)
    return [_value(each) for each in value] if isinstance(value, list) else value
