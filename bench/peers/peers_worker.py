"""Runs one stack on one case, in the stack's own environment, and writes its rankings, times and memory.

    python peers_worker.py STACK CASE_FOLDER OUTPUT.json [--ways hybrid dense lexical] [--rounds 1] [--lock FILE]

The first five questions are asked untimed at the start; each way is then timed question by question, each at the median
of its rounds; with --lock while that file's lock is held, at normal priority, so that on a shared machine one thing is
timed at a time. Building is told by the clock and by the processor. Memory is what
the process has gained from before the stack was imported until after the last question.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import importlib
import importlib.metadata
import json
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from peers_case import Case, load
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


def ask(way: Callable[[int], list[str]], count: int, rounds: int) -> tuple[list[list[str]], list[float]]:
    """The rankings, and milliseconds for each."""
    for at in range(min(WARM, count)):
        way(at)
    rankings: list[list[str]] = []
    spent: list[list[float]] = [[] for _ in range(count)]
    for _ in range(rounds):
        rankings = []
        for at in range(count):
            start = time.perf_counter()
            rankings.append(way(at))
            spent[at].append((time.perf_counter() - start) * 1000)
    return rankings, [statistics.median(each) for each in spent]


@contextlib.contextmanager
def undisturbed(lock: Path | None) -> Iterator[None]:
    """Hold the lock meanwhile, at normal priority."""
    if lock is None:
        yield
        return
    before = os.getpriority(os.PRIO_PROCESS, 0)
    with lock.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with contextlib.suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, 0)
        yield
        os.setpriority(os.PRIO_PROCESS, 0, before)


def run(name: str, case: Case, folder: Path, asked: argparse.Namespace) -> dict[str, object]:
    """Build, ask, and say what it took."""
    before, start = resident_mb(), time.perf_counter()
    module = importlib.import_module(f"stack_{name.replace('-', '_')}")
    imported, busy = time.perf_counter(), time.process_time()
    stack: Stack = module.Stack()
    stack.build(case, folder)
    built, busy = time.perf_counter(), time.process_time() - busy
    answers: dict[str, object] = {}
    keys = [query.key for query in case.queries]
    with undisturbed(asked.lock):
        for way in asked.ways:
            rankings, spent = ask(getattr(stack, way), len(keys), asked.rounds)
            answers[way] = {"run": dict(zip(keys, rankings, strict=True)), "ms": dict(zip(keys, spent, strict=True))}
    return {
        "stack": name,
        "versions": {package: importlib.metadata.version(package) for package in module.PACKAGES},
        "chunks": len(case.chunks),
        "import_s": imported - start,
        "build_s": built - imported,
        "build_processor_s": busy,
        "memory_mb": resident_mb() - before,
        "disk_mb": sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 2**20,
        "ways": answers,
    }


def main() -> int:
    """Run it and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stack")
    parser.add_argument("case", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--ways", nargs="+", choices=[*WAYS, "plain", "shallow"], default=list(WAYS))
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--lock", type=Path)
    arguments = parser.parse_args()
    case = load(arguments.case)
    with tempfile.TemporaryDirectory() as folder:
        figures = run(arguments.stack, case, Path(folder), arguments)
    arguments.output.write_text(json.dumps(figures, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
