"""Hybrid search at 100,000 synthetic chunks: Citewell beside the peers that persist, in one run.

    python bench/peers/peers_scale.py [--chunks 100000] [--stacks ...] [--cache FOLDER] [--lock FILE] [--fresh]
        [--json bench/results/peers_scale.json]

120 words and 384 dimensions a chunk, 40 questions of six words with their vectors, each at the
median of five rounds; per stack the p50 and p95 of the hybrid search, building, memory, disk, and the recall@20 of the
dense path against an exact scan. Citewell's lookup is measured with hints, its default, and without, since no peer
gives any. The bound: Citewell's p50 is at most half of the fastest peer's. Exit code 1 if it
is missed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import Any

import numpy as np

from peers_case import Case, load

from side_by_side import CACHE, ROOT, about, run  # isort: skip - puts bench/ where the next finds it
from peers_words import make_synthetic

PEERS = ("lancedb", "lancedb-hnsw", "txtai", "langchain-milvus")
BOUND = 0.5
_RECALL = 20
_ROUNDS = ("--rounds", "5", "--ways", "hybrid", "dense")


def figures(found: dict[str, Any], truth: dict[str, set[str]]) -> dict[str, Any]:
    """Of one stack's run."""
    spent = sorted(found["ways"]["hybrid"]["ms"].values())
    dense, plain = found["ways"]["dense"]["run"], found["ways"].get("plain")
    return {
        "versions": found["versions"],
        "p50 ms": statistics.median(spent),
        "p95 ms": statistics.quantiles(spent, n=20)[-1],
        "dense p50 ms": statistics.median(found["ways"]["dense"]["ms"].values()),
        "dense recall@20": statistics.mean(len(truth[query] & set(dense[query])) / _RECALL for query in truth),
        **({"p50 ms without hints": statistics.median(plain["ms"].values())} if plain else {}),
        **{name: found[name] for name in ("build_s", "build_processor_s", "memory_mb", "disk_mb")},
    }


def nearest(case: Case) -> dict[str, set[str]]:
    """The 20 nearest chunks of each question, by an exact scan."""
    truth = {}
    for query, vector in zip(case.queries, case.asked, strict=True):
        scores = case.vectors @ vector
        truth[query.key] = {case.chunks[row].key for row in np.argpartition(-scores, _RECALL)[:_RECALL]}
    return truth


def main() -> int:
    """Run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--stacks", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--json", type=Path, default=ROOT / "bench" / "results" / "peers_scale.json")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--lock", type=Path)
    arguments = parser.parse_args()
    folder = arguments.cache.resolve() / "cases" / f"synthetic-{arguments.chunks}"
    make_synthetic(arguments.chunks, folder)
    case = load(folder)
    truth = nearest(case)
    stacks = {}
    for stack in ("citewell", *arguments.stacks):
        more = (*_ROUNDS, "plain") if stack == "citewell" else _ROUNDS
        found = run(stack, folder, arguments.cache.resolve(), fresh=arguments.fresh, lock=arguments.lock, more=more)
        stacks[stack] = figures(found, truth)
        print(
            stack,
            {name: value if isinstance(value, dict) else round(value, 3) for name, value in stacks[stack].items()},
        )
    fastest = min(arguments.stacks, key=lambda stack: stacks[stack]["p50 ms"])
    ratio = stacks["citewell"]["p50 ms"] / stacks[fastest]["p50 ms"]
    kept = ratio <= BOUND
    bare = stacks["citewell"]["p50 ms without hints"] / stacks[fastest]["p50 ms"]
    said = f"{ratio:.2f} of the fastest peer, {fastest}; without hints {bare:.2f}; bound {BOUND}"
    print(f"{said}: {'held' if kept else 'MISSED'}")
    result = {
        **about(),
        "chunks": arguments.chunks,
        "fastest": fastest,
        "ratio": ratio,
        "ratio without hints": bare,
        "bound": BOUND,
        "stacks": stacks,
    }
    arguments.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
