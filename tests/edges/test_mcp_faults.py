"""When something fails or takes long: what a client is told, what only the log is told, and that nobody else waits."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_room import DOCUMENTS, MODES, Mode, call, filled, served, structured, talk, texts
from mcp_types import CallToolResult, EmptyResult, PingRequest
from numpy.typing import NDArray

from citewell import Knowledge, Settings
from citewell.errors import StoreUnreachable
from citewell.server.mcp.opening import Opened, Opening
from citewell.testing.fakes import HashEmbedder

SECRET = "/srv/secret/path and a password"


class Broken(Knowledge):
    """Fails as nobody foresaw."""

    def lookup(self, *_: Any, **__: Any) -> Any:  # noqa: ANN401 - it never answers
        raise RuntimeError(SECRET)

    read = read_document = lookup
    documents = lookup


class Held(HashEmbedder):
    """Embeds questions only while it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.free, self.begun = threading.Event(), threading.Event()

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Waits for a question that says so."""
        if "sloth" in text:
            self.begun.set()
            self.free.wait(30)
        return super().embed_query(text)


@pytest.mark.requirement("API-3")
@pytest.mark.parametrize("mode", MODES)
def test_an_error_that_nobody_foresaw_is_masked_and_its_cause_is_logged(
    mode: Mode, caplog: pytest.LogCaptureFixture
) -> None:
    async def read(client: Client) -> str:
        with pytest.raises(MCPError) as failed:
            await client.read_resource("citewell://evidence/a.md%23chunk-0")
        return str(failed.value.error.model_dump())

    with Broken.open("memory:", embedder=HashEmbedder()) as broken:
        with served(broken) as server:
            result = call(server, "lookup_knowledge", {"query": "x"}, mode)
        with served(broken) as server:
            refusal = talk(server, read, mode)
    assert result.is_error
    told = [*texts(result), refusal]
    assert all("the server failed on this call" in one and "secret" not in one for one in told)
    assert [record.exc_text is not None and SECRET in record.exc_text for record in caplog.records] == [True, True]


@pytest.mark.requirement("API-3", "ENGINE-4")
def test_a_store_that_cannot_be_opened_is_told_at_each_call_and_is_found_once_it_can() -> None:
    missing = [True]

    def opened() -> Knowledge:
        if missing[0]:
            raise StoreUnreachable("there is no store at 'kb'", way_out="Fill it: citewell ingest.")
        return Knowledge.open("memory:", embedder=HashEmbedder())

    async def scene(client: Client) -> tuple[CallToolResult, MCPError, CallToolResult]:
        first = await client.call_tool("lookup_knowledge", {"query": "x"})
        with pytest.raises(MCPError) as refused:
            await client.list_resources()
        missing[0] = False
        return first, refused.value, await client.call_tool("lookup_knowledge", {"query": "x"})

    opening = Opening(opened)

    async def closed(client: Client) -> Any:  # noqa: ANN401 - as `scene`
        try:
            return await scene(client)
        finally:
            await opening.close()

    with served(opening) as server:
        first, refusal, second = talk(server, closed)
    assert first.is_error
    assert texts(first) == ["there is no store at 'kb'. Fill it: citewell ingest. [store_unreachable]"]
    assert refusal.error.message == "there is no store at 'kb'. Fill it: citewell ingest."
    assert structured(second)["status"] == "empty_store"


@pytest.mark.requirement("API-3")
@pytest.mark.parametrize("mode", MODES)
def test_the_handshake_and_all_lists_are_answered_while_the_store_is_still_being_opened(mode: Mode) -> None:
    free, told = threading.Event(), list[str | None]()

    def opened() -> Knowledge:
        free.wait(30)
        return Knowledge.open("memory:", embedder=HashEmbedder())

    opening = Opening(opened)

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)
        free.set()

    async def scene(client: Client) -> CallToolResult:
        try:
            await client.list_tools()
            await client.list_prompts()
            await client.list_resource_templates()
            assert opening.ready is False
            return await client.call_tool("lookup_knowledge", {"query": "x"}, progress_callback=note)
        finally:
            await opening.close()

    with served(opening) as server:
        answer = talk(server, scene, mode)
    assert structured(answer)["status"] == "empty_store"
    assert told == ["opening the knowledge base", "searching", "done"]


def held(scene: Callable[[Client, Held], Any], **options: Any) -> Any:  # noqa: ANN401 - whatever the scene comes to
    """A scene with a server whose embedder is held up."""
    embedder = Held()
    with Knowledge.open("memory:", settings=Settings.of({"rag.hints": False}), embedder=embedder) as knowledge:
        knowledge.ingest_documents(DOCUMENTS)
        with served(Opened(knowledge), **options) as server:

            async def played(client: Client) -> Any:  # noqa: ANN401 - as above
                try:
                    return await scene(client, embedder)
                finally:
                    embedder.free.set()

            return talk(server, played, "legacy")


@pytest.mark.requirement("API-3")
def test_a_slow_lookup_delays_neither_a_ping_nor_another_lookup() -> None:
    async def scene(client: Client, embedder: Held) -> bool:
        slow = asyncio.ensure_future(client.call_tool("lookup_knowledge", {"query": "sloth"}))
        await asyncio.to_thread(embedder.begun.wait, 30)
        await client.session.send_request(PingRequest(), EmptyResult)
        structured(await client.call_tool("lookup_knowledge", {"query": "etcd"}))
        waited = not slow.done()
        embedder.free.set()
        structured(await slow)
        return waited

    assert held(scene) is True


@pytest.mark.requirement("API-3")
def test_a_lookup_that_takes_too_long_is_given_up_with_a_way_out() -> None:
    async def scene(client: Client, _: Held) -> CallToolResult:
        return await client.call_tool("lookup_knowledge", {"query": "sloth"})

    result = held(scene, timeout_s=0.05)
    assert result.is_error
    assert texts(result) == [
        "no answer within 0.05 s. Ask for less (return_n, retrieve_k), or again later. [timed_out]"
    ]


def test_half_a_character_in_an_argument_breaks_no_answer() -> None:
    with filled() as knowledge, served(knowledge) as server:
        result = call(server, "read_evidence", {"id": "\ud800.md#chunk-0"}, "auto")
    assert result.is_error
    assert texts(result) == [
        "there is no evidence '\\ud800.md#chunk-0'. Copy the id of a lookup's evidence. [unknown_evidence]"
    ]
