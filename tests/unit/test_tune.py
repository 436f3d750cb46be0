"""Settings proposed from labelled queries: what is chosen, what is judged, and when nothing is proposed (EVAL-2)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tuning_room import HYBRID, agreed, outvoted, recording, task

from citewell import Settings
from citewell.errors import InvalidRequest
from citewell.evaluation.model import Dataset
from citewell.evaluation.tune import ENOUGH, sample, too_few, tune
from citewell.evaluation.tune_folds import bootstrap, folds_of, shuffled, simplest_of_the_best
from citewell.evaluation.tune_fragment import fragment
from citewell.evaluation.tune_grid import by_simplicity, changes, stages
from citewell.fusion import check_weights
from citewell.model import PATHS

RRF_K = "retrieval.search.rrf-k"


def names(count: int, start: str = "q") -> list[str]:
    return [f"{start}{number:03}" for number in range(count)]


@pytest.mark.requirement("EVAL-2")
def test_queries_are_dealt_into_folds_of_equal_size_by_the_seed_alone() -> None:
    folds = folds_of(names(32), 5, seed=7)
    assert sorted(len(fold) for fold in folds) == [6, 6, 6, 7, 7]
    assert sorted(np.concatenate(folds).tolist()) == list(range(32))
    assert [fold.tolist() for fold in folds] == [fold.tolist() for fold in folds_of(names(32), 5, seed=7)]
    assert [fold.tolist() for fold in folds] != [fold.tolist() for fold in folds_of(names(32), 5, seed=8)]


@pytest.mark.requirement("EVAL-2")
def test_the_order_by_a_seed_does_not_depend_on_the_order_given() -> None:
    assert shuffled(names(20), 3) == shuffled(names(20)[::-1], 3)
    assert shuffled(names(20), 3) != names(20)


@pytest.mark.requirement("EVAL-2")
def test_the_simplest_setting_within_one_standard_error_of_the_best_is_chosen() -> None:
    # The best gains 1 on one of four queries: mean .25, standard deviation .5, standard error .25: no more than chance.
    figures = {"plain": np.array([0.0, 0, 0, 0]), "best": np.array([1.0, 0, 0, 0])}
    assert simplest_of_the_best(["plain", "best"], figures.__getitem__, np.arange(4)) == "plain"
    # On two of four: mean .5, standard deviation .577, standard error .289.
    figures["best"] = np.array([1.0, 1, 0, 0])
    assert simplest_of_the_best(["plain", "best"], figures.__getitem__, np.arange(4)) == "best"
    assert simplest_of_the_best(["plain", "best"], figures.__getitem__, np.array([2, 3])) == "plain"


@pytest.mark.requirement("EVAL-2")
def test_the_bootstrap_holds_the_mean_and_is_a_point_where_nothing_varies() -> None:
    assert bootstrap(np.full(40, 0.25), seed=1) == (0.25, 0.25)
    low, high = bootstrap(np.arange(100) / 100, seed=1)
    assert low < 0.495 < high
    # The standard error is .0289; the interval reaches twice that to either side.
    assert high - low == pytest.approx(2 * 1.96 * 0.0289, rel=0.1)
    assert bootstrap(np.arange(100) / 100, seed=1) == (low, high)


@pytest.mark.requirement("EVAL-2", "RRF-5")
def test_no_weights_are_tried_with_which_one_path_outweighs_two_others() -> None:
    tried = {
        setting.weights for stage in stages("chunk", PATHS, return_n=20, depth=200) for setting in stage.vary(HYBRID)
    }
    fixed = [dict(weights) for weights in tried if weights is not None]
    assert len(fixed) == 9
    for weights in fixed:
        check_weights(weights)


@pytest.mark.requirement("EVAL-2", "POST-5")
def test_no_width_is_tried_below_what_is_returned_or_above_what_was_recorded() -> None:
    tried = {
        setting.retrieve_k for stage in stages("chunk", PATHS, return_n=50, depth=100) for setting in stage.vary(HYBRID)
    }
    assert tried == {50, 100}


@pytest.mark.requirement("EVAL-2")
def test_a_cap_is_tried_only_where_labels_name_more_than_documents() -> None:
    cap = ("rag.max-chunks-per-document",)
    assert cap not in [stage.keys for stage in stages("document", PATHS, return_n=20, depth=200)]
    assert cap in [stage.keys for stage in stages("chunk", PATHS, return_n=20, depth=200)]
    assert cap in [stage.keys for stage in stages("span", PATHS, return_n=20, depth=200)]


@pytest.mark.requirement("EVAL-2")
def test_weights_are_tried_in_hybrid_mode_and_one_path_alone_has_no_others() -> None:
    dense = replace(HYBRID, mode="dense")
    _, fusion, _ = stages("document", PATHS, return_n=20, depth=200)
    assert {setting.mode for setting in fusion.vary(dense)} == {"hybrid"}
    mode, fusion, _ = stages("document", ("lexical",), return_n=20, depth=200)
    assert list(mode.vary(HYBRID)) == []
    assert {setting.weights for setting in fusion.vary(HYBRID)} == {HYBRID.weights}


@pytest.mark.requirement("EVAL-2")
def test_the_settings_in_force_are_the_simplest_then_fewer_and_smaller_changes() -> None:
    near, far = (replace(HYBRID, rrf_k=k) for k in (40, 5))
    both = replace(HYBRID, rrf_k=40, retrieve_k=100)
    assert by_simplicity([both, far, near, HYBRID], HYBRID) == [HYBRID, near, far, both]
    assert changes(HYBRID, both) == {RRF_K: (60, 40), "rag.retrieve-k": (50, 100)}


@pytest.mark.requirement("EVAL-2")
def test_what_pays_on_queries_held_out_is_proposed_with_what_it_is_worth() -> None:
    queries = names(40)
    found = tune(
        task(recording({name: outvoted(name) for name in queries}), {name: f"{name}-right" for name in queries})
    )
    assert found.verdict == "propose"
    assert found.changes == {RRF_K: (60, 5.0)}
    assert found.proposed == {RRF_K: 5.0}
    # Under k 60 the right document is second: 1 / log2(3); under k 5 it is first.
    ndcg, recall = found.comparisons
    assert (ndcg.measure, recall.measure) == ("nDCG@10", "recall@5")
    assert ndcg.current == pytest.approx(0.6309, abs=1e-4)
    assert ndcg.tuned == 1.0
    assert (ndcg.low, ndcg.high) == pytest.approx((ndcg.gain, ndcg.gain))
    assert ndcg.p == pytest.approx(1 / 10_001)
    assert recall.gain == 0
    _, fusion, width = found.steps
    assert (fusion.kept, fusion.agreeing, len(fusion.by_fold)) == (True, 5, 5)
    assert (width.kept, width.changes) == (False, {})
    assert found.looks[0].mean == 1.0
    assert found.alone["lexical"] == 1.0


@pytest.mark.requirement("EVAL-2")
def test_a_change_that_lowers_a_guarded_measure_is_not_proposed() -> None:
    # A small k lifts 35 from the second rank to the first, and lowers 10 from the first to the seventh.
    rankings = {name: outvoted(name) for name in names(35)} | {name: agreed(name) for name in names(10, "r")}
    found = tune(replace(task(recording(rankings), {name: f"{name}-right" for name in rankings}), metric="MRR"))
    assert found.verdict == "keep"
    assert found.proposed == {}
    _, fusion, _ = found.steps
    assert fusion.changes == {RRF_K: (60, 5.0)}
    assert fusion.comparisons[0].gain > 0.1
    assert "at the cost of" in fusion.why
    assert "recall@5" in fusion.why


@pytest.mark.requirement("EVAL-2")
def test_a_gain_that_may_be_chance_is_not_proposed() -> None:
    # Three of forty queries gain: held out, the paired test can't say that it is more than chance (2/8 = .25).
    rankings = {name: outvoted(name) for name in names(3)}
    rankings |= {name: {"dense": [f"{name}-right"], "lexical": [f"{name}-right"]} for name in names(37, "r")}
    found = tune(task(recording(rankings), {name: f"{name}-right" for name in rankings}))
    assert found.verdict == "keep"
    assert "may be chance" in found.why
    assert found.changes == {}


@pytest.mark.requirement("EVAL-2")
def test_where_all_settings_answer_alike_those_in_force_stay() -> None:
    rankings = {name: {"dense": [f"{name}-right"], "lexical": [f"{name}-right"]} for name in names(40)}
    found = tune(task(recording(rankings), {name: f"{name}-right" for name in rankings}))
    assert (found.verdict, found.changes) == ("keep", {})
    assert [step.changes for step in found.steps] == [{}, {}, {}]
    assert found.looks[0].changes == {}


@pytest.mark.requirement("EVAL-2")
def test_the_mode_is_tried_too_and_what_earns_nothing_beside_it_is_not_proposed() -> None:
    rankings = {name: {"dense": [f"{name}-wrong"], "lexical": [f"{name}-right"]} for name in names(40)}
    dense = replace(HYBRID, mode="dense")
    found = tune(replace(task(recording(rankings), {name: f"{name}-right" for name in rankings}), current=dense))
    assert found.changes == {"retrieval.search.mode": ("dense", "hybrid")}
    assert [step.kept for step in found.steps] == [True, False, False]


@pytest.mark.requirement("EVAL-2")
def test_fewer_than_thirty_judged_queries_tell_nothing() -> None:
    queries = names(ENOUGH - 1)
    found = tune(
        task(recording({name: outvoted(name) for name in queries}), {name: f"{name}-right" for name in queries})
    )
    assert (found.verdict, found.proposed, found.looks) == ("too_few", {}, ())
    assert "29 judged queries can't tell settings apart" in found.why
    assert too_few(ENOUGH, "nDCG@10", 5, 1) is None


@pytest.mark.requirement("EVAL-2")
def test_a_sample_is_drawn_by_the_seed_and_keeps_the_order_of_ids() -> None:
    dataset = Dataset("x", "document", {name: name for name in names(50)}, unanswerable={"u": "none"})
    drawn = sample(dataset, 10, seed=1)
    assert list(drawn.queries) == sorted(drawn.queries)
    assert len(drawn.queries) == 10
    assert list(drawn.queries) != names(10)
    assert drawn.unanswerable == {"u": "none"}
    assert sample(dataset, 0, seed=1).queries == dataset.queries


@pytest.mark.requirement("EVAL-2")
def test_a_floor_is_the_highest_that_costs_the_answers_nothing_and_says_what_it_rejects() -> None:
    # What is right has a similarity of .5, what stands below it of .1.
    rankings = {name: {"dense": [f"{name}-right", f"{name}-noise"]} for name in names(40)}
    similarity = {f"{name}-right": 0.5 for name in rankings} | {f"{name}-noise": 0.1 for name in rankings}
    outside = recording({"u1": {"dense": ["u-far"]}, "u2": {"dense": ["u-near"]}}, {"u-far": 0.2, "u-near": 0.6})
    found = tune(
        replace(
            task(recording(rankings, similarity), {name: f"{name}-right" for name in rankings}), unanswerable=outside
        )
    ).floor
    assert found is not None
    assert (found.value, found.by_fold) == (0.5, (0.5,) * 5)
    assert found.losses == {"nDCG@10": 0.0, "recall@5": 0.0}
    assert (found.rejected, found.silenced, found.unanswerable) == (0.5, 0, (1, 2))
    assert found.verdict == "propose"


@pytest.mark.requirement("EVAL-2")
def test_a_floor_that_costs_answers_or_rejects_next_to_nothing_is_not_proposed() -> None:
    rankings = {name: {"dense": [f"{name}-right", f"{name}-noise"]} for name in names(40)}
    relevant = {name: f"{name}-right" for name in rankings}
    costly = tune(task(recording(rankings, {f"{name}-right": -0.1 for name in rankings}), relevant)).floor
    assert costly is not None
    assert (costly.value, costly.verdict) == (None, "none")
    assert costly.why == "even a floor of 0 costs more than 0.005"
    alike = tune(task(recording(rankings, {f"{n}-{k}": 0.5 for n in rankings for k in ("right", "noise")}), relevant))
    assert alike.floor is not None
    assert (alike.floor.value, alike.floor.rejected, alike.floor.verdict) == (0.5, 0.0, "none")
    assert alike.proposed == {}


@pytest.mark.requirement("EVAL-2")
def test_a_floor_that_costs_something_within_the_tolerance_is_offered_and_not_proposed() -> None:
    # Two of eighty relevant blocks lie below .5: whichever folds they are in, they cost .025 of the recall.
    rankings = {name: {"dense": [f"{name}-right", f"{name}-noise"]} for name in names(80)}
    similarity = {f"{name}-right": 0.5 for name in rankings} | {f"{name}-noise": 0.1 for name in rankings}
    similarity |= {f"{name}-right": 0.3 for name in names(2)}
    made = task(recording(rankings, similarity), {name: f"{name}-right" for name in rankings})
    offered = tune(replace(made, tolerance=0.04))
    assert offered.floor is not None
    assert (offered.floor.value, offered.floor.verdict) == (0.5, "offer")
    assert offered.floor.losses["recall@5"] == pytest.approx(0.025)
    assert offered.proposed == {}
    strict = tune(replace(made, tolerance=0.0)).floor
    assert strict is not None
    assert (strict.value, strict.verdict) == (0.3, "propose")


@pytest.mark.requirement("EVAL-2", "API-7")
def test_a_fragment_is_read_back_as_the_settings_that_it_was_made_of(tmp_path: Path) -> None:
    values = {
        "retrieval.search.mode": "hybrid",
        "retrieval.search.weights": {"dense": 1.0, "dense_filtered": 1.0, "lexical": 1.25},
        RRF_K: 5.0,
        "rag.retrieve-k": 100,
        "rag.max-chunks-per-document": 0,
        "rag.min-similarity": 0.32,
        "rag.rerank-k": None,
    }
    path = tmp_path / "tuned.toml"
    path.write_text(fragment(values, ["Why: a line\nand another."]), encoding="utf-8")
    assert path.read_text("utf-8").startswith("# Why: a line\n# and another.\n\n[retrieval.search]\n")
    read = Settings.load(path, environment={})
    assert (read.search, read.lookup) == (Settings.of(values).search, Settings.of(values).lookup)
    assert fragment({}, ["Nothing."]) == "# Nothing.\n"


@pytest.mark.requirement("EVAL-2")
@pytest.mark.parametrize(("name", "value"), [("folds", 1), ("folds", 2.5), ("tolerance", -0.1), ("tolerance", 2)])
def test_arguments_that_can_not_be_used_are_refused(name: str, value: object) -> None:
    queries = names(30)
    wrong = task(
        recording({query: outvoted(query) for query in queries}), {query: f"{query}-right" for query in queries}
    )
    with pytest.raises(InvalidRequest, match=name):
        tune(replace(wrong, **{name: value}))  # type: ignore[arg-type]  # that is what is tested


_PROGRAM = """
import json
from dataclasses import replace
from tuning_room import outvoted, agreed, recording, task
from citewell.evaluation.tune import tune
rankings = {f"q{n}": outvoted(f"q{n}") for n in range(30)} | {f"r{n}": agreed(f"r{n}") for n in range(5)}
found = tune(replace(task(recording(rankings), {name: f"{name}-right" for name in rankings}), folds=3))
print(json.dumps(found.to_dict()))
"""


@pytest.mark.requirement("EVAL-2")
def test_the_same_recording_gives_the_same_bytes_under_any_hash_seed() -> None:
    support = str(Path(__file__).resolve().parents[1] / "support")
    outputs = [
        subprocess.run(
            [sys.executable, "-c", _PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": support},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1]
    assert json.loads(outputs[0])["queries"] == 35
