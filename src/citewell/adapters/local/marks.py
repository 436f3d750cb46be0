"""What filters compare with: each category, label and metadata value of a document becomes a short digest, a mark.

A value is never pasted into a statement and never compared as text, so that no character in it can mean anything
(SAFE-2). Equal values have equal marks, different ones different marks: numbers by their value, True and 1 apart.
This module knows no store.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator

from citewell.model import DocumentRecord


def category_mark(category: str) -> bytes:
    """The mark of a document's category."""
    return _mark("category", "", category)


def label_mark(label: str) -> bytes:
    """The mark of one label of a document's scope."""
    return _mark("label", "", label)


def field_mark(name: str, value: object) -> bytes | None:
    """The mark of a metadata field with this value; None for what equals nothing (null, NaN, a mapping, a list)."""
    if isinstance(value, bool):
        return _mark("bool", name, str(value))
    if isinstance(value, str):
        return _mark("text", name, value)
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return _mark("number", name, str(int(value)))
    if isinstance(value, float) and not math.isnan(value):
        return _mark("number", name, repr(value))
    return None


def marks_of(document: DocumentRecord) -> list[bytes]:
    """Every mark that a document bears, sorted, each once."""
    marks = {mark for name, value in document.metadata.items() for mark in _field_marks(name, value)}
    marks.update(label_mark(label) for label in document.scope or ())
    if document.category is not None:
        marks.add(category_mark(document.category))
    return sorted(marks)


def _field_marks(name: str, value: object) -> Iterator[bytes]:
    for item in value if isinstance(value, list | tuple) else (value,):
        mark = field_mark(name, item)
        if mark is not None:
            yield mark


def _mark(kind: str, name: str, value: str) -> bytes:
    parts = (part.encode("utf-8", "surrogatepass") for part in (kind, name, value))
    # Each part after its length, so that no two triples run together into the same bytes.
    joined = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    return hashlib.blake2b(joined, digest_size=16).digest()
