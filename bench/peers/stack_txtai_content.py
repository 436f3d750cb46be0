"""txtai as one that keeps its passages: saved to disk with `content`, loaded again, and answering with their texts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import stack_txtai
from peers_case import Case
from peers_stack import DEPTH

PACKAGES = stack_txtai.PACKAGES


class Stack(stack_txtai.Stack):
    """The same index and searches; for large sets alone."""

    SETTINGS: Mapping[str, object] = {**stack_txtai.Stack.SETTINGS, "content": True}

    def build(self, case: Case, folder: Path) -> None:
        """In memory, then on disk; the loaded index answers."""
        super().build(case, folder)
        self.embeddings.save(str(folder / "index"))
        self.embeddings.close()
        self.embeddings.load(str(folder / "index"), config={"transform": self.transform})

    def _search(self, at: int, weights: float | None) -> list[str]:
        found = self.embeddings.search(self.case.queries[at].words, DEPTH, weights=weights)
        return [hit["id"] for hit in found if hit["text"]]
