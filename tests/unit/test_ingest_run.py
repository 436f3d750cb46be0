"""A run brings a store in line with files and documents, the first time and every time after (INGEST-1..6, 9)."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from ingest_room import ForgetfulStore, HookedStore, Room, ingest_threads, sections, statuses
from numpy.typing import NDArray

from citewell.adapters.readers import TEXTS, FileReader
from citewell.errors import EmbedderMismatch, InvalidRequest, StoreVersion
from citewell.ingest import Ingestion, Progress, pipeline
from citewell.model import Document, Locator
from citewell.testing.fakes import HashEmbedder

ZH = "数据库连接池耗尽时先扩容再重启网关"


@pytest.fixture
def room(tmp_path: Path) -> Room:
    folder = tmp_path / "docs"
    folder.mkdir()
    return Room(folder)


# First ingestion


@pytest.mark.requirement("INGEST-1", "INGEST-3", "INGEST-4")
def test_a_file_is_stored_with_everything_that_it_says(room: Room) -> None:
    room.write(ops__etcd="---\ntitle: etcd\ncategory: ops\nteam: db\n---\n# Slow disks\n\nCheck fsync.\n")
    report = room.ingest(scope="internal")
    assert statuses(report) == {"ops/etcd.md": "added"}
    (chunk,) = room.chunks("ops/etcd.md")
    assert (chunk.title, chunk.category, chunk.scope, chunk.source) == ("etcd", "ops", ("internal",), "ops/etcd.md")
    assert chunk.metadata == {"title": "etcd", "category": "ops", "team": "db"}
    assert (chunk.text, chunk.breadcrumb, chunk.locator) == (
        "# Slow disks\n\nCheck fsync.",
        "Slow disks",
        Locator(line=6),
    )
    assert (report.files[0].chunks, report.files[0].embedded, report.chunks, report.embedded) == (1, 1, 1, 1)


@pytest.mark.requirement("INGEST-1")
def test_what_has_no_title_is_called_by_its_file(room: Room) -> None:
    room.write(plain="Just text.", headed="# Its own title\n\nText.")
    room.ingest()
    assert {doc_id: info.title for doc_id, info in room.infos().items()} == {
        "headed.md": "Its own title",
        "plain.md": "plain",
    }


@pytest.mark.requirement("INGEST-3")
def test_the_category_of_the_call_wins_over_front_matter(room: Room) -> None:
    room.write(a="---\ncategory: hr\n---\nText.", b="Text of b.")
    room.ingest(category="ops")
    assert {info.category for info in room.infos().values()} == {"ops"}


@pytest.mark.requirement("INGEST-3", "SAFE-3")
def test_front_matter_grants_no_label(room: Room) -> None:
    room.write(a="---\nscope: [public, admin]\n---\nText.")
    report = room.ingest()
    assert room.infos()["a.md"].scope is None
    assert report.files[0].detail == "scope in front matter is metadata only; labels come from the caller"


@pytest.mark.requirement("INGEST-2")
def test_one_sentence_in_six_encodings_is_stored_as_the_same_text_and_found(room: Room) -> None:
    """Trial I114."""
    for encoding in ("utf-8", "utf-8-sig", "gbk", "gb18030"):
        (room.folder / f"{encoding}.txt").write_bytes(ZH.encode(encoding))
    (room.folder / "le.txt").write_bytes(b"\xff\xfe" + ZH.encode("utf-16-le"))
    (room.folder / "be.txt").write_bytes(b"\xfe\xff" + ZH.encode("utf-16-be"))
    (room.folder / "random.txt").write_bytes(bytes(range(256)))
    report = room.ingest()
    assert {doc_id: room.texts(doc_id) for doc_id in room.infos()} == {
        f"{name}.txt": [ZH] for name in ("be", "gb18030", "gbk", "le", "utf-8", "utf-8-sig")
    }
    assert len(room.lexical("连接池")) == 6
    assert statuses(report)["random.txt"] == "failed"
    details = {file.doc_id: file.detail.split(";")[0] for file in report.files}
    assert details["gbk.txt"] == "read as gb18030"
    assert details["random.txt"].startswith("it is binary")


@pytest.mark.requirement("INGEST-9", "INGEST-6")
@pytest.mark.parametrize("text", ["", " \n\t\n", "\u200b\ufeff\n", "---\ntitle: nothing else\n---\n"])
def test_a_file_without_text_is_a_warning_and_not_success(room: Room, text: str) -> None:
    """Trial I116."""
    room.write(a=text, b="Text.")
    report = room.ingest()
    assert statuses(report) == {"a.md": "no_text", "b.md": "added"}
    assert report.ok
    assert report.files[0].detail


@pytest.mark.requirement("INGEST-6")
def test_equal_files_are_two_documents_and_it_is_said(room: Room) -> None:
    """Trial I100, I08."""
    room.write(a="The same text.", b="The same text.")
    report = room.ingest()
    assert [(file.doc_id, file.status, file.detail) for file in report.files] == [
        ("a.md", "added", ""),
        ("b.md", "added", "same text as 'a.md'"),
    ]
    assert (room.texts("a.md"), room.texts("b.md")) == (["The same text."], ["The same text."])


@pytest.mark.requirement("INGEST-6")
def test_a_text_that_another_document_had_before_is_not_called_the_same(room: Room) -> None:
    room.write(a="The old text.")
    room.ingest()
    room.write(a="A new text.", b="The old text.")
    assert [file.detail for file in room.ingest().files] == ["", ""]
    (room.folder / "b.md").rename(room.folder / "c.md")
    assert [file.detail for file in room.ingest(prune=True).files] == ["", "moved to 'c.md'", "moved from 'b.md'"]


@pytest.mark.requirement("INGEST-6")
def test_what_was_not_kept_is_not_called_stored(room: Room) -> None:
    """Trial I102."""
    room.store = ForgetfulStore()
    room.write(a="Text.")
    (file,) = room.ingest().files
    assert (file.status, file.detail.split(".")[0]) == (
        "failed",
        "1 chunks were written, but only 0 of them can be read back",
    )


@pytest.mark.requirement("INGEST-6")
def test_the_report_is_sorted_by_document_and_counts_skipped_files(room: Room) -> None:
    room.write(b="Text b.", a="Text a.")
    (room.folder / "aa.xyz").write_text("x", encoding="utf-8")
    report = room.ingest()
    assert [file.doc_id for file in report.files] == ["a.md", "aa.xyz", "b.md"]
    assert report.count("skipped") == 1
    assert report.seconds > 0


@pytest.mark.requirement("INGEST-8")
def test_a_store_of_another_embedder_or_analyser_is_refused_and_left_alone(room: Room) -> None:
    room.write(a="Text.")
    room.ingest()
    with pytest.raises(EmbedderMismatch, match=r"hash-words.*other"):
        Room(room.folder, room.store, HashEmbedder(name="other")).ingest()
    with pytest.raises(StoreVersion):
        Room(room.folder, room.store, room.embedder, analyzer="2").ingest()
    assert room.texts("a.md") == ["Text."]


@pytest.mark.requirement("INGEST-6")
@pytest.mark.parametrize("options", [{"category": 7}, {"scope": [""]}, {"prefix": None}])
def test_arguments_that_cannot_be_used_are_refused_before_anything_is_written(
    room: Room, options: dict[str, object]
) -> None:
    room.write(a="Text.")
    with pytest.raises(InvalidRequest):
        room.ingest(**options)
    assert room.infos() == {}


# Again


@pytest.mark.requirement("INGEST-5")
def test_a_second_run_embeds_nothing_and_writes_nothing(room: Room) -> None:
    """Trials I97, I99: 250 chunks and more, thrice."""
    room.write(a=sections(300), b="Text.", c="")
    first = room.ingest()
    assert first.chunks > 300
    written = len(room.store.batches)  # type: ignore[attr-defined]  # a HookedStore
    room.embedded()
    for _ in range(2):
        again = room.ingest()
        assert statuses(again) == {"a.md": "unchanged", "b.md": "unchanged", "c.md": "no_text"}
        assert (again.embedded, again.chunks, room.embedded()) == (0, first.chunks, [])
    assert len(room.store.batches) == written  # type: ignore[attr-defined]  # a HookedStore


@pytest.mark.requirement("INGEST-5")
def test_only_what_changed_in_a_document_is_embedded(room: Room) -> None:
    room.write(a=sections(10))
    room.ingest()
    room.embedded()
    room.write(a=sections(10).replace("topic 7", "another subject 7"))
    report = room.ingest()
    assert (statuses(report), report.embedded, len(room.embedded())) == ({"a.md": "updated"}, 1, 2)
    assert any("another subject 7" in text for text in room.texts("a.md"))


@pytest.mark.requirement("INGEST-5")
def test_a_shorter_version_leaves_no_tail_on_any_path(room: Room) -> None:
    """Trial I93."""
    room.write(a=sections(6, word="zanzibar"))
    room.ingest()
    assert len(room.lexical("zanzibar")) == 6
    room.write(a=sections(2, word="zanzibar"))
    report = room.ingest()
    assert [chunk.chunk_index for chunk in room.chunks("a.md")] == list(range(report.chunks))
    assert len(room.lexical("zanzibar")) == 2


@pytest.mark.requirement("INGEST-5")
@pytest.mark.parametrize("text", ["", "  \n "])
def test_an_empty_version_deletes_the_document(room: Room, text: str) -> None:
    """Trial I94; the fake embedder raises when it is called with nothing."""
    room.write(a=sections(3), b="Text.")
    room.ingest()
    room.write(a=text)
    report = room.ingest()
    assert [(file.doc_id, file.status, file.chunks) for file in report.files] == [
        ("a.md", "deleted", 0),
        ("b.md", "unchanged", 1),
    ]
    assert list(room.infos()) == ["b.md"]


@pytest.mark.requirement("INGEST-5")
def test_changed_scope_and_category_take_effect_without_embedding(room: Room) -> None:
    room.write(a="Text of a.")
    room.ingest(scope=["x"], category="ops")
    room.embedded()
    report = room.ingest(scope=["y"], category="hr")
    assert (statuses(report), report.embedded, room.embedded()) == ({"a.md": "updated"}, 0, [])
    assert (room.infos()["a.md"].scope, room.infos()["a.md"].category) == (("y",), "hr")
    room.ingest()
    assert (room.infos()["a.md"].scope, room.infos()["a.md"].category) == (None, None)


@pytest.mark.requirement("INGEST-5", "SAFE-3")
def test_a_changed_scope_alone_takes_effect(room: Room) -> None:
    room.write(a="Text of a.")
    for scope in (["x"], ["y"], None):
        room.ingest(scope=scope)
        assert room.infos()["a.md"].scope == (tuple(scope) if scope else None)


@pytest.mark.requirement("INGEST-5")
def test_changed_metadata_takes_effect_without_embedding_a_changed_title_with_it(room: Room) -> None:
    room.write(a="---\ntitle: A\nteam: x\n---\nText.")
    room.ingest()
    room.embedded()
    room.write(a="---\ntitle: A\nteam: y\n---\nText.")
    assert (room.ingest().embedded, room.infos()["a.md"].metadata["team"]) == (0, "y")
    room.write(a="---\ntitle: B\nteam: y\n---\nText.")
    assert (room.ingest().embedded, room.infos()["a.md"].title) == (1, "B")
    assert room.lexical("b") == ["a.md#chunk-0"]


@pytest.mark.requirement("INGEST-5", "INGEST-8")
def test_other_sizes_split_an_unchanged_file_anew(room: Room) -> None:
    room.write(a=sections(3))
    before = room.ingest().chunks
    binding = room.ingestion._binding
    smaller = Ingestion(
        room.store,
        room.embedder,
        analyze=lambda _: [],
        binding=binding,
        reader=FileReader(),
        texts=TEXTS,
        target=200,
        maximum=400,
    )
    assert smaller.paths([room.folder]).chunks > before


# Roots and pruning


@pytest.mark.requirement("INGEST-5")
def test_removed_files_stay_without_prune_and_go_with_it(room: Room) -> None:
    room.write(a="Text a.", b="Text b.")
    room.ingest()
    (room.folder / "b.md").unlink()
    assert statuses(room.ingest()) == {"a.md": "unchanged"}
    assert list(room.infos()) == ["a.md", "b.md"]
    report = room.ingest(prune=True)
    assert statuses(report) == {"a.md": "unchanged", "b.md": "deleted"}
    assert list(room.infos()) == ["a.md"]


@pytest.mark.requirement("INGEST-5")
def test_prune_touches_only_documents_of_the_same_root_and_prefix(room: Room, tmp_path: Path) -> None:
    other = Room(tmp_path / "other", room.store, room.embedder)
    other.write(theirs="Text of theirs.")
    room.write(a="Text a.", gone="Text gone.", sub__x="Text x.")
    room.ingest()
    room.ingest(prefix="copy")
    other.ingest()
    room.ingestion.documents([Document("record", "A record.")])
    (room.folder / "gone.md").unlink()
    room.ingest(room.folder / "sub", prefix="sub-alone", prune=True)
    room.ingest(room.folder / "a.md", prune=True)
    other.ingest(prune=True)
    assert len(room.infos()) == 9
    assert statuses(room.ingest(prune=True))["gone.md"] == "deleted"
    assert "copy/gone.md" in room.infos()
    assert statuses(room.ingest(prefix="copy", prune=True))["copy/gone.md"] == "deleted"
    assert sorted(room.infos()) == [
        "a.md", "copy/a.md", "copy/sub/x.md", "record", "sub-alone/x.md", "sub/x.md", "theirs.md",
    ]  # fmt: skip


@pytest.mark.requirement("INGEST-5")
def test_what_came_with_a_folder_below_or_above_under_the_same_id_is_pruned_too(room: Room) -> None:
    """However it came: its file lies in the folder, and would have this very id."""
    room.write(top="Top.", sub__a="A.", sub__b="B.")
    below = room.folder / "sub"
    room.ingest(below, prefix="sub")
    (below / "a.md").unlink()
    assert statuses(room.ingest(prune=True)) == {"sub/a.md": "deleted", "sub/b.md": "updated", "top.md": "added"}
    (below / "b.md").unlink()
    assert statuses(room.ingest(below, prefix="other", prune=True)) == {}
    assert statuses(room.ingest(below, prefix="sub", prune=True)) == {"sub/b.md": "deleted"}


@pytest.mark.requirement("INGEST-5")
def test_a_folder_that_could_not_be_read_to_its_end_is_not_pruned(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    room.write(a="Text a.", locked__b="Text b.")
    room.ingest()
    real = os.scandir

    def scandir(path: Path) -> object:
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    report = room.ingest(prune=True)
    assert statuses(report) == {"a.md": "unchanged", "locked": "failed"}
    assert sorted(room.infos()) == ["a.md", "locked/b.md"]


@pytest.mark.requirement("INGEST-5", "INGEST-6")
def test_a_file_that_fails_is_not_pruned_and_keeps_its_old_version(room: Room) -> None:
    room.write(a="Text a.")
    room.ingest()
    (room.folder / "a.md").write_bytes(b"\x89PNG broken")
    assert statuses(room.ingest(prune=True)) == {"a.md": "failed"}
    assert room.texts("a.md") == ["Text a."]


@pytest.mark.requirement("INGEST-6")
def test_a_second_root_that_brings_the_same_path_is_refused_in_a_later_run_too(room: Room, tmp_path: Path) -> None:
    room.write(a="Ours.")
    room.ingest()
    other = Room(tmp_path / "other", room.store, room.embedder)
    other.write(a="Theirs.")
    report = other.ingest()
    assert statuses(report) == {"a.md": "failed"}
    assert str(room.folder) in report.files[0].detail
    assert room.texts("a.md") == ["Ours."]
    assert statuses(other.ingest(prefix="theirs")) == {"theirs/a.md": "added"}


@pytest.mark.requirement("INGEST-5")
def test_a_folder_that_was_moved_goes_on_as_the_same_root(room: Room, tmp_path: Path) -> None:
    room.write(a="Text a.", b="Text b.")
    room.ingest()
    room.embedded()
    moved = Room(room.folder.rename(tmp_path / "moved"), room.store, room.embedder)
    report = moved.ingest()
    assert (statuses(report), report.embedded) == ({"a.md": "updated", "b.md": "updated"}, 0)
    (moved.folder / "b.md").unlink()
    assert statuses(moved.ingest(prune=True)) == {"a.md": "unchanged", "b.md": "deleted"}


# Documents


@pytest.mark.requirement("INGEST-1", "INGEST-5")
def test_documents_are_stored_as_they_say_and_synchronised_alike(room: Room) -> None:
    document = Document(
        "a", "# Heading\n\nText.", title="T", source="http://x", category="ops", scope="s", metadata={"n": 1}
    )
    assert statuses(room.ingestion.documents([document])) == {"a": "added"}
    (chunk,) = room.chunks("a")
    assert (chunk.title, chunk.source, chunk.category, chunk.scope, chunk.metadata) == (
        "T", "http://x", "ops", ("s",), {"n": 1},
    )  # fmt: skip
    assert statuses(room.ingestion.documents([document])) == {"a": "unchanged"}
    assert statuses(room.ingestion.documents([Document("a", "   ")])) == {"a": "deleted"}
    assert statuses(room.ingestion.documents([Document("a", "")])) == {"a": "no_text"}


@pytest.mark.requirement("INGEST-3")
def test_what_a_document_says_of_itself_wins_over_its_front_matter(room: Room) -> None:
    text = "---\ntitle: T\ncategory: hr\nteam: db\nlevel: 1\n---\nText."
    room.ingestion.documents(
        [Document("a", text, category="ops", metadata={"level": 2}), Document("b", text, format="text")]
    )
    info = room.infos()["a"]
    assert (info.title, info.category, info.metadata["team"], info.metadata["level"]) == ("T", "ops", "db", 2)
    assert room.texts("a") == ["Text."]
    assert room.texts("b") == [text]


@pytest.mark.requirement("ID-7", "ID-8", "INGEST-6")
@pytest.mark.parametrize(
    "bad",
    [
        Document("  ", "Text."),
        Document("vector:7", "Text."),
        Document("c", "Text.", scope=[" "]),
        Document("c", "Text.", category=["a", "b"]),  # type: ignore[arg-type]  # that is the fault
        Document("c", "Text.", metadata={"x": math.nan}),
        Document("c", "Text.", metadata={"x": object()}),
        Document("c", "Text.", metadata={1: 2}),  # type: ignore[dict-item]  # that is the fault
        Document("c", None),  # type: ignore[arg-type]  # that is the fault
        Document("c", "Text.", format="html"),  # type: ignore[arg-type]  # that is the fault
        Document("c\ud800", "Text."),
        Document("a", "Given twice."),
        "no document",
    ],
    ids=range(12),
)
def test_a_document_that_cannot_be_used_fails_by_name_and_the_others_go_on(room: Room, bad: Document) -> None:
    """Trial I105."""
    report = room.ingestion.documents([Document("a", "Text a."), bad, Document("b", "Text b.")])
    assert [file.status for file in report.files if file.doc_id in ("a", "b")].count("added") == 2
    assert report.count("failed") == 1
    assert room.texts("a") == ["Text a."]


@pytest.mark.requirement("ID-7")
def test_document_ids_are_normalised(room: Room) -> None:
    room.ingestion.documents([Document(" e\u0301 ", "Text.")])
    assert list(room.infos()) == ["\u00e9"]


@pytest.mark.requirement("SAFE-2")
def test_odd_document_ids_are_touched_alone(room: Room) -> None:
    """Trial I73."""
    names = ["C:\\new\\table.md", "a\\", 'a"b', "a'b", "a#chunk-1", "a%", "a_"]
    room.ingestion.documents(Document(name, f"Text of {name}.") for name in names)
    room.ingestion.documents([Document(names[1], "Another text.")])
    assert {name: room.texts(name) for name in names} == {
        name: ["Another text."] if name == names[1] else [f"Text of {name}."] for name in names
    }


@pytest.mark.requirement("INGEST-6")
def test_documents_are_taken_one_by_one_in_the_callers_thread(room: Room) -> None:
    threads = set()

    def stream() -> Iterator[Document]:
        for number in range(600):
            threads.add(threading.current_thread())
            yield Document(f"d{number:03}", f"Text number {number}.")

    report = room.ingestion.documents(stream())
    assert threads == {threading.current_thread()}
    assert (report.count("added"), len(room.infos())) == (600, 600)
    assert len(room.store.batches) > 1  # type: ignore[attr-defined]  # a HookedStore


@pytest.mark.requirement("INGEST-4")
def test_a_given_document_is_cleaned_like_a_file(room: Room) -> None:
    room.ingestion.documents([Document("a", "one\r\ntwo\x00\ud800")])
    assert room.texts("a") == ["one\ntwo\ufffd"]


# Progress, batches, compaction


@pytest.mark.requirement("API-2")
def test_progress_is_told_from_the_first_file_to_the_end(room: Room) -> None:
    room.write(a="Text a.", b="Text b.", c="")
    told: list[Progress] = []
    room.ingest(progress=told.append)
    assert [each.doc_id for each in told] == ["a.md", "b.md", "c.md", ""]
    assert told[-1] == Progress(files_done=3, files_total=3, embedded=2, changed=2)
    assert [each.files_done for each in told] == sorted(each.files_done for each in told)


@pytest.mark.requirement("API-2")
def test_what_is_pruned_counts_as_changed_and_as_no_file_of_the_run(room: Room) -> None:
    room.write(a="Text a.", b="Text b.", c="Text c.")
    room.ingest()
    for name in ("a.md", "b.md"):
        (room.folder / name).unlink()
    told: list[Progress] = []
    room.ingest(prune=True, progress=told.append)
    assert told[-1] == Progress(files_done=1, files_total=1, embedded=0, changed=2)


@pytest.mark.requirement("API-2")
def test_progress_is_told_while_the_embedder_is_waited_for(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """One large file: without it a bar would stand still until the end."""
    monkeypatch.setattr(pipeline, "_TELL_EVERY_S", 0.01)
    first, told_twice = threading.Event(), threading.Event()
    told: list[int] = []

    class Waiting(HashEmbedder):
        def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
            if first.is_set():
                assert told_twice.wait(60)
            first.set()
            return super().embed_passages(texts)

    def progress(each: Progress) -> None:
        told.append(each.embedded)
        if 0 < each.embedded < 300:
            told_twice.set()

    room.embedder = Waiting()
    room.write(a=sections(300))
    room.ingest(progress=progress)
    assert told_twice.is_set()
    assert told == sorted(told)
    assert told[-1] == 300


@pytest.mark.requirement("INGEST-7")
def test_a_document_is_never_spread_over_two_writes_and_small_ones_are_written_together(room: Room) -> None:
    room.write(a=sections(300), b="Text b.", c="Text c.")
    room.ingest()
    assert [doc_id for batch in room.store.batches for doc_id in batch] == ["a.md", "b.md", "c.md"]  # type: ignore[attr-defined]  # a HookedStore
    assert len(room.store.batches) == 2  # type: ignore[attr-defined]  # a HookedStore


@pytest.mark.requirement("LEX-2")
def test_the_store_is_compacted_after_a_run_that_changed_something(room: Room) -> None:
    room.write(a="Text a.")
    room.ingest()
    room.ingest()
    assert isinstance(room.store, HookedStore)
    assert room.store.compacted == 1


@pytest.mark.requirement("INGEST-6")
def test_no_thread_is_left_behind(room: Room) -> None:
    room.write(a="Text a.")
    room.ingest()
    assert ingest_threads() == []
