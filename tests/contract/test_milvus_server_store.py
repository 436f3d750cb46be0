"""A store on a real Milvus server keeps the contract; slow, for the server takes its time after every write."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from milvus_server import empty

from citewell.adapters.milvus import MilvusStore
from citewell.ports import Store
from citewell.testing import StoreContract


@pytest.mark.slow
class TestMilvusServer(StoreContract):
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
