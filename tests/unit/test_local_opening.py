"""Opening a store: what is made, what is refused and with which words, and what reading alone needs (ENGINE-4)."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from citewell.adapters.local import LocalStore
from citewell.errors import InvalidRequest, StoreUnreachable, StoreVersion
from citewell.model import Filters
from citewell.testing.samples import change
from citewell.testing.store_base import EMBEDDER, key, look, put, write


def a_file(path: Path) -> None:
    path.write_text("x")


def a_folder_with_other_files(path: Path) -> None:
    path.mkdir()
    (path / "notes.txt").write_text("x")


def another_programs_database(path: Path) -> None:
    path.mkdir()
    connection = sqlite3.connect(path / "citewell.db")
    connection.execute("CREATE TABLE other (x)")
    connection.close()


MISPLACED: list[tuple[Callable[[Path], None], str]] = [
    (a_file, "is a file"),
    (a_folder_with_other_files, "'notes.txt'"),
    (another_programs_database, "is no Citewell store"),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed store with one document."""
    store = LocalStore.open(tmp_path / "store")
    put(store, "a.md", ["shared text"])
    store.close()
    return tmp_path / "store"


@pytest.mark.requirement("ENGINE-1")
@pytest.mark.parametrize("place", ["new", "new/deeper", "empty"])
def test_a_store_is_made_where_there_is_none(tmp_path: Path, place: str) -> None:
    (tmp_path / "empty").mkdir()
    store = LocalStore.open(tmp_path / place)
    put(store, "a.md", ["shared"])
    assert look(store, "shared").everywhere == [key("a.md")]
    store.close()


@pytest.mark.requirement("ENGINE-4")
@pytest.mark.parametrize("options", [{"create": False}, {"read_only": True}])
def test_no_store_is_made_where_none_is_asked_for(tmp_path: Path, options: dict[str, bool]) -> None:
    with pytest.raises(StoreUnreachable, match="there is no store at"):
        LocalStore.open(tmp_path / "absent", **options)
    assert not (tmp_path / "absent").exists()


@pytest.mark.requirement("ENGINE-4")
@pytest.mark.parametrize(("make", "said"), MISPLACED)
def test_a_path_that_holds_something_else_is_refused_by_name_and_left_alone(
    tmp_path: Path, make: Callable[[Path], None], said: str
) -> None:
    make(tmp_path / "place")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(StoreUnreachable) as refusal:
        LocalStore.open(tmp_path / "place")
    assert said in refusal.value.message
    assert str(tmp_path / "place") in refusal.value.message
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.requirement("ENGINE-4")
def test_a_store_of_a_later_version_is_refused_with_both_versions(path: Path) -> None:
    connection = sqlite3.connect(path / "citewell.db")
    connection.execute("PRAGMA user_version = 7")
    connection.close()
    with pytest.raises(StoreVersion) as refusal:
        LocalStore.open(path)
    assert "version 7" in refusal.value.message
    assert "version 1" in refusal.value.message
    assert "delete" not in refusal.value.way_out


@pytest.mark.requirement("ENGINE-4")
def test_a_store_opened_for_reading_alone_answers_and_refuses_writes_by_name(path: Path) -> None:
    store = LocalStore.open(path, read_only=True)
    assert look(store, "shared").everywhere == [key("a.md")]
    assert store.verify().ok
    for act in (lambda: store.delete(["a.md"]), store.compact, lambda: write(store, change("b.md", ["x"]))):
        with pytest.raises(StoreUnreachable, match="for reading only"):
            act()
    assert dict(store.status().details)["access"] == "read only"
    store.close()


@pytest.mark.requirement("ENGINE-4")
def test_a_reader_sees_what_another_process_has_written_since(path: Path) -> None:
    reader, writer = LocalStore.open(path, read_only=True), LocalStore.open(path)
    assert look(reader, "shared").everywhere == [key("a.md")]
    put(writer, "b.md", ["shared"])
    assert look(reader, "shared").everywhere == [key("a.md"), key("b.md")]
    reader.close()
    writer.close()


@pytest.fixture
def public(path: Path) -> Iterator[Path]:
    """The store in a folder that any user can reach and only its owner can write; its index is gone."""
    folder = Path(tempfile.mkdtemp())
    shutil.copytree(path, folder / "store")
    shutil.rmtree(folder / "store" / "index", ignore_errors=True)
    folder.chmod(0o755)
    (folder / "store").chmod(0o555)
    yield folder / "store"
    (folder / "store").chmod(0o755)
    shutil.rmtree(folder)


def as_nobody(act: object) -> str:
    """What the callable returns, or the error that it raises, when an unprivileged user calls it."""
    assert callable(act)
    source, sink = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.getuid() == 0:
                os.setuid(65534)
            said = repr(act())
        except BaseException as error:  # noqa: BLE001 - whatever it is, the parent wants to see it
            said = repr(error)
        os.write(sink, said.encode())
        os._exit(0)
    os.close(sink)
    os.waitpid(child, 0)
    with os.fdopen(source) as told:
        return told.read()


@pytest.mark.requirement("ENGINE-4")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_store_that_may_not_be_written_can_be_searched(public: Path) -> None:
    def search() -> list[str]:
        store = LocalStore.open(public)
        return look(store, "shared").everywhere

    def write_there() -> None:
        store = LocalStore.open(public)
        put(store, "b.md", ["shared"])

    assert as_nobody(search) == repr([key("a.md")])
    assert "StoreUnreachable" in as_nobody(write_there)
    assert "for reading only" in as_nobody(write_there)


@pytest.mark.requirement("ENGINE-4")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_store_that_may_not_be_read_is_unreachable_not_empty(public: Path) -> None:
    (public / "citewell.db").chmod(0o600)
    said = as_nobody(lambda: LocalStore.open(public))
    assert "StoreUnreachable" in said
    assert str(public / "citewell.db") in said


@pytest.mark.requirement("ENGINE-4")
def test_a_closed_store_and_an_ended_snapshot_say_so(path: Path) -> None:
    store = LocalStore.open(path)
    with store.snapshot() as view:
        pass
    with pytest.raises(StoreUnreachable, match="snapshot has ended"):
        view.fetch([key("a.md")])
    store.close()
    store.close()
    with pytest.raises(StoreUnreachable, match="is closed"):
        store.status()


@pytest.mark.requirement("ENGINE-4")
def test_an_error_of_the_readers_own_passes_through_a_snapshot_as_it_is(path: Path) -> None:
    store = LocalStore.open(path)
    with pytest.raises(OSError, match="mine"), store.snapshot():
        raise OSError("mine")
    assert look(store, "shared").everywhere == [key("a.md")]
    store.close()


@pytest.mark.requirement("PORT-6")
def test_vectors_of_other_dimensions_or_no_numbers_are_refused_and_nothing_is_written(path: Path) -> None:
    store = LocalStore.open(path)
    for vector, said in ((np.ones(3, dtype=np.float32), "64 dimensions"), (np.full(64, np.nan, np.float32), "finite")):
        with pytest.raises(InvalidRequest, match=said):
            put(store, "b.md", ["shared"], vectors=[vector])
    with store.snapshot() as view, pytest.raises(InvalidRequest, match="64 dimensions"):
        view.dense(np.ones(3, dtype=np.float32), 5, Filters())
    assert look(store, "shared").everywhere == [key("a.md")]
    store.close()


@pytest.mark.requirement("INGEST-2")
def test_a_lone_surrogate_is_refused_in_what_is_written_and_finds_nothing_in_what_is_asked(path: Path) -> None:
    store = LocalStore.open(path)
    with pytest.raises(InvalidRequest, match="surrogate"):
        put(store, "b.md", ["shared \ud800"])
    lone = "\ud800"
    filters = [Filters(lone), Filters(scope=(lone,)), Filters(where=((lone, lone),))]
    with store.snapshot() as view:
        vector = EMBEDDER.embed_query("shared")
        assert all(view.dense(vector, 5, asked) == () for asked in filters)
        assert len(view.dense(vector, 5, Filters(exclude_documents=(lone,)))) == 1
        assert view.lexical((lone,), 5, Filters()) == ()
        assert view.fetch([lone, f"{lone}#chunk-0"]) == {}
    assert store.stored(lone) is None
    assert store.delete([lone]) == 0
    store.close()
