"""A labelled set as plain files that any interpreter reads: chunks, vectors, questions; needs numpy alone.

It is read in each stack's own environment, where there is no Citewell, so it imports nothing of it. It knows no stack,
no measure, and no judgements: a stack never sees which chunk is right.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

CHUNKS, QUERIES, VECTORS, ASKED = "chunks.jsonl", "queries.jsonl", "vectors.npy", "asked.npy"


@dataclass(frozen=True)
class Passage:
    """A chunk or a question.

    Attributes:
        key: of the chunk (`document#chunk-n` or as the set has it), or the question's id.
        text: as it is.
        words: the text with its Chinese words set apart by spaces, for stacks that cut at spaces; else the text.
    """

    key: str
    text: str
    words: str


@dataclass(frozen=True)
class Case:
    """What every stack gets: row i of `vectors` is chunk i's, row i of `asked` question i's; all of unit length.

    `docs` and `spans` are for Citewell's own reading of the files alone: where they are, and where in its file each
    given chunk stands (characters; empty if the set doesn't say). `together` says that Citewell is to hold the chunks
    of a document as one; else each is a document of its own, so that no cap on chunks per document matters.
    """

    name: str
    chinese: bool
    chunks: tuple[Passage, ...]
    vectors: NDArray[np.float32]
    queries: tuple[Passage, ...]
    asked: NDArray[np.float32]
    docs: Path | None = None
    spans: tuple[tuple[int, int], ...] = ()
    together: bool = False


def save(folder: Path, case: Case) -> None:
    """Write it; the folder is made."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, passages in ((CHUNKS, case.chunks), (QUERIES, case.queries)):
        lines = [json.dumps([each.key, each.text, each.words], ensure_ascii=False) for each in passages]
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    np.save(folder / VECTORS, case.vectors)
    np.save(folder / ASKED, case.asked)
    docs = str(case.docs.resolve()) if case.docs else None
    about = {"name": case.name, "chinese": case.chinese, "docs": docs, "spans": case.spans, "together": case.together}
    (folder / "case.json").write_text(json.dumps(about), encoding="utf-8")


def load(folder: Path) -> Case:
    """Read it back."""
    about = json.loads((folder / "case.json").read_text("utf-8"))
    return Case(
        about["name"],
        about["chinese"],
        _passages(folder / CHUNKS),
        np.load(folder / VECTORS),
        _passages(folder / QUERIES),
        np.load(folder / ASKED),
        Path(about["docs"]) if about["docs"] else None,
        tuple((start, end) for start, end in about["spans"]),
        about.get("together", False),
    )


def digest(folder: Path) -> str:
    """Of everything that a stack is given; the first 12 digits of SHA-256."""
    total = hashlib.sha256()
    for name in (CHUNKS, QUERIES, VECTORS, ASKED):
        total.update((folder / name).read_bytes())
    return total.hexdigest()[:12]


def _passages(path: Path) -> tuple[Passage, ...]:
    return tuple(Passage(*json.loads(line)) for line in path.read_text("utf-8").split("\n") if line)
