"""One process that serves HTTP and MCP over one Knowledge until it is told to end, and then ends gracefully (API-4).

It knows uvicorn and the parts to put together; what they answer, it doesn't know.
"""

from __future__ import annotations

import contextlib
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import IO, TYPE_CHECKING, Final

import uvicorn
from starlette.routing import Route

from citewell.errors import ConfigError
from citewell.server.callers import Callers, check_exposure
from citewell.server.http.app import Beside, create_app
from citewell.server.observe.logs import log_to
from citewell.server.punctual import Punctual

if TYPE_CHECKING:
    from citewell.app import Knowledge
    from citewell.config.settings import ServerSettings, Settings
    from citewell.server.http.house import House
    from citewell.server.jobs import Jobs
    from citewell.server.observe.spans import TracerProvider

MCP_PATH: Final = "/mcp"

_GRACE_S: Final = 10
"""How long requests that run may go on after the server was told to end."""

_KEEP_ALIVE_S: Final = 75
"""How long a quiet connection stays open: longer than clients and proxies keep theirs, so that they close it first."""

_BACKLOG: Final = 512

_SWITCH_S: Final = 0.001
"""How long a thread keeps Python's lock when others want it: the event loop waits for one turn of each at most."""


def serve(
    opened: Callable[[], Knowledge],
    settings: Settings,
    *,
    version: str,
    log: IO[str],
    told: Callable[[str], None],
) -> None:
    """Serve until SIGINT or SIGTERM; a second one ends requests that still run.

    Args:
        opened: opens the Knowledge; called once it is known that the server may listen.
        settings: `server.*` of them.
        version: of Citewell.
        log: where the log goes, as JSON lines.
        told: called with the server's address when it answers.

    Raises:
        InvalidRequest: others can reach the address, and there are no tokens.
        ConfigError: the address can't be listened on, or an extra is missing.
    """
    check_exposure(settings.server.host, Callers(settings.server.tokens))
    with contextlib.ExitStack() as stack:
        listening = stack.enter_context(_listening(settings.server))
        spans = stack.enter_context(_spans(settings.server))
        knowledge = stack.enter_context(opened())
        log_to(log)
        sys.setswitchinterval(_SWITCH_S)
        app = create_app(knowledge, beside=partial(_beside, version=version), version=version, spans=spans)
        server = _Server(_config(app), app.state.house.jobs, partial(told, _address(settings.server, listening)))
        server.run(sockets=[listening])
        if not server.started:
            raise ConfigError("the server could not start", way_out="Its log says why.")


def _beside(house: House, *, version: str) -> Beside:
    """MCP at its path, and the inspector at its own, where links to evidence lead."""
    from citewell.server.mcp.over_http import over_http  # noqa: PLC0415 - the SDK takes more than a second
    from citewell.server.mcp.uris import EVIDENCE  # noqa: PLC0415 - as above
    from citewell.server.web.gate import HOME  # noqa: PLC0415 - its room is loaded only to serve
    from citewell.server.web.router import router  # noqa: PLC0415 - as above

    knowledge = house.service.knowledge
    settings = knowledge.settings.server
    callers = Callers(settings.tokens)
    base = EVIDENCE if settings.public_url is None else f"{settings.public_url.rstrip('/')}{HOME}/evidence?key="
    mounted = over_http(
        knowledge,
        callers=callers,
        settings=settings,
        desk=house.lookups,
        version=version,
        base_url=base,
    )
    return Beside(
        routes=[Route(MCP_PATH, mounted.endpoint)],
        routers=[router(knowledge, callers=callers, desk=house.lookups, jobs=house.jobs)],
        guests=["/", HOME],
        running=[mounted.run],
    )


def _config(app: Callable[..., object]) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=Punctual,
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_GRACE_S,
        timeout_keep_alive=_KEEP_ALIVE_S,
    )


class _Server(uvicorn.Server):
    """Says when it answers; told to end, it first lets ingestions end, whose followers would hold it up."""

    def __init__(self, config: uvicorn.Config, jobs: Jobs, answering: Callable[[], None]) -> None:
        super().__init__(config)
        self._jobs, self._answering = jobs, answering

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._answering()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._jobs.stop()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As uvicorn's own, but a signal is not raised again at the end: the store is still to be closed."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


@contextlib.contextmanager
def _listening(settings: ServerSettings) -> Iterator[socket.socket]:
    """A socket at the address; closed in the end.

    Raises:
        ConfigError: there is no such address, it is in use, or not for this user.
    """
    host = settings.host.strip("[]")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise _unusable(settings, error) from error
    with listening:
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(_BACKLOG)
        except OSError as error:
            raise _unusable(settings, error) from error
        yield listening


def _unusable(settings: ServerSettings, error: OSError) -> ConfigError:
    return ConfigError(
        f"{settings.host}:{settings.port} can't be listened on: {error.strerror or error}",
        way_out="Choose another server.host or server.port; port 0 takes a free one.",
    )


def _address(settings: ServerSettings, listening: socket.socket) -> str:
    host = f"[{settings.host}]" if ":" in settings.host.strip("[]") else settings.host
    return f"http://{host}:{listening.getsockname()[1]}"


@contextlib.contextmanager
def _spans(settings: ServerSettings) -> Iterator[TracerProvider | None]:
    """Where spans go, if the settings want them; what is left is sent in the end."""
    if not settings.tracing:
        yield None
        return
    from citewell.server.observe.spans import exporting  # noqa: PLC0415 - an extra

    provider = exporting()
    try:
        yield provider
    finally:
        provider.shutdown()
