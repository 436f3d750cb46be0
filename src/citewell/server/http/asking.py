"""Routes that read: lookup, evidence with its neighbours, check, the list of documents (API-4).

They know how arguments come and answers go; what both mean, the service knows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from citewell.server.http import examples, shapes
from citewell.server.http.answered import answered
from citewell.server.http.described import READS, TAKES_A_BODY, body, query, responses
from citewell.server.http.house import caller_of
from citewell.server.http.received import json_object, query_string

if TYPE_CHECKING:
    from citewell.server.http.house import House

_SCOPE: Final = {"type": "array", "items": {"type": "string"}}
_NARROWS: Final = "Labels to look within, of those that you hold; repeat it for each."
_SWITCH: Final = {"type": "boolean", "default": False}


def asking(house: House) -> APIRouter:
    """The routes over what the house holds."""
    router = APIRouter(prefix="/v1")
    _lookup(router, house)
    _evidence(router, house)
    _check(router, house)
    _documents(router, house)
    return router


def _lookup(router: APIRouter, house: House) -> None:
    @router.post(
        "/lookup",
        summary="Find evidence for a question",
        tags=["ask"],
        openapi_extra=body(json=(shapes.LOOKUP_BODY, examples.LOOKUPS)),
        responses=responses(200, shapes.EVIDENCE, examples.SEEN, *READS, *TAKES_A_BODY),
        response_class=Response,
    )
    async def lookup(request: Request) -> Response:
        """Chunks that answer the question, each with its id and why it was found. Nothing found is an answer."""
        given = await json_object(request, list(shapes.LOOKUP_BODY["properties"]), ["query"])
        return await answered(house.lookups, house.service.lookup, caller_of(request), given)


def _evidence(router: APIRouter, house: House) -> None:
    @router.get(
        "/evidence/{key:path}",
        summary="Show one chunk and those around it",
        tags=["ask"],
        openapi_extra=query(
            neighbours=(shapes.NEIGHBOURS, "How many chunks before and after it to show."),
            scope=(_SCOPE, _NARROWS),
            session=({"type": "string", "maxLength": 200}, "Remembers, with `agent`, what was shown."),
            agent=(_SWITCH, "Answer what an agent sees."),
        ),
        responses=responses(200, shapes.EVIDENCE, examples.SEEN, *READS),
        response_class=Response,
    )
    async def evidence(key: str, request: Request) -> Response:
        """By its evidence key, percent-encoded (`etcd.md%23chunk-2`). Outside the scope reads as not there."""
        given = query_string(request, switches=["agent"], numbers=["neighbours"], texts=["session"], lists=["scope"])
        return await answered(house.lookups, house.service.read, caller_of(request), key, given)


def _check(router: APIRouter, house: House) -> None:
    @router.post(
        "/check",
        summary="Check an answer's citations",
        tags=["ask"],
        openapi_extra=body(json=(shapes.CHECK_BODY, examples.CHECKS)),
        responses=responses(200, shapes.GUARD, examples.GUARD, *READS, *TAKES_A_BODY),
        response_class=Response,
    )
    async def check(request: Request) -> Response:
        """Whether each id that an answer cites was really shown. It doesn't prove that a claim follows."""
        given = await json_object(request, list(shapes.CHECK_BODY["properties"]), ["answer"])
        return await answered(house.lookups, house.service.check, caller_of(request), given)


def _documents(router: APIRouter, house: House) -> None:
    @router.get(
        "/documents",
        summary="List the documents",
        tags=["documents"],
        openapi_extra=query(
            after=({"type": "string"}, "The id after which the page begins."),
            limit=(shapes.LIMIT, "The most documents on the page."),
            scope=(_SCOPE, _NARROWS),
        ),
        responses=responses(200, shapes.DOCUMENTS, examples.DOCUMENTS, *READS),
        response_class=Response,
    )
    async def documents(request: Request) -> Response:
        """Those that the caller may see, by id, page by page."""
        given = query_string(request, numbers=["limit"], texts=["after"], lists=["scope"])
        return await answered(house.lookups, house.service.documents, caller_of(request), given)
