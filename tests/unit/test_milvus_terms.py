"""Terms become words that Milvus's analysers leave alone; no two terms become one word."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.adapters.milvus.terms import word, words

any_term = st.text(min_size=1, max_size=40)


@pytest.mark.requirement("LEX-2", "SAFE-2")
@pytest.mark.parametrize(
    ("term", "expected"),
    [("redis", "redis"), ("4471", "4471"), ("kb-4471", "znnrc2nbug4yq"), ("zone", "zpjxw4zi"), ("Redis", "zkjswi2lt")],
)
def test_a_plain_term_stays_and_any_other_is_written_in_base32(term: str, expected: str) -> None:
    assert word(term) == expected


@pytest.mark.requirement("LEX-2")
@given(st.lists(any_term, max_size=8))
def test_words_are_what_an_analyser_that_cuts_at_non_letters_and_folds_case_gives_back(terms: list[str]) -> None:
    assert re.findall(r"\w+", words(terms).lower()) == [word(term) for term in terms]
    assert all(re.fullmatch("[0-9a-z]{1,120}", word(term)) for term in terms)


@pytest.mark.requirement("LEX-2")
@given(any_term, any_term)
def test_two_terms_share_a_word_only_if_they_are_equal(one: str, other: str) -> None:
    assert (word(one) == word(other)) is (one == other)


@pytest.mark.requirement("LEX-2")
def test_a_term_that_looks_like_the_word_of_another_is_not_taken_for_it() -> None:
    assert len({word("kb-4471"), word(word("kb-4471")), word("z"), word("l" * 300), word(word("l" * 300))}) == 5


@pytest.mark.requirement("LEX-2")
def test_long_terms_that_begin_alike_become_different_words_of_bounded_length() -> None:
    one, other = word("l" * 300), word("l" * 299)
    assert one != other
    assert len(one) == len(other) == 66
