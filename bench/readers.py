"""Processes that read while one writes: no error, and no answer that mixes two versions of a document.

    python bench/readers.py [--readers 8] [--minutes 5] [--seed 3] [--json FILE]

One process adds, edits, grows, shrinks, deletes and renames documents and never rests. Each chunk says which version
of which document it is, how many chunks that version has and who may see it, so that every answer shows by itself
whether all of a document's texts belong to one version, under the right ids, and whether its reader may see them.
Readers look up in dense, lexical and hybrid mode, with and without a scope, show chunks, read documents and list the
catalogue, over a store that they keep open or open anew, in threads, in asyncio loops that come and go, and in forked
children. What one reader sees of a document never becomes older. At the end the store must hold what the writer wrote
last. Exit code 1 for an error, a mixture, a leak or a step back.
"""

from __future__ import annotations

import argparse
import multiprocessing as mp
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from citewell import Document, Knowledge, Settings
from citewell.testing.fakes import HashEmbedder
from readers_one import DOCUMENTS, KINDS, MOST_SECTIONS, Reader, Told, check_blocks, label, text
from recorded import record

_NONE = ("errors", "mixtures", "leaks", "acknowledged_lost")


def read_for(location: str, seed: int, deadline: float, results: mp.Queue[Told]) -> None:
    """A reader's process."""
    reader = Reader(location, seed)
    reader.until(deadline)
    reader.close_stores()
    results.put(Told(reader.counts, reader.spent, reader.wrong[:5]))


class Writer:
    """Writes documents of its own making; `held` is what the store must hold."""

    def __init__(self, location: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        self.knowledge = Knowledge.open(location, settings=Settings(), embedder=HashEmbedder())
        self.held: dict[str, tuple[int, int]] = {}
        self.version = 0
        self.counts: Counter[str] = Counter()

    def put(self, names: list[str]) -> None:
        """New versions of these documents, in one call."""
        documents = []
        for name in names:
            self.version += 1
            parts = self.chance.randint(1, MOST_SECTIONS)
            self.held[name] = (self.version, parts)
            title = f"{name} {self.version} of {parts}"
            documents.append(Document(name, text(name, self.version, parts), title=title, scope=label(self.version)))
        report = self.knowledge.ingest_documents(documents)
        if not report.ok:
            raise RuntimeError(f"not written: {report}")

    def step(self) -> None:
        """Write one to five documents, or delete one, or give one another name."""
        kind = self.chance.choice(["write", "write", "write", "batch", "delete", "rename"])
        names = [f"{number}.md" for number in self.chance.sample(range(DOCUMENTS), 5)]
        if kind == "delete":
            self.knowledge.delete(names[0])
            self.held.pop(names[0], None)
        elif kind == "rename":
            self.put(names[:1])
            self.knowledge.delete(names[1])
            self.held.pop(names[1], None)
        else:
            self.put(names if kind == "batch" else names[:1])
        self.counts[kind] += 1

    def differences(self) -> list[str]:
        """Where the store does not hold what was written last."""
        found: dict[str, tuple[int, int]] = {}
        for info in self.knowledge.documents():
            blocks = self.knowledge.read_document(info.doc_id).evidence
            found[info.doc_id] = (check_blocks(blocks)[info.doc_id], len(blocks))
        return [
            f"{n}: {found.get(n)} and not {self.held.get(n)}"
            for n in found | self.held
            if found.get(n) != self.held.get(n)
        ]


def run(readers: int, minutes: float, seed: int) -> dict[str, object]:
    """All of it; the figures."""
    with tempfile.TemporaryDirectory() as folder:
        writer = Writer(Path(folder) / "kb", seed)
        writer.put([f"{number}.md" for number in range(DOCUMENTS)])
        deadline = time.time() + minutes * 60
        context, processes = mp.get_context("spawn"), []
        results: mp.Queue[Told] = context.Queue()
        for number in range(readers):
            arguments = (str(Path(folder) / "kb"), seed + number, deadline, results)
            processes.append(context.Process(target=read_for, args=arguments))
            processes[-1].start()
        while time.time() < deadline:
            writer.step()
        told = [results.get(timeout=300) for _ in processes]
        for process in processes:
            process.join()
        lost, sound = writer.differences(), writer.knowledge.verify().ok
        writer.knowledge.close()
    return figures(told, writer, lost, sound=sound)


def figures(told: list[Told], writer: Writer, lost: list[str], *, sound: bool) -> dict[str, object]:
    """What all readers counted together."""
    counts, spent, wrong = Counter[str](), list[float](), list[str]()
    for each in told:
        counts += each.counts
        spent += each.spent
        wrong += each.wrong
    return {
        "readers": len(told),
        "answers": sum(count for kind, count in counts.items() if kind in KINDS and kind != "reopen"),
        "errors": counts["errors"],
        "mixtures": counts["mixtures"],
        "leaks": counts["leaks"],
        "lookup_p50_ms": round(statistics.median(spent) * 1000, 1) if spent else None,
        "kinds": dict(counts.most_common()),
        "writes": dict(writer.counts.most_common()),
        "versions": writer.version,
        "acknowledged_lost": len(lost),
        "sound": sound,
        "wrongs": [*wrong, *lost][:20],
    }


def main() -> int:
    """Run it; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readers", type=int, default=8)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    found = run(arguments.readers, arguments.minutes, arguments.seed)
    print(found)
    command = f"bench/readers.py --readers {arguments.readers} --minutes {arguments.minutes:g} --seed {arguments.seed}"
    record(arguments.json, command, {**found, "minutes": arguments.minutes})
    ok = found["answers"] and found["sound"] and not any(found[name] for name in _NONE)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
