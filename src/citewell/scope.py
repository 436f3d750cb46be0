"""Decides who may see what (SAFE-3), for every path, engine and edge; knows no store and no request.

A document bears labels, a caller holds labels; a chunk is visible when the two meet.
"""

from __future__ import annotations

from collections.abc import Sequence

from citewell.checks import refusal


def is_visible(bears: str | Sequence[str] | None, holds: str | Sequence[str] | None) -> bool:
    """Whether a document that bears these labels is visible to a caller who holds those.

    `holds` None = a caller without a scope sees everything; empty = sees nothing. A document that bears no label
    (None or empty) is visible only without a scope. A bare string is one label.

    Raises:
        InvalidRequest: either is no list of labels.
    """
    return holds is None or not _labels(holds).isdisjoint(_labels(() if bears is None else bears))


def _labels(value: str | Sequence[str]) -> set[str]:
    try:
        return {value} if isinstance(value, str) else set(value)
    except TypeError:
        raise refusal("a scope", value, "a list of labels, or one label as text") from None
