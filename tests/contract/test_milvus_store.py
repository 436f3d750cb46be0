"""Milvus Lite keeps the contract of a store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from citewell.adapters.milvus import MilvusStore
from citewell.ports import Store
from citewell.testing import StoreContract


class TestMilvusLite(StoreContract):
    recall = 1.0

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        store = MilvusStore.open(f"milvus:{tmp_path}/kb.db")
        yield store
        store.close()

    def reopen(self, store: Store) -> Store:
        assert isinstance(store, MilvusStore)
        location = store.location
        store.close()
        return MilvusStore.open(location)
