"""A reader that may write nothing sees every acknowledged write, or says that it can't; never old data (ENGINE-4)."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from citewell.adapters.local import LocalStore
from citewell.errors import StoreCorrupt, StoreLocked, StoreUnreachable
from citewell.testing.store_base import key, look, put

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
as_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can become a user without permissions")
NOBODY = 65534


@pytest.fixture
def place() -> Iterator[Path]:
    """Where a store may be made that any user can reach and only its owner can write."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder / "store"
    shutil.rmtree(folder)


def in_process(act: Callable[[], None]) -> None:
    """Carry it out in a process of its own, so that no connection of this one has a part in it."""
    child = os.fork()
    if child == 0:
        try:
            act()
        except BaseException:  # noqa: BLE001 - the child must not return into pytest, whatever happens
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def written(path: Path, version: int, *, chunks: int = 1) -> None:
    """Another process opens the store, writes a version of the document, and closes it."""

    def act() -> None:
        store = LocalStore.open(path)
        put(store, "a.md", [f"shared version{version}"] * chunks)
        store.compact()
        store.close()

    in_process(act)


@contextmanager
def reader(read: Callable[[], Callable[[], str]]) -> Iterator[Callable[[], str]]:
    """An unprivileged process that opens once and answers each call of what is yielded by looking again."""
    asked, ask = os.pipe()
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        os.setuid(NOBODY)
        answer: Callable[[], str] | None = None
        while os.read(asked, 1) == b"?":
            try:
                answer = answer or read()
                said = answer()
            except BaseException as error:  # noqa: BLE001 - whatever it is, the parent wants to see it
                said = f"{type(error).__name__}: {error}"
            os.write(tell, said.encode() + b"\n")
        os._exit(0)

    def look_again() -> str:
        os.write(ask, b"?")
        said = b""
        while not said.endswith(b"\n"):
            said += os.read(told, 4096)
        return said.decode().strip()

    try:
        yield look_again
    finally:
        os.write(ask, b".")
        os.waitpid(child, 0)
        for end in (asked, ask, told, tell):
            os.close(end)


def versions(path: Path, *, patience_s: float = 30.0) -> Callable[[], Callable[[], str]]:
    """Which version the reader finds, by every way of asking."""

    def opened() -> Callable[[], str]:
        store = LocalStore.open(path, lock_timeout_s=patience_s)

        def answer() -> str:
            with store.snapshot() as view:
                size, text = view.size, view.fetch([key("a.md")])[key("a.md")].text
            stored = store.stored("a.md")
            assert stored is not None
            assert len(stored.context_digests) == size == store.status().chunks
            assert len(look(store, "shared").everywhere) == size
            return f"{text.rpartition('version')[2]} {size}"

        return answer

    return opened


@as_root
@pytest.mark.requirement("ENGINE-4", "INGEST-7")
def test_a_reader_without_permission_sees_every_write_of_writers_that_come_and_go(place: Path) -> None:
    written(place, 1)
    with reader(versions(place)) as look_again:
        assert look_again() == "1 1"
        for version in range(2, 8):
            written(place, version, chunks=version % 3 + 1)
            assert look_again() == f"{version} {version % 3 + 1}"


@as_root
@pytest.mark.requirement("ENGINE-4", "INGEST-7")
def test_a_reader_without_permission_sees_every_write_of_a_writer_that_stays(place: Path) -> None:
    written(place, 1)
    with reader(versions(place)) as look_again:
        assert look_again() == "1 1"
        store = LocalStore.open(place)
        for version in range(2, 6):
            put(store, "a.md", [f"shared version{version}"])
            assert look_again() == f"{version} 1"
        store.close()
        assert look_again() == "5 1"
        written(place, 6)
        assert look_again() == "6 1"


def without_log_files(path: Path) -> None:
    """As after copying the database alone."""
    for name in ("citewell.db-wal", "citewell.db-shm"):
        (path / name).unlink(missing_ok=True)


@as_root
@pytest.mark.requirement("ENGINE-4", "INGEST-7")
def test_without_the_log_files_a_reader_notices_what_was_written_and_opens_again(place: Path) -> None:
    written(place, 1)
    without_log_files(place)
    with reader(versions(place)) as look_again:
        assert look_again() == "1 1"
        for version in range(2, 6):
            written(place, version)
            without_log_files(place)
            assert look_again() == f"{version} 1"
        written(place, 6)
        assert look_again() == "6 1"


@as_root
@pytest.mark.requirement("ENGINE-4", "INGEST-7")
def test_a_write_under_a_reader_that_shares_no_lock_is_said_and_the_next_look_is_good(place: Path) -> None:
    written(place, 1)
    without_log_files(place)

    def opened() -> Callable[[], str]:
        store, plain = LocalStore.open(place), versions(place)()
        turns = iter(["plain", "crossed", "plain"])

        def answer() -> str:
            if next(turns) == "plain":
                return plain()
            with store.snapshot() as view:
                text = view.fetch([key("a.md")])[key("a.md")].text
                os.write(go, b"!")
                os.read(done, 1)
            return text

        return answer

    begun, go = os.pipe()
    done, finish = os.pipe()
    with reader(opened) as look_again:
        assert look_again() == "1 1"
        writer = os.fork()
        if writer == 0:
            os.read(begun, 1)
            written(place, 2)
            os.write(finish, b"!")
            os._exit(0)
        said = look_again()
        os.waitpid(writer, 0)
        assert said.startswith(StoreLocked.__name__)
        assert "again" in said
        assert look_again() == "2 1"
    for end in (begun, go, done, finish):
        os.close(end)


@as_root
@pytest.mark.requirement("ENGINE-4")
def test_commits_in_a_log_that_can_not_be_shared_are_an_error_not_left_out(place: Path) -> None:
    written(place, 1)

    def leave_a_log() -> None:
        store = LocalStore.open(place)
        put(store, "a.md", ["shared version2"])
        os._exit(0)  # as a kill does: the commit is in the log alone

    in_process(leave_a_log)
    with reader(versions(place)) as look_again:
        assert look_again() == "2 1"
    (place / "citewell.db-shm").unlink()
    with reader(versions(place)) as look_again:
        assert look_again().startswith(StoreUnreachable.__name__)


@as_root
@pytest.mark.requirement("ENGINE-4")
def test_the_log_files_have_the_databases_permissions_and_owner(place: Path) -> None:
    written(place, 1)
    (place / "citewell.db").chmod(0o640)
    os.chown(place / "citewell.db", -1, NOBODY)
    without_log_files(place)
    written(place, 2)
    for name in ("citewell.db-wal", "citewell.db-shm"):
        found = (place / name).stat()
        assert (found.st_mode & 0o777, found.st_gid) == (0o640, NOBODY)
    assert sorted(file.name for file in place.glob("citewell.*")) == [
        "citewell.db", "citewell.db-shm", "citewell.db-wal", "citewell.lock",
    ]  # fmt: skip


@pytest.mark.requirement("ENGINE-4", "INGEST-7")
def test_a_store_that_was_replaced_by_another_is_noticed_and_opened_anew(place: Path) -> None:
    """A backup put in its place: the old file must not be answered from for ever, nor mixed with the new one."""
    written(place, 1)
    written(place.with_name("other"), 9, chunks=2)
    store = LocalStore.open(place)
    for version in range(2, 6):  # the one replaced is ahead of the new one
        put(store, "a.md", [f"shared version{version}"])
    place.rename(place.with_name("old"))
    place.with_name("other").rename(place)
    with store.snapshot() as view:
        assert view.fetch([key("a.md")])[key("a.md")].text.endswith("version9")
        assert view.size == 2
    put(store, "a.md", ["shared version10"])
    assert store.status().chunks == 1
    shutil.rmtree(place)
    with pytest.raises(StoreUnreachable):
        store.status()
    store.close()


@as_root
@pytest.mark.requirement("ENGINE-4")
def test_a_database_that_is_locked_for_long_is_an_error_not_read_beside_the_lock(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only where nothing can be written is the file taken as it lies."""
    written(place, 1)
    without_log_files(place)
    other = sqlite3.connect(place / "citewell.db", isolation_level=None)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN IMMEDIATE")
    other.execute("UPDATE meta SET value = value WHERE name = 'sequence'")
    monkeypatch.setattr("citewell.adapters.local.core._LEAST_TIMEOUT_S", 0.2)
    with reader(versions(place, patience_s=0.2)) as look_again:
        said = look_again()
    assert said.startswith((StoreLocked.__name__, StoreUnreachable.__name__))
    other.execute("ROLLBACK")
    other.close()


@pytest.mark.requirement("ENGINE-4", "INGEST-7")
def test_a_replacement_at_any_moment_is_an_error_to_try_again_after_and_never_a_mixture(place: Path) -> None:
    written(place, 1)
    written(place.with_name("other"), 2)
    store = LocalStore.open(place)
    core = store._core()
    put(store, "b.md", ["shared"])
    with core.reading() as first:
        place.rename(place.with_name("old"))
        place.with_name("other").rename(place)
        with pytest.raises(StoreLocked, match="again"), core.reading():
            pytest.fail("a second reader must not begin on another file than the first")
        assert first.execute("SELECT count(*) FROM documents").fetchone() == (2,)
    with pytest.raises(StoreLocked, match="again"), core.writing():
        pytest.fail("what is written to a file that has lost its name would be lost with it")
    put(store, "c.md", ["shared"])
    assert [info.doc_id for info in store.documents()] == ["a.md", "c.md"]
    store.close()


@pytest.mark.requirement("ENGINE-4")
def test_a_store_opened_by_a_relative_path_and_replaced_is_found_where_it_was(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(place, 1)
    written(place.with_name("other"), 2)
    monkeypatch.chdir(place.parent)
    store = LocalStore.open(place.name)
    assert store.status().chunks == 1
    place.rename(place.with_name("old"))
    place.with_name("other").rename(place)
    monkeypatch.chdir("/")
    with store.snapshot() as view:
        assert view.fetch([key("a.md")])[key("a.md")].text.endswith("version2")
    store.close()


@pytest.mark.requirement("ENGINE-4")
def test_damage_seen_in_a_file_that_is_being_written_is_no_damage(place: Path) -> None:
    written(place, 1)
    store = LocalStore.open(place)
    connections = store._core().connections
    with store._core().reading():
        pass
    assert connections._edition is not None
    connections._edition = replace(connections._edition, content=(1, 2, 3))
    for seen in (StoreCorrupt("torn"), sqlite3.DatabaseError("torn")):
        with pytest.raises(StoreLocked, match="again"), store._own.reading():
            raise seen
    store.close()


@as_root
@pytest.mark.requirement("ENGINE-4", "INGEST-7")
def test_a_reader_waits_a_moment_for_the_log_files_of_a_writer_that_has_just_closed(place: Path) -> None:
    written(place, 1)
    without_log_files(place)
    lacking, tell = os.pipe()
    made, finish = os.pipe()

    def opened() -> Callable[[], str]:
        def pause(_: float) -> None:
            os.write(tell, b"!")
            os.read(made, 1)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("citewell.adapters.local.files.time.sleep", pause)
            store = LocalStore.open(place)
        edition = store._own.connections._edition
        assert edition is not None
        return lambda: "frozen" if edition.is_frozen else "shared"

    def put_back() -> None:
        os.read(lacking, 1)
        written(place, 2)
        os.write(finish, b"!")

    writer = os.fork()
    if writer == 0:
        put_back()
        os._exit(0)
    with reader(opened) as look_again:
        assert look_again() == "shared"
    os.write(tell, b"!")  # were it never asked for, it would wait for ever
    os.waitpid(writer, 0)
    for end in (lacking, tell, made, finish):
        os.close(end)


@pytest.mark.requirement("ENGINE-4")
def test_a_store_closed_by_another_thread_lets_a_write_finish_and_then_closes_its_connection(place: Path) -> None:
    store = LocalStore.open(place)
    core = store._core()
    with core.writing() as writer:
        store.close()
        assert writer.execute("SELECT count(*) FROM documents").fetchone() == (0,)
    with pytest.raises(sqlite3.ProgrammingError):
        writer.execute("SELECT 1")
    assert (place / "citewell.db-shm").exists()


@pytest.mark.requirement("ENGINE-4")
def test_a_connection_that_can_not_be_rolled_back_is_closed_and_hides_no_answer_and_no_error(place: Path) -> None:
    class Stuck(sqlite3.Connection):
        def rollback(self) -> None:
            raise sqlite3.OperationalError("disk I/O error")

    store = LocalStore.open(place)
    connections = store._core().connections
    for divisor in (1, 0):
        stuck = sqlite3.connect(place / "citewell.db", factory=Stuck, isolation_level=None)
        connections._idle.append(stuck)
        with pytest.raises(ZeroDivisionError) if divisor == 0 else nullcontext(), store._core().reading() as connection:
            assert connection is stuck
            assert 1 / divisor
        with pytest.raises(sqlite3.ProgrammingError):
            stuck.execute("SELECT 1")
    store.close()
