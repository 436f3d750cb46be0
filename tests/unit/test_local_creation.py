"""A new store appears whole or not at all, for all who open it at once; a lost one is never replaced (ENGINE-4)."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from citewell.adapters.local import LocalStore, opening, schema
from citewell.errors import StoreCorrupt, StoreError, StoreUnreachable
from citewell.testing.samples import change
from citewell.testing.store_base import key, look, put, write

OPENER = """
import sys
from citewell.adapters.local import LocalStore
from citewell.testing.store_base import put
for path in sys.argv[2:]:
    print("ready", flush=True)
    sys.stdin.readline()
    store = LocalStore.open(path)
    put(store, sys.argv[1], ["shared"])
    store.close()
"""


@pytest.mark.requirement("ENGINE-1", "INGEST-7")
def test_threads_that_open_a_new_path_at_once_all_get_the_same_store(tmp_path: Path) -> None:
    for turn in range(12):
        path, gate = tmp_path / f"new-{turn}" / "deeper", threading.Barrier(6)
        errors: list[BaseException] = []

        def opened(name: str, path: Path = path, gate: threading.Barrier = gate) -> None:
            gate.wait()
            try:
                store = LocalStore.open(path)
                put(store, name, ["shared"])
                store.close()
            except BaseException as error:  # noqa: BLE001 - whatever it is, the test shows it
                errors.append(error)  # noqa: B023 - joined within the turn

        threads = [threading.Thread(target=opened, args=(f"{at}.md",)) for at in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        store = LocalStore.open(path)
        assert look(store, "shared").everywhere == [key(f"{at}.md") for at in range(6)]
        store.close()


@pytest.mark.requirement("ENGINE-1", "INGEST-7")
def test_processes_that_open_a_new_path_at_once_all_get_the_same_store(tmp_path: Path) -> None:
    paths = [tmp_path / f"new-{turn}" for turn in range(3)]
    command = [sys.executable, "-c", OPENER]
    started = [
        subprocess.Popen([*command, f"{at}.md", *paths], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for at in range(3)
    ]
    for _ in paths:
        for process in started:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in started:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
    for process in started:
        process.communicate()
        assert process.returncode == 0
    for path in paths:
        store = LocalStore.open(path)
        assert look(store, "shared").everywhere == [key(f"{at}.md") for at in range(3)]
        store.close()


@pytest.mark.requirement("ENGINE-1", "INGEST-7")
def test_whoever_comes_second_need_not_wait_until_the_first_has_written_all(tmp_path: Path) -> None:
    """A store that is there is opened without the write lock."""
    first = LocalStore.open(tmp_path / "new")
    with first._core().writing():
        second = LocalStore.open(tmp_path / "new", lock_timeout_s=0)
        assert look(second, "shared").everywhere == []
    second.close()
    first.close()


@pytest.fixture
def small_disk(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every database may have three pages until the list that is returned is emptied."""
    limits, connect = ["PRAGMA page_size = 8192", "PRAGMA max_page_count = 3"], sqlite3.connect

    def limited(*args: object, **options: object) -> sqlite3.Connection:
        connection = connect(*args, **options)  # type: ignore[call-overload]
        for limit in limits:
            connection.execute(limit)
        assert isinstance(connection, sqlite3.Connection)
        return connection

    monkeypatch.setattr(sqlite3, "connect", limited)
    return limits


@pytest.mark.requirement("ENGINE-4", "INGEST-7")
def test_a_disk_that_is_full_at_creation_is_named_as_full_and_space_mends_it(
    tmp_path: Path, small_disk: list[str]
) -> None:
    with pytest.raises(StoreUnreachable, match="no space left") as refusal:
        LocalStore.open(tmp_path / "new")
    assert str(tmp_path / "new") in refusal.value.message
    assert "space" in refusal.value.way_out
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["citewell.lock"]
    small_disk.clear()
    store = LocalStore.open(tmp_path / "new")
    put(store, "a.md", ["shared"])
    store.close()


@pytest.mark.requirement("ENGINE-1", "INGEST-7")
def test_what_a_killed_creation_left_is_cleared_away(tmp_path: Path) -> None:
    unfinished = sqlite3.connect(tmp_path / "citewell.db.new")
    unfinished.execute("CREATE TABLE meta (name)")
    unfinished.close()
    (tmp_path / "citewell.db.new-journal").write_bytes(b"x" * 1024)
    (tmp_path / "citewell.lock").touch()
    store = LocalStore.open(tmp_path)
    put(store, "a.md", ["shared"])
    assert store.verify().ok
    store.close()
    assert not list(tmp_path.glob("*.new*"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed store whose index has a file."""
    store = LocalStore.open(tmp_path / "store")
    write(store, *(change(f"{at}.md", ["shared"]) for at in range(150)))
    store.compact()
    store.close()
    assert list((tmp_path / "store" / "index").glob("*.seg"))
    return tmp_path / "store"


def emptied(path: Path) -> None:
    (path / "citewell.db").write_bytes(b"")


def emptied_before_any_index(path: Path) -> None:
    emptied(path)
    shutil.rmtree(path / "index")


def without_tables(path: Path) -> None:
    (path / "citewell.db").unlink()
    connection = sqlite3.connect(path / "citewell.db")
    connection.execute("CREATE TABLE gone (x)")
    connection.execute("DROP TABLE gone")
    connection.close()


def removed(path: Path) -> None:
    for file in path.glob("citewell.db*"):
        file.unlink()


def removed_but_for_its_log(path: Path) -> None:
    removed(path)
    shutil.rmtree(path / "index")
    (path / "citewell.db-wal").write_bytes(b"x" * 8192)


LOSSES = [emptied, emptied_before_any_index, without_tables, removed, removed_but_for_its_log]


@pytest.mark.requirement("ENGINE-4", "INGEST-7")
@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize("lose", LOSSES)
def test_a_store_whose_database_was_lost_is_corrupt_and_not_a_new_one(
    path: Path, lose: Callable[[Path], None], create: bool
) -> None:
    """Otherwise ingestion would fill an empty store, and nobody would hear of the loss."""
    lose(path)
    before = {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}
    for read_only in (False, True):
        with pytest.raises(StoreError) as refusal:
            LocalStore.open(path, create=create, read_only=read_only)
        assert type(refusal.value) is StoreCorrupt
        assert str(path / "citewell.db") in refusal.value.message
        assert "backup" in refusal.value.way_out
    after = {file: file.read_bytes() for file in path.rglob("*") if file.is_file() and file.name in map(_name, before)}
    assert after == before


def _name(file: Path) -> str:
    return file.name


@pytest.mark.requirement("ENGINE-4")
def test_a_folder_of_something_else_that_is_called_index_is_no_lost_store(tmp_path: Path) -> None:
    (tmp_path / "index").mkdir()
    (tmp_path / "index" / "page.html").write_text("x")
    with pytest.raises(StoreUnreachable, match="'index'"):
        LocalStore.open(tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["index"]


@pytest.mark.requirement("ENGINE-4")
@pytest.mark.parametrize("place", ["with\0null", "x" * 300])
def test_a_path_that_can_not_be_is_unreachable(tmp_path: Path, place: str) -> None:
    with pytest.raises(StoreUnreachable):
        LocalStore.open(tmp_path / place)


@pytest.mark.requirement("ENGINE-1")
def test_a_store_opened_by_a_relative_path_stays_the_same_when_the_process_moves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = LocalStore.open("here")
    assert store.status().location == "here"
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    put(store, "a.md", ["shared"])
    assert look(store, "shared").everywhere == [key("a.md")]
    assert store.status().chunks == 1
    store.close()
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.requirement("ENGINE-1")
def test_a_new_database_is_whole_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What another process may find under the name is a store, whatever happens to its maker."""

    class KillError(BaseException):
        pass

    def killed(connection: sqlite3.Connection) -> None:
        schema.fill(connection)
        raise KillError

    with monkeypatch.context() as patched:
        patched.setattr(opening, "fill", killed)
        with pytest.raises(KillError):
            LocalStore.open(tmp_path / "new")
    assert not (tmp_path / "new" / "citewell.db").exists()
    LocalStore.open(tmp_path / "new").close()
