"""What every part of the store contract stands on: the fixture, the hooks, and a few verbs to write and to look."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pytest

from citewell.errors import CitewellError
from citewell.identity import format_key
from citewell.model import DocumentChange, Filters, Reuse, Scored
from citewell.ports import Store
from citewell.testing.fakes import HashEmbedder
from citewell.testing.samples import binding_of, change, terms_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

ANY = Filters()
EMBEDDER = HashEmbedder()
PATIENCE_S = 60.0
"""How long a test waits for its threads before it fails."""


class StoreSuite:
    """Where an engine plugs in: override `store`; the rest if it applies."""

    recall: ClassVar[float] = 0.99
    """The least recall@20 of the dense path against exact search; 1.0 for an engine that is exact."""

    statistics_tolerance: ClassVar[float] = 1e-6
    """How far, relatively, lexical scores may be off after documents came, went and were compacted away."""

    @pytest.fixture
    def store(self) -> Iterator[Store]:
        """A fresh, empty, unbound store; closed after the test."""
        raise NotImplementedError("override the fixture `store` and yield a fresh empty store")

    def reopen(self, store: Store) -> Store | None:  # the default of a hook looks at nothing
        """Close the store and open what it kept; None if the engine keeps nothing."""
        return None

    def compact(self, store: Store) -> None:
        """Bring the lexical statistics up to date after deletions (LEX-2), where that takes a call of its own."""


@dataclass(frozen=True, slots=True)
class Found:
    """The evidence keys that each path returned, best first."""

    dense: tuple[str, ...]
    lexical: tuple[str, ...]

    @property
    def everywhere(self) -> list[str]:
        """The keys, sorted; fails the test if the two paths disagree on which there are."""
        assert sorted(self.dense) == sorted(self.lexical), "the two paths let through different chunks"
        return sorted(self.dense)


def key(doc_id: str, chunk_index: int = 0) -> str:
    """The evidence key of a chunk (ID-3)."""
    return format_key(doc_id, chunk_index)


def write(store: Store, *changes: DocumentChange) -> None:
    """Bind the store to the suite's embedder and apply the changes in one call."""
    store.bind(binding_of(EMBEDDER))
    store.apply(changes)


def put(
    store: Store,
    doc_id: str,
    texts: Sequence[str],
    *,
    category: str | None = None,
    scope: str | Sequence[str] | None = None,
    metadata: dict[str, object] | None = None,
    title: str = "",
    vectors: Sequence[NDArray[np.float32] | Reuse] | None = None,
    terms: Sequence[Sequence[str]] | None = None,
) -> None:
    """Write a document over whatever version the store holds."""
    write(
        store,
        change(
            doc_id,
            texts,
            embedder=EMBEDDER,
            vectors=vectors,
            terms=terms,
            title=title,
            category=category,
            scope=scope,
            metadata=metadata,
            expected_version=version_of(store, doc_id),
        ),
    )


def version_of(store: Store, doc_id: str) -> int:
    """The stored version of a document; 0 if there is none."""
    stored = store.stored(doc_id)
    return stored.version if stored else 0


def look(store: Store, text: str, filters: Filters = ANY, *, k: int = 1000) -> Found:
    """What both paths return for a text, in one snapshot."""
    with store.snapshot() as snapshot:
        dense = snapshot.dense(EMBEDDER.embed_query(text), k, filters)
        lexical = snapshot.lexical(terms_of(text), k, filters)
    return Found(keys_of(dense), keys_of(lexical))


def look_or_refuse(store: Store, text: str, filters: Filters) -> list[str]:
    """Like `look`, for filters that an engine may refuse by name; refused counts as nothing found."""
    try:
        return look(store, text, filters).everywhere
    except CitewellError:
        return []


def dense(store: Store, vector: NDArray[np.float32], k: int, filters: Filters = ANY) -> tuple[Scored, ...]:
    """The dense path alone."""
    with store.snapshot() as snapshot:
        return snapshot.dense(vector, k, filters)


def lexical(store: Store, terms: Sequence[str], k: int = 1000, filters: Filters = ANY) -> tuple[Scored, ...]:
    """The lexical path alone."""
    with store.snapshot() as snapshot:
        return snapshot.lexical(terms, k, filters)


def keys_of(hits: Sequence[Scored]) -> tuple[str, ...]:
    """The evidence keys, best first."""
    return tuple(hit.key for hit in hits)


def texts_of(store: Store, keys: Sequence[str]) -> dict[str, str]:
    """The text of each of these chunks."""
    with store.snapshot() as snapshot:
        return {key: chunk.text for key, chunk in snapshot.fetch(keys).items()}


def size_of(store: Store) -> int:
    """Chunks in the store."""
    with store.snapshot() as snapshot:
        return snapshot.size


def random_units(count: int, dimensions: int = EMBEDDER.dimensions, *, seed: int) -> NDArray[np.float32]:
    """Float32 [count, dimensions], rows of unit length, the same for the same seed."""
    rows = np.random.default_rng(seed).standard_normal((count, dimensions))
    units: NDArray[np.float32] = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return units
