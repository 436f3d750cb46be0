"""txtai's Embeddings with `hybrid`: faiss and its own BM25, scores normalised and averaged (its default, no RRF)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from txtai import Embeddings

from peers_case import Case
from peers_stack import DEPTH

PACKAGES = ("txtai", "torch", "faiss-cpu")


class Stack:
    """Vectors come by `method: external`; txtai asks each path for ten times as many as are wanted."""

    SETTINGS: Mapping[str, object] = {"method": "external", "hybrid": True}

    def build(self, case: Case, folder: Path) -> None:
        """One index for hybrid and dense, one for the words alone, whose scores it would not normalise by default."""
        self.case = case
        self.vectors: dict[str, NDArray[np.float32]] = {}
        for passages, rows in ((case.chunks, case.vectors), (case.queries, case.asked)):
            self.vectors |= {each.words: row for each, row in zip(passages, rows, strict=True)}
        self.transform = lambda texts: self._transform(texts)  # txtai calls whatever is no plain function
        self.embeddings = Embeddings({**self.SETTINGS, "transform": self.transform})
        self.embeddings.index((chunk.key, chunk.words, None) for chunk in case.chunks)

    def _transform(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([self.vectors[text] for text in texts])

    def _search(self, at: int, weights: float | None) -> list[str]:
        found = self.embeddings.search(self.case.queries[at].words, DEPTH, weights=weights)
        return [key for key, _ in found]

    def hybrid(self, at: int) -> list[str]:
        """Both weigh .5, its default."""
        return self._search(at, None)

    def dense(self, at: int) -> list[str]:
        """Weight 1 for the vectors."""
        return self._search(at, 1)

    def lexical(self, at: int) -> list[str]:
        """Weight 0 for the vectors."""
        return self._search(at, 0)
