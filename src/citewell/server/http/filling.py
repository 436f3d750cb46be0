"""Routes that write: ingestions, which go on as jobs, what becomes of them, deletions (API-4).

They know how documents come and how a job is told of; who may write what, the service knows.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from citewell.server.http import examples, shapes
from citewell.server.http.answered import Refused, answered, as_json, to_bytes
from citewell.server.http.described import ALWAYS, TAKES_A_BODY, body, errors, responses
from citewell.server.http.house import caller_of
from citewell.server.http.received import documents_of, no_query_string

if TYPE_CHECKING:
    from citewell.server.http.house import House
    from citewell.server.jobs import Job, JobSeen

_QUIET_S: Final = 15.0
"""How long nothing may happen before a comment keeps the connection open."""

_EVENTS: Final = "text/event-stream"


def filling(house: House) -> APIRouter:
    """The routes over what the house holds."""
    router = APIRouter(prefix="/v1")
    _ingest(router, house)
    _job(router, house)
    _events(router, house)
    _delete(router, house)
    return router


def _ingest(router: APIRouter, house: House) -> None:
    kinds = body(
        json=(shapes.DOCUMENTS_BODY, examples.INGESTIONS),
        form=(shapes.FILES_FORM, {}),
    )

    @router.post(
        "/ingest",
        status_code=202,
        summary="Ingest documents",
        tags=["documents"],
        openapi_extra=kinds,
        responses=responses(202, shapes.JOB, examples.JOB, 403, 422, 503, 504, *TAKES_A_BODY, meaning="Queued."),
        response_class=Response,
    )
    async def ingest(request: Request) -> Response:
        """Uploaded files of any format, or documents as JSON; what is given is replaced, all else stays."""
        caller = caller_of(request)
        caller.check_ingest()
        given = await documents_of(request)
        ids, work = await house.changes.run(house.service.filling, caller, given)
        job = house.jobs.start(caller.name, len(ids), work)
        return as_json(job.now().to_dict(), 202, {"Location": f"/v1/ingest/{job.name}"})


def _job(router: APIRouter, house: House) -> None:
    @router.get(
        "/ingest/{job}",
        summary="Show how far an ingestion is",
        tags=["documents"],
        responses=responses(200, shapes.JOB, examples.JOB, 404, 422, 504),
        response_class=Response,
    )
    async def job_state(job: str, request: Request) -> Response:
        """A job of the caller's own; those that have ended are kept for a while."""
        return await answered(house.lookups, _found(house, request, job).now().to_dict)


def _events(router: APIRouter, house: House) -> None:
    content = {_EVENTS: {"schema": shapes.EVENT, "example": 'event: done\ndata: {"job":"…","state":"done"}\n\n'}}

    @router.get(
        "/ingest/{job}/events",
        summary="Follow an ingestion",
        tags=["documents"],
        responses={
            200: {"description": "Server-sent events, until the job has ended.", "content": content},
            **errors(*ALWAYS, 404, 422),
        },
        response_class=StreamingResponse,
    )
    async def job_events(job: str, request: Request) -> Response:
        """An event for each change, named as the job's state, with the job as its data; the last one ends it."""
        followed = _found(house, request, job)
        return StreamingResponse(_told(followed), media_type=_EVENTS)


def _delete(router: APIRouter, house: House) -> None:
    @router.delete(
        "/documents/{doc_id:path}",
        summary="Delete a document",
        tags=["documents"],
        responses=responses(200, shapes.DELETED, examples.DELETED, 403, 404, 409, 422, 503, 504),
        response_class=Response,
    )
    async def delete(doc_id: str, request: Request) -> Response:
        """By its id, percent-encoded; the caller must hold all labels of the document."""
        no_query_string(request)
        return await answered(house.changes, house.service.delete, caller_of(request), doc_id)


def _found(house: House, request: Request, name: str) -> Job:
    no_query_string(request)
    job = house.jobs.find(name, caller_of(request).name)
    if job is None:
        raise Refused(404, "unknown_job", "there is no such job of yours", "POST /v1/ingest answers a job's name.")
    return job


async def _told(job: Job) -> AsyncIterator[bytes]:
    async for seen in job.follow(_QUIET_S):
        yield b": still there\n\n" if seen is None else await asyncio.to_thread(_event, seen)


def _event(seen: JobSeen) -> bytes:
    """One event; the last one has a report, which may be long."""
    return b"event: " + seen.state.encode("ascii") + b"\ndata: " + to_bytes(seen.to_dict()) + b"\n\n"
