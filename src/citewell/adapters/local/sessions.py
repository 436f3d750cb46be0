"""What sessions were shown, in a SQLite file of its own beside the store's: nothing here waits for an ingestion.

It knows no document: a key that is no longer stored is remembered until its time is over.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from citewell.adapters.local.sessions_file import NAME, SessionsFile
from citewell.errors import StoreError
from citewell.model import Finding, SessionInfo, SessionPolicy, Shown

_SHOWN = """
SELECT evidence_key, digest, at, chars FROM shown JOIN session ON session.id = shown.session
WHERE name = ? AND scope = ? AND at >= ?
"""
_BEGIN = "INSERT INTO session (name, scope, last_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
_FIND = "SELECT id FROM session WHERE name = ? AND scope = ?"
_RECORD = "INSERT OR REPLACE INTO shown VALUES (?, ?, ?, ?, ?)"
_FORGET_OLD = "DELETE FROM shown WHERE at < ?"
_FORGET_BEYOND = """
DELETE FROM shown WHERE session = :session AND evidence_key IN (
    SELECT evidence_key FROM shown WHERE session = :session ORDER BY at DESC, evidence_key LIMIT -1 OFFSET :most)
"""
_USED = """
UPDATE session SET last_at = coalesce((SELECT max(at) FROM shown WHERE session = :session), -9e999) WHERE id = :session
"""
_FORGET_IDLE = "DELETE FROM session WHERE last_at < ?"
_COUNT = "SELECT count(*) FROM session"
_BY_USE = "SELECT last_at, name, scope, id FROM session"
_LIST = """
SELECT name, scope, count(*), last_at FROM session JOIN shown ON session.id = shown.session GROUP BY session.id
"""
_NO_ROWS: list[Any] = []


class LocalSessions:
    """See citewell.ports.SessionStore; the file is made at the first record.

    Args:
        directory: of the store.
        read_only: whether never to write.
    """

    def __init__(self, directory: Path, *, read_only: bool = False) -> None:
        self._file = SessionsFile(directory, read_only=read_only)

    def shown(self, session: str, scope: tuple[str, ...] | None, *, since: float) -> Mapping[str, Shown]:
        """What it was shown at `since` or later."""
        rows = self._rows(_SHOWN, (session, _text(scope), since))
        return {key: Shown(key, digest, at, chars) for key, digest, at, chars in rows}

    def record(
        self, session: str, scope: tuple[str, ...] | None, shown: Sequence[Shown], *, policy: SessionPolicy
    ) -> None:
        """Remember these, and forget what is beyond the policy, in one transaction."""
        if not shown:
            return
        name, now = (session, _text(scope)), max(entry.at for entry in shown)
        with self._file.written() as connection:
            connection.execute(_BEGIN, (*name, now))
            (number,) = connection.execute(_FIND, name).fetchone()
            entries = [(number, entry.evidence_key, entry.digest, entry.at, entry.chars) for entry in shown]
            connection.executemany(_RECORD, entries)
            connection.execute(_FORGET_OLD, (now - policy.max_age_s,))
            connection.execute(_FORGET_BEYOND, {"session": number, "most": policy.max_items})
            connection.execute(_USED, {"session": number})
            connection.execute(_FORGET_IDLE, (now - policy.max_age_s,))
            _forget(connection, _beyond(connection, policy.max_sessions))

    def sessions(self) -> Iterator[SessionInfo]:
        """All of them, ordered by session id, then scope (None first)."""
        infos = [SessionInfo(name, _labels(scope), count, at) for name, scope, count, at in self._rows(_LIST)]
        return iter(sorted(infos, key=lambda info: _order(info.session, info.scope)))

    def forget(self, session: str) -> int:
        """Forget it in every scope."""
        if not self._rows("SELECT 1 FROM session WHERE name = ?", (session,)):
            return 0
        with self._file.written() as connection:
            numbers = connection.execute("SELECT id FROM session WHERE name = ?", (session,)).fetchall()
            return _forget(connection, [number for (number,) in numbers])

    def findings(self, *, repair: bool) -> list[Finding]:
        """Whether the file is damaged; with `repair`, it is set aside, and sessions begin anew."""
        try:
            damage = self._file.damage()
            if not damage or not repair:
                return [Finding("damaged", NAME, detail=damage)] if damage else []
            aside = self._file.set_aside()
        except StoreError as error:
            return [Finding("damaged", NAME, detail=error.message)]
        return [Finding("damaged", NAME, detail=f"{damage}; it is now {aside.name}", repaired=True)]

    def close(self) -> None:
        """Close the file. Idempotent."""
        self._file.close()

    def _rows(self, select: str, values: Sequence[str | float] = ()) -> list[Any]:
        return self._file.read(lambda connection: connection.execute(select, values).fetchall(), _NO_ROWS)


def _beyond(connection: sqlite3.Connection, most: int) -> list[int]:
    """The sessions that are too many: those used longest ago."""
    if connection.execute(_COUNT).fetchone()[0] <= most:
        return []
    used = connection.execute(_BY_USE).fetchall()
    used.sort(key=lambda row: (-row[0], *_order(row[1], _labels(row[2]))))
    return [number for _, _, _, number in used[most:]]


def _forget(connection: sqlite3.Connection, numbers: Sequence[int]) -> int:
    """Forget these sessions; how many pieces of evidence they remembered."""
    values = [(number,) for number in numbers]
    gone = connection.executemany("DELETE FROM shown WHERE session = ?", values).rowcount if values else 0
    connection.executemany("DELETE FROM session WHERE id = ?", values)
    return gone


def _text(scope: tuple[str, ...] | None) -> str:
    return json.dumps(scope, ensure_ascii=True)


def _labels(text: str) -> tuple[str, ...] | None:
    labels = json.loads(text)
    return None if labels is None else tuple(labels)


def _order(session: str, scope: tuple[str, ...] | None) -> tuple[str, bool, tuple[str, ...]]:
    return session, scope is not None, scope or ()
