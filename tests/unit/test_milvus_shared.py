"""Several stores of one process on one Milvus Lite: what one of them does must not trouble the others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from citewell.adapters.milvus import MilvusStore
from citewell.adapters.milvus.chunks import Chunks
from citewell.adapters.milvus.client import Client
from citewell.errors import StoreError
from citewell.testing.store_base import key, look, put


@pytest.fixture
def location(tmp_path: Path) -> str:
    return f"milvus:{tmp_path}/kb.db"


@pytest.fixture
def store(location: str) -> Iterator[MilvusStore]:
    store = MilvusStore.open(location)
    yield store
    store.close()


def fail_to_write(store: MilvusStore) -> None:
    with pytest.raises(StoreError):
        store._client.call("insert", "citewell", [{"id": "row without fields"}])


@pytest.mark.requirement("ENGINE-2", "INGEST-7")
def test_after_a_failed_write_every_store_of_the_process_goes_on_reading_and_writing(
    store: MilvusStore, location: str
) -> None:
    put(store, "a.md", ["shared a"])
    other = MilvusStore.open(location)
    assert look(other, "shared").everywhere == [key("a.md")]
    fail_to_write(store)
    assert look(other, "shared").everywhere == [key("a.md")]
    fail_to_write(store)
    put(other, "b.md", ["shared b"])
    assert look(store, "shared").everywhere == [key("a.md"), key("b.md")]
    other.close()


@pytest.mark.requirement("ENGINE-2", "INGEST-7")
def test_a_read_under_way_while_the_engine_is_opened_anew_is_done_again(
    store: MilvusStore, location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, "a.md", ["shared a"])
    other = MilvusStore.open(location)
    held, failures = other._client._client, [store]

    class Interrupted:
        """The connection; while it queries for the first time, another store's write fails."""

        def query(self, *args: object, **options: object) -> object:
            while failures:
                fail_to_write(failures.pop())
            return held.query(*args, **options)

        def close(self) -> None:
            held.close()

    monkeypatch.setattr(other._client, "_client", Interrupted())
    stored = other.stored("a.md")
    assert stored is not None
    assert len(stored.context_digests) == 1
    other.close()


@pytest.mark.requirement("ENGINE-2", "INGEST-7")
def test_a_store_that_is_opened_while_another_replaces_a_document_is_not_taken_for_damaged(
    store: MilvusStore, location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, "a.md", ["shared a"] * 4)
    count, writes = Chunks.count, [2]

    def after_a_write(self: Chunks, chosen: str) -> int:
        while writes:
            put(store, "a.md", ["shared b"] * writes.pop())
        return count(self, chosen)

    monkeypatch.setattr(Chunks, "count", after_a_write)
    other = MilvusStore.open(location)
    assert look(other, "shared").everywhere == [key("a.md", 0), key("a.md", 1)]
    other.close()


@pytest.mark.requirement("ENGINE-2")
def test_a_client_that_is_closed_leaves_the_engine_to_those_who_use_it(store: MilvusStore, location: str) -> None:
    put(store, "a.md", ["shared a"])
    Client(location).close()
    assert look(store, "shared").everywhere == [key("a.md")]
