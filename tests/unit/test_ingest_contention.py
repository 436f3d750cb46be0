"""A document that others write at the same time: whoever comes last stays, and nobody is told of a failure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from ingest_room import HookedStore, Room, statuses

from citewell.errors import StoreConflict
from citewell.model import Document, DocumentChange


class Rival:
    """Writes other versions of `a.md` just before or just after a batch that holds it, so many times."""

    def __init__(self, room: Room, times: int) -> None:
        self.store, self.times = HookedStore(), times
        self.room = Room(room.folder, self.store)
        room.store = self.store

    def write(self, changes: Sequence[DocumentChange]) -> None:
        if self.times and any(change.document.doc_id == "a.md" for change in changes):
            self.times -= 1
            hook, self.store.before = self.store.before, lambda _: None
            self.room.ingestion.documents([Document("a.md", f"A rival's version {self.times}.\n")])
            self.store.before = hook


@pytest.fixture
def room(tmp_path: Path) -> Room:
    room = Room(tmp_path / "docs")
    room.write(a="Text a.", b="Text b.")
    return room


@pytest.mark.requirement("INGEST-5", "INGEST-7")
@pytest.mark.parametrize("times", [1, 2, 5])
def test_a_document_that_changes_meanwhile_is_planned_again_until_its_version_is_written(
    room: Room, times: int
) -> None:
    rival = Rival(room, times)
    rival.store.before = rival.write
    assert statuses(room.ingest()) == {"a.md": "updated", "b.md": "added"}
    assert room.texts("a.md") == ["Text a."]
    assert rival.times == 0


@pytest.mark.requirement("INGEST-6", "INGEST-7")
def test_a_document_that_never_stops_changing_fails_after_a_bounded_number_of_plans(room: Room) -> None:
    rival = Rival(room, 1_000)
    rival.store.before = rival.write
    report = room.ingest()
    assert statuses(report) == {"a.md": "failed", "b.md": "added"}
    assert "is stored as version" in report.files[0].detail
    assert 1_000 - rival.times < 50


class Overtaken(HookedStore):
    """Lets a rival write right after each acknowledged batch, before anybody can look."""

    after: Callable[[Sequence[DocumentChange]], None] = staticmethod(lambda _: None)

    def apply(self, changes: Sequence[DocumentChange]) -> None:
        super().apply(changes)
        self.after(changes)


@pytest.mark.requirement("INGEST-6", "INGEST-7")
@pytest.mark.parametrize("held", [False, True], ids=["new", "known"])
def test_a_version_that_another_writer_has_replaced_at_once_was_written_and_that_is_said(
    room: Room, held: bool
) -> None:
    """Its chunks can't be read back any more, which looks like a store that drops what it acknowledges, and is none."""
    store = Overtaken()
    room.store = store
    if held:
        room.ingest()
        room.write(a="New text a.")
    rival = Room(room.folder, store)

    def overtake(changes: Sequence[DocumentChange]) -> None:
        store.after = lambda _: None
        rival.ingestion.documents([Document("a.md", "A rival's version.")])

    store.after = overtake
    report = room.ingest()
    assert statuses(report) == {"a.md": "updated" if held else "added", "b.md": "unchanged" if held else "added"}
    assert report.files[0].detail == "another writer has replaced it since"
    assert room.texts("a.md") == ["A rival's version."]


@pytest.mark.requirement("INGEST-6")
def test_an_update_that_is_acknowledged_and_dropped_is_a_failure(room: Room) -> None:
    """Trial I102, for a document that was there before."""

    class Dropping(HookedStore):
        drops = False

        def apply(self, changes: Sequence[DocumentChange]) -> None:
            if not self.drops:
                super().apply(changes)

    store = Dropping()
    room.store = store
    room.ingest()
    store.drops = True
    room.write(a="New text a.")
    report = room.ingest()
    assert statuses(report) == {"a.md": "failed", "b.md": "unchanged"}
    assert "only 0 of them can be read back" in report.files[0].detail


@pytest.mark.requirement("INGEST-6")
def test_a_conflict_that_names_no_rival_is_a_failure_of_its_document_alone(room: Room) -> None:
    def refuse(changes: Sequence[DocumentChange]) -> None:
        if any(change.document.doc_id == "a.md" for change in changes):
            raise StoreConflict("it is stored as version 1, not 0")

    room.store = HookedStore(refuse)
    assert statuses(room.ingest()) == {"a.md": "failed", "b.md": "added"}
