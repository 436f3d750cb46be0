"""A text under another path is said, and takes its vectors along; nothing is deleted before it has arrived."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from ingest_room import HookedStore, Room, fussy, sections, statuses

from citewell.adapters.local import LocalStore
from citewell.adapters.memory import MemoryStore
from citewell.ingest.catalogue import Catalogue, Head
from citewell.ingest.fingerprint import digest
from citewell.ingest.moves import Contents, GivenUp
from citewell.model import Document, DocumentChange, DocumentRecord, Filters
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


# Names that change places


def shift(room: Room, *names: str) -> None:
    """The first file is called as the second, that one as the third, and so on; the last as the first."""
    for name in names:
        move(room, name, f"{name}.old")
    for old, new in zip(names, (*names[1:], names[0]), strict=True):
        move(room, f"{old}.old", new)


@pytest.mark.requirement("INGEST-5", "INGEST-6")
@pytest.mark.parametrize("names", [("a.md", "b.md"), ("b.md", "a.md"), ("a.md", "b.md", "c.md", "d.md")])
def test_names_that_change_places_embed_nothing_and_no_text_is_said_to_be_where_it_was(
    room: Room, names: tuple[str, ...]
) -> None:
    room.write(**{name.removesuffix(".md"): f"# Title {name}\n\n{sections(3)} {name}" for name in names})
    room.ingest()
    texts = [room.texts(name) for name in names]
    room.embedded()
    shift(room, *names)
    assert told(room, prune=True) == [(name, "updated", 0, "") for name in sorted(names)]
    assert room.embedded() == []
    assert [room.texts(name) for name in (*names[1:], names[0])] == texts


@pytest.mark.requirement("INGEST-5")
def test_a_text_whose_old_name_was_emptied_is_not_embedded_again(room: Room) -> None:
    room.write(a=sections(3))
    room.ingest()
    room.write(b=(room.folder / "a.md").read_text(encoding="utf-8"), a="")
    room.embedded()
    assert told(room) == [("a.md", "deleted", 0, "it is empty"), ("b.md", "added", 0, "")]
    assert room.embedded() == []


@pytest.mark.requirement("INGEST-6")
def test_when_one_of_two_equal_texts_is_edited_the_other_one_is_still_known(room: Room) -> None:
    room.write(a="# One\n\nThe same text.", b="# One\n\nThe same text.")
    room.ingest()
    room.embedded()
    room.write(a="Another text.", c="# One\n\nThe same text.")
    assert told(room)[-1] == ("c.md", "added", 0, "same text as 'b.md'")


@pytest.mark.requirement("INGEST-6")
def test_a_new_document_that_could_not_be_stored_is_not_said_to_have_the_text(tmp_path: Path) -> None:
    class Once(HookedStore):
        def apply(self, changes: Sequence[DocumentChange]) -> None:
            if any(change.document.doc_id == "a.md" for change in changes):
                raise ValueError("no")
            super().apply(changes)

    room = Room(tmp_path / "docs", Once())
    room.write(a="The same text.", b="The same text.")
    assert [(file.doc_id, file.status, file.detail) for file in room.ingest().files] == [
        ("a.md", "failed", "ValueError: no"),
        ("b.md", "added", ""),
    ]


# The bookkeeping


def contents(stored: Mapping[str, str], leaving: Sequence[str] = ()) -> Contents:
    room = Room(Path(), HookedStore())
    room.ingestion.documents([Document(doc_id, text) for doc_id, text in stored.items()])
    return Contents(Catalogue(room.store), leaving)


def new(doc_id: str, text: str) -> DocumentRecord:
    return DocumentRecord(doc_id, content_digest=digest(text))


def head(doc_id: str, text: str) -> Head:
    return Head(doc_id, "", "", digest(text), 1)


@pytest.mark.requirement("INGEST-6")
def test_a_text_that_its_document_gives_up_is_no_longer_said_to_be_there() -> None:
    texts = contents({"a": "A", "b": "B"})
    assert texts.twin(new("a", "X"), head("a", "A")) is None
    assert texts.twin(new("c", "A"), None) is None
    assert texts.twin(new("d", "A"), None) == "c"
    assert texts.remark("d", lost=()) == "same text as 'c'"
    assert texts.remark("d", lost={"c"}) == ""


@pytest.mark.requirement("INGEST-6")
def test_a_text_that_another_document_gives_up_later_in_the_run_is_not_said_to_be_there() -> None:
    texts = contents({"a": "A", "b": "B"})
    assert texts.twin(new("a", "B"), head("a", "A")) == "b"
    assert texts.remark("a", lost=()) == "same text as 'b'"
    assert texts.twin(new("b", "A"), head("b", "B")) is None
    assert [texts.remark(doc_id, lost=()) for doc_id in ("a", "b")] == ["", ""]


@pytest.mark.requirement("INGEST-6")
def test_a_document_whose_text_stays_takes_no_other_ones_over() -> None:
    texts = contents({"a": "A", "b": "A"}, leaving=["a"])
    assert texts.twin(new("b", "A"), head("b", "A")) is None
    assert texts.moved == {}


@pytest.mark.requirement("INGEST-5")
def test_given_up_vectors_are_kept_up_to_a_bound_and_the_oldest_go_first() -> None:
    given_up = GivenUp()
    for number in range(5):
        given_up.keep(f"text {number}", {f"{number}/{chunk}": np.zeros(1, np.float32) for chunk in range(1_000)})
    assert [len(given_up.of(f"text {number}")) for number in range(6)] == [0, 1_000, 1_000, 1_000, 1_000, 0]
