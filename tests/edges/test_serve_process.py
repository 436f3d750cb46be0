"""`citewell serve` as a process: it serves HTTP and MCP, ends gracefully, and refuses what is unsafe."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from http_room import filled
from mcp_room import running
from served import served
from typer.testing import CliRunner
from uvicorn.protocols.http.flow_control import FlowControl

from citewell import Knowledge, Settings
from citewell.cli import app
from citewell.server import punctual
from citewell.server.http.app import create_app
from citewell.testing.fakes import HashEmbedder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With an empty store, which needs no model to answer."""
    (tmp_path / "citewell.toml").write_text('[server]\nport = 1\n[retrieval.search]\nmode = "hybrid"\n')
    Knowledge.open(tmp_path / "kb", settings=Settings.of({}), embedder=HashEmbedder()).close()
    return tmp_path


@pytest.mark.slow
@pytest.mark.requirement("API-4", "API-2")
@pytest.mark.timeout(240)
def test_one_process_serves_http_and_mcp_and_ends_when_it_is_told_to(folder: Path) -> None:
    with served(folder) as server, httpx2.Client(base_url=server.address, timeout=60) as http:
        assert server.address.startswith("http://127.0.0.1:")
        assert not server.address.endswith(":1")
        assert http.get("/healthz").json() == {"status": "ok"}
        assert http.get("/v1/documents").json() == {"documents": [], "next": None}
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        kinds = {"accept": "application/json, text/event-stream"}
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        opened = http.post("/mcp", json={**asked, "method": "initialize", "params": hello}, headers=kinds)
        assert opened.status_code == 200
        session = {**kinds, "mcp-session-id": opened.headers["mcp-session-id"]}
        assert "lookup_knowledge" in http.post("/mcp", json=asked, headers=session).text
        assert http.post("/mcp", json=asked, headers={**kinds, "Host": "evil.example"}).status_code == 421
        assert server.end(signal.SIGTERM) == 0
    said = [json.loads(line) for line in server.lines if line.startswith("{")]
    assert [line["path"] for line in said if line["event"] == "request"][:2] == ["/healthz", "/v1/documents"]
    assert sum(line.startswith("citewell: serving ") for line in server.lines) == 1
    with Knowledge.open(folder / "kb", settings=Settings.of({}), embedder=HashEmbedder()) as knowledge:
        assert knowledge.status().documents == 0


@pytest.mark.slow
@pytest.mark.requirement("API-4", "API-2")
@pytest.mark.timeout(240)
def test_ctrl_c_ends_it_as_well_and_a_taken_port_is_named(folder: Path) -> None:
    with served(folder) as server:
        port = server.address.rpartition(":")[2]
        other = subprocess.run(
            [sys.executable, "-m", "citewell", "serve", "--kb", str(folder / "kb"), "--port", port],
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert other.returncode == 2
        assert f"127.0.0.1:{port} can't be listened on: Address already in use" in other.stderr
        assert server.end(signal.SIGINT) == 0


def said_to(address: str, sent: bytes, *, half: bool = False) -> bytes:
    """What the server answers to these bytes until it closes the connection or says nothing more for a while."""
    host, _, port = address.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=60) as line:
        line.sendall(sent)
        if half:
            line.shutdown(socket.SHUT_WR)
        heard = b""
        with contextlib.suppress(TimeoutError):
            while part := line.recv(65_536):
                heard += part
            return heard + b"<closed>"
        return heard


@pytest.mark.slow
@pytest.mark.requirement("API-4")
@pytest.mark.timeout(240)
def test_what_is_ambiguous_half_or_never_comes_ends_its_own_connection_alone(folder: Path) -> None:
    head = b"POST /v1/lookup HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    hidden = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with served(folder) as server:
        both = head + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden
        heard = said_to(server.address, both)
        assert heard.startswith(b"HTTP/1.1 400 ")
        assert heard.count(b"HTTP/1.1") == 1  # what was hidden behind it is not a request
        assert heard.endswith(b"<closed>")
        assert said_to(server.address, head + b'Content-Length: 500\r\n\r\n{"q', half=True) == b"<closed>"
        assert httpx2.get(f"{server.address}/healthz").status_code == 200
        assert server.end(signal.SIGTERM) == 0
    lines = [json.loads(line) for line in server.lines if line.startswith("{")]
    assert [line["status"] for line in lines if line["event"] == "request"] == [400, 499, 200]
    assert not [line for line in lines if line["level"] == "error"]


@pytest.mark.slow
@pytest.mark.requirement("API-4")
@pytest.mark.parametrize("sent", [b"", b"GET /heal", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /he"])
def test_a_head_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    monkeypatch.setattr(punctual, "HEAD_S", 0.2)
    alone = {"http": punctual.Punctual, "timeout_keep_alive": 600}  # so that nothing else closes it
    with filled() as knowledge, running(create_app(knowledge), **alone) as address:
        assert said_to(address, sent).endswith(b"<closed>")


@pytest.mark.requirement("API-4")
@pytest.mark.parametrize("size", [40_000_000, 6_000_000])
def test_an_answer_that_is_not_taken_is_not_kept_for_ever(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """The client asks, and then reads nothing; more than the system keeps for it is the process's memory."""
    monkeypatch.setattr(punctual, "TAKEN_S", 0.2)
    lost = threading.Event()

    class Telling(punctual.Punctual):
        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            lost.set()

    async def large(_: object, receive: object, send: Callable[[dict[str, Any]], Awaitable[None]]) -> None:
        length = [(b"content-length", str(size).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": length})
        await send({"type": "http.response.body", "body": b"x" * size})

    with running(large, http=Telling, lifespan="off", timeout_keep_alive=600) as address, socket.socket() as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        host, _, port = address.removeprefix("http://").partition(":")
        line.connect((host, int(port)))
        line.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert lost.wait(60)


@pytest.mark.requirement("API-4")
def test_an_answer_that_is_taken_slowly_but_steadily_is_kept() -> None:
    """100,000 bytes wait; after a while 80,000 do, then 60,000, and then 40,001: 19,999 in that time are too few."""
    line, later = Line([100_000, 80_000, 60_000, 40_001]), Later()
    server = punctual.Punctual.__new__(punctual.Punctual)
    server.loop, server.transport = later, line  # type: ignore[assignment]  # as much of both as it asks for
    server.flow = FlowControl(line)  # type: ignore[arg-type]  # as above
    server.pause_writing()
    for left in (80_000, 60_000):
        later.pass_time()
        assert (line.aborted, line.waiting[0]) == (False, left)
    later.pass_time()
    assert line.aborted


class Line:
    """A transport that tells in turn how much waits."""

    def __init__(self, waiting: list[int]) -> None:
        self.waiting, self.aborted = [0, *waiting], False

    def get_write_buffer_size(self) -> int:
        del self.waiting[0]
        return self.waiting[0]

    def abort(self) -> None:
        self.aborted = True


class Later:
    """A loop in which time passes when it is told to."""

    def __init__(self) -> None:
        self.calls: list[Callable[[], None]] = []

    def call_later(self, _: float, act: Callable[..., None], *arguments: object) -> None:
        self.calls.append(partial(act, *arguments))

    def pass_time(self) -> None:
        self.calls.pop()()


@pytest.mark.requirement("API-4")
@pytest.mark.parametrize("host", ["0.0.0.0", "10.0.0.1"])  # noqa: S104 - refused
def test_it_does_not_listen_where_others_reach_it_without_tokens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    monkeypatch.chdir(tmp_path)
    said = CliRunner().invoke(app, ["serve", "--host", host, "--kb", str(tmp_path / "kb")])
    assert said.exit_code == 2
    assert f"may listen on loopback alone, and '{host}' can be reached from elsewhere" in said.stderr
    assert not (tmp_path / "kb").exists()


@pytest.mark.requirement("API-4")
def test_without_the_extra_it_names_it(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in ('fastapi', 'starlette', 'uvicorn', 'structlog', 'mcp'):\n"
        "            raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        "sys.argv = ['citewell', 'serve']\n"
        "from citewell.cli import main\n"
        "main()"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False, env={**os.environ}
    )
    assert said.returncode == 2
    assert "serving needs the extra `server`, which is not installed" in said.stderr
    assert "pip install 'citewell[server]'" in said.stderr
