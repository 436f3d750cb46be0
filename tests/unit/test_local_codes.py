"""Sign codes: what they keep of an angle, and how near their estimates come to the products."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from citewell.adapters.local.codes import _rotation, ask, make_codes
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
def test_a_fifth_of_the_vectors_by_its_estimate_holds_the_nearest_twenty(dimensions: int, skewed: bool) -> None:
    vectors, queries = neighbours(dimensions, skewed=skewed)
    codes = make_codes(vectors)
    found = [
        np.isin(np.argsort(-(vectors @ query))[:20], np.argsort(-codes.estimates(ask(query)))[:1_600]).mean()
        for query in queries
    ]
    assert np.mean(found) >= 0.99


def test_estimates_lie_around_the_products() -> None:
    vectors, queries = neighbours(384, skewed=True)
    codes = make_codes(vectors)
    errors = np.stack([codes.estimates(ask(query)) - vectors @ query for query in queries])
    spread = float(np.sqrt(np.square(errors).mean()))
    assert spread < 0.05
    assert abs(errors.mean()) < 0.1 * spread


def test_estimates_can_be_compared_though_their_codes_were_centred_with_other_means() -> None:
    vectors, queries = neighbours(100, skewed=True)
    halves = np.argsort(vectors[:, 3])
    near, far = make_codes(vectors[halves[:4_000]]), make_codes(vectors[halves[4_000:]])
    found = []
    for query in queries:
        estimates = np.empty(8_000, dtype=np.float32)
        estimates[halves[:4_000]], estimates[halves[4_000:]] = near.estimates(ask(query)), far.estimates(ask(query))
        found.append(np.isin(np.argsort(-(vectors @ query))[:20], np.argsort(-estimates)[:1_600]).mean())
    assert np.mean(found) >= 0.99


@pytest.mark.parametrize("count", [1, 300, 140_000])
def test_some_codes_taken_out_say_the_same_as_among_all(count: int) -> None:
    """However many there are: long blocks are compared in slices."""
    vectors = random_units(count, 64, seed=8)
    codes, asked = make_codes(vectors), ask(random_units(1, 64, seed=9)[0])
    places = np.arange(0, count, 7)
    assert codes.at(places).estimates(asked).tolist() == codes.estimates(asked)[places].tolist()


def test_equal_codes_have_equal_estimates_wherever_they_lie() -> None:
    vectors = random_units(40, 64, seed=1)
    codes, asked = make_codes(vectors).at(np.tile(np.arange(40), 25)), ask(vectors[0])
    assert (codes.estimates(asked).reshape(25, 40) == codes.estimates(asked)[:40]).all()


@pytest.mark.parametrize("dimensions", [64, 100, 384, 1_000])
def test_the_largest_five_eighths_of_a_query_are_compared_and_count_alike(dimensions: int) -> None:
    vectors = random_units(300, dimensions, seed=8)
    codes = make_codes(vectors)
    rotation = _rotation(dimensions)
    query, middle = vectors[3] @ rotation, vectors.mean(axis=0) @ rotation
    largest = np.argsort(-np.abs(query))[: query.size * 5 // 8]
    agrees = ((vectors @ rotation - middle > 0) == (query > 0))[:, largest]
    agreement = agrees.sum(axis=1) - (~agrees).sum(axis=1)
    estimates = agreement * codes.scales * np.abs(query[largest]).mean() + middle @ query
    assert codes.estimates(ask(vectors[3])) == pytest.approx(estimates, rel=1e-4, abs=1e-6)


def test_vectors_that_are_all_the_same_have_codes_too() -> None:
    same = np.full((50, 64), 0.125, dtype=np.float32)
    assert make_codes(same).estimates(ask(same[0])) == pytest.approx(np.ones(50), rel=1e-5)


def test_a_query_of_zeros_is_as_far_from_everything() -> None:
    assert (make_codes(random_units(50, 64, seed=1)).estimates(ask(np.zeros(64, dtype=np.float32))) == 0).all()
