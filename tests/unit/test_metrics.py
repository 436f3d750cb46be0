"""Measures worked out by hand, against the reference implementation, and the paired test (EVAL-1)."""

from __future__ import annotations

import itertools
import math
import re
import statistics
from random import Random
from typing import Any

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from citewell.errors import InvalidRequest
from citewell.evaluation import metrics
from citewell.evaluation.metrics import (
    average_precision,
    mean,
    ndcg_at,
    paired_randomisation_test,
    per_query,
    recall_at,
    reciprocal_rank,
)

GAINS = {"a": 3.0, "b": 1.0, "c": 2.0, "z": 0.0}
KEYS = st.sampled_from("abcdefgh")
RANKED = st.lists(KEYS, max_size=12)
JUDGED = st.dictionaries(KEYS, st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0]))


def seeded(seed: int) -> Random:
    return Random(seed)


@pytest.mark.requirement("EVAL-1")
def test_ndcg_is_linear_gain_discounted_by_the_logarithm_of_the_rank() -> None:
    # log2(2) = 1 for rank 1, log2(4) = 2 for rank 3.
    ideal = 3 / 1 + 2 / math.log2(3) + 1 / 2
    assert ndcg_at(10)(["b", "x", "a"], GAINS) == pytest.approx((1 / 1 + 3 / 2) / ideal)
    assert ndcg_at(2)(["b", "x", "a"], GAINS) == pytest.approx(1 / (3 + 2 / math.log2(3)))
    assert ndcg_at(3)(["a", "c", "b"], GAINS) == 1.0
    assert ndcg_at(1)(["a"], GAINS) == 1.0


@pytest.mark.requirement("EVAL-1")
def test_recall_is_the_share_of_the_relevant_within_the_first_k() -> None:
    assert recall_at(1)(["a", "b", "c"], GAINS) == pytest.approx(1 / 3)
    assert recall_at(2)(["x", "b", "c"], GAINS) == pytest.approx(1 / 3)
    assert recall_at(9)(["z", "c", "b", "a"], GAINS) == 1.0


@pytest.mark.requirement("EVAL-1")
def test_reciprocal_rank_looks_for_the_first_relevant_key_however_deep() -> None:
    assert reciprocal_rank(["c"], GAINS) == 1.0
    assert reciprocal_rank(["x", "z", "c", "a"], GAINS) == pytest.approx(1 / 3)
    assert reciprocal_rank([*map(str, range(999)), "a"], GAINS) == pytest.approx(1 / 1000)


@pytest.mark.requirement("EVAL-1")
def test_average_precision_counts_what_was_not_found_as_zero() -> None:
    assert average_precision(["a", "x", "c"], GAINS) == pytest.approx((1 / 1 + 2 / 3 + 0) / 3)
    assert average_precision(["a", "b", "c"], GAINS) == 1.0


@pytest.mark.requirement("EVAL-1")
@pytest.mark.parametrize("metric", [ndcg_at(10), recall_at(10), reciprocal_rank, average_precision])
@pytest.mark.parametrize(
    ("ranked", "gains"), [([], GAINS), (["x", "z"], GAINS), (["a"], {}), (["a"], {"a": 0.0}), (["a"], {"a": -1.0})]
)
def test_nothing_relevant_is_zero(metric: metrics.Metric, ranked: list[str], gains: dict[str, float]) -> None:
    assert metric(ranked, gains) == 0.0


@pytest.mark.requirement("EVAL-1")
def test_a_repeated_key_gains_once_and_its_later_places_stay_taken() -> None:
    assert ndcg_at(10)(["a", "a", "c"], {"a": 1.0, "c": 1.0}) == pytest.approx((1 + 1 / 2) / (1 + 1 / math.log2(3)))
    assert recall_at(2)(["a", "a", "c"], {"a": 1.0, "c": 1.0}) == 0.5
    assert average_precision(["a", "a", "c"], {"a": 1.0, "c": 1.0}) == pytest.approx((1 + 2 / 3) / 2)


@pytest.mark.requirement("EVAL-1")
@pytest.mark.parametrize("k", [0, -1, True, 1.5, "10", None])
def test_a_depth_that_is_no_count_is_refused(k: Any) -> None:  # noqa: ANN401 - raw on purpose
    for make in (ndcg_at, recall_at):
        with pytest.raises(InvalidRequest, match=f"k can't be {k!r}"):
            make(k)


@pytest.mark.requirement("EVAL-1")
def test_an_unanswered_query_counts_as_zero_in_the_mean() -> None:
    qrels = {"q1": {"a": 1.0}, "q2": {"b": 1.0}, "q3": {"c": 1.0}}
    run = {"q1": ["a"], "q3": ["x", "c"], "not judged": ["a"]}
    assert per_query(reciprocal_rank, run, qrels) == {"q1": 1.0, "q2": 0.0, "q3": 0.5}
    assert mean(reciprocal_rank, run, qrels) == 0.5
    assert list(per_query(reciprocal_rank, {}, {"b": {}, "a": {}})) == ["a", "b"]


@pytest.mark.requirement("EVAL-1")
def test_a_mean_of_no_query_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="no judged query"):
        mean(reciprocal_rank, {"q": ["a"]}, {})


@pytest.mark.requirement("EVAL-1")
def test_the_measures_agree_with_the_reference_implementation() -> None:
    chance = seeded(20090719)
    keys = [f"d{n}" for n in range(60)]
    qrels = {
        f"q{q}": {key: chance.choice([0, 0, 0, 1, 2, 3]) for key in chance.sample(keys, chance.randint(5, 40))}
        | {"d0": 1}
        for q in range(60)
    }
    run = {query: chance.sample(keys, chance.randint(1, 60)) for query in qrels}
    # Strictly falling scores: the reference breaks ties by key, and there are none.
    scored = {query: {key: float(-place) for place, key in enumerate(ranked)} for query, ranked in run.items()}
    ours = {
        "ndcg_cut_5": ndcg_at(5),
        "ndcg_cut_10": ndcg_at(10),
        "recall_5": recall_at(5),
        "recall_100": recall_at(100),
        "recip_rank": reciprocal_rank,
        "map": average_precision,
    }
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut", "recall", "recip_rank", "map"}).evaluate(scored)
    for name, metric in ours.items():
        figures = per_query(metric, run, qrels)
        for query in qrels:
            assert figures[query] == pytest.approx(theirs[query][name], abs=1e-9), (name, query)
        assert mean(metric, run, qrels) == pytest.approx(statistics.mean(theirs[q][name] for q in qrels), abs=1e-9)


@pytest.mark.requirement("EVAL-1")
@given(RANKED, JUDGED, st.integers(1, 12))
def test_every_measure_lies_between_zero_and_one_and_recall_never_falls_with_depth(
    ranked: list[str], gains: dict[str, float], k: int
) -> None:
    for metric in (ndcg_at(k), recall_at(k), reciprocal_rank, average_precision):
        assert 0.0 <= metric(ranked, gains) <= 1.0 + 1e-12
    assert recall_at(k)(ranked, gains) <= recall_at(k + 1)(ranked, gains)


@pytest.mark.requirement("EVAL-1")
@given(st.permutations("abcdef"), st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.0]), min_size=6, max_size=6))
def test_no_order_is_better_than_the_order_by_gain(ranked: list[str], values: list[float]) -> None:
    gains = dict(zip("abcdef", values, strict=True))
    best = sorted(gains, key=lambda key: -gains[key])
    for metric in (ndcg_at(4), recall_at(4), reciprocal_rank, average_precision):
        assert metric(ranked, gains) <= metric(best, gains) + 1e-12


@pytest.mark.requirement("EVAL-1")
def test_with_few_pairs_the_test_looks_at_every_flip() -> None:
    # Differences 1, 2, 3: of the 8 sums only +6 and -6 reach 6.
    assert paired_randomisation_test([1, 2, 3], [0, 0, 0]) == 2 / 8
    # Differences 1, 1, -1: 6 of the 8 sums are +-1, 2 are +-3; all reach 1.
    assert paired_randomisation_test([1, 1, 0], [0, 0, 1]) == 1.0
    # Pairs that don't differ change nothing.
    assert paired_randomisation_test([1, 2, 3, 0.5, 0.5], [0, 0, 0, 0.5, 0.5]) == 2 / 8
    assert paired_randomisation_test([0.5, 0.5], [0.5, 0.5]) == 1.0
    assert paired_randomisation_test([], []) == 1.0


@pytest.mark.requirement("EVAL-1")
def test_a_tie_with_what_was_observed_counts_whatever_the_rounding() -> None:
    # 0.1 + 0.2 and 0.3 differ in the last bit: the flip (+.1 +.2 -.3) is as near to 0 as its mirror image.
    a, b = [0.1, 0.2, 0.0], [0.0, 0.0, 0.3]
    assert paired_randomisation_test(a, b) == paired_randomisation_test(b, a) == 1.0


@pytest.mark.requirement("EVAL-1")
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=8))
def test_the_exact_test_agrees_with_a_plain_enumeration(pairs: list[tuple[float, float]]) -> None:
    differences = [x - y for x, y in pairs]
    bar = abs(math.fsum(differences)) - 1e-9
    flips = list(itertools.product((1, -1), repeat=len(differences)))
    # The tie tolerance is relative, so leave out what lies between the two tolerances.
    sums = [abs(math.fsum(sign * d for sign, d in zip(signs, differences, strict=True))) for signs in flips]
    if any(0 < abs(total - abs(math.fsum(differences))) < 1e-8 for total in sums):
        return
    expected = sum(total >= bar for total in sums) / len(flips)
    assert paired_randomisation_test([x for x, _ in pairs], [y for _, y in pairs]) == expected


@pytest.mark.requirement("EVAL-1")
def test_the_drawn_test_comes_near_the_exact_one_and_is_the_same_every_time() -> None:
    chance = seeded(7)
    a = [chance.random() for _ in range(16)]
    b = [value - chance.gauss(0.1, 0.2) for value in a]
    exact = paired_randomisation_test(a, b)
    assert 0.01 < exact < 0.5
    # One more pair, too small to matter, takes it over the bar to drawing.
    drawn = paired_randomisation_test([*a, 1e-9], [*b, 0.0])
    assert drawn == pytest.approx(exact, abs=0.02)
    assert drawn == paired_randomisation_test([*a, 1e-9], [*b, 0.0])
    assert drawn != exact
    assert paired_randomisation_test([*a, 1e-9], [*b, 0.0], seed=1) != drawn


@pytest.mark.requirement("EVAL-1")
def test_each_byte_picks_the_signs_of_eight_pairs_and_of_no_other() -> None:
    first, second = metrics._sums_by_byte([float(n) for n in range(1, 11)])
    assert (len(first), len(second)) == (256, 256)
    assert (max(first), max(second)) == (sum(range(1, 9)), 9 + 10)
    assert sorted(first) == sorted(-total for total in first)
    assert len(set(second)) == 4


@pytest.mark.requirement("EVAL-1")
def test_a_clear_difference_over_many_queries_is_significant_and_never_certain() -> None:
    a, b = [0.6] * 400, [0.5] * 400
    assert paired_randomisation_test(a, b, rounds=500) == 1 / 501
    assert paired_randomisation_test(b, a, rounds=500) == 1 / 501
    noise = seeded(3)
    alike = [noise.random() for _ in range(400)]
    other = [noise.random() for _ in range(400)]
    assert paired_randomisation_test(alike, other, rounds=2000) > 0.05


@pytest.mark.requirement("EVAL-1")
def test_if_systems_are_alike_small_p_values_are_as_rare_as_they_say() -> None:
    chance = seeded(11)
    values = []
    for _ in range(200):
        a, b = ([chance.random() for _ in range(24)] for _ in range(2))
        values.append(paired_randomisation_test(a, b, rounds=400))
    # 20 of 200 are expected below .1, with a standard deviation of 4.2.
    assert 6 <= sum(value < 0.1 for value in values) <= 34


@pytest.mark.requirement("EVAL-1")
def test_the_generator_is_split_mix_as_published() -> None:
    assert list(itertools.islice(metrics._split_mix(1234567), 3)) == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]
    assert (
        next(metrics._signs(1234567, 11))
        == (6457827717110365317).to_bytes(8, "little") + (3203168211198807973).to_bytes(8, "little")[:3]
    )


@pytest.mark.requirement("EVAL-1")
@pytest.mark.parametrize(
    ("a", "b", "rounds", "named"),
    [
        ([1.0], [], 10, "1 figures can't be paired with 0"),
        ([1.0], [math.nan], 10, "a figure can't be nan"),
        ([math.inf], [1.0], 10, "a figure can't be inf"),
        ([1.0], [0.0], 0, "rounds can't be 0"),
        ([1.0], [0.0], 2.5, "rounds can't be 2.5"),
        ([1.0], [0.0], None, "rounds can't be None"),
        (None, [0.0], 10, "figures can't be None"),
        ([1.0], {"q": 0.0}, 10, "figures can't be {'q': 0.0}"),
        ([1.0], ["0.5"], 10, "a figure can't be '0.5'"),
        ([None], [1.0], 10, "a figure can't be None"),
    ],
)
def test_figures_that_make_no_pairs_are_refused(a: Any, b: Any, rounds: Any, named: str) -> None:  # noqa: ANN401 - raw
    with pytest.raises(InvalidRequest, match=named) as caught:
        paired_randomisation_test(a, b, rounds=rounds)
    assert caught.value.way_out


@pytest.mark.requirement("EVAL-1")
def test_a_seed_is_an_integer_of_64_bits_and_nothing_else() -> None:
    a, b = [float(n) for n in range(20)], [float(n % 7) + 0.5 for n in range(20)]
    assert paired_randomisation_test(np.array(a), b, seed=-5) == paired_randomisation_test(a, b, seed=np.int64(-5))  # type: ignore[arg-type]
    for seed in (None, "x", 2.5, True, 2**64):
        with pytest.raises(InvalidRequest, match="seed can't be"):
            paired_randomisation_test(a, b, seed=seed)  # type: ignore[arg-type]  # raw on purpose


@pytest.mark.requirement("EVAL-1")
@pytest.mark.parametrize("metric", [ndcg_at(10), recall_at(10), reciprocal_rank, average_precision])
@pytest.mark.parametrize(
    ("ranked", "gains", "named"),
    [
        (None, {"a": 1}, "a ranking can't be None"),
        ("abc", {"a": 1}, "a ranking can't be 'abc'"),
        ({"a": 0.5}, {"a": 1}, "a ranking can't be {'a': 0.5}"),
        (["a", 5], {"a": 1}, "a ranking can't hold 5"),
        ([["a"]], {"a": 1}, "a ranking can't hold"),
        (["a"], None, "gains can't be None"),
        (["a"], ["a"], "gains can't be"),
        (["a"], {5: 1}, "gains can't have a key 5"),
        (["a"], {"a": None}, "the gain of 'a' can't be None"),
        (["a"], {"a": "1"}, "the gain of 'a' can't be '1'"),
        (["a"], {"a": math.nan}, "the gain of 'a' can't be nan"),
        (["a"], {"a": math.inf}, "the gain of 'a' can't be inf"),
    ],
)
def test_a_ranking_or_gains_of_another_kind_are_refused(metric: Any, ranked: Any, gains: Any, named: str) -> None:  # noqa: ANN401
    with pytest.raises(InvalidRequest, match=re.escape(named)) as caught:
        metric(ranked, gains)
    assert caught.value.way_out


@pytest.mark.requirement("EVAL-1")
@pytest.mark.parametrize(
    ("metric", "run", "qrels", "named"),
    [
        ("ndcg", {}, {"q": {"a": 1}}, "a metric can't be 'ndcg'"),
        (lambda ranked, gains: None, {}, {"q": {"a": 1}}, "the figure of 'q' can't be None"),
        (reciprocal_rank, None, {"q": {"a": 1}}, "a run can't be None"),
        (reciprocal_rank, {"q": None}, {"q": {"a": 1}}, "a ranking can't be None"),
        (reciprocal_rank, {}, None, "qrels can't be None"),
        (reciprocal_rank, {}, {"q": {"a": 1}, 5: {}}, "qrels can't have a key 5"),
        (reciprocal_rank, {}, {"q": None}, "gains can't be None"),
    ],
)
def test_a_run_or_labels_of_another_kind_are_refused(metric: Any, run: Any, qrels: Any, named: str) -> None:  # noqa: ANN401
    for figure in (per_query, mean):
        with pytest.raises(InvalidRequest, match=re.escape(named)) as caught:
            figure(metric, run, qrels)
        assert caught.value.way_out
