"""What a stack is to the runner: built once from a case, then asked question by question, one way at a time.

Knows no library. Each `stack_*.py` beside it wraps one, as its own documentation shows it, with each path 20 deep and
20 hits out, and reciprocal rank fusion with k = 60 where it can be set.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from peers_case import Case

DEPTH = 20
"""How many hits each path gives, and how many come out."""
RRF_K = 60


class Stack(Protocol):
    """Answers are chunk keys, best first; the query's vector is given, so that no time is spent on embedding."""

    def build(self, case: Case, folder: Path) -> None:
        """Index the chunks; what persists goes into the folder."""
        ...

    def hybrid(self, at: int) -> list[str]:
        """The fused ranking for question `at`."""
        ...

    def dense(self, at: int) -> list[str]:
        """By vectors alone."""
        ...

    def lexical(self, at: int) -> list[str]:
        """By words alone."""
        ...
