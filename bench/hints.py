"""Hints: whether their category helps hybrid search as a filter, how often they are right, and what they cost.

    python bench/hints.py [--data ../shared/data] [--queries 400] [--documents 10000 100000] [--json FILE]

Every set is asked with `rag.hints-filter` off and on, in hybrid mode, ten blocks, nDCG@10 per query and the paired
randomisation test. Categories are folders: those of runbooks, and the first two steps of an id in anthropic-docs. The
other sets have none, so that there is nothing to hint at, and both runs must be equal. `hint@3`: a relevant document is
among the hinted ones; `category`: the first hinted category is a relevant document's.

The cost is measured on invented documents with three chunks each: the first reading of the catalogue, its memory, a
question's hints, and the first hints after a write. Exit code 1 if the filter makes a set worse with p < 0.05.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from citewell import Knowledge, Settings
from citewell.adapters.local import LocalStore
from citewell.evaluation.datasets import read_dataset
from citewell.evaluation.metrics import mean, ndcg_at, paired_randomisation_test, per_query, recall_at
from citewell.evaluation.model import Dataset
from citewell.hints import CatalogueHints
from citewell.model import Chunk, DocumentChange, DocumentRecord, Locator, SearchRequest
from citewell.testing.fakes import HashEmbedder
from citewell.testing.samples import binding_of
from dataset_store import PATIENT
from quality import by_document

Qrels = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Labelled:
    """A set: how its documents get into a store, its questions and what is relevant to them."""

    name: str
    fill: Callable[[Knowledge], None]
    queries: Mapping[str, str]
    qrels: Qrels


def runbooks(data: Path) -> list[Labelled]:
    """Three kinds of question on the same files; a file's folder is its category."""
    folder = data / "runbooks"

    def fill(knowledge: Knowledge) -> None:
        for inner in sorted(path for path in (folder / "docs").iterdir() if path.is_dir()):
            knowledge.ingest(inner, category=inner.name, prefix=f"{inner.name}/")

    kinds = ("desc", "summ", "name")
    return [_labelled(f"runbooks {kind}", fill, read_dataset(folder, qrels=kind)) for kind in kinds]


def by_line(data: Path, name: str, *, folders: bool = False) -> Labelled:
    """A set of which each line is a document."""
    dataset = read_dataset(data / name, qrels="qrels", grain="document")

    def fill(knowledge: Knowledge) -> None:
        knowledge.ingest_documents(
            replace(document, category=_folder(document.source) if folders else None) for document in dataset.documents
        )

    return _labelled(name, fill, dataset)


def _labelled(name: str, fill: Callable[[Knowledge], None], dataset: Dataset) -> Labelled:
    return Labelled(name, fill, dataset.queries, dataset.qrels)


def _folder(doc_id: str) -> str | None:
    steps = doc_id.split("/")
    return "/".join(steps[:2]) if len(steps) > 1 else None


def sets(data: Path, most: int) -> list[Labelled]:
    """Every labelled set, the first `most` questions by id."""
    found = [
        *runbooks(data),
        by_line(data, "anthropic-docs", folders=True),
        *(by_line(data, name) for name in ("xquad-en", "cmrc2018-dev", "chunking-eval")),
    ]
    return [
        Labelled(each.name, each.fill, each.queries, {name: each.qrels[name] for name in sorted(each.qrels)[:most]})
        for each in found
    ]


def judge(labelled: Labelled, location: Path) -> dict[str, float | str]:
    """The figures of one set; the store is filled unless it is there."""
    if not location.exists():
        with Knowledge.open(location) as knowledge:
            labelled.fill(knowledge)
    runs: dict[bool, dict[str, list[str]]] = {}
    right: list[tuple[bool, bool]] = []
    for filtered in (False, True):
        settings = Settings.of({**PATIENT, "retrieval.search.mode": "hybrid", "rag.hints-filter": filtered})
        with Knowledge.open(location, settings=settings) as knowledge:
            categories = {info.doc_id: info.category for info in knowledge.documents()}
            runs[filtered] = {}
            _await_hints(knowledge, labelled.queries[next(iter(labelled.qrels))])
            for name, gains in labelled.qrels.items():
                result = knowledge.lookup(labelled.queries[name], return_n=10)
                runs[filtered][name] = by_document(result)
                hinted = [hint.value for hint in result.hints if hint.kind == "document"]
                guess = [hint.value for hint in result.hints if hint.kind == "category"][:1]
                right.append((not gains.keys().isdisjoint(hinted), guess[:1] == [categories.get(next(iter(gains)))]))
    return _compared(labelled, runs[False], runs[True], right)


def _await_hints(knowledge: Knowledge, question: str) -> None:
    """Until the catalogue has been read: a lookup waits for it a second, which a busy machine may not do with."""
    deadline = time.monotonic() + 60
    while not knowledge.lookup(question).hints and time.monotonic() < deadline:
        time.sleep(0.1)


def _compared(
    labelled: Labelled,
    off: Mapping[str, Sequence[str]],
    on: Mapping[str, Sequence[str]],
    right: Sequence[tuple[bool, bool]],
) -> dict[str, float | str]:
    metric = ndcg_at(10)
    a, b = (list(per_query(metric, run, labelled.qrels).values()) for run in (off, on))
    return {
        "set": labelled.name,
        "queries": len(a),
        "hint@3": sum(found for found, _ in right) / len(right),
        "category": sum(guess for _, guess in right) / len(right),
        "nDCG@10 off": mean(metric, off, labelled.qrels),
        "nDCG@10 on": mean(metric, on, labelled.qrels),
        "recall@5 off": mean(recall_at(5), off, labelled.qrels),
        "recall@5 on": mean(recall_at(5), on, labelled.qrels),
        "better": sum(y > x for x, y in zip(a, b, strict=True)),
        "worse": sum(y < x for x, y in zip(a, b, strict=True)),
        "p": paired_randomisation_test(a, b),
    }


DIMENSIONS = 512
WORDS = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in ("ck", "ll", "nt", "rm", "sh", "st", "th")]


def invented(rng: random.Random, number: int, version: int = 0) -> DocumentChange:
    """A document of three chunks with a title of four words and six headings of three."""
    name = f"folder{number % 50}/file{number}.md"
    headings = tuple(" ".join(rng.choices(WORDS, k=3)) for _ in range(6))
    vectors = np.random.default_rng(number).normal(size=(3, DIMENSIONS)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    chunks = tuple(
        Chunk(index, f"chunk {number} {index}", "", (index, index + 1), Locator(), "", f"{number}/{index}", ("chunk",))
        for index in range(3)
    )
    record = DocumentRecord(
        name, " ".join(rng.choices(WORDS, k=4)), name, f"folder{number % 50}", ("all", f"team{number % 7}"),
        {"owner": f"team{number % 7}", "page": number}, headings, f"{number}/{version}", f"{number}",
    )  # fmt: skip
    return DocumentChange(record, chunks, tuple(vectors), version)


def cost(count: int, location: Path) -> dict[str, float | str]:
    """Milliseconds and megabytes at this many documents."""
    rng = random.Random(7)
    store, embedder = LocalStore.open(location), HashEmbedder(DIMENSIONS)
    store.bind(binding_of(embedder))
    for start in range(0, count, 500):
        store.apply([invented(rng, number) for number in range(start, min(start + 500, count))])
    figures: dict[str, float | str] = {"documents": count, **_reading(store, embedder)}
    hints = CatalogueHints(store, embedder, patience_s=600.0)
    _asked(hints, rng, None)
    for name, scope in (("", None), (" within a scope", ("team3",))):
        busy = time.process_time()
        spent = sorted(_asked(hints, rng, scope) for _ in range(200))
        figures[f"hints{name}, p50 ms"], figures[f"hints{name}, p95 ms"] = statistics.median(spent), spent[190]
        figures[f"hints{name}, processor ms"] = (time.process_time() - busy) * 1000 / 200
    after = []
    for number in range(20):
        stored = store.stored(f"folder{number % 50}/file{number}.md")
        store.apply([invented(rng, number, stored.version if stored else 0)])
        after.append(_asked(hints, rng, None))
    figures["first hints after a write, p50 ms"] = statistics.median(after)
    store.delete(["folder1/file1.md"])
    figures["first hints after a deletion, ms"] = _asked(hints, rng, None)
    hints.close()
    store.close()
    return figures


def _reading(store: LocalStore, embedder: HashEmbedder) -> dict[str, float | str]:
    """The first reading, once for its time and once for its memory, which tracing makes slow."""
    rng = random.Random(8)
    spent = 0.0
    used = 0.0
    for traced in (False, True):
        busy = time.process_time()
        hints = CatalogueHints(store, embedder, patience_s=600.0)
        if traced:
            tracemalloc.start()
        taken = _asked(hints, rng, None)
        spent, used = spent or taken, used or (time.process_time() - busy) * 1000
        held = tracemalloc.get_traced_memory()[0] / 1e6 if traced else 0.0
        tracemalloc.stop()
        hints.close()
    return {"first reading, ms": spent, "first reading, processor ms": used, "memory, MB": held}


def _asked(hints: CatalogueHints, rng: random.Random, scope: tuple[str, ...] | None) -> float:
    query = " ".join(rng.choices(WORDS, k=6))
    started = time.perf_counter()
    hinted = hints.hints(SearchRequest(query, 50, scope=scope))
    spent = (time.perf_counter() - started) * 1000
    if not hinted.hints:
        raise RuntimeError(f"no hints for {query!r}: {hinted.note}")
    return spent


def main() -> int:
    """Run everything and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--queries", type=int, default=400)
    parser.add_argument("--documents", type=int, nargs="*", default=[10_000])
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as work:
        for labelled in sets(arguments.data, arguments.queries) if arguments.queries else []:
            rows.append(judge(labelled, Path(work) / labelled.name.split()[0]))
            print("  ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in rows[-1].items()))
        costs = [cost(count, Path(work) / f"cost{count}") for count in arguments.documents]
    for figures in costs:
        print("  ".join(f"{name} {value:,.2f}" for name, value in figures.items()))
    if arguments.json:
        arguments.json.write_text(json.dumps({"filter": rows, "cost": costs}, indent=1) + "\n", encoding="utf-8")
    worse = [row for row in rows if float(row["nDCG@10 on"]) < float(row["nDCG@10 off"]) and float(row["p"]) < 0.05]
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
