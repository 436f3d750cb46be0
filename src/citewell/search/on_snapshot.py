"""Calls on one snapshot of a store, each waited for so long and no longer, or made at once where the store is at hand.

A store at hand answers out of this process. No network can keep the caller, who therefore makes the calls: two threads
that work in one process, in turn or at the same time, take longer than one that does both (at a thousand chunks as at a
million, with one caller as with four). Any other store is asked in threads that can be left behind. A call that is late
still reads its snapshot, which therefore ends with the last of them. It knows no path.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from types import TracebackType
from typing import NoReturn, TypeVar

from citewell.attempts import attempt, insist
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
        at_hand: whether it is a store's that answers in this process.
    """

    def __init__(
        self, patience: Patience, timeout_s: float, snapshot: AbstractContextManager[Snapshot], *, at_hand: bool
    ) -> None:
        self._patience, self._timeout_s, self._snapshot, self._at_hand = patience, timeout_s, snapshot, at_hand
        self._lock = threading.Lock()
        self._users = 0
        self._left = False

    def __enter__(self) -> OnSnapshot:
        self.view = insist(self._snapshot.__enter__, StoreError, "the store could not be read")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        with self._lock:
            self._left, used = True, self._users > 0
        if used:
            return None
        end = partial(self._snapshot.__exit__, kind, error, traceback)
        return insist(end, StoreError, "the store's snapshot could not be closed")

    @property
    def size(self) -> int:
        """Chunks in the snapshot."""
        return insist(lambda: self.view.size, StoreError, "the store could not say its size")

    def start(self, kind: str, what: str, act: Callable[[], _T]) -> Callable[[], _T]:
        """Begin a call on the snapshot; what is returned waits for its answer, and raises what it raises.

        Of a store at hand it is then done already, however long it took.

        Args:
            kind: calls of one kind are refused while too many before them are late.
            what: how an error names it, such as `the search`.
            act: makes the call.

        Where it is waited for, StoreUnreachable says that it is late, or was not asked; StoreError, that the store was
        closed.
        """
        if self._at_hand:
            return _made(act)
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
        """Make a call and wait for it; see `start`."""
        return self.start(kind, what, act)()

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


def _made(act: Callable[[], _T]) -> Callable[[], _T]:
    """The answer, or the error, of a call that is made now, for whoever asks for it."""
    try:
        answer = act()
    except Exception as error:  # noqa: BLE001 - a store of a third party may raise anything
        return partial(_refuse, error)
    return lambda: answer


def _refuse(error: Exception) -> NoReturn:
    raise error
