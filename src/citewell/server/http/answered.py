"""Values become responses, and errors too: `{error: {code, message, way_out}}` with the status that fits (API-4).

It knows neither routes nor what was asked.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, ParamSpec

from starlette.exceptions import HTTPException
from starlette.responses import Response

from citewell.errors import CitewellError, Unauthorized
from citewell.server.discreet import told
from citewell.server.faults import status_of
from citewell.server.http.house import CALLER
from citewell.server.rates import TooOften

if TYPE_CHECKING:
    from starlette.requests import Request

    from citewell.server.callers import Caller
    from citewell.server.desk import Desk

_P = ParamSpec("_P")

_log = logging.getLogger("citewell.server.http")

JSON: Final = "application/json"


class Refused(Exception):
    """A request that HTTP itself can't take: its host, size, time, kind or place.

    Attributes:
        status: of the response.
        code: stable, as an error's.
    """

    def __init__(self, status: int, code: str, message: str, way_out: str = "") -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.way_out = status, code, message, way_out


async def answered(desk: Desk, act: Callable[_P, dict[str, object]], *args: _P.args, **kwargs: _P.kwargs) -> Response:
    """What `act` returns as JSON, made and written out in a thread of the desk."""

    def written() -> bytes:
        return to_bytes(act(*args, **kwargs))

    return Response(await desk.run(written), media_type=JSON)


def as_json(value: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A small value as JSON."""
    return Response(to_bytes(value), status_code=status, media_type=JSON, headers=headers)


def to_bytes(value: object) -> bytes:
    """JSON in UTF-8; half a character, which has no form there, makes it JSON in ASCII."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")


def error_response(error: Exception, caller: Caller | None) -> Response:
    """The response for any error, as this caller may read it; one that nobody foresaw says nothing, and the log all."""
    if isinstance(error, CitewellError):
        error = told(error, caller)
        return as_json({"error": error.to_dict()}, status_of(error), _headers(error))
    if isinstance(error, Refused):
        # What is left of a body that was refused is not waited for.
        closing = {"Connection": "close"} if error.status in (408, 413) or error.code == "two_lengths" else None
        return _refusal(error.status, error.code, error.message, error.way_out, closing)
    if isinstance(error, HTTPException):
        return _by_status(error)
    _log.error("a request failed", exc_info=error)
    return _refusal(500, "internal", "the server failed on this request", "Its log says why, under the request's id.")


async def handle(request: Request, error: Exception) -> Response:
    """`error_response`, as FastAPI calls it."""
    return error_response(error, request.scope.get(CALLER))


def _refusal(status: int, code: str, message: str, way_out: str, headers: dict[str, str] | None = None) -> Response:
    return as_json({"error": {"code": code, "message": message, "way_out": way_out}}, status, headers)


def _headers(error: CitewellError) -> dict[str, str]:
    if isinstance(error, Unauthorized):
        return {"WWW-Authenticate": "Bearer"}
    if status_of(error) == 429:
        return {"Retry-After": str(error.retry_after_s if isinstance(error, TooOften) else 1)}
    return {}


def _by_status(error: HTTPException) -> Response:
    """What the router itself refuses."""
    headers = dict(error.headers or {})
    if error.status_code == 404:
        return _refusal(404, "no_route", "there is nothing at this address", "/openapi.json says what there is.")
    if error.status_code == 405:
        message = "this address doesn't take that method"
        return _refusal(405, "method_not_allowed", message, f"It takes {headers.get('Allow', '')}.", headers)
    return _refusal(error.status_code, "bad_request", str(error.detail), "", headers)
