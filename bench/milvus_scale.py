"""What docs/scale.md rests on: memory, indexes, filters, partition keys and writers on a real Milvus server, measured.

    python bench/milvus_scale.py [--chunks 30000] [--dims 384] [--json FILE]

Starts the server that the tests use (2.3.5) in a folder of its own. Vectors are clustered and of unit length, seeded.
Recall is recall@20 against exact search. What shards do to BM25 is simulated by bench/milvus_shards.py.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray
from pymilvus import DataType, MilvusClient

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from milvus_server import milvus_server

from citewell.adapters.milvus.client import Client
from recorded import record

Vectors = NDArray[np.float32]

_QUERIES = 60
_WIDTH = 20
_TENANTS = 100
_BATCH = 2_000
_SETTLE_S = 5.0
"""How long the server gets to give memory back before it is measured."""
_INDEXES: Mapping[str, tuple[dict[str, object], tuple[dict[str, object], ...]]] = {
    "HNSW": ({"M": 16, "efConstruction": 200}, ({"ef": 64}, {"ef": 192}, {"ef": 2_048})),
    "FLAT": ({}, ({},)),
    "IVF_FLAT": ({"nlist": 256}, ({"nprobe": 16}, {"nprobe": 64}, {"nprobe": 256})),
    "IVF_SQ8": ({"nlist": 256}, ({"nprobe": 16}, {"nprobe": 64}, {"nprobe": 256})),
}
_FILTERS: Mapping[str, range] = {"1%": range(1), "10%": range(10), "30%": range(30)}
"""Which of the hundred tenants a filter keeps."""


def clustered(count: int, dims: int, seed: int) -> Vectors:
    """Unit vectors around 200 centres."""
    chance = np.random.default_rng(seed)
    centres = np.random.default_rng(1).standard_normal((200, dims))
    rows = centres[chance.integers(0, 200, count)] + 0.9 * chance.standard_normal((count, dims))
    units: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return units


def exact(vectors: Vectors, queries: Vectors, allowed: NDArray[np.intp]) -> list[set[int]]:
    """The true 20 nearest of the allowed rows, per query."""
    scores = queries @ vectors[allowed].T
    best = np.argpartition(-scores, min(_WIDTH, scores.shape[1]) - 1, axis=1)[:, :_WIDTH]
    return [set(allowed[row].tolist()) for row in best]


class Bench:
    """A server and the same chunks for every part."""

    def __init__(self, client: Client, chunks: int, dims: int) -> None:
        self.client, self.dims = client, dims
        self.vectors = clustered(chunks, dims, 2)
        self.queries = clustered(_QUERIES, dims, 3)
        self.tenants = np.random.default_rng(4).integers(0, _TENANTS, chunks)

    @contextmanager
    def collection(self, *, key: bool = False, shards: int = 1) -> Iterator[str]:
        """An empty collection, dropped afterwards."""
        schema = MilvusClient.create_schema(auto_id=False)
        schema.add_field("id", DataType.INT64, is_primary=True)
        schema.add_field("tenant", DataType.VARCHAR, max_length=64, is_partition_key=key)
        schema.add_field("vector", DataType.FLOAT_VECTOR, dim=self.dims)
        options: dict[str, object] = {"num_partitions": 16} if key else {}
        self.client.call(
            "create_collection", "scale", schema=schema, num_shards=shards, consistency_level="Session", **options
        )
        try:
            yield "scale"
        finally:
            self.client.call("drop_collection", "scale")

    def fill(self, name: str, start: int = 0, stop: int | None = None, client: Client | None = None) -> float:
        """Insert rows start..stop; returns seconds."""
        stop = len(self.vectors) if stop is None else stop
        began = time.perf_counter()
        for at in range(start, stop, _BATCH):
            rows = [
                {"id": row, "tenant": f"t{self.tenants[row]}", "vector": self.vectors[row].tolist()}
                for row in range(at, min(at + _BATCH, stop))
            ]
            (client or self.client).call("insert", name, rows)
        return time.perf_counter() - began

    def index(self, name: str, kind: str, params: Mapping[str, object]) -> float:
        """Seal the rows and build this index over them; returns seconds."""
        began = time.perf_counter()
        self.client.call("flush", name, timeout=120)
        indexes = MilvusClient.prepare_index_params()
        indexes.add_index("vector", index_type=kind, metric_type="IP", params=dict(params))
        self.client.call("create_index", name, indexes, timeout=300)
        while self._pending(name):
            time.sleep(0.5)
        return time.perf_counter() - began

    def load(self, name: str) -> None:
        """Have the collection in memory."""
        self.client.call("load_collection", name, timeout=120)

    def _pending(self, name: str) -> bool:
        said = self.client.call("describe_index", name, "vector")
        return int(said.get("pending_index_rows", 0)) > 0 or said.get("state") != "Finished"

    def unload(self, name: str) -> None:
        """Let go of the collection and its index."""
        self.client.call("release_collection", name)
        self.client.call("drop_index", name, "vector")

    def asked(self, name: str, how: Mapping[str, object], chosen: str = "") -> tuple[float, list[set[int]]]:
        """Median milliseconds of a search, and what each query found."""
        spent, found = [], []
        for query in self.queries:
            began = time.perf_counter()
            hits = self.client.call(
                "search", name, [query.tolist()], anns_field="vector", limit=_WIDTH, filter=chosen,
                search_params={"metric_type": "IP", "params": dict(how)},
            )  # fmt: skip
            spent.append((time.perf_counter() - began) * 1000)
            found.append({int(hit["id"]) for hit in hits[0]})
        return statistics.median(spent), found


def recall(found: Sequence[set[int]], wanted: Sequence[set[int]]) -> float:
    """Mean share of what was wanted that was found."""
    return float(np.mean([len(a & b) / max(len(b), 1) for a, b in zip(found, wanted, strict=True)]))


def server_memory(uri: str) -> int:
    """Bytes of resident memory of the process that listens there (Linux)."""
    port = f":{urlsplit(uri).port:04X}"
    inodes = {
        parts[9]
        for table in ("/proc/net/tcp", "/proc/net/tcp6")
        for parts in map(str.split, Path(table).read_text("ascii").splitlines()[1:])
        if parts[1].endswith(port) and parts[3] == "0A"
    }
    for process in Path("/proc").glob("[0-9]*"):
        try:
            held = {str(link.readlink()) for link in (process / "fd").iterdir()}
        except OSError:
            continue
        if any(f"socket:[{inode}]" in held for inode in inodes):
            pages = int((process / "statm").read_text("ascii").split()[1])
            return pages * os.sysconf("SC_PAGE_SIZE")
    return 0


def of_indexes(bench: Bench, uri: str) -> list[dict[str, object]]:
    """Each index: seconds to build, milliseconds and recall by how widely it searches, without filters and within.

    Memory is measured for the first alone: afterwards the server goes on with what it was given before.
    """
    rows: list[dict[str, object]] = []
    wanted = {"all": exact(bench.vectors, bench.queries, np.arange(len(bench.vectors)))}
    for kept, tenants in _FILTERS.items():
        wanted[kept] = exact(bench.vectors, bench.queries, np.flatnonzero(np.isin(bench.tenants, tenants)))
    with bench.collection() as name:
        bench.fill(name)
        for kind, (params, ways) in _INDEXES.items():
            seconds = bench.index(name, kind, params)
            time.sleep(_SETTLE_S)
            before = server_memory(uri)
            bench.load(name)
            time.sleep(_SETTLE_S)
            row: dict[str, object] = {"index": kind, "build_s": round(seconds, 1)}
            if not rows:
                row["memory_mb"] = round((server_memory(uri) - before) / 1e6)
            for how in ways:
                rows.append(row | {"search": how} | _searched(bench, name, how, wanted))
                say(rows[-1])
            bench.unload(name)
    return rows


def _searched(
    bench: Bench, name: str, how: Mapping[str, object], wanted: Mapping[str, Sequence[set[int]]]
) -> dict[str, object]:
    found: dict[str, object] = {}
    for kept, best in wanted.items():
        tenants = ", ".join(f'"t{tenant}"' for tenant in _FILTERS.get(kept, ()))
        took, hits = bench.asked(name, how, f"tenant in [{tenants}]" if tenants else "")
        found |= {f"{kept} p50_ms": round(took, 2), f"{kept} recall": round(recall(hits, best), 3)}
    return found


def of_partition_keys(bench: Bench) -> list[dict[str, object]]:
    """One tenant of 100 by a plain field and by a partition key (16 partitions)."""
    rows: list[dict[str, object]] = []
    wanted = exact(bench.vectors, bench.queries, np.flatnonzero(bench.tenants == 0))
    for key in (False, True):
        with bench.collection(key=key) as name:
            filled = bench.fill(name)
            built = bench.index(name, "HNSW", _INDEXES["HNSW"][0])
            bench.load(name)
            for ef in (64, 2_048):
                took, found = bench.asked(name, {"ef": ef}, 'tenant == "t0"')
                rows.append(
                    {
                        "partition_key": key, "ef": ef, "p50_ms": round(took, 2),
                        "recall": round(recall(found, wanted), 3),
                        "insert_rows_per_s": round(len(bench.vectors) / filled), "build_s": round(built, 1),
                    }
                )  # fmt: skip
                say(rows[-1])
    return rows


def of_writers(bench: Bench, uri: str) -> list[dict[str, object]]:
    """Rows per second of several writers with a client each, and how searches fare over rows that just came."""
    rows: list[dict[str, object]] = []
    half = len(bench.vectors) // 2
    for writers, shards in ((1, 1), (2, 1), (4, 1), (4, 4)):
        with bench.collection(shards=shards) as name:
            indexes = MilvusClient.prepare_index_params()
            indexes.add_index("vector", index_type="HNSW", metric_type="IP", params=dict(_INDEXES["HNSW"][0]))
            bench.client.call("create_index", name, indexes)
            bench.client.call("load_collection", name)
            seconds = _together(bench, uri, name, writers, half)
            took, _ = bench.asked(name, {"ef": 64})
            rows.append(
                {
                    "writers": writers, "shards": shards, "rows_per_s": round(half / seconds),
                    "p50_ms_right_after": round(took, 2),
                }
            )  # fmt: skip
            say(rows[-1])
    return rows


def _together(bench: Bench, uri: str, name: str, writers: int, rows: int) -> float:
    clients = [Client(uri, timeout_s=60) for _ in range(writers)]
    share = rows // writers
    threads = [
        threading.Thread(target=bench.fill, args=(name, at * share, (at + 1) * share, client))
        for at, client in enumerate(clients)
    ]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - began
    for client in clients:
        client.close()
    return seconds


def say(row: Mapping[str, object]) -> None:
    """A line as soon as it is known."""
    print("  " + ", ".join(f"{name} {value}" for name, value in row.items()), flush=True)


def main() -> None:
    """Run all parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=30_000)
    parser.add_argument("--dims", type=int, default=384)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results: dict[str, object] = {"chunks": options.chunks, "dims": options.dims}
    with tempfile.TemporaryDirectory() as folder, milvus_server(Path(folder)) as server:
        results["server"] = server.version
        print(f"server {server.version}, {options.chunks:,} chunks of {options.dims} dimensions", flush=True)
        client = Client(server.uri, timeout_s=60)
        bench = Bench(client, options.chunks, options.dims)
        parts: dict[str, Callable[[], list[dict[str, object]]]] = {
            "indexes": lambda: of_indexes(bench, server.uri),
            "partition_keys": lambda: of_partition_keys(bench),
            "writers": lambda: of_writers(bench, server.uri),
        }
        for part, measure in parts.items():
            print(part, flush=True)
            results[part] = measure()
        client.close()
    record(options.json, "bench/milvus_scale.py", results)


if __name__ == "__main__":
    main()
