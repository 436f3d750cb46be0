"""The store contract on doing several things at once: snapshots, readers beside a writer, writers beside each other."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from citewell.errors import StoreConflict
from citewell.ports import Snapshot, Store
from citewell.testing.requirement import requirement
from citewell.testing.samples import change
from citewell.testing.store_base import (
    ANY,
    EMBEDDER,
    PATIENCE_S,
    StoreSuite,
    keys_of,
    look,
    put,
    size_of,
    write,
)


def put_version(store: Store, name: str, chunks: int) -> None:
    """Write `a.md` with this many chunks, every one of them bearing the version's name in text, title and metadata."""
    put(
        store,
        "a.md",
        [f"shared {name} {at}" for at in range(chunks)],
        title=name,
        category=name,
        metadata={"name": name},
    )


def versions_in(snapshot: Snapshot) -> set[tuple[str, int]]:
    """Which versions (name, chunks) of `a.md` the calls of one snapshot show; one, if it is consistent."""
    vector = EMBEDDER.embed_query("shared")
    dense = keys_of(snapshot.dense(vector, 50, ANY))
    lexical = keys_of(snapshot.lexical(("shared",), 50, ANY))
    chunks = snapshot.fetch(dense)
    named = {(str(chunk.metadata["name"]), chunk.text.split()[1], chunk.title) for chunk in chunks.values()}
    counts = {snapshot.size, len(dense), len(lexical), len(chunks), len(snapshot.similarities(vector, dense))}
    held = {name for name in ("old", "new") if snapshot.lexical((name,), 50, ANY)}
    assert sorted(dense) == sorted(lexical)
    return {(name, count) for names in named for name in (*names, *held) for count in counts}


class Snapshots(StoreSuite):
    """A snapshot shows one committed version of each document."""

    @requirement("INGEST-5", "INGEST-7")
    def test_a_snapshot_goes_on_showing_the_version_that_it_has_shown(self, store: Store) -> None:
        put_version(store, "old", 5)
        with store.snapshot() as snapshot:
            assert versions_in(snapshot) == {("old", 5)}
            put_version(store, "new", 3)
            assert versions_in(snapshot) == {("old", 5)}
            with store.snapshot() as later:
                assert versions_in(later) == {("new", 3)}
            assert versions_in(snapshot) == {("old", 5)}

    @requirement("INGEST-5", "INGEST-7")
    def test_a_snapshot_first_read_after_a_write_shows_one_version_whole(self, store: Store) -> None:
        put_version(store, "old", 5)
        with store.snapshot() as snapshot:
            put_version(store, "new", 3)
            assert versions_in(snapshot) in ({("old", 5)}, {("new", 3)})

    @requirement("INGEST-5", "INGEST-7")
    def test_a_snapshot_keeps_a_document_that_is_deleted_meanwhile(self, store: Store) -> None:
        put_version(store, "old", 5)
        with store.snapshot() as snapshot:
            assert versions_in(snapshot) == {("old", 5)}
            store.delete(["a.md"])
            assert versions_in(snapshot) == {("old", 5)}
        assert size_of(store) == 0

    @requirement("INGEST-7")
    def test_a_snapshot_left_by_an_error_does_not_hold_up_writers(self, store: Store) -> None:
        put_version(store, "old", 5)

        class BrokenReaderError(Exception):
            pass

        for _ in range(20):
            try:
                with store.snapshot() as snapshot:
                    assert snapshot.size == 5
                    raise BrokenReaderError
            except BrokenReaderError:
                pass
        put_version(store, "new", 3)
        assert look(store, "new", k=5).lexical


class Threads(StoreSuite):
    """Readers never wait for writers and never see half a write; writers take turns."""

    @requirement("INGEST-5", "INGEST-7")
    def test_readers_beside_a_writer_see_whole_versions_only(self, store: Store) -> None:
        put_version(store, "old", 5)
        done = threading.Event()

        def write_versions() -> None:
            try:
                for turn in range(20):
                    put_version(store, *(("old", 5) if turn % 2 else ("new", 3)))
            finally:
                done.set()

        def read() -> list[set[tuple[str, int]]]:
            seen: list[set[tuple[str, int]]] = []
            while not (done.is_set() and seen):
                with store.snapshot() as snapshot:
                    seen.append(versions_in(snapshot))
            return seen

        _, *readings = together(write_versions, read, read)
        assert all(seen in ({("old", 5)}, {("new", 3)}) for reading in readings for seen in reading)

    @requirement("INGEST-7")
    def test_a_reader_does_not_wait_for_the_snapshot_of_another(self, store: Store) -> None:
        put_version(store, "old", 5)
        with store.snapshot() as snapshot:
            (seen,) = together(lambda: look(store, "shared").everywhere)
            assert len(seen) == snapshot.size

    @requirement("INGEST-7")
    def test_one_snapshot_may_be_read_by_several_threads(self, store: Store) -> None:
        put_version(store, "old", 5)
        with store.snapshot() as snapshot:
            assert together(*[lambda: versions_in(snapshot)] * 4) == [{("old", 5)}] * 4

    @requirement("INGEST-7")
    def test_writers_of_different_documents_all_succeed(self, store: Store) -> None:
        write(store)
        start = threading.Barrier(3, timeout=PATIENCE_S)
        batches = {
            name: [[change(f"{name}{batch}{doc}", ["shared"] * 5) for doc in range(8)] for batch in range(4)]
            for name in "abc"
        }

        def writer(name: str) -> Callable[[], None]:
            def run() -> None:
                start.wait()
                for batch in batches[name]:
                    store.apply(batch)

            return run

        together(*(writer(name) for name in batches))
        expected = [f"{name}{batch}{doc}" for name in "abc" for batch in range(4) for doc in range(8)]
        assert [info.doc_id for info in store.documents()] == expected
        assert len(look(store, "shared").everywhere) == 5 * len(expected)
        assert store.verify().ok

    @requirement("INGEST-5", "INGEST-7")
    def test_writers_of_one_document_lose_no_update(self, store: Store) -> None:
        """Each counts up what is stored; whoever planned against an older version is told so and plans again."""
        put(store, "a.md", ["shared"], metadata={"count": 0})

        def count_up() -> None:
            for _ in range(10):
                while not counted_once(store):
                    pass

        together(count_up, count_up)
        stored = store.stored("a.md")
        assert stored is not None
        assert stored.record.metadata == {"count": 20}
        assert size_of(store) == 1


def counted_once(store: Store) -> bool:
    """Whether the count in `a.md` could be raised by one before somebody else wrote it."""
    stored = store.stored("a.md")
    assert stored is not None
    count = int(str(stored.record.metadata["count"])) + 1
    try:
        store.apply([change("a.md", ["shared"], metadata={"count": count}, expected_version=stored.version)])
    except StoreConflict:
        return False
    return True


def together(*tasks: Callable[[], Any]) -> list[Any]:
    """Run the tasks in threads of their own and return what they returned; an error in one fails the test."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # threads that take turns more often meet in the middle of more writes
    try:
        with ThreadPoolExecutor(len(tasks)) as pool:
            futures = [pool.submit(task) for task in tasks]
            return [future.result(PATIENCE_S) for future in futures]
    finally:
        sys.setswitchinterval(usual)
