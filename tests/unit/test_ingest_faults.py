"""One fault never stops the rest; what concerns every document ends the run with nothing lost (INGEST-6, INGEST-7)."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from ingest_room import FussyEmbedder, HookedStore, Room, fussy, ingest_threads, sections, statuses
from numpy.typing import NDArray

from citewell.adapters.readers import FileReader
from citewell.errors import (
    EmbedderError,
    EmbedderUnavailable,
    InvalidRequest,
    StoreConflict,
    StoreError,
    StoreLocked,
    StoreUnreachable,
)
from citewell.ingest.options import Progress
from citewell.ingest.write import BatchEmbedder, _next_slice
from citewell.model import Document, DocumentChange, Text
from citewell.testing.fakes import HashEmbedder


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path / "docs")


def write_twelve(room: Room, *, bad: str = "poison") -> None:
    room.write(**{f"d{number:02}": f"Text of document {number}." for number in range(11)}, bad=f"This holds {bad}.")


@pytest.mark.requirement("INGEST-6")
def test_one_document_that_cannot_be_embedded_fails_alone(room: Room) -> None:
    """Trial I105: a batch of twelve with one bad one."""
    write_twelve(room)
    room.embedder = fussy("poison")
    report = room.ingest()
    assert (report.count("added"), report.count("failed"), len(room.infos())) == (11, 1, 11)
    (failed,) = (file for file in report.files if file.status == "failed")
    assert (failed.doc_id, failed.detail) == ("bad.md", "it can't embed 'poison'")
    assert not report.ok


@pytest.mark.requirement("INGEST-6")
@pytest.mark.parametrize("error", [RuntimeError("boom"), KeyError("x"), MemoryError()], ids=repr)
def test_a_callers_own_embedder_may_raise_anything(room: Room, error: Exception) -> None:
    write_twelve(room)
    room.embedder = fussy("poison", error)
    report = room.ingest()
    assert (report.count("added"), statuses(report)["bad.md"]) == (11, "failed")


@pytest.mark.requirement("INGEST-5", "INGEST-6")
def test_a_document_that_fails_on_its_third_chunk_keeps_its_old_version_whole(room: Room) -> None:
    """Trial I95."""
    room.write(a=sections(6), b="Text b.")
    room.ingest()
    old = room.texts("a.md")
    room.write(a=sections(6, word="renewed").replace("renewed 2", "poison"), b="New text b.")
    broken = Room(room.folder, room.store, fussy("poison"))
    assert statuses(broken.ingest()) == {"a.md": "failed", "b.md": "updated"}
    assert (room.texts("a.md"), room.texts("b.md")) == (old, ["New text b."])
    assert len(room.lexical("topic")) == 6
    assert statuses(room.ingest()) == {"a.md": "updated", "b.md": "unchanged"}


@pytest.mark.requirement("INGEST-6")
def test_vectors_that_are_not_finite_fail_their_document_alone(room: Room) -> None:
    class Nan(HashEmbedder):
        def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
            vectors = super().embed_passages(texts)
            vectors[["poison" in text for text in texts]] = np.nan
            return vectors

    write_twelve(room)
    room.embedder = Nan()
    report = room.ingest()
    assert (report.count("added"), statuses(report)["bad.md"]) == (11, "failed")


@pytest.mark.requirement("INGEST-6", "INGEST-7")
def test_an_embedder_that_is_gone_ends_the_run_and_what_was_stored_stays(room: Room) -> None:
    room.write(a=sections(300), b=sections(300, word="poison"), c="Text c.")
    room.embedder = fussy("poison", EmbedderUnavailable("the endpoint is down", way_out="Start it."))
    with pytest.raises(EmbedderUnavailable) as caught:
        room.ingest()
    assert caught.value.message == "the endpoint is down; 1 document was brought up to date before"
    assert caught.value.way_out == "Start it. The next run goes on from there."
    assert list(room.infos()) == ["a.md"]
    assert ingest_threads() == []
    healed = Room(room.folder, room.store, HashEmbedder())
    assert statuses(healed.ingest()) == {"a.md": "unchanged", "b.md": "added", "c.md": "added"}


@pytest.mark.requirement("INGEST-7")
@pytest.mark.parametrize("kind", [StoreLocked, StoreUnreachable])
def test_a_store_that_cannot_be_written_ends_the_run_with_its_own_error(room: Room, kind: type[StoreError]) -> None:
    def fail_once(changes: Sequence[DocumentChange]) -> None:
        if changes[0].document.doc_id == "b.md":
            raise kind("no space left")

    room.store = HookedStore(fail_once)
    room.write(**{name: sections(300) for name in "abcdef"})
    with pytest.raises(kind, match="no space left; 1 document was brought up to date before"):
        room.ingest()
    assert list(room.infos()) == ["a.md"]
    assert ingest_threads() == []


@pytest.mark.requirement("INGEST-6")
@pytest.mark.parametrize("kind", [StoreError, InvalidRequest, ValueError, TypeError])
def test_one_document_that_the_store_refuses_fails_alone(room: Room, kind: type[Exception]) -> None:
    def refuse(changes: Sequence[DocumentChange]) -> None:
        if any("poison" in change.chunks[0].text for change in changes):
            raise kind("a text that can't be kept")

    room.store = HookedStore(refuse)
    write_twelve(room)
    report = room.ingest()
    assert (report.count("added"), statuses(report)["bad.md"], len(room.infos())) == (11, "failed", 11)


@pytest.mark.requirement("INGEST-5", "INGEST-6")
def test_a_document_that_changed_meanwhile_is_planned_once_more(room: Room) -> None:
    """Another writer stores an older version of `a` between planning and writing."""
    other = Room(room.folder, HookedStore())
    interruptions = iter([True])

    def interrupt(changes: Sequence[DocumentChange]) -> None:
        if next(interruptions, False):
            other.ingestion.documents([Document("a.md", "Written by another.")])

    room.store = other.store = HookedStore(interrupt)
    room.write(a="Text a.", b="Text b.")
    interruptions = iter([True])
    report = room.ingest()
    assert statuses(report) == {"a.md": "updated", "b.md": "added"}
    assert room.texts("a.md") == ["Text a."]


@pytest.mark.requirement("INGEST-5", "INGEST-6")
def test_a_vector_that_was_to_be_reused_and_has_gone_is_embedded_after_all(room: Room) -> None:
    room.write(a=sections(4))
    room.ingest()
    store = room.store
    assert isinstance(store, HookedStore)
    calls = itertools.count()

    def delete_it_first(changes: Sequence[DocumentChange]) -> None:
        if next(calls) == 0:
            store.delete(["a.md"])

    store.before = delete_it_first
    room.write(a=sections(4) + "\n\nOne more.")
    report = room.ingest()
    assert statuses(report) == {"a.md": "added"}
    assert report.embedded == report.chunks == len(room.texts("a.md"))


@pytest.mark.requirement("INGEST-6")
def test_a_document_that_keeps_changing_fails_alone(room: Room) -> None:
    def conflict(changes: Sequence[DocumentChange]) -> None:
        if any(change.document.doc_id == "bad.md" for change in changes):
            raise StoreConflict("it changed again")

    room.store = HookedStore(conflict)
    write_twelve(room)
    report = room.ingest()
    assert (report.count("added"), statuses(report)["bad.md"]) == (11, "failed")


class Breaking(FileReader):
    """Fails on files that end in `.odd`, with an error of no kind that a reader may raise."""

    def takes(self, name: str) -> bool:
        return True

    def read(self, data: bytes, name: str) -> Text:
        if name.endswith(".odd"):
            raise IndexError("list index out of range")
        return super().read(data, name)


@pytest.mark.requirement("INGEST-6")
def test_a_reader_that_breaks_fails_its_file_alone(room: Room) -> None:
    room.write(a="Text a.")
    (room.folder / "b.odd").write_text("x", encoding="utf-8")
    ingestion = room.ingestion
    ingestion._reader = Breaking()
    report = ingestion.paths([room.folder])
    assert statuses(report) == {"a.md": "added", "b.odd": "failed"}
    assert report.files[1].detail == "it can't be understood: IndexError: list index out of range"


@pytest.mark.requirement("INGEST-6")
def test_a_file_that_vanishes_or_cannot_be_opened_fails_alone(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    room.write(a="Text a.", b="Text b.")
    real = os.open

    def opened(path: str, flags: int, *rest: int, **options: int) -> int:
        if str(path).endswith("a.md"):
            raise PermissionError(13, "Permission denied")
        return real(path, flags, *rest, **options)

    monkeypatch.setattr(os, "open", opened)
    report = room.ingest()
    assert statuses(report) == {"a.md": "failed", "b.md": "added"}
    assert report.files[0].detail == "it can't be read: Permission denied"


@pytest.mark.requirement("INGEST-7")
def test_ctrl_c_while_embedding_leaves_whole_documents_and_no_thread(room: Room) -> None:
    """The interrupt reaches the caller's thread while the second batch is embedded."""
    embedding = threading.Event()

    class Slow(FussyEmbedder):
        def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
            if any("second" in text for text in texts):
                embedding.set()
            return super().embed_passages(texts)

    def documents() -> Iterator[Document]:
        yield Document("a", sections(300))
        yield Document("b", sections(300, word="second"))
        assert embedding.wait(60)
        raise KeyboardInterrupt

    room.embedder = Slow({})
    with pytest.raises(KeyboardInterrupt):
        room.ingestion.documents(documents())
    assert ingest_threads() == []
    held = {doc_id: len(room.chunks(doc_id)) for doc_id in room.infos()}
    assert "a" in held
    assert all(held[doc_id] == room.infos()[doc_id].chunks or held[doc_id] == 200 for doc_id in held)


@pytest.mark.requirement("INGEST-7")
def test_ctrl_c_ends_a_long_document_between_two_calls_of_the_embedder(room: Room) -> None:
    """1,200 chunks are five calls; the interrupt comes during the first."""
    embedding, interrupted = threading.Event(), threading.Event()
    calls: list[int] = []

    class Counting(HashEmbedder):
        def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
            calls.append(len(texts))
            embedding.set()
            assert interrupted.wait(60)
            return super().embed_passages(texts)

    def documents() -> Iterator[Document]:
        yield Document("a", sections(1_200))
        assert embedding.wait(60)
        interrupted.set()
        raise KeyboardInterrupt

    room.embedder = Counting()
    with pytest.raises(KeyboardInterrupt):
        room.ingestion.documents(documents())
    assert len(calls) < 4
    assert room.infos() == {}


@pytest.mark.requirement("INGEST-7", "API-2")
@pytest.mark.parametrize("batches", [1, 2, 4])
def test_an_interrupted_run_tells_all_that_was_stored_up_to_its_end(room: Room, batches: int) -> None:
    """Also what was on its way when the interrupt came, while a batch before it was waited for."""

    class Interrupting(HookedStore):
        def apply(self, changes: Sequence[DocumentChange]) -> None:
            super().apply(changes)
            if len(self.batches) == batches:
                raise KeyboardInterrupt  # reaches the caller's thread through the future that it waits for

    room.store = Interrupting()
    told: list[Progress] = []
    documents = [Document(f"{number}", sections(260, word=f"word{number}")) for number in range(6)]
    with pytest.raises(KeyboardInterrupt):
        room.ingestion.documents(documents, progress=told.append)
    held = len(room.infos())
    assert held >= batches
    assert [each.stopping for each in told[-2:]] == [True, True]
    # Of the write that was interrupted itself nobody knows whether it came to its end.
    assert told[-1].changed == held - 1


@pytest.mark.requirement("INGEST-7", "API-2")
def test_a_run_that_is_interrupted_between_two_batches_counts_the_one_that_was_just_written(room: Room) -> None:
    written = threading.Event()

    class Telling(HookedStore):
        def apply(self, changes: Sequence[DocumentChange]) -> None:
            super().apply(changes)
            written.set()

    def documents() -> Iterator[Document]:
        yield Document("a", sections(260))
        assert written.wait(60)
        yield Document("b", "Text.")
        raise KeyboardInterrupt

    room.store = Telling()
    told: list[Progress] = []
    with pytest.raises(KeyboardInterrupt):
        room.ingestion.documents(documents(), progress=told.append)
    assert sorted(room.infos()) == ["a"]
    assert (told[-1].files_done, told[-1].changed, told[-1].stopping) == (1, 1, True)


@pytest.mark.requirement("INGEST-7")
@pytest.mark.parametrize(
    ("done", "seconds", "following"), [(32, 0.0, 256), (32, 0.1, 256), (32, 1.0, 32), (32, 4.0, 8), (8, 60.0, 8)]
)
def test_a_call_of_the_embedder_is_meant_to_take_a_second(done: int, seconds: float, following: int) -> None:
    """Ctrl-C waits for the call that is under way."""
    assert _next_slice(done, seconds) == following


@pytest.mark.requirement("INGEST-7")
def test_a_slow_embedder_is_given_few_texts_at_once() -> None:
    sizes: list[int] = []

    class Sized(HashEmbedder):
        def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
            sizes.append(len(texts))
            return super().embed_passages(texts)

    now = itertools.count(step=2.0)  # every look at the clock is two seconds later than the one before
    batch = BatchEmbedder(Sized(), threading.Event(), lambda _: None, clock=lambda: next(now))
    batch._vectors([("", f"text {number}") for number in range(60)])
    assert sizes == [32, 16, 8, 4]


@pytest.mark.requirement("INGEST-7")
def test_an_error_of_the_callers_own_iterable_is_raised_and_finished_batches_stay(room: Room) -> None:
    def documents() -> Iterator[Document]:
        yield Document("a", sections(300))
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        room.ingestion.documents(documents())
    assert ingest_threads() == []


@pytest.mark.requirement("INGEST-7")
def test_the_outcome_is_the_same_whatever_happened_before(room: Room) -> None:
    """A run that was ended in the middle, then one to the end, equals one run."""
    room.write(**{name: sections(40, word=name) for name in "abcdefgh"})
    broken = Room(room.folder, room.store, fussy("e 7", EmbedderUnavailable("down")))
    with pytest.raises(EmbedderUnavailable):
        broken.ingest()
    room.ingest()
    whole = Room(room.folder)
    whole.ingest()
    assert {doc_id: room.texts(doc_id) for doc_id in room.infos()} == {
        doc_id: whole.texts(doc_id) for doc_id in whole.infos()
    }


@pytest.mark.requirement("INGEST-6")
def test_embedding_errors_of_every_document_are_reports_and_no_exception(room: Room) -> None:
    room.write(a="poison one", b="poison two")
    room.embedder = fussy("poison", EmbedderError("no"))
    assert set(statuses(room.ingest()).values()) == {"failed"}
