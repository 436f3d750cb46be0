"""Sessions of the embedded engine: several processes, kills, forks, damage, no room; documents are never at stake."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citewell.adapters.local import LocalStore
from citewell.adapters.local.sessions import LocalSessions
from citewell.adapters.memory_sessions import MemorySessions
from citewell.errors import StoreCorrupt, StoreError, StoreUnreachable, StoreVersion
from citewell.model import SessionPolicy
from citewell.testing import SessionContract
from citewell.testing.sessions import entry, keys, known, names, record
from citewell.testing.store_base import look, put

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


class TestLocalSessions(SessionContract):
    """Alone, without a store around them."""

    @pytest.fixture
    def sessions(self, tmp_path: Path) -> Iterator[LocalSessions]:
        sessions = LocalSessions(tmp_path)
        yield sessions
        sessions.close()


class TestMemorySessions(SessionContract):
    @pytest.fixture
    def sessions(self) -> Iterator[MemorySessions]:
        sessions = MemorySessions()
        yield sessions
        sessions.close()


entries = st.lists(
    st.builds(entry, st.sampled_from("abcdé文"), st.integers(0, 12).map(float), digest=st.sampled_from("xy")),
    max_size=4,
)
scopes = st.sampled_from([None, (), ("t",), ("t", "u"), ("tt",)])
policies = st.builds(SessionPolicy, st.integers(1, 4), st.integers(0, 12).map(float), st.integers(1, 4))
deeds = st.one_of(
    st.tuples(st.sampled_from("rs文"), scopes, entries, policies),
    st.tuples(st.sampled_from("rs文"), scopes, entries, policies),
    st.sampled_from("rs文"),
)


@pytest.mark.requirement("SESSION-2")
@settings(max_examples=60)
@given(st.lists(deeds, max_size=15))
def test_whatever_is_recorded_and_forgotten_the_answers_are_those_of_the_reference(taken: list[object]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        local, memory = LocalSessions(Path(folder)), MemorySessions()
        for deed in taken:
            if isinstance(deed, tuple):
                session, scope, shown, policy = deed
                for sessions in (local, memory):
                    sessions.record(session, scope, shown, policy=policy)
            else:
                assert local.forget(str(deed)) == memory.forget(str(deed))
            assert list(local.sessions()) == list(memory.sessions())
            for name in names(memory):
                assert known(local, *name) == known(memory, *name)
        local.close()


RECORDER = """
import sys
from citewell.adapters.local.sessions import LocalSessions
from citewell.testing.sessions import entry, record
from pathlib import Path
sessions = LocalSessions(Path(sys.argv[1]))
sys.stdin.readline()
for turn in range(int(sys.argv[3])):
    record(sessions, "s", entry(f"{sys.argv[2]}{turn}"), entry(f"{sys.argv[2]}{turn}'"))
    print(turn, flush=True)
print("done", flush=True)
"""
HOLDER = """
import sys
from citewell.adapters.local import LocalStore
store = LocalStore.open(sys.argv[1])
with store._core().writing() as connection:
    connection.execute("BEGIN IMMEDIATE")
    print("held", flush=True)
    sys.stdin.readline()
"""


@contextmanager
def process(program: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """A process of this Python that runs the program; killed at the end if it still runs."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as started:
        try:
            yield started
        finally:
            started.kill()


def line_of(started: subprocess.Popen[str]) -> str:
    assert started.stdout is not None
    line = started.stdout.readline()
    assert line, "the process ended"  # else whoever waits for a certain line waits for ever
    return line.strip()


def go(started: subprocess.Popen[str]) -> None:
    assert started.stdin is not None
    started.stdin.write("go\n")
    started.stdin.flush()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LocalStore]:
    store = LocalStore.open(tmp_path / "store")
    put(store, "a.md", ["shared words"])
    yield store
    store.close()


@pytest.mark.requirement("SESSION-2")
def test_two_processes_that_make_the_file_and_record_at_once_lose_nothing(tmp_path: Path) -> None:
    with process(RECORDER, tmp_path, "a", 15) as one, process(RECORDER, tmp_path, "b", 15) as other:
        go(one)
        go(other)
        for started in (one, other):
            while line_of(started) != "done":
                pass
    sessions = LocalSessions(tmp_path)
    assert keys(sessions, "s") == sorted(
        f"{name}{turn}{end}" for name in "ab" for turn in range(15) for end in ("", "'")
    )
    sessions.close()


@pytest.mark.requirement("SESSION-2")
def test_an_open_store_sees_what_another_process_records(store: LocalStore) -> None:
    assert keys(store.sessions(), "s") == []
    with process(RECORDER, store.path, "a", 1) as other:
        go(other)
        assert line_of(other) == "0"
        assert keys(store.sessions(), "s") == ["a0", "a0'"]


@pytest.mark.requirement("SESSION-2", "INGEST-7")
def test_what_was_acknowledged_before_a_kill_is_remembered(tmp_path: Path) -> None:
    with process(RECORDER, tmp_path, "a", 10_000) as recorder:
        go(recorder)
        for _ in range(20):
            acknowledged = int(line_of(recorder))
        recorder.send_signal(signal.SIGKILL)
        recorder.wait()
    sessions = LocalSessions(tmp_path)
    found = keys(sessions, "s")
    assert {f"a{turn}{end}" for turn in range(acknowledged + 1) for end in ("", "'")} <= set(found)
    assert len(found) % 2 == 0, "a record is kept whole or not at all"
    record(sessions, "s", entry("after"))
    sessions.close()


@pytest.mark.requirement("SESSION-2", "INGEST-7")
def test_recording_waits_for_no_process_that_holds_the_write_lock_within_a_transaction(store: LocalStore) -> None:
    record(store.sessions(), "s", entry("before"))
    with process(HOLDER, store.path) as holder:
        assert line_of(holder) == "held"
        record(store.sessions(), "s", entry("meanwhile"))
        assert keys(store.sessions(), "s") == ["before", "meanwhile"]
        assert holder.poll() is None


def in_child(act: Callable[[], None]) -> int:
    """Carry it out in a forked child; its exit code, 0 if it went well."""
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        try:
            act()
        except BaseException:  # noqa: BLE001 - the child must not return into pytest, whatever happens
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.requirement("SESSION-2")
def test_after_a_fork_parent_and_child_go_on_recording(store: LocalStore) -> None:
    sessions = store.sessions()
    record(sessions, "s", entry("parent"))

    def act() -> None:
        assert keys(sessions, "s") == ["parent"]
        record(sessions, "s", entry("child"))
        sessions.close()

    assert in_child(act) == 0
    record(sessions, "s", entry("later"))
    assert keys(sessions, "s") == ["child", "later", "parent"]


@pytest.mark.requirement("SESSION-2")
def test_a_child_forked_while_a_thread_records_does_not_wait_for_it(store: LocalStore) -> None:
    sessions = store.sessions()
    record(sessions, "s", entry("parent"))
    inside, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with sessions._file.written():
            inside.set()
            leave.wait(60)

    def look_up() -> None:
        assert keys(sessions, "s") == ["parent"]

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait(60)
    try:
        assert in_child(look_up) == 0
    finally:
        leave.set()
        thread.join()


def garbage(file: Path) -> None:
    file.write_bytes(b"no database at all " * 500)


def emptied(file: Path) -> None:
    file.write_bytes(b"")


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:5_000])


def overwritten(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    file.write_bytes(content)


def of_another_program(file: Path) -> None:
    file.unlink()
    connection = sqlite3.connect(file)
    connection.execute("CREATE TABLE shown (x)")
    connection.commit()
    connection.close()


def damaged(store: LocalStore, damage: Callable[[Path], None]) -> LocalStore:
    """The store opened anew with its file of sessions damaged, which held 200 entries."""
    record(store.sessions(), "s", *(entry(f"{'x' * 60}{number}") for number in range(200)))
    store.close()
    file = store.path / "sessions.db"
    for end in ("-wal", "-shm"):
        file.with_name(f"sessions.db{end}").unlink(missing_ok=True)
    damage(file)
    return LocalStore.open(store.path)


def assert_says_what_to_do(error: StoreError, file: Path) -> None:
    assert str(file) in error.message
    assert "verify --repair" in error.way_out
    assert "documents are not touched" in error.way_out
    assert "delete" not in str(error).lower()
    assert "new directory" not in error.way_out


@pytest.mark.requirement("SESSION-2", "ENGINE-4")
@pytest.mark.parametrize("damage", [garbage, emptied, cut, overwritten, of_another_program])
def test_a_damaged_file_of_sessions_is_named_and_documents_are_found_as_before(
    store: LocalStore, damage: Callable[[Path], None]
) -> None:
    opened = damaged(store, damage)
    calls: list[Callable[[], object]] = [
        lambda: opened.sessions().shown("s", None, since=0.0),
        lambda: record(opened.sessions(), "s", entry("b")),
        lambda: list(opened.sessions().sessions()),
        lambda: opened.sessions().forget("s"),
    ]
    for call in calls:
        with pytest.raises(StoreCorrupt) as refusal:
            call()
        assert_says_what_to_do(refusal.value, opened.path / "sessions.db")
    assert look(opened, "shared").everywhere == ["a.md#chunk-0"]
    opened.close()


@pytest.mark.requirement("SESSION-2", "ENGINE-4")
@pytest.mark.parametrize("damage", [garbage, emptied, cut, overwritten])
def test_a_file_of_sessions_that_is_damaged_under_an_open_store_is_no_longer_answered_from_memory(
    store: LocalStore, damage: Callable[[Path], None]
) -> None:
    names = [f"{'x' * 60}{number}" for number in range(200)]
    record(store.sessions(), "s", *map(entry, names))
    store.close()
    opened = LocalStore.open(store.path)
    assert keys(opened.sessions(), "s") == sorted(names)
    damage(store.path / "sessions.db")
    with pytest.raises(StoreCorrupt) as refusal:
        keys(opened.sessions(), "s")
    assert_says_what_to_do(refusal.value, store.path / "sessions.db")
    with pytest.raises(StoreCorrupt):
        record(opened.sessions(), "s", entry("b"))
    opened.verify(repair=True)
    record(opened.sessions(), "s", entry("anew"))
    assert keys(opened.sessions(), "s") == ["anew"]
    opened.close()


@pytest.mark.requirement("SESSION-2", "ENGINE-4")
@pytest.mark.parametrize("damage", [garbage, emptied, cut, overwritten, of_another_program])
def test_verify_reports_a_damaged_file_of_sessions_and_repair_sets_it_aside(
    store: LocalStore, damage: Callable[[Path], None]
) -> None:
    opened = damaged(store, damage)
    content = (opened.path / "sessions.db").read_bytes()
    (found,) = opened.verify().findings
    assert (found.kind, found.where, found.repaired) == ("damaged", "sessions.db", False)
    (repaired,) = opened.verify(repair=True).findings
    assert repaired.repaired
    assert "sessions.db.damaged" in repaired.detail
    assert (opened.path / "sessions.db.damaged").read_bytes() == content
    assert opened.verify().findings == ()
    record(opened.sessions(), "s", entry("anew"))
    assert keys(opened.sessions(), "s") == ["anew"]
    assert look(opened, "shared").everywhere == ["a.md#chunk-0"]
    opened.close()


@pytest.mark.requirement("SESSION-2", "ENGINE-4")
def test_a_second_damaged_file_does_not_take_the_place_of_the_first(store: LocalStore) -> None:
    opened = damaged(store, garbage)
    opened.verify(repair=True)
    record(opened.sessions(), "s", entry("a"))
    again = damaged(opened, emptied)
    again.verify(repair=True)
    assert (again.path / "sessions.db.damaged").read_bytes().startswith(b"no database")
    assert (again.path / "sessions.db.damaged1").read_bytes() == b""
    again.close()


@pytest.mark.requirement("SESSION-2", "ENGINE-4")
def test_a_file_of_a_later_version_is_refused_by_name_and_left_alone(store: LocalStore) -> None:
    def newer(file: Path) -> None:
        connection = sqlite3.connect(file)
        connection.execute("PRAGMA user_version = 2")
        connection.close()

    opened = damaged(store, newer)
    with pytest.raises(StoreVersion, match=r"sessions\.db has version 2, and this Citewell reads version 1"):
        keys(opened.sessions(), "s")
    content = (opened.path / "sessions.db").read_bytes()
    for report in (opened.verify(), opened.verify(repair=True)):
        assert [(found.where, found.repaired) for found in report.findings] == [("sessions.db", False)]
    assert (opened.path / "sessions.db").read_bytes() == content
    opened.close()


@pytest.mark.requirement("SESSION-2", "ENGINE-4")
def test_a_store_open_for_reading_tells_what_was_shown_and_refuses_to_record(store: LocalStore) -> None:
    record(store.sessions(), "s", entry("a"))
    reader = LocalStore.open(store.path, read_only=True)
    assert keys(reader.sessions(), "s") == ["a"]
    with pytest.raises(StoreUnreachable, match="open for reading only, so sessions can't be remembered"):
        record(reader.sessions(), "s", entry("b"))
    record(store.sessions(), "s", entry("c"))
    assert keys(reader.sessions(), "s") == ["a", "c"]
    reader.close()
    store.close()
    alone = LocalStore.open(store.path, read_only=True)
    assert keys(alone.sessions(), "s") == ["a", "c"]
    alone.close()


@pytest.mark.requirement("SESSION-2", "ENGINE-4")
def test_a_store_open_for_reading_without_a_file_remembers_nothing_and_makes_none(store: LocalStore) -> None:
    store.close()
    before = sorted(path.name for path in store.path.iterdir())
    reader = LocalStore.open(store.path, read_only=True)
    assert keys(reader.sessions(), "s") == []
    assert names(reader.sessions()) == []
    assert reader.sessions().forget("s") == 0
    with pytest.raises(StoreUnreachable):
        record(reader.sessions(), "s", entry("b"))
    reader.close()
    assert sorted(path.name for path in store.path.iterdir()) == before


@pytest.mark.requirement("SESSION-2", "ENGINE-4")
def test_a_full_disk_is_named_and_what_was_known_stays(store: LocalStore) -> None:
    sessions = store.sessions()
    record(sessions, "s", entry("a"))
    (pages,) = sessions._file._connected().execute("PRAGMA page_count").fetchone()
    sessions._file._connected().execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreUnreachable, match=r"no space left to write .*sessions\.db") as refusal:
        record(sessions, "s", *(entry(f"{'x' * 500}{number}") for number in range(100)))
    assert "Free some space" in refusal.value.way_out
    assert keys(sessions, "s") == ["a"]
    sessions._file._connected().execute("PRAGMA max_page_count = 1000000")
    record(sessions, "s", entry("b"))
    assert keys(sessions, "s") == ["a", "b"]


@pytest.mark.requirement("SESSION-2", "ENGINE-4")
@pytest.mark.parametrize("ends", [("",), ("", "-wal", "-shm")])
def test_a_file_that_is_moved_away_while_it_is_open_makes_sessions_begin_anew(
    store: LocalStore, ends: tuple[str, ...]
) -> None:
    sessions = store.sessions()
    record(sessions, "s", entry("a"))
    for end in ends:
        file = store.path / f"sessions.db{end}"
        file.rename(file.with_name(f"moved{end}"))
    assert keys(sessions, "s") == []
    record(sessions, "s", entry("b"))
    assert keys(sessions, "s") == ["b"]
    assert store.verify().findings == ()


@pytest.mark.requirement("SESSION-2")
def test_nothing_is_left_in_the_file_of_sessions_that_are_forgotten(store: LocalStore) -> None:
    sessions = store.sessions()
    record(sessions, "old", entry("a", 1.0), entry("b", 1.0))
    record(sessions, "idle", entry("a", 50.0))
    record(sessions, "gone", entry("a", 51.0))
    sessions.forget("gone")
    record(sessions, "new", entry("a", 52.0), policy=SessionPolicy(max_age_s=10.0, max_sessions=1))
    connection = sessions._file._connected()
    assert connection.execute("SELECT name FROM session").fetchall() == [("new",)]
    assert connection.execute("SELECT count(*) FROM shown").fetchone() == (1,)


@pytest.mark.requirement("SESSION-2", "ENGINE-4")
def test_damage_that_may_not_be_set_aside_is_reported_and_left(store: LocalStore) -> None:
    damaged(store, garbage).close()
    reader = LocalStore.open(store.path, read_only=True)
    for report in (reader.verify(), reader.verify(repair=True)):
        assert [(found.where, found.repaired) for found in report.findings] == [("sessions.db", False)]
    reader.close()
    assert garbage_is_there(store.path / "sessions.db")


def garbage_is_there(file: Path) -> bool:
    return file.read_bytes().startswith(b"no database")


@pytest.mark.requirement("SESSION-2")
def test_nothing_is_written_before_there_is_something_to_remember(store: LocalStore) -> None:
    sessions = store.sessions()
    assert keys(sessions, "s") == []
    assert names(sessions) == []
    assert sessions.forget("s") == 0
    record(sessions, "s")
    assert not list(store.path.glob("sessions*"))
