"""The rows of a large view that are scored: the nearest are among them, with or without a filter."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from citewell.adapters.local import vectors
from citewell.adapters.local.candidates import nth_best
from citewell.adapters.local.segments import Postings, Segment
from citewell.adapters.local.view import View
from citewell.testing.store_base import random_units

DIMENSIONS = 128
NONE = np.empty(0, dtype=np.int32)


def segment(first: int, rows: np.ndarray) -> Segment:
    """A segment of these vectors and no terms, sealed if it is long."""
    nothing = np.zeros(len(rows), dtype=np.int64)
    postings = Postings(NONE, None, NONE, NONE.astype(np.uint16))
    numbers = np.arange(first, first + len(rows))
    open_one = Segment(numbers, nothing, nothing.astype(np.int32), np.ascontiguousarray(rows), postings)
    return open_one.sealed() if len(rows) > 1_024 else open_one


def view(rows: np.ndarray, *cuts: int) -> View:
    """A view of these vectors, cut into segments."""
    edges = (0, *cuts, len(rows))
    segments = tuple(segment(start, rows[start:end]) for start, end in pairwise(edges))
    slots = np.arange(len(rows))
    return View(1, segments, slots, np.zeros(len(rows), dtype=np.int32), np.ones(len(rows), dtype=np.bool_))


@cache
def clustered() -> tuple[np.ndarray, np.ndarray]:
    """30,000 vectors in 500 clusters and 20 queries near them; every coordinate weighs less than the one before."""
    chance = np.random.default_rng(4)
    weights = (1 + np.arange(DIMENSIONS)) ** -0.5
    centres = chance.standard_normal((500, DIMENSIONS))
    rows = (centres[chance.integers(0, 500, 30_020)] + 0.9 * chance.standard_normal((30_020, DIMENSIONS))) * weights
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return rows[20:], rows[:20]


def recall(of: View, k: int, allowed: np.ndarray | None) -> float:
    """The share of the k nearest that are found."""
    rows, queries = clustered()
    shares = []
    for query in queries:
        products = rows @ query if allowed is None else np.where(allowed, rows @ query, -2)
        slots, scores = vectors.nearest(of, query, k, allowed)
        assert slots.size == k
        assert scores == pytest.approx(products[slots], abs=1e-5)
        shares.append(np.isin(np.argsort(-products)[:k], slots).mean())
    return float(np.mean(shares))


@pytest.mark.parametrize("cuts", [(), (18_000, 26_000, 29_500)], ids=["one segment", "four segments"])
@pytest.mark.parametrize("share", [None, 0.999, 0.7, 0.65, 0.59])
def test_nearly_all_of_the_nearest_are_found(cuts: tuple[int, ...], share: float | None) -> None:
    """Among segments with codes and small ones without, and where a filter lets many pass or some have gone."""
    allowed = None if share is None else np.random.default_rng(6).random(30_000) < share
    assert recall(view(clustered()[0], *cuts), 20, allowed) >= 0.99


@pytest.mark.parametrize("k", [1, 10, 200, 1_500])
def test_few_and_many_are_found_alike(k: int) -> None:
    assert recall(view(clustered()[0], 20_000), k, None) >= 0.98


def test_the_same_is_found_again() -> None:
    rows, queries = clustered()
    first, second = (vectors.nearest(view(rows, 20_000), queries[0], 50, None) for _ in range(2))
    assert [part.tobytes() for part in first] == [part.tobytes() for part in second]


def test_equal_rows_of_a_segment_are_found_together_with_equal_scores() -> None:
    rows = np.repeat(random_units(750, DIMENSIONS, seed=1), 40, axis=0)
    slots, scores = vectors.nearest(view(rows), rows[0], 50, None)
    assert slots.size % 40 == 0
    assert np.sort(slots)[:40].tolist() == list(range(40))
    assert np.unique(scores).size == slots.size // 40


def test_rows_that_are_all_equal_have_one_score() -> None:
    rows = np.tile(random_units(1, DIMENSIONS, seed=1), (30_000, 1))
    slots, scores = vectors.nearest(view(rows, 20_000), rows[0], 5, None)
    assert slots.size >= 5
    assert np.unique(scores).size == 1


@pytest.mark.parametrize("cuts", [(), (20_000,)], ids=["one segment", "two segments"])
def test_rows_that_most_of_the_store_repeats_are_all_found(cuts: tuple[int, ...]) -> None:
    """29,000 of 30,000 are the query itself: they tie, and whoever ranks them needs all."""
    rows = random_units(30_000, DIMENSIONS, seed=1)
    rows[:29_000] = random_units(1, DIMENSIONS, seed=2)
    assert np.sort(vectors.nearest(view(rows, *cuts), rows[0], 20, None)[0]).tolist() == list(range(29_000))


@pytest.mark.parametrize("share", [None, 0.5])
def test_a_row_that_most_of_the_store_repeats_hides_no_other(share: float | None) -> None:
    """It lies nearer than most others, but farther than twenty; its estimate errs 29,000 times alike."""
    rows, query = random_units(30_000, DIMENSIONS, seed=1), random_units(1, DIMENSIONS, seed=2)[0]
    rows[:29_000] = query + 3 * rows[0]
    rows[29_000::50] += query * 0.6
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    allowed = None if share is None else np.random.default_rng(6).random(30_000) < share
    products = rows @ query if allowed is None else np.where(allowed, rows @ query, -2)
    found, _ = vectors.nearest(view(rows), query, 8, allowed)
    assert np.sort(found).tolist() == np.sort(np.argsort(-products)[:8]).tolist()


@pytest.mark.parametrize("k", [1, 20, 100])
def test_of_five_rows_that_all_others_repeat_the_nearest_is_found(k: int) -> None:
    rows = random_units(5, DIMENSIONS, seed=3)[np.random.default_rng(7).integers(0, 5, 30_000)]
    for query in random_units(10, DIMENSIONS, seed=4):
        products = rows @ query
        found, _ = vectors.nearest(view(rows), query, k, None)
        assert np.sort(found).tolist() == np.flatnonzero(products > products.max() - 1e-5).tolist()


def test_what_lies_where_no_sample_is_taken_is_found_too() -> None:
    """Every sixteenth vector is near the query and far from all others, so that a sample of these tells nothing."""
    rows, query = random_units(30_000, DIMENSIONS, seed=1), random_units(1, DIMENSIONS, seed=2)[0]
    rows[::16] = query + 0.05 * rows[::16]
    rows[5::1000] = query + 0.001 * rows[5::1000]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    assert np.sort(vectors.nearest(view(rows), query, 30, None)[0]).tolist() == list(range(5, 30_000, 1000))


@pytest.mark.parametrize(("n", "expected"), [(1, 9.0), (2, 9.0), (3, 4.0), (4, 1.0), (7, 1.0)])
def test_the_nth_best_is_counted_with_ties_and_is_the_last_where_there_are_fewer(n: int, expected: float) -> None:
    assert nth_best(np.array([4, 9, 1, 9], dtype=np.float32), n) == expected


def test_of_nothing_no_value_is_the_nth_best() -> None:
    assert nth_best(np.empty(0, dtype=np.float32), 3) == np.inf
