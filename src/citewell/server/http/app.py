"""One application: routes, the gate before them, handlers of errors, and what else is mounted beside them (API-4).

It knows how the parts go together, and none of their inside. What it opens - desks and the writer's thread - it closes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from fastapi import APIRouter, FastAPI
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware

from citewell.errors import CitewellError
from citewell.server.apart import Apart
from citewell.server.desk import Desk
from citewell.server.http.answered import Refused, handle
from citewell.server.http.asking import asking
from citewell.server.http.described import complete
from citewell.server.http.filling import filling
from citewell.server.http.gate import Gate, Rules
from citewell.server.http.health import health
from citewell.server.http.house import House
from citewell.server.jobs import Jobs
from citewell.server.observe.lookups import Observer
from citewell.server.observe.metrics import Metrics
from citewell.server.service import Service

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from starlette.routing import BaseRoute

    from citewell.app import Knowledge
    from citewell.server.observe.spans import TracerProvider

_JOBS_WAITING: Final = 16
_CALLS_WAITING: Final = 8
"""For each worker: how many lookups may wait."""

_PROBE_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Beside:
    """What else one process serves.

    Attributes:
        routes: further ones, such as MCP's.
        routers: further ones of FastAPI, such as the inspector's.
        guests: paths where the gate asks for no token, and all below each but `/`: their pages decide who may see them.
        running: entered while the server runs.
    """

    routes: Sequence[BaseRoute] = ()
    routers: Sequence[APIRouter] = ()
    guests: Sequence[str] = ()
    running: Sequence[Callable[[], AbstractAsyncContextManager[Any]]] = field(default_factory=tuple)


def create_app(
    knowledge: Knowledge,
    *,
    beside: Callable[[House], Beside] | None = None,
    version: str = "",
    spans: TracerProvider | None = None,
) -> FastAPI:
    """An application over an open Knowledge, by its settings; who opened the Knowledge closes it.

    Args:
        knowledge: to ask and to fill; its lookups are told to the log and the figures from now on.
        beside: what else to serve, made with what the routes share.
        version: of Citewell, for the description.
        spans: where spans go; None = there are none.
    """
    settings = knowledge.settings.server
    house = _house(knowledge, spans)
    other = Beside() if beside is None else beside(house)
    rules = Rules.of(settings, other.guests)
    app = FastAPI(
        title="Citewell",
        version=version or "0",
        description="Evidence for agents: chunks that can be cited, and a check of what was cited.",
        lifespan=_lifespan(house, other),
        docs_url=None,  # its page loads scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        telemetry=_telemetry(spans),
    )
    app.state.house = house
    own = [asking(house), filling(house), health(house)]
    for router in (*own, *other.routers):
        app.include_router(router)
    app.router.routes.extend(other.routes)
    for kind in (CitewellError, Refused, HTTPException):
        app.add_exception_handler(kind, handle)
    app.add_middleware(Gate, rules=rules, counted=house.metrics.request)
    if settings.cors_origins:
        _allow_origins(app, settings.cors_origins)
    complete(app, own, secured=not rules.callers.open)
    return app


def _house(knowledge: Knowledge, spans: TracerProvider | None) -> House:
    settings = knowledge.settings.server
    workers, timeout_s = settings.workers, settings.timeout_s
    apart = None if knowledge.elsewhere is None else Apart(knowledge.elsewhere)
    house = House(
        service=Service(knowledge, apart),
        lookups=Desk("lookups", workers=workers, waiting=_CALLS_WAITING * workers, timeout_s=timeout_s),
        changes=Desk("changes", workers=1, waiting=_JOBS_WAITING, timeout_s=timeout_s),
        probes=Desk("probes", workers=1, waiting=8, timeout_s=_PROBE_S),
        jobs=Jobs(waiting=_JOBS_WAITING, gives_way=apart is None),
        metrics=Metrics(),
    )
    house.metrics.gauge("lookups_held", "Lookups that run or wait now.", lambda: house.lookups.held)
    house.metrics.gauge("ingestions_held", "Ingestions that run or wait now.", lambda: house.jobs.pending)
    knowledge.listen(Observer(house.metrics, spans=_spans(spans), queries=settings.log_queries))
    return house


def _spans(provider: TracerProvider | None) -> Any:  # noqa: ANN401 - the type's module is loaded only with the extra
    if provider is None:
        return None
    from citewell.server.observe.spans import Spans  # noqa: PLC0415 - an extra

    return Spans(provider)


def _telemetry(provider: TracerProvider | None) -> Any:  # noqa: ANN401 - FastAPI's own shape of options
    """FastAPI's own spans of requests go where ours go; it logs values of arguments, which we don't want."""
    tracing = {"tracing": False} if provider is None else {"tracing": True, "tracer_provider": provider}
    return {**tracing, "metrics": False, "logs": False, "operation_spans": False, "auto_configure": False}


def _lifespan(house: House, other: Beside) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for running in other.running:
                await stack.enter_async_context(running())
            try:
                yield
            finally:
                house.jobs.stop()
                for part in _parts(house):
                    await asyncio.to_thread(part.close)

    return lifespan


def _parts(house: House) -> list[Jobs | Apart | Desk]:
    """What is to be closed, in this order: the process that ingests ends when no job needs it any more."""
    apart = house.service.elsewhere
    return [house.jobs, *([] if apart is None else [apart]), house.changes, house.lookups, house.probes]


def _allow_origins(app: FastAPI, origins: Sequence[str]) -> None:
    app.add_middleware(
        CORSMiddleware,
        allow_origins=list(origins),
        allow_methods=["GET", "POST", "DELETE"],
        allow_headers=["Authorization", "Content-Type", "X-Request-Id"],
        expose_headers=["X-Request-Id", "Retry-After", "Location"],
        max_age=600,
    )
