"""Feeds damaged and invented inputs to whatever reads text from outside, until the time is over, and counts them.

    python bench/fuzz.py [--seconds 60] [--seed 1] [--data ../shared/data/nasty] [--only PART...] [--json FILE]

Readers, splitter, analysis, identity, guard, projection, configuration, admission and ignore files; what must hold of
each, tests/support/fuzz_targets.py says. Inputs are drawn from a seed: files of `--data` and texts of our own, damaged.
A case that breaks is printed with its seed; made small, it becomes a test in tests/unit/test_found_cases.py. Exit code
1: one broke.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))

from fuzz_targets import TARGETS, broke, corpus


def main() -> int:
    """Go round the targets until the time is over."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/nasty"))
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    held, counts, failures = corpus(arguments.data), Counter[str](), list[str]()
    chosen = {name: act for name, act in TARGETS.items() if not arguments.only or name in arguments.only}
    until, number = time.monotonic() + arguments.seconds, 0
    while time.monotonic() < until:
        for name, target in chosen.items():
            seed = f"{name} {arguments.seed} {number}"
            counts[name] += 1
            if said := broke(target, seed, held):
                failures.append(f"{seed}: {said}")
                print(failures[-1], flush=True)
        number += 1
    figures = {
        "seed": arguments.seed,
        "inputs": counts.total(),
        "by target": dict(counts),
        "wrong": len(failures),
        "cases": failures,
    }
    print(json.dumps({name: figure for name, figure in figures.items() if name != "cases"}))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
