"""What is said of each document of a block, as values or as the bytes that a store keeps, taken apart when asked for.

It knows no block.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields

from citewell.model import DocumentInfo

_NAMES = [each.name for each in fields(DocumentInfo)]


class Infos:
    """One `DocumentInfo` per place."""

    def __init__(self, rows: Sequence[DocumentInfo | bytes]) -> None:
        self.rows = list(rows)

    def __getitem__(self, place: int) -> DocumentInfo:
        found = self.rows[place]
        if isinstance(found, bytes):
            found = self.rows[place] = _read(found)
        return found

    def encode(self) -> bytes:
        """A line of JSON for each.

        Raises:
            TypeError, ValueError: there is metadata that is no JSON.
        """
        return b"\n".join(row if isinstance(row, bytes) else _written(row) for row in self.rows)


def _written(info: DocumentInfo) -> bytes:
    return json.dumps([getattr(info, name) for name in _NAMES], default=dict).encode()


def _read(line: bytes) -> DocumentInfo:
    held = dict(zip(_NAMES, json.loads(line), strict=True))
    labels = held["scope"]
    held |= {"scope": None if labels is None else tuple(labels), "headings": tuple(held["headings"])}
    return DocumentInfo(**held)
