"""Keeps a copy of the catalogue for whoever made it, in the database itself, so that the two can't be told apart.

    copies   part, content, checksum: the parts of the copy; made when there is one to keep
    meta     `copied`: the sequence that it is a copy of, and how many parts it has

It is derived: whatever becomes of it costs time, nothing else. An older Citewell, which knows none, leaves it behind;
its sequence then tells what was written since. It runs within the caller's transaction and doesn't know what the parts
say.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterable

from citewell.adapters.local.faults import GARBLED

_NAME = "copied"
_TABLE = (
    "CREATE TABLE IF NOT EXISTS copies (part INTEGER PRIMARY KEY, content BLOB NOT NULL, checksum INTEGER NOT NULL)"
)


def copied(connection: sqlite3.Connection) -> int | None:
    """The sequence that a copy is kept of; None if there is none."""
    held = _held(connection)
    return held[0] if held else None


def read_copy(connection: sqlite3.Connection) -> tuple[bytes, ...] | None:
    """The parts of the copy, in order; None if there is none, or one is missing or damaged."""
    held = _held(connection)
    if held is None:
        return None
    rows = connection.execute("SELECT part, content, checksum FROM copies ORDER BY part").fetchall()
    whole = len(rows) == held[1] and all(
        part == at and zlib.crc32(content) == checksum for at, (part, content, checksum) in enumerate(rows)
    )
    return tuple(content for _, content, _ in rows) if whole else None


def write_copy(connection: sqlite3.Connection, sequence: int, parts: Iterable[tuple[int, bytes]], count: int) -> None:
    """Keep a copy of the state at the sequence, in so many parts, of which these are new."""
    connection.execute(_TABLE)
    connection.executemany(
        "INSERT OR REPLACE INTO copies VALUES (?, ?, ?)", ((part, data, zlib.crc32(data)) for part, data in parts)
    )
    connection.execute("DELETE FROM copies WHERE part >= ?", (count,))
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_NAME, json.dumps([sequence, count])))


def forget_copy(connection: sqlite3.Connection) -> None:
    """Keep none."""
    connection.execute("DELETE FROM copies")
    connection.execute("DELETE FROM meta WHERE name = ?", (_NAME,))


def _held(connection: sqlite3.Connection) -> tuple[int, int] | None:
    """The sequence, and the number of parts; None if there is no copy, or what is said of it can't be read."""
    found = connection.execute("SELECT value FROM meta WHERE name = ?", (_NAME,)).fetchone()
    try:
        sequence, count = json.loads(found[0])
        return int(sequence), int(count)
    except GARBLED:
        return None
