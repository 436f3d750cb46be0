"""Three stages side by side: the caller's thread prepares, a second one embeds, a third one writes.

Embedding takes nearly all of the time and both cores outside Python's lock; so reading, splitting and writing happen
while it runs. A few batches at most are on their way, which bounds memory. Knows batches and reports, nothing else.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from types import TracebackType
from typing import TypeVar

from citewell.errors import CitewellError
from citewell.ingest.outcomes import Prepared
from citewell.ingest.write import BatchEmbedder, BatchWriter, Embedded, Stopped
from citewell.model import FileReport

_BATCHES_AHEAD = 2
_TELL_EVERY_S = 0.5

T = TypeVar("T")
Reports = list[FileReport]


class Pipeline:
    """Takes batches in order; a context manager. `reports` holds what became of their documents, as it comes in.

    While the caller's thread waits, `waiting` is called in it every half second. Leaving it, Ctrl-C included, finishes
    the writes that are due and drops the rest: what is stored is whole, and no thread is left behind.
    """

    def __init__(
        self,
        embedder: BatchEmbedder,
        writer: BatchWriter,
        stop: threading.Event,
        waiting: Callable[[], None] = lambda: None,
    ) -> None:
        self._embedder, self._writer, self._stop, self._waiting = embedder, writer, stop, waiting
        self._embedding = ThreadPoolExecutor(1, "citewell-ingest-embed")
        self._writing = ThreadPoolExecutor(1, "citewell-ingest-write")
        self._last_write: Future[Reports] | None = None
        self._under_way: deque[Future[Future[Reports]]] = deque()
        self._written: deque[Future[Reports]] = deque()
        self.reports: Reports = []

    def __enter__(self) -> Pipeline:
        return self

    def put(self, batch: Sequence[Prepared]) -> None:
        """Start on a batch; waits while too many are on their way.

        Raises:
            EmbedderUnavailable, StoreError: what ended the run; batches before it were written.
        """
        self._under_way.append(self._embedding.submit(self._embed, batch))
        while len(self._under_way) > _BATCHES_AHEAD:
            self._advance()
        while self._written and self._written[0].done():
            self._collect()

    def finish(self) -> None:
        """Wait for everything; raises as `put`."""
        while self._under_way:
            self._advance()
        while self._written:
            self._collect()

    def settle(self) -> None:
        """Stop: let the writes that are due come to their end, and collect their reports; raises for none of them."""
        self._stop.set()
        self._gather()  # at once, for whoever interrupts the wait as well
        self._embedding.shutdown(wait=True, cancel_futures=True)
        self._writing.shutdown(wait=True)
        self._gather()

    def _gather(self) -> None:
        """Collect the reports that are there already; what failed has none."""
        while self._under_way and self._under_way[0].done():
            batch = self._under_way.popleft()
            self._written.extend([batch.result()] if _succeeded(batch) else [])
        while self._written and self._written[0].done():
            write = self._written.popleft()
            self.reports += write.result() if _succeeded(write) else []

    def _advance(self) -> None:
        try:
            written = self._awaited(self._under_way[0])
        except Stopped:
            # Embedding stops when a write has failed; that fault is the one to tell.
            while self._written:
                self._collect()
            raise
        self._written.append(written)
        self._under_way.popleft()

    def _collect(self) -> None:
        # Taken out of the queue only now, for an interrupt while it was waited for must not lose its reports.
        reports = self._awaited(self._written[0])
        self.reports += reports
        self._written.popleft()

    def _awaited(self, future: Future[T]) -> T:
        while not wait([future], timeout=_TELL_EVERY_S).done:
            self._waiting()
        return future.result()

    def _embed(self, batch: Sequence[Prepared]) -> Future[Reports]:
        if self._stop.is_set():
            raise Stopped
        try:
            done, failed = self._embedder.embed(batch)
        except CitewellError:
            self._stop.set()
            raise
        if self._last_write is not None and self._last_write.exception() is not None:
            raise Stopped
        self._last_write = self._writing.submit(self._write, done, failed)
        return self._last_write

    def _write(self, done: Sequence[Embedded], failed: Reports) -> Reports:
        return failed + self._writer.write(done)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.settle()


def _succeeded(future: Future[Reports] | Future[Future[Reports]]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None
