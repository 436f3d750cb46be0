"""The scale curve of the embedded engine: latency of each path, building, memory, disk and opening, by chunks.

    python bench/scale.py [--sizes 1000 10000 100000 1000000] [--dims 384] [--keep DIR] [--json FILE]

Synthetic documents of ten chunks (bench/scale_corpus.py) and an embedder that knows the questions' vectors, so that no
model is in the figures. A store is built once under --keep, by default beside the system's temporary files, and used
again; one whose building was stopped is built anew. Each size is measured in a process of its own, and its figures join
those that --json holds of other sizes, so that a run can go on where it was stopped. Times of calls are medians over
rounds, by the clock (p50, p95) and of the processor, all threads together (cpu). Between sizes the growth exponent is
printed: 0 = constant, 1 = linear. Exit code 1 if, between the two largest sizes (the smaller of 100,000 chunks
or more), an exact part grows by more than linear or another as much as linear.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from citewell import Knowledge, Settings
from citewell.adapters.local import LocalStore
from citewell.analysis import analyze_query
from citewell.model import Filters
from scale_corpus import Corpus, Stored, fill

WIDTH = 50
ROUNDS = 3
RECALL_AT = 20
CATEGORY = "c3"
"""A tenth of the documents has it."""
SUBLINEAR = ("dense", "lexical", "lookup", "lookup with hints")
LINEAR = ("dense within a category", "lookup within a category")
SLACK = 0.05
"""Of an exponent: what two runs differ by."""
MOST_S = 300.0
"""How long the first hints are waited for."""
FROM = 100_000
"""Chunks below which growth says little."""
OPENING = """
import sys, time
start = time.perf_counter()
import numpy as np
from citewell.adapters.local import LocalStore
from citewell.adapters.local import vectors as dense_path
from citewell.model import Filters
with LocalStore.open(sys.argv[1]).snapshot() as view:
    vector = np.zeros(int(sys.argv[2]), dtype=np.float32)
    vector[0] = 1
    hits = view.dense(vector, 50, Filters())
    view.fetch([hit.key for hit in hits])
print(time.perf_counter() - start, time.process_time())
"""

Figures = dict[str, float]


def build(store: Path, corpus: Corpus) -> None:
    """Fill a store and note what it cost, unless that was done before."""
    note = store.with_name("built.json")
    if note.exists():
        return
    store.parent.mkdir(parents=True, exist_ok=True)
    started, used = time.perf_counter(), time.process_time()
    writing = fill(store, corpus, Stored(corpus))
    spent = {"build, s": writing, "with making the chunks, s": time.perf_counter() - started}
    note.write_text(json.dumps(spent | {"build, cpu s": time.process_time() - used}))


def measure(store: Path, corpus: Corpus) -> Figures:
    """The figures of a store that is built; the first lookup with hints leaves the copy that they need."""
    figures: Figures = {"chunks": corpus.size, **json.loads(store.with_name("built.json").read_text())}
    figures["build, chunks a second"] = corpus.size / figures["build, s"]
    figures |= _lookups(store, corpus)
    figures |= _paths(store, corpus)
    files = [path for path in store.rglob("*") if path.is_file()]
    figures["disk, MB"] = sum(path.stat().st_size for path in files) / 1e6
    opened = [_opened(store, corpus.dims) for _ in range(3)]
    figures["open to first answer, s"] = statistics.median(wall for wall, _ in opened)
    figures["open to first answer, cpu s"] = statistics.median(processor for _, processor in opened)
    return figures


def _opened(store: Path, dims: int) -> tuple[float, float]:
    command = [sys.executable, "-c", OPENING, str(store), str(dims)]
    wall, processor = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return float(wall), float(processor)


def _paths(store: Path, corpus: Corpus) -> Figures:
    """Milliseconds of each path and of fetching, on one snapshot, and the recall of the path that is not exact."""
    vectors, terms = list(corpus.queries.values()), [analyze_query(text) for text in corpus.queries]
    everything, within = Filters(), Filters(category=CATEGORY)
    with LocalStore.open(store).snapshot() as view:
        hits = [[hit.key for hit in view.dense(vector, WIDTH, everything)] for vector in vectors]
        return {
            **_spread("dense", lambda at: view.dense(vectors[at], WIDTH, everything), len(vectors)),
            **_spread("dense within a category", lambda at: view.dense(vectors[at], WIDTH, within), len(vectors)),
            **_spread("lexical", lambda at: view.lexical(terms[at], WIDTH, everything), len(vectors)),
            **_spread("fetch", lambda at: view.fetch(hits[at]), len(vectors)),
            f"dense recall@{RECALL_AT}": _recall([set(keys[:RECALL_AT]) for keys in hits], exact(corpus)),
        }


def exact(corpus: Corpus) -> list[set[str]]:
    """The keys of the chunks nearest to each question, by comparing every vector: one pass over the corpus for all."""
    queries = np.array(list(corpus.queries.values()))
    best: list[list[tuple[float, str]]] = [[] for _ in queries]
    for keys, vectors in corpus.blocks():
        scores = queries @ vectors.T
        nearest = np.argsort(-scores, axis=1)[:, :RECALL_AT]
        for number, row in enumerate(nearest.tolist()):
            found = [*best[number], *((float(scores[number, at]), keys[at]) for at in row)]
            best[number] = sorted(found, reverse=True)[:RECALL_AT]
    return [{key for _, key in found} for found in best]


def _recall(found: Sequence[set[str]], wanted: Sequence[set[str]]) -> float:
    return statistics.mean(len(one & other) / len(other) for one, other in zip(found, wanted, strict=True))


def _lookups(store: Path, corpus: Corpus) -> Figures:
    """Milliseconds of whole hybrid lookups, and the memory of the process that made them."""
    texts, figures = list(corpus.queries), _memory("memory before")
    settings = Settings.of({"retrieval.search.mode": "hybrid", "rag.hints": False})
    with Knowledge.open(store, settings=settings, embedder=Stored(corpus)) as knowledge:
        figures |= _spread("lookup", lambda at: knowledge.lookup(texts[at]), len(texts))
        figures |= _spread(
            "lookup within a category", lambda at: knowledge.lookup(texts[at], category=CATEGORY), len(texts)
        )
        figures |= _memory("memory")
    settings = Settings.of({"retrieval.search.mode": "hybrid"})
    for name in ("catalogue read, s", "catalogue's copy taken, s"):
        with Knowledge.open(store, settings=settings, embedder=Stored(corpus)) as knowledge:
            figures[name] = _first_hints(knowledge, texts[0])
            if name == "catalogue read, s":
                knowledge.ingest_documents([])  # writes nothing, and leaves the copy
            else:
                figures |= _spread("lookup with hints", lambda at: knowledge.lookup(texts[at]), len(texts))
                figures |= _memory("memory with hints")
    return figures


def _first_hints(knowledge: Knowledge, text: str) -> float:
    started = time.perf_counter()
    while not knowledge.lookup(text).hints and time.perf_counter() - started < MOST_S:
        time.sleep(0.01)
    return time.perf_counter() - started


def _memory(name: str) -> Figures:
    """Of this process, in MB: all that is resident, and what of it is in no mapped file: this can't be dropped."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text("ascii").splitlines())
    held = {key: int(lines[key].split()[0]) / 1024 for key in ("VmRSS", "RssAnon")}
    return {f"{name}, MB": held["VmRSS"], f"{name}, of its own, MB": held["RssAnon"]}


def _spread(name: str, act: Callable[[int], object], count: int) -> Figures:
    """Medians over rounds, in ms, after one round that is not counted."""
    rounds = [[_taken(act, at) for at in range(count)] for _ in range(ROUNDS + 1)][1:]
    walls, processor = np.array(rounds).transpose(2, 0, 1)
    return {
        f"{name} p50": float(np.median(np.percentile(walls, 50, axis=1))),
        f"{name} p95": float(np.median(np.percentile(walls, 95, axis=1))),
        f"{name} cpu": float(np.median(processor)),
    }


def _taken(act: Callable[[int], object], at: int) -> tuple[float, float]:
    """Milliseconds by the clock, and of the processor."""
    started, used = time.perf_counter(), time.process_time()
    act(at)
    return (time.perf_counter() - started) * 1000, (time.process_time() - used) * 1000


def growth(smaller: Figures, larger: Figures, name: str) -> float:
    """The exponent by which a figure grows with the chunks; NaN where it is not known of both."""
    if not (smaller.get(name) and larger.get(name)):
        return math.nan
    return math.log(larger[name] / smaller[name]) / math.log(larger["chunks"] / smaller["chunks"])


def missed(sizes: Mapping[int, Figures]) -> list[str]:
    """What grows faster than it may between the two largest sizes, by the processor's time."""
    *_, smaller, larger = [0, 0, *sorted(sizes)]
    if smaller < FROM:
        return []
    bounds = dict.fromkeys(SUBLINEAR, 1.0) | dict.fromkeys(LINEAR, 1.0 + SLACK)
    grown = {name: growth(sizes[smaller], sizes[larger], f"{name} cpu") for name in bounds}
    return [f"{name} grows with exponent {grown[name]:.2f}" for name, bound in bounds.items() if grown[name] >= bound]


def table(sizes: Mapping[int, Figures]) -> str:
    """A line per figure, a column per size, and the growth between each two."""
    every = [sizes[size] for size in sorted(sizes)]
    names = [name for name in every[-1] if name != "chunks"]
    head = f"{'':34}" + "".join(f"{int(each['chunks']):>12,}" for each in every) + "   growth"
    return "\n".join([head, *(_line(name, every) for name in names)])


def _line(name: str, every: Sequence[Figures]) -> str:
    values = "".join(f"{each.get(name, math.nan):12.2f}" for each in every)
    return f"{name:34}{values}   " + "  ".join(f"{growth(one, other, name):5.2f}" for one, other in pairwise(every))


def main() -> int:
    """Build, measure, print, write; 1 if a bound is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--dims", type=int, default=384)
    parser.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir()) / "citewell-scale")
    parser.add_argument("--json", type=Path, help="figures of other sizes in it stay")
    parser.add_argument("--one", action="store_true", help="measure the one size here, and print it as JSON")
    options = parser.parse_args()
    if options.one:
        (size,) = options.sizes
        corpus, store = Corpus(size, options.dims), options.keep / str(size) / "store"
        build(store, corpus)
        print(json.dumps(measure(store, corpus)))
        return 0
    held = json.loads(options.json.read_text()) if options.json and options.json.exists() else {}
    sizes: dict[int, Figures] = {int(size): figures for size, figures in held.items()}
    for size in options.sizes:
        command = [sys.executable, __file__, "--one", "--sizes", str(size), "--dims", str(options.dims)]
        said = subprocess.run([*command, "--keep", options.keep], stdout=subprocess.PIPE, text=True, check=True).stdout
        sizes[size] = json.loads(said)
        if options.json:
            options.json.write_text(json.dumps(dict(sorted(sizes.items())), indent=1) + "\n")
    print(table(sizes))
    faults = missed(sizes)
    print("\n".join(f"MISSED: {fault}" for fault in faults))
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
