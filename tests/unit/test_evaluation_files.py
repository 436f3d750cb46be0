"""Runs held against each other, and what is written of them: trec_eval and the inspector read it as it is (EVAL-1)."""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import cast

import pytest
import pytrec_eval

from citewell.errors import InvalidRequest
from citewell.evaluation import plots
from citewell.evaluation.compare import compare, holm
from citewell.evaluation.files import write_files
from citewell.evaluation.measures import Judged, judge
from citewell.evaluation.metrics import paired_randomisation_test
from citewell.evaluation.model import Answer, Dataset, Run
from citewell.evaluation.report import Evaluation, evaluate
from citewell.evaluation.trec import qrels_text, run_text, word
from citewell.evaluation.truth import Truth, hold_against
from citewell.server.web.views.evaluation import evaluation_view

QUERIES = [f"q{number:02}" for number in range(20)]
THEIRS = {"recall_5": "recall@5", "recall_20": "recall@20", "ndcg_cut_10": "nDCG@10", "recip_rank": "MRR", "map": "AP"}


def documents(*names: str) -> Answer:
    return Answer(tuple(f"{name}!" for name in names), names, (None,) * len(names), milliseconds=2.0)


def dataset(qrels: dict[str, dict[str, float]], labels: str = "qrels.tsv") -> Dataset:
    texts = {query: f"What of {query}?" for query in qrels}
    return Dataset("set", "document", texts, qrels=qrels, labels=labels)


def judged(name: str, rankings: dict[str, Answer], labelled: Dataset) -> Judged:
    return judge(Run(name, rankings), labelled, truth(labelled))


def truth(labelled: Dataset) -> Truth:
    stored = {label: 1 for gains in labelled.qrels.values() for label in gains}
    return hold_against(labelled, stored, lambda _: {})


def two_runs() -> Evaluation:
    """`dense` finds the document of every question third, `hybrid` first; but not of q00, which it doesn't answer."""
    labelled = dataset({query: {"a b": 1.0, "c%": 0.0} for query in QUERIES})
    dense = judged("dense", {query: documents("x", "y", "a b") for query in QUERIES}, labelled)
    hybrid = judged("hybrid", {query: documents("a b", "x") for query in QUERIES[1:]}, labelled)
    return evaluate(labelled, truth(labelled), [dense, hybrid], store={"chunks": 3})


@pytest.mark.requirement("EVAL-1")
def test_each_run_is_compared_with_the_first_query_by_query() -> None:
    found = two_runs()
    ndcg, recall = found.comparisons
    assert (ndcg.run, ndcg.measure, recall.measure) == ("hybrid", "nDCG@10", "recall@5")
    assert (ndcg.better, ndcg.equal, ndcg.worse) == (19, 0, 1)
    assert (ndcg.before, ndcg.after) == pytest.approx((1 / math.log2(4), 19 / 20))
    assert [change.query for change in ndcg.gained] == QUERIES[1:11]
    (lost,) = ndcg.lost
    assert (lost.query, lost.text, lost.before, lost.after) == ("q00", "What of q00?", 1 / math.log2(4), 0.0)
    assert ndcg.p == paired_randomisation_test([1.0] * 19 + [0.0], [0.5] * 20)
    assert (recall.better, recall.equal, recall.worse, recall.p) == (0, 19, 1, 1.0)


@pytest.mark.requirement("EVAL-1")
def test_p_is_told_with_the_number_of_comparisons_in_mind() -> None:
    # Holm: 3 x .01, then 2 x .02 and 1 x .03, which may not fall below the one before.
    assert holm([0.02, 0.01, 0.03]) == pytest.approx([0.04, 0.03, 0.04])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []
    ndcg, recall = two_runs().comparisons
    assert (ndcg.p_holm, recall.p_holm) == (2 * ndcg.p, 1.0)


@pytest.mark.requirement("EVAL-1")
def test_another_baseline_comes_first_and_an_unknown_one_is_refused() -> None:
    found = two_runs()
    turned = evaluate(found.dataset, found.truth, found.judged, baseline="hybrid")
    assert [each.run.name for each in turned.judged] == ["hybrid", "dense"]
    assert (turned.comparisons[0].better, turned.comparisons[0].worse) == (1, 19)
    with pytest.raises(InvalidRequest, match=r"no run 'sparse' to compare with. Choose of dense, hybrid"):
        evaluate(found.dataset, found.truth, found.judged, baseline="sparse")
    assert compare(found.judged[0], [], found.dataset.queries) == ()


@pytest.mark.requirement("EVAL-1")
def test_a_run_file_has_falling_scores_and_ids_without_white_space() -> None:
    dense, hybrid = two_runs().judged
    assert run_text(dense.run, two_runs().dataset).splitlines()[:3] == [
        "q00 Q0 x 1 3 dense",
        "q00 Q0 y 2 2 dense",
        "q00 Q0 a%20b 3 1 dense",
    ]
    assert run_text(hybrid.run, two_runs().dataset).splitlines()[0] == "q01 Q0 a%20b 1 2 hybrid"  # q00 has no answer
    assert qrels_text({"q 2": {"c%": 0.0, "a": 2.0}, "q1": {"b": 0.5}}) == "q%202 0 a 2\nq%202 0 c%25 0\nq1 0 b 0.5\n"
    assert word("中\u3000文") == "中%E3%80%80文"


@pytest.mark.requirement("EVAL-1")
def test_trec_eval_reads_the_files_and_finds_the_same(tmp_path: Path) -> None:
    chance, names = Random(8), [f"doc {number}" for number in range(40)]
    gains = {query: {name: float(chance.randint(0, 3)) for name in chance.sample(names, 15)} for query in QUERIES}
    labelled = dataset({query: each | {"doc 0": 1.0} for query, each in gains.items()})
    # Two unanswered queries; the others have several chunks of a document now and then.
    ours = judged("dense", {query: documents(*chance.choices(names, k=20)) for query in QUERIES[2:]}, labelled)
    write_files(evaluate(labelled, truth(labelled), [ours]), tmp_path)
    with (tmp_path / "set.dense.run").open() as run, (tmp_path / "set.qrels").open() as qrels:
        run_of, qrels_of = pytrec_eval.parse_run(run), pytrec_eval.parse_qrel(qrels)
    theirs = pytrec_eval.RelevanceEvaluator(qrels_of, {"recall", "ndcg_cut", "recip_rank", "map"}).evaluate(run_of)
    assert sorted(theirs) == QUERIES[2:]  # it leaves out what has no answer; `trec_eval -c` and we count it as zero
    for their, our in THEIRS.items():
        figures = {query: theirs.get(query, {}).get(their, 0.0) for query in QUERIES}
        assert {query: ours.figures[query][our] for query in QUERIES} == pytest.approx(figures, abs=1e-9)
        assert ours.means[our] == pytest.approx(statistics.fmean(figures.values()), abs=1e-9)


@pytest.mark.requirement("EVAL-1", "API-5")
def test_the_inspector_draws_the_document(tmp_path: Path) -> None:
    paths = write_files(two_runs(), tmp_path / "runs")
    assert [path.name for path in paths] == ["set.json", "set.dense.run", "set.hybrid.run", "set.qrels"]
    (drawn,) = evaluation_view(json.loads(paths[0].read_text("utf-8")))
    assert (drawn.name, [run.name for run in drawn.runs]) == ("set", ["dense", "hybrid"])
    assert [len(curve.points) for curve in drawn.recall.series] == [4, 4]
    (differences,) = drawn.differences
    assert (differences.metric, differences.better, differences.worse) == ("nDCG@10", 19, 1)
    assert drawn.runs[1].means["nDCG@10"] == pytest.approx(19 / 20)


@pytest.mark.requirement("EVAL-1")
def test_the_document_says_what_was_judged_and_what_could_not_be(tmp_path: Path) -> None:
    labelled = dataset({"q1": {"a": 1.0, "gone": 1.0}}, "qrels.desc.tsv")
    held = hold_against(labelled, {"a": 1}, lambda _: {})
    run = Run("dense", {"q1": documents("a")}, {"q2": "blank"}, {"retrieval.search.mode": "dense"})
    found = evaluate(labelled, held, [judge(run, labelled, held)], store={"chunks": 3}).to_dict()
    assert {name: found[name] for name in ("dataset", "labels", "grain", "questions", "not_stored", "store")} == {
        "dataset": "set-desc",
        "labels": "qrels.desc.tsv",
        "grain": "document",
        "questions": 1,
        "not_stored": {"labels": 1, "of": 2, "first": ["gone"]},
        "store": {"chunks": 3},
    }
    (told,) = cast("list[dict[str, object]]", found["runs"])
    assert (told["settings"], told["refused"]) == ({"retrieval.search.mode": "dense"}, {"q2": "blank"})
    assert told["latency"] == {"p50": 2.0, "p95": 2.0, "p50_with_embedding": None, "p95_with_embedding": None}


@pytest.mark.requirement("EVAL-1")
def test_different_runs_never_share_a_file(tmp_path: Path) -> None:
    labelled = dataset({"q1": {"a": 1.0}})
    runs = [judged(name, {}, labelled) for name in ("a/b", "a b", "../b")]
    paths = write_files(evaluate(labelled, truth(labelled), runs), tmp_path)
    assert sorted(path.name for path in paths if path.suffix == ".run") == [
        "set...%2Fb.run",
        "set.a b.run",
        "set.a%2Fb.run",
    ]
    assert {path.parent for path in paths} == {tmp_path}


@pytest.mark.requirement("EVAL-1")
def test_a_folder_that_cannot_be_written_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InvalidRequest, match=r"can't be written to.*Name another folder with --out"):
        write_files(two_runs(), tmp_path / "file")


@pytest.mark.slow
@pytest.mark.requirement("EVAL-1")
def test_plots_are_drawn_and_the_same_figures_give_the_same_bytes(tmp_path: Path) -> None:
    first, again = (write_files(two_runs(), tmp_path / name, plots=True)[4:] for name in ("one", "two"))
    assert [path.name for path in first] == [
        f"set.{name}.{suffix}" for name in ("recall", "measures", "differences") for suffix in ("png", "svg")
    ]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in again]
    assert first[0].read_bytes().startswith(b"\x89PNG")
    assert first[1].read_text("utf-8").rstrip().endswith("</svg>")


@pytest.mark.requirement("EVAL-1")
def test_names_mean_nothing_to_the_plots(tmp_path: Path) -> None:
    labelled = dataset({"q1": {"a": 1.0}})
    runs = [judged(name, {}, labelled) for name in ("_hidden", "$x^2$", "中文")]
    found = evaluate(labelled, truth(labelled), runs)
    paths = plots.write_plots(found, tmp_path)
    assert [path.name.removeprefix("set.") for path in paths][::2] == ["recall.png", "measures.png", "differences.png"]


@pytest.mark.requirement("EVAL-1")
def test_without_matplotlib_plots_are_refused_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InvalidRequest, match=r"plots need matplotlib.*pip install 'citewell\[plots\]'"):
        plots.check_plots()
    assert len(write_files(two_runs(), tmp_path)) == 4


@pytest.mark.requirement("EVAL-1")
def test_matplotlib_is_loaded_by_plots_alone() -> None:
    program = "import sys, citewell.evaluation.plots, citewell.cli; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
