"""Faults put into an ingestion on purpose: nothing acknowledged is lost, nothing half-written is seen (INGEST-5..7)."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from injected_room import (
    assert_as_filled_in_one_go,
    hold_word,
    opened,
    rows,
    statuses,
    tamper,
    whole,
    write,
)
from numpy.typing import NDArray

from citewell import Knowledge
from citewell.errors import EmbedderError, StoreUnreachable
from citewell.testing.fakes import HashEmbedder

Vectors = NDArray[np.float32]


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """Two documents, of five sections and of two."""
    folder = tmp_path / "docs"
    write(folder, "a.md", "wone", "wtwo", "wthree", "wfour", "wfive")
    write(folder, "b.md", "wbone", "wbtwo")
    return folder


@pytest.fixture
def location(tmp_path: Path, docs: Path) -> Path:
    """A store that holds them, closed."""
    with opened(tmp_path / "kb") as knowledge:
        assert statuses(knowledge.ingest(docs)) == {"a.md": "added", "b.md": "added"}
    return tmp_path / "kb"


OLD = {"a.md": ["wone", "wtwo", "wthree", "wfour", "wfive"], "b.md": ["wbone", "wbtwo"]}


# The embedder.


class Poisoned(HashEmbedder):
    """Does something to the vectors of a call in which a text holds the word `poison`."""

    def __init__(self, harm: Callable[[Vectors], Any]) -> None:
        super().__init__()
        self.harm = harm

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        vectors = super().embed_passages(texts)
        harmed: Vectors = self.harm(vectors) if hold_word(texts, "poison") else vectors
        return harmed


def refuse(vectors: Vectors) -> Vectors:
    raise EmbedderError("it can't embed that")


def explode(vectors: Vectors) -> Vectors:
    raise RuntimeError("boom")


def with_last(vectors: Vectors, value: float) -> Vectors:
    vectors[-1] = value
    return vectors


HARM: dict[str, Callable[[Vectors], Any]] = {
    "fails": refuse,
    "raises what it likes": explode,
    "NaN": lambda vectors: with_last(vectors, np.nan),
    "infinite": lambda vectors: with_last(vectors, np.inf),
    "zero": lambda vectors: with_last(vectors, 0),
    "a dimension too few": lambda vectors: vectors[:, :-1],
    "a dimension too many": lambda vectors: np.hstack([vectors, vectors[:, :1]]),
    "a vector too few": lambda vectors: vectors[:-1],
    "a vector too many": lambda vectors: np.vstack([vectors, vectors[:1]]),
    "one vector for all": lambda vectors: vectors[0],
    "nothing": lambda vectors: None,
    "texts": lambda vectors: vectors.astype(str),
    "complex": lambda vectors: vectors.astype(complex),
}


@pytest.mark.requirement("INGEST-5", "INGEST-6", "INGEST-7")
@pytest.mark.parametrize("harm", HARM.values(), ids=HARM)
def test_an_embedder_that_fails_on_the_third_chunk_leaves_the_old_version_on_every_path(
    docs: Path, location: Path, tmp_path: Path, harm: Callable[[Vectors], Any]
) -> None:
    """Trial I95: the first two of five changed chunks were good; the other document is changed, too."""
    write(docs, "a.md", "wnone", "wntwo", "poison", "wnfour", "wnfive")
    write(docs, "b.md", "wbone", "wbthree")
    with opened(location, Poisoned(harm)) as knowledge:
        report = knowledge.ingest(docs)
        assert statuses(report) == {"a.md": "failed", "b.md": "updated"}
        assert report.files[0].detail
        assert whole(knowledge) == {**OLD, "b.md": ["wbone", "wbthree"]}
    with opened(location) as knowledge:
        assert whole(knowledge) == {**OLD, "b.md": ["wbone", "wbthree"]}
        assert statuses(knowledge.ingest(docs)) == {"a.md": "updated", "b.md": "unchanged"}
        assert_as_filled_in_one_go(knowledge, docs, tmp_path / "fresh")


# The disk.


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = os.geteuid() == 0 and not _mount("-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder))
    if not mounted:
        pytest.skip("a small file system can't be mounted here: that takes root and the permission to mount")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def _mount(*arguments: str) -> int:
    return subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode


@pytest.mark.requirement("INGEST-5", "INGEST-7", "ENGINE-4")
def test_a_full_disk_is_said_the_old_versions_stay_and_with_more_space_the_next_run_completes(
    docs: Path, small_disk: Path, tmp_path: Path
) -> None:
    for number in range(10):
        write(docs, f"old/{number}.md", f"wold{number}", f"wolder{number}")
    with opened(small_disk / "kb") as knowledge:
        assert knowledge.ingest(docs).ok
        before = whole(knowledge)
        write(docs, "a.md", "wnone", "wntwo")
        for number in range(150):
            write(docs, f"many/{number}.md", *(f"wm{number}n{part}" for part in range(5)))
        for _ in range(2):  # a full disk stays so
            with pytest.raises(StoreUnreachable, match="no space left") as refusal:
                knowledge.ingest(docs)
            assert "space" in refusal.value.way_out
            assert "The next run goes on from there" in refusal.value.way_out
            assert_nothing_is_lost(knowledge, before)
    with opened(small_disk / "kb") as knowledge:
        assert_nothing_is_lost(knowledge, before)
        assert not _mount("-o", "remount,size=64m", str(small_disk))
        report = knowledge.ingest(docs)
        assert report.ok
        assert report.count("unchanged") >= 11
        assert_as_filled_in_one_go(knowledge, docs, tmp_path / "fresh")


def assert_nothing_is_lost(knowledge: Knowledge, before: dict[str, list[str]]) -> None:
    """Every document is as it was, or the new version whole."""
    found = whole(knowledge)
    assert found["a.md"] in (before["a.md"], ["wnone", "wntwo"])
    assert {name: words for name, words in found.items() if name in before and name != "a.md"} == {
        name: words for name, words in before.items() if name != "a.md"
    }
    assert {len(words) for name, words in found.items() if name.startswith("many/")} <= {5}


# Rows and files that go behind the engine's back.

MISSING = {
    "a chunk": "DELETE FROM chunks WHERE row = @ROW",
    "a vector": "DELETE FROM features WHERE row = @ROW",
    "every chunk": "DELETE FROM chunks",
    "every vector": "DELETE FROM features",
    "a document": "DELETE FROM documents WHERE doc_id = 'a.md'",
    "every document": "DELETE FROM documents",
}
CHANGED = {
    "a text": "UPDATE chunks SET text = 'forged' WHERE row = @ROW",
    "a span": "UPDATE chunks SET span_start = 9000 WHERE row = @ROW",
    "a vector": "UPDATE features SET vector = zeroblob(length(vector)) WHERE row = @ROW",
    "the order": "UPDATE chunks SET chunk_index = 7 WHERE row = @ROW",
    "metadata": "UPDATE documents SET metadata = '{' WHERE doc_id = 'a.md'",
    "labels": "UPDATE documents SET scope = '[' WHERE doc_id = 'a.md'",
    "headings": "UPDATE documents SET headings = '3' WHERE doc_id = 'a.md'",
    "the dictionary": "DELETE FROM terms WHERE id % 2 = 1",
    "where it ends": "UPDATE documents SET chunks = chunks + 1 WHERE doc_id = 'a.md'",
    "where it begins": "UPDATE documents SET first_row = (SELECT first_row FROM documents WHERE doc_id = 'b.md')"
    " WHERE doc_id = 'a.md'",
}


@pytest.mark.requirement("INGEST-5", "INGEST-7", "ENGINE-4")
@pytest.mark.parametrize("index", ["kept", "lost"])
@pytest.mark.parametrize("statement", MISSING.values(), ids=MISSING)
def test_rows_deleted_behind_its_back_are_named_by_verify_and_the_next_run_restores_them(
    docs: Path, location: Path, tmp_path: Path, statement: str, index: str
) -> None:
    """Ingestion compares with what the store holds, not with a note that it once held it."""
    tamper(location, statement)
    if index == "lost":
        shutil.rmtree(location / "index", ignore_errors=True)
    with opened(location) as knowledge:
        assert not knowledge.verify().ok
        report = knowledge.ingest(docs)
        assert report.ok
        assert "a.md" in {file.doc_id for file in report.files if file.status in ("added", "updated")}
        knowledge.verify(repair=True)
        assert_as_filled_in_one_go(knowledge, docs, tmp_path / "fresh")


@pytest.mark.requirement("INGEST-7", "ENGINE-4")
@pytest.mark.parametrize("statement", [*CHANGED.values(), *MISSING.values()], ids=[*CHANGED, *MISSING])
def test_verify_with_repair_and_an_ingestion_restore_whatever_was_changed(
    docs: Path, location: Path, tmp_path: Path, statement: str
) -> None:
    tamper(location, statement)
    with opened(location) as knowledge:
        assert not knowledge.verify().ok
        knowledge.verify(repair=True)
        assert knowledge.ingest(docs).ok
        assert_as_filled_in_one_go(knowledge, docs, tmp_path / "fresh")


@pytest.mark.requirement("INGEST-7", "ENGINE-4")
def test_a_document_whose_source_is_gone_keeps_what_is_left_of_it_and_does_not_stop_other_writes(
    docs: Path, location: Path
) -> None:
    tamper(location, MISSING["a vector"])
    shutil.rmtree(location / "index", ignore_errors=True)
    (docs / "a.md").unlink()
    write(docs, "c.md", "wcone")
    with opened(location) as knowledge:
        assert statuses(knowledge.ingest(docs)) == {"b.md": "unchanged", "c.md": "added"}
        assert knowledge.show("a.md#chunk-0").text
        assert not knowledge.verify().ok
        assert statuses(knowledge.ingest(docs, prune=True))["a.md"] == "deleted"
        assert whole(knowledge) == {"b.md": OLD["b.md"], "c.md": ["wcone"]}
        assert knowledge.verify().findings == ()
        assert rows(location) == (2, 3, 3)


@pytest.mark.requirement("INGEST-7", "ENGINE-4")
@pytest.mark.parametrize("reopened", [True, False], ids=["opened anew", "open all along"])
def test_derived_files_deleted_behind_its_back_are_made_anew(docs: Path, tmp_path: Path, reopened: bool) -> None:
    for number in range(30):
        write(docs, f"{number}.md", *(f"w{number}n{part}" for part in range(5)))
    knowledge = opened(tmp_path / "kb")
    knowledge.ingest(docs)
    before = whole(knowledge)
    assert list((tmp_path / "kb" / "index").glob("*.seg"))
    shutil.rmtree(tmp_path / "kb" / "index")
    if reopened:
        knowledge.close()
        knowledge = opened(tmp_path / "kb")
    assert whole(knowledge) == before
    write(docs, "a.md", "wnone")
    assert knowledge.ingest(docs).ok
    assert knowledge.verify(repair=True).ok
    assert_as_filled_in_one_go(knowledge, docs, tmp_path / "fresh")
    knowledge.close()


# The sources.


class Torn:
    """A file that an editor writes anew between its first half and its second."""

    def __init__(self, path: Path, rewrite: Callable[[], object]) -> None:
        self._path, self._rewrite = path, rewrite
        self._file = path.open("rb")

    def __enter__(self) -> Torn:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def fileno(self) -> int:
        return self._file.fileno()

    def read(self, most: int) -> bytes:
        before = self._file.read(most)
        self._rewrite()
        return before[: len(before) // 2] + self._path.read_bytes()[len(before) // 2 :]


@pytest.mark.requirement("INGEST-5")
@pytest.mark.parametrize("settles", [True, False], ids=["once", "all the time"])
def test_a_file_that_changes_while_it_is_read_is_one_version_or_stays_as_it_was_and_is_named(
    docs: Path, location: Path, monkeypatch: pytest.MonkeyPatch, settles: bool
) -> None:
    written = ["wnone", "wntwo", "wnthree"]
    write(docs, "a.md", *written)
    writes = 0

    def opener(path: Path, mode: str, **_: object) -> object:
        if path.name != "a.md" or (settles and writes):
            return path.open(mode)
        return Torn(path, rewrite)

    def rewrite() -> None:
        nonlocal writes
        writes += 1
        write(docs, "a.md", *written, *(f"wlater{number}" for number in range(writes)))

    monkeypatch.setattr("citewell.ingest.files.open", opener, raising=False)
    with opened(location) as knowledge:
        report = knowledge.ingest(docs)
        assert whole(knowledge) == {**OLD, "a.md": [*written, "wlater0"] if settles else OLD["a.md"]}
        named = {file.doc_id: file.detail for file in report.files}
        assert statuses(report)["a.md"] == ("updated" if settles else "skipped")
        assert ("changes while it is read" in named["a.md"]) != settles
        assert writes == (1 if settles else 2)
        monkeypatch.undo()
        knowledge.ingest(docs)
        assert whole(knowledge)["a.md"][:3] == written
