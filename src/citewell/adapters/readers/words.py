"""Names between white space -> a set of them, for long lists that a person has to read."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The set of what stands between white space."""
    return frozenset(text.split())
