"""Prints golden lookups: the demo corpus in a fresh store, a hashed embedder, every labelled question in both modes.

    python tests/golden/lookups.py FOLDER > tests/golden/lookups.jsonl

Everything that a lookup says is printed but its milliseconds; numbers are rounded to six places, for the last bits of
a float32 product belong to the machine's linear algebra, not to Citewell.
"""

from __future__ import annotations

import json
import sys
from importlib import resources
from pathlib import Path

from citewell import Knowledge, Settings
from citewell.testing.fakes import HashEmbedder

SETTINGS = Settings.of({"rag.min-similarity": 0.05})


def rounded(value: object) -> object:
    """JSON values with floats to six places and without milliseconds."""
    if isinstance(value, float):
        return round(value, 6) + 0.0
    if isinstance(value, dict):
        return {name: rounded(inner) for name, inner in value.items() if name != "milliseconds"}
    return [rounded(inner) for inner in value] if isinstance(value, list) else value


def questions() -> list[str]:
    """The questions of the demo's golden set."""
    lines = resources.files("citewell.demo").joinpath("golden.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line)["question"] for line in lines if line]


def main(folder: Path) -> None:
    """Fill a store in this folder and print one line per lookup."""
    corpus = resources.files("citewell.demo").joinpath("corpus")
    embedder = HashEmbedder(256)
    with resources.as_file(corpus) as path, Knowledge.open(folder, settings=SETTINGS, embedder=embedder) as knowledge:
        knowledge.ingest(path)
        knowledge._hints._patience_s = 60.0  # a busy machine must not change what is compared
        for question in questions():
            for mode, category in (("dense", None), ("hybrid", None), ("hybrid", "storage")):
                result = knowledge.lookup(question, mode=mode, category=category)  # type: ignore[arg-type]  # both are modes
                seen = {"result": result.to_dict(), "agent": result.to_agent()}
                print(json.dumps(rounded(seen), ensure_ascii=False))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
