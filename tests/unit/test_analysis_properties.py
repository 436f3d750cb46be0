"""What holds of the analysis for any text whatever."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.analysis import Analyzer, analyze, analyze_query, identifiers
from citewell.analysis import words as words_room
from citewell.analysis.normalize import normalize

WRITTEN = """
fetchTableRow max_conn KB-4471 v1.24.3 10.0.0.12 a/b C++ C# .NET etcd pods the THE PVCs don't user's U.S. e-mail 0/0
https://x.example/y?z=1 kube-system/etcd-0 连接池耗尽 网 データ の 쿠버네티스 สวัสดี हिन्दी Ｒｅｄｉｓ ﬁ e\u0301 ß İ 🔥
\ud800 \x00 \u200b \u00ad ' ’ - ‐ . _ __ / \\ : :: :// @ + # ++ , ! A aB 5 ² ½ ﷺ
"""
PIECES = st.sampled_from(WRITTEN.split())
TEXT = st.lists(st.text(st.characters(), max_size=6) | PIECES | st.sampled_from(" \n"), max_size=20).map("".join)
ASCII = st.lists(st.text(st.characters(max_codepoint=127), max_size=6) | PIECES.filter(str.isascii), max_size=20)


@given(TEXT)
@pytest.mark.requirement("LEX-1")
def test_tokens_are_short_folded_and_hold_no_white_space(text: str) -> None:
    for token in analyze(text) + analyze_query(text):
        assert 0 < len(token) <= 128
        assert not any(character.isspace() or unicodedata.category(character) in ("Cc", "Cs") for character in token)
        assert token.split() == [token]
        token.encode("utf-8")


@given(TEXT, TEXT)
@pytest.mark.requirement("LEX-1")
def test_the_terms_of_two_lines_are_those_of_the_first_and_those_of_the_second(first: str, second: str) -> None:
    assert analyze(f"{first}\n{second}") == analyze(first) + analyze(second)


@given(TEXT)
@pytest.mark.requirement("LEX-1")
def test_the_number_of_tokens_is_bounded_by_the_length_of_the_text(text: str) -> None:
    assert len(analyze(text)) <= 3 * len(normalize(text))


@given(TEXT)
@pytest.mark.requirement("LEX-1")
def test_a_query_asks_for_nothing_that_the_same_text_would_not_hold(text: str) -> None:
    asked = analyze_query(text)
    assert len(asked) == len(set(asked))
    if not text.isupper():
        assert set(asked) <= set(analyze(text))
    assert bool(asked) == bool(analyze(text))


@given(TEXT)
@pytest.mark.requirement("SCORE-6")
def test_a_text_holds_its_own_identifiers(text: str) -> None:
    found = identifiers(text)
    assert len(found) == len(set(found))
    assert set(found) <= set(analyze(text))


@given(TEXT)
@pytest.mark.requirement("LEX-1")
def test_text_that_looks_alike_is_alike(text: str) -> None:
    assert analyze(unicodedata.normalize("NFKC", text)) == analyze(text)
    assert analyze(unicodedata.normalize("NFD", text)) == analyze(unicodedata.normalize("NFC", text))
    assert analyze(normalize(text)) == analyze(text)


@given(TEXT, TEXT)
@pytest.mark.requirement("LEX-1")
def test_what_stands_apart_is_analysed_apart(first: str, second: str) -> None:
    assert analyze(f"{first}\n{second}") == analyze(first) + analyze(second)


@given(TEXT)
@pytest.mark.requirement("LEX-1")
def test_no_word_is_left_without_a_token(text: str) -> None:
    letters = [c for c in normalize(text) if c.isalnum() and c.isascii()]
    assert bool(analyze(text)) or not letters


@given(ASCII.map("".join))
@pytest.mark.requirement("LEX-1")
def test_both_patterns_find_the_same_in_plain_text(text: str) -> None:
    assert words_room._of_ascii().findall(text) == words_room._of_any().findall(text)


@given(TEXT)
@pytest.mark.requirement("LEX-1")
def test_what_was_analysed_before_makes_no_difference(text: str) -> None:
    assert analyze(text) == Analyzer().analyze(text)
    assert analyze_query(text) == Analyzer().analyze_query(text)
