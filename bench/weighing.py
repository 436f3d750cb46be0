"""How the per-query weights were chosen: constants tried on labelled sets, leaving one set out and judging on it.

    python bench/weighing.py [--data ../shared/data] [--limit 400] [--json FILE]

Each set is ingested with the default model, and each question's two rankings are recorded, 50 deep, with their scores.
The weight of the lexical path is e^(base + lexical fall x L - dense fall x D), see `citewell.weighing`; tried are the
three constants, and fixed weights beside them. nDCG@10 by document. The constants for a set are chosen on the others:
first by on how many of them hybrid is below its better path with p < .05, then by the mean. Nothing is chosen on the
set that is judged.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citewell import Knowledge, Settings
from citewell.evaluation.datasets import read_dataset
from citewell.evaluation.metrics import ndcg_at, paired_randomisation_test
from citewell.evaluation.model import Dataset
from citewell.evaluation.recorded import Recorded, Recording, record
from citewell.fusion import fuse
from citewell.weighing import falls
from dataset_store import PATIENT, fill

NAMES = {"desc": "runbooks descriptions", "summ": "runbooks summaries", "name": "runbooks names"}
SETS = {
    "runbooks": tuple(NAMES),
    "anthropic-docs": (None,),
    "chunking-eval": ("qrels",),
    "xquad-en": (None,),
    "cmrc2018-dev": (None,),
}
STEPS = np.geomspace(0.25, 60, 28)
"""Weights at which each question is judged; a weight between two counts as the nearer one (by its logarithm)."""
Constants = tuple[float, float, float]
GRID = list(product((1.0, 2.0, 3.0, 3.5, 4.0), (2.0, 4.0, 6.0, 8.0), (6.0, 10.0, 12.0, 14.0)))
IN_FORCE: Constants = (3.0, 6.0, 14.0)
FIXED = (1.0, 1.9, 5.0, 20.0)
Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Judged:
    """One set of questions: nDCG at every step, of each path alone, and the falls of both; one row a question."""

    group: str
    name: str
    at_steps: Vector
    alone: Mapping[str, Vector]
    falls: Vector

    @property
    def best(self) -> Vector:
        """Of the path that is the better one on this set."""
        return max(self.alone.values(), key=lambda figures: float(figures.mean()))

    def under(self, constants: Constants) -> Vector:
        """NDCG of each question with these constants."""
        base, lexical, dense = constants
        power = base + lexical * self.falls[:, 0] - dense * self.falls[:, 1]
        return self._at(np.clip(power, math.log(STEPS[0]), math.log(STEPS[-1])))

    def fixed(self, weight: float) -> Vector:
        """NDCG of each question with one weight for all."""
        return self._at(np.full(len(self.falls), math.log(weight)))

    def _at(self, power: Vector) -> Vector:
        nearest = np.abs(power[:, None] - np.log(STEPS)[None]).argmin(axis=1)
        found: Vector = self.at_steps[np.arange(len(nearest)), nearest]
        return found


def documents(keys: Sequence[str], recording: Recording) -> list[str]:
    """The documents of a ranking, each at its first chunk."""
    return list(dict.fromkeys(str(recording.chunks[key].doc_id) for key in keys))


def judge(group: str, name: str, dataset: Dataset, recording: Recording, limit: int) -> Judged:
    """Every question of a set at every step."""
    metric = ndcg_at(10)
    rows, alone, fell = [], [], []
    for query in sorted(dataset.queries)[:limit]:
        found, gains = recording.queries[query], dataset.qrels[query]
        rows.append([metric(documents(fused(found, weight), recording), gains) for weight in STEPS])
        alone.append(
            [metric(documents(found.rankings.get(path, ()), recording), gains) for path in ("dense", "lexical")]
        )
        fell.append(falls(found.scores))
    figures = np.array(alone)
    named = {"dense": figures[:, 0], "lexical": figures[:, 1]}
    return Judged(group, name, np.array(rows), named, np.array(fell))


def fused(found: Recorded, weight: float) -> list[str]:
    """The fused order with this weight of the lexical path."""
    rankings = {path: keys for path, keys in found.rankings.items() if path in {"dense", "lexical"}}
    return [entry.key for entry in fuse(rankings, weights={"lexical": weight}, similarity=found.similarity)]


def judged_sets(data: Path, work: Path, limit: int) -> list[Judged]:
    """All sets, one after the other."""
    sets: list[Judged] = []
    for group, labels in SETS.items():
        location = work / group
        for label in labels:
            dataset = read_dataset(data / group, qrels=label, grain="document")
            fill(location, dataset)
            asked = {query: dataset.queries[query] for query in sorted(dataset.queries)[:limit]}
            settings = {**PATIENT, "retrieval.search.mode": "hybrid", "rag.hints": False, "rag.refill": False}
            with Knowledge.open(location, settings=Settings.of(settings)) as knowledge:
                recording = record(asked, lambda query, deep, kb=knowledge: kb.lookup(query, **deep), depth=50)  # type: ignore[misc]
            sets.append(judge(group, NAMES.get(label or "", group), dataset, recording, limit))
            print(f"{sets[-1].name}: {len(asked)} questions", file=sys.stderr, flush=True)
    return sets


def worse_with_p(own: Vector, best: Vector) -> bool:
    """Whether hybrid is below its better path, and chance is no explanation."""
    return bool(own.mean() < best.mean()) and paired_randomisation_test(list(own), list(best), rounds=500) < 0.05


def mean_of_groups(sets: Sequence[Judged], constants: Constants) -> float:
    """Every group counts once, however many sets of labels it has."""
    means: dict[str, list[float]] = {}
    for each in sets:
        means.setdefault(each.group, []).append(float(each.under(constants).mean()))
    return sum(sum(group) / len(group) for group in means.values()) / len(means)


def choose(sets: Sequence[Judged]) -> Constants:
    """Those with the fewest losses, then the best mean."""

    def worth(constants: Constants) -> tuple[int, float]:
        losses = sum(worse_with_p(each.under(constants), each.best) for each in sets)
        return -losses, mean_of_groups(sets, constants)

    return max(GRID, key=worth)


def row(each: Judged, left_out: Constants) -> dict[str, Any]:
    """The figures of one set."""
    own = each.under(IN_FORCE)
    best = int(each.at_steps.mean(axis=0).argmax())
    return {
        "set": each.name,
        "questions": len(own),
        **{path: float(figures.mean()) for path, figures in each.alone.items()},
        **{f"fixed {weight:g}": float(each.fixed(weight).mean()) for weight in FIXED},
        "best fixed": {"weight": float(STEPS[best]), "nDCG@10": float(each.at_steps[:, best].mean())},
        "chosen without it": {"constants": left_out, "nDCG@10": float(each.under(left_out).mean())},
        "in force": float(own.mean()),
        "p against the better path": paired_randomisation_test(list(own), list(each.best)),
    }


def main() -> int:
    """Record, try, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--limit", type=int, default=400)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        sets = judged_sets(arguments.data, Path(work), arguments.limit)
    without = {group: choose([each for each in sets if each.group != group]) for group in SETS}
    rows = [row(each, without[each.group]) for each in sets]
    for each in rows:
        print(json.dumps(each))
    print(f"chosen on all: {choose(sets)}; in force: {IN_FORCE}")
    if arguments.json:
        arguments.json.write_text(json.dumps({"rows": rows, "in force": IN_FORCE}, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
