"""Bytes as a caller hands them over: read as files are, filled by strangers who must not learn of each other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from citewell import Document, Knowledge, Settings
from citewell.errors import UnknownEvidence
from citewell.lookup import LookupResult
from citewell.model import IngestReport, RawDocument
from citewell.testing.fakes import HashEmbedder


@pytest.fixture
def knowledge() -> Iterator[Knowledge]:
    with Knowledge.open("memory:", settings=Settings.of({}), embedder=HashEmbedder()) as opened:
        yield opened


def lines(report: IngestReport) -> list[tuple[str, str, int, str]]:
    return [(file.doc_id, file.status, file.embedded, file.detail) for file in report.files]


@pytest.mark.requirement("INGEST-1", "INGEST-3")
def test_bytes_are_read_in_the_format_that_they_are_in(knowledge: Knowledge) -> None:
    page = "---\ncategory: ops\n---\n# 磁盘\n\n检查磁盘。".encode("gb18030")
    table = b"service,owner\npool,anna\n"
    report = knowledge.ingest_documents([RawDocument("a/disk.md", page), RawDocument("who.csv", table, scope="red")])
    assert [(file.doc_id, file.status) for file in report.files] == [("a/disk.md", "added"), ("who.csv", "added")]
    assert "检查磁盘" in knowledge.show("a/disk.md#chunk-0").text
    disk, who = knowledge.document("a/disk.md"), knowledge.document("who.csv", scope="red")
    assert (disk.title, disk.category, disk.scope, disk.source) == ("磁盘", "ops", None, "a/disk.md")
    assert (who.title, who.scope) == ("who", ("red",))


@pytest.mark.requirement("INGEST-5", "INGEST-6")
def test_the_same_bytes_again_change_nothing_and_other_ones_replace_the_document(knowledge: Knowledge) -> None:
    first = RawDocument("a.md", b"# A\n\none")
    knowledge.ingest_documents([first])
    assert [file.status for file in knowledge.ingest_documents([first]).files] == ["unchanged"]
    assert [file.status for file in knowledge.ingest_documents([RawDocument("a.md", b"# A\n\ntwo")]).files] == [
        "updated"
    ]


@pytest.mark.requirement("INGEST-6")
def test_what_cannot_be_read_is_named_and_stops_nothing(knowledge: Knowledge) -> None:
    bad = [RawDocument("b.pdf", b"%PDF-1.7 no more"), RawDocument("c.md", "text"), RawDocument("", b"x")]  # type: ignore[arg-type]
    report = knowledge.ingest_documents([*bad, RawDocument("a.md", b"# A\n\none")])
    assert {(file.doc_id, file.status) for file in report.files} == {
        ("a.md", "added"), ("b.pdf", "failed"), ("c.md", "failed"), ("(document 2)", "failed"),
    }  # fmt: skip
    assert "the data of 'c.md' is str, not bytes" in {file.doc_id: file.detail for file in report.files}["c.md"]


@pytest.mark.requirement("SAFE-3")
def test_who_fills_apart_learns_of_no_other_document_with_the_same_text(knowledge: Knowledge) -> None:
    knowledge.ingest_documents([Document("theirs.md", "# S\n\nthe secret plan", scope="blue")])
    mine = Document("mine.md", "# S\n\nthe secret plan", scope="red")
    assert lines(knowledge.ingest_documents([mine], apart=True)) == [("mine.md", "added", 1, "")]
    knowledge.delete("mine.md")
    assert lines(knowledge.ingest_documents([mine])) == [("mine.md", "added", 0, "same text as 'theirs.md'")]


@pytest.mark.requirement("SAFE-3")
def test_a_document_outside_the_scope_reads_as_one_that_is_not_there(knowledge: Knowledge) -> None:
    knowledge.ingest_documents([Document("a.md", "# A\n\none", scope="blue")])
    with pytest.raises(UnknownEvidence, match=r"^there is no document 'a\.md'"):
        knowledge.document("a.md", scope="red")
    with pytest.raises(UnknownEvidence, match=r"^there is no document 'b\.md'"):
        knowledge.document("b.md")


@pytest.mark.requirement("API-1")
def test_who_listens_is_told_each_lookup(knowledge: Knowledge) -> None:
    heard: list[LookupResult] = []
    knowledge.lookup("before")
    knowledge.listen(heard.append)
    found = knowledge.lookup("after")
    assert heard == [found]


@pytest.mark.requirement("INGEST-6")
@pytest.mark.parametrize("odd", ["docx", {}, ["text"], None])
def test_a_format_that_there_is_not_is_the_documents_own_fault(knowledge: Knowledge, odd: object) -> None:
    documents = [Document("a", "x", format=odd), Document("b", "x")]  # type: ignore[arg-type]
    report = knowledge.ingest_documents(documents)
    assert [(file.doc_id, file.status) for file in report.files] == [("a", "failed"), ("b", "added")]
    assert report.files[0].detail.startswith(f"the format of 'a' can't be {odd!r}. Choose one of ")
