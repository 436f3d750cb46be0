"""langchain-milvus on Milvus Lite: a dense and a BM25 field in one collection, its hybrid search by RRF, flushed.

Its defaults fail on Milvus Lite, so indexes and search parameters are named (FLAT by cosine, BM25 on a sparse inverted
index), and the collection is flushed once it is filled, without which a search takes forty times as long.
"""

from __future__ import annotations

from pathlib import Path

from langchain_core.documents import Document
from langchain_milvus import BM25BuiltInFunction, Milvus

from peers_case import Case
from peers_langchain import given, keys
from peers_stack import DEPTH, RRF_K

PACKAGES = ("langchain-milvus", "pymilvus", "milvus-lite")
_DENSE = {"index_type": "FLAT", "metric_type": "COSINE", "params": {}}
_WORDS = {"index_type": "SPARSE_INVERTED_INDEX", "metric_type": "BM25", "params": {}}
_BATCH = 1_000
_LONGEST = 65_535
"""A text field of Milvus holds no more; one section of anthropic-docs is cut."""


class Stack:
    """The analyser is Lite's `standard`; Chinese comes cut."""

    def build(self, case: Case, folder: Path) -> None:
        """On disk."""
        self.case = case
        self.store = Milvus(
            embedding_function=given(case, _LONGEST),
            builtin_function=BM25BuiltInFunction(output_field_names="sparse"),
            vector_field=["dense", "sparse"],
            index_params=[_DENSE, _WORDS],
            search_params=[{"metric_type": "COSINE", "params": {}}, {"metric_type": "BM25", "params": {}}],
            connection_args={"uri": str(folder / "milvus.db")},
            consistency_level="Strong",
            auto_id=False,
        )
        documents = [Document(chunk.words[:_LONGEST], metadata={"key": chunk.key}) for chunk in case.chunks]
        for start in range(0, len(documents), _BATCH):
            part = documents[start : start + _BATCH]
            self.store.add_documents(part, ids=[str(start + at) for at in range(len(part))])
        self.store.client.flush(self.store.collection_name)

    def hybrid(self, at: int) -> list[str]:
        """Fused by Milvus."""
        words = self.case.queries[at].words
        found = self.store.similarity_search(
            words, k=DEPTH, fetch_k=DEPTH, ranker_type="rrf", ranker_params={"k": RRF_K}
        )
        return keys(found)

    def dense(self, at: int) -> list[str]:
        """The dense field alone."""
        return self._one("dense", self.case.asked[at].tolist(), "COSINE")

    def lexical(self, at: int) -> list[str]:
        """The BM25 field alone."""
        return self._one("sparse", self.case.queries[at].words, "BM25")

    def _one(self, field: str, data: object, metric: str) -> list[str]:
        """One field, asked of the client that langchain-milvus uses."""
        found = self.store.client.search(
            self.store.collection_name,
            data=[data],
            anns_field=field,
            limit=DEPTH,
            search_params={"metric_type": metric},
            output_fields=["key"],
        )
        return [hit["entity"]["key"] for hit in found[0]]
