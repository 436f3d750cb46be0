"""Citewell as a product: it reads the files itself, with its own chunks, titles and vectors; default settings.

Its blocks are ranked as what the others have: for runbooks documents, for chunking-eval the given chunk of the same
document that a block overlaps most. The question's vector is given, as to every stack.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from citewell import Knowledge, Settings
from citewell.adapters.embedders.onnx import UseMultilingual
from citewell.model import EvidenceBlock
from peers_case import Case
from peers_stack import DEPTH

PACKAGES = ("citewell", "numpy")
_WAYS: Mapping[str, Mapping[str, object]] = {
    "hybrid": {"retrieval.search.mode": "hybrid"},
    "dense": {"retrieval.search.mode": "dense"},
    "lexical": {"retrieval.search.mode": "hybrid", "retrieval.search.paths": ["lexical"]},
}


class Asked(UseMultilingual):
    """The default model, which is given the vectors of questions."""

    def __init__(self) -> None:
        super().__init__()
        self.current: NDArray[np.float32] | None = None

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The one given, or the text's."""
        return super().embed_query(text) if self.current is None else self.current


class Stack:
    """The embedded engine, in a directory."""

    def build(self, case: Case, folder: Path) -> None:
        """Ingest with everything that belongs to it, embedding too."""
        if case.docs is None:
            raise ValueError(f"{case.name} has no files to read")
        self.case, self.asked = case, Asked()
        self.spans = _spans(case)
        with Knowledge.open(folder / "kb", embedder=self.asked) as knowledge:
            knowledge.ingest(case.docs)
        self.knowledge = {
            way: Knowledge.open(folder / "kb", settings=Settings.of(settings), embedder=self.asked)
            for way, settings in _WAYS.items()
        }

    def _look(self, way: str, at: int) -> list[str]:
        self.asked.current = self.case.asked[at]
        cap = 0 if self.spans else None
        found = self.knowledge[way].lookup(self.case.queries[at].text, return_n=DEPTH, max_chunks_per_document=cap)
        return list(dict.fromkeys(key for block in found.evidence if (key := self._given(block))))

    def _given(self, block: EvidenceBlock) -> str:
        """The given chunk that the block overlaps most, or its own key where the given ones have no spans."""
        start, end = block.span or (0, 0)
        spans = self.spans.get(str(block.doc_id), [])
        shared = [(min(end, stop) - max(start, begin), key) for key, begin, stop in spans]
        return max(shared)[1] if shared else f"{block.doc_id}#chunk-{block.chunk_index}"

    def hybrid(self, at: int) -> list[str]:
        """A lookup; the cap on chunks per document is off where all answers are in five documents."""
        return self._look("hybrid", at)

    def dense(self, at: int) -> list[str]:
        """Mode dense."""
        return self._look("dense", at)

    def lexical(self, at: int) -> list[str]:
        """The lexical path alone."""
        return self._look("lexical", at)


def _spans(case: Case) -> dict[str, list[tuple[str, int, int]]]:
    found: dict[str, list[tuple[str, int, int]]] = {}
    for chunk, span in zip(case.chunks, case.spans, strict=True) if case.spans else ():
        found.setdefault(chunk.key.rpartition("#")[0], []).append((chunk.key, *span))
    return found
