"""Milvus Lite when something goes wrong: a killed writer, lost rows, strangers among them."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from citewell.adapters.milvus import MilvusStore
from citewell.adapters.milvus.client import Client
from citewell.errors import StoreCorrupt, StoreUnreachable
from citewell.model import Filters
from citewell.testing.store_base import EMBEDDER, key, look, put, size_of, texts_of
from citewell.testing.store_concurrency import together


@pytest.fixture
def location(tmp_path: Path) -> str:
    return f"milvus:{tmp_path}/kb.db"


@pytest.fixture
def store(location: str) -> Iterator[MilvusStore]:
    store = MilvusStore.open(location)
    yield store
    store.close()


def fill(location: str, stop_after: int) -> None:
    """Write documents of several chunks until killed; says each one that was acknowledged."""
    store = MilvusStore.open(location)
    for number in range(stop_after):
        doc_id = f"{number % 7}.md"
        put(store, doc_id, [f"shared v{number} c{at}" for at in range(1 + number % 5)])
        print(number, flush=True)  # noqa: T201 - what the test waits for


@pytest.mark.slow
@pytest.mark.requirement("INGEST-7", "ENGINE-4")
@pytest.mark.parametrize("after", [1, 4, 9, 16, 23])
def test_a_writer_that_is_killed_leaves_whole_versions_and_loses_nothing_acknowledged(
    location: str, after: int
) -> None:
    here = Path(__file__)
    code = f"import sys; sys.path[:0] = [{str(here.parent)!r}]; import {here.stem} as t; t.fill({location!r}, 1000)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        acknowledged = [int(writer.stdout.readline()) for _ in range(after)]
        writer.kill()
        acknowledged += [int(line) for line in writer.stdout.read().split()]
    store = MilvusStore.open(location)
    for doc in range(7):
        versions = [number for number in acknowledged if number % 7 == doc]
        texts = texts_of(store, [key(f"{doc}.md", at) for at in range(5)]).values()
        held = {int(text.split()[1][1:]) for text in texts}
        # One version, whole; the last one acknowledged, or the one that was being written.
        assert len(held) <= 1
        assert all(number >= max(versions, default=-1) for number in held)
        assert bool(held) or not versions
        assert all(len(texts) == 1 + number % 5 for number in held)
    assert sorted(look(store, "shared").dense) == sorted(look(store, "shared").lexical)
    assert len(look(store, "shared").dense) == size_of(store)
    put(store, "0.md", ["shared again"])
    assert store.verify().findings == ()
    store.close()


def parquets(path: Path) -> list[Path]:
    return sorted(path.glob("kb.db/collections/citewell/partitions/*/data/*.parquet"))


@pytest.mark.requirement("ENGINE-4", "INGEST-7")
def test_rows_that_are_gone_from_lites_files_are_noticed_and_can_be_written_again(
    location: str, tmp_path: Path
) -> None:
    store = MilvusStore.open(location)
    put(store, "a.md", ["shared one", "shared two"])
    store.compact()
    (first,) = parquets(tmp_path)
    put(store, "b.md", ["shared three"])
    store.close()
    first.unlink()
    store = MilvusStore.open(location)
    with pytest.raises(StoreCorrupt, match="holds 1 of 3 chunks") as refusal, store.snapshot():
        pass
    assert "verify --repair" in refusal.value.way_out
    report = store.verify()
    assert [(finding.kind, finding.repaired) for finding in report.findings] == [("missing", False)]
    assert "'a.md'" in report.findings[0].detail
    assert store.verify(repair=True).ok
    stored = store.stored("a.md")
    assert stored is not None
    assert stored.record.fingerprint == ""
    put(store, "a.md", ["shared one", "shared two"])
    assert look(store, "shared").everywhere == [key("a.md"), key("a.md", 1), key("b.md")]
    assert store.verify().findings == ()
    store.close()


@pytest.mark.requirement("ENGINE-4")
def test_rows_that_belong_to_no_document_are_found_and_removed_by_a_repair(store: MilvusStore) -> None:
    put(store, "a.md", ["shared"])
    put(store, "b.md", ["shared"])
    store._client.call("delete", "citewell_catalogue", filter='kind == "document" and version == 2')
    assert {finding.kind for finding in store.verify().findings} == {"orphaned", "stale"}
    assert store.verify(repair=True).ok
    assert store.verify().findings == ()
    assert look(store, "shared").everywhere == [key("a.md")]
    assert size_of(store) == 1


@pytest.mark.requirement("ENGINE-4")
def test_a_flush_that_fails_is_told_to_who_asked_for_it_and_costs_a_reader_nothing(
    location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = MilvusStore.open(location)
    put(store, "a.md", ["shared"] * 70)
    real = Client.call

    def call(client: Client, name: str, *args: object, **options: object) -> object:
        if name == "flush":
            raise StoreUnreachable("no space", way_out="Free some.")
        return real(client, name, *args, **options)

    with monkeypatch.context() as patched:
        patched.setattr(Client, "call", call)
        with pytest.raises(StoreUnreachable):
            store.compact()
        put(store, "a.md", ["shared"] * 70)
        assert len(look(store, "shared").everywhere) == 70
    store.compact()
    assert len(look(store, "shared").everywhere) == 70
    store.close()


@pytest.mark.slow
@pytest.mark.requirement("INGEST-7")
def test_searches_during_a_flush_miss_nothing(location: str) -> None:
    """Lite looks at its files first and at its memory then; what a flush moves in between is in neither."""
    store = MilvusStore.open(location)
    put(store, "a.md", ["shared"] * 20)
    put(store, "b.md", ["other"] * 40)
    done = threading.Event()

    def write_and_flush() -> None:
        try:
            for number in range(25):
                put(store, "b.md", [f"other {number}"] * 40)
                store.compact()
        finally:
            done.set()

    def search() -> set[int]:
        counts = set()
        while not done.is_set():
            with store.snapshot() as snapshot:
                hits = snapshot.dense(EMBEDDER.embed_query("shared"), 500, Filters())
                near = snapshot.similarities(EMBEDDER.embed_query("shared"), [key("b.md", at) for at in range(40)])
            counts |= {len(hits) - 20, len(near)}
        return counts

    _, *counted = together(write_and_flush, search, search)
    assert counted == [{40}, {40}]
    store.close()


@pytest.mark.requirement("INGEST-7")
def test_a_process_that_ends_between_any_two_writes_leaves_whole_documents_and_the_next_one_finishes(
    store: MilvusStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a process that ended would leave is the directory as it is just before each write."""
    put(store, "a.md", ["shared old 1", "shared old 2", "shared old 3"])
    left: list[Path] = []
    made = Client.call

    def call(client: Client, name: str, *args: object, **options: object) -> object:
        if name in ("insert", "upsert", "delete"):
            left.append(tmp_path / str(len(left)))
            shutil.copytree(tmp_path / "kb.db", left[-1] / "kb.db")
        return made(client, name, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Client, "call", call)
        put(store, "a.md", ["shared new 1 " + "x" * 70_000, "shared new 2"])
    assert len(left) >= 5
    held = [_texts_left(folder) for folder in left]
    assert held == sorted(held)
    assert {whole for _, whole in held} == {("old", 3), ("new", 2)}


def _texts_left(folder: Path) -> tuple[int, tuple[str, int]]:
    """0 and the old texts, or 1 and the new ones, that a store opened here finds; then it is written to."""
    store = MilvusStore.open(f"milvus:{folder}/kb.db")
    texts = texts_of(store, [key("a.md", at) for at in range(4)])
    (kind,) = {text.split()[1] for text in texts.values()}
    assert look(store, "shared").everywhere == sorted(texts)
    assert size_of(store) == len(texts)
    put(store, "b.md", ["shared other"])
    put(store, "a.md", ["shared newest"])
    assert look(store, "shared").everywhere == [key("a.md"), key("b.md")]
    assert store.verify().findings == ()
    store.close()
    return int(kind == "new"), (kind, len(texts))
