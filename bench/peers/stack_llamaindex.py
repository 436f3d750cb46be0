"""LlamaIndex: QueryFusionRetriever by reciprocal rank over its in-memory vector index and its BM25Retriever."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from llama_index.core import VectorStoreIndex
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import BaseRetriever, QueryFusionRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.retrievers.bm25 import BM25Retriever

from peers_case import Case
from peers_stack import DEPTH

PACKAGES = ("llama-index-core", "llama-index-retrievers-bm25", "bm25s")
_EVERY_WORD = r"(?u)\b\w+\b"


class Given(BaseRetriever):
    """Hands the question's vector to the retriever of the index, which would embed the text."""

    def __init__(self, case: Case, inner: BaseRetriever) -> None:
        self.vectors = {query.words: vector.tolist() for query, vector in zip(case.queries, case.asked, strict=True)}
        self.inner = inner
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        text = query_bundle.query_str
        found: list[NodeWithScore] = self.inner.retrieve(QueryBundle(text, embedding=self.vectors[text]))
        return found


class Stack:
    """Its fusion has k = 60 and ranks from 0, and takes equal texts for one hit."""

    def build(self, case: Case, folder: Path) -> None:
        """Both in memory."""
        self.case = case
        nodes = [
            TextNode(id_=chunk.key, text=chunk.words, embedding=vector.tolist())
            for chunk, vector in zip(case.chunks, case.vectors, strict=True)
        ]
        index = VectorStoreIndex(nodes, embed_model=MockEmbedding(embed_dim=case.vectors.shape[1]))
        self.vectors = Given(case, index.as_retriever(similarity_top_k=DEPTH))
        chinese = {"skip_stemming": True, "token_pattern": _EVERY_WORD} if case.chinese else {}
        self.words = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=DEPTH, **chinese)
        self.both = QueryFusionRetriever(
            [self.vectors, self.words],
            llm=MockLLM(),
            mode="reciprocal_rerank",
            similarity_top_k=DEPTH,
            num_queries=1,
            use_async=False,
        )

    def hybrid(self, at: int) -> list[str]:
        """No further questions are made up (`num_queries=1`)."""
        return _keys(self.both.retrieve(self.case.queries[at].words))

    def dense(self, at: int) -> list[str]:
        """A flat scan in Python and numpy."""
        return _keys(self.vectors.retrieve(self.case.queries[at].words))

    def lexical(self, at: int) -> list[str]:
        """bm25s with English stems; chunks without a common word come too."""
        return _keys(self.words.retrieve(self.case.queries[at].words))


def _keys(found: Sequence[NodeWithScore]) -> list[str]:
    return [each.node.node_id for each in found]
