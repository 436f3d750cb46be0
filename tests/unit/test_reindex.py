"""A store copied into another one: texts and labels as they were, vectors kept or made anew, nothing done twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from citewell import Document, Knowledge, Settings
from citewell.adapters.local import LocalStore
from citewell.analysis import ANALYZER_VERSION, analyze
from citewell.errors import EmbedderMismatch, EmbedderUnavailable, InvalidRequest, StoreUnreachable, StoreVersion
from citewell.foreign import reindex
from citewell.identity import format_key as key
from citewell.ingest import Progress
from citewell.ingest.reindex import Reindexing
from citewell.model import DocumentRecord, FileReport, IngestReport, StoreBinding, StoredChunk
from citewell.model.exports import ExportedDocument
from citewell.ports import embedder_identity
from citewell.testing.fakes import HashEmbedder
from citewell.testing.samples import change

pytestmark = pytest.mark.requirement("ENGINE-3")

OLD, NEW = HashEmbedder(64, name="old"), HashEmbedder(32, name="new")
SETTINGS = Settings()
DOCUMENTS = (
    Document(
        "etcd.md", "# Etcd\n\nThe leader is slow.\n\n## Disk\n\n" + "fsync is slow. " * 90, category="ops", scope="a"
    ),
    Document("pay.md", "# Pay\n\nSalaries are paid.", metadata={"lang": "en", "tags": ["x", 1]}, source="http://pay"),
    Document("zh.md", "# 值班\n\n收到告警后应立即确认。", scope=["a", "b"]),
)


def opened(folder: Path, embedder: HashEmbedder) -> Knowledge:
    return Knowledge.open(folder, settings=SETTINGS, embedder=embedder)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    with opened(tmp_path / "source", OLD) as kb:
        kb.ingest_documents(DOCUMENTS)
    return tmp_path / "source"


def copied(source: Path, target: Path, embedder: HashEmbedder) -> IngestReport:
    return reindex(source, target, settings=SETTINGS, embedder=embedder)


def _statuses(report: IngestReport) -> dict[str, str]:
    return {file.doc_id: file.status for file in report.files}


def _everything(folder: Path, embedder: HashEmbedder) -> dict[str, StoredChunk]:
    with opened(folder, embedder) as kb, kb._store.snapshot() as view:
        return dict(view.fetch([key(info.doc_id, index) for info in kb.documents() for index in range(info.chunks)]))


@pytest.mark.requirement("INGEST-8")
def test_another_embedder_gets_every_chunk_embedded_anew_and_all_else_stays(source: Path, tmp_path: Path) -> None:
    report = copied(source, tmp_path / "copy", HashEmbedder(32, name="new"))
    assert _statuses(report) == {"etcd.md": "added", "pay.md": "added", "zh.md": "added"}
    assert report.embedded == report.chunks > 3
    assert _everything(tmp_path / "copy", NEW) == _everything(source, OLD)
    with opened(tmp_path / "copy", NEW) as kb, opened(source, OLD) as before:
        assert [info.metadata for info in kb.documents()] == [info.metadata for info in before.documents()]
        for question in ("why is fsync slow", "收到告警"):
            hybrid = kb.lookup(question, mode="hybrid", retrieve_k=50)
            assert {b.evidence_key: b.lexical_score for b in hybrid.evidence if b.lexical_score} == {
                b.evidence_key: b.lexical_score
                for b in before.lookup(question, mode="hybrid", retrieve_k=50).evidence
                if b.lexical_score
            }
        fresh = opened(tmp_path / "fresh", NEW)
        fresh.ingest_documents(DOCUMENTS)
        dense = {b.evidence_key: b.similarity for b in fresh.lookup("why is fsync slow").evidence}
        assert {b.evidence_key: b.similarity for b in kb.lookup("why is fsync slow").evidence} == dense
        fresh.close()


def test_the_same_embedder_keeps_its_vectors(source: Path, tmp_path: Path) -> None:
    embedder = HashEmbedder(64, name="old")
    report = copied(source, tmp_path / "copy", embedder)
    assert (report.embedded, embedder.embedded) == (0, [])
    with opened(tmp_path / "copy", OLD) as kb, opened(source, OLD) as before:
        ask = {"query": "the leader is slow", "return_n": 5}
        assert {b.evidence_key: b.similarity for b in kb.lookup(**ask).evidence} == {  # type: ignore[arg-type]
            b.evidence_key: b.similarity
            for b in before.lookup(**ask).evidence  # type: ignore[arg-type]
        }


def test_a_second_run_does_nothing_and_a_change_is_copied_alone(source: Path, tmp_path: Path) -> None:
    copied(source, tmp_path / "copy", NEW)
    again = copied(source, tmp_path / "copy", HashEmbedder(32, name="new"))
    assert set(_statuses(again).values()) == {"unchanged"}
    assert again.embedded == 0
    with opened(source, OLD) as kb:
        kb.ingest_documents([replace(DOCUMENTS[1], text="# Pay\n\nSalaries are late.")])
        kb.ingest_documents([replace(DOCUMENTS[2], scope="c")])
    third = copied(source, tmp_path / "copy", NEW)
    assert _statuses(third) == {"etcd.md": "unchanged", "pay.md": "updated", "zh.md": "updated"}
    assert {file.doc_id: file.embedded for file in third.files} == {"etcd.md": 0, "pay.md": 1, "zh.md": 0}
    assert _everything(tmp_path / "copy", NEW) == _everything(source, OLD)


def test_files_ingested_after_a_copy_keep_their_vectors_and_can_be_pruned(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for name in ("a.md", "b.md"):
        (docs / name).write_text(f"# {name}\n\nText of {name}.\n", "utf-8")
    with opened(tmp_path / "source", OLD) as kb:
        kb.ingest(docs)
    copied(tmp_path / "source", tmp_path / "copy", NEW)
    (docs / "b.md").unlink()
    with opened(tmp_path / "copy", NEW) as kb:
        report = kb.ingest(docs, prune=True)
        assert (_statuses(report), report.embedded) == ({"a.md": "updated", "b.md": "deleted"}, 0)


class Failing(HashEmbedder):
    """Goes away after so many texts."""

    def __init__(self, after: int) -> None:
        super().__init__(32, name="new")
        self.after = after

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if len(self.embedded) >= self.after:
            raise EmbedderUnavailable("the endpoint is down")
        return super().embed_passages(texts)


def test_a_run_that_was_stopped_is_taken_up_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("citewell.ingest.reindex._BATCH_CHUNKS", 4)
    with opened(tmp_path / "source", OLD) as kb:
        kb.ingest_documents([Document(f"doc-{n:02}", f"text number {n}", format="text") for n in range(40)])
    with pytest.raises(EmbedderUnavailable, match=r"\d+ documents were copied before") as stopped:
        copied(tmp_path / "source", tmp_path / "copy", Failing(12))
    assert "The next run goes on from there" in stopped.value.way_out
    rest = HashEmbedder(32, name="new")
    report = copied(tmp_path / "source", tmp_path / "copy", rest)
    assert report.count("unchanged") == 12
    assert report.count("added") == 28 == len(rest.embedded)
    assert _everything(tmp_path / "copy", NEW) == _everything(tmp_path / "source", OLD)


def test_progress_says_how_many_of_how_many(source: Path, tmp_path: Path) -> None:
    told: list[Progress] = []
    reindex(source, tmp_path / "copy", settings=SETTINGS, embedder=NEW, progress=told.append)
    assert (told[-1].files_done, told[-1].files_total, told[-1].doc_id) == (3, 3, "")


@pytest.mark.requirement("INGEST-8")
def test_a_store_of_another_analyser_can_be_copied_though_not_opened(tmp_path: Path) -> None:
    store = LocalStore.open(tmp_path / "source")
    store.bind(StoreBinding(embedder_identity(OLD), "0-ancient"))
    store.apply([change("a", ["The leaders are slow"], embedder=OLD, terms=[["ancient"]])])
    store.close()
    with pytest.raises(StoreVersion, match="0-ancient") as refused:
        opened(tmp_path / "source", OLD)
    assert "citewell reindex" in refused.value.way_out
    assert copied(tmp_path / "source", tmp_path / "copy", OLD).embedded == 0
    with opened(tmp_path / "copy", OLD) as kb:
        assert kb.lookup("leader", mode="hybrid").evidence[0].lexical_score


def test_what_can_not_be_copied_is_refused(source: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="into itself"):
        copied(source, tmp_path / "x" / ".." / "source", OLD)
    with pytest.raises(StoreUnreachable, match="no store"):
        copied(tmp_path / "nowhere", tmp_path / "copy", OLD)
    with opened(tmp_path / "other", OLD) as kb:
        kb.ingest_documents(DOCUMENTS[:1])
    with pytest.raises(EmbedderMismatch):
        copied(source, tmp_path / "other", NEW)


class Foreign:
    """A source that hands out what it is given."""

    def __init__(self, *documents: ExportedDocument) -> None:
        self.documents = documents

    def export(self) -> Iterator[ExportedDocument]:
        return iter(self.documents)

    def export_size(self) -> int:
        return len(self.documents)

    def binding(self) -> StoreBinding:
        return StoreBinding(embedder_identity(NEW), "")


def foreign(doc_id: str, *texts: str, vectors: Sequence[NDArray[np.float32] | None] | None = None) -> ExportedDocument:
    chunks = tuple(StoredChunk(f"vector:{n}", doc_id, None, text, title="T") for n, text in enumerate(texts))
    held = tuple(vectors if vectors is not None else [NEW.embed_query(text) for text in texts])
    return ExportedDocument(DocumentRecord(doc_id, title="T"), chunks, held, (None,) * len(texts))


@pytest.fixture
def target(tmp_path: Path) -> Iterator[LocalStore]:
    store = LocalStore.open(tmp_path / "target")
    yield store
    store.close()


def _copied(target: LocalStore, embedder: HashEmbedder, *documents: ExportedDocument) -> tuple[FileReport, ...]:
    binding = StoreBinding(embedder_identity(embedder), ANALYZER_VERSION)
    run = Reindexing(target, embedder, analyze=analyze, binding=binding)
    return run.run(Foreign(*documents)).files  # type: ignore[arg-type]  # it has what is asked of it


def test_vectors_of_any_length_are_kept_at_length_1_and_those_without_direction_made_anew(target: LocalStore) -> None:
    good, zero = NEW.embed_query("one") * np.float32(3), np.zeros(32, dtype=np.float32)
    nan = np.full(32, np.nan, dtype=np.float32)
    document = foreign("a", "one", "two", "three", "four", vectors=[good, zero, nan, None])
    embedder = HashEmbedder(32, name="new")
    (report,) = _copied(target, embedder, document)
    assert (report.status, report.chunks, report.embedded) == ("added", 4, 3)
    assert sorted(set(embedder.embedded)) == ["T", "four", "three", "two"]
    with target.snapshot() as view:
        kept = view.similarities(NEW.embed_query("one"), [key("a", 0)])
    assert kept[key("a", 0)] == pytest.approx(1.0, abs=1e-6)


def test_spans_that_are_not_known_are_those_of_the_chunks_put_together(target: LocalStore) -> None:
    _copied(target, NEW, foreign("a", "one", "three", "five"))
    with target.snapshot() as view:
        chunks = view.fetch([key("a", index) for index in range(3)])
    assert [chunk.span for chunk in chunks.values()] == [(0, 3), (3, 8), (8, 12)]


def test_chunks_without_text_are_left_out_and_said(target: LocalStore) -> None:
    reports = _copied(target, NEW, foreign("a", "one", " \n", "two"), foreign("b", "", "\u200b"))
    assert [(report.status, report.chunks) for report in reports] == [("added", 2), ("no_text", 0)]
    assert "1 chunks without text left out" in reports[0].detail
    assert [info.doc_id for info in target.documents()] == ["a"]


def test_a_chunk_longer_than_the_embedder_takes_is_said(target: LocalStore) -> None:
    short = HashEmbedder(32, name="short")
    short.max_tokens = 20
    (report,) = _copied(target, short, foreign("a", "word " * 100, "short"))
    assert "1 chunks may be longer than the embedder takes" in report.detail
