"""What both stacks on LangChain share: an embedder that knows the case's vectors, and the keys of found documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from peers_case import Case


class Given(Embeddings):  # type: ignore[misc]  # the class is unknown where types are checked
    """Knows the vectors of these texts alone."""

    def __init__(self, vectors: Mapping[str, list[float]]) -> None:
        self.vectors = vectors

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Of chunks."""
        return [self.vectors[text] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Of a question."""
        return self.vectors[text]


def given(case: Case, longest: int | None = None) -> Given:
    """Questions and chunks by their text, or its beginning."""
    pairs = [*zip(case.chunks, case.vectors, strict=True), *zip(case.queries, case.asked, strict=True)]
    return Given({passage.words[:longest]: vector.tolist() for passage, vector in pairs})


def keys(documents: Sequence[Document]) -> list[str]:
    """Of LangChain's documents."""
    return [document.metadata["key"] for document in documents]
