"""Health, readiness and figures, for whoever runs the server (API-4).

Health and readiness say a word to anyone, for probes bear no tokens; figures tell of all callers' doings, and so need a
token that holds everything where there are tokens.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from citewell.errors import CitewellError, Forbidden
from citewell.server.http import shapes
from citewell.server.http.answered import Refused, answered, as_json
from citewell.server.http.described import ALWAYS, errors, responses
from citewell.server.http.house import caller_of
from citewell.server.http.received import no_query_string
from citewell.server.observe.metrics import CONTENT_TYPE

if TYPE_CHECKING:
    from citewell.server.http.house import House

_log = logging.getLogger("citewell.server.http")


def health(house: House) -> APIRouter:
    """The routes over what the house holds."""
    router = APIRouter(tags=["health"])

    @router.get(
        "/healthz",
        summary="Say that the server runs",
        responses=responses(200, shapes.STATE, {"status": "ok"}),
        response_class=Response,
    )
    async def healthz() -> Response:
        """It asks nothing of the store."""
        return as_json({"status": "ok"})

    @router.get(
        "/readyz",
        summary="Say whether lookups can be answered",
        responses=responses(200, shapes.STATE, {"status": "ready"}, 503, 504),
        response_class=Response,
    )
    async def readyz() -> Response:
        """It asks the store."""
        return await answered(house.probes, _ready, house)

    @router.get(
        "/metrics",
        summary="Figures for Prometheus",
        responses={
            200: {
                "description": "In Prometheus's text format.",
                "content": {"text/plain": {"schema": {"type": "string"}}},
            },
            **errors(*ALWAYS, 403, 422),
        },
        response_class=Response,
    )
    async def metrics(request: Request) -> Response:
        """Where there are tokens, one that holds everything is needed."""
        no_query_string(request)
        if caller_of(request).bound:
            raise Forbidden("figures tell of all callers", way_out="Use a token without a scope.")
        return Response(house.metrics.page(), headers={"Content-Type": CONTENT_TYPE})

    return router


def _ready(house: House) -> dict[str, object]:
    """Anyone may ask, so that the reason why not goes to the log alone."""
    try:
        house.service.knowledge.status()
    except CitewellError as error:
        _log.warning("not ready", extra={"cause": str(error)})
        raise Refused(503, "not_ready", "lookups can't be answered now", "The server's log says why.") from error
    return {"status": "ready"}
