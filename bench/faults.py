"""Damages every file of a local store in every way that disks, copies and people do, and looks at what it then says.

    python bench/faults.py [--offsets 24] [--database-offsets 400] [--sample N] [--seed 5] [--tests] [--json FILE]

A store with documents, an index in files, a log that is not folded in and a session is damaged in a copy each time: a
flipped bit at many offsets of each file, a file cut off, emptied, gone, turned into a directory, or forbidden. Then it
is opened and asked everything. An answer must be the one of the sound store, perhaps degraded (with a cause, and less
evidence), or one of Citewell's own errors with a way out; never anything else, and never a file less than before.
After damage to what is derived, everything must be there again. Exit code 1 and the fault for anything else.

Three kinds are counted apart. `verify`: a name, a rank or a property is wrong, no text, and `citewell verify` names
the damage. `earlier`: the log was damaged or gone, and the store is as it was some commits ago, each
document whole, and says so with every answer. `record`: a bit of a title or another property in the database file was
flipped, and nothing notices; the texts that are cited are checked one by one.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from citewell import EvidenceBlock, Knowledge, LookupResult, Settings
from citewell.errors import CitewellError, UnknownEvidence
from citewell.testing.fakes import HashEmbedder
from recorded import ROOT, record

DERIVED = ("index/", "citewell.db-shm", "citewell.lock", "sessions.lock")
"""What may be lost without a loss; names begin so."""

GONE = "no such evidence"
KEYS = tuple(f"{number}.md#chunk-{at}" for number in range(60) for at in range(2))
QUERIES = ("rotate the signing key", "signing topic3", "word17 anchor", "plan")

FILLER = """
import os, signal, sys
from citewell import Document, Knowledge, Settings
from citewell.testing.fakes import HashEmbedder
def text(number):
    return f"# Guide {number}\\n\\n## Keys\\n\\nRotate the signing key of word{number}, anchor topic{number % 7}. " \
        + f"Plan word{number} holds. " * 20 + f"\\n\\n## Plans\\n\\nThe plan of word{number}. " + "More is said. " * 40
knowledge = Knowledge.open(sys.argv[1], settings=Settings(), embedder=HashEmbedder())
documents = [
    Document(f"{n}.md", text(n), category="ops" if n % 2 else "hr", scope=("t1",) if n % 3 else None, metadata={"n": n})
    for n in range(60)
]
knowledge.ingest_documents(documents[:50])
knowledge.lookup("signing key", session="s").to_agent()
knowledge.close()
knowledge = Knowledge.open(sys.argv[1], settings=Settings(), embedder=HashEmbedder())
knowledge.ingest_documents(documents[50:])
knowledge.lookup("signing key", session="s").to_agent()
print("filled", flush=True)
os.kill(os.getpid(), signal.SIGKILL)  # the last commits stay in the log
"""


@dataclass(frozen=True, slots=True)
class Fault:
    """A way to damage one file."""

    file: str
    kind: str
    inflict: Callable[[Path], object]

    @property
    def is_derived(self) -> bool:
        """Whether nothing may be lost by it."""
        return self.file.startswith(DERIVED)

    def __str__(self) -> str:
        return f"{self.file}: {self.kind}"


def made(location: Path) -> None:
    """Fill the store, by a process that ends in the midst of life."""
    done = subprocess.run([sys.executable, "-c", FILLER, str(location)], capture_output=True, text=True, check=False)
    if "filled" not in done.stdout or done.returncode != -signal.SIGKILL:
        raise RuntimeError(done.stderr)


def faults(store: Path, chance: random.Random, offsets: int, in_database: int) -> Iterator[Fault]:
    """Every fault of every file that there is."""
    for file in sorted(path for path in store.rglob("*") if path.is_file()):
        name, size = file.relative_to(store).as_posix(), file.stat().st_size
        count = in_database if name == "citewell.db" else offsets
        for at in sorted({0, size - 1, *(chance.randrange(size) for _ in range(count))} if size else ()):
            yield Fault(name, f"bit flipped at {at}", _flip(at, 1 << chance.randrange(8)))
        for length in sorted({0, 1, size // 2, size - 1} if size else ()):
            yield Fault(name, f"cut off at {length}", _cut(length))
        yield Fault(name, "gone", Path.unlink)
        yield Fault(name, "turned into a directory", _directory)
        yield Fault(name, "overwritten by zeros", lambda path: path.write_bytes(bytes(path.stat().st_size)))
        yield Fault(name, "with 100 bytes more", lambda path: path.write_bytes(path.read_bytes() + b"x" * 100))


def _flip(at: int, mask: int) -> Callable[[Path], object]:
    def flip(path: Path) -> None:
        content = bytearray(path.read_bytes())
        content[at] ^= mask
        path.write_bytes(content)

    return flip


def _cut(length: int) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(path.read_bytes()[:length])


def _directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


Said = dict[str, object]
"""By question: what a store answered, an error of Citewell's, or nothing where it could not be opened."""


def asked(location: Path) -> Said:
    """Everything that a store says of its documents and sessions."""
    said: Said = {}
    try:
        knowledge = Knowledge.open(location, settings=Settings(), embedder=HashEmbedder(), create=False)
    except CitewellError as error:
        return {"open": error}
    with knowledge:
        for query in QUERIES:
            for mode in ("hybrid", "dense"):
                said[f"{mode} {query}"] = _answer(lambda q=query, m=mode: knowledge.lookup(q, mode=m, return_n=20))  # type: ignore[misc]  # bound arguments
        said["scoped"] = _answer(lambda: knowledge.lookup(QUERIES[0], mode="hybrid", scope="t1", return_n=20))
        said["catalogue"] = _answer(lambda: tuple(knowledge.documents()))
        for key in KEYS:
            said[f"show {key}"] = _answer(lambda asked=key: knowledge.show(asked))  # type: ignore[misc]  # a bound argument
        said["session"] = _answer(lambda: tuple(info.session for info in knowledge.sessions()))
    return said


def _answer(ask: Callable[[], object]) -> object:
    try:
        return ask()
    except UnknownEvidence:
        return GONE
    except CitewellError as error:
        return error


_FINE = ("same", "record", "degraded", "error", "forgotten", "earlier", "verify")
_UNNOTICED = ("record", "missed")


def judged(said: Said, truth: Said, file: str) -> str:
    """The worst of what the answers are after damage to this file: one of the fine words, or what is wrong."""
    texts = {f"{key}": block.text for key, block in truth.items() if isinstance(block, EvidenceBlock)}
    judge = _Judge(texts, file)
    verdicts = {judge.of(name, answer, truth.get(name)) for name, answer in said.items()}
    wrong = sorted(verdicts - set(_FINE) - set(_UNNOTICED))
    if not wrong and "missed" in verdicts:
        return "missed"
    return wrong[0] if wrong else max(verdicts, key=_FINE.index)


@dataclass(frozen=True, slots=True)
class _Judge:
    """Compares single answers with the sound store's.

    Attributes:
        texts: by the question that shows the chunk, every text that there is.
        file: that was damaged.
    """

    texts: Mapping[str, str]
    file: str

    @property
    def log(self) -> bool:
        """Whether the last commits may be missing."""
        return self.file == "citewell.db-wal"

    def of(self, name: str, answer: object, truth: object) -> str:
        """The verdict on one answer."""
        if isinstance(answer, CitewellError):
            return "error" if answer.way_out else f"{name}: an error without a way out: {answer}"
        if answer == truth:
            return "same"
        if name == "session" and self.file.startswith("sessions"):
            return "forgotten"
        fine = self._lookup(answer, truth) or self._chunk(answer, truth) or self._catalogue(answer, truth)
        return fine or f"{name}: {str(answer)[:300]} instead of {str(truth)[:300]}"

    def _lookup(self, answer: object, truth: object) -> str:
        if not isinstance(answer, LookupResult) or not isinstance(truth, LookupResult):
            return ""
        if any(self.texts.get(f"show {block.evidence_key}") != block.text for block in answer.evidence):
            return ""
        if answer.degraded:
            return "degraded"
        if _places(answer) == _places(truth):
            return "record" if answer.evidence != truth.evidence else "same"
        return "missed"

    def _chunk(self, answer: object, truth: object) -> str:
        if isinstance(answer, EvidenceBlock) and isinstance(truth, EvidenceBlock) and answer.text == truth.text:
            return "record"
        return "" if answer != GONE else "earlier" if self.log else "missed"

    def _catalogue(self, answer: object, truth: object) -> str:
        if not isinstance(answer, tuple) or not isinstance(truth, tuple):
            return ""
        held = {info.doc_id: info for info in truth}
        if self.log:
            return "earlier" if all(held.get(info.doc_id) == info for info in answer) else ""
        return "record" if {info.doc_id for info in answer} == held.keys() else ""


def _places(result: LookupResult) -> list[tuple[str, float | None]]:
    return [(block.evidence_key, block.similarity) for block in result.evidence]


def mended(location: Path, truth: Said, file: str) -> str:
    """Whether everything is there again after damage to what is derived; what is wrong else."""
    try:
        with Knowledge.open(location, settings=Settings(), embedder=HashEmbedder(), create=False) as knowledge:
            report = knowledge.verify(repair=True)
            if not report.ok:
                return f"not repaired: {report.findings[:2]}"
    except CitewellError:
        return ""  # said, and nothing is lost: a directory in place of a file is for its owner to put away
    verdict = judged(asked(location), truth, file)
    return "" if verdict in ("same", "error") else f"after the repair: {verdict}"


def named(location: Path) -> bool:
    """Whether `verify` says that something is damaged."""
    try:
        with Knowledge.open(location, settings=Settings(), embedder=HashEmbedder(), create=False) as knowledge:
            return not knowledge.verify().ok
    except CitewellError:
        return True


def tried(fault: Fault, store: Path, folder: Path, truth: Said) -> str:
    """Inflict a fault on a copy; the verdict."""
    copy = folder / "copy"
    shutil.copytree(store, copy)
    try:
        fault.inflict(copy / fault.file)
        before = {path.name for path in copy.rglob("*.db*")}
        verdict = judged(asked(copy), truth, fault.file)
        if verdict in _UNNOTICED and named(copy):
            verdict = "verify"
        if verdict in _FINE and fault.is_derived:
            verdict = mended(copy, truth, fault.file) or verdict
        lost = before - {path.name for path in copy.rglob("*.db*")} - {"citewell.db-wal", "citewell.db-shm"}
        return f"files went: {sorted(lost)}" if lost - {"sessions.db-wal", "sessions.db-shm"} else verdict
    except Exception as error:  # noqa: BLE001 - that is what is looked for
        return f"a raw error: {type(error).__name__}: {error}"
    finally:
        shutil.rmtree(copy)


def run(store: Path, folder: Path, faults_: Sequence[Fault]) -> tuple[Counter[str], list[str]]:
    """Try all; how often each verdict came, and what went wrong."""
    copy = folder / "sound"
    shutil.copytree(store, copy)
    truth, counts, wrong = asked(copy), Counter[str](), list[str]()
    if bad := [name for name, answer in truth.items() if isinstance(answer, CitewellError)]:
        raise RuntimeError(f"the sound store fails: {bad}")
    for fault in faults_:
        verdict = tried(fault, store, folder, truth)
        if verdict not in _FINE:
            wrong.append(f"{fault}: {verdict}")
            print(wrong[-1], flush=True)
            verdict = "wrong"
        counts[verdict] += 1
    return counts, wrong


INJECTING = (
    "test_search_faults", "test_ingest_faults", "test_local_faults", "test_local_damage", "test_milvus_faults",
    "test_milvus_damage", "test_http_faults",
)  # fmt: skip
"""Tests whose cases each inject a fault into a path, a store, an embedder or an endpoint."""


def injected() -> dict[str, int]:
    """Run the tests that inject faults; how many there were, and how many of them failed."""
    names = [str(ROOT / "tests" / "unit" / f"{name}.py") for name in INJECTING]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    counts = {kind: int(count) for count, kind in re.findall(r"(\d+) (passed|failed|error)", done.stdout[-300:])}
    if not counts.get("passed"):
        raise RuntimeError(done.stdout[-2_000:] + done.stderr[-2_000:])
    wrong = counts.get("failed", 0) + counts.get("error", 0)
    return {"injected": counts["passed"] + wrong, "injected_wrong": wrong}


def main() -> int:
    """Inflict all; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--offsets", type=int, default=24)
    parser.add_argument("--database-offsets", type=int, default=400)
    parser.add_argument("--sample", type=int, help="only so many of them")
    parser.add_argument("--tests", action="store_true", help="only run and count the tests that inject faults")
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if arguments.tests:
        told = injected()
        print(told)
        record(arguments.json, "bench/faults.py --tests", told)
        return 1 if told["injected_wrong"] else 0
    os.environ.pop("CITEWELL_CONFIG", None)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made(folder / "store")
        chance = random.Random(arguments.seed)
        every = list(faults(folder / "store", chance, arguments.offsets, arguments.database_offsets))
        chosen = every if arguments.sample is None else chance.sample(every, arguments.sample)
        counts, wrong = run(folder / "store", folder, chosen)
    figures = {"faults": counts.total(), **{kind: counts[kind] for kind in (*_FINE, "wrong")}}
    print(figures)
    command = f"bench/faults.py --offsets {arguments.offsets} --database-offsets {arguments.database_offsets}"
    sample = "" if arguments.sample is None else f" --sample {arguments.sample}"
    record(arguments.json, f"{command}{sample} --seed {arguments.seed}", {**figures, "wrongs": wrong})
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
