"""Runs code of a third party in threads that may be left behind: whoever waits for it waits so long and no longer.

A thread can't be stopped from outside. A call that is late is left to end by itself; while too many of its kind are,
further ones of that kind are refused at once, so that what never answers costs a bounded number of threads. It knows
no stage and no vendor.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

MOST_LATE = 4
"""So many calls of a kind may be late and still running; with more, the next one is hardly going to be answered."""

_IDLE_AT_MOST = 8
_IDLE_S = 30.0
"""Threads are kept for the next call: so many, so long."""

_T = TypeVar("_T")


class Late(TimeoutError):
    """Nobody waits for the call any more, or it was not begun; a TimeoutError that the call itself raised is none."""


class Patience:
    """Starts calls in threads of its own. Safe to call from several threads, and after a fork.

    Args:
        name: of its threads, which end with the process should they never end by themselves.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._running: dict[Call[Any], str] = {}
        self._late: set[Call[Any]] = set()
        self._closed = False

    def start(self, kind: str, act: Callable[[], _T]) -> Call[_T]:
        """Begin a call, in the caller's context; its `result` waits for it.

        Raises:
            Late: too many of its kind are late and still run, or the system has no thread for it.
            RuntimeError: it was closed.
        """
        if self._pid != os.getpid():  # the threads of a parent process are not here
            self._begin_anew()
        call = Call(self, act)
        with self._lock:
            if self._closed:
                raise RuntimeError("closed")
            late = sum(self._running[each] == kind for each in self._late)
            if late >= MOST_LATE:
                raise Late(f"was not asked: {late} calls before are late and still run")
            self._running[call] = kind
            worker = self._idle.pop() if self._idle else None
        (worker or self._hired(call)).calls.put(call)
        return call

    def _hired(self, call: Call[Any]) -> _Worker:
        """A new thread for the call; without one the call does not run."""
        try:
            return _Worker(self, self._name)
        except RuntimeError as error:
            with self._lock:
                del self._running[call]
            raise Late(f"was not asked: {error}") from error

    def close(self, patience_s: float = 2.0) -> int:
        """Refuse further calls, wait a while for those that run, and say how many still do. Idempotent."""
        with self._lock:
            self._closed, running = True, list(self._running)
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.calls.put(None)
        deadline = time.monotonic() + patience_s
        return sum(not call.done.wait(max(0.0, deadline - time.monotonic())) for call in running)

    def late(self, call: Call[Any]) -> None:
        """Nobody waits for this call any more."""
        with self._lock:
            if call in self._running:
                self._late.add(call)

    def ended(self, call: Call[Any], worker: _Worker) -> bool:
        """A call has come to its end; whether its thread is to wait for another."""
        with self._lock:
            self._running.pop(call, None)
            self._late.discard(call)
            kept = not self._closed and len(self._idle) < _IDLE_AT_MOST
            if kept:
                self._idle.append(worker)
            return kept

    def dismissed(self, worker: _Worker) -> bool:
        """Whether a thread that waited long enough may end; not if a call is on its way to it."""
        with self._lock:
            if worker not in self._idle:
                return False
            self._idle.remove(worker)
            return True


class Call(Generic[_T]):
    """One call, and what came of it; `milliseconds` from its start to its end, once it is done."""

    def __init__(self, owner: Patience, act: Callable[[], _T]) -> None:
        self.done = threading.Event()
        self.milliseconds = 0.0
        self._owner, self._act, self._context = owner, act, copy_context()
        self._started = time.monotonic()
        self._answer: list[_T] = []
        self._error: BaseException | None = None

    def result(self, timeout_s: float) -> _T:
        """What came of it, at most so long after its start.

        Raises:
            Late: it is. Whatever it raised itself is raised, too.
        """
        left = self._started + min(timeout_s, threading.TIMEOUT_MAX / 2) - time.monotonic()
        if not self.done.wait(max(0.0, left)):
            self._owner.late(self)
            raise Late(f"timed out after {timeout_s:g} s")
        if self._error is not None:
            raise self._error
        return self._answer[0]

    def run(self, worker: _Worker) -> bool:
        """Carry it out; whether its thread is to wait for another call."""
        try:
            self._answer.append(self._context.run(self._act))
        except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
            self._error = error
        self.milliseconds = (time.monotonic() - self._started) * 1000
        kept = self._owner.ended(self, worker)
        self.done.set()
        return kept


class _Worker(threading.Thread):
    """Carries out one call after another; it ends when there was none for a while."""

    def __init__(self, owner: Patience, name: str) -> None:
        super().__init__(daemon=True, name=name)
        self.calls: SimpleQueue[Call[Any] | None] = SimpleQueue()
        self._owner = owner
        self.start()

    def run(self) -> None:
        """See the class."""
        while True:
            try:
                call = self.calls.get(timeout=_IDLE_S)
            except Empty:
                if self._owner.dismissed(self):
                    return
                continue
            if call is None or not call.run(self):
                return
            del call  # what it held is not kept until the next one
