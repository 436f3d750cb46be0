"""Whether a text says anything at all; knows no format."""

from __future__ import annotations

import unicodedata


def has_text(text: str, start: int = 0) -> bool:
    """Whether anything visible stands behind `start`: not only white space, control and format characters."""
    return any(unicodedata.category(character)[0] not in "ZC" for character in text[start:])
