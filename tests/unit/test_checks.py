"""Each kind of argument has one check: what is of its kind comes back, all else is refused by name and value."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from citewell.checks import check_count, check_list, check_mapping, check_number, check_text, check_texts, shown
from citewell.errors import InvalidRequest


class Unshowable:
    """Raises when it is asked what it looks like."""

    def __repr__(self) -> str:
        raise RuntimeError


def refusal(check: Callable[[str, object], object], value: object) -> str:
    with pytest.raises(InvalidRequest) as refused:
        check("it", value)
    assert refused.value.way_out
    return str(refused.value)


@pytest.mark.requirement("API-1")
def test_a_count_is_an_integer_within_bounds_also_one_of_numpy() -> None:
    assert check_count("it", 1) == 1
    assert type(check_count("it", np.uint8(3))) is int
    assert check_count("it", 10**30) == 10**30
    assert check_count("neighbours", 0, least=0, most=10) == 0
    with pytest.raises(InvalidRequest, match=r"neighbours can't be 11\. Give an integer from 0 to 10\."):
        check_count("neighbours", 11, least=0, most=10)


@pytest.mark.requirement("API-1")
@pytest.mark.parametrize("value", [0, -1, True, np.bool_(True), 2.0, 2.5, "3", None, [3], math.nan, np.array([1, 2])])
def test_what_is_no_count_is_refused_with_name_value_and_bounds(value: object) -> None:
    assert refusal(check_count, value) == f"it can't be {shown(value)}. Give an integer >= 1."


@pytest.mark.requirement("API-1")
def test_a_number_is_real_and_finite_and_comes_back_as_a_float() -> None:
    for value in (1, 0.25, np.float32(0.5), np.int64(2), Fraction(1, 4)):
        assert check_number("it", value) == float(value)
        assert type(check_number("it", value)) is float
    assert check_number("it", 1, least=-1, most=1) == 1


@pytest.mark.requirement("API-1")
@pytest.mark.parametrize(
    "value", [None, True, "0.5", math.nan, math.inf, 10**400, -(10**400), Decimal("0.5"), 1j, [0.5], np.array([1, 2])]
)
def test_what_is_no_finite_number_is_refused_with_name_and_value(value: object) -> None:
    assert refusal(check_number, value) == f"it can't be {shown(value)}. Give a finite number."


@pytest.mark.requirement("API-1")
def test_a_number_out_of_bounds_is_refused_with_what_is_wanted() -> None:
    for value in (-1.1, 1.1):
        with pytest.raises(InvalidRequest, match=r"Give a number from -1 to 1\."):
            check_number("it", value, least=-1, most=1, wanted="a number from -1 to 1")


@pytest.mark.requirement("API-1")
@pytest.mark.parametrize("value", [None, 5, b"text", ["text"], Unshowable()])
def test_a_text_is_a_text(value: object) -> None:
    assert check_text("it", "") == ""
    assert refusal(check_text, value).endswith("Give a text.")


@pytest.mark.requirement("API-1")
def test_a_list_is_anything_with_an_order() -> None:
    for value in (["a", "b"], ("a", "b"), iter("ab"), np.array(["a", "b"]), {"a": 1, "b": 2}.keys()):
        assert check_list("it", value) == ["a", "b"]
    assert check_texts("it", ("a",)) == ["a"]


@pytest.mark.requirement("API-1")
@pytest.mark.parametrize("value", [None, 5, "ab", b"ab", {"a": 1}, {"a"}, frozenset("a"), np.array(3), str])
def test_letters_keys_and_what_has_no_order_are_no_list(value: object) -> None:
    for check in (check_list, check_texts):
        assert refusal(check, value).startswith(f"it can't be {shown(value)}. Give a list")


@pytest.mark.requirement("API-1")
@pytest.mark.parametrize("item", [None, 1, b"a", ["a"]])
def test_the_item_that_is_no_text_is_named(item: object) -> None:
    assert refusal(check_texts, ["a", item]).startswith(f"it can't hold {item!r}. Give ")


@pytest.mark.requirement("API-1")
def test_a_mapping_has_texts_as_keys() -> None:
    assert check_mapping("it", {"a": 1}) == {"a": 1}
    for value in (None, [("a", 1)], "a", 5):
        assert refusal(check_mapping, value).startswith(f"it can't be {value!r}. Give ")
    assert refusal(check_mapping, {"a": 1, 2: 3}).startswith("it can't have a key 2. Give ")


@pytest.mark.requirement("API-1")
@pytest.mark.parametrize(
    "value",
    ["x" * 100_000, ["x" * 100_000] * 9, 10**6_000, [10**6_000], Unshowable(), {1: 2}],
    ids=["text", "texts", "integer", "integers", "unshowable", "mapping"],
)
def test_a_message_shows_any_value_in_a_line(value: object) -> None:
    assert 0 < len(shown(value)) < 600
    assert "\n" not in shown(value)
