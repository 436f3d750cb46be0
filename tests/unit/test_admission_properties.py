"""What holds of admission for any argument whatever."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.admission import MAX_QUERY_CHARACTERS, admit, check_category, check_labels
from citewell.errors import CitewellError, InvalidRequest
from citewell.model import LookupPolicy, SearchPolicy

ANY_TEXT = st.text(st.characters(), max_size=40)  # with NUL and lone surrogates
KNOWN_TEXT = st.text(st.characters(exclude_categories=["Cn"]), max_size=40)  # both Unicode tables know its categories
UNICODE = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT | st.binary(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=4,
)


@given(KNOWN_TEXT)
@pytest.mark.requirement("SAFE-4")
def test_a_query_is_refused_exactly_when_it_holds_no_letter_number_or_emoji(query: str) -> None:
    fillers = "\u115f\u1160\u3164\uffa0"
    words = any(unicodedata.category(c)[0] in "LN" and c not in fillers for c in query)
    pictures = any(unicodedata.category(c) == "So" for c in query)
    try:
        admitted = admit(query, policy=LookupPolicy(), search=SearchPolicy()).query
    except InvalidRequest:
        assert not words
    else:
        assert words or pictures
        assert admitted == query.translate({0: None, **dict.fromkeys(range(0xD800, 0xE000))}).strip()


@given(st.lists(ANY_TEXT, min_size=1, max_size=8), st.integers(1, 3_000), st.sampled_from(["x", "?" * 4_100 + "x"]))
@pytest.mark.requirement("SAFE-4")
def test_an_admitted_query_is_a_part_within_bounds(pieces: list[str], repeats: int, beginning: str) -> None:
    query = f"{beginning} {' '.join(pieces) * repeats}"
    admitted = admit(query, policy=LookupPolicy(), search=SearchPolicy()).query
    usable = query.translate({0: None, **dict.fromkeys(range(0xD800, 0xE000))}).strip()
    kept = usable[usable.index("x") :] if len(beginning) > MAX_QUERY_CHARACTERS else usable
    assert kept.startswith(admitted)
    assert 0 < len(admitted) <= MAX_QUERY_CHARACTERS
    assert admitted == kept or len(admitted) >= MAX_QUERY_CHARACTERS // 2
    assert admit(admitted, policy=LookupPolicy(), search=SearchPolicy()).query == admitted


@given(ANYTHING, ANYTHING, ANYTHING, ANYTHING, ANYTHING)
@pytest.mark.requirement("SAFE-2", "API-8")
def test_nothing_but_our_own_errors_ever_comes_out(a: object, b: object, c: object, d: object, e: object) -> None:
    settings = {"policy": LookupPolicy(), "search": SearchPolicy()}
    for name in ("category", "scope", "where", "mode", "retrieve_k", "return_n", "min_similarity"):
        for value in (a, b):
            try:
                request = admit("x", **{name: value}, **settings)  # type: ignore[arg-type]  # raw on purpose
            except CitewellError as refused:
                assert refused.way_out  # noqa: PT017 - both outcomes are right, each has its own check
            else:
                assert request.policy.retrieve_k >= request.policy.return_n >= 1
    try:
        admit(a, category=b, scope=c, where={"a": d}, mode=e, **settings)  # type: ignore[arg-type]  # raw on purpose
    except CitewellError as refused:
        assert refused.way_out  # noqa: PT017 - as above


@given(st.lists(UNICODE.filter(str.strip)))
@pytest.mark.requirement("SAFE-2", "SAFE-3")
def test_labels_come_out_as_they_went_in_whatever_their_order(labels: list[str]) -> None:
    admitted = check_labels(labels)
    assert admitted == tuple(sorted(set(labels))) == check_labels(labels[::-1]) == check_labels(set(labels))
    assert check_labels(admitted) == admitted


@given(UNICODE)
@pytest.mark.requirement("SAFE-2")
def test_admitting_a_category_again_changes_nothing(category: str) -> None:
    once = check_category(category)
    assert check_category(once) == once == check_category([category])
    assert (once is None) == (not category.strip())
