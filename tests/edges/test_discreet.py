"""What callers read of failures: those with a scope that there is one, the others where and why; the log has it all."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from http_room import bears, filled, finished, settings
from mcp_room import call, desk, texts
from numpy.typing import NDArray
from starlette.testclient import TestClient

from citewell.errors import EmbedderUnavailable, StoreLocked
from citewell.server.callers import Caller
from citewell.server.http.app import create_app
from citewell.server.mcp.factory import build
from citewell.server.mcp.opening import Opened
from citewell.server.serve import _beside
from citewell.sessions import SessionMemory
from citewell.testing.fakes import HashEmbedder

pytestmark = pytest.mark.requirement("SAFE-3", "API-4")

CAUSE = "the endpoint http://10.1.2.3:9/v1 answers 401: the key sk-12345 is unknown"
ASKED = {"query": "wheel"}


class Down(HashEmbedder):
    """Answers until it is told not to."""

    down = False

    def embed_query(self, text: str) -> NDArray[np.float32]:
        self._check()
        return super().embed_query(text)

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self._check()
        return super().embed_passages(texts)

    def _check(self) -> None:
        if self.down:
            raise EmbedderUnavailable(CAUSE, way_out="Set embedder.api-key.")


@contextlib.contextmanager
def broken() -> Iterator[TestClient]:
    """A whole server with tokens whose embedder has gone down."""
    embedder = Down()
    with filled(settings(tokens=True), embedder=embedder) as knowledge:
        embedder.down = True
        app = create_app(knowledge, beside=partial(_beside, version="1"), version="1")
        with TestClient(app, base_url="http://127.0.0.1") as opened:
            yield opened


def ways(http: TestClient, caller: str) -> dict[str, str]:
    """What a caller reads in every way there is to ask, by way."""
    held = bears(caller)
    told = {
        mode: http.post("/v1/lookup", json={**ASKED, "mode": mode}, headers=held).text for mode in ("dense", "hybrid")
    }
    told["agent"] = http.post("/v1/lookup", json={**ASKED, "agent": True}, headers=held).text
    told["page"] = http.get("/inspect?q=wheel&mode=hybrid", headers=held).text
    told["page of an error"] = http.get("/inspect?q=wheel&mode=dense", headers=held).text
    told["page as JSON"] = http.get("/inspect?q=wheel&mode=compare&format=json", headers=held).text
    called = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "lookup_knowledge"}}
    for mode in ("dense", "hybrid"):
        called["params"] = {"name": "lookup_knowledge", "arguments": {**ASKED, "mode": mode}}
        told[f"mcp, {mode}"] = _over_mcp(http, called, held)
    return told


def _over_mcp(http: TestClient, message: dict[str, Any], held: dict[str, str]) -> str:
    kinds = {"accept": "application/json, text/event-stream", **held}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    opened = http.post("/mcp", json={**message, "method": "initialize", "params": hello}, headers=kinds)
    return http.post("/mcp", json=message, headers={**kinds, "mcp-session-id": opened.headers["mcp-session-id"]}).text


def test_a_caller_with_a_scope_reads_that_a_part_failed_and_not_where_or_why(caplog: pytest.LogCaptureFixture) -> None:
    with broken() as http, caplog.at_level(logging.WARNING):
        told = ways(http, "team-a")
        assert [
            way for way, text in told.items() if "10.1.2.3" in text or "sk-12345" in text or "api-key" in text
        ] == []
        assert "embedder_unavailable" in told["dense"]
        assert "the embedder can't be had now" in told["dense"]
        assert '"degraded":["dense: can\'t be had now"' in told["hybrid"]
        assert "the embedder can't be had now" in told["mcp, dense"].replace("\\u0027", "'")
    assert CAUSE in caplog.text


def test_a_caller_who_may_see_everything_reads_the_cause() -> None:
    with broken() as http:
        assert [way for way, text in ways(http, "everything").items() if "10.1.2.3" not in text] == []


def test_an_ingestion_that_fails_tells_its_caller_no_more() -> None:
    documents = {"documents": [{"doc_id": "n.md", "text": "# New"}]}
    with broken() as http:
        job = finished(http, http.post("/v1/ingest", json=documents, headers=bears("team-a")), "team-a")
        assert (job["state"], job["error"]["code"]) == ("failed", "embedder_unavailable")
        assert job["error"]["message"] == "the embedder can't be had now"
        whole = finished(http, http.post("/v1/ingest", json=documents, headers=bears("everything")), "everything")
        assert CAUSE in whole["error"]["message"]


def test_what_could_not_be_remembered_says_no_more_either(monkeypatch: pytest.MonkeyPatch) -> None:
    def locked(*_: object) -> None:
        raise StoreLocked("the store /srv/kb is being written by process 7 on db1", way_out="Wait.")

    monkeypatch.setattr(SessionMemory, "record", locked)
    asked = {**ASKED, "agent": True, "session": "s"}
    with (
        filled(settings(tokens=True)) as knowledge,
        TestClient(create_app(knowledge), base_url="http://127.0.0.1") as http,
    ):
        said = {
            name: http.post("/v1/lookup", json=asked, headers=bears(name)).json() for name in ("team-a", "everything")
        }
    assert said["team-a"]["degraded"] == ["session: the store can't be had now"]
    assert "/srv/kb" in said["everything"]["degraded"][0]


def test_who_starts_a_server_for_itself_reads_the_cause_though_it_fixed_a_scope() -> None:
    embedder = Down()
    with filled(settings(), embedder=embedder) as knowledge, desk() as worked:
        embedder.down = True
        caller = Caller("stdio", ("team-a",), ingest=False, bound=True)
        server = build(Opened(knowledge), desk=worked, caller_of=lambda _: caller, version="1")
        refused = call(server, "lookup_knowledge", {**ASKED, "mode": "dense"})
    assert refused.is_error
    assert CAUSE in texts(refused)[0]
