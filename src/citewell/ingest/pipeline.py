"""Three stages side by side: the caller's thread prepares, a second one embeds, a third one writes.

Embedding takes nearly all of the time and both cores outside Python's lock; so reading, splitting and writing happen
while it runs. A few batches at most are on their way, which bounds memory. Knows batches and reports, nothing else.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from functools import partial
from itertools import islice
from types import TracebackType
from typing import Any, TypeVar

from citewell.errors import CitewellError
from citewell.ingest.outcomes import Prepared, Source
from citewell.ingest.write import BatchEmbedder, BatchWriter, Embedded, Stopped
from citewell.interrupts import CtrlC
from citewell.model import FileReport

_BATCHES_AHEAD = 2
_TELL_EVERY_S = 0.1
"""So long Ctrl-C waits at most where the caller's thread does."""

T = TypeVar("T")
Reports = list[FileReport]


class Pipeline:
    """Takes batches in order; a context manager. `reports` holds what became of their documents, as it comes in.

    While the caller's thread waits, `waiting` is called in it ten times a second. Leaving it, Ctrl-C included, finishes
    the writes that are due and drops the rest: what is stored is whole, and no thread is left behind. Whoever presses
    Ctrl-C once more meanwhile waits no longer.
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
        self._ctrl_c, self._is_abandoned = CtrlC(), False
        self.reports: Reports = []

    def __enter__(self) -> Pipeline:
        self._ctrl_c.__enter__()
        return self

    def reached(self, items: Iterable[T]) -> Iterator[T]:
        """The items one by one; Ctrl-C is not held back while one is come by, which may take long."""
        waiting = iter(items)
        while held := self._ctrl_c.through(lambda: [*islice(waiting, 1)]):
            yield held[0]

    def readable(self, sources: Iterable[Source | FileReport]) -> Iterator[Source | FileReport]:
        """As `reached`; nor is Ctrl-C held back while a source is loaded or read."""
        through = self._ctrl_c.through
        for source in self.reached(sources):
            if isinstance(source, Source):
                yield replace(source, load=partial(through, source.load), read=partial(through, source.read))
            else:
                yield source

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
        self._embedding.shutdown(wait=False, cancel_futures=True)
        try:
            self._wait_for(self._under_way)
            self._wait_for([self._last_write] if self._last_write else [])
        except KeyboardInterrupt:
            self._is_abandoned = True
            raise
        self._embedding.shutdown()
        self._writing.shutdown()
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
        self._wait_for([future], self._waiting)
        return future.result()

    def _wait_for(self, futures: Iterable[Future[Any]], waiting: Callable[[], None] = lambda: None) -> None:
        """Never in one go: Ctrl-C is looked at here, for where it would be raised a lock might be left taken."""
        self._ctrl_c.look()
        while pending := [future for future in futures if not future.done()]:
            if not wait(pending, timeout=_TELL_EVERY_S).done:
                waiting()
            self._ctrl_c.look()

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
        try:
            if not self._is_abandoned:
                self.settle()
        finally:
            self._ctrl_c.__exit__(kind, error, traceback)


def _succeeded(future: Future[Reports] | Future[Future[Reports]]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None
