"""Stores to break on purpose, and a look at every path that must agree afterwards."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from citewell import IngestReport, Knowledge, LookupResult, Settings
from citewell.ports import Embedder
from citewell.testing.fakes import HashEmbedder

ANCHOR = "anchor"
"""In every section."""


def section(word: str) -> str:
    """A paragraph of 500 characters or a little less, a chunk of its own."""
    sentences = " ".join(f"{word}{part} says what {word} holds." for part in "abcdefghijklmnopqr")
    return f"{ANCHOR} {word} begins. {sentences}"[:500].rpartition(".")[0] + "."


def page(*words: str) -> str:
    """Markdown with a section per word, each a chunk."""
    first, *rest = words
    return "\n\n".join([f"# Guide\n\n{section(first)}", *(f"## {word}\n\n{section(word)}" for word in rest)]) + "\n"


def write(folder: Path, name: str, *words: str) -> Path:
    """A file with a section per word."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(*words), encoding="utf-8")
    return path


def opened(location: Path, embedder: Embedder | None = None) -> Knowledge:
    """The store, with an embedder that needs no model."""
    return Knowledge.open(location, settings=Settings(), embedder=embedder or HashEmbedder())


def everything(knowledge: Knowledge, query: str = ANCHOR) -> LookupResult:
    """A lookup that no width, cap or floor narrows."""
    return knowledge.lookup(query, mode="hybrid", retrieve_k=1_000, return_n=1_000, max_chunks_per_document=0)


def whole(knowledge: Knowledge) -> dict[str, list[str]]:
    """Document id -> the words of its sections, having checked that every path, the catalogue and each key agree."""
    found = everything(knowledge)
    assert found.degraded == ()
    shown = {block.evidence_key: block.text for block in found.evidence}
    for path in ("dense", "lexical"):
        assert {b.evidence_key for b in found.evidence if path in {r.path for r in b.reasons}} == set(shown), path
    infos = {info.doc_id: info.chunks for info in knowledge.documents()}
    keys = {name: [f"{name}#chunk-{index}" for index in range(chunks)] for name, chunks in infos.items()}
    assert sorted(shown) == sorted(key for each in keys.values() for key in each)
    assert {key: knowledge.show(key).text for key in shown} == shown
    return {name: [word_of(shown[key]) for key in each] for name, each in keys.items()}


def word_of(text: str) -> str:
    """The word that a chunk is about; it must be a whole section."""
    word = text.partition(f"{ANCHOR} ")[2].partition(" ")[0]
    assert text.rstrip().endswith(section(word)), text
    return word


def similarities(knowledge: Knowledge) -> dict[str, list[float | None]]:
    """Of every chunk to a few queries; they tell whether each chunk has its own vector."""
    found: dict[str, list[float | None]] = {}
    for query in (ANCHOR, "begins", "what holds says"):
        for block in everything(knowledge, query).evidence:
            similarity = None if block.similarity is None else round(block.similarity, 5)
            found.setdefault(block.evidence_key, []).append(similarity)
    return found


def assert_as_filled_in_one_go(knowledge: Knowledge, docs: Path, location: Path) -> None:
    """The store equals a fresh one, is sound, and holds no row too many."""
    with opened(location) as fresh:
        fresh.ingest(docs)
        assert whole(knowledge) == whole(fresh)
        assert similarities(knowledge) == similarities(fresh)
    assert knowledge.verify().findings == ()
    chunks = knowledge.status().chunks
    assert rows(Path(knowledge.status().location)) == (len(list(knowledge.documents())), chunks, chunks)


def rows(location: Path) -> tuple[int, int, int]:
    """Rows of SQLite's tables of documents, chunks and features."""
    connection = sqlite3.connect(location / "citewell.db")
    sql = "SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM chunks), (SELECT count(*) FROM features)"
    found: tuple[int, int, int] = connection.execute(sql).fetchone()
    connection.close()
    return found


def tamper(location: Path, *statements: str) -> None:
    """Change the database behind the engine's back; `@ROW` is that of the second chunk of `a.md`."""
    connection = sqlite3.connect(location / "citewell.db")
    for statement in statements:
        asked = statement.replace("@ROW", "(SELECT first_row + 1 FROM documents WHERE doc_id = 'a.md')")
        assert connection.execute(asked).rowcount > 0, statement
    connection.commit()
    connection.close()


def statuses(report: IngestReport) -> dict[str, str]:
    """Document id -> status."""
    return {file.doc_id: file.status for file in report.files}


def hold_word(texts: Sequence[str], word: str) -> bool:
    """Whether one of the texts holds the word."""
    return any(word in text for text in texts)
