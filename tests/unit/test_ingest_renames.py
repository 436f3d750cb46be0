"""A text under another path is said, and takes its vectors along; nothing is deleted before it has arrived."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from ingest_room import HookedStore, Room, fussy, sections, statuses

from citewell.adapters.local import LocalStore
from citewell.adapters.memory import MemoryStore
from citewell.ingest.moves import Contents, Twin
from citewell.model import Document, DocumentInfo, DocumentRecord, Filters
from citewell.testing.fakes import HashEmbedder


@pytest.fixture(params=["memory", "local"])
def room(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Room]:
    folder = tmp_path / "docs"
    folder.mkdir()
    store = HookedStore() if request.param == "memory" else LocalStore.open(tmp_path / "kb")
    yield Room(folder, store)
    store.close()


def move(room: Room, old: str, new: str) -> None:
    target = room.folder / new
    target.parent.mkdir(parents=True, exist_ok=True)
    (room.folder / old).rename(target)


def told(room: Room, **options: object) -> list[tuple[str, str, int, str]]:
    return [
        (file.doc_id, file.status, file.embedded, file.detail)
        for file in room.ingest(**options).files
        if file.status != "unchanged"
    ]


def similarities(room: Room, doc_id: str) -> list[float]:
    """To one question, of every chunk of a document."""
    question = HashEmbedder().embed_query("topic 2 words")
    with room.store.snapshot() as view:
        found = view.similarities(question, [chunk.evidence_key for chunk in room.chunks(doc_id)])
    return list(found.values())


@pytest.mark.requirement("INGEST-5", "INGEST-6")
def test_a_moved_file_keeps_its_vectors_and_both_ends_are_said(room: Room) -> None:
    """Trial I100."""
    room.write(old=sections(5), stays="Another text.")
    room.ingest()
    before, texts = similarities(room, "old.md"), room.texts("old.md")
    room.embedded()
    move(room, "old.md", "deep/new.md")
    assert told(room, prune=True) == [
        ("deep/new.md", "added", 0, "moved from 'old.md'"),
        ("old.md", "deleted", 0, "moved to 'deep/new.md'"),
    ]
    assert room.embedded() == []
    assert sorted(room.infos()) == ["deep/new.md", "stays.md"]
    assert (room.texts("deep/new.md"), similarities(room, "deep/new.md")) == (texts, before)
    assert [key.partition("#")[0] for key in room.lexical("topic")] == ["deep/new.md"] * 5


@pytest.mark.requirement("INGEST-5", "INGEST-6")
def test_without_prune_the_text_is_said_to_be_there_twice_and_not_embedded_twice(room: Room) -> None:
    """Trial I100."""
    room.write(old=sections(5))
    room.ingest()
    room.embedded()
    move(room, "old.md", "new.md")
    assert told(room) == [("new.md", "added", 0, "same text as 'old.md'")]
    assert (room.embedded(), sorted(room.infos())) == ([], ["new.md", "old.md"])
    assert told(room, prune=True) == [("old.md", "deleted", 0, "its file is gone")]


@pytest.mark.requirement("INGEST-5")
def test_a_whole_folder_that_moved_is_not_embedded(room: Room) -> None:
    room.write(**{f"a__n{number}": sections(3, word=f"word{number}") for number in range(6)})
    room.ingest()
    room.embedded()
    (room.folder / "a").rename(room.folder / "b")
    report = room.ingest(prune=True)
    assert (report.count("added"), report.count("deleted"), report.embedded, room.embedded()) == (6, 6, 0, [])
    assert all(file.detail.startswith("moved ") for file in report.files)


@pytest.mark.requirement("INGEST-5")
def test_what_takes_the_place_of_another_document_brings_its_vectors_along(room: Room) -> None:
    room.write(old=sections(4), there="# There\n\nAn older text.")
    room.ingest()
    room.embedded()
    move(room, "old.md", "there.md")
    assert told(room, prune=True) == [
        ("old.md", "deleted", 0, "moved to 'there.md'"),
        ("there.md", "updated", 0, "moved from 'old.md'"),
    ]
    assert room.embedded() == []


@pytest.mark.requirement("INGEST-5")
def test_the_front_matter_and_labels_of_a_moved_file_are_the_new_ones(room: Room) -> None:
    room.write(old="---\nteam: a\n---\n# Title\n\nText.")
    room.ingest(scope="x")
    move(room, "old.md", "new.md")
    room.write(new="---\nteam: b\n---\n# Title\n\nText.")
    assert told(room, prune=True, scope="y")[0] == ("new.md", "added", 0, "moved from 'old.md'")
    info = room.infos()["new.md"]
    assert (info.metadata, info.scope, info.source) == ({"team": "b"}, ("y",), "new.md")


@pytest.mark.requirement("INGEST-5")
def test_a_text_that_is_called_by_its_files_name_is_embedded_with_the_new_one(room: Room) -> None:
    """The title is part of what a vector is made from; only its name is embedded, and the text beside it."""
    room.write(old="Text without a heading.")
    room.ingest()
    move(room, "old.md", "in/old.md")
    assert told(room, prune=True)[0] == ("in/old.md", "added", 0, "moved from 'old.md'")
    move(room, "in/old.md", "new.md")
    assert told(room, prune=True)[1] == ("new.md", "added", 1, "moved from 'in/old.md'")


@pytest.mark.requirement("INGEST-6")
def test_of_several_places_the_first_takes_the_text_over_and_each_old_one_goes_to_one_new_one(room: Room) -> None:
    room.write(a="# T\n\nThe same.", b="# T\n\nThe same.")
    room.ingest()
    for old, new in (("a.md", "x.md"), ("b.md", "y.md")):
        move(room, old, new)
    (room.folder / "z.md").write_bytes((room.folder / "y.md").read_bytes())
    assert told(room, prune=True) == [
        ("a.md", "deleted", 0, "moved to 'x.md'"),
        ("b.md", "deleted", 0, "moved to 'y.md'"),
        ("x.md", "added", 0, "moved from 'a.md'"),
        ("y.md", "added", 0, "moved from 'b.md'"),
        ("z.md", "added", 1, "same text as 'x.md'"),
    ]


@pytest.mark.requirement("INGEST-6")
def test_one_of_two_equal_files_that_goes_is_only_gone(room: Room) -> None:
    room.write(a="# T\n\nThe same.", b="# T\n\nThe same.")
    room.ingest()
    (room.folder / "a.md").unlink()
    assert told(room, prune=True) == [("a.md", "deleted", 0, "its file is gone")]


@pytest.mark.requirement("INGEST-5", "INGEST-6")
def test_a_text_whose_new_place_could_not_be_stored_stays_where_it_is(tmp_path: Path) -> None:
    """The file has moved and lost its own title, so that it is embedded again, which fails."""
    room = Room(tmp_path / "docs")
    room.write(old="Text with poison.", other="Text.")
    room.ingest()
    move(room, "old.md", "new.md")
    broken = Room(room.folder, room.store, fussy("poison"))
    report = broken.ingest(prune=True)
    assert statuses(report) == {"new.md": "failed", "old.md": "skipped", "other.md": "unchanged"}
    assert "could not be stored" in report.files[1].detail
    assert room.texts("old.md") == ["Text with poison."]
    assert statuses(room.ingest(prune=True)) == {"new.md": "added", "old.md": "deleted", "other.md": "unchanged"}


@pytest.mark.requirement("INGEST-5")
def test_a_store_that_hands_no_vectors_out_has_moved_texts_embedded(tmp_path: Path) -> None:
    class Plain(MemoryStore):
        def __getattribute__(self, name: str) -> object:
            if name == "vectors":
                raise AttributeError(name)
            return super().__getattribute__(name)

    room = Room(tmp_path / "docs", Plain())
    room.write(old=sections(3))
    room.ingest()
    move(room, "old.md", "new.md")
    assert told(room, prune=True)[0] == ("new.md", "added", 3, "moved from 'old.md'")


@pytest.mark.requirement("INGEST-5")
def test_the_old_document_may_change_between_planning_and_writing(tmp_path: Path) -> None:
    """Its vectors were read together with what they stand for."""
    store = HookedStore()
    room = Room(tmp_path / "docs", store)
    room.write(old=sections(3))
    room.ingest()
    before = similarities(room, "old.md")
    move(room, "old.md", "new.md")

    def delete_it(changes: object) -> None:
        store.before = lambda _: None
        store.delete(["old.md"])

    store.before = delete_it
    report = room.ingest(prune=True)
    assert (statuses(report)["new.md"], report.embedded, similarities(room, "new.md")) == ("added", 0, before)


@pytest.mark.requirement("INGEST-5", "INGEST-6")
def test_the_new_document_may_be_written_by_another_meanwhile(tmp_path: Path) -> None:
    store = HookedStore()
    room = Room(tmp_path / "docs", store)
    room.write(old=sections(3))
    room.ingest()
    before = similarities(room, "old.md")
    move(room, "old.md", "new.md")

    def write_it_first(changes: object) -> None:
        store.before = lambda _: None
        room.ingestion.documents([Document("new.md", "Written by another.")])

    store.before = write_it_first
    report = room.ingest(prune=True)
    assert (statuses(report)["new.md"], report.embedded, similarities(room, "new.md")) == ("updated", 0, before)


@pytest.mark.requirement("INGEST-5")
def test_a_store_hands_out_the_vectors_that_it_was_given(room: Room) -> None:
    room.write(a=sections(4))
    room.ingest()
    stored = room.store.stored("a.md")
    assert stored is not None
    vectors = room.store.vectors("a.md")  # type: ignore[attr-defined]  # both have it
    assert list(vectors) == list(stored.context_digests)
    assert all(vector.dtype == np.float32 and vector.shape == (64,) for vector in vectors.values())
    with room.store.snapshot() as view:
        for index, vector in enumerate(vectors.values()):
            assert view.dense(vector, 1, Filters())[0].key == f"a.md#chunk-{index}"
    assert room.store.vectors("nothing.md") == {}  # type: ignore[attr-defined]  # both have it


# The bookkeeping


def head(doc_id: str, content: str) -> DocumentInfo:
    return DocumentInfo(doc_id, "", "", None, None, {}, 1, 1, "", content)


@pytest.mark.requirement("INGEST-6")
def test_a_text_that_its_document_gives_up_is_no_longer_said_to_be_there() -> None:
    contents = Contents({"a": head("a", "A"), "b": head("b", "B")})
    assert contents.twin(DocumentRecord("a", content_digest="X")) is None
    assert contents.twin(DocumentRecord("c", content_digest="A")) is None
    assert contents.twin(DocumentRecord("d", content_digest="A")) == Twin("c", "same text as 'c'")


@pytest.mark.requirement("INGEST-6")
def test_a_document_whose_text_stays_takes_no_other_ones_over() -> None:
    contents = Contents({"a": head("a", "A"), "b": head("b", "A")}, leaving=["a"])
    assert contents.twin(DocumentRecord("b", content_digest="A")) is None
    assert contents.moved == {}
