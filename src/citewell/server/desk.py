"""Blocking work off the event loop, bounded in number and in time: no caller waits behind another's slow call (API-4).

It knows no use case: it is handed functions. Lookups and ingestions have desks of their own, so that neither waits for
the other.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from citewell.errors import Busy, TimedOut

_P = ParamSpec("_P")
_R = TypeVar("_R")


class Desk:
    """Runs functions in a few threads of its own.

    Args:
        name: of its threads.
        workers: calls at once.
        waiting: calls that may wait for a thread; one more is refused.
        timeout_s: how long a caller waits, the wait for a thread included; None = as long as it takes.
    """

    def __init__(self, name: str, *, workers: int, waiting: int, timeout_s: float | None) -> None:
        self._pool = ThreadPoolExecutor(max_workers=workers, thread_name_prefix=f"citewell-{name}")
        self._most, self._timeout_s = workers + waiting, timeout_s
        self._held = 0

    @property
    def held(self) -> int:
        """Calls that run or wait now; a call that was given up counts until its thread is free."""
        return self._held

    async def run(self, act: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """What `act` returns or raises.

        Raises:
            Busy: too many calls run and wait already.
            TimedOut: it took too long.
        """
        if self._held >= self._most:
            raise Busy(f"{self._held} calls run or wait already", way_out="Try again in a moment.")
        self._held += 1
        loop = asyncio.get_running_loop()
        here = contextvars.copy_context()  # what the log and the spans of this request are known by
        future = loop.run_in_executor(self._pool, functools.partial(here.run, act, *args, **kwargs))
        future.add_done_callback(self._leave)
        try:
            # A thread can't be stopped: who waits is let go, and the thread stays counted until it is free.
            return await asyncio.wait_for(asyncio.shield(future), self._timeout_s)
        except TimeoutError as error:
            if future.done() and not future.cancelled() and future.exception() is not None:
                raise
            raise TimedOut(
                f"no answer within {self._timeout_s:g} s",
                way_out="Ask for less (return_n, retrieve_k), or again later.",
            ) from error

    def close(self) -> None:
        """Start nothing more, and wait for what runs. Idempotent."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _leave(self, future: asyncio.Future[_R]) -> None:
        self._held -= 1
        if not future.cancelled():
            future.exception()  # looked at, so that a call that was given up doesn't complain to the log
