"""The labelled sets of ../shared/data as cases: the same chunks, the same vectors and questions for every stack.

Four sets come with chunks, of which the text alone is taken. The runbooks are whole Markdown files; they are cut at
headings to about 1,200 characters, with `title > heading` before each chunk, and judged by document. Questions are
the first 400 judged ones by id. Vectors are those of Citewell's default embedder, of the bare texts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import rjieba
import yaml
from numpy.typing import NDArray

from citewell.adapters.embedders.onnx import UseMultilingual
from citewell.evaluation.datasets import first_questions, read_dataset
from citewell.evaluation.model import Dataset
from peers_case import Case, Passage, save

MOST = 400
TARGET = 1_200
_HAN = re.compile(r"[\u3400-\u9fff]")
_FRONT_MATTER = re.compile(r"\A---\n(.*?)^---\n", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^(#{1,6}) +(.*)$", re.MULTILINE)
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Labelled:
    """A set's judgements, and whether they are on documents (then a ranking of chunks counts by document)."""

    name: str
    qrels: Mapping[str, Mapping[str, float]]
    by_document: bool = False

    def judged(self, keys: list[str]) -> list[str]:
        """A ranking of chunks as what is judged."""
        return list(dict.fromkeys(map(document, keys))) if self.by_document else keys


def document(key: str) -> str:
    """The document of a chunk's key."""
    return key.rpartition("#")[0]


NAMES = ("chunking-eval", "anthropic-docs", "xquad-en", "cmrc2018-dev", "runbooks")


def labelled(data: Path, name: str) -> Labelled:
    """The judgements on the first 400 judged questions by id (in string order)."""
    dataset = first_questions(_dataset(data, name), MOST)
    return Labelled(name, dataset.qrels, name == "runbooks")


def _dataset(data: Path, name: str) -> Dataset:
    return read_dataset(data / name, qrels="desc" if name == "runbooks" else "qrels", grain="document")


def make(data: Path, name: str, folder: Path) -> None:
    """Write the case unless this embedder's is there; embedding takes a minute for the largest set."""
    mark = folder / "embedder.txt"
    if mark.exists() and mark.read_text("ascii") == UseMultilingual.fingerprint:
        return
    dataset = first_questions(_dataset(data, name), MOST)
    chunks = list(_runbooks(data / name / "docs")) if name == "runbooks" else _corpus(dataset)
    queries = [_passage(query, text) for query, text in dataset.queries.items()]
    vectors, asked = (_embed([each.text for each in passages]) for passages in (chunks, queries))
    chinese = any(_HAN.search(query.text) for query in queries)
    docs = data / name / "docs"
    spans = _spans(data / name) if docs.exists() and name != "runbooks" else ()
    case = Case(name, chinese, tuple(chunks), vectors, tuple(queries), asked, docs if docs.exists() else None, spans)
    save(folder, case)
    mark.write_text(UseMultilingual.fingerprint, encoding="ascii")


def _spans(folder: Path) -> tuple[tuple[int, int], ...]:
    """Where each chunk lies in its document's text."""
    lines = (folder / "corpus.jsonl").read_text("utf-8").splitlines()
    return tuple((int(line["start"]), int(line["end"])) for line in map(json.loads, lines))


def _corpus(dataset: Dataset) -> list[Passage]:
    return [_passage(document.doc_id, str(document.text)) for document in dataset.documents]


def _passage(key: str, text: str) -> Passage:
    return Passage(key, text, " ".join(rjieba.cut(text)) if _HAN.search(text) else text)


def _embed(texts: list[str]) -> NDArray[np.float32]:
    return UseMultilingual().embed_passages(texts)


def _runbooks(docs: Path) -> Iterator[Passage]:
    for path in sorted(docs.rglob("*.md")):
        name = path.relative_to(docs).as_posix()
        for number, text in enumerate(_sections(path.read_text("utf-8"), path.stem)):
            yield _passage(f"{name}#chunk-{number}", text)


def _sections(text: str, name: str) -> Iterator[str]:
    """The body of each section that has one, cut at blank lines where it is long, `title > heading` before it."""
    front = _FRONT_MATTER.match(text)
    title = str((yaml.safe_load(front[1]) or {}).get("title", name)) if front else name
    text = text[front.end() :] if front else text
    fences = [match.span() for match in _FENCE.finditer(text)]
    heads = [head for head in _HEADING.finditer(text) if not any(a < head.start() < b for a, b in fences)]
    parts = [("", 0), *((head[2], head.end()) for head in heads)]
    ends = [*(head.start() for head in heads), len(text)]
    for (heading, start), end in zip(parts, ends, strict=True):
        for piece in _pieces(text[start:end].strip()):
            yield " > ".join(dict.fromkeys(part for part in (title, heading) if part)) + "\n" + piece


def _pieces(section: str) -> Iterator[str]:
    held = ""
    for paragraph in section.split("\n\n"):
        if held and len(held) + len(paragraph) + 2 > TARGET:
            yield held
            held = ""
        held = f"{held}\n\n{paragraph}" if held else paragraph
    if held.strip():
        yield held
