"""The process that ingests for a server; `Apart` alone starts it, and calls `main` with the descriptor of its line.

It takes one job after the other from its line to the server, opens the store at the first, and ends when the line is
cut or when nothing came for a while. It knows no request and no caller.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, Final

from citewell.app import Knowledge
from citewell.errors import CitewellError
from citewell.server.apart import Said, Work
from citewell.server.observe.logs import log_to

if TYPE_CHECKING:
    from citewell.config import Settings
    from citewell.ingest import Progress

    Line = Connection[Any, Any]

_log = logging.getLogger("citewell.server.jobs")

NICE: Final = 10
"""An eighth to a tenth of a lookup's share where both want the same processor."""

_RESTS_S: Final = 60.0
"""How long it waits for another job."""


class _StopNow(Exception):
    """The server wants no more: what is stored stays, the rest is not begun."""


def main(descriptor: int) -> None:
    """Work until the line is cut; the server decides when, and gets the same signals."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, NICE)
    log_to(sys.stderr)
    line: Line = Connection(descriptor)
    with line, contextlib.ExitStack() as stack, contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        _serve(line, stack)


def _serve(line: Line, stack: contextlib.ExitStack) -> None:
    settings: Settings = line.recv()
    knowledge = None
    while line.poll(_RESTS_S):
        work = line.recv()
        if not isinstance(work, Work):
            continue  # a stop that crossed the end of its job
        line.send(Said("taken"))
        try:
            if knowledge is None:
                knowledge = stack.enter_context(Knowledge.open(settings=settings))
            said = _done(line, knowledge, work)
        except CitewellError as error:
            said = Said("failed", error)
        except _StopNow:
            said = Said("stopped")
        except Exception:  # noqa: BLE001 - whatever it is, the log says it and the job ends
            _log.exception("an ingestion failed")
            said = Said("crashed")
        line.send(said)


def _done(line: Line, knowledge: Knowledge, work: Work) -> Said:
    def tell(progress: Progress) -> None:
        if line.poll():  # nothing comes while a job runs but the wish to stop, or the end of the line
            raise _StopNow
        line.send(Said("progress", progress))

    return Said("done", knowledge.ingest_documents(work.documents, apart=work.apart, progress=tell))
