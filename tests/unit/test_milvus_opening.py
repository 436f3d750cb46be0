"""Opening a store on Milvus: what is refused, by which error, and which version can do what."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from citewell.adapters.milvus import MilvusStore
from citewell.adapters.milvus.client import Client, server_of
from citewell.adapters.milvus.faults import translated
from citewell.errors import InvalidRequest, StoreCorrupt, StoreError, StoreLocked, StoreUnreachable, StoreVersion


@pytest.fixture
def location(tmp_path: Path) -> str:
    return f"milvus:{tmp_path}/kb.db"


@pytest.fixture
def store(location: str) -> Iterator[MilvusStore]:
    store = MilvusStore.open(location)
    yield store
    store.close()


@pytest.mark.requirement("ENGINE-2")
@pytest.mark.parametrize(
    ("text", "is_lite", "numbers", "has_bm25"),
    [
        ("milvus_lite-3.2.2", True, (3, 2, 2), True),
        ("v2.3.5-lite", False, (2, 3, 5), False),
        ("2.4.0", False, (2, 4, 0), False),
        ("v2.5.0-beta", False, (2, 5, 0), True),
        ("v2.6.11", False, (2, 6, 11), True),
        ("Zilliz Cloud Vector Database(Compatible with Milvus 2.6)", False, (2, 6, 0), True),
    ],
)
def test_a_servers_version_says_what_it_can_do(
    text: str, is_lite: bool, numbers: tuple[int, int, int], has_bm25: bool
) -> None:
    server = server_of(text)
    assert (server.is_lite, server.numbers, server.has_bm25) == (is_lite, numbers, has_bm25)


@pytest.mark.requirement("ENGINE-4")
@pytest.mark.parametrize("text", ["v2.2.9", "", "unknown", "milvus_lite-2.5.1"])
def test_a_version_that_is_too_old_is_refused_by_name(text: str) -> None:
    with pytest.raises(StoreVersion, match="version") as refusal:
        server_of(text)
    assert repr(text) in refusal.value.message


@pytest.mark.requirement("ENGINE-4")
@pytest.mark.parametrize(
    ("location", "kind"),
    [
        ("milvus:kb", InvalidRequest),
        ("milvus:/proc/nowhere/kb.db", StoreUnreachable),
        ("http://127.0.0.1:1", StoreUnreachable),
        ("http://nowhere.invalid:19530", StoreUnreachable),
    ],
)
def test_a_place_where_no_store_can_be_is_refused_with_a_way_out(location: str, kind: type[StoreError]) -> None:
    with pytest.raises(kind) as refusal:
        MilvusStore.open(location, timeout_s=2)
    assert refusal.value.way_out
    assert "delet" not in str(refusal.value)


@pytest.mark.requirement("ENGINE-4")
def test_a_store_that_is_not_there_is_not_made_unless_it_may_be(tmp_path: Path) -> None:
    with pytest.raises(StoreUnreachable, match="there is no store"):
        MilvusStore.open(f"milvus:{tmp_path}/kb.db", create=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.requirement("ENGINE-2")
def test_without_pymilvus_the_extra_is_named(location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymilvus", None)
    with pytest.raises(InvalidRequest, match=r"citewell\[milvus\]"):
        MilvusStore.open(location)


@pytest.mark.slow
@pytest.mark.requirement("ENGINE-4", "INGEST-7")
def test_a_store_that_another_process_holds_is_locked_and_said_to_be(location: str, tmp_path: Path) -> None:
    """I108."""
    open_it = f"from citewell.adapters.milvus.client import Client; held = Client({location!r})"
    hold = f"{open_it}; print('up', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "up\n"
        with pytest.raises(StoreLocked, match="another process") as refusal:
            MilvusStore.open(location)
        assert str(tmp_path / "kb.db") in refusal.value.message
        holder.communicate("\n")
    MilvusStore.open(location).close()


@pytest.mark.requirement("ENGINE-3", "ENGINE-4")
def test_a_collection_that_somebody_else_filled_is_refused_and_left_alone(location: str) -> None:
    client = Client(location)
    client.call("create_collection", "citewell", dimension=4)
    with pytest.raises(StoreVersion, match="not made by Citewell") as refusal:
        MilvusStore.open(location)
    assert "attach" in refusal.value.way_out
    assert client.has("citewell")
    client.close()


@pytest.mark.requirement("ENGINE-2")
@pytest.mark.parametrize("name", ["", "1a", "a-b", "a b", 'a"b', "文", "a" * 300])
def test_a_collection_whose_name_milvus_does_not_take_is_refused_first(location: str, name: str) -> None:
    with pytest.raises(InvalidRequest, match="collection"):
        MilvusStore.open(location, collection=name)


@pytest.mark.requirement("ENGINE-4")
@pytest.mark.parametrize(
    ("said", "kind", "way_out"),
    [
        ("auth check failure, please check api key is correct", StoreUnreachable, "store.token"),
        ("PermissionDenied: privilege Search is not granted", StoreUnreachable, "store.token"),
        ("Fail connecting to server on db:19530, illegal connection params", StoreUnreachable, "Start it"),
        ("[search] Retry timeout: 10s, StatusCode.UNAVAILABLE", StoreUnreachable, "Start it"),
        ("[Errno 28] No space left on device", StoreUnreachable, "Free some"),
        ("another process holds the lock on '/kb.db'", StoreLocked, "End that process"),
        ("Received http2 header with status: 404", StoreUnreachable, "19530"),
        ("Both manifest.json and manifest.json.prev failed to load: manifest corrupted", StoreCorrupt, "backup"),
        ("something that nobody has met yet", StoreError, "log"),
    ],
)
def test_what_milvus_says_becomes_one_error_with_its_way_out(said: str, kind: type[StoreError], way_out: str) -> None:
    error = translated(RuntimeError(said), "http://db:19530")
    assert type(error) is kind
    assert "http://db:19530" in error.message
    assert way_out in error.way_out
    assert "delet" not in str(error)


@pytest.mark.requirement("ENGINE-4")
def test_an_error_of_citewells_own_stays_as_it_is_and_a_long_one_is_cut() -> None:
    own = StoreLocked("held", way_out="Wait.")
    assert translated(own, "x") is own
    assert len(translated(RuntimeError("long " * 1_000), "x").message) < 400


@pytest.mark.requirement("ENGINE-4")
@pytest.mark.parametrize(
    "said", ["Fail connecting to server on {}, illegal connection params", "{}: connection refused"]
)
@pytest.mark.parametrize("where", ["http://127.0.0.1:14010", "http://manifest.corrupt.example:19530"])
def test_an_address_that_looks_like_a_fault_is_none(said: str, where: str) -> None:
    error = translated(RuntimeError(said.format(where.removeprefix("http://"))), where)
    assert "does not answer" in error.message


@pytest.mark.requirement("ENGINE-4")
def test_the_folder_of_a_store_that_looks_like_a_fault_is_none() -> None:
    error = translated(RuntimeError("/data/manifest/kb.db is odd"), "milvus:/data/manifest/kb.db")
    assert type(error) is StoreError


@pytest.mark.requirement("ENGINE-4")
@pytest.mark.parametrize("location", ["http://", "https://:19530", "http://db:99999", "http://db:port", "http://db:0"])
def test_an_address_without_a_host_or_with_no_port_that_can_be_is_refused(location: str) -> None:
    with pytest.raises(InvalidRequest, match="names no Milvus"):
        MilvusStore.open(location)
