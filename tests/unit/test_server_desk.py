"""Work off the event loop: bounded in number and time; ingestions one after the other; statuses of errors."""

from __future__ import annotations

import asyncio
import contextvars
import os
import sys
import threading
from collections.abc import Callable

import pytest

from citewell import errors
from citewell.errors import Busy, CitewellError, StoreLocked, TimedOut
from citewell.ingest import Progress
from citewell.model import FileReport, IngestReport
from citewell.server.desk import Desk
from citewell.server.faults import status_of
from citewell.server.jobs import Job, Jobs

REPORT = IngestReport((FileReport("a", "added", 1, 1),), 0.5)
Work = Callable[[Callable[[Progress], None]], IngestReport]


def every_error(kind: type[CitewellError] = CitewellError) -> list[type[CitewellError]]:
    return [kind, *(each for below in kind.__subclasses__() for each in every_error(below))]


@pytest.mark.requirement("API-4")
def test_each_error_has_a_status_of_its_own_kind() -> None:
    statuses = {kind.__name__: status_of(kind("x")) for kind in every_error() if kind.__module__ == errors.__name__}
    assert statuses == {
        "CitewellError": 500, "ConfigError": 500, "InvalidRequest": 422, "UnknownEvidence": 404, "ScopeDenied": 403,
        "StoreError": 503, "StoreLocked": 503, "StoreCorrupt": 503, "StoreVersion": 503, "StoreUnreachable": 503,
        "StoreConflict": 409, "EmbedderError": 503, "EmbedderMismatch": 503, "EmbedderUnavailable": 503,
        "Unauthorized": 401, "Forbidden": 403, "Busy": 429, "TimedOut": 504, "RerankerError": 503, "IngestError": 422,
    }  # fmt: skip


@pytest.mark.requirement("API-4")
def test_a_desk_gives_back_what_is_returned_and_raised_and_the_context_comes_along() -> None:
    said = contextvars.ContextVar("said", default="")

    def failing() -> None:
        raise StoreLocked("x")

    async def asked(desk: Desk) -> tuple[str, str]:
        said.set("here")
        with pytest.raises(StoreLocked):
            await desk.run(failing)
        return await desk.run(said.get), await desk.run(lambda: threading.current_thread().name)

    desk = Desk("t", workers=1, waiting=0, timeout_s=5)
    context, thread = asyncio.run(asked(desk))
    desk.close()
    assert context == "here"
    assert thread.startswith("citewell-t")


@pytest.mark.requirement("API-4")
def test_one_call_more_than_may_wait_is_refused_and_what_is_free_again_is_taken() -> None:
    hold = threading.Event()

    async def asked(desk: Desk) -> None:
        first, second = asyncio.create_task(desk.run(hold.wait)), asyncio.create_task(desk.run(hold.wait))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert desk.held == 2
        with pytest.raises(Busy, match="2 calls run or wait"):
            await desk.run(hold.wait)
        hold.set()
        await asyncio.gather(first, second)
        assert await desk.run(lambda: 7) == 7

    desk = Desk("t", workers=1, waiting=1, timeout_s=None)
    asyncio.run(asked(desk))
    desk.close()


@pytest.mark.requirement("API-4")
def test_who_waits_too_long_is_let_go_while_the_thread_stays_counted() -> None:
    hold = threading.Event()

    async def asked(desk: Desk) -> None:
        with pytest.raises(TimedOut, match=r"no answer within 0\.05 s"):
            await desk.run(hold.wait)
        assert desk.held == 1
        hold.set()

    desk = Desk("t", workers=1, waiting=0, timeout_s=0.05)
    asyncio.run(asked(desk))
    desk.close()


@pytest.mark.requirement("API-4")
def test_a_slow_call_holds_up_none_at_another_thread() -> None:
    hold = threading.Event()

    async def asked(desk: Desk) -> None:
        slow = asyncio.create_task(desk.run(hold.wait))
        assert await asyncio.gather(*(desk.run(int, n) for n in range(5))) == [0, 1, 2, 3, 4]
        assert not slow.done()
        hold.set()
        await slow

    desk = Desk("t", workers=2, waiting=9, timeout_s=30)
    asyncio.run(asked(desk))
    desk.close()


async def states(job: Job) -> list[str]:
    return [state.state async for state in job.follow(30) if state is not None]


def queued(conversation: Callable[[Jobs], object], waiting: int = 1) -> object:
    async def talked() -> object:
        jobs = Jobs(waiting=waiting)
        try:
            return await conversation(jobs)  # type: ignore[misc]  # each is a coroutine function
        finally:
            jobs.stop()
            await asyncio.to_thread(jobs.close)

    return asyncio.run(talked())


@pytest.mark.requirement("API-4")
def test_a_job_tells_how_far_it_is_and_ends_with_its_report() -> None:
    def work(tell: Callable[[Progress], None]) -> IngestReport:
        tell(Progress(1, None, 4, "a", 1))
        return REPORT

    async def talked(jobs: Jobs) -> None:
        job = jobs.start("ann", 1, work)
        assert jobs.find(job.name, "ann") is job
        assert jobs.find(job.name, "bob") is None
        seen = await states(job)
        assert seen[0] == "waiting"
        assert seen[-1] == "done"
        assert job.now().to_dict()["progress"] == {"done": 1, "total": 1, "embedded": 4, "changed": 1}
        assert job.now().to_dict()["report"] == REPORT.to_dict()
        assert await states(job) == ["done"]

    queued(talked)


@pytest.mark.requirement("API-4")
def test_jobs_run_one_after_the_other_and_a_full_queue_takes_no_more() -> None:
    hold, at_once, most = threading.Event(), [0], [0]

    def work(_: object) -> IngestReport:
        at_once[0] += 1
        most[0] = max(most[0], at_once[0])
        hold.wait(30)
        at_once[0] -= 1
        return REPORT

    async def talked(jobs: Jobs) -> None:
        both = [jobs.start("ann", 1, work), jobs.start("ann", 1, work)]
        with pytest.raises(Busy, match="2 ingestions run or wait"):
            jobs.start("bob", 1, work)
        hold.set()
        assert [(await states(job))[-1] for job in both] == ["done", "done"]

    queued(talked)
    assert most == [1]


@pytest.mark.requirement("API-4")
def test_a_job_that_fails_says_why_unless_nobody_foresaw_it() -> None:
    def locked(_: object) -> IngestReport:
        raise StoreLocked("another writer", way_out="Wait.")

    def broken(_: object) -> IngestReport:
        raise RuntimeError("the secret plan")

    async def talked(jobs: Jobs) -> list[dict[str, str] | None]:
        both = [jobs.start("ann", 1, locked), jobs.start("ann", 1, broken)]
        assert [(await states(job))[-1] for job in both] == ["failed", "failed"]
        return [job.error for job in both]

    assert queued(talked) == [
        {"code": "store_locked", "message": "another writer", "way_out": "Wait."},
        {"code": "internal", "message": "the ingestion failed; the server's log says why", "way_out": ""},
    ]


@pytest.mark.requirement("API-4")
def test_a_server_that_ends_lets_the_running_job_end_and_begins_no_other() -> None:
    begun, go = threading.Event(), threading.Event()

    def work(tell: Callable[[Progress], None]) -> IngestReport:
        begun.set()
        go.wait(30)
        tell(Progress(1, None, 1))
        raise AssertionError("it went on")

    async def talked(jobs: Jobs) -> None:
        first, second = jobs.start("ann", 1, work), jobs.start("ann", 1, work)
        followed = asyncio.create_task(states(second))
        await asyncio.to_thread(begun.wait, 30)
        jobs.stop()
        assert (await followed)[-1] == "stopped"
        with pytest.raises(Busy):
            jobs.start("ann", 1, work)
        go.set()
        assert (await states(first))[-1] == "stopped"

    queued(talked)


@pytest.mark.requirement("API-4")
def test_who_follows_a_quiet_job_hears_that_it_is_still_there() -> None:
    hold = threading.Event()

    def work(_: object) -> IngestReport:
        hold.wait(30)
        return REPORT

    async def talked(jobs: Jobs) -> None:
        async for state in jobs.start("ann", 1, work).follow(0.01):
            if state is None:
                hold.set()

    queued(talked)
    assert hold.is_set()


@pytest.mark.requirement("API-4")
def test_who_is_slow_to_take_an_event_still_gets_the_last_one() -> None:
    async def talked(jobs: Jobs) -> list[object]:
        job = jobs.start("ann", 1, lambda _: REPORT)
        seen: list[object] = []
        async for state in job.follow(30):
            assert state is not None
            seen.append(state.state)
            await states(job)  # the job ends while the event is being sent
        return seen

    assert queued(talked) == ["waiting", "done"]


@pytest.mark.requirement("API-4")
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a thread has no priority of its own")
def test_an_ingestion_and_the_threads_that_it_starts_give_way_to_lookups() -> None:
    nice: list[int] = []

    def ask() -> None:
        nice.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))

    def work(_: object) -> IngestReport:
        ask()
        started = threading.Thread(target=ask)
        started.start()
        started.join()
        return REPORT

    async def talked(jobs: Jobs) -> None:
        await states(jobs.start("ann", 1, work))
        ask()

    queued(talked)
    assert nice == [10, 10, os.getpriority(os.PRIO_PROCESS, 0)]


@pytest.mark.requirement("API-4")
def test_jobs_that_ended_are_forgotten_once_their_reports_tell_of_too_many_documents() -> None:
    async def talked(jobs: Jobs) -> list[bool]:
        held = []
        for total in (30_000, 30_000, 60_000, 1):
            job = jobs.start("ann", total, lambda _: REPORT)
            held.append(job.name)
            await states(job)
        return [jobs.find(name, "ann") is not None for name in held]

    # 30,000 and 30,000 are more than 50,000 together; the one that ended last is kept however large it is.
    assert queued(talked) == [False, False, True, True]
