"""Turns filters into masks: which documents pass, resolved by their marks in the tables and remembered.

Every filter is one of documents; a mask over a view's slots follows. What is remembered of a mark is brought up to
date by looking at the documents that changed since. It knows no vector and no term.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

import numpy as np

from citewell.adapters.local.marks import category_mark, field_mark, label_mark
from citewell.adapters.local.reading import storable
from citewell.adapters.local.view import View
from citewell.model import Filters

if TYPE_CHECKING:
    from citewell.adapters.local.segments import Bools, Int64s

_REMEMBERED = 4_000_000
"""Document numbers in all remembered answers together: 32 MB."""
_UPDATED_UP_TO = 1_000


class Bearers:
    """Which documents bear a mark; safe to call from several threads, each with a transaction of its own."""

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, tuple[int, Int64s]] = OrderedDict()
        self._remembered = 0
        self._lock = threading.Lock()

    def of(self, connection: sqlite3.Connection, sequence: int, mark: bytes) -> Int64s:
        """The numbers of the documents that bear the mark as of `sequence`, and perhaps some that were deleted."""
        with self._lock:
            known = self._known.get(mark)
        if known is not None and known[0] == sequence:
            return known[1]
        if known is not None and known[0] > sequence:
            return _bearers(connection, mark)
        found = _updated(connection, mark, *known) if known else _bearers(connection, mark)
        self._remember(mark, sequence, found)
        return found

    def _remember(self, mark: bytes, sequence: int, found: Int64s) -> None:
        with self._lock:
            forgotten = self._known.pop(mark, None)
            self._remembered += found.size - (forgotten[1].size if forgotten else 0)
            self._known[mark] = (sequence, found)
            while self._remembered > _REMEMBERED and len(self._known) > 1:
                _, (_, oldest) = self._known.popitem(last=False)
                self._remembered -= oldest.size


def _bearers(connection: sqlite3.Connection, mark: bytes) -> Int64s:
    return _numbers(connection.execute("SELECT document FROM marks WHERE mark = ?", (mark,)))


def _updated(connection: sqlite3.Connection, mark: bytes, sequence: int, known: Int64s) -> Int64s:
    """What is known, with the documents written since `sequence` asked again."""
    changed = _numbers(connection.execute("SELECT id FROM documents WHERE version > ?", (sequence,)))
    if changed.size > _UPDATED_UP_TO:
        return _bearers(connection, mark)
    again = connection.execute(
        "SELECT document FROM json_each(?) AS changed JOIN marks ON mark = ? AND document = changed.value",
        (json.dumps(changed.tolist()), mark),
    )
    return np.union1d(np.setdiff1d(known, changed, assume_unique=True), _numbers(again))


def _numbers(rows: sqlite3.Cursor) -> Int64s:
    return np.array(rows.fetchall(), dtype=np.int64).reshape(-1)


def allowed_slots(bearers: Bearers, connection: sqlite3.Connection, view: View, filters: Filters) -> Bools | None:
    """Bool [slots]: which live rows lie within the filters; None = every row of the view."""
    passing = _passing(bearers, connection, view, filters)
    if passing is None:
        return None if view.is_whole else view.live
    return passing[view.documents] & view.live


def _passing(bearers: Bearers, connection: sqlite3.Connection, view: View, filters: Filters) -> Bools | None:
    """Bool [document numbers]: which pass; None = all."""
    alternatives = _alternatives(filters)
    if not alternatives and not filters.exclude_documents:
        return None
    numbers = int(view.documents.max(initial=0)) + 1
    passing = np.ones(numbers, dtype=np.bool_)
    for marks in alternatives:
        found = np.zeros(numbers, dtype=np.bool_)
        for mark in marks:
            documents = bearers.of(connection, view.sequence, mark)
            found[documents[documents < numbers]] = True
        passing &= found
    passing[_excluded(connection, filters, numbers)] = False
    return passing


def _alternatives(filters: Filters) -> list[list[bytes]]:
    """Per filter the marks of which a document must bear at least one; an empty list lets nothing pass."""
    alternatives = []
    if filters.category is not None:
        alternatives.append([category_mark(filters.category)])
    if filters.scope is not None:
        alternatives.append([label_mark(label) for label in filters.scope])
    marks = (field_mark(name, value) for name, value in filters.where)
    return alternatives + [[] if mark is None else [mark] for mark in marks]


def _excluded(connection: sqlite3.Connection, filters: Filters, numbers: int) -> Int64s:
    found = [
        row[0]
        for doc_id in filters.exclude_documents
        if storable(doc_id)
        for row in connection.execute("SELECT id FROM documents WHERE doc_id = ?", (doc_id,))
    ]
    excluded = np.array(found, dtype=np.int64)
    return excluded[excluded < numbers]
