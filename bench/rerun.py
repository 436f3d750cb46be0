"""How long a further run takes when little or nothing changed, and how long a walk over many files.

    python bench/rerun.py [--data ../shared/data/k8s-docs] [--model] [--files 20000]

Copies a folder, ingests the copy, then runs again: unchanged, with one page edited, with one page moved, each in a
store opened anew. Without --model a small hashed embedder keeps it short. Bounds: a run with one page edited takes
less than 2 s and embeds fewer than 5 chunks, a moved page embeds none; a walk of 20,000 files takes less than 3 s.
Exit code 1 if a bound is missed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from citewell import IngestReport, Knowledge, Settings
from citewell.ingest.walk import walk
from citewell.ports import Embedder
from citewell.testing.fakes import HashEmbedder

_RUN_S, _EMBEDDED, _WALK_S = 2.0, 5, 3.0


def run(location: Path, docs: Path, embedder: Embedder | None) -> tuple[IngestReport, float]:
    """One run in a store opened anew, and its seconds, opening included."""
    started = time.perf_counter()
    with Knowledge.open(location, settings=Settings(), embedder=embedder) as knowledge:
        report = knowledge.ingest(docs, prune=True)
    return report, time.perf_counter() - started


def edit(page: Path) -> None:
    """Add a section at the end."""
    with page.open("a", encoding="utf-8") as file:
        file.write("\n\n## One more\n\nA paragraph that was not there before.\n")


def move(page: Path) -> None:
    """Give it another name in the same folder."""
    page.rename(page.with_name(f"moved-{page.name}"))


Figures = dict[str, dict[str, float]]


def runs(data: Path, embedder: Embedder | None) -> tuple[bool, Figures]:
    """Print the figures of the runs and give them back, after whether the bounds hold."""
    with tempfile.TemporaryDirectory() as folder:
        docs = Path(folder) / "docs"
        shutil.copytree(data, docs)
        pages = sorted(page for page in docs.rglob("*.md") if len(page.read_bytes()) > 5_000)
        deeds: dict[str, Callable[[], None]] = {
            "first run": lambda: None,
            "nothing changed": lambda: None,
            "one page edited": lambda: edit(pages[len(pages) // 3]),
            "one page moved": lambda: move(pages[len(pages) // 2]),
        }
        done: dict[str, tuple[IngestReport, float]] = {}
        for name, deed in deeds.items():
            deed()
            done[name] = report, seconds = run(Path(folder) / "kb", docs, embedder)
            print(f"{name:<18} {seconds:7.2f} s  {report.chunks:>6} chunks, {report.embedded:>6} embedded", flush=True)
    edited, seconds = done["one page edited"]
    held = seconds < _RUN_S and edited.embedded < _EMBEDDED and done["one page moved"][0].embedded == 0
    return held, {
        name: {"seconds": spent, "chunks": report.chunks, "embedded": report.embedded}
        for name, (report, spent) in done.items()
    }


def walked(files: int) -> tuple[bool, Figures]:
    """Print how long a walk takes and give it back, after whether the bound holds."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(files):
            page = Path(folder) / f"d{number % 20}" / f"e{number % 400}" / f"f{number}.md"
            page.parent.mkdir(parents=True, exist_ok=True)
            page.touch()
        (Path(folder) / ".gitignore").write_text("*.log\n/build/\nnode_modules/\n", encoding="utf-8")
        started = time.perf_counter()
        found = walk([Path(folder)], prefix="", takes=lambda name: name.endswith(".md"))
        seconds = time.perf_counter() - started
    print(f"{'a walk':<18} {seconds:7.2f} s  {len(found.files):>6} files", flush=True)
    return seconds < _WALK_S, {"a walk": {"seconds": seconds, "files": len(found.files)}}


def main() -> int:
    """Run everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/k8s-docs"))
    parser.add_argument("--model", action="store_true", help="embed with the default model")
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    done = [runs(arguments.data, None if arguments.model else HashEmbedder()), walked(arguments.files)]
    kept = [held for held, _ in done]
    if arguments.json:
        figures = {name: each for _, found in done for name, each in found.items()}
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    print(f"bounds {'held' if all(kept) else 'MISSED'}")
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
