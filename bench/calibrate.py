"""What `citewell calibrate` proposes on public sets, held against people's questions: its own, and those of other sets.

    python bench/calibrate.py [--data ../shared/data] [--sets runbooks xquad-en ...] [--stores FOLDER] [--json FILE]

Each set's documents are one store (kept in --stores, if it is given). A question of another set is one that the store
can't answer, or seldom. 100 questions of each set, drawn by a seed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from citewell import Knowledge, Settings
from citewell.evaluation.datasets import read_dataset
from citewell.evaluation.tune_folds import shuffled
from dataset_store import PATIENT, fill, patient
from recorded import record

SETS = {"runbooks": "desc", "xquad-en": None, "cmrc2018-dev": None, "chunking-eval": None, "anthropic-docs": None}
QUESTIONS, SEED = 100, 1


def questions(data: Path, name: str) -> list[str]:
    """Some of the set's judged questions."""
    texts = read_dataset(data / name, qrels=SETS[name]).queries
    return [texts[query] for query in shuffled(list(texts), SEED)[:QUESTIONS]]


def best(location: Path, asked: Sequence[str]) -> list[float]:
    """The best similarity of each question; -1 for none."""
    with Knowledge.open(location, settings=Settings.of({**PATIENT, "rag.hints": False}), create=False) as knowledge:
        found = [knowledge.lookup(text, mode="dense", retrieve_k=1, return_n=1).evidence for text in asked]
    return [-1.0 if not blocks or blocks[0].similarity is None else blocks[0].similarity for blocks in found]


def share(values: Sequence[float], floor: float) -> float:
    """Of values at or above the floor."""
    return sum(value >= floor for value in values) / len(values)


def judge(data: Path, stores: Path, name: str, others: Sequence[str]) -> dict[str, object]:
    """What is proposed for one store, and what it does to people's questions."""
    command = [sys.executable, "-m", "citewell", "calibrate", "--kb", str(stores / name), "--json"]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True, env=patient()).stdout)
    floor = found["floor"]
    foreign = {other: best(stores / name, questions(data, other)) for other in others}
    return {
        "set": name,
        "proposed": found["proposed"],
        "floor": floor,
        "interval": found["interval"],
        "separation": found["separation"],
        "kept, made questions": found["kept"],
        "kept, its people's questions": share(best(stores / name, questions(data, name)), floor),
        "rejected, everyday questions": found["rejected"],
        "rejected, of other sets": {other: 1 - share(values, floor) for other, values in foreign.items()},
        "languages that differ": [each["language"] for each in found["languages"] if each["differs"]],
    }


def main() -> int:
    """Run the chosen sets and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--sets", nargs="+", choices=sorted(SETS), default=list(SETS))
    parser.add_argument("--stores", type=Path)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as work:
        stores = arguments.stores or Path(work)
        for name in arguments.sets:
            fill(stores / name, read_dataset(arguments.data / name, qrels=SETS[name]))
            row = judge(arguments.data, stores, name, [other for other in SETS if other != name])
            rows.append(row)
            print(json.dumps(row), flush=True)
    record(arguments.json, "bench/calibrate.py", {"questions of each set": QUESTIONS, "sets": rows})
    return 0


if __name__ == "__main__":
    sys.exit(main())
