"""Kills an ingestion with SIGKILL at chosen moments and looks at what is left (INGEST-7).

    python bench/kill_ingest.py [--data ../shared/data/k8s-docs] [--rounds 30] [--model]

Each round starts `citewell ingest` in a process of its own on the same store, kills it, opens the store and checks:
it opens; every document in it is whole (its chunks count from 0 without a gap, each can be fetched and found under
its key); nothing that an earlier round held is lost. After the last round one ingestion runs to its end, and the
store must equal one that was filled in one go. Without --model a small hashed embedder keeps a round short.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from citewell import Knowledge, Settings
from citewell.ports import Embedder
from citewell.testing.fakes import HashEmbedder

CHILD = """
import sys
from citewell import Knowledge, Settings
from citewell.testing.fakes import HashEmbedder
said = []
def tell(progress):
    if progress.embedded and not said:
        said.append(print("embedding", flush=True))
with Knowledge.open(sys.argv[1], settings=Settings(), embedder={embedder}) as knowledge:
    print("open", flush=True)
    knowledge.ingest(sys.argv[2], progress=tell)
print("done", flush=True)
"""


def contents(location: Path, embedder: Embedder | None) -> dict[str, list[str]]:
    """Document id -> the digests of its chunks, having checked that each document is whole."""
    found: dict[str, list[str]] = {}
    with Knowledge.open(location, settings=Settings(), embedder=embedder) as knowledge:
        for info in knowledge.documents():
            blocks = [knowledge.show(f"{info.doc_id}#chunk-{index}") for index in range(info.chunks)]
            found[info.doc_id] = [block.digest for block in blocks]
        report = knowledge.verify()
        if not report.ok:
            raise AssertionError(f"the store is not sound: {report.findings[:3]}")
    return found


def killed_round(location: Path, data: Path, delay_s: float, *, model: bool, embedding: bool = False) -> bool:
    """Run an ingestion and kill it after the delay; whether it had come to its end before.

    The delay begins when the store is open, or with `embedding` when the first chunks are embedded, for what comes
    before takes long on a busy machine, and there would be nothing to lose.

    Raises:
        RuntimeError: it had failed before.
    """
    child = CHILD.format(embedder="None" if model else "HashEmbedder()")
    process = subprocess.Popen(
        [sys.executable, "-c", child, str(location), str(data)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None  # noqa: S101 - a pipe was asked for
    process.stdout.readline()
    if embedding:
        process.stdout.readline()
    time.sleep(delay_s)
    process.send_signal(signal.SIGKILL)
    rest = process.stdout.read()
    if process.wait() not in (0, -signal.SIGKILL):
        raise RuntimeError(f"the ingestion ended by itself, with {process.returncode}")
    return "done" in rest


def main() -> int:
    """Run the rounds; any loss raises."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/k8s-docs"))
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--model", action="store_true", help="embed with the default model")
    arguments = parser.parse_args()
    embedder = None if arguments.model else HashEmbedder()
    chance = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        whole, killed = Path(folder) / "whole", Path(folder) / "killed"
        started = time.perf_counter()
        with Knowledge.open(whole, settings=Settings(), embedder=embedder) as knowledge:
            knowledge.ingest(arguments.data)
        length = time.perf_counter() - started
        held: dict[str, list[str]] = {}
        complete = further = 0
        for number in range(arguments.rounds):
            delay = chance.uniform(0, max(0.3, length * 2.5 / arguments.rounds))
            late = number % 3 != 0
            complete += killed_round(killed, arguments.data, delay, model=arguments.model, embedding=late)
            now = contents(killed, embedder)
            further += now != held
            lost = [name for name in held if now.get(name) != held[name]]
            if lost:
                raise AssertionError(f"round {number}: {len(lost)} documents were lost or changed: {lost[:3]}")
            held = now
            print(f"round {number + 1:>3}: killed after {delay:.2f} s, {len(held)} whole documents", flush=True)
        killed_round(killed, arguments.data, 0, model=arguments.model)
        with Knowledge.open(killed, settings=Settings(), embedder=embedder) as knowledge:
            knowledge.ingest(arguments.data)
        same = contents(killed, embedder) == contents(whole, embedder)
    print(
        f"{arguments.rounds} rounds, {complete} had come to their end, {further} left more than the one before; final"
        f" store equals one filled in one go: {same}"
    )
    # Rounds that all end before the first write try nothing.
    return 0 if same and further else 1


if __name__ == "__main__":
    sys.exit(main())
