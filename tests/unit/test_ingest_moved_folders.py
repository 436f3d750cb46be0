"""A folder that moved is taken along as it is stored: no reader, splitter or analyser sees it again (INGEST-5)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from ingest_room import HookedStore, Room, sections, statuses

from citewell.adapters.local import LocalStore
from citewell.adapters.readers import FileReader
from citewell.errors import StoreConflict
from citewell.model import DocumentCopy, Filters, Text


@pytest.fixture(params=["memory", "local"])
def room(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Room]:
    store = HookedStore() if request.param == "memory" else LocalStore.open(tmp_path / "kb")
    yield Room(tmp_path / "docs", store)
    store.close()


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that a reader was given."""
    names: list[str] = []
    real = FileReader.read

    def noted(reader: FileReader, data: bytes, name: str) -> Text:
        names.append(name)
        return real(reader, data, name)

    monkeypatch.setattr(FileReader, "read", noted)
    return names


def move_folder(room: Room, old: str, new: str) -> None:
    shutil.move(room.folder / old, room.folder / new)


def everything(room: Room) -> list[object]:
    """The catalogue, each chunk, and what each path finds."""
    with room.store.snapshot() as view:
        vector, terms = room.embedder.embed_query("topic"), ["topic", "word"]
        paths = [
            [(hit.key, pytest.approx(hit.score)) for hit in hits]
            for filters in (Filters(), Filters(category="ops"), Filters(scope=("x",)), Filters(where=(("team", "a"),)))
            for hits in (view.dense(vector, 500, filters), view.lexical(terms, 500, filters))
        ]
    infos = room.infos()
    return [infos, [room.chunks(doc_id) for doc_id in infos], paths]


def fill(room: Room) -> None:
    room.write(
        old__a=f"---\nteam: a\ncategory: ops\n---\n{sections(3)}",
        old__deep__a=sections(2, word="other"),
        old__deep__b="No title here.",
        stays=sections(2, word="third"),
    )


@pytest.mark.requirement("INGEST-5", "INGEST-6")
def test_a_folder_that_moved_is_not_read_again_and_the_store_is_as_if_it_had_always_been_there(
    room: Room, read: list[str], tmp_path: Path
) -> None:
    fill(room)
    room.ingest(scope=["x"])
    move_folder(room, "old", "new")
    read.clear()
    report = room.ingest(scope=["x"], prune=True)
    assert [(file.doc_id, file.status, file.chunks, file.embedded, file.detail) for file in report.files] == [
        ("new/a.md", "added", 3, 0, "moved from 'old/a.md'"),
        ("new/deep/a.md", "added", 2, 0, "moved from 'old/deep/a.md'"),
        ("new/deep/b.md", "added", 1, 0, "moved from 'old/deep/b.md'"),
        ("old/a.md", "deleted", 0, 0, "moved to 'new/a.md'"),
        ("old/deep/a.md", "deleted", 0, 0, "moved to 'new/deep/a.md'"),
        ("old/deep/b.md", "deleted", 0, 0, "moved to 'new/deep/b.md'"),
        ("stays.md", "unchanged", 2, 0, ""),
    ]
    assert read == []
    assert room.store.verify().findings == ()
    assert statuses(room.ingest(scope=["x"], prune=True)) == dict.fromkeys(room.infos(), "unchanged")
    fresh = Room(room.folder, LocalStore.open(tmp_path / "fresh"))
    fresh.ingest(scope=["x"])
    assert everything(room) == everything(fresh)
    fresh.store.close()


@pytest.mark.requirement("INGEST-5")
def test_what_moved_and_is_ingested_in_another_way_is_read_again(room: Room, read: list[str]) -> None:
    fill(room)
    room.ingest()
    room.embedded()
    move_folder(room, "old", "new")
    read.clear()
    report = room.ingest(category="other", prune=True)
    assert (sorted(read), report.embedded) == (["a.md", "a.md", "b.md", "stays.md"], 0)
    assert {info.category for info in room.infos().values()} == {"other"}


@pytest.mark.requirement("INGEST-5")
def test_files_of_one_name_are_told_apart_by_what_they_hold(room: Room, read: list[str]) -> None:
    room.write(**{f"d{number}__index": f"# Index {number}\n\n{sections(1)}" for number in range(4)})
    room.ingest()
    for old, new in ((0, "z"), (1, "y"), (2, "x"), (3, "w")):
        move_folder(room, f"d{old}", new)
    read.clear()
    report = room.ingest(prune=True)
    assert {file.doc_id: file.detail for file in report.files if file.status == "added"} == {
        "w/index.md": "moved from 'd3/index.md'",
        "x/index.md": "moved from 'd2/index.md'",
        "y/index.md": "moved from 'd1/index.md'",
        "z/index.md": "moved from 'd0/index.md'",
    }
    assert read == []


@pytest.mark.requirement("INGEST-5", "INGEST-7")
def test_what_another_writer_changes_meanwhile_is_prepared_as_any_other(tmp_path: Path, read: list[str]) -> None:
    class Contested(HookedStore):
        def copy(self, copies: Sequence[DocumentCopy]) -> None:
            self.delete(["old/a.md"])
            super().copy(copies)

    room = Room(tmp_path / "docs", Contested())
    fill(room)
    room.ingest()
    room.embedded()
    move_folder(room, "old", "new")
    read.clear()
    report = room.ingest(prune=True)
    assert statuses(report)["new/a.md"] == "added"
    assert sorted(read) == ["a.md", "a.md", "b.md"]
    assert sorted(room.infos()) == ["new/a.md", "new/deep/a.md", "new/deep/b.md", "stays.md"]
    # The vectors of what is still stored are taken all the same.
    assert report.embedded == 3


@pytest.mark.requirement("INGEST-5", "INGEST-7")
@pytest.mark.parametrize("fault", ["changed", "gone", "taken", "twice", "a row is missing"])
def test_a_document_is_copied_as_it_was_planned_or_not_at_all(room: Room, fault: str) -> None:
    room.write(a=sections(2), b=sections(2, word="other"))
    room.ingest()
    plans = [_copied(room, "a.md", "c.md"), _copied(room, "b.md", "d.md")]
    if fault == "changed":
        room.write(b=sections(2, word="new"))
        room.ingest()
    elif fault == "gone":
        room.store.delete(["b.md"])
    elif fault == "taken":
        room.write(d="Text.")
        room.ingest()
    elif fault == "twice":
        plans.append(plans[0])
    elif isinstance(room.store, LocalStore):
        with room.store._core().writing() as connection:
            connection.execute("DELETE FROM features WHERE row = 4")
    else:
        return
    before = room.infos()
    with pytest.raises(StoreConflict, match="can't be copied"):
        room.store.copy(plans)  # type: ignore[attr-defined]  # both have it
    assert room.infos() == before


def _copied(room: Room, old: str, new: str) -> DocumentCopy:
    stored = room.store.stored(old)
    assert stored is not None
    record = stored.record
    return DocumentCopy(type(record)(new, record.title, new), old, stored.version)
