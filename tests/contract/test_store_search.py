"""StoreSearch keeps the search port's contract, over the reference store and over the embedded engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from citewell.adapters.local import LocalStore
from citewell.adapters.memory import MemoryStore
from citewell.ports import Store
from citewell.search import StoreSearch
from citewell.testing import SearchPortContract
from citewell.testing.samples import Sample, binding_of

Make = Callable[[Sequence[Sample]], StoreSearch]


class Suite(SearchPortContract):
    """Fills a store of whichever engine with the suite's samples."""

    def open_store(self, folder: Path) -> Store:
        raise NotImplementedError

    @pytest.fixture
    def make_port(self, tmp_path: Path) -> Iterator[Make]:
        opened: list[tuple[StoreSearch, Store]] = []

        def make(samples: Sequence[Sample]) -> StoreSearch:
            store = self.open_store(tmp_path / str(len(opened)))
            store.bind(binding_of(self.embedder))
            store.apply([sample.change(embedder=self.embedder) for sample in samples])
            opened.append((StoreSearch(store, self.embedder), store))
            return opened[-1][0]

        yield make
        for port, store in opened:
            port.close()
            store.close()


class TestStoreSearchOverMemory(Suite):
    def open_store(self, folder: Path) -> Store:
        return MemoryStore()


class TestStoreSearchOverLocal(Suite):
    def open_store(self, folder: Path) -> Store:
        return LocalStore.open(folder)


del Suite  # pytest would collect it as well
