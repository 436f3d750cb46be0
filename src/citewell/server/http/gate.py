"""What every request passes: an id, its host, token and rate, bounds on its body, and the log line at its end (API-4).

It lets a request through with its caller, or answers it itself; what lies behind, it doesn't know. Tokens, query
strings and bodies never reach the log.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect

from citewell.errors import CitewellError
from citewell.server.callers import Caller, Callers
from citewell.server.hosts import Hosts
from citewell.server.http.answered import Refused, error_response
from citewell.server.http.house import CALLER
from citewell.server.rates import Rates

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from citewell.config.settings import ServerSettings

_log = logging.getLogger("citewell.server.http")

_GIVEN_ID: Final = re.compile("[A-Za-z0-9._-]{1,64}")
_METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_READING: Final = ("GET", "HEAD", "OPTIONS")
_FOR_ANYONE: Final = ("/healthz", "/readyz", "/openapi.json")
"""What says nothing of documents and callers, and is neither limited nor guarded."""

_GONE: Final = 499
"""In the log: the client went before it was answered."""

_HEADERS: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}

Counted = Callable[[str, str, int, float], None]
"""(route, method, status, seconds) of a request that was answered."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What the gate goes by.

    Attributes:
        guests: paths whose own pages decide who may see them, and all below each but `/`.
        seconds: within which a body must have come.
    """

    callers: Callers
    hosts: Hosts
    rates: Rates
    most_bytes: int
    seconds: float
    guests: Sequence[str] = ()

    @classmethod
    def of(cls, settings: ServerSettings, guests: Sequence[str] = ()) -> Rules:
        """Those of the settings."""
        return cls(
            Callers(settings.tokens),
            Hosts(settings),
            Rates(settings.rate),
            settings.max_body,
            settings.timeout_s,
            tuple(guests),
        )


class Gate:
    """ASGI middleware; the outermost but for CORS."""

    def __init__(self, app: ASGIApp, *, rules: Rules, counted: Counted) -> None:
        self._app, self._rules, self._counted = app, rules, counted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it; web sockets are closed, for nothing here speaks them."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        elif scope["type"] == "http":
            await self._pass(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        started, headers = time.perf_counter(), Headers(scope=scope)
        answer = _Answer(send, _request_id(headers))
        with structlog.contextvars.bound_contextvars(request=answer.request_id):
            try:
                self._admit(scope, headers)
                bound = _Body(receive, self._rules.most_bytes, self._rules.seconds, headers)
                await self._app(scope, bound.receive, answer.send)
            except ClientDisconnect:
                pass  # in the middle of its body; there is nobody to answer
            except Exception as error:  # noqa: BLE001 - whatever it is, the client gets an answer and the log the rest
                await answer.refuse(error, scope, receive)
            finally:
                self._tell(scope, answer.status or _GONE, time.perf_counter() - started)

    def _admit(self, scope: Scope, headers: Headers) -> None:
        """Say in the scope who calls.

        Raises:
            Refused: the host is unknown, or a page of another origin would write.
            Unauthorized, TooOften: no known token, or too many requests.
        """
        if "content-length" in headers and "transfer-encoding" in headers:
            # Whoever passed it on may have gone by the other of the two, and taken a part of it for the next request.
            raise Refused(400, "two_lengths", "the body has a length and comes in chunks", "Send one of the two.")
        host, path = headers.get("host"), scope["path"]
        if path in _FOR_ANYONE and path != "/openapi.json":
            return  # a probe names whatever address it has
        if not self._rules.hosts.takes(host):
            raise Refused(421, "unknown_host", "the server doesn't answer under this host name", "Use its own.")
        if path in _FOR_ANYONE or self._is_guest(path):
            return
        if scope["method"] not in _READING and not self._rules.hosts.takes_origin(headers.get("origin"), host):
            raise Refused(403, "unknown_origin", "pages of this origin may not call", "server.cors-origins names some.")
        scope[CALLER] = self._caller(scope, headers)

    def _is_guest(self, path: str) -> bool:
        return any(path == guest or (guest != "/" and path.startswith(f"{guest}/")) for guest in self._rules.guests)

    def _caller(self, scope: Scope, headers: Headers) -> Caller:
        rules, address = self._rules, (scope.get("client") or ("",))[0]
        try:
            caller = rules.callers.identify(*headers.getlist("authorization"))
        except CitewellError:
            rules.rates.count(f"address {address}")  # so that nobody tries tokens without end
            raise
        rules.rates.count(f"caller {caller.name}")
        return caller

    def _tell(self, scope: Scope, status: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._counted(_route(scope), method, status, seconds)
        caller = scope.get(CALLER)
        line = {"method": method, "path": scope["path"], "status": status, "ms": round(seconds * 1000, 3)}
        _log.info("request", extra=line | ({"caller": caller.name} if isinstance(caller, Caller) else {}))


class _Answer:
    """Sends what is answered, with the headers that every answer bears, and knows whether that has begun."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send, self.request_id = send, request_id
        self.status = 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers["X-Request-Id"] = self.request_id
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await self._send(message)

    async def refuse(self, error: Exception, scope: Scope, receive: Receive) -> None:
        """Answer an error; one that comes in the middle of an answer can only end it."""
        if self.status:
            _log.error("an answer broke off", exc_info=error)
            raise error
        await error_response(error, scope.get(CALLER))(scope, receive, self.send)


class _Body:
    """Receives a body of bounded size, within bounded time."""

    def __init__(self, receive: Receive, most: int, seconds: float, headers: Headers) -> None:
        self._receive, self._most = receive, most
        self._until = time.monotonic() + seconds
        self._seconds, self._bytes, self._whole = seconds, 0, False
        given = headers.get("content-length", "")
        if given.isascii() and given.isdigit() and (len(given) > 18 or int(given) > most):
            raise self._too_large()

    async def receive(self) -> Message:
        if self._whole:
            return await self._receive()  # what comes now is that the client goes
        message = await self._next()
        if message["type"] == "http.request":
            self._bytes += len(message.get("body", b""))
            self._whole = not message.get("more_body", False)
            if self._bytes > self._most:
                raise self._too_large()
        return message

    async def _next(self) -> Message:
        try:
            return await asyncio.wait_for(self._receive(), max(0.0, self._until - time.monotonic()))
        except TimeoutError:
            raise Refused(
                408, "too_slow", f"the body didn't come within {self._seconds:g} s", "Send it faster, or less."
            ) from None

    def _too_large(self) -> Refused:
        return Refused(413, "too_large", f"the body has more than {self._most} bytes", "Send less at a time.")


def _request_id(headers: Headers) -> str:
    """The one that the client gave, if it looks like one; else a new one."""
    given = headers.get("x-request-id", "")
    return given if _GIVEN_ID.fullmatch(given) else secrets.token_hex(8)


def _route(scope: Scope) -> str:
    """The route's pattern: paths themselves are endless."""
    path = getattr(scope.get("route"), "path", None)
    return path if isinstance(path, str) and path else "(none)"
