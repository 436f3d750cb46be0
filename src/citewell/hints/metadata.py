"""A document's metadata as bytes, taken apart when `where` asks for it; it knows no filter."""

from __future__ import annotations

import json
from collections.abc import Mapping

Metadata = bytes | Mapping[str, object]
"""As JSON; as it was given where it is none."""


def written(metadata: Mapping[str, object]) -> Metadata:
    """Alike if it says the same in the same order."""
    try:
        return json.dumps(metadata, default=dict).encode()
    except (TypeError, ValueError):
        return metadata


def fields(metadata: Metadata) -> Mapping[str, object]:
    """What it says."""
    if not isinstance(metadata, bytes):
        return metadata
    read: dict[str, object] = json.loads(metadata)
    return read
