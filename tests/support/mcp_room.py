"""Rooms for MCP tests: a small knowledge base with scopes, a server over it in memory, and a live one over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, Literal, TypeVar

import uvicorn
from mcp import Client
from mcp.server import Server
from mcp_types import CallToolResult, TextContent
from starlette.applications import Starlette
from starlette.routing import Route

from citewell import Document, Knowledge, Settings
from citewell.config import ServerSettings
from citewell.server.callers import ANYONE, Caller, Callers
from citewell.server.desk import Desk
from citewell.server.mcp.factory import build
from citewell.server.mcp.opening import Opened, Source
from citewell.server.mcp.over_http import over_http
from citewell.testing.fakes import HashEmbedder

STEPS = "\n\n".join(f"## Step {number}\n\n{f'Turn wheel {number} slowly. ' * 60}" for number in range(3))

DOCUMENTS = (
    Document("ops/etcd.md", "# Etcd\n\nCheck the disk first. Then wait five minutes.", scope="red"),
    Document("pay.md", "# Pay\n\nSalaries are paid on the last day.", scope="blue"),
    Document("steps.md", STEPS, scope=["red", "blue"]),
)


@contextlib.contextmanager
def filled(*documents: Document, settings: Settings | None = None) -> Iterator[Knowledge]:
    """An open Knowledge in memory with these documents, else with DOCUMENTS."""
    with Knowledge.open("memory:", settings=settings or Settings.of({}), embedder=HashEmbedder()) as knowledge:
        knowledge.ingest_documents(documents or DOCUMENTS)
        yield knowledge


@contextlib.contextmanager
def desk(workers: int = 4, timeout_s: float | None = 30.0) -> Iterator[Desk]:
    """A desk that is closed at the end."""
    opened = Desk("test", workers=workers, waiting=32, timeout_s=timeout_s)
    try:
        yield opened
    finally:
        opened.close()


@contextlib.contextmanager
def served(source: Knowledge | Source, caller: Caller = ANYONE, **options: Any) -> Iterator[Server[Any]]:  # noqa: ANN401 - of `build`
    """A server object that runs once, for the SDK's client in memory."""
    with desk(options.pop("workers", 4), options.pop("timeout_s", 30.0)) as worked:
        given = Opened(source) if isinstance(source, Knowledge) else source
        yield build(given, desk=worked, caller_of=lambda _: caller, version="1.2.3", **options)


@contextlib.contextmanager
def live(knowledge: Knowledge, settings: ServerSettings | None = None, *, base_url: str | None = None) -> Iterator[str]:
    """A server over HTTP that answers at the URL given, in a thread of its own."""
    chosen = settings or ServerSettings()
    with desk() as worked:
        options = {} if base_url is None else {"base_url": base_url}
        mounted = over_http(
            knowledge, callers=Callers(chosen.tokens), settings=chosen, desk=worked, version="1.2.3", **options
        )

        @contextlib.asynccontextmanager
        async def lifespan(_: Starlette) -> Any:  # noqa: ANN401 - an iterator of nothing
            async with mounted.run():
                yield

        with running(Starlette(routes=[Route("/mcp", mounted.endpoint)], lifespan=lifespan)) as address:
            yield f"{address}/mcp"


@contextlib.contextmanager
def running(app: Callable[..., Any], **options: Any) -> Iterator[str]:  # noqa: ANN401 - of uvicorn
    """An ASGI application behind uvicorn on a free port; its address."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        chosen = {"log_level": "critical", "timeout_graceful_shutdown": 2, "ws": "none", **options}
        server = uvicorn.Server(uvicorn.Config(app, **chosen))
        started = threading.Event()
        startup = server.startup

        async def told(sockets: list[socket.socket] | None = None) -> None:
            await startup(sockets)
            started.set()

        server.startup = told  # type: ignore[method-assign]  # uvicorn has no other way to say that it listens
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])), daemon=True)
        thread.start()
        try:
            if not started.wait(30):
                raise RuntimeError("the server did not start")
            yield address
        finally:
            server.should_exit = True
            thread.join(30)


T = TypeVar("T")
Mode = Literal["auto", "legacy"]
MODES: tuple[Mode, ...] = ("auto", "legacy")
"""The era without a handshake, and the one before it."""


def talk(server: Any, conversation: Callable[[Client], Awaitable[T]], mode: Mode = "auto") -> T:  # noqa: ANN401 - whatever a client connects to
    """What a conversation of the SDK's client with this server comes to."""

    async def talked() -> T:
        async with Client(server, mode=mode) as client:
            return await conversation(client)

    return asyncio.run(talked())


def call(server: Any, tool: str, arguments: Mapping[str, Any], mode: Mode = "auto") -> CallToolResult:  # noqa: ANN401 - as `talk`
    """One call of one tool, in a connection of its own."""
    return talk(server, lambda client: client.call_tool(tool, dict(arguments)), mode)


def texts(result: CallToolResult) -> list[str]:
    """The blocks of an answer, all of which are texts."""
    assert all(isinstance(block, TextContent) for block in result.content), result.content
    return [block.text for block in result.content if isinstance(block, TextContent)]


def structured(result: CallToolResult) -> Any:  # noqa: ANN401 - whatever JSON holds
    """The object of an answer that is no error."""
    assert not result.is_error, texts(result)
    return result.structured_content
