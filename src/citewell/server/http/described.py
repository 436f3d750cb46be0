"""OpenAPI's description of a route: bodies, parameters and every status that it can answer with (API-4).

It knows statuses and what they mean, and no route.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from fastapi.routing import APIRoute

from citewell.server.http import shapes
from citewell.server.http.answered import JSON

if TYPE_CHECKING:
    from fastapi import APIRouter, FastAPI

Description = dict[str, Any]
Responses = dict[int | str, dict[str, Any]]

_MEANINGS: Final[Mapping[int, str]] = {
    400: "The request can't be taken apart.",
    401: "No known bearer token.",
    403: "This token may not do this, or the store demands a scope.",
    404: "There is no such thing within the caller's scope.",
    405: "Not with this method.",
    408: "The body didn't come within the time limit.",
    409: "It changed meanwhile.",
    413: "The body is too large.",
    415: "The body is of another kind.",
    421: "The server doesn't answer under this host name.",
    422: "An argument can't be used; the message names it.",
    429: "Too many requests; `Retry-After` says when to come again.",
    500: "A failure that nobody foresaw.",
    503: "The store or a model can't be had.",
    504: "It took too long.",
}

_EXAMPLE = {
    "error": {
        "code": "invalid_request",
        "message": "return_n can't be 0",
        "way_out": "Give an integer from 1 to 10000.",
    }
}

ALWAYS: Final = (401, 421, 429, 500)
"""What the gate may answer to any request for something that needs a token."""

READS: Final = (400, 403, 404, 422, 503, 504)
TAKES_A_BODY: Final = (400, 408, 413, 415)


def responses(good: int, shape: Mapping[str, Any], example: object, *others: int, meaning: str = "Done.") -> Responses:
    """Of a route that answers JSON: the good one, and the errors."""
    return {
        good: {"description": meaning, "content": {JSON: {"schema": shape, "example": example}}},
        **errors(*ALWAYS, *others),
    }


def errors(*statuses: int) -> Responses:
    """The errors among the responses of a route."""
    content = {JSON: {"schema": {"$ref": "#/components/schemas/Error"}, "example": _EXAMPLE}}
    return {status: {"description": _MEANINGS[status], "content": content} for status in sorted(set(statuses))}


def body(**kinds: tuple[Mapping[str, Any], Mapping[str, object]]) -> Description:
    """A body in one of these kinds, each with its shape and its examples."""
    names = {"json": JSON, "form": "multipart/form-data"}
    content = {
        names[kind]: {
            "schema": shape,
            "examples": {name: {"summary": name, "value": value} for name, value in examples.items()},
        }
        for kind, (shape, examples) in kinds.items()
    }
    return {"requestBody": {"required": True, "content": content}}


def query(**parameters: tuple[Mapping[str, Any], str]) -> Description:
    """Parameters of the query string, each with its shape and what it means; none is needed."""
    return {
        "parameters": [
            {"name": name, "in": "query", "required": False, "schema": dict(shape), "description": text}
            for name, (shape, text) in parameters.items()
        ]
    }


def complete(app: FastAPI, routers: Sequence[APIRouter], *, secured: bool) -> None:
    """Add to the description of an app what routes refer to, and, with tokens, that they are needed."""
    made = app.openapi

    def described() -> Description:
        if app.openapi_schema is None:
            schema = made()
            parts = schema.setdefault("components", {})
            parts.setdefault("schemas", {})["Error"] = shapes.ERROR
            _with_nulls(routers, schema)
            if secured:
                parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
                _secure(schema)
        return app.openapi_schema or {}

    app.openapi = described  # type: ignore[method-assign]  # this is how FastAPI has it extended


def _with_nulls(routers: Sequence[APIRouter], schema: Description) -> None:
    """Examples as they were given: FastAPI takes what is null out of them."""
    for route in (route for router in routers for route in router.routes):
        if isinstance(route, APIRoute) and route.include_in_schema:
            for method in route.methods or ():
                told = schema["paths"][route.path_format][method.lower()]["responses"]
                for status, given in route.responses.items():
                    told[str(status)]["content"] = given["content"]


def _secure(schema: Description) -> None:
    for path, operations in schema.get("paths", {}).items():
        if path.startswith("/v1/") or path == "/metrics":
            for operation in operations.values():
                operation["security"] = [{"token": []}]
