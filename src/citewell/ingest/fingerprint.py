"""A digest of everything that a document's stored form depends on; equal ones mean that nothing needs to be done.

The fingerprint of a file also says from which folder it came, so that `prune` never touches another folder's documents
and a second folder can't take over the first one's. Stores treat it as an opaque text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping


def digest(text: str) -> str:
    """SHA-256 hex of a text in UTF-8."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def fingerprint(data: bytes, facts: Mapping[str, object], *, root: str = "") -> str:
    """`{SHA-256 hex}` of the facts (JSON values) and the bytes; for a file followed by `@` and its root."""
    canonical = json.dumps(facts, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    whole = hashlib.sha256(canonical.encode("ascii") + b"\x00" + data).hexdigest()
    return f"{whole}@{root}" if root else whole


def root_of(value: str) -> str:
    """The root that a fingerprint names; empty for a document that was no file."""
    return value.partition("@")[2]
