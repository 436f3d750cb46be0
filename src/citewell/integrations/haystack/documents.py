"""Passages as Haystack's documents: the evidence key is the id, the similarity the score.

It knows that class of the framework, and neither components nor tools.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from haystack import Document

from citewell.integrations.passages import Passage, passages_of

if TYPE_CHECKING:
    from citewell.lookup import LookupResult


def to_documents(result: LookupResult) -> list[Document]:
    """The evidence of a lookup that you made yourself, in its order, as `CitewellRetriever` hands it out."""
    return documents(passages_of(result))


def documents(passages: Iterable[Passage]) -> list[Document]:
    """A document per passage; its score is the similarity, None if that is unknown."""
    return [Document(id=each.id, content=each.text, meta=each.metadata, score=each.similarity) for each in passages]
