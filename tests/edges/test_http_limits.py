"""Bounds of the HTTP server: size, rate and time of requests; hosts; failures that nobody foresaw; a slow embedder."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from http_room import bears, client, filled, room, settings
from mcp_room import running

from citewell import Knowledge
from citewell.server.http.app import create_app
from citewell.testing.fakes import HashEmbedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ASKED = {"query": "the alpha plan"}


def big(parts: int) -> Iterator[bytes]:
    for _ in range(parts):
        yield b" " * 1_000


@pytest.mark.requirement("API-4")
def test_a_body_that_is_too_large_is_refused_by_its_length_and_while_it_comes() -> None:
    with room(max_body=5_000) as http:
        kind = {"content-type": "application/json"}
        for content in (b" " * 5_001, big(6)):
            refused = http.post("/v1/lookup", content=content, headers=kind)
            assert (refused.status_code, refused.json()["error"]["code"]) == (413, "too_large")
        files = [("files", ("a.md", b"x" * 6_000))]
        assert http.post("/v1/ingest", files=files).status_code == 413
        assert http.post("/v1/lookup", content=b" " * 4_900 + b'{"query": "plan"}', headers=kind).status_code == 200


def raw(address: str, body: bytes) -> str:
    """What a server answers to a request whose body begins so and never ends."""
    host, port = address.removeprefix("http://").split(":")
    head = f"POST /v1/lookup HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
    head += "Transfer-Encoding: chunked\r\n\r\n"
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(head.encode("ascii") + body)
        return connection.makefile("rb").read().decode("utf-8")


@pytest.mark.requirement("API-4")
def test_an_upload_is_cut_off_while_it_comes() -> None:
    with filled(settings(max_body=5_000)) as knowledge, running(create_app(knowledge)) as address:
        answer = raw(address, b"1000\r\n" + b" " * 4096 + b"\r\n1000\r\n" + b" " * 4096 + b"\r\n")
    assert answer.startswith("HTTP/1.1 413 ")
    assert '"code":"too_large"' in answer


@pytest.mark.requirement("API-4")
def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    with filled(settings(timeout=0.2)) as knowledge, running(create_app(knowledge)) as address:
        answer = raw(address, b"1\r\n{\r\n")
    assert answer.startswith("HTTP/1.1 408 ")
    assert '"code":"too_slow"' in answer


@pytest.mark.requirement("API-4")
def test_who_asks_too_often_is_told_when_to_come_again() -> None:
    with room(rate=2, tokens=True) as http:
        statuses = [http.post("/v1/lookup", json=ASKED, headers=bears("team-a")).status_code for _ in range(3)]
        assert statuses == [200, 200, 429]
        refused = http.get("/v1/documents", headers=bears("team-a"))
        assert (refused.status_code, refused.json()["error"]["code"]) == (429, "busy")
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        assert http.get("/v1/documents", headers=bears("team-b")).status_code == 200
        assert [http.get("/healthz").status_code for _ in range(5)] == [200] * 5
        assert [http.get("/v1/documents").status_code for _ in range(4)] == [401, 401, 429, 429]


@pytest.mark.requirement("API-4")
@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", ""])
def test_a_host_that_the_server_does_not_have_is_refused(host: str) -> None:
    with room() as http:
        for path in ("/v1/documents", "/openapi.json", "/metrics"):
            refused = http.get(path, headers={"Host": host})
            assert (refused.status_code, refused.json()["error"]["code"]) == (421, "unknown_host")


@pytest.mark.requirement("API-4")
@pytest.mark.parametrize(
    ("origin", "status"),
    [
        (None, 202), ("http://127.0.0.1", 202), ("https://app.example", 202), ("https://evil.example", 403),
        ("null", 403), ("http://127.0.0.1:81", 403), ("http://127.0.0.1.evil.example", 403),
        ("http://[", 403), ("127.0.0.1", 403), ("", 403),
    ],
)  # fmt: skip
def test_a_page_of_a_strangers_cannot_have_a_browser_write_here(origin: str | None, status: int) -> None:
    """A form needs no leave to be sent across origins, and who runs a server at home bears no token."""
    with room(cors_origins=["https://app.example"]) as http:
        sent = http.post(
            "/v1/ingest", files=[("files", ("a.md", b"x"))], headers={} if origin is None else {"Origin": origin}
        )
        assert sent.status_code == status
        if status == 403:
            assert sent.json()["error"]["code"] == "unknown_origin"


@pytest.mark.requirement("API-4")
def test_each_answer_bears_the_requests_id() -> None:
    with room() as http:
        assert http.get("/v1/documents", headers={"X-Request-Id": "a-1.b_2"}).headers["x-request-id"] == "a-1.b_2"
        made = http.get("/v1/nope", headers={"X-Request-Id": "a b\x7f"}).headers["x-request-id"]
        assert len(made) == 16
        assert http.get("/healthz").headers["cache-control"] == "no-store"


@pytest.mark.requirement("API-4")
def test_a_failure_that_nobody_foresaw_says_nothing_of_itself(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the secret plan")

    with filled() as knowledge, client(knowledge) as http:
        monkeypatch.setattr(knowledge, "lookup", broken)
        answer = http.post("/v1/lookup", json=ASKED)
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal")
    assert "secret" not in answer.text
    assert answer.headers["x-request-id"]
    assert "the secret plan" in caplog.text


@pytest.mark.requirement("API-4")
def test_a_store_that_fails_is_an_error_and_readiness_says_no_more_than_that(monkeypatch: pytest.MonkeyPatch) -> None:
    from citewell.errors import StoreUnreachable  # noqa: PLC0415 - here alone

    def gone(*_: object, **__: object) -> None:
        raise StoreUnreachable("/srv/kb is gone", way_out="Mount it.")

    with filled() as knowledge, client(knowledge) as http:
        monkeypatch.setattr(knowledge, "status", gone)
        monkeypatch.setattr(knowledge, "lookup", gone)
        answer = http.post("/v1/lookup", json=ASKED)
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "store_unreachable")
        ready = http.get("/readyz")
        assert (ready.status_code, ready.json()["error"]["code"]) == (503, "not_ready")
        assert "/srv/kb" not in ready.text
        assert http.get("/healthz").status_code == 200


class SlowEmbedder(HashEmbedder):
    """Takes as long over a query that says `slow` as somebody outside lets it."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.go = threading.Event(), threading.Event()

    def embed_query(self, text: str) -> NDArray[np.float32]:
        if "slow" in text:
            self.begun.set()
            self.go.wait(60)
        return super().embed_query(text)

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if any("stuck" in text for text in texts):
            self.begun.set()
            self.go.wait(60)
        return super().embed_passages(texts)


@pytest.fixture
def slow() -> Iterator[tuple[SlowEmbedder, Knowledge]]:
    embedder = SlowEmbedder()
    with filled(settings(workers=2, timeout=30), embedder=embedder) as knowledge:
        yield embedder, knowledge
        embedder.go.set()


def conversation(knowledge: Knowledge, talk: Any) -> None:  # noqa: ANN401 - a coroutine function
    """Talk to an application in this process, with one event loop for both sides."""

    async def talked() -> None:
        app = create_app(knowledge)
        async with app.router.lifespan_context(app):
            transport = httpx2.ASGITransport(app)
            async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
                await talk(http)

    asyncio.run(talked())


@pytest.mark.requirement("API-4")
def test_a_lookup_whose_embedding_is_slow_delays_no_other(slow: tuple[SlowEmbedder, Knowledge]) -> None:
    embedder, knowledge = slow

    async def talk(http: httpx2.AsyncClient) -> None:
        late = asyncio.create_task(http.post("/v1/lookup", json={"query": "slow plan"}))
        await asyncio.to_thread(embedder.begun.wait, 30)
        for number in range(5):
            assert (await http.post("/v1/lookup", json={"query": f"plan {number}"})).status_code == 200
            assert (await http.get("/healthz")).status_code == 200
        assert not late.done()
        embedder.go.set()
        assert (await late).status_code == 200

    conversation(knowledge, talk)


@pytest.mark.requirement("API-4")
def test_no_lookup_waits_behind_an_ingestion(slow: tuple[SlowEmbedder, Knowledge]) -> None:
    embedder, knowledge = slow

    async def talk(http: httpx2.AsyncClient) -> None:
        started = await http.post("/v1/ingest", json={"documents": [{"doc_id": "n", "text": "stuck"}]})
        await asyncio.to_thread(embedder.begun.wait, 30)
        assert (await http.post("/v1/lookup", json=ASKED)).json()["evidence"]
        assert (await http.delete("/v1/documents/open.md")).status_code == 200
        assert (await http.get(started.headers["location"])).json()["state"] == "running"
        embedder.go.set()
        await http.get(f"{started.headers['location']}/events")
        assert (await http.get(started.headers["location"])).json()["state"] == "done"

    conversation(knowledge, talk)


@pytest.mark.requirement("API-4")
def test_lookups_beyond_those_that_may_wait_are_refused_and_slow_ones_time_out() -> None:
    embedder = SlowEmbedder()
    with filled(settings(workers=1, timeout=1), embedder=embedder) as knowledge:

        async def talk(http: httpx2.AsyncClient) -> None:
            asked = [http.post("/v1/lookup", json={"query": f"slow {number}"}) for number in range(10)]
            statuses = sorted([answer.status_code for answer in await asyncio.gather(*asked)])
            assert statuses == [429, *[504] * 9]
            assert (await http.get("/healthz")).status_code == 200
            embedder.go.set()

        conversation(knowledge, talk)
