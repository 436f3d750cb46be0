"""Decides who may see what (SAFE-3), for every path, engine and edge; knows no store and no request.

A document bears labels, a caller holds labels; a chunk is visible when the two meet.
"""

from __future__ import annotations

from collections.abc import Sequence


def is_visible(bears: Sequence[str] | None, holds: Sequence[str] | None) -> bool:
    """Whether a document that bears these labels is visible to a caller who holds those.

    `holds` None = a caller without a scope sees everything; empty = sees nothing. A document that bears no label
    (None or empty) is visible only without a scope.
    """
    return holds is None or not set(holds).isdisjoint(bears or ())
