"""Milvus beside the embedded engine and beside bare pymilvus, on synthetic chunks: what a lookup adds, what differs.

    python bench/milvus.py [--chunks 5000] [--dims 384] [--lookups 500] [--uri URI] [--server] [--json FILE]

Without a URI, Milvus Lite; with --server the real server that the tests use after it. Two things are measured: how long
a dense lookup takes over the one bare pymilvus search that it makes (same arguments, in turns, so that the machine's
noise meets both), and how far the answers of 500 lookups agree with those of the embedded engine, path by path. Hints,
which search a copy of the catalogue and not Milvus, are off in the one that is bounded and on in the one printed beside
it. Exit code 1 if a bound is missed.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from milvus_server import NoServerError, milvus_server

from citewell import Knowledge, Settings
from citewell.adapters.local import LocalStore
from citewell.adapters.milvus import MilvusStore
from citewell.model import EmbedderIdentity, Filters, Scored, StoreBinding
from citewell.ports import Store
from engine_corpus import Corpus
from recorded import record

BATCH = 170
WIDTH = 50
SHOWN = 10


class Prepared:
    """An embedder that knows its queries beforehand: what is timed is the lookup, not a model."""

    name = "prepared"
    fingerprint = "prepared"
    max_tokens = 10_000

    def __init__(self, queries: NDArray[np.float32]) -> None:
        self._queries = queries
        self.dimensions = int(queries.shape[1])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of query `q7`."""
        vector: NDArray[np.float32] = self._queries[int(text[1:])]
        return vector

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Passages come with their vectors."""
        raise NotImplementedError


@dataclass(frozen=True)
class Overhead:
    """Milliseconds, medians over the lookups."""

    lookup: float
    with_hints: float
    bare: float

    @property
    def bound(self) -> float:
        """What the lookup may take."""
        return 1.15 * self.bare + 2


def fill(store: Store, corpus: Corpus) -> float:
    """Write the corpus and return how many seconds it took."""
    store.bind(StoreBinding(EmbedderIdentity("prepared", corpus.dims, "prepared"), "bench"))
    started = time.perf_counter()
    changes = corpus.changes()
    while batch := list(islice(changes, BATCH)):
        store.apply(batch)
    compact = getattr(store, "compact", None)
    if callable(compact):
        compact()
    return time.perf_counter() - started


def queries_of(corpus: Corpus, count: int) -> tuple[NDArray[np.float32], list[list[str]]]:
    """Vectors near stored ones, and terms of stored chunks: two to eight of them."""
    chance = np.random.default_rng(7)
    rows = chance.integers(0, corpus.size, count)
    near = corpus.vectors[rows] + 0.5 * chance.standard_normal((count, corpus.dims)) / corpus.dims**0.5
    vectors = (near / np.linalg.norm(near, axis=1, keepdims=True)).astype(np.float32)
    terms = [
        [corpus.words[term] for term in chance.choice(corpus.terms[row], size=chance.integers(2, 9), replace=False)]
        for row in rows
    ]
    return vectors, terms


def overhead(store: MilvusStore, vectors: NDArray[np.float32]) -> Overhead:
    """A dense lookup and its search made bare, in turns."""
    plain, hinting = (Knowledge(store, Prepared(vectors), Settings.of({"rag.hints": on})) for on in (False, True))
    acts: dict[str, Callable[[int], object]] = {
        "lookup": lambda at: plain.lookup(f"q{at}", mode="dense"),
        "with_hints": lambda at: hinting.lookup(f"q{at}", mode="dense"),
        "bare": bare_search(store, vectors),
    }
    times: dict[str, list[float]] = {name: [] for name in acts}
    for number in range(len(vectors)):
        for name, act in acts.items():
            started = time.perf_counter()
            act(number)
            times[name].append((time.perf_counter() - started) * 1000)
    return Overhead(**{name: statistics.median(spent) for name, spent in times.items()})


def bare_search(store: MilvusStore, vectors: NDArray[np.float32]) -> Callable[[int], object]:
    """The search that a dense lookup makes, by pymilvus alone."""
    from pymilvus import MilvusClient  # noqa: PLC0415 - only here

    client = MilvusClient(uri=store.location.removeprefix("milvus:"))
    how = {"metric_type": "IP", "params": {} if store.location.startswith("milvus:") else {"ef": 192}}

    def search(number: int) -> object:
        return client.search(
            store.collection, [vectors[number].tolist()], anns_field="vector", filter="", limit=WIDTH + 1,
            search_params=how, output_fields=["body", "more"], consistency_level="Session",
        )  # fmt: skip

    return search


@dataclass(frozen=True)
class Agreement:
    """How far two rankings per query agree."""

    same_order: float
    same_top: float
    overlap: float
    differing: list[str]

    def figures(self) -> dict[str, float]:
        """As JSON."""
        return {"same order": self.same_order, "same first": self.same_top, "overlap@20": self.overlap}


def agreement(here: Sequence[Sequence[Scored]], there: Sequence[Sequence[Scored]]) -> Agreement:
    """Of all queries: the share with the same keys in the same order, the same first key, the mean overlap at 20."""
    pairs = [([hit.key for hit in one], [hit.key for hit in other]) for one, other in zip(here, there, strict=True)]
    overlaps = [len({*one[:20]} & {*other[:20]}) / max(len(one[:20]), 1) for one, other in pairs]
    differing = [f"q{at}: {one[:3]} / {other[:3]}" for at, (one, other) in enumerate(pairs) if one != other]
    return Agreement(
        sum(one == other for one, other in pairs) / len(pairs),
        sum(one[:1] == other[:1] for one, other in pairs) / len(pairs),
        statistics.mean(overlaps),
        differing,
    )


def answers(
    store: Store, vectors: NDArray[np.float32], terms: list[list[str]]
) -> tuple[list[tuple[Scored, ...]], list[tuple[Scored, ...]]]:
    """What both paths return for every query."""
    with store.snapshot() as snapshot:
        dense = [snapshot.dense(vector, WIDTH, Filters()) for vector in vectors]
        lexical = [snapshot.lexical(held, WIDTH, Filters()) for held in terms]
    return dense, lexical


@dataclass(frozen=True)
class Measured:
    """What one engine's run gave; seconds are those of filling, by engine."""

    engine: str
    spent: Overhead
    seconds: Mapping[str, float]
    dense: Agreement
    lexical: Agreement
    missed: list[str]

    def figures(self) -> dict[str, object]:
        """As JSON."""
        return {
            "engine": self.engine,
            "ms": {**asdict(self.spent), "bound": self.spent.bound},
            "fill, s": dict(self.seconds),
            "dense": self.dense.figures(),
            "lexical": self.lexical.figures(),
            "missed": self.missed,
        }


def measured(uri: str, corpus: Corpus, lookups: int) -> Measured:
    """Fill both engines, time one, compare their answers. An empty URI = Milvus Lite."""
    vectors, terms = queries_of(corpus, lookups)
    with tempfile.TemporaryDirectory() as folder:
        local = LocalStore.open(Path(folder) / "local")
        milvus = MilvusStore.open(
            uri or f"milvus:{folder}/kb.db", collection=f"bench_{uuid.uuid4().hex[:8]}", timeout_s=600
        )
        seconds = {"local": fill(local, corpus), "milvus": fill(milvus, corpus)}
        spent = overhead(milvus, vectors)
        ours, theirs = answers(local, vectors, terms), answers(milvus, vectors, terms)
        engine = str(dict(milvus.status().details)["milvus"])
        local.close()
        milvus.close()
    dense, lexical = agreement(ours[0], theirs[0]), agreement(ours[1], theirs[1])
    return Measured(engine, spent, seconds, dense, lexical, missed(spent, dense, lexical, exact=not uri))


def missed(spent: Overhead, dense: Agreement, lexical: Agreement, *, exact: bool) -> list[str]:
    """The bounds that don't hold."""
    bounds = {
        "dense lookup over its bare search": spent.lookup <= spent.bound,
        "dense: same keys, same order": dense.same_order == 1.0 if exact else dense.overlap >= 0.99,
        "lexical: same first key >= .95": lexical.same_top >= 0.95,
        "lexical: overlap at 20 >= .90": lexical.overlap >= 0.90,
    }
    return [name for name, holds in bounds.items() if not holds]


def show(found: Measured) -> None:
    """Print it."""
    spent = found.spent
    print(f"{found.engine}: filled in {found.seconds['milvus']:.1f} s (local: {found.seconds['local']:.1f} s)")
    print(
        f"dense lookup {spent.lookup:.2f} ms (with hints {spent.with_hints:.2f} ms),"
        f" bare search {spent.bare:.2f} ms, bound {spent.bound:.2f} ms"
    )
    for name, agreed in (("dense", found.dense), ("lexical", found.lexical)):
        print(
            f"{name}: same order {agreed.same_order:.3f}, same first {agreed.same_top:.3f},"
            f" overlap {agreed.overlap:.3f}"
        )
        for line in agreed.differing[:SHOWN]:
            print(f"    {line}")
    print(f"bounds {'MISSED: ' + ', '.join(found.missed) if found.missed else 'held'}", flush=True)


def on_server(corpus: Corpus, lookups: int) -> list[Measured]:
    """The same on the real server; nothing where there can be none here."""
    try:
        with tempfile.TemporaryDirectory() as folder, milvus_server(Path(folder)) as server:
            found = measured(server.uri, corpus, lookups)
    except NoServerError as error:
        print(f"no server: {error}")
        return []
    show(found)
    return [found]


def main() -> int:
    """Measure, print, and say whether the bounds hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=5_000)
    parser.add_argument("--dims", type=int, default=384)
    parser.add_argument("--lookups", type=int, default=500)
    parser.add_argument("--uri", default="")
    parser.add_argument("--server", action="store_true", help="then the server that the tests use, too")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    corpus = Corpus(options.chunks, options.dims)
    print(f"{options.chunks} chunks of {options.dims} dimensions, {options.lookups} lookups", flush=True)
    found = [measured(options.uri, corpus, options.lookups)]
    show(found[-1])
    if options.server:
        found += on_server(corpus, options.lookups)
    sizes = {"chunks": options.chunks, "dimensions": options.dims, "lookups": options.lookups}
    record(options.json, "bench/milvus.py", {**sizes, "engines": [each.figures() for each in found]})
    return int(any(each.missed for each in found))


if __name__ == "__main__":
    sys.exit(main())
