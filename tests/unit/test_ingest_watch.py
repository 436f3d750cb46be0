"""Watching is one run after each wave of changes, whatever goes wrong on the way; no test waits for anything."""

from __future__ import annotations

import builtins
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from ingest_room import HookedStore, Room, statuses

from citewell import Knowledge
from citewell.adapters import watching
from citewell.errors import (
    CitewellError,
    EmbedderMismatch,
    EmbedderUnavailable,
    IngestError,
    InvalidRequest,
    StoreCorrupt,
    StoreLocked,
)
from citewell.ingest.watch import Concern, Wave, watch
from citewell.model import DocumentChange, IngestReport
from citewell.testing.fakes import HashEmbedder


@pytest.fixture
def room(tmp_path: Path) -> Room:
    room = Room(tmp_path / "docs")
    room.write(a="Text a.", b="Text b.")
    return room


@dataclass
class Script:
    """A watch over a room's folder, whose waves are deeds that return what they changed."""

    room: Room
    deeds: list[Callable[[], Sequence[Path]]]
    prune: bool = True
    meanwhile: Callable[[], object] = lambda: None
    pauses: list[float] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)
    armed: int = 0

    def arm(self) -> Iterator[Wave]:
        self.armed += 1
        return self._waves()

    def _waves(self) -> Iterator[Wave]:
        while self.deeds:
            yield {str(path) for path in self.deeds.pop(0)()}

    def trouble(self, error: CitewellError, pause_s: float) -> None:
        self.troubles.append(str(error))

    def pause(self, seconds: float) -> bool:
        assert len(self.pauses) < 100
        self.pauses.append(seconds)
        return bool(self.meanwhile())

    def run(self) -> IngestReport:
        return self.room.ingest(prune=self.prune)

    def reports(self) -> Iterator[IngestReport]:
        concern = Concern([self.room.folder], self.room.ingestion.takes)
        return watch(self.run, self.arm, concern, trouble=self.trouble, pause=self.pause)

    def statuses(self) -> list[dict[str, str]]:
        """Of each run, what was not unchanged."""
        return [
            {doc_id: status for doc_id, status in statuses(report).items() if status != "unchanged"}
            for report in self.reports()
        ]


@pytest.mark.requirement("INGEST-5")
def test_what_is_edited_added_moved_and_deleted_is_brought_up_to_date_wave_by_wave(room: Room) -> None:
    folder = room.folder

    def edit() -> Sequence[Path]:
        room.write(a="Text a, changed.", new="A new text.")
        return [folder / "a.md", folder / "new.md"]

    def move() -> Sequence[Path]:
        (folder / "new.md").rename(folder / "moved.md")
        return [folder / "new.md", folder / "moved.md"]

    def delete() -> Sequence[Path]:
        (folder / "b.md").unlink()
        return [folder / "b.md"]

    assert Script(room, [edit, move, delete]).statuses() == [
        {"a.md": "added", "b.md": "added"},
        {"a.md": "updated", "new.md": "added"},
        {"moved.md": "added", "new.md": "deleted"},
        {"b.md": "deleted"},
    ]
    assert sorted(room.infos()) == ["a.md", "moved.md"]


@pytest.mark.requirement("INGEST-5")
def test_without_prune_what_is_deleted_stays(room: Room) -> None:
    def delete() -> Sequence[Path]:
        (room.folder / "b.md").unlink()
        return [room.folder / "b.md"]

    assert Script(room, [delete], prune=False).statuses() == [{"a.md": "added", "b.md": "added"}, {}]
    assert sorted(room.infos()) == ["a.md", "b.md"]


@pytest.mark.requirement("INGEST-5")
def test_a_wave_that_concerns_no_document_starts_no_run(room: Room) -> None:
    (room.folder / "kb").mkdir()
    (room.folder / "kb" / "citewell.db").write_text("x", encoding="utf-8")
    for name in ("image.png", ".a.md.swp", "kb/notes.md"):
        (room.folder / name).write_text("x", encoding="utf-8")
    quiet = ["image.png", ".a.md.swp", ".git/index", "kb/notes.md", "kb/citewell.db-wal", "../elsewhere.md"]
    script = Script(room, [list, lambda: [room.folder / name for name in quiet]])
    assert len(script.statuses()) == 1


@pytest.mark.requirement("INGEST-5")
def test_an_edited_ignore_file_and_a_folder_that_came_or_went_do_start_one(room: Room) -> None:
    (room.folder / "sub").mkdir()
    loud = [".gitignore", "sub", "gone", "sub/.citewellignore", "a.md", ""]
    concern = Concern([room.folder], room.ingestion.takes)
    assert [name for name in loud if not concern(str(room.folder / name).rstrip("/"))] == []


@pytest.mark.requirement("INGEST-5")
def test_of_a_single_file_only_the_file_itself_concerns(room: Room) -> None:
    concern = Concern([room.folder / "a.md"], room.ingestion.takes)
    assert [name for name in ("a.md", "b.md", "a.md/x.md") if concern(str(room.folder / name))] == ["a.md"]


@pytest.mark.requirement("INGEST-6")
def test_a_broken_file_stops_nothing(room: Room) -> None:
    def break_it() -> Sequence[Path]:
        (room.folder / "a.md").write_bytes(b"\x89PNG broken")
        return [room.folder / "a.md"]

    def mend_it() -> Sequence[Path]:
        room.write(a="Text a, mended.")
        return [room.folder / "a.md"]

    assert Script(room, [break_it, mend_it]).statuses()[1:] == [{"a.md": "failed"}, {"a.md": "updated"}]


@pytest.mark.requirement("INGEST-6", "INGEST-7")
def test_a_locked_store_is_told_and_tried_again_later_each_time_until_it_is_free(room: Room) -> None:
    store = room.store = HookedStore()
    left = [StoreLocked("another writer holds it")] * 8

    def refuse(changes: Sequence[DocumentChange]) -> None:
        if left:
            raise left.pop()

    def edit() -> Sequence[Path]:
        store.before = refuse
        room.write(a="Text a, changed.")
        return [room.folder / "a.md"]

    def edit_again() -> Sequence[Path]:
        left.append(StoreLocked("once more"))
        room.write(a="Text a, changed again.")
        return [room.folder / "a.md"]

    script = Script(room, [edit, edit_again])
    assert [run.get("a.md") for run in script.statuses()] == ["added", "updated", "updated"]
    assert script.pauses == [1, 2, 4, 8, 16, 32, 60, 60, 1]
    assert script.troubles[0].startswith("another writer holds it")
    assert script.armed == 10


@pytest.mark.requirement("INGEST-6")
def test_a_folder_that_is_gone_for_a_moment_deletes_nothing(room: Room, tmp_path: Path) -> None:
    away = tmp_path / "away"

    def take_away() -> Sequence[Path]:
        room.folder.rename(away)
        return [room.folder]

    script = Script(room, [take_away], meanwhile=lambda: away.rename(room.folder) is None)
    runs = script.reports()
    next(runs)
    assert statuses(next(runs)) == {"a.md": "unchanged", "b.md": "unchanged"}
    assert "no file or folder" in script.troubles[0]
    assert next(runs, None) is None


@pytest.mark.requirement("INGEST-6")
def test_watching_may_be_ended_while_it_waits_to_try_again(room: Room) -> None:
    def take_away() -> Sequence[Path]:
        room.folder.rename(room.folder.with_name("away"))
        return [room.folder]

    script = Script(room, [take_away], meanwhile=lambda: True)
    assert len(list(script.reports())) == 1
    assert script.pauses == [1]


@pytest.mark.requirement("INGEST-6", "INGEST-8")
@pytest.mark.parametrize("error", [StoreCorrupt("damaged"), EmbedderMismatch("another one")], ids=repr)
def test_what_no_waiting_can_mend_ends_the_watch(room: Room, error: CitewellError) -> None:
    store = room.store = HookedStore()

    def edit() -> Sequence[Path]:
        def refuse(changes: Sequence[DocumentChange]) -> None:
            raise error

        store.before = refuse
        room.write(a="Text a, changed.")
        return [room.folder / "a.md"]

    script = Script(room, [edit])
    runs = script.reports()
    next(runs)
    with pytest.raises(type(error)):
        next(runs)
    assert script.pauses == []


@pytest.mark.requirement("INGEST-6")
@pytest.mark.parametrize(
    "error", [StoreLocked("locked"), EmbedderUnavailable("down"), IngestError("no watch")], ids=repr
)
def test_what_goes_wrong_before_the_first_report_is_raised_at_once(room: Room, error: CitewellError) -> None:
    def fail() -> IngestReport:
        raise error

    script = Script(room, [])
    with pytest.raises(type(error)):
        next(watch(fail, script.arm, lambda _: True, trouble=script.trouble, pause=script.pause))
    assert script.troubles == []


@pytest.mark.requirement("INGEST-5")
def test_the_watch_begins_before_the_first_run_so_that_no_edit_falls_between(room: Room) -> None:
    order: list[str] = []

    def arm() -> Iterator[Wave]:
        order.append("arm")
        return iter([["x"]])

    def run() -> IngestReport:
        order.append("run")
        return IngestReport(())

    runs = watch(run, arm, lambda _: True, trouble=lambda *_: None, pause=lambda _: False)
    assert len(list(runs)) == 2
    assert order == ["arm", "run", "run"]


@pytest.mark.requirement("API-1")
def test_without_the_extra_watching_says_how_to_get_it(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: object, **options: object) -> object:
        if name == "watchfiles":
            raise ImportError(name)
        return real(name, *rest, **options)  # type: ignore[arg-type]  # passed on as they came

    monkeypatch.setattr(builtins, "__import__", without)
    with (
        Knowledge.open("memory:", embedder=HashEmbedder()) as knowledge,
        pytest.raises(InvalidRequest, match=r'pip install "citewell\[watch\]"'),
    ):
        next(knowledge.watch(room.folder))


@pytest.mark.slow
@pytest.mark.requirement("INGEST-5", "API-1")
def test_real_files_are_followed_until_it_is_told_to_stop(room: Room) -> None:
    pytest.importorskip("watchfiles")
    stop = threading.Event()
    with Knowledge.open("memory:", embedder=HashEmbedder()) as knowledge:
        runs = knowledge.watch(room.folder, prune=True, stop=stop)
        assert next(runs).count("added") == 2
        for deed, expected in (
            (lambda: room.write(a="Text a, changed."), {"a.md": "updated", "b.md": "unchanged"}),
            (lambda: (room.folder / "a.md").rename(room.folder / "c.md"), {"c.md": "added", "a.md": "deleted"}),
            (lambda: room.write(deep__down__d="Text d."), {"deep/down/d.md": "added"}),
            (lambda: (room.folder / "b.md").unlink(), {"b.md": "deleted"}),
        ):
            deed()
            seen: dict[str, str] = {}
            while not expected.items() <= seen.items():
                seen |= statuses(next(runs))
        stop.set()
        assert list(runs) == []
        assert [info.doc_id for info in knowledge.documents()] == ["c.md", "deep/down/d.md"]


@pytest.mark.requirement("INGEST-5")
def test_a_path_that_nobody_may_look_at_any_more_is_no_error_of_the_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another run says what is the matter, and the watch begins anew once the path can be looked at."""

    def denied(*_: object, **__: object) -> os.stat_result:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "stat", denied)
    assert watching._identities([Path("locked/a.md")]) == (None,)
    assert watching._places([Path("/locked/a.md")]) == ([Path("/locked")], False)
