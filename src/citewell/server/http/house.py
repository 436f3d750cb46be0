"""What the routes of one server share: whom to ask, where work is done, who called; values alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from citewell.errors import Unauthorized
from citewell.server.callers import Caller

if TYPE_CHECKING:
    from starlette.requests import Request

    from citewell.server.desk import Desk
    from citewell.server.jobs import Jobs
    from citewell.server.observe.metrics import Metrics
    from citewell.server.service import Service

CALLER: Final = "citewell.caller"
"""Where in a request's scope the gate says who sent it."""


@dataclass(frozen=True, slots=True)
class House:
    """What routes share.

    Attributes:
        service: the use cases.
        lookups: where reading is done.
        changes: where documents are looked at that are to be written, and deleted.
        probes: where the store is asked whether it answers.
        jobs: the ingestions.
        metrics: the figures.
    """

    service: Service
    lookups: Desk
    changes: Desk
    probes: Desk
    jobs: Jobs
    metrics: Metrics


def caller_of(request: Request) -> Caller:
    """Who sent a request.

    Raises:
        Unauthorized: it didn't come through the gate.
    """
    caller = request.scope.get(CALLER)
    if not isinstance(caller, Caller):
        raise Unauthorized("nobody is known to have sent this", way_out="Send `Authorization: Bearer TOKEN`.")
    return caller
