"""Sign codes: what they keep of an angle, and that they choose the right candidates."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from citewell.adapters.local.codes import _least, _rotation, make_codes
from citewell.testing.store_base import random_units


def neighbours(dimensions: int, *, skewed: bool, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """8,000 clustered vectors and 50 queries near the clusters; skewed = most energy in few dimensions."""
    chance = np.random.default_rng(seed)
    spread = 1 / np.sqrt(1 + np.arange(dimensions)) if skewed else np.ones(dimensions)
    centres = chance.standard_normal((300, dimensions)) * spread
    owners = chance.integers(0, 300, 8_050)
    rows = centres[owners] + 0.7 * chance.standard_normal((8_050, dimensions)) * spread
    if skewed:
        rows[:, 3] += 4.0
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return rows[50:], rows[:50]


@pytest.mark.parametrize("dimensions", [1, 63, 64, 100, 384])
def test_the_rotation_keeps_every_angle(dimensions: int) -> None:
    rotation = _rotation(dimensions)
    assert rotation.shape == (dimensions, -(-dimensions // 64) * 64)
    assert rotation @ rotation.T == pytest.approx(np.eye(dimensions), abs=1e-6)


def test_the_rotation_is_the_same_on_every_machine() -> None:
    """Files hold codes made with it: its entries are exact multiples of 1/64, whatever added them up."""
    rotation = _rotation(100) * 64
    assert (rotation == np.round(rotation)).all()
    assert hashlib.sha256((rotation / 64).astype("<f4").tobytes()).hexdigest()[:16] == "24022bb5955d589d"


@pytest.mark.parametrize("skewed", [False, True], ids=["even", "skewed"])
@pytest.mark.parametrize("dimensions", [100, 384])
def test_an_eighth_of_the_vectors_holds_the_nearest_twenty(dimensions: int, skewed: bool) -> None:
    vectors, queries = neighbours(dimensions, skewed=skewed)
    codes = make_codes(vectors)
    found = [
        np.isin(np.argsort(-(vectors @ query))[:20], codes.nearest(query, 1_000, None)).mean() for query in queries
    ]
    assert np.mean(found) >= 0.99


def test_a_mask_is_held_to_and_filled_up_from_farther_away() -> None:
    vectors, queries = neighbours(64, skewed=False)
    allowed = np.zeros(len(vectors), dtype=np.bool_)
    allowed[::7] = True
    places = make_codes(vectors).nearest(queries[0], 500, allowed)
    assert allowed[places].all()
    assert 500 <= places.size < 700
    assert (np.diff(places) > 0).all()


@pytest.mark.parametrize("share", [0.05, 0.3, 0.59, 0.61, 0.9, 0.999])
@pytest.mark.parametrize("wanted", [20, 500])
def test_however_many_are_allowed_they_are_the_best_of_those(share: float, wanted: int) -> None:
    """Few are taken out and compared alone, many are compared among all; the estimates are the same."""
    vectors, queries = neighbours(64, skewed=False)
    codes = make_codes(vectors)
    allowed = np.random.default_rng(6).random(len(vectors)) < share
    for query in queries[:5]:
        estimates = codes.estimates(query)
        least = np.sort(estimates[allowed])[::-1][wanted - 1] if allowed.sum() >= wanted else -np.inf
        expected = np.flatnonzero(allowed & (estimates >= least))
        assert codes.nearest(query, wanted, allowed).tolist() == expected.tolist()


@pytest.mark.parametrize("share", [0.1, 0.9])
def test_asking_for_more_than_are_allowed_returns_those(share: float) -> None:
    vectors = random_units(200, 64, seed=1)
    allowed = np.random.default_rng(6).random(200) < share
    assert make_codes(vectors).nearest(vectors[3], 199, allowed).tolist() == np.flatnonzero(allowed).tolist()


def test_equal_vectors_are_chosen_together_or_not_at_all() -> None:
    vectors = np.repeat(random_units(40, 64, seed=1), 25, axis=0)
    places = make_codes(vectors).nearest(vectors[0], 30, None)
    assert places.size % 25 == 0
    assert places[:25].tolist() == list(range(25))


def test_asking_for_more_than_there_are_returns_all() -> None:
    vectors = random_units(10, 64, seed=1)
    assert make_codes(vectors).nearest(vectors[3], 1_000, None).tolist() == list(range(10))


@given(arrays(np.float32, st.integers(1, 300), elements=st.integers(-9, 9).map(float)), st.integers(1, 320))
def test_the_bound_of_the_best_is_exact_although_it_is_sought_in_a_sample(values: np.ndarray, wanted: int) -> None:
    assert _least(values, wanted) == np.sort(values)[::-1][min(wanted, values.size) - 1]


@pytest.mark.parametrize("dimensions", [64, 100, 384])
def test_weights_count_small_coordinates_once_and_large_ones_three_times(dimensions: int) -> None:
    vectors = random_units(300, dimensions, seed=8)
    codes = make_codes(vectors)
    rotation = _rotation(dimensions)
    query = vectors[3] @ rotation
    weights = np.where(np.abs(query) > 0.98 * np.sqrt(np.square(query).mean()), 3, 1)
    differs = ((vectors - vectors.mean(axis=0)) @ rotation > 0) != (query > 0)
    estimates = (weights.sum() - 2 * (differs * weights).sum(axis=1)) * codes.scales
    assert codes.estimates(vectors[3]) == pytest.approx(estimates, rel=1e-5)


def test_vectors_that_are_all_the_same_have_codes_too() -> None:
    same = np.full((50, 64), 0.125, dtype=np.float32)
    assert make_codes(same).nearest(same[0], 5, None).size == 50
