"""Runs one stack on one case, in the stack's own environment, and writes its rankings, times and memory.

    python peers_worker.py STACK CASE_FOLDER OUTPUT.json [--ways hybrid dense lexical] [--keep FOLDER]

Every question is asked once untimed at the start; each way is then timed question by question. Memory is that of the
whole process after the last question, and what was there before the stack was imported.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from peers_case import load
from peers_stack import Stack

WAYS = ("hybrid", "dense", "lexical")
WARM = 5


def resident_mb() -> float:
    """Of this process, now; its peak where /proc is not to be had."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return pages * resource.getpagesize() / 2**20


def ask(way: Callable[[int], list[str]], count: int) -> tuple[list[list[str]], list[float]]:
    """The rankings, and milliseconds for each."""
    for at in range(min(WARM, count)):
        way(at)
    rankings, spent = [], []
    for at in range(count):
        start = time.perf_counter()
        rankings.append(way(at))
        spent.append((time.perf_counter() - start) * 1000)
    return rankings, spent


def run(name: str, case_folder: Path, folder: Path, ways: list[str]) -> dict[str, object]:
    """Build, ask, and say what it took."""
    case = load(case_folder)
    before = resident_mb()
    start = time.perf_counter()
    module = importlib.import_module(f"stack_{name.replace('-', '_')}")
    imported = time.perf_counter()
    stack: Stack = module.Stack()
    stack.build(case, folder)
    built = time.perf_counter()
    answers: dict[str, object] = {}
    for way in ways:
        rankings, spent = ask(getattr(stack, way), len(case.queries))
        keys = [query.key for query in case.queries]
        answers[way] = {"run": dict(zip(keys, rankings, strict=True)), "ms": dict(zip(keys, spent, strict=True))}
    return {
        "stack": name,
        "versions": {package: importlib.metadata.version(package) for package in module.PACKAGES},
        "chunks": len(case.chunks),
        "import_s": imported - start,
        "build_s": built - imported,
        "memory_mb": resident_mb(),
        "memory_before_mb": before,
        "disk_mb": sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 2**20,
        "ways": answers,
    }


def main() -> int:
    """Run it and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stack")
    parser.add_argument("case", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = run(arguments.stack, arguments.case, Path(folder), arguments.ways)
    arguments.output.write_text(json.dumps(figures, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
