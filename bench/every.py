"""Runs what the figures of README.md and docs/ come from, script after script, and notes how long each takes.

    python bench/every.py [--data ../shared/data] [--only NAME ...] [--peers FOLDER] [--results bench/results]

Those that time something come first, while the machine is quiet; what the rest tells doesn't depend on the machine.
A script that misses a bound, or fails, is named at the end and stops no other one. The peers are run anew where
their times are told. Stores that several scripts need are made once, under a folder that goes when all is done: 8 GB,
nearly all of it for a million chunks. Written: each script's JSON, and times.json. Exit code 1 if a script left none.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from recorded import ROOT, record

BENCH = ROOT / "bench"


@dataclass(frozen=True)
class Places:
    """Where things lie: data handed in, results, stores for the length of this run, the peers' environments."""

    data: Path
    results: Path
    stores: Path
    peers: Path | None


@dataclass(frozen=True)
class Taken:
    """What running a script took: minutes by the clock and of processor, both cores; `exit` 1 may be a missed bound."""

    script: str
    minutes: float
    processor: float
    exit: int
    wrote: bool


def commands(at: Places) -> dict[str, list[str]]:
    """The scripts by name, in the order in which they run, with what they are given."""
    data, k8s, chunking = (str(at.data / name) for name in ("", "k8s-docs", "chunking-eval"))
    sets, keep = ["--stores", str(at.stores / "sets")], ["--keep", str(at.stores / "synthetic")]
    cache = [] if at.peers is None else ["--cache", str(at.peers)]
    timed = {
        "cold_cli": keep,
        "warm": keep,
        "mcp_start": [],
        "engine": [],
        "serve_load": ["--data", k8s],
        "ingest": ["--data", k8s],
        "peers_scale": ["--fresh", *cache],
        "peers": ["--data", data, "--fresh", "chunking-eval", *cache],
        "milvus": ["--server"],
        "rerun": ["--data", k8s],
        "memory": [],
        "hints": ["--data", data, "--documents", "10000", "100000"],
        "milvus_scale": [],
        "scale": ["--keep", str(at.stores / "scale")],
    }
    counted = {
        "milvus_shards": ["--texts", k8s],
        "session": [],
        "tokens": ["--data", data],
        "quality": ["--data", data],
        "weighing": ["--data", data],
        "context": ["--data", chunking],
        "chunk_size": ["--data", chunking],
        "tried": ["--data", data, *cache],
        "calibrate": ["--data", data, *sets],
        "tune": ["--data", data, "--limit", "100", *sets],
    }
    return timed | counted


NAMES = tuple(commands(Places(Path(), Path(), Path(), None)))


def script(name: str) -> Path:
    """The file of a script."""
    inside = {"peers": "side_by_side.py", "peers_scale": "peers_scale.py"}
    return BENCH / "peers" / inside[name] if name in inside else BENCH / f"{name}.py"


def output(name: str, results: Path) -> list[str]:
    """How a script is told where to write."""
    return ["--results", str(results / name)] if name == "peers" else ["--json", str(results / f"{name}.json")]


def run(name: str, given: Sequence[str], results: Path) -> Taken:
    """Run a script to its end; what it says is shown."""
    print(f"\n== {name}", flush=True)
    began, before, started = time.time(), _processor(), time.perf_counter()
    command = [sys.executable, str(script(name)), *given, *output(name, results)]
    code = subprocess.run(command, check=False, cwd=ROOT).returncode
    minutes, processor = (time.perf_counter() - started) / 60, (_processor() - before) / 60
    wrote = any(file.stat().st_mtime >= began for file in _written(name, results))
    taken = Taken(script(name).relative_to(ROOT).as_posix(), minutes, processor, code, wrote)
    print(f"== {name}: {minutes:.1f} min, exit code {code}{'' if wrote else ', NOTHING WRITTEN'}", flush=True)
    return taken


def _written(name: str, results: Path) -> list[Path]:
    return sorted((results / name).glob("*.json")) if name == "peers" else sorted(results.glob(f"{name}.json"))


def _processor() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def kept(file: Path) -> dict[str, Mapping[str, object]]:
    """What earlier runs took, by script."""
    rows = json.loads(file.read_text("utf-8"))["scripts"] if file.exists() else []
    return {row["script"]: row for row in rows}


def note(done: Sequence[Taken], results: Path) -> None:
    """Write what they took, beside what is known of others, in the order in which all run."""
    rows = kept(results / "times.json") | {taken.script: asdict(taken) for taken in done}
    order = [script(name).relative_to(ROOT).as_posix() for name in NAMES]
    record(results / "times.json", "bench/every.py", {"scripts": [rows[name] for name in order if name in rows]})


def every(asked: argparse.Namespace) -> list[Taken]:
    """Run those that are asked for."""
    with tempfile.TemporaryDirectory() as stores:
        at = Places(asked.data.resolve(), asked.results.resolve(), Path(stores), asked.peers)
        chosen = {name: given for name, given in commands(at).items() if name in asked.only}
        return [run(name, given, at.results) for name, given in chosen.items()]


def main() -> int:
    """Run, note, sum up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, metavar="NAME")
    parser.add_argument("--peers", type=Path, help="where the peers' environments are; by default the user's cache")
    parser.add_argument("--results", type=Path, default=BENCH / "results")
    asked = parser.parse_args()
    asked.results.mkdir(parents=True, exist_ok=True)
    done = every(asked)
    note(done, asked.results)
    for taken in done:
        said = "" if taken.exit == 0 else "  bound missed" if taken.wrote else "  FAILED"
        print(f"{taken.script:30} {taken.minutes:6.1f} min{said}")
    return int(not all(taken.wrote for taken in done))


if __name__ == "__main__":
    sys.exit(main())
