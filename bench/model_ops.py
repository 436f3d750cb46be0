"""Random operations on a store and on a plain dict side by side; after each one both must say the same (INGEST-5, 7).

    python bench/model_ops.py [--operations 500] [--seed 1 [2 ...]] [--engine lite] [--json FILE]

Files are added, edited, grown, shrunk, emptied, renamed, removed, given other front matter; the folder is ingested with
and without `prune`, under other categories and labels; documents come and go through the API; ingestions are killed
with SIGKILL; the store is reopened. After each operation the ids and texts of all chunks, on every path, in the
catalogue and by key, must equal the model's, in the store that wrote and in one that was open all along; so must what
the ingestion reported. Now and then `verify` must find nothing, SQLite's tables must hold as many rows as there are
chunks, and a store filled in one go must give the same similarities. The first difference ends the run with exit code
1, the seed and the operations before it. Each seed begins with an empty store.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable
from pathlib import Path

from citewell.errors import CitewellError
from model_observer import DifferenceError
from model_run import Run
from recorded import record

_DEEP_CHECK_EVERY = 25


def perform(
    operations: int, seed: int, folder: Path, tell: Callable[[Counter[str]], None], engine: str = "local"
) -> Counter[str]:
    """Run so many operations; how often each came, which is told at each deep check too.

    Raises:
        DifferenceError: the first difference, with the seed and the operations before it.
    """
    run, last = Run(folder, seed, engine), deque[str](maxlen=12)
    try:
        for number in range(1, operations + 1):
            deep = number % _DEEP_CHECK_EVERY == 0 or number == operations
            try:
                last.append(f"{number}: {run.step(deep=deep)}")
            except (DifferenceError, CitewellError) as error:
                before = "\n  ".join(last)
                raise DifferenceError(
                    f"seed {seed}, operation {number} ({run.said}): {error}\nbefore it:\n  {before}"
                ) from error
            if deep:
                tell(run.counts)
    finally:
        run.close()
    return run.counts


def main() -> int:
    """Run the operations with each seed; 1 if the store and the model differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operations", type=int, default=500, help="with each seed")
    parser.add_argument("--seed", type=int, nargs="+", default=[1])
    parser.add_argument("--engine", choices=["local", "lite"], default="local")
    parser.add_argument("--json", type=Path, help="where to write the figures too, while they grow")
    arguments = parser.parse_args()
    seeds = " ".join(map(str, arguments.seed))
    command = f"bench/model_ops.py --operations {arguments.operations} --seed {seeds}"
    if arguments.engine != "local":
        command += f" --engine {arguments.engine}"

    started, done = time.perf_counter(), Counter[str]()

    def tell(counts: Counter[str]) -> None:
        total = done + counts
        figures = {"operations": total.total(), "kinds": dict(total.most_common()), "differences": 0}
        record(arguments.json, command, figures)

    for seed in arguments.seed:
        with tempfile.TemporaryDirectory() as folder:
            try:
                counts = perform(arguments.operations, seed, Path(folder), tell, arguments.engine)
            except DifferenceError as error:
                print(error)
                return 1
        done.update(counts)
        print(f"{arguments.operations} operations with seed {seed}: the store and the model are equal after each")
    kinds = ", ".join(f"{name} {count}" for name, count in done.most_common())
    print(f"{kinds}; {time.perf_counter() - started:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
