"""Haystack: a DocumentJoiner by reciprocal rank over the in-memory store's BM25 and embedding retrievers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from haystack import Document, Pipeline
from haystack.components.joiners import DocumentJoiner
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

from peers_case import Case
from peers_stack import DEPTH

PACKAGES = ("haystack-ai", "numpy")
_EVERY_WORD = r"(?u)\b\w+\b"


class Stack:
    """Its fusion has k = 61 from rank 0, which is the textbook's; BM25L is its default."""

    def build(self, case: Case, folder: Path) -> None:
        """In memory; document ids are the chunk keys."""
        self.case = case
        chinese = {"bm25_tokenization_regex": _EVERY_WORD} if case.chinese else {}
        store = InMemoryDocumentStore(embedding_similarity_function="cosine", **chinese)
        store.write_documents(
            [
                Document(id=chunk.key, content=chunk.words, embedding=vector.tolist())
                for chunk, vector in zip(case.chunks, case.vectors, strict=True)
            ]
        )
        self.vectors = InMemoryEmbeddingRetriever(store, top_k=DEPTH)
        self.words = InMemoryBM25Retriever(store, top_k=DEPTH)
        self.both = Pipeline()
        self.both.add_component("words", InMemoryBM25Retriever(store, top_k=DEPTH))
        self.both.add_component("vectors", InMemoryEmbeddingRetriever(store, top_k=DEPTH))
        self.both.add_component("join", DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=DEPTH))
        self.both.connect("words", "join")
        self.both.connect("vectors", "join")

    def hybrid(self, at: int) -> list[str]:
        """The two retrievers and the joiner as a pipeline."""
        question = {"words": {"query": self.case.queries[at].words}, "vectors": {"query_embedding": self._vector(at)}}
        return _keys(self.both.run(question)["join"]["documents"])

    def dense(self, at: int) -> list[str]:
        """A flat scan."""
        return _keys(self.vectors.run(query_embedding=self._vector(at))["documents"])

    def lexical(self, at: int) -> list[str]:
        """Every chunk is scored anew."""
        return _keys(self.words.run(query=self.case.queries[at].words)["documents"])

    def _vector(self, at: int) -> list[float]:
        vector: list[float] = self.case.asked[at].tolist()
        return vector


def _keys(documents: Sequence[Document]) -> list[str]:
    return [document.id for document in documents]
