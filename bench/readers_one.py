"""One who reads while another writes, and what must hold of every answer: the one of a single committed version.

It knows no process and no clock but its deadline; `readers` has them.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from citewell import EvidenceBlock, Knowledge, Settings
from citewell.errors import UnknownEvidence
from citewell.testing.fakes import HashEmbedder

DOCUMENTS = 40
MOST_SECTIONS = 6
_LABELS = ("t1", "t2")
_SAYS = re.compile(r"document (\S+) version (\d+) part (\d+) of (\d+) for (\S+):")
_LEXICAL = {"retrieval.search.mode": "hybrid", "retrieval.search.paths": ["lexical"]}
_HYBRID = {"retrieval.search.mode": "hybrid"}

Versions = dict[str, int]
"""Document id -> its version; versions count up over renames and deletions, so that a name never goes back."""


def label(version: int) -> str:
    """Who may see this version."""
    return _LABELS[version % len(_LABELS)]


def text(doc_id: str, version: int, parts: int) -> str:
    """A document each of whose sections becomes a chunk that says what it belongs to."""
    sections = [
        f"## Part {part}\n\nThis is document {doc_id} version {version} part {part} of {parts} for {label(version)}: "
        + f"Anchor v{version} holds here, and nothing is said of others. " * 9
        for part in range(parts)
    ]
    return "\n\n".join(sections) + "\n"


# What a reader checks.


class MixtureError(Exception):
    """An answer that no committed state gives."""


class LeakError(Exception):
    """A text that its reader may not see."""


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


_COUNTED = {MixtureError: "mixtures", LeakError: "leaks"}


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
                self.counts[_COUNTED.get(type(error), "errors")] += 1
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

    def scoped(self) -> None:
        """A lookup of one who holds one label."""
        held = self.chance.choice(_LABELS)
        result = self.stores["hybrid"].lookup("anchor document", scope=held, retrieve_k=60, return_n=60)
        check_blocks(result.evidence)
        for block in result.evidence:
            if f" for {held}:" not in block.text:
                raise LeakError(f"{held} sees {block.evidence_key}: {block.text[:80]!r}")

    def shown(self) -> None:
        """One chunk by its key; that it is gone is an answer."""
        key = f"{self.chance.randrange(DOCUMENTS)}.md#chunk-{self.chance.randrange(MOST_SECTIONS)}"
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
    "scoped": Reader.scoped,
    "show": Reader.shown,
    "read": Reader.read,
    "documents": Reader.listed,
    "reopen": Reader.reopened,
    "threads": Reader.threaded,
    "asyncio": Reader.looped,
    "fork": Reader.forked,
}
