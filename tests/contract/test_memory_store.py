"""The reference store keeps the contract, exactly; its BM25 is checked against numbers worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar

import pytest

from citewell.adapters.memory import MemoryStore
from citewell.ports import Store
from citewell.testing import StoreContract
from citewell.testing.store_base import dense, lexical, put, random_units


class TestMemoryStore(StoreContract):
    recall: ClassVar[float] = 1.0

    @pytest.fixture
    def store(self) -> Iterator[Store]:
        store = MemoryStore()
        yield store
        store.close()


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.mark.requirement("LEX-2")
def test_a_lexical_score_is_the_plain_bm25_formula(store: MemoryStore) -> None:
    put(store, "a", ["x", "y", "z"], terms=[["red", "red", "plum"], ["red"], ["plum", "pie"]])
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))  # "red" is in 2 of 3 chunks of mean length 2
    twice = idf * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 3 / 2))
    once = idf * 1 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 1 / 2))
    assert {hit.key: hit.score for hit in lexical(store, ["red"])} == pytest.approx(
        {"a#chunk-0": twice, "a#chunk-1": once}
    )


@pytest.mark.requirement("LEX-2")
def test_the_score_of_two_terms_is_the_sum_of_theirs(store: MemoryStore) -> None:
    put(store, "a", ["x", "y"], terms=[["red", "plum"], ["red"]])
    red, plum = ({hit.key: hit.score for hit in lexical(store, [term])} for term in ("red", "plum"))
    both = {hit.key: hit.score for hit in lexical(store, ["red", "plum"])}
    assert both == pytest.approx({"a#chunk-0": red["a#chunk-0"] + plum["a#chunk-0"], "a#chunk-1": red["a#chunk-1"]})


@pytest.mark.requirement("SCORE-3", "SCORE-4")
def test_a_similarity_equals_the_dense_score_to_the_last_bit(store: MemoryStore) -> None:
    put(store, "a", ["x"] * 200, vectors=list(random_units(200, seed=1)))
    for query in random_units(5, seed=2):
        hits = dense(store, query, 200)
        with store.snapshot() as snapshot:
            assert all(snapshot.similarities(query, [hit.key]) == {hit.key: hit.score} for hit in hits)
