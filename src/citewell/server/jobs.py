"""Ingestions that go on after their request was answered: a bounded queue, one at a time, watched as they run (API-4).

It knows no request and no store: it is handed what to do. A job is its caller's alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import sys
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from citewell.errors import Busy, CitewellError

if TYPE_CHECKING:
    from citewell.ingest import Progress
    from citewell.model import IngestReport

JobState = Literal["waiting", "running", "done", "failed", "stopped"]

_log = logging.getLogger("citewell.server.jobs")

_ENDED: Final = ("done", "failed", "stopped")
_KEPT: Final = 200
"""Jobs that have ended and can still be asked for, as long as their reports tell of no more documents than these."""

_KEPT_DOCUMENTS: Final = 50_000

_NICE: Final = 10
"""Of the ingestion's threads: an eighth to a tenth of a lookup's share where both want the same processor."""

_FAILED: Final = {"code": "internal", "message": "the ingestion failed; the server's log says why", "way_out": ""}


class _StopNow(Exception):
    """The server ends: what is stored stays, the rest is not begun."""


@dataclass(frozen=True, slots=True)
class JobSeen:
    """A job at one moment; the attributes are those of Job."""

    name: str
    state: JobState
    done: int
    total: int
    embedded: int
    changed: int
    report: IngestReport | None
    error: dict[str, str] | None

    def to_dict(self) -> dict[str, object]:
        """JSON values; a report of many documents takes a while, and so no event loop makes it."""
        progress = {"done": self.done, "total": self.total, "embedded": self.embedded, "changed": self.changed}
        return {
            "job": self.name,
            "state": self.state,
            "progress": progress,
            "report": None if self.report is None else self.report.to_dict(),
            "error": self.error,
        }


@dataclass(slots=True)
class Job:
    """One ingestion. Changed in the event loop alone.

    Attributes:
        name: nobody can guess it.
        caller: whose it is.
        done: documents whose outcome is known; `total` of them, if that is known.
        embedded: chunks embedded so far.
        changed: documents that the store holds anew.
        report: of a job that is done.
        error: of one that failed.
    """

    name: str
    caller: str
    total: int
    state: JobState = "waiting"
    done: int = 0
    embedded: int = 0
    changed: int = 0
    report: IngestReport | None = None
    error: dict[str, str] | None = None
    _news: asyncio.Event = field(default_factory=asyncio.Event, repr=False)

    def now(self) -> JobSeen:
        """What can be told of it at this moment."""
        return JobSeen(
            self.name, self.state, self.done, self.total, self.embedded, self.changed, self.report, self.error
        )

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen."""
        return self.state in _ENDED

    def told(self) -> None:
        """Wake whoever follows it."""
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def follow(self, quiet_s: float) -> AsyncIterator[JobSeen | None]:
        """Its state now and after each change, until it has ended; None whenever nothing happened for `quiet_s`."""
        before: JobSeen | None = None
        while True:
            news, seen, ended = self._news, self.now(), self.ended  # of one moment: much may happen at the yield
            if seen != before:
                yield seen
            before = seen
            if ended:
                return
            try:
                await asyncio.wait_for(news.wait(), quiet_s)
            except TimeoutError:
                yield None


class Jobs:
    """Runs jobs one after the other in a thread of its own; to be used within one event loop.

    Args:
        waiting: jobs that may wait; one more is refused.
        gives_way: whether the thread does the work itself, and lets lookups go first where it can.
    """

    def __init__(self, *, waiting: int, gives_way: bool = True) -> None:
        self._waiting = waiting
        self._writer = ThreadPoolExecutor(1, "citewell-ingestion", initializer=_give_way if gives_way else None)
        self._jobs: dict[str, Job] = {}
        self._stopped = False

    @property
    def pending(self) -> int:
        """Jobs that run or wait."""
        return sum(not job.ended for job in self._jobs.values())

    def start(self, caller: str, total: int, work: Callable[[Callable[[Progress], None]], IngestReport]) -> Job:
        """Queue what is to be done: `work` is handed what to call as it goes on.

        Raises:
            Busy: too many jobs wait already, or the server ends.
        """
        if self._stopped or self.pending > self._waiting:
            raise Busy(f"{self.pending} ingestions run or wait already", way_out="Try again when one of them is done.")
        job = Job(secrets.token_hex(12), caller, total)
        self._jobs[job.name] = job
        self._forget()
        loop = asyncio.get_running_loop()
        self._writer.submit(self._run, job, work, loop)
        return job

    def find(self, name: str, caller: str) -> Job | None:
        """The caller's job of this name."""
        job = self._jobs.get(name)
        return job if job is not None and job.caller == caller else None

    def listed(self, caller: str) -> list[Job]:
        """The caller's jobs that can still be asked for, in the order in which they were queued."""
        return [job for job in self._jobs.values() if job.caller == caller]

    def stop(self) -> None:
        """Let the running job end as soon as what it writes is whole, and begin no other. Returns at once."""
        self._stopped = True
        for job in self._jobs.values():
            if job.state == "waiting":
                _ended(job, "stopped")

    def close(self) -> None:
        """`stop`, and wait for the thread; not in the event loop. Idempotent."""
        self._stopped = True
        self._writer.shutdown(wait=True)

    def _run(
        self,
        job: Job,
        work: Callable[[Callable[[Progress], None]], IngestReport],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        def tell(progress: Progress) -> None:
            if self._stopped:
                raise _StopNow
            _later(loop, _went_on, job, progress)

        if self._stopped:
            return
        _later(loop, _began, job)
        try:
            report = work(tell)
        except _StopNow:
            _later(loop, _ended, job, "stopped")
        except CitewellError as error:
            _later(loop, _ended, job, "failed", None, error.to_dict())
        except Exception:  # noqa: BLE001 - whatever it is, the job must end and the log say why
            _log.exception("an ingestion failed")
            _later(loop, _ended, job, "failed", None, _FAILED)
        else:
            _later(loop, _ended, job, "done", report)

    def _forget(self) -> None:
        ended = [job for job in self._jobs.values() if job.ended]
        documents = sum(job.total for job in ended)
        for place, job in enumerate(ended[:-1]):
            if len(ended) - place <= _KEPT and documents <= _KEPT_DOCUMENTS:
                return
            documents -= job.total
            del self._jobs[job.name]


def _give_way() -> None:
    """Let lookups go first where this thread, or one that it starts, competes with theirs for a processor."""
    if sys.platform == "linux":  # elsewhere a thread has no priority of its own to set
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)


def _began(job: Job) -> None:
    job.state = "running"
    job.told()


def _went_on(job: Job, progress: Progress) -> None:
    job.done, job.embedded, job.changed = progress.files_done, progress.embedded, progress.changed
    job.told()


def _ended(job: Job, state: JobState, report: IngestReport | None = None, error: dict[str, str] | None = None) -> None:
    job.state, job.report, job.error = state, report, error
    job.told()


def _later(loop: asyncio.AbstractEventLoop, change: Callable[..., None], *values: object) -> None:
    """Have the event loop make the change; one that is closed already tells nobody anything."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(change, *values)
