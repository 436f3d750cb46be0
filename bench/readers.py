"""Processes that read while one writes: no error, and no answer that mixes two versions of a document.

    python bench/readers.py [--readers 8] [--minutes 5] [--seed 3] [--json FILE]

One process adds, edits, grows, shrinks, deletes and renames documents and never rests. Each chunk says which version
of which document it is and how many chunks that version has, so that every answer shows by itself whether all of a
document's texts belong to one version, under the right ids. Readers look up in dense, lexical and hybrid mode, show
chunks, read documents and list the catalogue, over a store that they keep open or open anew, in threads, in asyncio
loops that come and go, and in forked children. What one reader sees of a document never becomes older. At the end the
store must hold what the writer wrote last. Exit code 1 for an error, a mixture or a step back.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing as mp
import os
import random
import re
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from citewell import Document, EvidenceBlock, Knowledge, Settings
from citewell.errors import UnknownEvidence
from citewell.testing.fakes import HashEmbedder
from recorded import record

DOCUMENTS = 40
_MOST_SECTIONS = 6
_SAYS = re.compile(r"document (\S+) version (\d+) part (\d+) of (\d+)\b")
_LEXICAL = {"retrieval.search.mode": "hybrid", "retrieval.search.paths": ["lexical"]}
_HYBRID = {"retrieval.search.mode": "hybrid"}

Versions = dict[str, int]
"""Document id -> its version; versions count up over renames and deletions, so that a name never goes back."""


def text(doc_id: str, version: int, parts: int) -> str:
    """A document each of whose sections becomes a chunk that says what it belongs to."""
    sections = [
        f"## Part {part}\n\nThis is document {doc_id} version {version} part {part} of {parts}. "
        + f"Anchor v{version} holds here, and nothing is said of others. " * 9
        for part in range(parts)
    ]
    return "\n\n".join(sections) + "\n"


# What a reader checks.


class MixtureError(Exception):
    """An answer that no committed state gives."""


def check_blocks(blocks: Iterable[EvidenceBlock]) -> Versions:
    """The version of each document in one answer; the ids and texts of a document must belong to one of them."""
    seen: Versions = {}
    for block in blocks:
        found = _SAYS.search(block.text)
        if found is None:
            raise MixtureError(f"{block.evidence_key} says nothing of its version: {block.text[:80]!r}")
        doc_id, version, part, parts = found[1], int(found[2]), int(found[3]), int(found[4])
        if block.evidence_key != f"{doc_id}#chunk-{part}" or part >= parts:
            raise MixtureError(f"{block.evidence_key} has the text of part {part} of {doc_id}")
        if seen.setdefault(doc_id, version) != version:
            raise MixtureError(f"{doc_id} is seen in the versions {seen[doc_id]} and {version}")
    return seen


@dataclass
class Reader:
    """One reader's store, what it saw last, and what it counted."""

    location: str
    seed: int
    counts: Counter[str] = field(default_factory=Counter)
    spent: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    last: Versions = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.open_stores()

    def open_stores(self) -> None:
        """One per way of searching."""
        opened = {"dense": {}, "lexical": _LEXICAL, "hybrid": _HYBRID}  # type: dict[str, Mapping[str, object]]
        self.stores = {
            name: Knowledge.open(self.location, settings=Settings.of(settings), embedder=HashEmbedder(), create=False)
            for name, settings in opened.items()
        }

    def close_stores(self) -> None:
        """Let go of them."""
        for store in self.stores.values():
            store.close()

    def until(self, deadline: float) -> None:
        """Read, check and count until then."""
        while time.time() < deadline:
            kind = self.chance.choice(list(KINDS))
            started = time.perf_counter()
            try:
                KINDS[kind](self)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is counted and told
                key = "mixtures" if isinstance(error, MixtureError) else "errors"
                self.counts[key] += 1
                self.wrong.append(f"{kind}: {type(error).__name__}: {error}"[:400])
            else:
                self.counts[kind] += 1
            if kind in self.stores:
                self.spent.append(time.perf_counter() - started)

    def lookup(self, mode: str) -> list[EvidenceBlock]:
        """One lookup, wide enough to hold several chunks of most documents."""
        question = f"anchor v{self.chance.randrange(50)} document {self.chance.randrange(DOCUMENTS)}.md"
        result = self.stores[mode].lookup(question, retrieve_k=60, return_n=60, max_chunks_per_document=0)
        if result.degraded:
            raise MixtureError(f"degraded: {result.degraded}")
        return list(result.evidence)

    def looked_up(self, mode: str) -> None:
        """Check an answer, and that no document has become older than this reader saw it before."""
        seen = check_blocks(self.lookup(mode))
        for doc_id, version in seen.items():
            if version < self.last.get(doc_id, 0):
                raise MixtureError(f"{doc_id} went back from version {self.last[doc_id]} to {version}")
            self.last[doc_id] = version

    def shown(self) -> None:
        """One chunk by its key; that it is gone is an answer."""
        key = f"{self.chance.randrange(DOCUMENTS)}.md#chunk-{self.chance.randrange(_MOST_SECTIONS)}"
        try:
            check_blocks([self.stores["hybrid"].show(key)])
        except UnknownEvidence:
            self.counts["unknown evidence"] += 1

    def read(self) -> None:
        """A document whole: every part of one version."""
        name = f"{self.chance.randrange(DOCUMENTS)}.md"
        try:
            blocks = self.stores["dense"].read_document(name).evidence
        except UnknownEvidence:
            self.counts["unknown evidence"] += 1
            return
        check_blocks(blocks)
        (parts,) = {int(found[4]) for block in blocks if (found := _SAYS.search(block.text))}
        if len(blocks) != parts:
            raise MixtureError(f"{name} was read with {len(blocks)} of {parts} parts")

    def listed(self) -> None:
        """The catalogue: each title says how many chunks there are."""
        for info in self.stores["dense"].documents():
            said = re.fullmatch(r"(\S+) (\d+) of (\d+)", info.title)
            if said is None or (said[1], int(said[3])) != (info.doc_id, info.chunks):
                raise MixtureError(f"{info.doc_id} is listed as {info.title!r} with {info.chunks} chunks")

    def reopened(self) -> None:
        """The stores are closed and opened."""
        self.close_stores()
        self.open_stores()

    def threaded(self) -> None:
        """Three threads at once over one store."""
        with ThreadPoolExecutor(3) as pool:
            for blocks in pool.map(lambda _: self.lookup("hybrid"), range(3)):
                check_blocks(blocks)

    def looped(self) -> None:
        """An asyncio loop of its own, opened and closed."""

        async def ask() -> list[list[EvidenceBlock]]:
            asked = [self.stores["hybrid"].alookup("anchor document", return_n=30, retrieve_k=30) for _ in range(3)]
            return [list(result.evidence) for result in await asyncio.gather(*asked)]

        for blocks in asyncio.run(ask()):
            check_blocks(blocks)

    def forked(self) -> None:
        """A forked child looks up in the stores that its parent has open."""
        child = os.fork()
        if child == 0:
            code = 3
            try:
                check_blocks(self.lookup("hybrid"))
                code = 0
            except MixtureError:
                code = 4
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code:
            raise (MixtureError if code == 4 else RuntimeError)(f"a forked child ended with {code}")


@dataclass(frozen=True, slots=True)
class Told:
    """What one reader counted, how long its lookups took in seconds, and the first things that were wrong."""

    counts: Counter[str]
    spent: list[float]
    wrong: list[str]


KINDS: Mapping[str, Callable[[Reader], None]] = {
    "dense": lambda reader: reader.looked_up("dense"),
    "lexical": lambda reader: reader.looked_up("lexical"),
    "hybrid": lambda reader: reader.looked_up("hybrid"),
    "show": Reader.shown,
    "read": Reader.read,
    "documents": Reader.listed,
    "reopen": Reader.reopened,
    "threads": Reader.threaded,
    "asyncio": Reader.looped,
    "fork": Reader.forked,
}


def read_for(location: str, seed: int, deadline: float, results: mp.Queue[Told]) -> None:
    """A reader's process."""
    reader = Reader(location, seed)
    reader.until(deadline)
    reader.close_stores()
    results.put(Told(reader.counts, reader.spent, reader.wrong[:5]))


# The one who writes.


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
            parts = self.chance.randint(1, _MOST_SECTIONS)
            self.held[name] = (self.version, parts)
            title = f"{name} {self.version} of {parts}"
            documents.append(Document(name, text(name, self.version, parts), title=title))
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
    answers = sum(count for kind, count in counts.items() if kind in KINDS and kind != "reopen")
    return {
        "readers": len(told),
        "answers": answers,
        "errors": counts["errors"],
        "mixtures": counts["mixtures"],
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
    ok = (
        found["answers"] and found["sound"] and not (found["errors"] or found["mixtures"] or found["acknowledged_lost"])
    )
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
