"""The runs of one set -> figures: nDCG@10 and recall@5 per way, Citewell's hybrid against each other run, times; pure.

Gains are linear, an unanswered question is zero, all questions count. It knows no stack and runs nothing.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from citewell.evaluation.metrics import Metric, mean, ndcg_at, paired_randomisation_test, per_query, recall_at
from peers_sets import Labelled

METRICS: Mapping[str, Metric] = {"nDCG@10": ndcg_at(10), "recall@5": recall_at(5)}
OWN = ("citewell", "citewell-own")
"""Citewell on the given chunks, and as a product that reads the files itself."""
Run = Mapping[str, Sequence[str]]
Figures = dict[str, Any]


def judge(labelled: Labelled, runs: Mapping[str, Figures]) -> Figures:
    """A stack's name -> its figures, with the paired tests of Citewell's hybrid against every stack's hybrid."""
    answers = {
        name: {way: judged(labelled, found["run"]) for way, found in run["ways"].items()} for name, run in runs.items()
    }
    figures = {name: {**_cost(run), "ways": _ways(labelled, answers[name], run)} for name, run in runs.items()}
    for own in OWN:
        if own in answers:
            figures[own]["against"] = {
                f"{name} {way}": compare(labelled, answers[own]["hybrid"], run)
                for name, ways in answers.items()
                for way, run in ways.items()
                if _worth_a_test(own, name, way)
            }
    return figures


def _worth_a_test(own: str, name: str, way: str) -> bool:
    """Every peer's hybrid, each path of the textbook alone, and Citewell's own paths alone."""
    if name in OWN:
        return name == own and way != "hybrid"
    return way == "hybrid" or name == "textbook"


def judged(labelled: Labelled, run: Run) -> dict[str, list[str]]:
    """Each ranking as what is judged: chunks, or documents at their first chunk."""
    return {query: labelled.judged(list(keys)) for query, keys in run.items()}


def compare(labelled: Labelled, own: Run, other: Run) -> Figures:
    """Difference of the means, questions better and worse, and p of the paired randomisation test."""
    found: Figures = {}
    for name, metric in METRICS.items():
        a, b = (list(per_query(metric, run, labelled.qrels).values()) for run in (own, other))
        found[name] = {
            "difference": (sum(a) - sum(b)) / len(a),
            "better": sum(x > y for x, y in zip(a, b, strict=True)),
            "worse": sum(x < y for x, y in zip(a, b, strict=True)),
            "p": paired_randomisation_test(a, b),
        }
    return found


def _ways(labelled: Labelled, answers: Mapping[str, Run], run: Figures) -> Figures:
    return {
        way: {
            **{name: mean(metric, ranked, labelled.qrels) for name, metric in METRICS.items()},
            "unanswered": sum(not ranked.get(query) for query in labelled.qrels),
            "p50 ms": statistics.median(run["ways"][way]["ms"].values()),
            "p95 ms": statistics.quantiles(run["ways"][way]["ms"].values(), n=20)[-1],
        }
        for way, ranked in answers.items()
    }


def _cost(run: Figures) -> Figures:
    return {
        name: run.get(name)
        for name in ("versions", "chunks", "import_s", "build_s", "build_processor_s", "memory_mb", "disk_mb")
    }
