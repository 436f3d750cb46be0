"""Brings derived words up to date in a thread of its own, so that no lookup waits for the scan of a large collection.

Meanwhile lookups go on with what is there, which the log and the status say. It knows no search.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from citewell.errors import CitewellError

if TYPE_CHECKING:
    from citewell.adapters.milvus.foreign.derived import Derived

WAITED_FOR = 20_000
"""Rows up to which a lookup waits for the scan: a few seconds."""

_log = logging.getLogger("citewell.attached")


class _Closed(Exception):
    """The store was closed while the scan went on."""


class Behind:
    """One scan at a time; safe to call from several threads."""

    def __init__(self, derived: Derived) -> None:
        self._derived = derived
        self._turn = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = threading.Event()

    def catch_up(self, known: int, there: int) -> None:
        """Start a scan, unless one is going on; `known` rows are derived, and `there` are in the collection."""
        with self._turn:
            if self._closed.is_set() or (self._thread is not None and self._thread.is_alive()):
                return
            _log.warning("words are derived from %d rows, and %d are there; they are being scanned", known, there)
            self._thread = threading.Thread(target=self._scan, name="citewell-attached-scan", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Stop the scan that is going on, which leaves everything as it was before, and wait for its end."""
        self._closed.set()
        with self._turn:
            thread = self._thread
        if thread is not None:
            thread.join()

    def _scan(self) -> None:
        try:
            self._derived.bring_up_to_date(self._go_on)
        except _Closed:
            return
        except CitewellError as error:
            _log.warning("words could not be brought up to date: %s", error)

    def _go_on(self, done: int, total: int) -> None:
        if self._closed.is_set():
            raise _Closed
