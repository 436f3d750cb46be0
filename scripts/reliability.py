"""Writes the figures of docs/reliability.md, between its marks, from what the long runs left in bench/results.

    python scripts/reliability.py [--check]

A figure that several runs counted is their sum. A run that left nothing is `not run`. With --check nothing is written;
exit code 1 says that the page is out of date.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from pages import asked_to_check, settle

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reliability.md"
RESULTS = ROOT / "bench" / "results"
BEGIN, END = "<!-- figures: scripts/reliability.py -->", "<!-- /figures -->"


@dataclass(frozen=True, slots=True)
class Figure:
    """A line of the table.

    Attributes:
        says: what was counted.
        files: whose runs counted it, as a pattern within bench/results.
        key: under which the figure stands; a run without it did not count it.
        bound: what it must be; empty = any.
        script: what runs it, where the file does not say.
    """

    says: str
    files: str
    key: str
    bound: str = ""
    script: str = ""


FIGURES = (
    Figure("bad values tried at every place where one enters", "hostile*.json", "tried", "", "bench/bad_inputs.py"),
    Figure("of them neither refused by name nor answered", "hostile*.json", "wrong", "0", "bench/bad_inputs.py"),
    Figure("inputs made by fuzzing", "fuzz*.json", "inputs", "", "bench/fuzz.py"),
    Figure("crashes, hangs and broken invariants among them", "fuzz*.json", "wrong", "0", "bench/fuzz.py"),
    Figure("rules and adapters broken on purpose", "mutations*.json", "mutations", "", "scripts/mutations.py"),
    Figure("of them noticed by a test", "mutations*.json", "killed", "all", "scripts/mutations.py"),
    Figure(
        "tests that inject a fault into a path, a store, an embedder, an endpoint",
        "faults*.json",
        "injected",
        "",
        "bench/faults.py --tests",
    ),
    Figure("of them failed", "faults*.json", "injected_wrong", "0", "bench/faults.py --tests"),
    Figure("faults inflicted on the files of a store", "faults*.json", "faults", "", "bench/faults.py"),
    Figure("answers that were wrong after them", "faults*.json", "wrong", "0", "bench/faults.py"),
    Figure("of them, stores that lost their last writes with the log, and said so", "faults*.json", "earlier"),
    Figure("of them, a wrong name, rank or property that `citewell verify` names", "faults*.json", "verify"),
    Figure("of them, titles or properties with a flipped bit, unnoticed", "faults*.json", "record"),
    Figure("ingestions killed with SIGKILL", "kills*.json", "killed", "", "bench/kill_ingest.py"),
    Figure("documents acknowledged before those kills", "kills*.json", "acknowledged_documents"),
    Figure("acknowledged writes lost", "kills*.json", "acknowledged_lost", "0"),
    Figure("random operations compared with a model", "model-[0-9]*.json", "operations", "", "bench/model_ops.py"),
    Figure("differences", "model-[0-9]*.json", "differences", "0"),
    Figure("the same on Milvus Lite", "model-lite*.json", "operations", "", "bench/model_ops.py --engine lite"),
    Figure("differences there", "model-lite*.json", "differences", "0"),
    Figure("answers of eight readers checked while one wrote", "readers*.json", "answers", "", "bench/readers.py"),
    Figure("versions written meanwhile", "readers*.json", "versions"),
    Figure("errors of readers", "readers*.json", "errors", "0"),
    Figure("mixtures of two versions, and steps back", "readers*.json", "mixtures", "0"),
    Figure("leaks beyond a reader's scope", "readers*.json", "leaks", "0"),
    Figure("acknowledged writes lost there", "readers*.json", "acknowledged_lost", "0"),
)


def table(results: Path) -> str:
    """The whole table, in Markdown."""
    lines = ["| what | figure | bound | run by | commit |", "|---|---|---|---|---|"]
    return "\n".join([*lines, *(_line(figure, results) for figure in FIGURES)])


def _line(figure: Figure, results: Path) -> str:
    every = [json.loads(file.read_text("utf-8")) for file in sorted(results.glob(figure.files))]
    runs = [run for run in every if figure.key in run]
    if not runs:
        return f"| {figure.says} | not run | {figure.bound} | {_code(figure.script)} | |"
    shown = f"{sum(run[figure.key] for run in runs):,}"
    scripts = dict.fromkeys(run.get("script", figure.script) for run in runs)
    commits = dict.fromkeys(str(run["commit"]) for run in runs if "commit" in run)
    return f"| {figure.says} | {shown} | {figure.bound} | {_scripts(list(scripts))} | {', '.join(commits)} |"


def _scripts(scripts: list[str]) -> str:
    """One command, or the first of several that differ in their seed."""
    return _code(scripts[0]) + (f" and {len(scripts) - 1} more" if len(scripts) > 1 else "")


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def page(text: str, results: Path) -> str:
    """The page with its figures as the results are now."""
    before, mark, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not mark or not end:
        raise SystemExit(f"{PAGE} lacks its marks {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{table(results)}\n\n{END}{after}"


def main() -> int:
    """Write the page, or check it."""
    check = asked_to_check(__doc__)
    return settle(PAGE.parent, {PAGE.name: page(PAGE.read_text("utf-8"), RESULTS)}, check=check)


if __name__ == "__main__":
    sys.exit(main())
