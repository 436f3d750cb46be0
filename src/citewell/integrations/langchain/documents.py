"""Passages as LangChain's documents: the evidence key is their id, and again in their metadata for `id_key`.

It knows that class of the framework, and neither retrievers nor tools.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from langchain_core.documents import Document

from citewell.integrations.passages import Passage, passages_of

if TYPE_CHECKING:
    from citewell.lookup import LookupResult


def to_documents(result: LookupResult) -> list[Document]:
    """The evidence of a lookup that you made yourself, in its order, as `CitewellRetriever` hands it out."""
    return documents(passages_of(result))


def documents(passages: Iterable[Passage]) -> list[Document]:
    """A document per passage. LangChain's class has no score; the similarity is in the metadata."""
    return [Document(id=each.id, page_content=each.text, metadata=each.metadata) for each in passages]
