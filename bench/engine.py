"""Speed and recall of the embedded engine on synthetic chunks, beside a flat scan and a plain pair of libraries.

    python bench/engine.py [--chunks 100000] [--dims 384] [--keep DIR] [--json FILE] [--rounds 3]

Documents of three chunks with clustered random unit vectors and 120 Zipf-distributed terms each, seeded. Beside a
figure stands the same work done by (a) numpy's flat scan and (b) a plain tantivy index plus that flat scan, on the
same data in the same run; on a machine with noisy neighbours the ratios mean more than the milliseconds. Each figure
is the median of the rounds' medians. Exit code 1 if a bound is missed; the bounds are meant for 100,000 chunks on
2 cores.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from citewell.adapters.local import LocalStore
from citewell.model import EmbedderIdentity, Filters, Scored, SearchRequest, StoreBinding
from citewell.postprocess import refine
from citewell.search import StoreSearch
from engine_corpus import LABELS, QUERIES, WIDTH, Corpus, Pair, Vectors, change, flat

BATCH = 170
"""Documents per call of `apply`: about 500 chunks."""
OPENING = """
import sys, time
start = time.perf_counter()
import numpy as np
from citewell.adapters.local import LocalStore
from citewell.model import Filters
with LocalStore.open(sys.argv[1]).snapshot() as view:
    vector = np.zeros(int(sys.argv[2]), dtype=np.float32)
    vector[0] = 1
    hits = view.dense(vector, 50, Filters()) + view.lexical(["t200", "t300"], 50, Filters())
    view.fetch([hit.key for hit in hits])
print(time.perf_counter() - start)
"""


@dataclass(frozen=True)
class Figure:
    """A measured figure beside its bound and beside the same work done plainly (None = not comparable)."""

    name: str
    value: float
    unit: str
    bound: float
    at_least: bool = False
    flat: float | None = None
    pair: float | None = None

    @property
    def passed(self) -> bool:
        """Whether the bound holds."""
        return self.value >= self.bound if self.at_least else self.value <= self.bound

    def line(self) -> str:
        """A line of the table."""
        others = {"flat": self.flat, "pair": self.pair}
        ratios = [f"{name} {other:9.2f} (x{other / self.value:.2f})" for name, other in others.items() if other]
        bound = f"{'>=' if self.at_least else '<='} {self.bound:g}"
        verdict = "ok  " if self.passed else "MISS"
        return f"{verdict} {self.name:42} {self.value:9.3f} {self.unit:9} {bound:10} {'  '.join(ratios)}"


class Query:
    """An embedder and an analyser for StoreSearch that know the answers: a query's text is its number."""

    name, dimensions, fingerprint, max_tokens = "bench", 0, "1", 512

    def __init__(self, corpus: Corpus) -> None:
        self.dimensions = corpus.dims
        self._corpus = corpus

    def embed_query(self, text: str) -> Vectors:
        """The query's vector."""
        vector: Vectors = self._corpus.queries[int(text)]
        return vector

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Not needed here."""
        raise NotImplementedError

    def analyze(self, text: str) -> list[str]:
        """The query's six terms."""
        return self._corpus.term_queries[6][int(text)]


class Bench:
    """The figures of one store."""

    def __init__(self, corpus: Corpus, folder: Path, rounds: int) -> None:
        self.corpus, self.folder, self.rounds = corpus, folder, rounds
        self.pair = Pair(corpus, folder / "pair")
        self.pool = ThreadPoolExecutor(3)
        self.rate = self._fill()
        self.store = LocalStore.open(folder / "store")

    def _fill(self) -> float:
        """Ingest everything in batches and compact, unless the folder holds it already; chunks per second."""
        store = LocalStore.open(self.folder / "store")
        if store.status().chunks >= self.corpus.size:
            store.close()
            return float("nan")
        store.bind(StoreBinding(EmbedderIdentity("bench", self.corpus.dims, "1"), "bench"))
        changes = self.corpus.changes()
        seconds = 0.0
        while batch := list(islice(changes, BATCH)):
            seconds += milliseconds(lambda batch=batch: store.apply(batch)) / 1000  # type: ignore[misc]
        seconds += milliseconds(store.compact) / 1000
        store.close()
        return self.corpus.size / seconds

    def figures(self) -> list[Figure]:
        """All of them."""
        return [
            *(
                []
                if self.rate != self.rate
                else [Figure("ingestion", self.rate, "chunks/s", 1000, True, None, self.pair.chunks_per_s)]
            ),
            *self._opening(),
            *self._dense("", None),
            *(figure for share in LABELS for figure in self._dense(f", filter keeps {share}", share)),
            *self._lexical(),
            *self._hybrid(),
            *self._writing(),
        ]

    def _opening(self) -> list[Figure]:
        arguments = [sys.executable, "-c", OPENING, str(self.folder / "store"), str(self.corpus.dims)]
        seconds = [
            float(subprocess.run(arguments, capture_output=True, text=True, check=True).stdout) for _ in range(3)
        ]
        return [Figure("open to first answer, new process", statistics.median(seconds), "s", 1.5)]

    def _dense(self, label: str, share: str | None) -> list[Figure]:
        filters = Filters() if share is None else Filters(scope=(LABELS[share],))
        mask = None if share is None else self.corpus.mask(share)
        narrow = share is None or int(share[:-1]) <= 10
        queries = self.corpus.queries
        with self.store.snapshot() as view:
            own = self._median(lambda at: view.dense(queries[at], WIDTH, filters))
            recall = statistics.mean(
                self._recall(view.dense(queries[at], 20, filters), queries[at], mask) for at in range(QUERIES)
            )
        other = self._median(lambda at: flat(self.corpus.vectors, queries[at], mask))
        return [
            Figure(f"dense{label}, p50", own, "ms", 5 if narrow else 8, flat=other),
            Figure(f"dense{label}, recall@20", recall, "", 0.99 if narrow else 0.98, True),
        ]

    def _recall(self, hits: Sequence[Scored], query: Vectors, mask: NDArray[np.bool_] | None) -> float:
        truth = {self.corpus.key(int(row)) for row in flat(self.corpus.vectors, query, mask, 20)}
        return len(truth & {hit.key for hit in hits}) / len(truth)

    def _lexical(self) -> list[Figure]:
        cases = [(f"{count} terms", queries, Filters()) for count, queries in self.corpus.term_queries.items()]
        cases.append(("6 terms, filter keeps 10%", self.corpus.term_queries[6], Filters(scope=(LABELS["10%"],))))
        cases.append(("6 of the 100 commonest", self.corpus.common_terms, Filters()))
        figures = []
        for label, queries, filters in cases:
            with self.store.snapshot() as view:
                own = self._median(lambda at: view.lexical(queries[at], WIDTH, filters))  # noqa: B023 - called at once
            other = None if filters.scope else self._median(lambda at: self.pair.lexical(queries[at]))  # noqa: B023 - called at once
            figures.append(Figure(f"lexical, {label}, p50", own, "ms", 5 if "100" not in label else 15, pair=other))
        return figures

    def _hybrid(self) -> list[Figure]:
        query = Query(self.corpus)
        search = StoreSearch(self.store, query, analyze=query.analyze)

        def look(at: int) -> None:
            hits = search.search(SearchRequest(str(at), WIDTH, "hybrid", category="c3")).hits
            refine(hits, return_n=5)

        mask = self.corpus.mask("10%")
        own = self._median(look)
        terms = self.corpus.term_queries[6]
        other = self._median(lambda at: self.pair.hybrid(self.pool, self.corpus.queries[at], terms[at], mask))
        search.close()
        return [Figure("hybrid, three paths, fused, fetched, p50", own, "ms", 12, pair=other)]

    def _writing(self) -> list[Figure]:
        """One document of three chunks at a time: until it is found on both paths, and the search that finds it."""
        steady = self._median(self._search)
        until, after = [], []
        for at in range(QUERIES):
            doc_id = f"new-{at}.md"
            stored = self.store.stored(doc_id)
            chunks = [self.corpus.chunk(index, at * 3 + index) for index in range(3)]
            new = change(
                doc_id, chunks, self.corpus.queries[at : at + 1].repeat(3, 0), (), stored.version if stored else 0
            )
            written = milliseconds(lambda new=new: self.store.apply([new]))  # type: ignore[misc]
            after.append(milliseconds(lambda at=at: self._search(at)))  # type: ignore[misc]
            until.append(written + after[-1])
        self.store.delete([f"new-{at}.md" for at in range(QUERIES)])
        return [
            Figure("a 3-chunk document until it is found, p50", statistics.median(until), "ms", 50),
            Figure("search right after a write / steady", statistics.median(after) / steady, "", 1.5),
        ]

    def _search(self, at: int) -> None:
        with self.store.snapshot() as view:
            view.dense(self.corpus.queries[at], WIDTH, Filters())
            view.lexical(self.corpus.term_queries[6][at], WIDTH, Filters())

    def _median(self, act: Callable[[int], object]) -> float:
        """Milliseconds of a call, as the median over rounds of the median over queries."""
        act(0)
        return statistics.median(
            statistics.median(milliseconds(lambda at=at: act(at)) for at in range(QUERIES))  # type: ignore[misc]
            for _ in range(self.rounds)
        )


def milliseconds(act: Callable[[], object]) -> float:
    """How long it takes."""
    start = time.perf_counter()
    act()
    return (time.perf_counter() - start) * 1000


def main() -> int:
    """Measure, print, write; 1 if a bound is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--dims", type=int, default=384)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="build the stores here and use them again next time")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    folder = arguments.keep or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    try:
        figures = Bench(Corpus(arguments.chunks, arguments.dims), folder, arguments.rounds).figures()
    finally:
        if not arguments.keep:
            shutil.rmtree(folder)
    print(f"{arguments.chunks} chunks, {arguments.dims} dimensions, {arguments.rounds} rounds")
    print("\n".join(figure.line() for figure in figures))
    if arguments.json:
        arguments.json.write_text(
            json.dumps([asdict(figure) | {"passed": figure.passed} for figure in figures], indent=2)
        )
    return int(not all(figure.passed for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
