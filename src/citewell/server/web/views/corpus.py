"""The documents that a caller may see, one after the other -> figures and plots of the whole; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from citewell.model import DocumentInfo
from citewell.server.web.views.plots import Bar, Bin, bars, doubling_bins

MOST_NAMES = 60
"""Categories and labels that forms offer."""


@dataclass(frozen=True, slots=True)
class CorpusView:
    """Figures of all documents together.

    Attributes:
        categories: chunks by category.
        chunk_counts: documents by number of chunks.
        sizes: documents by characters.
        names: of categories, sorted, for forms.
        labels: of scopes that the caller may ask for, sorted.
        largest: id and characters of the longest documents.
    """

    documents: int
    chunks: int
    characters: int
    categories: tuple[Bar, ...]
    chunk_counts: tuple[Bin, ...]
    sizes: tuple[Bin, ...]
    names: tuple[str, ...]
    labels: tuple[str, ...]
    largest: tuple[Bar, ...]

    @property
    def mean_chunk(self) -> float:
        """Characters."""
        return self.characters / self.chunks if self.chunks else 0.0

    def to_dict(self) -> dict[str, object]:
        """JSON values."""
        return {
            "documents": self.documents,
            "chunks": self.chunks,
            "characters": self.characters,
            "categories": {bar.label: bar.amount for bar in self.categories},
            "documents_by_chunks": [[each.low, each.high, each.count] for each in self.chunk_counts],
            "documents_by_characters": [[each.low, each.high, each.count] for each in self.sizes],
            "largest": {bar.label: bar.amount for bar in self.largest},
        }


def corpus_view(documents: Iterable[DocumentInfo], held: tuple[str, ...] | None) -> CorpusView:
    """One pass over documents that are visible to who holds these labels; labels that it doesn't hold are not named."""
    by_category: Counter[str] = Counter()
    chunks: Counter[int] = Counter()
    sizes: Counter[int] = Counter()
    labels: set[str] = set()
    largest: list[tuple[int, str]] = []
    for info in documents:
        by_category[info.category or NO_CATEGORY] += info.chunks
        chunks[info.chunks] += 1
        sizes[info.characters] += 1
        labels.update(info.scope or ())
        largest = sorted([*largest, (-info.characters, info.doc_id)])[:8]
    return CorpusView(
        documents=sum(chunks.values()),
        chunks=sum(count * times for count, times in chunks.items()),
        characters=sum(size * times for size, times in sizes.items()),
        categories=bars(by_category),
        chunk_counts=doubling_bins(chunks),
        sizes=doubling_bins(sizes),
        names=tuple(sorted(set(by_category) - {NO_CATEGORY})[:MOST_NAMES]),
        labels=tuple(sorted(labels if held is None else labels & set(held))[:MOST_NAMES]),
        largest=bars({doc_id: -size for size, doc_id in largest}),
    )


NO_CATEGORY = "(none)"
"""Stands for documents without a category."""
