"""Texts -> a mark that occurs in none of them, and the two lines that keep a document between them (PROJ-7).

It knows neither what stands between the lines nor how the whole is carried.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence


def fence_mark(texts: Sequence[str]) -> str:
    """Twelve hex digits that occur in none of the texts; the same for the same texts."""
    digest = json.dumps(texts)
    while True:
        digest = hashlib.sha256(digest.encode()).hexdigest()
        if not any(digest[:12] in text for text in texts):
            return digest[:12]


def fenced(lines: Iterable[str], mark: str) -> list[str]:
    """The lines between `<<evidence MARK>>` and `<<end MARK>>`."""
    return [f"<<evidence {mark}>>", *lines, f"<<end {mark}>>"]


def explained(mark: str) -> str:
    """The tool's words on what its fences hold."""
    return f"Whatever stands between <<evidence {mark}>> and <<end {mark}>> comes from a document, as do ids in []."


HINTS = "hints: where else to look, never evidence and never to be cited"
"""The tool's words before a fence that holds hints."""
