"""Of many documents those close to a question are found by bits, few are compared, and none is out of scope."""

from __future__ import annotations

import numpy as np
import pytest

from citewell.fusion import fuse
from citewell.hints.near import EXACT, Near
from citewell.hints.sides import PLANES, Sides
from citewell.hints.source import _in_question


def at_right_angles(rng: np.random.Generator, count: int, dimensions: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of unit vectors."""
    one, other = rng.normal(size=(2, count, dimensions))
    one /= np.linalg.norm(one, axis=1, keepdims=True)
    other -= (one * other).sum(axis=1, keepdims=True) * one
    return one, other / np.linalg.norm(other, axis=1, keepdims=True)


def apart(dimensions: int, ones: np.ndarray, others: np.ndarray) -> np.ndarray:
    """On different sides of how many planes each pair lies."""
    sides = Sides(dimensions)
    different = sides.of(ones.astype(np.float32)) ^ sides.of(others.astype(np.float32))
    found: np.ndarray = np.bitwise_count(different).sum(axis=1)
    return found


@pytest.mark.parametrize("dimensions", [2, 7, 64, 384, 1_536])
@pytest.mark.requirement("L0-1")
def test_two_directions_lie_on_different_sides_of_as_many_planes_as_their_angle_says(dimensions: int) -> None:
    """At 60 degrees, a third of a half turn, a third of the planes: 85 of 255."""
    one, other = at_right_angles(np.random.default_rng(1), 200, dimensions)
    assert PLANES == 255
    assert abs(apart(dimensions, one, 0.5 * one + 0.75**0.5 * other).mean() - 85) < 4
    assert set(apart(dimensions, one, one).tolist()) == {0}
    assert set(apart(dimensions, one, -one).tolist()) == {255}


@pytest.mark.requirement("L0-1")
def test_directions_that_share_most_of_themselves_are_told_apart_all_the_same() -> None:
    """Of (3a + b) and (3a - b), at right angles: 2 arctan(1 / 3), 36.9 degrees, 52.2 of 255 planes."""
    one, other = at_right_angles(np.random.default_rng(2), 200, 384)
    assert abs(apart(384, 3 * one + other, 3 * one - other).mean() - 52.2) < 2


@pytest.mark.parametrize("dimensions", [32, 384])
@pytest.mark.requirement("L0-1")
def test_of_many_documents_without_any_order_in_them_the_closest_is_among_those_compared(dimensions: int) -> None:
    rng = np.random.default_rng(3)
    centres = rng.normal(size=(EXACT + 3_000, dimensions))
    centres = (centres / np.linalg.norm(centres, axis=1, keepdims=True)).astype(np.float16)
    near = Near(dimensions)
    for asked in rng.integers(len(centres), size=50).tolist():
        beside = centres[asked] + rng.normal(size=dimensions) / dimensions**0.5
        slots, _ = near.scores(centres, beside.astype(np.float32), None)
        assert asked in slots
        assert slots.size < 2_000


@pytest.mark.requirement("SAFE-1")
def test_documents_out_of_scope_are_not_compared_even_where_all_within_lie_opposite_to_the_question() -> None:
    axis = np.zeros(8, np.float16)
    axis[0] = 1
    centres = np.concatenate([np.tile(-axis, (EXACT + 1, 1)), np.tile(axis, (EXACT + 1, 1))])
    allowed = np.arange(len(centres)) <= EXACT
    slots, scores = Near(8).scores(centres, axis.astype(np.float32), allowed)
    assert slots.tolist() == list(range(EXACT + 1))
    assert set(scores.tolist()) == {-1.0}


@pytest.mark.requirement("L0-1")
def test_what_is_left_out_of_the_fusion_changes_nothing_of_its_best() -> None:
    rng = np.random.default_rng(4)
    for _ in range(300):
        sizes, kinds = rng.integers(0, 21, size=2), rng.integers(20, 60)
        lexical, dense = ([f"{key}" for key in rng.permutation(kinds)[:size]] for size in sizes)
        for rankings in ({"lexical": lexical, "dense": dense}, {"lexical": lexical}):
            assert fuse(_in_question(rankings, 5))[:5] == fuse(rankings)[:5]
