"""Eras: until somebody commits, what was read of the database stays true, and need not be read again.

SQLite tells a connection whether anybody else has committed since its last transaction. An era is what all readers
share who see the same state, so that a pool of them remembers everything once. It knows no table.
"""

from __future__ import annotations

import sqlite3
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from citewell.adapters.local.reading import Described


class Era:
    """What is remembered of one state of the database.

    Attributes:
        documents: what was read of them so far, by number; filled by whoever reads.
        terms: the number of each that was asked for so far, 0 = it has none; filled likewise.
    """

    def __init__(self) -> None:
        self.documents: dict[int, Described] = {}
        self.terms: dict[str, int] = {}


class Eras:
    """Which readers see the same state; safe to call from several threads."""

    def __init__(self) -> None:
        self.latest = Era()
        self._versions: dict[sqlite3.Connection, int] = {}
        self._open: dict[sqlite3.Connection, Era] = {}
        self._lock = threading.Lock()

    def begin(self, connection: sqlite3.Connection, version: int, before: Era) -> None:
        """Find the era of a transaction.

        Args:
            connection: on which it has begun.
            version: SQLite's `data_version` in it.
            before: the latest era before it began.
        """
        with self._lock:
            known = self._versions.pop(connection, None)
            if self.latest is not before:
                # Who began the latest era saw a commit; whether this transaction sees it as well, nobody can tell. So
                # it shares with none, and its connection counts as a new one the next time.
                self._open[connection] = Era()
                return
            # The transaction began after the latest era did, so what it sees is no older. It is no newer either if its
            # connection has seen no commit since it was last in this era, or in an earlier one.
            if version != known:
                self.latest = Era()
            self._versions[connection], self._open[connection] = version, self.latest

    def of(self, connection: sqlite3.Connection) -> Era:
        """The era of its transaction."""
        return self._open[connection]

    def end(self, connection: sqlite3.Connection) -> None:
        """The transaction has ended: an idle connection holds on to nothing of its era."""
        with self._lock:
            self._open.pop(connection, None)

    def forget(self, connection: sqlite3.Connection) -> None:
        """It is closed."""
        with self._lock:
            self._open.pop(connection, None)
            self._versions.pop(connection, None)
