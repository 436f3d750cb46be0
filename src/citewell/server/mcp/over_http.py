"""MCP over streamable HTTP: an ASGI endpoint for a server to mount, which lets nobody in without a known token (API-4).

It checks the token on every request, ties a session of the protocol to the caller who opened it, takes only hosts that
it knows (DNS rebinding) and bodies of bounded size. It knows no route beside its own, and starts no server.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.datastructures import Headers
from starlette.responses import Response

from citewell.errors import CitewellError, Unauthorized
from citewell.server.callers import Caller, Callers
from citewell.server.faults import status_of
from citewell.server.hosts import Hosts
from citewell.server.mcp.conversation import Conversation
from citewell.server.mcp.factory import build
from citewell.server.mcp.opening import Opened
from citewell.server.mcp.uris import EVIDENCE

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from starlette.types import ASGIApp, Receive, Scope, Send

    from citewell.app import Knowledge
    from citewell.config.settings import ServerSettings
    from citewell.server.desk import Desk

_CALLER = "citewell.caller"

MAX_SESSIONS: Final = 500
"""Of the protocol, for each caller by itself: whoever opens one after the other takes none from the others. Each takes
some 40 kB until it was quiet for half an hour."""


@dataclass(frozen=True, slots=True)
class OverHttp:
    """MCP, to be put under a path.

    Attributes:
        endpoint: the ASGI application of exactly that path, for `starlette.routing.Route`, whatever the method.
        managers: of the protocol's sessions, by the name of the caller.
    """

    endpoint: ASGIApp
    managers: Mapping[str, StreamableHTTPSessionManager]

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """To be entered for as long as the server runs, once."""
        async with AsyncExitStack() as stack:
            for manager in self.managers.values():
                await stack.enter_async_context(manager.run())
            yield


def over_http(
    knowledge: Knowledge,
    *,
    callers: Callers,
    settings: ServerSettings,
    desk: Desk,
    version: str,
    base_url: str = EVIDENCE,
) -> OverHttp:
    """MCP over an open Knowledge; who built it closes it, and the desk.

    Args:
        knowledge: to ask.
        callers: who may call.
        settings: hosts and the size of bodies.
        desk: where blocking work is done.
        version: of Citewell.
        base_url: of pages that show a passage by its evidence key.
    """

    def manager() -> StreamableHTTPSessionManager:
        server = build(Opened(knowledge), desk=desk, caller_of=caller_of, version=version, base_url=base_url)
        return StreamableHTTPSessionManager(
            app=server, max_request_body_size=settings.max_body, max_sessions=MAX_SESSIONS
        )

    managers = {name: manager() for name in callers.names}
    apps = {name: StreamableHTTPASGIApp(held) for name, held in managers.items()}
    return OverHttp(_Guarded(apps, callers, settings), managers)


def caller_of(context: ServerRequestContext[Conversation, Any]) -> Caller:
    """Who sent a request over HTTP.

    Raises:
        Unauthorized: it did not come through the guard.
    """
    caller = None if context.request is None else context.request.scope.get(_CALLER)
    if not isinstance(caller, Caller):
        raise Unauthorized("nobody is known to have sent this", way_out="Send `Authorization: Bearer TOKEN`.")
    return caller


class _Guarded:
    """Lets requests through that a known host and origin name and that bear a known token, with who sent them."""

    def __init__(self, apps: Mapping[str, ASGIApp], callers: Callers, settings: ServerSettings) -> None:
        self._apps, self._callers, self._hosts = apps, callers, Hosts(settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            scope[_CALLER] = caller = self._admit(Headers(scope=scope))
        except CitewellError as error:
            await _refusal(error)(scope, receive, send)
            return
        except _Elsewhere as error:
            await Response(str(error), status_code=error.status, media_type="text/plain")(scope, receive, send)
            return
        if caller.apart:
            # The SDK ties a session to this user; the token itself goes no further.
            scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=caller.name, scopes=[]))
        await self._apps[caller.name](scope, receive, send)

    def _admit(self, headers: Headers) -> Caller:
        """Who sends a request that no page elsewhere could have sent (DNS rebinding).

        Raises:
            _Elsewhere: the host or the origin is unknown.
            Unauthorized: so is the token.
        """
        host = headers.get("host")
        if not self._hosts.takes(host):
            raise _Elsewhere(421, "Invalid Host header")
        if not self._hosts.takes_origin(headers.get("origin"), host):
            raise _Elsewhere(403, "Invalid Origin header")
        return self._callers.identify(*headers.getlist("authorization"))


class _Elsewhere(Exception):
    """A request that names a host or an origin that isn't ours."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def _refusal(error: CitewellError) -> Response:
    return Response(
        json.dumps({"error": error.to_dict()}),
        status_code=status_of(error),
        media_type="application/json",
        headers={"WWW-Authenticate": "Bearer"},
    )
