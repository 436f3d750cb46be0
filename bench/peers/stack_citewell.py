"""Citewell on the given chunks and vectors: its analysis, its index, its fusion and post-processing, default settings.

Each chunk is a document of one chunk, so that no cap on chunks per document matters. It goes into the store by the
store's own door rather than through ingestion, which would cut texts of more than about 800 characters and add the
title to both paths: here every stack has the same passages and vectors, and no title.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from citewell import Knowledge, Settings
from citewell.adapters.local import LocalStore
from citewell.analysis import ANALYZER_VERSION, analyze
from citewell.identity import format_key
from citewell.model import Chunk, DocumentChange, DocumentRecord, Locator, StoreBinding
from citewell.ports import embedder_identity
from peers_case import Case
from peers_stack import DEPTH

PACKAGES = ("citewell", "numpy")
_BATCH = 500
_WAYS: Mapping[str, Mapping[str, object]] = {
    "hybrid": {"retrieval.search.mode": "hybrid"},
    "plain": {"retrieval.search.mode": "hybrid", "rag.hints": False},
    "shallow": {"retrieval.search.mode": "hybrid", "rag.hints": False, "rag.retrieve-k": DEPTH},
    "dense": {"retrieval.search.mode": "dense"},
    "lexical": {"retrieval.search.mode": "hybrid", "retrieval.search.paths": ["lexical"]},
}


class Given:
    """An embedder that knows one vector: that of the question which is being asked."""

    name, fingerprint, max_tokens = "given", "1", 1_000_000
    at_hand = True

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self.current: NDArray[np.float32] = np.zeros(dimensions, np.float32)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The one given."""
        return self.current

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Chunks come with their vectors."""
        raise NotImplementedError


class Stack:
    """The embedded engine, in a directory."""

    def build(self, case: Case, folder: Path) -> None:
        """Analyse, write, open."""
        self.case, self.given = case, Given(case.vectors.shape[1])
        self.keys: dict[str, str] = {}
        store = LocalStore.open(folder / "kb", create=True)
        store.bind(StoreBinding(embedder_identity(self.given), ANALYZER_VERSION))
        changes = (self._change(name, rows) for name, rows in _documents(case))
        while batch := list(islice(changes, _BATCH)):
            store.apply(batch)
        store.compact()  # as an ingestion does at its end
        store.close()
        self.given.current = case.asked[0]
        self._opened(folder, "hybrid").close()  # keeps a copy of the catalogue, as an ingestion does at its end, too
        self.knowledge = {way: self._opened(folder, way) for way in _WAYS}

    def _opened(self, folder: Path, way: str) -> Knowledge:
        """The store, when what is read beside the first lookups, and would be timed with them, has been read."""
        knowledge = Knowledge.open(folder / "kb", settings=Settings.of(_WAYS[way]), embedder=self.given)
        while _WAYS[way].get("rag.hints", True) and not knowledge.lookup(self.case.queries[0].text).hints:
            time.sleep(0.1)
        return knowledge

    def _change(self, name: str, rows: list[int]) -> DocumentChange:
        chunks = tuple(_chunk(index, self.case.chunks[row].text) for index, row in enumerate(rows))
        self.keys |= {format_key(name, index): self.case.chunks[row].key for index, row in enumerate(rows)}
        mark = hashlib.sha256("".join(chunk.digest for chunk in chunks).encode()).hexdigest()
        record = DocumentRecord(name, "", name, None, None, {}, (), mark, mark)
        return DocumentChange(record, chunks, tuple(self.case.vectors[rows]), 0)

    def _look(self, way: str, at: int) -> list[str]:
        self.given.current = self.case.asked[at]
        result = self.knowledge[way].lookup(self.case.queries[at].text, return_n=DEPTH)
        return [self.keys[block.evidence_key] for block in result.evidence]

    def hybrid(self, at: int) -> list[str]:
        """A lookup, with fetched texts and post-processing."""
        return self._look("hybrid", at)

    def plain(self, at: int) -> list[str]:
        """The same without hints, which no other stack gives."""
        return self._look("plain", at)

    def shallow(self, at: int) -> list[str]:
        """The same with each path as deep as the other stacks' paths."""
        return self._look("shallow", at)

    def dense(self, at: int) -> list[str]:
        """A lookup in mode dense."""
        return self._look("dense", at)

    def lexical(self, at: int) -> list[str]:
        """A lookup with the lexical path alone."""
        return self._look("lexical", at)


def _documents(case: Case) -> Iterator[tuple[str, list[int]]]:
    """Each document's id and its rows; the order of ids means nothing.

    Ties go by id in the end, and the first questions by id are about the first chunks.
    """
    names = [chunk.key.rpartition("#")[0] if case.together else chunk.key for chunk in case.chunks]
    for name, rows in groupby(range(len(names)), names.__getitem__):
        yield hashlib.sha256(name.encode()).hexdigest(), list(rows)


def _chunk(index: int, text: str) -> Chunk:
    mark = hashlib.sha256(text.encode()).hexdigest()
    return Chunk(index, text, "", (0, len(text)), Locator(), mark, mark, tuple(analyze(text)))
