"""The bytes of a file are of one moment, or the old version stays (INGEST-5, INGEST-6)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ingest_room import Room, statuses

from citewell.errors import IngestError
from citewell.ingest.files import Unsettled, read_file
from citewell.model import Document

Deed = Callable[[Path], object]
Deeds = dict[str, Deed]


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path / "docs")


@pytest.fixture
def when_opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[Deeds]:
    """What is done to a file of this name after it was opened and looked at, before it is read."""
    deeds: Deeds = {}
    opened: dict[int, Path] = {}
    real_open, real_fstat = os.open, os.fstat

    def open_(path: str, flags: int, *rest: int, **options: int) -> int:
        file = real_open(path, flags, *rest, **options)
        opened[file] = Path(os.fsdecode(path))
        return file

    def fstat(file: int) -> os.stat_result:
        found, path = real_fstat(file), opened.pop(file, None)
        if path is not None and path.name in deeds:
            deeds[path.name](path)
        return found

    monkeypatch.setattr(os, "open", open_)
    monkeypatch.setattr(os, "fstat", fstat)
    yield deeds
    deeds.clear()


def once(deed: Deed) -> Deed:
    left = iter([True])
    return lambda path: deed(path) if next(left, False) else None


def grow(path: Path) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(" and more")


def replace(path: Path) -> None:
    """As an editor saves: another file under the same name, of the same size and time."""
    other = path.with_suffix(".new")
    other.write_text(path.read_text("utf-8").replace("old", "new"), encoding="utf-8")
    held = path.stat()
    os.utime(other, ns=(held.st_atime_ns, held.st_mtime_ns))
    other.rename(path)


@pytest.mark.requirement("INGEST-5", "INGEST-6")
@pytest.mark.parametrize(("deed", "text"), [(grow, "The old text and more"), (replace, "The new text")])
def test_a_file_that_changes_while_it_is_read_is_read_again(
    tmp_path: Path,
    when_opened: Deeds,
    deed: Deed,
    text: str,
) -> None:
    path = tmp_path / "a.md"
    path.write_text("The old text", encoding="utf-8")
    when_opened["a.md"] = once(deed)
    assert read_file(path).decode() == text


@pytest.mark.requirement("INGEST-5", "INGEST-6")
def test_a_file_that_goes_on_changing_is_skipped_and_keeps_its_old_version(room: Room, when_opened: Deeds) -> None:
    room.write(a="Text a.", b="Text b.", c="Text c.")
    room.ingest()
    room.write(a="Text a, changed.", b="Text b, changed.")
    when_opened["a.md"] = when_opened["new.md"] = grow
    room.write(new="A new text.")
    report = room.ingest(prune=True)
    assert [(file.doc_id, file.status, file.chunks) for file in report.files] == [
        ("a.md", "skipped", 1),
        ("b.md", "updated", 1),
        ("c.md", "unchanged", 1),
        ("new.md", "skipped", 0),
    ]
    assert report.files[0].detail == "it changes while it is read; the next run takes it"
    assert (report.ok, room.texts("a.md")) == (True, ["Text a."])
    when_opened.clear()
    assert statuses(room.ingest())["a.md"] == "updated"


@pytest.mark.requirement("INGEST-5", "INGEST-6")
def test_a_file_that_goes_between_walk_and_reading_is_gone_and_deleted_with_prune_alone(
    room: Room, when_opened: Deeds
) -> None:
    room.write(a="Text a.", b="Text b.")
    room.ingest()
    room.write(new="A new text.")

    def vanish(_: Path) -> None:
        for name in ("b.md", "new.md"):
            (room.folder / name).unlink(missing_ok=True)

    when_opened["a.md"] = vanish
    report = room.ingest()
    assert statuses(report) == {"a.md": "unchanged", "b.md": "skipped", "new.md": "skipped"}
    assert report.files[1].detail == "its file went before it could be read"
    assert "b.md" in room.infos()
    room.write(b="Text b.", new="A new text.")
    report = room.ingest(prune=True)
    assert statuses(report) == {"a.md": "unchanged", "b.md": "deleted", "new.md": "skipped"}
    assert list(room.infos()) == ["a.md"]


@pytest.mark.requirement("INGEST-5")
def test_a_vanished_file_deletes_no_document_that_came_from_elsewhere(room: Room, when_opened: Deeds) -> None:
    room.ingestion.documents([Document("b.md", "A record.")])
    room.write(a="Text a.", b="Text b.")
    when_opened["a.md"] = lambda _: (room.folder / "b.md").unlink(missing_ok=True)
    assert statuses(room.ingest(prune=True)) == {"a.md": "added", "b.md": "skipped"}
    assert room.texts("b.md") == ["A record."]


@pytest.mark.requirement("INGEST-6")
def test_what_became_a_pipe_since_the_walk_is_not_waited_for(room: Room, when_opened: Deeds) -> None:
    room.write(a="Text a.", b="Text b.")

    def lay_a_pipe(_: Path) -> None:
        (room.folder / "b.md").unlink()
        os.mkfifo(room.folder / "b.md")

    when_opened["a.md"] = once(lay_a_pipe)
    report = room.ingest()
    assert statuses(report) == {"a.md": "added", "b.md": "failed"}
    assert report.files[1].detail == "it is no regular file"


@pytest.mark.requirement("INGEST-6")
def test_a_device_and_a_pipe_are_never_opened(tmp_path: Path, when_opened: Deeds) -> None:
    os.mkfifo(tmp_path / "pipe")
    opened: list[Path] = []
    when_opened["pipe"] = when_opened["null"] = opened.append
    for path in (tmp_path / "pipe", Path("/dev/null")):
        with pytest.raises(IngestError, match="no regular file"):
            read_file(path)
    assert opened == []


@pytest.mark.requirement("INGEST-6")
def test_a_file_that_is_too_large_is_refused_by_its_size_and_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"x" * 1_001)
    with pytest.raises(IngestError, match="1,001 bytes, more than 1,000"):
        read_file(path, most=1_000)
    path.write_bytes(b"x" * 1_000)
    assert len(read_file(path, most=1_000)) == 1_000


@pytest.mark.requirement("INGEST-6")
def test_a_file_that_never_settles_is_tried_twice(tmp_path: Path, when_opened: Deeds) -> None:
    path = tmp_path / "a.md"
    path.write_text("x", encoding="utf-8")
    when_opened["a.md"] = grow
    with pytest.raises(Unsettled):
        read_file(path)
    assert path.read_text("utf-8") == "x and more and more"


@pytest.mark.requirement("INGEST-6")
@pytest.mark.skipif(not Path("/proc/version").exists(), reason="only Linux has such files")
def test_a_file_that_does_not_say_its_size_is_never_taken_for_an_empty_one() -> None:
    with pytest.raises(Unsettled):
        read_file(Path("/proc/version"))
