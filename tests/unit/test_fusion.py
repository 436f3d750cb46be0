"""Reciprocal rank fusion, worked out by hand (RRF-1..6); the rank of a list's first key is 1."""

from __future__ import annotations

import itertools
import math
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import FrozenInstanceError
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from citewell.errors import InvalidRequest
from citewell.fusion import Fused, check_weights, fuse

KEYS = st.sampled_from([f"{name}#chunk-{index}" for name in "abcd" for index in range(3)])
RANKINGS = st.dictionaries(
    st.sampled_from(["dense", "dense_filtered", "lexical", "windows"]), st.lists(KEYS, max_size=8), max_size=4
)
WEIGHTS = st.dictionaries(
    st.sampled_from(["dense", "dense_filtered", "lexical"]), st.sampled_from([0.0, 0.1, 0.3, 0.7, 1.0, 1.5, 2.0])
)
SIMILARITY = st.dictionaries(KEYS, st.sampled_from([-0.5, 0.0, 0.1, 0.9, math.nan]))


def order(rankings: Mapping[str, Sequence[str]], **options: Mapping[str, float]) -> list[str]:
    return [fused.key for fused in fuse(rankings, **options)]  # type: ignore[arg-type]  # only mappings are passed


@pytest.mark.requirement("RRF-1", "RRF-4", "RRF-5")
def test_a_key_found_by_three_paths_gets_three_votes_and_keeps_its_rank_in_each() -> None:
    """Trials I01, I06, I07, I18: one id space, agreement earns, and each path's rank is told."""
    fused = fuse({"dense": ["a", "b"], "dense_filtered": ["a"], "lexical": ["c", "a"]})
    assert fused == (
        Fused("a", 1 / 61 + 1 / 61 + 1 / 62, {"dense": 1, "dense_filtered": 1, "lexical": 2}),
        Fused("c", 1 / 61, {"lexical": 1}),
        Fused("b", 1 / 62, {"dense": 2}),
    )
    assert fuse({path: ["x"] for path in ("dense", "dense_filtered", "lexical")})[0].score == pytest.approx(3 / 61)


@pytest.mark.requirement("RRF-1")
def test_k_says_how_much_the_first_ranks_stand_out() -> None:
    assert [fused.score for fused in fuse({"dense": ["a", "b"]}, k=1)] == [1 / 2, 1 / 3]
    assert [fused.score for fused in fuse({"dense": ["a", "b"]}, k=0.5)] == [1 / 1.5, 1 / 2.5]


@pytest.mark.requirement("RRF-2")
def test_a_key_found_twice_in_one_path_votes_once_at_its_best_rank() -> None:
    """Trial I02; the place of the repeated key stays taken: what stood fourth has rank 4."""
    fused = fuse({"dense": ["a", "b", "a", "c"]})
    assert [(entry.key, entry.score) for entry in fused] == [("a", 1 / 61), ("b", 1 / 62), ("c", 1 / 64)]
    assert [entry.ranks for entry in fused] == [{"dense": 1}, {"dense": 2}, {"dense": 4}]


@pytest.mark.requirement("RRF-2")
def test_chunks_of_one_document_are_not_summed_up() -> None:
    """Trial I02: a long document collects no votes from its chunks."""
    keys = ["alpha#chunk-0", "alpha#chunk-1", "alpha#chunk-2", "beta#chunk-0"]
    assert [fused.score for fused in fuse({"dense": keys})] == [1 / 61, 1 / 62, 1 / 63, 1 / 64]


@pytest.mark.requirement("RRF-1")
def test_weights_change_the_order() -> None:
    """Trial I10: with the weights swapped, the order swaps."""
    rankings = {"dense": ["d"], "lexical": ["l"]}
    assert fuse(rankings, weights={"dense": 1, "lexical": 0.5})[0] == Fused("d", 1 / 61, {"dense": 1})
    assert order(rankings, weights={"dense": 0.5, "lexical": 1}) == ["l", "d"]
    assert fuse(rankings, weights={"lexical": 2})[0].score == 2 / 61


@pytest.mark.requirement("RRF-1")
def test_what_only_weightless_paths_found_stays_with_score_zero_at_the_end() -> None:
    """Trials I04, I10: weight 0 silences a path, it hides nothing and repeats nothing."""
    fused = fuse({"dense": ["a", "b"], "lexical": ["x", "b", "a"]}, weights={"dense": 1, "lexical": 0})
    assert [(entry.key, entry.score) for entry in fused] == [("a", 1 / 61), ("b", 1 / 62), ("x", 0.0)]
    assert fused[2].ranks == {"lexical": 1}


@pytest.mark.requirement("RRF-1")
def test_a_weight_of_a_known_path_that_did_not_run_is_allowed() -> None:
    assert order({"dense": ["a"]}, weights={"lexical": 0.3, "dense_filtered": 0.3}) == ["a"]


@pytest.mark.requirement("RRF-1", "PORT-5")
def test_a_further_ranking_may_be_fused_and_weighed() -> None:
    fused = fuse({"windows": ["w", "a"], "dense": ["a"]}, weights={"windows": 3})
    assert fused[0] == Fused("a", 1 / 61 + 3 / 62, {"dense": 1, "windows": 2})
    assert list(fused[0].ranks) == ["dense", "windows"]
    assert fused[1] == Fused("w", 3 / 61, {"windows": 1})


@pytest.mark.requirement("RRF-1")
@pytest.mark.parametrize("path", ["lexcial", "windows", "Dense", ""])
def test_a_weight_of_an_unknown_path_is_refused_by_name(path: str) -> None:
    with pytest.raises(InvalidRequest, match=f"{path!r}, which is no path") as caught:
        fuse({"dense": ["a"]}, weights={path: 1.0})
    assert "dense_filtered" in caught.value.way_out


@pytest.mark.requirement("RRF-1")
@pytest.mark.parametrize("weight", [-0.1, math.nan, math.inf, -math.inf, True])
def test_a_weight_that_is_no_finite_number_from_zero_is_refused(weight: float) -> None:
    with pytest.raises(InvalidRequest, match="the weight of 'lexical' can't be"):
        fuse({"dense": ["a"]}, weights={"lexical": weight})


@pytest.mark.requirement("RRF-1")
def test_weights_that_add_up_to_infinity_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="add up to infinity"):
        fuse({"dense": ["a"], "lexical": ["a"]}, weights={"dense": 1e308, "lexical": 1e308})


@pytest.mark.requirement("RRF-1")
@pytest.mark.parametrize("k", [0, -1, math.nan, math.inf, True])
def test_k_that_is_no_finite_number_above_zero_is_refused(k: float) -> None:
    with pytest.raises(InvalidRequest, match="constant k"):
        fuse({"dense": ["a"]}, k=k)


@pytest.mark.requirement("RRF-1")
@pytest.mark.parametrize("k", ["60", None, [60], 10**400, 1j, np.array([60, 60])])
def test_k_of_another_kind_is_refused_by_name_and_value(k: Any) -> None:  # noqa: ANN401 - raw on purpose
    with pytest.raises(InvalidRequest, match="the constant k of the fusion can't be") as caught:
        fuse({"dense": ["a"]}, k=k)
    assert caught.value.way_out


@pytest.mark.requirement("RRF-1")
@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"rankings": None}, "rankings can't be None"),
        ({"rankings": ["a"]}, "rankings can't be ['a']"),
        ({"rankings": {1: ["a"]}}, "rankings can't have a key 1"),
        ({"rankings": {"dense": None}}, "the ranking of 'dense' can't be None"),
        ({"rankings": {"dense": {"a", "b"}}}, "the ranking of 'dense' can't be {'a', 'b'}"),
        ({"rankings": {"dense": ["a", 5]}}, "the ranking of 'dense' can't hold 5"),
        ({"rankings": {"dense": [["a"]]}}, "the ranking of 'dense' can't hold ['a']"),
        ({"weights": "dense"}, "weights can't be 'dense'"),
        ({"weights": {"dense": None}}, "the weight of 'dense' can't be None"),
        ({"weights": {"dense": "1"}}, "the weight of 'dense' can't be '1'"),
        ({"weights": {"dense": 1, 2: 1}}, "weights can't have a key 2"),
        ({"similarity": 0.5}, "similarity can't be 0.5"),
        ({"similarity": {"a": "0.5"}}, "the similarity of 'a' can't be '0.5'"),
        ({"similarity": {"a": True}}, "the similarity of 'a' can't be True"),
    ],
)
def test_an_argument_of_another_kind_is_refused_by_name_and_value(arguments: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidRequest, match=re.escape(named)) as caught:
        fuse(**{"rankings": {"dense": ["a"]}, **arguments})
    assert caught.value.way_out


@pytest.mark.requirement("RRF-1", "RRF-3")
def test_numbers_of_numpy_and_unknown_similarities_are_taken() -> None:
    rankings: Any = {"dense": np.array(["a", "b"]), "lexical": iter(["b", "a"])}
    options: Any = {"k": np.int64(60), "weights": {"dense": np.float32(1)}}
    fused = fuse(rankings, similarity={"a": None, "b": float(np.float32(0.5)), "c": math.inf}, **options)
    assert [(entry.key, entry.score) for entry in fused] == [("b", 1 / 61 + 1 / 62), ("a", 1 / 61 + 1 / 62)]
    assert type(fused[0].score) is float


@pytest.mark.requirement("RRF-1")
def test_a_bare_string_is_no_ranking() -> None:
    with pytest.raises(InvalidRequest, match="the ranking of 'dense' can't be 'abc'"):
        fuse({"dense": "abc"})


@pytest.mark.requirement("RRF-1")
def test_nothing_fused_is_nothing() -> None:
    assert fuse({}) == ()
    assert fuse({"dense": [], "lexical": []}) == ()


@pytest.mark.requirement("RRF-3")
def test_equal_scores_are_ordered_by_best_single_rank() -> None:
    # 1/(1+2) = 1/3 for `once`; 1/(1+5) + 1/(1+5) = 1/3 for `twice`.
    fused = fuse({"dense": ["x1", "once", "x2", "x3", "twice"], "lexical": ["y1", "y2", "y3", "y4", "twice"]}, k=1)
    tied = [entry for entry in fused if entry.key in {"once", "twice"}]
    assert [(entry.key, entry.score) for entry in tied] == [("once", 1 / 3), ("twice", 1 / 3)]


@pytest.mark.requirement("RRF-3")
@pytest.mark.parametrize(
    ("similarity", "expected"),
    [
        ({}, ["a", "b", "c"]),
        ({"b": 0.2, "c": 0.9}, ["c", "b", "a"]),
        ({"b": 0.0, "c": -0.3}, ["b", "c", "a"]),
        ({"a": math.nan, "c": -1.0}, ["c", "a", "b"]),
        ({"b": math.nan, "c": -1.0}, ["c", "a", "b"]),
        ({"a": -1.0, "b": math.nan, "c": math.nan}, ["a", "b", "c"]),
        ({"a": math.nan, "b": -1.0, "c": math.nan}, ["b", "a", "c"]),
        ({"a": 0.5, "b": 0.5, "c": 0.5}, ["a", "b", "c"]),
    ],
)
def test_then_by_similarity_with_unknown_last_then_by_key(similarity: dict[str, float], expected: list[str]) -> None:
    """Trial I12: 0.0 and negative similarities are values, not "unknown"."""
    rankings = {"lexical": ["b"], "dense": ["c"], "dense_filtered": ["a"]}
    assert order(rankings, similarity=similarity) == expected


@pytest.mark.requirement("RRF-1", "RRF-3")
def test_similarity_never_outweighs_a_vote() -> None:
    assert order({"dense": ["a", "b"]}, similarity={"a": -1.0, "b": 1.0}) == ["a", "b"]


@pytest.mark.requirement("RRF-3")
def test_the_order_of_paths_does_not_change_a_bit() -> None:
    # Weights for which the order of addition changes the last bit of a plain sum.
    weights = {"dense": 0.1, "dense_filtered": 0.7, "lexical": 0.3}
    rankings = {"dense": ["a", "b"], "dense_filtered": ["b", "a"], "lexical": ["a", "b"], "windows": ["b", "a"]}
    results = {repr(fuse(dict(items), weights=weights)) for items in itertools.permutations(rankings.items())}
    assert len(results) == 1


@pytest.mark.requirement("RRF-3")
def test_the_order_is_the_same_in_every_process() -> None:
    """Trial I19, with four hash seeds."""
    program = (
        "from citewell.fusion import fuse\n"
        "names = {f'key-{n}' for n in range(40)}\n"
        "print([f.key for f in fuse({n: [n] for n in names})])\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in range(4)
    }
    assert len(outputs) == 1
    assert outputs.pop() == f"{sorted(f'key-{n}' for n in range(40))}\n"


@pytest.mark.requirement("RRF-6")
def test_a_fused_entry_is_frozen() -> None:
    (entry,) = fuse({"dense": ["a"]})
    with pytest.raises(FrozenInstanceError):
        entry.score = 1.0  # type: ignore[misc]  # the point of the test


@pytest.mark.requirement("RRF-6")
def test_inputs_are_left_as_they_were() -> None:
    rankings = {"lexical": ["b", "a", "b"], "dense": ["a"]}
    weights, similarity = {"dense": 2.0}, {"a": 0.5}
    fuse(rankings, weights=weights, similarity=similarity)
    assert rankings == {"lexical": ["b", "a", "b"], "dense": ["a"]}
    assert list(rankings) == ["lexical", "dense"]
    assert (weights, similarity) == ({"dense": 2.0}, {"a": 0.5})


@pytest.mark.requirement("RRF-1", "RRF-2", "RRF-3")
@given(RANKINGS, WEIGHTS, SIMILARITY)
def test_fusion_agrees_with_the_formula_in_exact_arithmetic(
    rankings: dict[str, list[str]], weights: dict[str, float], similarity: dict[str, float]
) -> None:
    fused = fuse(rankings, weights=weights, similarity=similarity)
    assert {entry.key for entry in fused} == {key for keys in rankings.values() for key in keys}
    assert len({entry.key for entry in fused}) == len(fused)
    for entry in fused:
        ranks = {path: keys.index(entry.key) + 1 for path, keys in rankings.items() if entry.key in keys}
        exact = sum(Fraction(weights.get(path, 1.0)) / (60 + rank) for path, rank in ranks.items())
        assert entry.ranks == ranks
        assert entry.score == pytest.approx(float(exact), rel=1e-15)
    scores = [entry.score for entry in fused]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.requirement("RRF-3")
@given(RANKINGS, WEIGHTS, SIMILARITY, st.randoms(use_true_random=False))
def test_shuffled_mappings_fuse_to_the_same_bytes(
    rankings: dict[str, list[str]], weights: dict[str, float], similarity: dict[str, float], chance: Random
) -> None:
    items, pairs = list(rankings.items()), list(similarity.items())
    chance.shuffle(items)
    chance.shuffle(pairs)
    assert repr(fuse(dict(items), weights=weights, similarity=dict(pairs))) == repr(
        fuse(rankings, weights=weights, similarity=similarity)
    )


@pytest.mark.requirement("RRF-5")
@pytest.mark.parametrize(
    "weights",
    [
        {},
        {"dense": 1, "dense_filtered": 1, "lexical": 1},
        {"dense": 7, "dense_filtered": 7, "lexical": 7},
        {"dense_filtered": 0.5, "lexical": 1.4},
        {"lexical": 1.99},
        {"lexical": 0.01},
    ],
)
def test_weights_with_which_two_paths_outvote_any_one_are_accepted(weights: dict[str, float]) -> None:
    check_weights(weights)


@pytest.mark.requirement("RRF-5")
@pytest.mark.parametrize(
    ("weights", "named"),
    [
        ({"lexical": 2}, "'lexical', 2,"),
        ({"dense": 3}, "'dense', 3,"),
        ({"dense_filtered": 0.4, "lexical": 1.4}, "'lexical', 1.4,"),
        ({"dense_filtered": 0.01, "lexical": 1.01}, "'lexical', 1.01,"),
    ],
)
def test_a_weight_that_reaches_the_sum_of_two_others_is_refused(weights: dict[str, float], named: str) -> None:
    with pytest.raises(InvalidRequest, match=named) as caught:
        check_weights(weights)
    assert caught.value.way_out


@pytest.mark.requirement("RRF-5")
def test_only_paths_that_can_run_together_are_weighed_against_each_other() -> None:
    check_weights({"lexical": 9, "dense_filtered": 0}, paths=["dense", "lexical"])
    check_weights({"dense": 9}, paths=["lexical"])
    with pytest.raises(InvalidRequest, match="'windows', 2,"):
        check_weights({"windows": 2}, paths=["dense", "dense_filtered", "lexical", "windows"])


@pytest.mark.requirement("RRF-1", "RRF-5")
@pytest.mark.parametrize(
    "weights",
    [
        {"lexical": 0},
        {"dense": 1, "dense_filtered": 3, "lexical": 0},
        {"dense": 0, "dense_filtered": 0, "lexical": 9},
        {"dense": 0, "dense_filtered": 0, "lexical": 0},
        {"lexical": np.float32(0)},
    ],
)
def test_a_silent_path_is_compared_with_no_other(weights: dict[str, float]) -> None:
    """Trial I10: dense 1, lexical 0. With fewer than three paths that vote there is nothing to outvote."""
    check_weights(weights)
    with pytest.raises(InvalidRequest, match="'windows', 2,"):
        check_weights({"windows": 2, "lexical": 0}, paths=["dense", "dense_filtered", "lexical", "windows"])


@pytest.mark.requirement("RRF-1", "RRF-5")
@pytest.mark.parametrize("weights", [{"lexcial": 1}, {"lexical": -1}, {"lexical": math.nan}, {"dense": True}])
def test_configured_weights_are_checked_one_by_one_too(weights: dict[str, float]) -> None:
    with pytest.raises(InvalidRequest):
        check_weights(weights, paths=["dense"])


@pytest.mark.requirement("RRF-5")
@given(
    st.fixed_dictionaries(dict.fromkeys(("dense", "dense_filtered", "lexical"), st.floats(0, 4))),
    st.integers(1, 50),
    st.permutations(["dense", "dense_filtered", "lexical"]),
)
def test_with_accepted_weights_a_key_ranked_alike_by_two_paths_beats_one_ranked_so_by_one(
    weights: dict[str, float], rank: int, paths: list[str]
) -> None:
    try:
        check_weights(weights)
    except InvalidRequest:
        return
    assume(all(weights.values()))
    first, second, third = paths
    above = [f"above-{n}" for n in range(rank - 1)]
    rankings = {first: [*above, "both"], second: [*above, "both"], third: [*above, "one"]}
    places = order(rankings, weights=weights)
    assert places.index("both") < places.index("one")
