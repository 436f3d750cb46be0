"""Retrieval quality of the whole product on public test sets: dense, lexical alone and hybrid, default settings.

    python bench/quality.py [--data ../shared/data] [--sets runbooks cmrc2018-dev chunking-eval] [--json FILE]

runbooks is judged by document (the order of each document's first block), cmrc2018-dev by document with one line of
the set as one document, chunking-eval by characters of the reference spans within the first five blocks, cap off.
An unanswered query counts as zero. Exit code 1 if a bound is missed.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from citewell import Knowledge, LookupResult, Settings
from citewell.evaluation.datasets import read_dataset
from citewell.evaluation.metrics import mean, ndcg_at, recall_at
from citewell.evaluation.model import Dataset
from dataset_store import PATIENT, fill

MODES: Mapping[str, Mapping[str, object]] = {
    "dense": {**PATIENT, "retrieval.search.mode": "dense"},
    "lexical": {**PATIENT, "retrieval.search.mode": "hybrid", "retrieval.search.paths": ["lexical"]},
    "hybrid": {**PATIENT, "retrieval.search.mode": "hybrid"},
}
Row = dict[str, object]


def by_document(result: LookupResult) -> list[str]:
    """The documents of a result, each at its first block."""
    return list(dict.fromkeys(str(block.doc_id) for block in result.evidence))


def judge(location: Path, dataset: Dataset, return_n: int) -> dict[str, dict[str, float]]:
    """Mode -> metric -> value."""
    queries, qrels = dataset.queries, dataset.qrels
    figures: dict[str, dict[str, float]] = {}
    for mode, settings in MODES.items():
        with Knowledge.open(location, settings=Settings.of(settings)) as knowledge:
            run = {name: by_document(knowledge.lookup(queries[name], return_n=return_n)) for name in qrels}
        figures[mode] = {
            "nDCG@10": mean(ndcg_at(10), run, qrels),
            "recall@5": mean(recall_at(5), run, qrels),
        }
    return figures


def runbooks(data: Path, work: Path) -> list[Row]:
    """The description queries on the Markdown files, whole answers of 10 and of 20 blocks."""
    rows: list[Row] = []
    for variant in ("desc", "summ", "name"):
        dataset = read_dataset(data / "runbooks", qrels=variant)
        fill(work / "runbooks", dataset)
        for return_n in (10, 20):
            figures = judge(work / "runbooks", dataset, return_n)
            bound = {"nDCG@10": 0.88} if variant == "desc" else {}
            rows.append({"set": f"runbooks {variant}, return-n {return_n}", "figures": figures, "bound": bound})
    return rows


def cmrc2018(data: Path, work: Path) -> list[Row]:
    """Chinese questions; each paragraph is a document."""
    dataset = read_dataset(data / "cmrc2018-dev")
    fill(work / "cmrc2018", dataset)
    figures = judge(work / "cmrc2018", dataset, 10)
    return [{"set": "cmrc2018-dev, return-n 10", "figures": figures, "bound": {"recall@5": 0.98}}]


Span = tuple[int, int]


def overlap(spans: Sequence[Span], others: Sequence[Span]) -> int:
    """How many characters of the first lie in the second; neither list overlaps itself."""
    return sum(max(0, min(a[1], b[1]) - max(a[0], b[0])) for a in spans for b in others)


References = dict[str, list[tuple[str, Span]]]


def references(dataset: Dataset) -> References:
    """By query, what answers it: a document and its characters; not what repeats another's words."""
    found = {
        query: [(part.doc_id, (part.start, part.end)) for part in parts if not part.repeat]
        for query, parts in dataset.references.items()
    }
    return {query: parts for query, parts in found.items() if parts}


def chunking_eval(data: Path, work: Path) -> list[Row]:
    """Reference characters found in the first five blocks, cap off; every reference lies in one known document."""
    dataset, location = read_dataset(data / "chunking-eval"), work / "chunking-eval"
    fill(location, dataset)
    queries = dataset.queries
    figures: dict[str, dict[str, float]] = {}
    for mode, settings in MODES.items():
        with Knowledge.open(location, settings=Settings.of(settings)) as knowledge:
            scores = [
                characters(knowledge.lookup(queries[name], return_n=5, max_chunks_per_document=0), wanted)
                for name, wanted in references(dataset).items()
            ]
        names = ("character recall@5", "character precision@5", "IoU@5")
        figures[mode] = {name: sum(score[i] for score in scores) / len(scores) for i, name in enumerate(names)}
    return [{"set": "chunking-eval, cap off", "figures": figures, "bound": {}}]


def characters(result: LookupResult, wanted: Sequence[tuple[str, Span]]) -> tuple[float, float, float]:
    """Recall, precision and IoU of reference characters over the blocks' spans."""
    found = shown = total = 0
    for document in sorted({name for name, _ in wanted} | {str(block.doc_id) for block in result.evidence}):
        spans = [block.span for block in result.evidence if block.doc_id == document and block.span]
        truth = [span for name, span in wanted if name == document]
        found += overlap(truth, spans)
        shown += sum(end - start for start, end in spans)
        total += sum(end - start for start, end in truth)
    return found / total, found / max(shown, 1), found / max(total + shown - found, 1)


SETS: Mapping[str, Callable[[Path, Path], list[Row]]] = {
    "runbooks": runbooks,
    "cmrc2018-dev": cmrc2018,
    "chunking-eval": chunking_eval,
}


def print_row(row: Row) -> bool:
    """Print the figures of one set and say whether its bounds hold."""
    figures, bounds = row["figures"], row["bound"]
    assert isinstance(figures, dict)  # noqa: S101 - narrows the type for readers and mypy
    assert isinstance(bounds, dict)  # noqa: S101 - narrows the type for readers and mypy
    print(f"\n{row['set']}")
    kept = True
    for metric in figures["hybrid"]:
        values = "  ".join(f"{mode} {figures[mode][metric]:.4f}" for mode in MODES)
        verdict = ""
        if metric in bounds:
            holds = figures["hybrid"][metric] >= bounds[metric]
            verdict = f"  bound {bounds[metric]}: {'held' if holds else 'MISSED'}"
            kept = kept and holds
        print(f"  {metric:<22} {values}{verdict}")
    return kept


def main() -> int:
    """Run the chosen sets and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--sets", nargs="+", choices=sorted(SETS), default=list(SETS))
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        rows = [row for name in arguments.sets for row in SETS[name](arguments.data, Path(work))]
    kept = [print_row(row) for row in rows]
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
