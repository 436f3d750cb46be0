"""Hybrid search at 100,000 synthetic chunks: Citewell beside the peers that persist, in one run.

    python bench/peers/peers_scale.py [--chunks 100000] [--stacks ...] [--cache FOLDER] [--lock FILE] [--fresh]
        [--json bench/results/peers_scale.json]

120 words and 384 dimensions a chunk, 40 questions of six words with their vectors, each at the
median of five rounds; per stack the p50 and p95 of the hybrid search, building, memory, disk, and the recall@20 of the
dense path against an exact scan. Citewell's lookup is measured with hints, its default, without, since no peer
gives any, and without at the peers' depth of 20, its own being 50. The bound: Citewell's p50 is at most half of that of
the fastest peer that answers with texts it keeps on disk; txtai without `content` gives ids out of memory and is shown.
It is judged where both do the same, without hints and 20 deep; what the two further things cost is said beside it.
Exit code 1 if it is missed.
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

KEEPING = ("lancedb", "lancedb-hnsw", "txtai-content")
"""Those that answer with passages which they keep on disk."""
PEERS = (*KEEPING, "txtai")
FURTHER = ("langchain-milvus",)
"""Asked for by name alone: Milvus Lite is meant for a tenth of these chunks."""
BOUND = 0.5
WAYS = {"plain": "p50 ms without hints", "shallow": "p50 ms without hints, 20 deep"}
"""What is measured of Citewell beside its default, and how it is called."""
ALIKE = "shallow"
"""What of Citewell does as much as a peer does."""
_RECALL = 20
_ROUNDS = ("--rounds", "5", "--ways", "hybrid", "dense")


def figures(found: dict[str, Any], truth: dict[str, set[str]]) -> dict[str, Any]:
    """Of one stack's run."""
    spent = sorted(found["ways"]["hybrid"]["ms"].values())
    dense = found["ways"]["dense"]["run"]
    return {
        "versions": found["versions"],
        "p50 ms": statistics.median(spent),
        "p95 ms": statistics.quantiles(spent, n=20)[-1],
        "dense p50 ms": statistics.median(found["ways"]["dense"]["ms"].values()),
        "dense recall@20": statistics.mean(len(truth[query] & set(dense[query])) / _RECALL for query in truth),
        **{
            name: statistics.median(found["ways"][way]["ms"].values())
            for way, name in WAYS.items()
            if way in found["ways"]
        },
        **{name: found[name] for name in ("build_s", "build_processor_s", "memory_mb", "disk_mb")},
    }


def verdict(ratio: float) -> str:
    """Whether it keeps to the bound."""
    return f"bound {BOUND:g} {'held' if ratio <= BOUND else 'MISSED'}"


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
    parser.add_argument("--stacks", nargs="+", choices=[*PEERS, *FURTHER], default=list(PEERS))
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
        more = (*_ROUNDS, *WAYS) if stack == "citewell" else _ROUNDS
        found = run(stack, folder, arguments.cache.resolve(), fresh=arguments.fresh, lock=arguments.lock, more=more)
        stacks[stack] = figures(found, truth)
        print(
            stack,
            {name: value if isinstance(value, dict) else round(value, 3) for name, value in stacks[stack].items()},
        )
    keeping = [stack for stack in KEEPING if stack in stacks] or arguments.stacks
    fastest = min(keeping, key=lambda stack: stacks[stack]["p50 ms"])
    own, least = stacks["citewell"], stacks[fastest]["p50 ms"]
    ratios = {"ratio": own["p50 ms"] / least, **{f"ratio, {way}": own[name] / least for way, name in WAYS.items()}}
    for name, ratio in ratios.items():
        print(f"{name}: {ratio:.2f} of the fastest peer with texts on disk, {fastest}; {verdict(ratio)}")
    result = {**about(), "chunks": arguments.chunks, "fastest": fastest, "bound": BOUND, **ratios, "stacks": stacks}
    arguments.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0 if ratios[f"ratio, {ALIKE}"] <= BOUND else 1


if __name__ == "__main__":
    sys.exit(main())
