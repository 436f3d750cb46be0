"""What `citewell tune` proposes on public sets, starting from the defaults in hybrid mode.

    python bench/tune.py [--data ../shared/data] [--sets runbooks ...] [--stores FOLDER] [--limit 1000] [--json FILE]

Each set's documents are one store (kept in --stores, if it is given). The figures are those of questions held out.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from calibrate import SETS
from citewell.evaluation.datasets import read_dataset
from dataset_store import fill, patient


def tuned(data: Path, store: Path, name: str, limit: int) -> dict[str, Any]:
    """The finding's JSON document."""
    labels = SETS[name]
    command = [
        sys.executable,
        "-m",
        "citewell",
        "tune",
        str(data / name),
        "--kb",
        str(store),
        "--mode",
        "hybrid",
        "--json",
    ]
    command += ["--limit", str(limit), *([] if labels is None else ["--qrels", labels])]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=patient())
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def line(found: dict[str, Any]) -> str:
    """What is proposed, and what it is worth."""
    figures = "; ".join(
        f"{each['measure']} {each['current']:.4f} -> {each['tuned']:.4f} ({each['gain']:+.4f}, p {each['p']:.4f})"
        for each in found["comparisons"]
    )
    steps = [_step(step, found["folds"]) for step in found["steps"] if step["changes"]]
    floor = found["floor"]
    said = f"floor {floor['value']} {floor['verdict']}, losses {floor['losses']}, rejects {floor['rejected']:.2f}"
    return f"{found['dataset']}: {found['verdict']} {found['proposed']}; {figures}; {steps}; {said}; {found['latency']}"


def _step(step: dict[str, Any], folds: int) -> str:
    changes = ", ".join(f"{key} {change['from']} -> {change['to']}" for key, change in step["changes"].items())
    gain = step["comparisons"][0]
    held_out = f"{gain['gain']:+.4f}, p {gain['p']:.4f}, {step['agreeing']} of {folds} folds"
    return f"{changes} ({'kept' if step['kept'] else 'not kept'}: {held_out})"


def main() -> int:
    """Run the chosen sets and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--sets", nargs="+", choices=sorted(SETS), default=list(SETS))
    parser.add_argument("--stores", type=Path)
    parser.add_argument("--limit", type=int, default=1_000)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as work:
        stores = arguments.stores or Path(work)
        for name in arguments.sets:
            fill(stores / name, read_dataset(arguments.data / name, qrels=SETS[name]))
            rows.append(tuned(arguments.data, stores / name, name, arguments.limit))
            print(line(rows[-1]), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
