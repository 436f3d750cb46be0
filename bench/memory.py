"""Memory while many small files are ingested: it must not grow with their number, but by what is searched of them.

    python bench/memory.py [--files 20000] [--model]

A process of its own ingests a folder of small files, each one chunk; this one samples its resident memory. Compared
are the highest figures up to a fifth of the files and after it. What grows by right is the arrays that are searched,
the dictionary of terms and a line per file for the report: a few KB per file. Bounds: KB_PER_FILE from the first figure
to the last, and MOST_MB in all. Without --model a small hashed embedder keeps the run short and what is not Citewell's
out of the figures; with it the default model's memory comes on top, and growth is bounded by RATIO instead. Exit code 1
if a bound is missed.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

KB_PER_FILE = 5.0
MOST_MB = 200.0
RATIO = 1.5
CHILD = """
import sys
from citewell import Knowledge, Settings
from citewell.testing.fakes import HashEmbedder
class Forgetful(HashEmbedder):
    def embed_passages(self, texts):
        vectors = super().embed_passages(texts)
        self.embedded.clear()  # the fake keeps every text for its tests
        return vectors
def said(progress):
    print(progress.files_done, flush=True)
with Knowledge.open(sys.argv[1], settings=Settings(), embedder={embedder}) as knowledge:
    added = knowledge.ingest(sys.argv[2], progress=said).count("added")
sys.exit(added != int(sys.argv[3]))
"""


@dataclass(frozen=True)
class Memory:
    """Resident memory in MB.

    Attributes:
        early: the most up to a fifth of the files.
        late: the most after it.
        seconds: of the whole run.
    """

    early: float
    late: float
    seconds: float


def make(folder: Path, files: int) -> None:
    """Small files, 500 in a folder, no two alike: forty words out of a few thousand, and a code of their own."""
    chance = random.Random(1)
    syllables = [consonant + vowel for consonant in "bcdfglmnprst" for vowel in "aeiou"]
    words = ["".join(chance.choices(syllables, k=3)) for _ in range(5_000)]
    for number in range(files):
        path = folder / f"{number // 500:03}" / f"{number:05}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = " ".join(chance.choices(words, k=40))
        path.write_text(f"# Page {number}\n\nE{number:05}: {text}.\n", encoding="utf-8")


def measured(files: int, *, model: bool = False) -> Memory:
    """Ingest so many files in a process of its own.

    Raises:
        RuntimeError: the process failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        docs = Path(folder) / "docs"
        make(docs, files)
        program = CHILD.format(embedder="None" if model else "Forgetful()")
        command = [sys.executable, "-c", program, str(Path(folder) / "kb"), str(docs), str(files)]
        started = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            samples = sampled(process)
        if process.returncode:
            raise RuntimeError(f"the ingestion ended with {process.returncode}")
        seconds = time.perf_counter() - started
    early = max(size for done, size in samples if done <= files // 5)
    return Memory(early, max(size for done, size in samples if done > files // 5), seconds)


def sampled(process: subprocess.Popen[str]) -> list[tuple[int, float]]:
    """Files done and MB held, each time that the number of files changes."""
    samples: list[tuple[int, float]] = []
    for line in process.stdout or ():
        done = int(line)
        if not samples or samples[-1][0] != done:
            samples.append((done, resident_mb(process.pid)))
    return samples


def resident_mb(pid: int) -> float:
    """What the process holds in memory, mapped files included."""
    for line in Path(f"/proc/{pid}/status").read_text("ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def main() -> int:
    """Measure once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--model", action="store_true", help="embed with the default model")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    files = arguments.files
    found = measured(files, model=arguments.model)
    ratio, per_file = found.late / found.early, (found.late - found.early) * 1024 / (files - files // 5)
    held = ratio < RATIO if arguments.model else per_file < KB_PER_FILE and found.late < MOST_MB
    print(f"{files} files in {found.seconds:.0f} s, {files / found.seconds:.0f} a second")
    print(f"  up to file {files // 5:>6}: {found.early:6.0f} MB")
    print(f"  up to file {files:>6}: {found.late:6.0f} MB, {ratio:.2f} times as much, {per_file:.1f} KB more per file")
    bounds = f"ratio {RATIO}" if arguments.model else f"{KB_PER_FILE:.0f} KB per file, {MOST_MB:.0f} MB"
    print(f"  bounds ({bounds}) {'held' if held else 'MISSED'}", flush=True)
    if arguments.json:
        figures = {
            "files": files,
            "seconds": found.seconds,
            "most MB": found.late,
            "KB per file": per_file,
            "held": held,
        }
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
