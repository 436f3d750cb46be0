"""A single `citewell lookup` beside the bare imports and the model that it can't do without.

    python bench/cold_cli.py [--rounds 15] [--keep DIR] [--json FILE]

Bare: a Python that imports the third-party modules that a lookup needs (numpy, sqlite3, onnxruntime and its extensions,
Snowball, regex, platformdirs, typer with the pydantic that it parses arguments by, rich), has the runtime load the
default model's file with the same options, and embeds one text; a test holds that a lookup imports each of these.
"Mapped" is the same with the model's tables mapped instead of copied, as Citewell has them: what is left beside it is
Citewell's own. Then `citewell lookup` on the demo's store and on one of 10,000 synthetic chunks, hybrid, hints on. All
have their modules compiled beforehand, as an installation leaves them. They are run in turn, so that other work on the
machine hits all of them; medians of wall and of processor time, and the median of the rounds' ratios to bare. Also
counted: lookups that came without hints. Exit code 1 if a lookup's ratio of either time is above 1.3, or a hint is
lacking.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from citewell.adapters.embedders.models import cache_dir, model_path
from citewell.adapters.embedders.onnx import UseMultilingual
from scale_corpus import Corpus, fill

MOST = 1.3
BARES = ("bare", "mapped")
QUESTION = "why is the checkout slow"
BARE = """
import os
os.putenv("ORT_DISABLE_TELEMETRY", "1")
import json, sqlite3, sys
from pathlib import Path
import numpy, regex, Stemmer, pydantic, platformdirs, typer, onnxruntime
import rich.console, rich.padding, rich.table, rich.text
from onnxruntime_extensions import get_library_path
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
options.add_session_config_entry("session.intra_op.allow_spinning", "0")
options.register_custom_ops_library(get_library_path())
model = sys.argv[1]
if len(sys.argv) > 3:
    from citewell.adapters.embedders.outside import graph_of
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(Path(model).parent))
    model = graph_of(Path(model))
session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
session.run(["outputs"], {"inputs": [sys.argv[2]]})
"""


@dataclass(frozen=True)
class Run:
    """One process: seconds by the clock and of the processor, and what it printed."""

    wall: float
    processor: float
    said: str = ""


def run(command: Sequence[str]) -> Run:
    """Run it to its end.

    Raises:
        subprocess.CalledProcessError: it failed.
    """
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    said = subprocess.run(command, check=True, capture_output=True, text=True, env=_environment()).stdout
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Run(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, said)


def _environment() -> dict[str, str]:
    """Without settings of Citewell, and with compiled modules, which are kept apart from the sources."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("CITEWELL_")}
    plain.pop("PYTHONDONTWRITEBYTECODE", None)
    return plain | {"PYTHONPYCACHEPREFIX": str(Path(tempfile.gettempdir()) / "citewell-bench-bytecode")}


def commands(folder: Path) -> dict[str, list[str]]:
    """What is compared, by name; the stores are made unless they are there."""
    citewell = [sys.executable, "-m", "citewell"]
    stores = {"demo": folder / "demo", "10,000 chunks": folder / "synthetic"}
    if not stores["demo"].exists():
        subprocess.run([*citewell, "demo", "--keep", str(stores["demo"])], check=True, stdout=subprocess.DEVNULL)
    embedder = UseMultilingual()
    fill(stores["10,000 chunks"], Corpus(10_000, embedder.dimensions), embedder)
    bare = [sys.executable, "-c", BARE, str(model_path(cache_dir()).resolve()), QUESTION]
    return {"bare": bare, "mapped": [*bare, "mapped"]} | {
        name: [*citewell, "lookup", QUESTION, "--kb", str(store), "--mode", "hybrid"] for name, store in stores.items()
    }


def measured(folder: Path, rounds: int) -> dict[str, list[Run]]:
    """Every command, in turn, after one round that is not counted."""
    chosen = commands(folder)
    for command in chosen.values():
        run(command)
    runs: dict[str, list[Run]] = {name: [] for name in chosen}
    for _ in range(rounds):
        for name, command in chosen.items():
            runs[name].append(run(command))
    return runs


def figures(runs: dict[str, list[Run]]) -> dict[str, dict[str, float]]:
    """Medians, ratios to the bare run of the same round, and lookups without hints."""
    bare = runs["bare"]
    return {
        name: {
            "wall": statistics.median(one.wall for one in each),
            "processor": statistics.median(one.processor for one in each),
            "wall ratio": statistics.median(one.wall / base.wall for one, base in zip(each, bare, strict=True)),
            "processor ratio": statistics.median(
                one.processor / base.processor for one, base in zip(each, bare, strict=True)
            ),
            "without hints": sum(
                name not in BARES and "hints, no evidence" not in " ".join(one.said.split()) for one in each
            ),
        }
        for name, each in runs.items()
    }


def main() -> int:
    """Measure, print, write; 1 if a bound is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--keep", type=Path, help="make the stores here and use them again next time")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        found = figures(measured(folder, options.rounds))
    print(f"{'':14} {'wall s':>8} {'ratio':>6} {'processor s':>12} {'ratio':>6} {'without hints':>14}")
    for name, row in found.items():
        print(
            f"{name:14} {row['wall']:8.3f} {row['wall ratio']:6.2f} {row['processor']:12.3f}"
            f" {row['processor ratio']:6.2f} {row['without hints']:8.0f} of {options.rounds}"
        )
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n")
    lookups = [row for name, row in found.items() if name not in BARES]
    return int(any(max(row["processor ratio"], row["wall ratio"]) > MOST or row["without hints"] for row in lookups))


if __name__ == "__main__":
    sys.exit(main())
