"""LangChain's EnsembleRetriever over FAISS and BM25Retriever; the latter cuts at white space, here in lower case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from langchain_classic.retrievers import EnsembleRetriever
from langchain_community.retrievers import BM25Retriever
from langchain_community.vectorstores import FAISS
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from peers_case import Case
from peers_stack import DEPTH, RRF_K

PACKAGES = ("langchain-classic", "langchain-community", "langchain-core", "rank-bm25", "faiss-cpu")


class Given(Embeddings):
    """Knows the vectors of these texts alone."""

    def __init__(self, vectors: Mapping[str, list[float]]) -> None:
        self.vectors = vectors

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Of chunks."""
        return [self.vectors[text] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Of a question."""
        return self.vectors[text]


def given(case: Case) -> Given:
    """Questions and chunks by their text."""
    pairs = [*zip(case.chunks, case.vectors, strict=True), *zip(case.queries, case.asked, strict=True)]
    return Given({passage.words: vector.tolist() for passage, vector in pairs})


def lower_words(text: str) -> list[str]:
    """Its default is `text.split()`; without lower case it would find far less."""
    return text.lower().split()


class Stack:
    """Equal texts count as one hit, as EnsembleRetriever has it by default."""

    def build(self, case: Case, folder: Path) -> None:
        """Both in memory."""
        self.case = case
        embeddings = given(case)
        documents = [Document(chunk.words, metadata={"key": chunk.key}) for chunk in case.chunks]
        texts = [(chunk.words, vector.tolist()) for chunk, vector in zip(case.chunks, case.vectors, strict=True)]
        faiss = FAISS.from_embeddings(texts, embeddings, metadatas=[each.metadata for each in documents])
        self.vectors = faiss.as_retriever(search_kwargs={"k": DEPTH})
        self.words = BM25Retriever.from_documents(documents, preprocess_func=lower_words, k=DEPTH)
        self.both = EnsembleRetriever(retrievers=[self.words, self.vectors], weights=[0.5, 0.5], c=RRF_K)

    def _ask(self, retriever: EnsembleRetriever | BM25Retriever, at: int) -> list[str]:
        return keys(retriever.invoke(self.case.queries[at].words))[:DEPTH]

    def hybrid(self, at: int) -> list[str]:
        """Weights .5 each."""
        return self._ask(self.both, at)

    def dense(self, at: int) -> list[str]:
        """FAISS, flat."""
        return self._ask(self.vectors, at)

    def lexical(self, at: int) -> list[str]:
        """BM25Retriever, which gives chunks without a common word too."""
        return self._ask(self.words, at)


def keys(documents: Sequence[Document]) -> list[str]:
    """Of LangChain's documents."""
    return [document.metadata["key"] for document in documents]
