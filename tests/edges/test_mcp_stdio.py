"""MCP on standard input and output as a process: the protocol alone goes out, and the handshake waits for nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp_room import structured, talk, texts
from mcp_types import CallToolResult

from citewell import Document, Knowledge
from citewell.identity import format_key as key
from citewell.testing.fakes import HashEmbedder

LOUD = Path(__file__).resolve().parents[1] / "support" / "loud_mcp.py"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


class Process:
    """A server in a process of its own, spoken to line by line."""

    def __init__(self, *command: str) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
        )

    def send(self, *messages: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.writelines(f"{json.dumps(message)}\n" for message in messages)
        self._process.stdin.flush()

    def answer(self) -> Any:  # noqa: ANN401 - whatever JSON holds
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def end(self) -> tuple[str, str, int]:
        """What was still to come on both streams, and the exit code, after the client has gone."""
        out, err = self._process.communicate(timeout=60)
        return out, err, self._process.returncode

    def signalled(self, number: signal.Signals) -> int:
        """The exit code after a signal, while standard input stays open."""
        self._process.send_signal(number)
        return self._process.wait(timeout=60)

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


def lookup(number: int) -> dict[str, Any]:
    call = {"name": "lookup_knowledge", "arguments": {"query": "disk"}}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call}


@pytest.fixture
def held(tmp_path: Path) -> Iterator[tuple[Process, Path]]:
    """A loud server whose store opens when the file is there."""
    gate = tmp_path / "open"
    process = Process(sys.executable, "-W", "always", str(LOUD), str(gate))
    try:
        yield process, gate
    finally:
        process.kill()


@pytest.mark.slow
@pytest.mark.requirement("API-3")
def test_standard_output_carries_the_protocol_alone_and_the_handshake_waits_for_no_store(
    held: tuple[Process, Path],
) -> None:
    process, gate = held
    process.send(INITIALIZE)
    assert process.answer()["result"]["serverInfo"]["name"] == "citewell"
    process.send(INITIALIZED, {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, lookup(3))
    assert len(process.answer()["result"]["tools"]) == 5
    gate.touch()  # not before: both answers came without a store
    found = process.answer()
    assert found["id"] == 3
    assert found["result"]["structuredContent"]["evidence"][0]["document_id"] == key("etcd.md", 0)
    out, err, code = process.end()
    assert (out, code) == ("", 0)
    assert "loaded before serving: []" in err
    for what in ("opening", "passages", "a query", "closing", "the end"):
        for way in ("printed", "written", "a child on", "logged", "said by C", "warned of"):
            assert f"{way} {what}" in err


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_at_once_though_the_client_is_still_there(number: signal.Signals) -> None:
    process = Process(sys.executable, str(LOUD))
    try:
        process.send(INITIALIZE)
        process.answer()
        assert process.signalled(number) == -number
    finally:
        process.kill()


@pytest.mark.slow  # it starts Python anew, and imports the SDK
@pytest.mark.requirement("API-3")
def test_the_server_is_made_without_loading_what_a_store_or_a_model_needs() -> None:
    program = (
        "import sys, citewell.server.mcp.stdio, citewell.cli\n"
        "print([n for n in ('numpy','onnxruntime','tantivy','citewell.app','fastapi') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.requirement("API-2", "API-3")
def test_without_the_sdk_the_command_names_the_extra_that_brings_it() -> None:
    program = (
        "import sys; sys.modules.update(mcp=None, mcp_types=None); sys.argv = ['citewell', 'mcp']\n"
        "from citewell.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "pip install 'citewell[server]'" in done.stderr


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store and its configuration, whose embedder is an endpoint that nobody answers at."""
    folder = tmp_path_factory.mktemp("mcp")
    (folder / "c.toml").write_text('[embedder]\nname = "hash-words"\nurl = "http://127.0.0.1:9/v1"\n', "utf-8")
    with Knowledge.open(folder / "kb", embedder=HashEmbedder(fingerprint="hash-words/64")) as knowledge:
        knowledge.ingest_documents(
            [
                Document("etcd.md", "Check the disk first.", scope="red"),
                Document("pay.md", "On the last day.", scope="x"),
            ]
        )
    return folder


def command(*arguments: str) -> StdioServerParameters:
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return StdioServerParameters(command=sys.executable, args=["-m", "citewell", "mcp", *arguments], env=environment)


@pytest.mark.slow
@pytest.mark.requirement("API-2", "API-3", "SAFE-3")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_command_serves_a_store_within_the_scope_that_it_is_given(kb: Path, mode: Any) -> None:  # noqa: ANN401 - a mode
    async def scene(client: Client) -> tuple[CallToolResult, CallToolResult, CallToolResult, list[str]]:
        return (
            await client.call_tool("read_evidence", {"id": key("etcd.md", 0)}),
            await client.call_tool("read_evidence", {"id": key("pay.md", 0)}),
            await client.call_tool("read_evidence", {"id": key("etcd.md", 0), "scope": ["x"]}),
            [resource.name for resource in (await client.list_resources()).resources],
        )

    seen, hidden, widened, listed = talk(
        command("--kb", str(kb / "kb"), "--config", str(kb / "c.toml"), "--scope", "red"), scene, mode
    )
    assert structured(seen)["evidence"][0]["content"] == "Check the disk first."
    assert texts(hidden)[0].startswith("there is no evidence")
    assert "[forbidden]" in texts(widened)[0]
    assert listed == ["etcd.md"]


@pytest.mark.slow
@pytest.mark.requirement("API-3", "ENGINE-4")
def test_a_store_that_is_not_there_is_told_to_whoever_calls(tmp_path: Path) -> None:
    result = talk(
        command("--kb", str(tmp_path / "nowhere")), lambda client: client.call_tool("lookup_knowledge", {"query": "x"})
    )
    assert result.is_error
    assert "nowhere" in texts(result)[0]
    assert "[store_unreachable]" in texts(result)[0]


@pytest.mark.slow
@pytest.mark.requirement("API-2", "API-7")
def test_a_bad_configuration_is_told_at_once_and_not_on_standard_output(tmp_path: Path) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text("[rag]\nretrive-k = 5\n", "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "citewell", "mcp", "--config", str(bad)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "retrive-k" in done.stderr
