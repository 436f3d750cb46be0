"""What each path weighs for one query, by how sharply its own scores fall."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.fusion import check_weights, fuse
from citewell.weighing import weigh

# s10 = .5 and s1 = .6: a fifth of what could be lost is lost, D = .1 / .5 = .2.
FLAT_DENSE = [0.6, *[0.55] * 8, 0.5]
# D = .4 / .5 = .8
SHARP_DENSE = [0.9, *[0.6] * 8, 0.5]
# L = (10 - 5) / 10 = .5
LEXICAL = [10.0, *[6.0] * 8, 5.0]


@pytest.mark.requirement("RRF-1")
def test_the_lexical_path_weighs_e_to_the_power_of_both_falls() -> None:
    flatter = [0.7, *[0.6] * 8, 0.5]  # D = .2 / .5 = .4
    weights = weigh({"dense": flatter, "lexical": LEXICAL})
    assert (
        weights
        == {"dense": 1.0, "lexical": round(math.exp(3 + 6 * 0.5 - 14 * 0.4), 2)}
        == {"dense": 1.0, "lexical": 1.49}
    )


@pytest.mark.requirement("RRF-1")
def test_a_flat_dense_path_and_a_sharp_lexical_one_leave_the_word_to_the_lexical_up_to_k() -> None:
    sharp = [10.0, *[2.0] * 8, 1.0]  # e^(3 + 6 * .9 - 14 * .2) = e^5.6 = 270
    assert weigh({"dense": FLAT_DENSE, "lexical": sharp})["lexical"] == 60.0
    assert weigh({"dense": FLAT_DENSE, "lexical": sharp}, k=10)["lexical"] == 10.0


@pytest.mark.requirement("RRF-1")
def test_a_sharp_dense_path_outvotes_a_flat_lexical_one_at_most_four_to_one() -> None:
    flat = [10.0, *[9.8] * 8, 9.5]
    assert weigh({"dense": SHARP_DENSE, "lexical": flat}) == {"dense": 1.0, "lexical": 0.25}


@pytest.mark.requirement("RRF-1")
def test_a_lexical_list_shorter_than_ten_falls_to_nothing() -> None:
    dense = [0.8, *[0.6] * 8, 0.5]  # D = .6: e^(3 + 6 - 8.4) = e^.6
    assert weigh({"dense": dense, "lexical": [7.0]})["lexical"] == round(math.exp(0.6), 2) == 1.82


@pytest.mark.requirement("RRF-1")
def test_what_comes_after_the_tenth_place_has_no_say() -> None:
    """A wider search for the same query weighs its paths alike."""
    flatter = [0.7, *[0.6] * 8, 0.5]
    weights = weigh({"dense": flatter, "lexical": LEXICAL})
    assert weigh({"dense": [*flatter, 0.1, -0.5], "lexical": LEXICAL}) == weights
    assert weigh({"dense": flatter, "lexical": [*LEXICAL, 1.0, 0.5]}) == weights


@pytest.mark.requirement("RRF-1")
def test_scores_that_say_nothing_leave_the_fixed_weights() -> None:
    assert weigh({"dense": [0.9] * 9, "lexical": LEXICAL}) == {"dense": 1.0, "lexical": 1.9}
    assert weigh({"dense": FLAT_DENSE}) == {"dense": 1.0}
    assert weigh({"lexical": LEXICAL}) == {"lexical": 1.9}
    assert weigh({}) == {}


@pytest.mark.requirement("RRF-5")
def test_with_a_filtered_path_no_weight_reaches_the_sum_of_two_others() -> None:
    weights = weigh({"dense": FLAT_DENSE, "dense_filtered": FLAT_DENSE, "lexical": [5.0]})
    assert weights == {"dense": 1.0, "dense_filtered": 1.0, "lexical": 1.9}


@pytest.mark.requirement("RRF-5")
def test_ten_exact_matches_are_no_division_by_zero() -> None:
    assert weigh({"dense": [1.0] * 10, "lexical": LEXICAL})["lexical"] == 60.0


SIMILARITIES = st.lists(st.floats(-1, 1), min_size=1, max_size=30).map(lambda found: sorted(found, reverse=True))
BM25 = st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=30).map(lambda found: sorted(found, reverse=True))


@pytest.mark.requirement("RRF-1", "RRF-5")
@given(dense=SIMILARITIES, filtered=SIMILARITIES, lexical=BM25)
def test_three_paths_keep_the_rule_whatever_their_scores(
    dense: list[float], filtered: list[float], lexical: list[float]
) -> None:
    check_weights(weigh({"dense": dense, "dense_filtered": filtered, "lexical": lexical}))


@pytest.mark.requirement("RRF-5")
@given(dense=SIMILARITIES, lexical=BM25, rank=st.integers(1, 50), k=st.integers(1, 100))
def test_what_both_paths_find_stands_above_what_the_lexical_one_alone_ranks_a_place_higher(
    dense: list[float], lexical: list[float], rank: int, k: int
) -> None:
    weights = weigh({"dense": dense, "lexical": lexical}, k=k)
    filler = [[f"{path}-{at}" for at in range(rank - 1)] for path in "dl"]
    fused = fuse({"dense": [*filler[0], "both"], "lexical": [*filler[1], "alone", "both"]}, k=k, weights=weights)
    order = [entry.key for entry in fused]
    assert order.index("both") < order.index("alone")


@pytest.mark.requirement("RRF-1")
@given(dense=SIMILARITIES, lexical=BM25, scale=st.sampled_from([0.5, 2.0, 1024.0]))
def test_another_scale_of_the_lexical_scores_changes_nothing(
    dense: list[float], lexical: list[float], scale: float
) -> None:
    scaled = weigh({"dense": dense, "lexical": [score * scale for score in lexical]})
    assert scaled == weigh({"dense": dense, "lexical": lexical})
