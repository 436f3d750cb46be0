"""A real Milvus server with several processes, killed ones among them: whole versions, clear errors, nothing lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from milvus_server import NoServerError, drop, milvus_server

from citewell.adapters.milvus import MilvusStore
from citewell.adapters.milvus.client import Client
from citewell.errors import StoreCorrupt, StoreLocked, StoreUnreachable, StoreVersion
from citewell.model import Filters
from citewell.testing.samples import change
from citewell.testing.store_base import EMBEDDER, dense, key, keys_of, look, put, random_units, size_of, texts_of, write

pytestmark = pytest.mark.slow

Open = Callable[..., MilvusStore]
PATIENCE_S = 60.0


@pytest.fixture
def open_store(milvus_uri: str) -> Iterator[Open]:
    """Opens stores on one fresh collection."""
    collection = f"edges_{uuid.uuid4().hex}"
    opened: list[MilvusStore] = []

    def open_it(**options: object) -> MilvusStore:
        given: dict[str, object] = {"collection": collection, "timeout_s": 30.0, **options}
        opened.append(MilvusStore.open(milvus_uri, **given))  # type: ignore[arg-type]
        return opened[-1]

    yield open_it
    for store in opened:
        store.close()
    drop(milvus_uri, collection)


def run(code: str, store: MilvusStore) -> subprocess.Popen[str]:
    """Another process that has `store` open on the same collection and the words of the contract at hand."""
    start = (
        "from citewell.adapters.milvus import MilvusStore\n"
        "from citewell.testing.store_base import put, look, texts_of, key, size_of\n"
        f"store = MilvusStore.open({store.location!r}, collection={store.collection!r}, timeout_s=30)\n"
    )
    return subprocess.Popen([sys.executable, "-c", start + code], stdout=subprocess.PIPE, text=True)


def lines(process: subprocess.Popen[str], count: int) -> list[str]:
    """The next lines that it says."""
    assert process.stdout is not None
    return [process.stdout.readline().strip() for _ in range(count)]


@pytest.mark.requirement("ENGINE-2", "INGEST-7")
def test_writers_of_two_processes_take_turns_and_lose_nothing(open_store: Open) -> None:
    store = open_store()
    put(store, "first.md", ["shared"])
    code = "for n in range(8): put(store, f'other{n}.md', ['shared one', 'shared two'])\nstore.close()\n"
    with run(code, store) as other:
        for number in range(8):
            put(store, f"own{number}.md", ["shared one", "shared two"])
        assert other.wait(PATIENCE_S) == 0
    assert len(list(store.documents())) == 17
    assert len(look(store, "shared", k=100).everywhere) == 33
    assert store.verify().findings == ()
    assert size_of(store) == 33


@pytest.mark.requirement("ENGINE-2", "INGEST-5")
def test_a_reader_sees_what_another_process_replaces_whole_and_soon(open_store: Open) -> None:
    store = open_store()
    put(store, "a.md", ["shared v0 0", "shared v0 1"])
    code = (
        "for n in range(1, 7):\n"
        "    put(store, 'a.md', [f'shared v{n} {at}' for at in range(1 + n)]); print(n, flush=True)\n"
        "store.close()\n"
    )
    seen: list[int] = []
    with run(code, store) as other:
        while other.poll() is None:
            with store.snapshot() as snapshot:
                hits = keys_of(snapshot.dense(EMBEDDER.embed_query("shared"), 50, Filters()))
                texts = [chunk.text.split() for chunk in snapshot.fetch(hits).values()]
            versions = {int(text[1][1:]) for text in texts}
            assert len(versions) <= 1, "two versions at once"
            # Milvus may remove old rows while they are read; what is shown is of one version in any case.
            seen += versions
        assert lines(other, 6) == ["1", "2", "3", "4", "5", "6"]
    assert seen == sorted(seen)
    deadline = time.monotonic() + PATIENCE_S
    while texts_of(store, [key("a.md", 6)]) != {key("a.md", 6): "shared v6 6"}:
        assert time.monotonic() < deadline
    assert look(store, "shared").everywhere == sorted(key("a.md", at) for at in range(7))


@pytest.mark.requirement("ENGINE-4", "INGEST-7")
def test_a_writer_that_is_killed_is_followed_by_the_next_one_that_finishes_its_work(open_store: Open) -> None:
    store = open_store()
    put(store, "a.md", ["shared old"])
    code = (
        "n = 0\n"
        "while True:\n"
        "    n += 1; put(store, f'{n % 3}.md', [f'shared v{n} {at}' for at in range(1 + n % 4)])\n"
        "    print(n, flush=True)\n"
    )
    with run(code, store) as writer:
        acknowledged = int(lines(writer, 5)[-1])
        writer.kill()
        assert writer.stdout is not None
        acknowledged = max([acknowledged, *(int(line) for line in writer.stdout.read().split())])
    put(store, "b.md", ["shared after"])
    assert store.verify().findings == ()
    for doc in range(3):
        texts = texts_of(store, [key(f"{doc}.md", at) for at in range(4)]).values()
        held = {int(text.split()[1][1:]) for text in texts}
        last = max(number for number in range(1, acknowledged + 1) if number % 3 == doc)
        assert len(held) == 1
        assert min(held) >= last
        assert all(len(texts) == 1 + number % 4 for number in held)
    assert len(look(store, "shared").everywhere) == size_of(store)


@pytest.mark.requirement("ENGINE-4", "INGEST-7")
def test_a_writer_that_does_not_end_holds_others_back_for_a_bounded_time_only(open_store: Open) -> None:
    store = open_store(lock_timeout_s=2.0)
    put(store, "a.md", ["shared"])
    store.close()
    code = (
        "import time\n"
        "put(store, 'b.md', ['shared'])\n"
        "with store._writing():\n"
        "    print('up', flush=True)\n"
        "    while True: time.sleep(1); store._bound.lease.beat()\n"
    )
    with run(code, store) as holder:
        assert lines(holder, 1) == ["up"]
        waiting = open_store(lock_timeout_s=2.0)
        started = time.monotonic()
        with pytest.raises(StoreLocked, match="another writer"):
            put(waiting, "c.md", ["shared"])
        assert time.monotonic() - started < PATIENCE_S
        assert look(waiting, "shared").everywhere == [key("a.md"), key("b.md")]
        holder.kill()


@pytest.mark.requirement("ENGINE-3", "ENGINE-4")
def test_a_collection_that_somebody_else_filled_is_refused_and_left_alone(open_store: Open, milvus_uri: str) -> None:
    from pymilvus import MilvusClient  # noqa: PLC0415 - only here

    name = f"foreign_{uuid.uuid4().hex}"
    client = MilvusClient(uri=milvus_uri)
    client.create_collection(name, dimension=4)
    with pytest.raises(StoreVersion, match="not made by Citewell"):
        open_store(collection=name)
    assert client.has_collection(name)
    client.drop_collection(name)
    client.close()


@pytest.mark.requirement("ENGINE-4", "INGEST-7")
def test_a_server_that_is_killed_is_a_clear_error_in_bounded_time_and_loses_nothing(tmp_path: Path) -> None:
    """Its own server: the one of the run serves others."""
    try:
        with milvus_server(tmp_path) as server:
            store = MilvusStore.open(server.uri, timeout_s=3)
            for number in range(5):
                put(store, f"{number}.md", [f"shared {number}"] * 3)
            os.kill(int((tmp_path / "milvus-server" / "pid").read_text(encoding="utf-8")), signal.SIGKILL)
            for use in (
                lambda: look(store, "shared"),
                lambda: put(store, "x.md", ["x"]),
                lambda: list(store.documents()),
            ):
                started = time.monotonic()
                with pytest.raises(StoreUnreachable) as refusal:
                    use()
                assert time.monotonic() - started < PATIENCE_S
                assert server.uri in refusal.value.message
                assert "Start it" in refusal.value.way_out
            store.close()
    except NoServerError as error:
        pytest.skip(str(error))
    deadline = time.monotonic() + PATIENCE_S
    while (tmp_path / "milvus-server" / "port").exists():
        assert time.monotonic() < deadline
        time.sleep(0.2)
    try:
        with milvus_server(tmp_path) as server:
            store = MilvusStore.open(server.uri, timeout_s=30, create=False)
            assert size_of(store) == 15
            assert len(look(store, "shared").everywhere) == 15
            put(store, "x.md", ["shared x"])
            assert store.verify().findings == ()
            store.close()
    except NoServerError as error:
        pytest.skip(f"the server does not start again after it was killed: {error}")


@pytest.mark.requirement("ENGINE-2", "PORT-4")
def test_a_graph_finds_nearly_what_exact_search_finds_within_filters_too(open_store: Open) -> None:
    store = open_store(index="hnsw")
    centres, noise = random_units(40, 64, seed=1), random_units(4_000, 64, seed=2)
    vectors = centres[np.arange(4_000) % 40] + 0.7 * noise
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    for start in range(0, 200, 50):
        write(
            store,
            *(
                change(
                    f"{doc:03}", ["x"] * 20, vectors=list(vectors[doc * 20 : doc * 20 + 20]), metadata={"ten": doc % 10}
                )
                for doc in range(start, start + 50)
            ),
        )
    store.compact()
    wait_for_index(store)
    queries = vectors[::200] + 0.5 * random_units(20, 64, seed=3)
    for filters, kept in ((Filters(), range(200)), (Filters(where=(("ten", 3),)), range(3, 200, 10))):
        rows = [doc * 20 + at for doc in kept for at in range(20)]
        recalls = []
        for query in (queries / np.linalg.norm(queries, axis=1, keepdims=True)).astype(np.float32):
            best = sorted(rows, key=lambda row: -float(vectors[row] @ query))[:20]
            expected = {key(f"{row // 20:03}", row % 20) for row in best}
            recalls.append(len(expected & {*keys_of(dense(store, query, 20, filters))}) / 20)
        assert sum(recalls) / len(recalls) >= 0.99, filters


def wait_for_index(store: MilvusStore) -> None:
    """Until the server has built the graph over what was flushed, and uses it."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        held = store._client.call("describe_index", store.collection, index_name="vector")
        if int(held.get("pending_index_rows", 0)) == 0 and int(held.get("indexed_rows", 0)) > 0:
            return
        assert time.monotonic() < deadline, held
        time.sleep(0.5)


@pytest.mark.requirement("INGEST-7")
@pytest.mark.parametrize("made", [1, 2])
def test_collections_whose_maker_ended_before_their_indexes_were_made_are_completed(
    open_store: Open, monkeypatch: pytest.MonkeyPatch, made: int
) -> None:
    """A server loads no collection without an index, so that the store could never be opened again."""
    call, left = Client.call, [made]

    class Ended(BaseException):
        """As if the process had."""

    def until_an_index(client: Client, name: str, *args: object, **options: object) -> object:
        left[0] -= name == "create_index"
        if not left[0]:
            raise Ended
        return call(client, name, *args, **options)

    store = open_store()
    with monkeypatch.context() as patch:
        patch.setattr(Client, "call", until_an_index)
        with pytest.raises(Ended):
            put(store, "a.md", ["shared"])
    again = open_store()
    put(again, "a.md", ["shared"])
    assert look(again, "shared").everywhere == [key("a.md")]


@pytest.mark.requirement("ENGINE-4")
def test_a_store_that_lost_its_catalogue_is_damaged_and_not_made_anew(open_store: Open, milvus_uri: str) -> None:
    store = open_store()
    put(store, "a.md", ["shared"])
    client = Client(milvus_uri, timeout_s=30)
    client.call("drop_collection", f"{store.collection}_catalogue")
    with pytest.raises(StoreCorrupt, match="no catalogue"):
        open_store()
    client.close()
