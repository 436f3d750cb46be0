"""Kills an ingestion with SIGKILL at chosen moments and looks at what is left (INGEST-7).

    python bench/kill_ingest.py [--data ../shared/data/k8s-docs] [--rounds 30] [--model] [--json FILE]

Each round starts `citewell ingest` in a process of its own on the same store, kills it, opens the store and checks:
it opens; every document in it is whole (its chunks count from 0 without a gap, each can be fetched and found under
its key); nothing that an earlier round held is lost; it holds at least as many documents as the killed process had
been told were stored. A store that is complete makes room for a new one. After the last round one ingestion runs to
its end, and the store must equal one that was filled in one go. Without --model a small hashed embedder keeps a round
short.
"""

from __future__ import annotations

import argparse
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from citewell import Knowledge, Settings
from citewell.ports import Embedder
from citewell.testing.fakes import HashEmbedder
from recorded import record

Moment = Literal["start", "open", "embedding"]
"""From when on a kill is waited for: the process begins, the store is open, the first chunks are embedded."""

_MOMENTS: tuple[Moment, ...] = ("open", "embedding", "start", "embedding", "embedding")

CHILD = """
import sys
from citewell import Knowledge, Settings
from citewell.testing.fakes import HashEmbedder
said, stored = [], [0]
def tell(progress):
    if progress.embedded and not said:
        said.append(print("embedding", flush=True))
    if progress.changed > stored[0]:
        stored[0] = progress.changed
        print("stored", progress.changed, flush=True)
patient = Settings.of({{"store.timeout": 300}})
with Knowledge.open(sys.argv[1], settings=patient, embedder={embedder}) as knowledge:
    print("open", flush=True)
    knowledge.ingest(sys.argv[2], progress=tell)
print("done", flush=True)
"""

Contents = dict[str, list[str]]
"""Document id -> the digests of its chunks."""


@dataclass(frozen=True, slots=True)
class Killed:
    """What became of an ingestion that was to be killed.

    Attributes:
        complete: it had come to its end before.
        acknowledged: documents that it had been told were stored, or deleted, before it died.
    """

    complete: bool
    acknowledged: int


def contents(location: Path, embedder: Embedder | None) -> Contents:
    """What a store holds, having checked that each document is whole."""
    found: Contents = {}
    with Knowledge.open(location, settings=Settings(), embedder=embedder) as knowledge:
        for info in knowledge.documents():
            blocks = [knowledge.show(f"{info.doc_id}#chunk-{index}") for index in range(info.chunks)]
            found[info.doc_id] = [block.digest for block in blocks]
        report = knowledge.verify()
        if not report.ok:
            raise AssertionError(f"the store is not sound: {report.findings[:3]}")
    return found


def killed_round(
    location: Path | str, data: Path, delay_s: float, *, model: bool = False, moment: Moment = "open"
) -> Killed:
    """Run an ingestion and kill it after the delay, which begins at the moment.

    What comes before a moment takes long on a busy machine, and there would be nothing to lose.

    Raises:
        RuntimeError: it had failed before.
    """
    child = CHILD.format(embedder="None" if model else "HashEmbedder()")
    process = subprocess.Popen(
        [sys.executable, "-c", child, str(location), str(data)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None  # noqa: S101 - a pipe was asked for
    waited = [process.stdout.readline() for _ in range(("start", "open", "embedding").index(moment))]
    time.sleep(delay_s)
    process.send_signal(signal.SIGKILL)
    said = "".join(waited) + process.stdout.read()
    process.stdout.close()
    if process.wait() not in (0, -signal.SIGKILL):
        raise RuntimeError(f"the ingestion ended by itself, with {process.returncode}")
    return Killed("done\n" in said, max([0, *map(int, re.findall(r"stored (\d+)\n", said))]))


@dataclass
class Rounds:
    """The store that is filled and killed, what it held after the last round, and what was counted."""

    folder: Path
    data: Path
    whole: Contents
    length_s: float
    opening_s: float
    model: bool
    chance: random.Random
    held: Contents = field(default_factory=dict)
    stores: int = 1
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(
            ("rounds", "killed", "came_to_their_end", "left_more_than_before", "acknowledged_documents"), 0
        )
    )

    @property
    def embedder(self) -> Embedder | None:
        """None = the default model."""
        return None if self.model else HashEmbedder()

    @property
    def location(self) -> Path:
        """Of the store that is filled at present."""
        return self.folder / f"killed-{self.stores}"

    def one(self, rounds: int) -> str:
        """One round; what to print of it. Raises AssertionError for any loss."""
        moment = _MOMENTS[self.counts["rounds"] % len(_MOMENTS)]
        longest = self.opening_s * 1.2 if moment == "start" else max(0.3, self.length_s * 2.5 / rounds)
        delay = self.chance.uniform(0, longest)
        killed = killed_round(self.location, self.data, delay, model=self.model, moment=moment)
        now = contents(self.location, self.embedder)
        self._compare(now, killed)
        self._count(now, killed)
        self.held = now
        said = f"killed {delay:.2f} s after {moment}, {len(now)} whole documents, {killed.acknowledged} acknowledged"
        if now.keys() == self.whole.keys():
            self.stores, self.held = self.stores + 1, {}
        return said

    def _compare(self, now: Contents, killed: Killed) -> None:
        lost = [name for name in self.held if now.get(name) != self.held[name]]
        odd = [name for name in now if now[name] != self.whole.get(name)]
        if lost or odd:
            raise AssertionError(f"{len(lost)} documents were lost or changed, {len(odd)} are odd: {[*lost, *odd][:3]}")
        if len(now) - len(self.held) < killed.acknowledged:
            raise AssertionError(f"{killed.acknowledged} were acknowledged, and {len(now) - len(self.held)} are new")

    def _count(self, now: Contents, killed: Killed) -> None:
        self.counts["rounds"] += 1
        self.counts["killed"] += not killed.complete
        self.counts["came_to_their_end"] += killed.complete
        self.counts["left_more_than_before"] += now != self.held
        self.counts["acknowledged_documents"] += killed.acknowledged

    @property
    def figures(self) -> dict[str, int]:
        """What was counted so far; a loss would have ended the run."""
        return {**self.counts, "stores": self.stores, "documents": len(self.whole), "acknowledged_lost": 0}

    def finish(self) -> bool:
        """Let one ingestion run to its end; whether the store then equals one that was filled in one go."""
        with Knowledge.open(self.location, settings=Settings(), embedder=self.embedder) as knowledge:
            knowledge.ingest(self.data)
        return contents(self.location, self.embedder) == self.whole


def begun(arguments: argparse.Namespace, folder: Path) -> Rounds:
    """Fill one store in one go, to know what it must hold and how long that takes."""
    embedder = None if arguments.model else HashEmbedder()
    started = time.perf_counter()
    killed_round(folder / "first", folder, 0, model=arguments.model)
    opening = time.perf_counter() - started
    started = time.perf_counter()
    with Knowledge.open(folder / "whole", settings=Settings(), embedder=embedder) as knowledge:
        knowledge.ingest(arguments.data)
    length = time.perf_counter() - started
    whole = contents(folder / "whole", embedder)
    return Rounds(folder, arguments.data, whole, length, opening, arguments.model, random.Random(arguments.seed))


def main() -> int:
    """Run the rounds; any loss raises."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/k8s-docs"))
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--model", action="store_true", help="embed with the default model")
    parser.add_argument("--json", type=Path, help="where to write the figures too")
    arguments = parser.parse_args()
    command = f"bench/kill_ingest.py --rounds {arguments.rounds} --seed {arguments.seed}"
    with tempfile.TemporaryDirectory() as folder:
        rounds = begun(arguments, Path(folder))
        for number in range(arguments.rounds):
            print(f"round {number + 1:>3}: {rounds.one(arguments.rounds)}", flush=True)
            record(arguments.json, command, rounds.figures)
        same = rounds.finish()
    counts = rounds.counts
    print(
        f"{arguments.rounds} rounds, {counts['came_to_their_end']} had come to their end,"
        f" {counts['left_more_than_before']} left more than the one before; final store equals one filled in one go:"
        f" {same}"
    )
    # Rounds that all end before the first write try nothing.
    ok = same and counts["left_more_than_before"] > 0
    record(arguments.json, command, {**rounds.figures, "equals_one_go": same})
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
