"""LangChain's EnsembleRetriever over FAISS and BM25Retriever; the latter with words in lower case."""

from __future__ import annotations

import re
from pathlib import Path

from langchain_classic.retrievers import EnsembleRetriever
from langchain_community.retrievers import BM25Retriever
from langchain_community.vectorstores import FAISS
from langchain_core.documents import Document

from peers_case import Case
from peers_langchain import given, keys
from peers_stack import DEPTH, RRF_K

PACKAGES = ("langchain-classic", "langchain-community", "langchain-core", "rank-bm25", "faiss-cpu")


def lower_words(text: str) -> list[str]:
    """Its default is `text.split()`, with capitals and punctuation left on the words; so it finds far more."""
    return re.findall(r"\w+", text.lower())


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
