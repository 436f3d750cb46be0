"""Breaks one rule or adapter at a time, in a copy, and sees whether the tests that hold it fail: `mutations.toml`.

    python scripts/mutations.py [--only PART...] [--fast] [--json FILE] [--list]

Each breakage is an exact piece of text and what takes its place; the run refuses to start if a piece no longer stands
exactly once in its file. The checkout is never touched: a copy of `src` is, and tests find the copy first. Before
anything is broken, all tests that the list names must pass. Exit code 1: a breakage went unnoticed, so a test is
missing. Exit code 2: the list or the tests are out of order.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).resolve().parent.parent
LIST = Path(__file__).with_name("mutations.toml")
AT_ONCE = 2
TOO_LONG_S = 900.0

Fate = Literal["killed", "survived", "broken"]
_FATES: dict[int, Fate] = {0: "survived", 1: "killed"}


@dataclass(frozen=True, slots=True)
class Mutation:
    """One breakage.

    Attributes:
        name: what it breaks, in a few words.
        file: within src/citewell.
        old, new: the piece of text that must stand there once, and what takes its place.
        tests: what pytest is given; at least one of them must fail.
        fast: whether it belongs to the few that the slow suite runs.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    fast: bool = False

    def applied(self, text: str) -> str:
        """The file's text, broken.

        Raises:
            ValueError: the piece doesn't stand there once, or nothing changes.
        """
        times = text.count(self.old)
        if times != 1 or self.old == self.new:
            raise ValueError(f"{self.name!r}: its piece of text stands {times} times in {self.file}, not once")
        return text.replace(self.old, self.new)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a breakage."""

    mutation: Mutation
    fate: Fate
    seconds: float
    said: str


def mutations() -> list[Mutation]:
    """The list, in its order."""
    entries = tomllib.loads(LIST.read_text("utf-8"))["mutation"]
    return [Mutation(**{**entry, "tests": tuple(entry["tests"])}) for entry in entries]


def faults(chosen: Iterable[Mutation]) -> list[str]:
    """What is wrong with the list: pieces that don't stand once, tests that aren't there, names given twice."""
    found: list[str] = []
    names: set[str] = set()
    for mutation in chosen:
        try:
            mutation.applied((ROOT / "src" / "citewell" / mutation.file).read_text("utf-8"))
        except (OSError, ValueError) as error:
            found.append(str(error))
        found += [f"{mutation.name!r}: no {test}" for test in mutation.tests if not _exists(test)]
        found += [f"{mutation.name!r} is listed twice"] if mutation.name in names else []
        names.add(mutation.name)
    return found


def _exists(test: str) -> bool:
    path, _, inside = test.partition("::")
    file = ROOT / path
    last = inside.rpartition("::")[2].partition("[")[0]
    return file.is_file() and (not last.startswith("test_") or f"def {last}(" in file.read_text("utf-8"))


def judge(mutation: Mutation) -> Outcome:
    """Break a copy and run the tests on it."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="citewell-mutation-") as folder:
        source = Path(folder) / "src"
        shutil.copytree(ROOT / "src", source)
        file = source / "citewell" / mutation.file
        file.write_text(mutation.applied(file.read_text("utf-8")), encoding="utf-8")
        code, said = tested(source, mutation.tests, Path(folder))
    return Outcome(mutation, _FATES.get(code, "broken"), time.monotonic() - started, said)


def tested(source: Path, tests: Sequence[str], scratch: Path) -> tuple[int, str]:
    """Pytest's exit code and its last lines, with the package taken from `source`."""
    command = [
        sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider", "-m", "slow or not slow",
        "--basetemp", str(scratch / "pytest"), *tests,
    ]  # fmt: skip
    surroundings = {**os.environ, "PYTHONPATH": str(source)}
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=surroundings, capture_output=True, text=True, timeout=TOO_LONG_S, check=False
        )
    except subprocess.TimeoutExpired:
        return 1, f"not done after {TOO_LONG_S:.0f} s"
    return done.returncode, "\n".join((done.stdout + done.stderr).strip().splitlines()[-15:])


def sound(chosen: Sequence[Mutation]) -> str:
    """What the tests say of an unbroken copy; empty if all of them pass."""
    tests = sorted({test for mutation in chosen for test in mutation.tests})
    with tempfile.TemporaryDirectory(prefix="citewell-unbroken-") as folder:
        source = Path(folder) / "src"
        shutil.copytree(ROOT / "src", source)
        halves = [tests[0::2], tests[1::2]]
        run = partial(_half, source, Path(folder))
        with ThreadPoolExecutor(AT_ONCE) as pool:
            codes = list(pool.map(run, enumerate(half for half in halves if half)))
    return "\n".join(said for code, said in codes if code)


def _half(source: Path, scratch: Path, half: tuple[int, Sequence[str]]) -> tuple[int, str]:
    folder = scratch / str(half[0])
    folder.mkdir()
    return tested(source, half[1], folder)


def chosen_of(arguments: argparse.Namespace) -> list[Mutation]:
    """Those that the command line asks for."""
    return [
        mutation
        for mutation in mutations()
        if (not arguments.fast or mutation.fast)
        and (not arguments.only or any(part in f"{mutation.file} {mutation.name}" for part in arguments.only))
    ]


def summary(outcomes: Sequence[Outcome]) -> dict[str, object]:
    """The figures, as JSON values."""
    return {
        "mutations": len(outcomes),
        "killed": sum(outcome.fate == "killed" for outcome in outcomes),
        "survived": [outcome.mutation.name for outcome in outcomes if outcome.fate == "survived"],
        "broken": [outcome.mutation.name for outcome in outcomes if outcome.fate == "broken"],
        "list": [
            {"name": outcome.mutation.name, "file": outcome.mutation.file, "fate": outcome.fate} for outcome in outcomes
        ],
    }


def main() -> int:
    """Run the list and print what became of each breakage."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[], help="parts of names or files")
    parser.add_argument("--fast", action="store_true", help="the few that the slow suite runs")
    parser.add_argument("--list", action="store_true", help="print the list and run nothing")
    parser.add_argument("--unbroken", action=argparse.BooleanOptionalAction, default=True, help="test a sound copy too")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    chosen = chosen_of(arguments)
    wrong = faults(chosen)
    if wrong or not chosen:
        print("\n".join(wrong) or "no such mutation", file=sys.stderr)
        return 2
    if arguments.list:
        print("\n".join(f"{mutation.file:36} {mutation.name}" for mutation in chosen))
        return 0
    if arguments.unbroken and (said := sound(chosen)):
        print(f"the tests fail although nothing is broken:\n{said}", file=sys.stderr)
        return 2
    return told(chosen, arguments.json)


def told(chosen: Sequence[Mutation], file: Path | None) -> int:
    """Judge these, print a line for each, and return the exit code."""
    outcomes: list[Outcome] = []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for outcome in pool.map(judge, chosen):
            outcomes.append(outcome)
            print(f"{outcome.fate:9} {outcome.seconds:6.1f} s  {outcome.mutation.file:34} {outcome.mutation.name}")
            if outcome.fate == "broken":
                print(outcome.said, file=sys.stderr)
            sys.stdout.flush()
    figures = summary(outcomes)
    print(f"{figures['killed']} of {figures['mutations']} breakages were noticed")
    if file is not None:
        file.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    if any(outcome.fate == "broken" for outcome in outcomes):
        return 2
    return 0 if all(outcome.fate == "killed" for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
