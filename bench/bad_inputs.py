"""Tries every bad value at every place where one enters, and counts what was not refused by name or answered.

    python bench/bad_inputs.py [--kb memory:] [--json FILE]

The values and places are those of tests/support/hostile_values.py, which tests try one by one; here they are counted.
Exit code 1: something else than an answer or an error of Citewell's came of one of them.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))

import hostile_values


def main() -> int:
    """Try all, print what went wrong, and count."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kb", default="memory:", help="a store that is made for this")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    file = None if arguments.json is None else arguments.json.resolve()
    os.chdir(tempfile.mkdtemp())  # names of files among the values are looked for here
    with hostile_values.room(arguments.kb) as knowledge:
        places = {**hostile_values.rules(), **hostile_values.calls(knowledge)}
        wrong = [
            f"{name} <- {what}: {said}"
            for name, place in places.items()
            for what, value in hostile_values.VALUES.items()
            if (said := hostile_values.tried(place, value))
        ]
        harmed = hostile_values.harm(knowledge)
    figures = {
        "values": len(hostile_values.VALUES),
        "places": len(places),
        "tried": len(hostile_values.VALUES) * len(places),
        "wrong": len(wrong),
        "store harmed": bool(harmed),
    }
    print("\n".join([*wrong, *harmed, json.dumps(figures)]))
    if file is not None:
        file.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 1 if wrong or harmed else 0


if __name__ == "__main__":
    sys.exit(main())
