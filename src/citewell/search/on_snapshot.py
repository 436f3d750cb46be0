"""Calls on one snapshot of a store, each waited for so long and no longer.

A call that is late still reads its snapshot, which therefore ends with the last of them. It knows no path.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from types import TracebackType
from typing import NoReturn, TypeVar

from citewell.attempts import attempt
from citewell.errors import StoreError, StoreUnreachable
from citewell.patience import Call, Late, Patience
from citewell.ports import Snapshot

_T = TypeVar("_T")


class OnSnapshot:
    """A context manager: the snapshot, and the calls that are made on it.

    Args:
        patience: whose threads the calls run in.
        timeout_s: how long each is waited for.
        snapshot: as `Store.snapshot` gives it; entered and left here.
        at_hand: whether it is a store's that answers in this process; `run` then needs no other thread.
    """

    def __init__(
        self, patience: Patience, timeout_s: float, snapshot: AbstractContextManager[Snapshot], *, at_hand: bool
    ) -> None:
        self._patience, self._timeout_s, self._snapshot, self._at_hand = patience, timeout_s, snapshot, at_hand
        self._lock = threading.Lock()
        self._users = 0
        self._left = False

    def __enter__(self) -> OnSnapshot:
        self.view = self._snapshot.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        with self._lock:
            self._left, used = True, self._users > 0
        return None if used else self._snapshot.__exit__(kind, error, traceback)

    def start(self, kind: str, what: str, act: Callable[[], _T]) -> Callable[[], _T]:
        """Begin a call on the snapshot; what is returned waits for its answer, and raises what it raises.

        Args:
            kind: calls of one kind are refused while too many before them are late.
            what: how an error names it, such as `the search`.
            act: makes the call.

        Where it is waited for, StoreUnreachable says that it is late, or was not asked; StoreError, that the store was
        closed.
        """
        with self._lock:
            self._users += 1
        try:
            call = self._patience.start(kind, partial(self._used, act))
        except Late as error:
            self._let_go()
            return partial(_refuse, StoreUnreachable(f"{what} {error}", way_out="Check the store."))
        except RuntimeError:
            self._let_go()
            return partial(_refuse, StoreError("the store was closed during the search", way_out="Open it again."))
        return partial(self._awaited, call, what)

    def run(self, kind: str, what: str, act: Callable[[], _T]) -> _T:
        """Make a call and wait for it; as `start`, unless the store is at hand.

        What such a store is asked last is asked in the caller's thread: there is no network that could keep it, and
        handing it over, there and back, would take as long as some of the calls.
        """
        return act() if self._at_hand else self.start(kind, what, act)()

    def _awaited(self, call: Call[_T], what: str) -> _T:
        try:
            return call.result(self._timeout_s)
        except Late as error:
            way_out = "Check the store, or raise retrieval.search.timeout."
            raise StoreUnreachable(f"{what} {error}", way_out=way_out) from error

    def _used(self, act: Callable[[], _T]) -> _T:
        try:
            return act()
        finally:
            self._let_go()

    def _let_go(self) -> None:
        with self._lock:
            self._users -= 1
            last = self._left and self._users == 0
        if last:
            end = partial(self._snapshot.__exit__, None, None, None)
            attempt(end, StoreError, "the snapshot of a late search could not be closed")


def _refuse(error: StoreError) -> NoReturn:
    raise error
