"""What sessions were shown, in a SQLite file of its own beside the store's: nothing here waits for an ingestion.

It knows no document: a key that is no longer stored is remembered until its time is over.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

from citewell.adapters.local.faults import translated
from citewell.errors import StoreUnreachable
from citewell.model import SessionInfo, SessionPolicy, Shown

NAME = "sessions.db"

_SCHEMA = """
CREATE TABLE IF NOT EXISTS shown (
    session TEXT NOT NULL,
    scope TEXT NOT NULL,       -- a JSON list of sorted labels, or null
    evidence_key TEXT NOT NULL,
    digest TEXT NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (session, scope, evidence_key)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS shown_at ON shown (at);
"""
_RECORD = "INSERT OR REPLACE INTO shown VALUES (?, ?, ?, ?, ?)"
_FORGET_OLD = "DELETE FROM shown WHERE at < ?"
_FORGET_BEYOND = """
DELETE FROM shown WHERE session = ?1 AND scope = ?2 AND evidence_key IN (
    SELECT evidence_key FROM shown WHERE session = ?1 AND scope = ?2
    ORDER BY at DESC, evidence_key LIMIT -1 OFFSET ?3
)
"""
_FORGET_SESSIONS = """
DELETE FROM shown WHERE (session, scope) IN (
    SELECT session, scope FROM shown GROUP BY session, scope
    ORDER BY max(at) DESC, session, scope != 'null', scope LIMIT -1 OFFSET ?
)
"""
_LIST = """
SELECT session, scope, count(*), max(at) FROM shown
GROUP BY session, scope ORDER BY session, scope != 'null', scope
"""
_T = TypeVar("_T")
_NO_ROWS: list[Any] = []


class LocalSessions:
    """See citewell.ports.SessionStore; the file is made at the first record.

    Args:
        directory: of the store.
        timeout_s: how long one process waits for another that is recording.
    """

    def __init__(self, directory: Path, *, timeout_s: float = 30.0) -> None:
        self._file, self._timeout_s = directory / NAME, timeout_s
        self._turn, self._pid = threading.Lock(), os.getpid()
        self._connection: sqlite3.Connection | None = None
        self._closed = False

    def shown(self, session: str, scope: tuple[str, ...] | None, *, since: float) -> Mapping[str, Shown]:
        """What it was shown at `since` or later."""
        select = "SELECT evidence_key, digest, at FROM shown WHERE session = ? AND scope = ? AND at >= ?"
        rows = self._read(lambda found: found.execute(select, (session, _text(scope), since)).fetchall(), _NO_ROWS)
        return {key: Shown(key, digest, at) for key, digest, at in rows}

    def record(
        self, session: str, scope: tuple[str, ...] | None, shown: Sequence[Shown], *, policy: SessionPolicy
    ) -> None:
        """Remember these, and forget what is beyond the policy, in one transaction."""
        if not shown:
            return
        labels, now = _text(scope), max(entry.at for entry in shown)
        rows = [(session, labels, entry.evidence_key, entry.digest, entry.at) for entry in shown]
        with self._turn, translated(self._file):
            connection = self._connected()
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.executemany(_RECORD, rows)
                connection.execute(_FORGET_OLD, (now - policy.max_age_s,))
                connection.execute(_FORGET_BEYOND, (session, labels, policy.max_items))
                connection.execute(_FORGET_SESSIONS, (policy.max_sessions,))

    def sessions(self) -> Iterator[SessionInfo]:
        """All of them, ordered by session id, then scope (None first)."""
        rows = self._read(lambda found: found.execute(_LIST).fetchall(), _NO_ROWS)
        infos = [SessionInfo(session, _labels(scope), count, at) for session, scope, count, at in rows]
        return iter(sorted(infos, key=lambda info: (info.session, info.scope is not None, info.scope or ())))

    def forget(self, session: str) -> int:
        """Forget it in every scope."""

        def act(connection: sqlite3.Connection) -> int:
            with connection:
                return connection.execute("DELETE FROM shown WHERE session = ?", (session,)).rowcount

        return self._read(act, 0)

    def close(self) -> None:
        """Close the file. Idempotent."""
        with self._turn:
            self._closed = True
            if self._connection is not None and self._pid == os.getpid():
                self._connection.close()
            self._connection = None

    def _read(self, act: Callable[[sqlite3.Connection], _T], nothing: _T) -> _T:
        """Act on the file, if there is one yet."""
        with self._turn, translated(self._file):
            if self._connection is None and not self._closed and not self._file.exists():
                return nothing
            return act(self._connected())

    def _connected(self) -> sqlite3.Connection:
        if self._closed:
            raise StoreUnreachable(f"the store {self._file.parent} is closed", way_out="Open it again.")
        if self._connection is None or self._pid != os.getpid():
            self._connection, self._pid = self._opened(), os.getpid()
        return self._connection

    def _opened(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._file, timeout=self._timeout_s, isolation_level=None, check_same_thread=False)
        try:
            with closing(connection.cursor()) as cursor:
                cursor.execute("PRAGMA journal_mode = WAL")
                cursor.executescript(_SCHEMA)
        except BaseException:
            connection.close()
            raise
        return connection


def _text(scope: tuple[str, ...] | None) -> str:
    return json.dumps(scope, ensure_ascii=True)


def _labels(text: str) -> tuple[str, ...] | None:
    labels = json.loads(text)
    return None if labels is None else tuple(labels)
