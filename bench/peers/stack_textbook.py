"""The textbook: a flat scan in numpy, bm25s with its defaults, and reciprocal rank fusion in ten lines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bm25s
import numpy as np

from peers_case import Case
from peers_stack import DEPTH, RRF_K

PACKAGES = ("bm25s", "numpy")
_EVERY_WORD = r"(?u)\b\w+\b"  # bm25s leaves out words of one character, which are many in Chinese


class Stack:
    """Hits without a common word are left out of the lexical ranking."""

    def build(self, case: Case, folder: Path) -> None:
        """Everything in memory."""
        self.case = case
        self.keys = [chunk.key for chunk in case.chunks]
        self.bm25 = bm25s.BM25()
        self.bm25.index(self._tokens([chunk.words for chunk in case.chunks]), show_progress=False)

    def _tokens(self, texts: list[str]) -> Any:  # noqa: ANN401 - bm25s ships no types
        chinese: dict[str, str] = {"token_pattern": _EVERY_WORD} if self.case.chinese else {}
        return bm25s.tokenize(texts, show_progress=False, **chinese)

    def dense(self, at: int) -> list[str]:
        """A flat scan."""
        scores = self.case.vectors @ self.case.asked[at]
        best = np.argpartition(-scores, DEPTH)[:DEPTH]
        return [self.keys[row] for row in best[np.argsort(-scores[best])]]

    def lexical(self, at: int) -> list[str]:
        """BM25."""
        tokens = self._tokens([self.case.queries[at].words])
        rows, scores = self.bm25.retrieve(tokens, k=DEPTH, show_progress=False)
        return [self.keys[row] for row, score in zip(rows[0], scores[0], strict=True) if score > 0]

    def hybrid(self, at: int) -> list[str]:
        """1 / (60 + rank), summed."""
        return fuse([self.dense(at), self.lexical(at)])


def fuse(rankings: Sequence[Sequence[str]]) -> list[str]:
    """Reciprocal rank fusion with equal weights; of equals the one that the first ranking found first."""
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, key in enumerate(ranking, 1):
            scores[key] = scores.get(key, 0.0) + 1 / (RRF_K + rank)
    return sorted(scores, key=lambda key: -scores[key])[:DEPTH]
