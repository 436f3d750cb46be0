"""Several processes on one store: writers take turns, readers see whole versions, kills and forks do no harm."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from citewell.adapters.local import LocalStore
from citewell.errors import StoreError, StoreLocked
from citewell.model import Filters
from citewell.testing.samples import change
from citewell.testing.store_base import EMBEDDER, key, keys_of, look, put, size_of, version_of, write

WRITER = """
import sys
from citewell.adapters.local import LocalStore
from citewell.testing.store_base import put
store = LocalStore.open(sys.argv[1])
for turn in range(int(sys.argv[2]), int(sys.argv[3])):
    chunks = 2 + turn % 4
    for doc_id in ("a.md", "b.md"):
        put(store, doc_id, [f"shared turn{turn} of{chunks}"] * chunks, metadata={"turn": turn})
    put(store, f"new{turn}.md", [f"shared fresh{turn}"])
    print(turn, flush=True)
    store.compact() if turn % 5 == 4 else None
print("done", flush=True)
"""
HOLDER = """
import sys, time
from citewell.adapters.local import LocalStore
store = LocalStore.open(sys.argv[1])
with store._core().writing():
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
    return started.stdout.readline().strip()


def say(started: subprocess.Popen[str], line: str) -> None:
    assert started.stdin is not None
    started.stdin.write(f"{line}\n")
    started.stdin.flush()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    LocalStore.open(tmp_path / "store").close()
    return tmp_path / "store"


def assert_whole(store: LocalStore) -> None:
    """Each document is one version, whole, on every path."""
    with store.snapshot() as view:
        found = keys_of(view.dense(EMBEDDER.embed_query("shared"), 10_000, Filters()))
        assert sorted(found) == sorted(keys_of(view.lexical(("shared",), 10_000, Filters())))
        assert len(found) == view.size
        chunks = view.fetch(found)
        assert len(chunks) == view.size
        for doc_id in ("a.md", "b.md"):
            texts = [chunk.text for chunk in chunks.values() if chunk.doc_id == doc_id]
            assert len(set(texts)) <= 1
            assert not texts or texts[0].endswith(f"of{len(texts)}")


@pytest.mark.requirement("INGEST-5", "INGEST-7")
def test_a_reader_beside_a_writing_process_sees_whole_versions_and_every_acknowledged_write(path: Path) -> None:
    """I104, across processes: the writer says what it has written, the reader must find it in the next line."""
    store = LocalStore.open(path)
    with process(WRITER, path, 0, 25) as writer:
        while (said := line_of(writer)) != "done":
            assert look(store, f"fresh{said}", k=5).lexical == (key(f"new{said}.md"),)
            stored = store.stored("a.md")
            assert stored is not None
            assert int(str(stored.record.metadata["turn"])) >= int(said)
            assert_whole(store)
    assert store.verify().ok
    store.close()


@pytest.mark.requirement("INGEST-7", "ENGINE-1")
def test_after_a_kill_at_any_moment_the_store_opens_whole_and_loses_nothing_acknowledged(path: Path) -> None:
    chance = random.Random(7)
    acknowledged = -1
    for _ in range(6):
        with process(WRITER, path, acknowledged + 1, acknowledged + 50) as writer:
            for _ in range(chance.randrange(1, 8)):
                acknowledged = int(line_of(writer))
            time.sleep(chance.random() * 0.04)
            writer.send_signal(signal.SIGKILL)
        store = LocalStore.open(path, lock_timeout_s=5)
        assert_whole(store)
        for turn in range(acknowledged + 1):
            assert store.stored(f"new{turn}.md") is not None
        assert store.verify().findings == ()
        put(store, "after.md", ["shared after the kill"])
        store.close()


@pytest.mark.requirement("ENGINE-4", "INGEST-7")
def test_a_second_writer_waits_for_a_bounded_time_and_is_told_who_writes(path: Path) -> None:
    """I131: readers go on meanwhile; once the holder is gone, killed or not, writing goes on, too."""
    store = LocalStore.open(path, lock_timeout_s=0.2)
    with process(HOLDER, path) as holder:
        assert line_of(holder) == "held"
        with pytest.raises(StoreLocked, match=f"process {holder.pid} on ") as refusal:
            put(store, "a.md", ["shared"])
        assert "store.lock-timeout" in refusal.value.way_out
        assert look(store, "shared").everywhere == []
        holder.kill()
        holder.wait()
    put(store, "a.md", ["shared"])
    assert look(store, "shared").everywhere == [key("a.md")]
    store.close()


@pytest.mark.requirement("INGEST-7")
def test_a_second_writer_goes_on_as_soon_as_the_first_lets_go(path: Path) -> None:
    store = LocalStore.open(path, lock_timeout_s=30)
    with process(HOLDER, path) as holder:
        assert line_of(holder) == "held"
        release = threading.Timer(0.2, say, (holder, "go"))
        release.start()
        write(store, change("a.md", ["shared"]))
        release.join()
    assert look(store, "shared").everywhere == [key("a.md")]
    store.close()


@pytest.mark.requirement("INGEST-7")
def test_two_threads_of_a_process_take_turns_and_the_second_is_told_of_the_first(path: Path) -> None:
    store = LocalStore.open(path, lock_timeout_s=0.05)
    with store._core().writing():
        refusals: list[StoreError] = []

        def attempt() -> None:
            try:
                write(store, change("a.md", ["shared"]))
            except StoreLocked as refusal:
                refusals.append(refusal)

        second = threading.Thread(target=attempt)
        second.start()
        second.join()
    assert "another thread of this process" in refusals[0].message
    write(store, change("a.md", ["shared"]))
    store.close()


@pytest.mark.requirement("INGEST-7")
def test_a_crash_between_the_commit_and_the_index_loses_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class CrashError(BaseException):
        pass

    def crash(*_: object, **__: object) -> None:
        raise CrashError

    store, other = LocalStore.open(path), LocalStore.open(path)
    put(store, "a.md", ["shared old"])
    assert look(other, "shared").everywhere == [key("a.md")]
    with monkeypatch.context() as patched:
        patched.setattr("citewell.adapters.local.index.Index.settle", crash)
        with pytest.raises(CrashError):
            put(store, "a.md", ["shared new", "shared newer"])
    for reader in (other, store, LocalStore.open(path)):
        assert look(reader, "shared").everywhere == [key("a.md"), key("a.md", 1)]
        assert look(reader, "old", k=5).lexical == ()
        assert reader.verify().findings == ()
        reader.close()


@pytest.mark.requirement("INGEST-7")
def test_a_crash_before_the_commit_leaves_everything_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Row and term numbers that were rolled back go to others; nothing may remember them."""
    store = LocalStore.open(path)
    put(store, "a.md", ["shared old"])
    with monkeypatch.context() as patched:
        patched.setattr("citewell.adapters.local.writing._end", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            put(store, "a.md", ["shared unheard"])
    put(store, "b.md", ["shared word"])
    assert look(store, "shared").everywhere == [key("a.md"), key("b.md")]
    assert look(store, "unheard", k=5).lexical == ()
    put(store, "c.md", ["shared unheard"])
    assert look(store, "unheard", k=5).lexical == (key("c.md"),)
    assert look(store, "word", k=5).lexical == (key("b.md"),)
    assert store.verify().findings == ()
    store.close()


def in_child(act: object) -> int:
    """Fork, run the callable in the child and return its exit code: 0 if it came through."""
    assert callable(act)
    child = os.fork()
    if child == 0:
        try:
            act()
        except BaseException:  # noqa: BLE001 - the child must not return into pytest, whatever happens
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.requirement("ENGINE-1")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_reads_and_writes_beside_its_parent(path: Path) -> None:
    store = LocalStore.open(path, lock_timeout_s=5)
    put(store, "a.md", ["shared"])
    assert look(store, "shared").everywhere == [key("a.md")]

    parents = store._core()

    def child() -> None:
        assert look(store, "shared").everywhere == [key("a.md")]
        assert store._core() is not parents  # its connections are the parent's and must not be used here
        put(store, "b.md", ["shared"])
        assert look(store, "shared").everywhere == [key("a.md"), key("b.md")]
        store.close()

    assert in_child(child) == 0
    assert look(store, "shared").everywhere == [key("a.md"), key("b.md")]
    put(store, "c.md", ["shared"])
    assert size_of(store) == 3
    assert store.verify().findings == ()
    store.close()


@pytest.mark.requirement("ENGINE-1", "INGEST-7")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_child_forked_during_a_write_does_not_hold_on_to_the_lock(path: Path) -> None:
    store = LocalStore.open(path, lock_timeout_s=1)
    with store._core().writing():
        child = os.fork()
        if child == 0:
            signal.pause()
    try:
        put(store, "a.md", ["shared"])
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert version_of(store, "a.md") > 0
    store.close()
