"""Ingestion beside the bare embedder: how much of the embedder's speed is left once everything else is done as well.

    python bench/ingest.py [--data ../shared/data/k8s-docs] [--rounds 1]

Ingests a folder into a fresh embedded store with the default model, then hands the very texts that ingestion had
embedded to the embedder alone, in the same process: the same session and worker threads. Those are the chunks' texts,
without doubles within a document, and each title once; how many of either is printed. Ingestion also loads the
dictionaries of its analysis. Bounds: ingestion reaches 90% of the bare embedder's speed; a second run embeds nothing
and takes less than 2 s. Exit code 1 if a bound is missed.

Where other work shares the processors, trust the ratio of processor times; the clock then measures that work as well.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from citewell import Knowledge, Settings
from citewell.adapters.embedders.onnx import UseMultilingual
from citewell.ports import Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_RATIO = 0.90
_SECOND_RUN_S = 2.0
_TOGETHER = 256


class Heard(UseMultilingual):
    """The default model, which keeps the texts that it is asked for, in their order."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The same vectors."""
        self.texts += texts
        return super().embed_passages(texts)


def bare_seconds(embedder: Embedder, texts: Sequence[str]) -> float:
    """How long the embedder alone takes for these texts."""
    started = time.perf_counter()
    for first in range(0, len(texts), _TOGETHER):
        embedder.embed_passages(texts[first : first + _TOGETHER])
    return time.perf_counter() - started


def round_of(data: Path, number: int) -> dict[str, float]:
    """Ingest into a fresh store, print the figures and give them back; `held` says whether the bounds hold."""
    heard = Heard()
    with (
        tempfile.TemporaryDirectory() as folder,
        Knowledge.open(Path(folder) / "kb", settings=Settings(), embedder=heard) as knowledge,
    ):
        heard.embed_query("warm up")
        started = time.process_time()
        first = knowledge.ingest(data)
        spent = time.process_time() - started
        second = knowledge.ingest(data)
        texts, started = tuple(heard.texts), time.process_time()
        bare = bare_seconds(heard, texts)
        bare_spent = time.process_time() - started
    ratio = bare / first.seconds
    held = ratio >= _RATIO and second.seconds < _SECOND_RUN_S and second.embedded == 0
    titles = len(texts) - first.embedded
    print(f"round {number}: {first.count('added')} documents, {first.chunks} chunks, {first.embedded} embedded", end="")
    print(f" and {titles} titles")
    for name, wall, processor in (("ingestion", first.seconds, spent), ("bare embedder", bare, bare_spent)):
        print(f"  {name:<16} {wall:7.1f} s  {first.chunks / wall:7.1f} chunks/s  {processor:7.1f} s of processor time")
    print(f"  ratio            {ratio:7.3f}    bound {_RATIO} (of processor time alone {bare_spent / spent:.3f})")
    print(f"  second run       {second.seconds:7.2f} s  {second.embedded} embedded, bound {_SECOND_RUN_S} s and 0")
    print(f"  bounds           {'held' if held else 'MISSED'}", flush=True)
    return {
        "documents": first.count("added"),
        "chunks": first.chunks,
        "titles": titles,
        "seconds": first.seconds,
        "processor seconds": spent,
        "ratio": ratio,
        "ratio of processor time": bare_spent / spent,
        "bound": _RATIO,
        "second run, seconds": second.seconds,
        "held": held,
    }


def main() -> int:
    """Run the rounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/k8s-docs"))
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rounds = [round_of(arguments.data, number + 1) for number in range(arguments.rounds)]
    if arguments.json:
        arguments.json.write_text(json.dumps(rounds, indent=1) + "\n", encoding="utf-8")
    return 0 if all(each["held"] for each in rounds) else 1


if __name__ == "__main__":
    sys.exit(main())
