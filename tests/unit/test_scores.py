"""One similarity for every metric, higher is closer (SCORE-2)."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.checks import shown
from citewell.errors import InvalidRequest
from citewell.scores import normalize_cosine, normalize_ip, normalize_l2

FINITE = st.floats(allow_nan=False, allow_infinity=False)
EVERY: list[Callable[[float], float]] = [
    normalize_cosine,
    normalize_ip,
    normalize_l2,
    lambda score: normalize_ip(score, unit=False),
    lambda distance: normalize_l2(distance, unit=False),
]


@pytest.mark.requirement("SCORE-2")
@pytest.mark.parametrize(
    ("distance", "similarity"),
    [(0, 1.0), (0.5, 0.75), (2, 0.0), (4, -1.0), (4.0001, -1.0), (1e308, -1.0), (-1e-7, 1.0), (np.float32(2), 0.0)],
)
def test_squared_l2_of_unit_vectors_is_turned_into_their_cosine(distance: float, similarity: float) -> None:
    assert normalize_l2(distance) == similarity


@pytest.mark.requirement("SCORE-2")
@pytest.mark.parametrize(("distance", "similarity"), [(0, 1.0), (1, 0.5), (3, 0.25), (1e308, 1e-308), (-1e-7, 1.0)])
def test_squared_l2_of_other_vectors_is_one_over_one_plus_it(distance: float, similarity: float) -> None:
    assert normalize_l2(distance, unit=False) == pytest.approx(similarity, rel=1e-15)


@pytest.mark.requirement("SCORE-2")
@pytest.mark.parametrize("score", [-1.0, -0.5, -0.0, 0, 0.25, 1.0])
def test_cosine_and_inner_product_of_unit_vectors_are_similarities_already(score: float) -> None:
    assert normalize_cosine(score) == score
    assert normalize_ip(score) == score


@pytest.mark.requirement("SCORE-2")
@pytest.mark.parametrize(("score", "clipped"), [(1.0000001, 1.0), (-1.0000001, -1.0), (1e308, 1.0), (-1e308, -1.0)])
def test_rounding_beyond_one_is_clipped(score: float, clipped: float) -> None:
    assert normalize_cosine(score) == clipped
    assert normalize_ip(score) == clipped


@pytest.mark.requirement("SCORE-2")
@pytest.mark.parametrize(
    ("score", "similarity"),
    [(0, 0.0), (1, 0.5), (-1, -0.5), (3, 0.75), (-3, -0.75), (1e308, 1.0), (-1e308, -1.0), (1e-200, 1e-200)],
)
def test_inner_product_of_other_vectors_is_squeezed_into_the_range(score: float, similarity: float) -> None:
    assert normalize_ip(score, unit=False) == pytest.approx(similarity, rel=1e-15)


@pytest.mark.requirement("SCORE-2")
def test_the_three_metrics_agree_on_unit_vectors() -> None:
    """Trials I36, I37: the exact match comes first under each of them, and the similarity is the same."""
    query = np.array([1.0, 0.0])
    angles = np.linspace(0, math.pi, 21)
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    cosines = [normalize_cosine(float(vector @ query)) for vector in vectors]
    products = [normalize_ip(float(vector @ query)) for vector in vectors]
    distances = [normalize_l2(float(((vector - query) ** 2).sum())) for vector in vectors]
    assert products == cosines
    assert distances == pytest.approx(cosines, abs=1e-12)
    assert cosines[0] == 1.0
    assert all(closer > farther for closer, farther in pairwise(distances))


@pytest.mark.requirement("SCORE-2")
@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, -math.inf, True, None, "0.5", 10**400, [0.5], [10**6_000]],
    ids=lambda value: shown(value),
)
@pytest.mark.parametrize("normalize", EVERY)
def test_what_is_no_finite_number_is_no_similarity(normalize: Callable[[object], float], value: object) -> None:
    with pytest.raises(InvalidRequest, match="is no similarity") as caught:
        normalize(value)
    assert "unknown" in caught.value.way_out


@pytest.mark.requirement("SCORE-2")
@given(FINITE, FINITE)
def test_higher_never_means_farther_over_the_whole_range(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert normalize_cosine(low) <= normalize_cosine(high)
    assert normalize_ip(low) <= normalize_ip(high)
    assert normalize_ip(low, unit=False) <= normalize_ip(high, unit=False)
    assert normalize_l2(low) >= normalize_l2(high)
    assert normalize_l2(low, unit=False) >= normalize_l2(high, unit=False)


@pytest.mark.requirement("SCORE-2")
@given(st.floats(-1e12, 1e12))
def test_neighbouring_numbers_are_never_turned_around_by_rounding(score: float) -> None:
    ascending = [score]
    for _ in range(8):
        ascending.append(math.nextafter(ascending[-1], math.inf))
    squeezed = [normalize_ip(value, unit=False) for value in ascending]
    assert squeezed == sorted(squeezed)
    distances = [normalize_l2(value, unit=False) for value in ascending]
    assert distances == sorted(distances, reverse=True)


@pytest.mark.requirement("SCORE-2")
@given(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3))
def test_numbers_that_differ_visibly_keep_differing(one: float, other: float) -> None:
    low, high = sorted((one, other))
    if high - low < 1e-6:
        return
    assert normalize_ip(low, unit=False) < normalize_ip(high, unit=False)
    if low >= 0:
        assert normalize_l2(low, unit=False) > normalize_l2(high, unit=False)
    if low >= 0 and high <= 4:
        assert normalize_l2(low) > normalize_l2(high)
    if low >= -1 and high <= 1:
        assert normalize_ip(low) < normalize_ip(high)
        assert normalize_cosine(low) < normalize_cosine(high)


@pytest.mark.requirement("SCORE-2")
@given(FINITE)
def test_every_similarity_is_in_the_range_of_a_floor(value: float) -> None:
    for normalize in EVERY:
        assert -1.0 <= normalize(value) <= 1.0
