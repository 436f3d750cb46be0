"""A store on Milvus keeps the contract: a part of it on Lite always, all of it on Lite and a real server when slow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from milvus_server import empty

from citewell.adapters.milvus import MilvusStore
from citewell.ports import Store
from citewell.testing import StoreContract
from citewell.testing.store_base import StoreSuite
from citewell.testing.store_concurrency import Snapshots
from citewell.testing.store_filters import SingleFilters
from citewell.testing.store_life import Bindings, EmptyStores
from citewell.testing.store_paths import LexicalPaths, Similarities
from citewell.testing.store_writes import Conflicts, Replacements


class LiteSuite(StoreSuite):
    """Each store in a file of its own."""

    recall: ClassVar[float] = 1.0

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        store = MilvusStore.open(f"milvus:{tmp_path}/kb.db")
        yield store
        store.close()

    def reopen(self, store: Store) -> Store:
        assert isinstance(store, MilvusStore)
        store.close()
        return MilvusStore.open(store.location)


class TestMilvusLiteInShort(
    LiteSuite,
    EmptyStores,
    Bindings,
    Replacements,
    Conflicts,
    Similarities,
    LexicalPaths,
    SingleFilters,
    Snapshots,
):
    """What a change is likely to break."""


@pytest.mark.slow
class TestMilvusLite(LiteSuite, StoreContract):
    """All of it."""


@pytest.mark.slow
class TestMilvusLiteWithItsLexicalIndexInMemory(StoreContract):
    """The index that stands in where Milvus has no BM25, on an engine that is quick to test."""

    recall: ClassVar[float] = 1.0

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        store = MilvusStore.open(f"milvus:{tmp_path}/kb.db", lexical="memory")
        yield store
        store.close()

    def reopen(self, store: Store) -> Store:
        assert isinstance(store, MilvusStore)
        store.close()
        return MilvusStore.open(store.location, lexical="memory")


@pytest.mark.slow
class TestMilvusServer(StoreContract):
    """One set of collections per worker, emptied after each test: a server takes seconds to make some."""

    recall: ClassVar[float] = 1.0

    @pytest.fixture
    def store(self, milvus_uri: str, worker_id: str) -> Iterator[Store]:
        store = MilvusStore.open(milvus_uri, collection=f"contract_{worker_id}", timeout_s=30)
        yield store
        store.close()
        empty(store.location, store.collection)

    def reopen(self, store: Store) -> Store:
        assert isinstance(store, MilvusStore)
        store.close()
        return MilvusStore.open(store.location, collection=store.collection, timeout_s=30)
