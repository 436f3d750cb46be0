"""A reranker with a time limit that holds whatever it is made of: late is a RerankerError, and the lookup goes on.

A thread can't be stopped from outside. One that is late is left to end by itself; while too many are, further questions
fail at once. It knows no reranker.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextvars import copy_context

from citewell.errors import RerankerError
from citewell.ports import Reranker

MOST_LATE = 4
"""So many calls may be late and still running; with more, the reranker is hardly going to answer the next one."""

_log = logging.getLogger("citewell.rerank.in_time")


class InTime:
    """The same reranker, never waited for beyond the limit. Safe to call from several threads.

    Args:
        reranker: is asked in a thread of its own for each question.
        timeout_s: how long its answer is waited for.
        owned: whether closing closes the reranker too.
    """

    def __init__(self, reranker: Reranker, timeout_s: float, *, owned: bool = False) -> None:
        self._reranker, self._timeout_s, self._owned = reranker, timeout_s, owned
        self._late: set[_Call] = set()
        self._lock = threading.Lock()
        self._closed = False

    @property
    def name(self) -> str:
        """As the reranker says."""
        return self._reranker.name

    def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """As the reranker does.

        Raises:
            RerankerError: it is late, or too many calls before are, or it was closed; and whatever it raises itself.
        """
        self._check()
        call = _Call(lambda: self._reranker.rerank(query, texts))
        call.start()
        call.join(self._timeout_s)
        if not call.is_alive():
            return call.answer()
        with self._lock:
            self._late.add(call)
        raise RerankerError(
            f"{self.name} gave no answer within {self._timeout_s:g} s",
            way_out="Lower rag.rerank-k, or raise reranker.timeout.",
        )

    def close(self, *, patience_s: float = 2.0) -> None:
        """Close the reranker if it is ours and can be, then wait a while for calls that are late. Idempotent."""
        with self._lock:
            self._closed, late = True, list(self._late)
        close = getattr(self._reranker, "close", None)
        if self._owned and callable(close):
            close()
        deadline = time.monotonic() + patience_s
        for call in late:
            call.join(max(0.0, deadline - time.monotonic()))
        left = sum(call.is_alive() for call in late)
        if left:
            _log.warning("%d calls of the reranker %s still run; they end with the process", left, self.name)

    def _check(self) -> None:
        with self._lock:
            if self._closed:
                raise RerankerError("the reranker is closed", way_out="Open the store again.")
            self._late = {call for call in self._late if call.is_alive()}
            if len(self._late) >= MOST_LATE:
                raise RerankerError(
                    f"{self.name} was not asked: {len(self._late)} calls before are late and still run",
                    way_out="Check the reranker, or switch it off.",
                )


class _Call(threading.Thread):
    """One question in a thread that ends with the process, should it never end by itself."""

    def __init__(self, ask: Callable[[], Sequence[float]]) -> None:
        super().__init__(daemon=True, name="citewell-rerank")
        self._ask, self._context = ask, copy_context()
        self._scores: Sequence[float] = ()
        self._error: BaseException | None = None

    def run(self) -> None:
        """Ask, and keep what came of it."""
        try:
            self._scores = self._context.run(self._ask)
        except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
            self._error = error

    def answer(self) -> Sequence[float]:
        """What came of it."""
        if self._error is not None:
            raise self._error
        return self._scores
