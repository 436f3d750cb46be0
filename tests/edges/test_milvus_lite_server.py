"""Milvus Lite served to several processes: what a locked store's error proposes is a store like any other."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from citewell.adapters.milvus import MilvusStore
from citewell.errors import StoreUnreachable
from citewell.model import Filters
from citewell.testing.store_base import key, look, put, size_of, texts_of

pytestmark = pytest.mark.slow

PATIENCE_S = 60.0


@pytest.fixture
def uri(tmp_path: Path) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [str(Path(sys.executable).with_name("milvus-lite")), "server", "--host", "127.0.0.1"]
    with subprocess.Popen(
        [*command, "--port", str(port), "--data-dir", str(tmp_path / "kb.db")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as server:
        yield f"http://127.0.0.1:{port}"
        server.terminate()


def opened(uri: str) -> MilvusStore:
    """The store, once the server is up."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return MilvusStore.open(uri, timeout_s=5)
        except StoreUnreachable:
            assert time.monotonic() < deadline
            time.sleep(0.2)


@pytest.mark.requirement("ENGINE-2", "INGEST-7")
def test_two_processes_write_to_a_served_lite_store_and_both_find_everything(uri: str) -> None:
    store = opened(uri)
    put(store, "a.md", ["shared old", "shared tail"], scope="x")
    code = (
        "from citewell.adapters.milvus import MilvusStore\n"
        "from citewell.testing.store_base import put, look\n"
        f"store = MilvusStore.open({uri!r}, timeout_s=30)\n"
        "for n in range(8): put(store, f'other{n}.md', ['shared one', 'shared two'])\n"
        "print(len(look(store, 'shared').everywhere)); store.close()\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as other:
        for number in range(8):
            put(store, "a.md", [f"shared new {number}"], scope="x")
        assert other.stdout is not None
        assert int(other.stdout.read()) in (17, 18)  # its own, and one version of the other document
        assert other.wait(PATIENCE_S) == 0
    assert texts_of(store, [key("a.md"), key("a.md", 1)]) == {key("a.md"): "shared new 7"}
    assert look(store, "shared", Filters(scope=("x",))).everywhere == [key("a.md")]
    assert len(look(store, "shared").everywhere) == size_of(store) == 17
    assert store.verify().findings == ()
    store.close()
