"""StoreSearch keeps the search port's contract over Milvus, Lite and a real server; both are slow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from milvus_server import empty

from citewell.adapters.milvus import MilvusStore
from citewell.search import StoreSearch
from citewell.testing import SearchPortContract
from citewell.testing.samples import Sample, binding_of

Make = Callable[[Sequence[Sample]], StoreSearch]


class Suite(SearchPortContract):
    def fill(self, store: MilvusStore, samples: Sequence[Sample]) -> StoreSearch:
        store.bind(binding_of(self.embedder))
        store.apply([sample.change(embedder=self.embedder) for sample in samples])
        return StoreSearch(store, self.embedder)


@pytest.mark.slow
class TestStoreSearchOverMilvusLite(Suite):
    @pytest.fixture
    def make_port(self, tmp_path: Path) -> Iterator[Make]:
        opened: list[tuple[StoreSearch, MilvusStore]] = []

        def make(samples: Sequence[Sample]) -> StoreSearch:
            store = MilvusStore.open(f"milvus:{tmp_path}/{len(opened)}.db")
            opened.append((self.fill(store, samples), store))
            return opened[-1][0]

        yield make
        for port, store in opened:
            port.close()
            store.close()


@pytest.mark.slow
class TestStoreSearchOverMilvusServer(Suite):
    @pytest.fixture
    def make_port(self, milvus_uri: str, worker_id: str) -> Iterator[Make]:
        opened: list[tuple[StoreSearch, MilvusStore]] = []

        def make(samples: Sequence[Sample]) -> StoreSearch:
            store = MilvusStore.open(milvus_uri, collection=f"search_{worker_id}_{len(opened)}", timeout_s=30)
            opened.append((self.fill(store, samples), store))
            return opened[-1][0]

        yield make
        for port, store in opened:
            port.close()
            store.close()
            empty(store.location, store.collection)


del Suite  # pytest would collect it as well
