"""Vectors that are none never reach the embedded engine's tables, and leave what is stored as it was (SAFE-2)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from citewell.adapters.local import LocalStore
from citewell.errors import InvalidRequest
from citewell.testing.store_base import EMBEDDER, dense, put


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LocalStore]:
    opened = LocalStore.open(tmp_path / "kb")
    yield opened
    opened.close()


@pytest.mark.requirement("SAFE-2", "INGEST-5")
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, -1])
def test_a_vector_that_holds_no_finite_number_is_refused_and_nothing_of_the_call_is_written(
    store: LocalStore, value: float, place: int
) -> None:
    put(store, "a", ["one"])
    before, (good,) = store.status(), EMBEDDER.embed_passages(["two"])
    bad = good.copy()
    bad[place] = value
    with pytest.raises(InvalidRequest, match="no finite number"):
        put(store, "b", ["two", "three"], vectors=[good, bad])
    assert store.status() == before
    assert [hit.key for hit in dense(store, good, 5)] == ["a#chunk-0"]
