"""Derived words are ranked by the same BM25 as the reference store ranks, whatever the texts and the question."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.adapters.memory import MemoryStore
from citewell.adapters.milvus.foreign.postings import Postings, counted, number_of
from citewell.identity import format_key
from citewell.model import Filters
from citewell.testing.fakes import HashEmbedder
from citewell.testing.samples import binding_of, change

_TERMS = st.sampled_from(["a", "b", "rare", "中", "é", "\ud800", ""])


@pytest.mark.requirement("ENGINE-3", "LEX-2")
@given(st.lists(st.lists(_TERMS, max_size=8), min_size=1, max_size=12), st.lists(_TERMS, max_size=6))
def test_scores_are_those_of_the_reference_store(texts: list[list[str]], question: list[str]) -> None:
    store = MemoryStore()
    store.bind(binding_of(HashEmbedder()))
    store.apply([change("d", ["x"] * len(texts), terms=texts)])
    with store.snapshot() as view:
        expected = {hit.key: hit.score for hit in view.lexical(question, 100, Filters())}
    scores = Postings.of(counted(text) for text in texts).scores(question)
    found = {format_key("d", row): score for row, score in enumerate(scores.tolist()) if score}
    assert found == {name: pytest.approx(score, rel=1e-9) for name, score in expected.items()}


def test_nothing_is_indexed_and_nothing_is_found() -> None:
    assert Postings.of([]).scores(["a"]).tolist() == []
    assert Postings.of([counted([]), counted([])]).scores(["a"]).tolist() == [0.0, 0.0]


@given(st.text(), st.text())
def test_two_terms_have_one_number_only_if_they_are_equal(one: str, other: str) -> None:
    assert (number_of(one) == number_of(other)) == (one == other)
