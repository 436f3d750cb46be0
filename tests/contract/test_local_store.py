"""The embedded engine keeps the contract, exactly, and keeps its contents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from citewell.adapters.local import LocalStore
from citewell.ports import Store
from citewell.testing import StoreContract


class TestLocalStore(StoreContract):
    recall: ClassVar[float] = 1.0

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        store = LocalStore.open(tmp_path / "store")
        yield store
        store.close()

    def reopen(self, store: Store) -> Store:
        assert isinstance(store, LocalStore)
        store.close()
        return LocalStore.open(store.path)
