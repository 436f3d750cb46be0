"""Bounds of MCP over HTTP as clients meet them: rates, a full desk, cancelled calls, sessions without end."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import httpx2
import numpy as np
import pytest
from http_room import bears, filled, settings
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_room import running, structured, texts
from numpy.typing import NDArray

from citewell import Knowledge
from citewell.server.desk import Desk
from citewell.server.http.app import create_app
from citewell.server.mcp import over_http
from citewell.server.serve import _beside
from citewell.testing.fakes import HashEmbedder

pytestmark = pytest.mark.requirement("API-3")

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
KINDS = {"accept": "application/json, text/event-stream"}


class Waits(HashEmbedder):
    """Embeds a query that says so once it may."""

    def __init__(self) -> None:
        super().__init__()
        self.may, self.asked = threading.Event(), threading.Semaphore(0)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        if "slow" in text:
            self.asked.release()
            assert self.may.wait(60)
        return super().embed_query(text)


@contextlib.contextmanager
def with_desk(knowledge: Knowledge) -> Iterator[tuple[str, Desk]]:
    """The whole server, HTTP and MCP, as `citewell serve` puts it together; MCP's address, and where calls wait."""
    app = create_app(knowledge, beside=partial(_beside, version="1"), version="1")
    with running(app) as address:
        yield f"{address}/mcp", app.state.house.lookups


@contextlib.contextmanager
def served(knowledge: Knowledge) -> Iterator[str]:
    """The same, by its address alone."""
    with with_desk(knowledge) as (address, _):
        yield address


def opened(address: str, caller: str | None = None) -> httpx2.Response:
    return httpx2.post(address, json=HELLO, headers={**KINDS, **bears(caller)}, timeout=30)


def ask(query: str) -> dict[str, Any]:
    return {"query": query, "mode": "dense"}


@pytest.mark.requirement("API-4")
def test_who_asks_too_often_is_refused_until_a_while_later_and_others_are_not() -> None:
    with filled(settings(tokens=True, rate=3)) as knowledge, served(knowledge) as address:
        statuses = [opened(address, "team-a").status_code for _ in range(4)]
        refused = opened(address, "team-a")
        assert statuses == [200, 200, 200, 429]
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        assert refused.json()["error"]["code"] == "busy"
        assert opened(address, "team-b").status_code == 200


@pytest.mark.requirement("API-4")
def test_a_full_desk_is_an_answer_that_a_model_can_act_on_and_a_ping_is_answered_meanwhile() -> None:
    embedder = Waits()

    async def talked(address: str, desk: Desk) -> tuple[list[str], bool]:
        async with (
            httpx2.AsyncClient(timeout=60) as http,
            Client(streamable_http_client(address, http_client=http)) as client,
        ):
            # One runs, eight may wait for it, and one more is refused.
            calls = [asyncio.create_task(client.call_tool("lookup_knowledge", ask(f"slow {n}"))) for n in range(9)]
            async with asyncio.timeout(60):
                while desk.held < 9:
                    await asyncio.sleep(0.01)
            refused = texts(await client.call_tool("lookup_knowledge", ask("slow too")))
            alive = (await http.get(address.removesuffix("/mcp") + "/healthz")).status_code == 200
            embedder.may.set()
            assert all(not result.is_error for result in await asyncio.gather(*calls))
            return refused, alive

    with filled(settings(workers=1), embedder=embedder) as knowledge, with_desk(knowledge) as (address, desk):
        refused, alive = asyncio.run(talked(address, desk))
    assert refused == ["9 calls run or wait already. Try again in a moment. [busy]"]
    assert alive


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_cancelled_call_costs_the_connection_nothing(mode: Any) -> None:  # noqa: ANN401 - a mode
    embedder = Waits()

    async def talked(address: str) -> object:
        async with (
            httpx2.AsyncClient(timeout=60) as http,
            Client(streamable_http_client(address, http_client=http), mode=mode) as client,
        ):
            slow = asyncio.create_task(client.call_tool("lookup_knowledge", ask("slow wheel")))
            await asyncio.to_thread(embedder.asked.acquire)
            slow.cancel()
            await asyncio.gather(slow, return_exceptions=True)
            found = structured(await client.call_tool("lookup_knowledge", ask("wheel")))
            embedder.may.set()
            return found["status"]

    with filled(settings(workers=2), embedder=embedder) as knowledge, served(knowledge) as address:
        assert asyncio.run(talked(address)) == "ok"


def test_who_opens_sessions_without_end_takes_none_from_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(over_http, "MAX_SESSIONS", 3)
    with filled(settings(tokens=True)) as knowledge, served(knowledge) as address:
        statuses = [opened(address, "team-a").status_code for _ in range(4)]
        assert statuses == [200, 200, 200, 503]
        first = opened(address, "team-b")
        assert first.status_code == 200
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        session = {**KINDS, "mcp-session-id": first.headers["mcp-session-id"]}
        assert httpx2.post(address, json=ping, headers={**session, **bears("team-b")}).status_code == 200
        assert httpx2.post(address, json=ping, headers={**session, **bears("team-a")}).status_code == 404
        ended = httpx2.delete(address, headers={**session, **bears("team-b")})
        assert ended.status_code == 200
