"""LanceDB: one table with vectors (flat) and its native full-text index, hybrid search with its RRF reranker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lancedb
import pyarrow as pa
from lancedb.rerankers import RRFReranker

from peers_case import Case
from peers_stack import DEPTH, RRF_K

PACKAGES = ("lancedb", "pyarrow")


class Stack:
    """The full-text index has its defaults (stems, English stop words); Chinese comes cut and is not stemmed."""

    def build(self, case: Case, folder: Path) -> None:
        """On disk."""
        self.case = case
        fields = [pa.field("key", pa.string()), pa.field("words", pa.string())]
        vector = pa.list_(pa.float32(), case.vectors.shape[1])
        columns = [
            pa.array([chunk.key for chunk in case.chunks]),
            pa.array([chunk.words for chunk in case.chunks]),
            pa.FixedSizeListArray.from_arrays(pa.array(case.vectors.ravel()), case.vectors.shape[1]),
        ]
        rows = pa.table(columns, schema=pa.schema([*fields, pa.field("vector", vector)]))
        self.table = lancedb.connect(folder).create_table("chunks", rows)
        plain = {"base_tokenizer": "whitespace", "stem": False, "remove_stop_words": False} if case.chinese else {}
        self.table.create_fts_index("words", **plain)
        self.reranker = RRFReranker(K=RRF_K)

    def _keys(self, query: Any) -> list[str]:  # noqa: ANN401 - one of LanceDB's query builders
        keys: list[str] = query.limit(DEPTH).to_arrow()["key"].to_pylist()
        return keys

    def hybrid(self, at: int) -> list[str]:
        """Flat vector search and full text, fused."""
        query = self.table.search(query_type="hybrid").vector(self.case.asked[at]).text(self.case.queries[at].words)
        return self._keys(query.distance_type("cosine").rerank(self.reranker))

    def dense(self, at: int) -> list[str]:
        """Flat."""
        return self._keys(self.table.search(self.case.asked[at]).distance_type("cosine"))

    def lexical(self, at: int) -> list[str]:
        """Full text."""
        return self._keys(self.table.search(self.case.queries[at].words, query_type="fts"))
