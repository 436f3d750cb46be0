"""Checks the tables against themselves: whole documents, in order, as they were written, with the marks that they bear.

It reads within the caller's transaction, changes nothing and knows no index.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from citewell.adapters.local.faults import decoded
from citewell.adapters.local.marks import marks_of
from citewell.adapters.local.writing import stamp_of
from citewell.errors import StoreCorrupt
from citewell.identity import format_key
from citewell.model import DocumentRecord, Finding

FILE = "citewell.db"
TABLES = ("chunks", "features")


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of `chunks`."""

    row: int
    document: int
    index: int
    span: tuple[int, int]
    text: str
    digest: str


@dataclass(frozen=True, slots=True)
class _Document:
    """A row of `documents`, as far as its chunks, features and marks follow from it."""

    id: int
    doc_id: str
    first: int
    chunks: int
    stamp: int
    record: DocumentRecord


def faults(connection: sqlite3.Connection) -> Iterator[Finding]:
    """What is wrong, document by document; the first that can't be read ends the search.

    Kinds: `damaged` (the document must be written anew; without a key, the file itself is), `orphaned` (rows of none).
    """
    try:
        for (said,) in connection.execute("PRAGMA quick_check(20)"):
            if said != "ok":
                yield Finding("damaged", FILE, detail=str(said))
        for row in connection.execute(
            "SELECT id, doc_id, first_row, chunks, stamp, category, scope, metadata, headings FROM documents"
            " ORDER BY doc_id"
        ):
            yield from _in_record(connection, row)
        for table in TABLES:
            left = len(leftovers(connection, table))
            if left:
                yield Finding("orphaned", FILE, detail=f"{left} rows of {table} belong to no document")
    except (sqlite3.DatabaseError, StoreCorrupt) as error:
        yield Finding("damaged", FILE, detail=str(error))


@decoded("the place of a document")
def leftovers(connection: sqlite3.Connection, table: str) -> set[int]:
    """Rows of `chunks` or `features` that belong to no document."""
    held = connection.execute(f"SELECT row FROM {table} ORDER BY row").fetchall()  # noqa: S608 - a constant
    rows = np.array(held, dtype=np.int64).reshape(-1)
    spans = connection.execute("SELECT first_row, first_row + chunks FROM documents ORDER BY first_row").fetchall()
    starts, ends = np.array([(0, 0), *spans], dtype=np.int64).T
    at = np.searchsorted(starts, rows, side="right") - 1
    return set(rows[rows >= ends[at]].tolist())


@decoded("a record")
def _document(
    number: int, doc_id: str, first: int, chunks: int, stamp: int, category: str | None, scope: str | None,
    metadata: str, headings: str,
) -> _Document:  # fmt: skip
    labels = None if scope is None else tuple(json.loads(scope))
    record = DocumentRecord(
        doc_id, category=category, scope=labels, metadata=dict(json.loads(metadata)), headings=json.loads(headings)
    )
    return _Document(number, doc_id, int(first), int(chunks), stamp, record)


def _in_record(connection: sqlite3.Connection, row: Sequence[Any]) -> Iterator[Finding]:
    try:
        document = _document(*row)
    except StoreCorrupt as error:
        yield Finding("damaged", FILE, format_key(row[1], 0), error.message)
    else:
        yield from _in_document(connection, document)


def _in_document(connection: sqlite3.Connection, document: _Document) -> Iterator[Finding]:
    within = (document.first, document.first + document.chunks - 1)
    features = connection.execute(
        "SELECT vector, terms, counts FROM features WHERE row BETWEEN ? AND ? ORDER BY row", within
    ).fetchall()
    rows = [
        _Row(row, owner, index, (start, end), text, digest)
        for row, owner, index, start, end, text, digest in connection.execute(
            "SELECT row, document, chunk_index, span_start, span_end, text, digest FROM chunks"
            " WHERE row BETWEEN ? AND ? ORDER BY row",
            within,
        )
    ]
    first = format_key(document.doc_id, 0)
    for table, found in zip(TABLES, (len(rows), len(features)), strict=True):
        if found != document.chunks:
            detail = f"{document.chunks - found} of its {document.chunks} rows are missing in {table}"
            yield Finding("damaged", FILE, first, detail)
    if len(features) == document.chunks and stamp_of(features) != document.stamp:
        yield Finding("damaged", FILE, first, "its vectors or terms are not those that were written")
    for at, detail in _wrong(document, rows):
        yield Finding("damaged", FILE, format_key(document.doc_id, at), detail)
    marks = connection.execute("SELECT mark FROM marks WHERE document = ? ORDER BY mark", (document.id,)).fetchall()
    if [mark for (mark,) in marks] != marks_of(document.record):
        yield Finding("damaged", FILE, first, "its marks are not those of its category, labels and metadata")


def _wrong(document: _Document, rows: Sequence[_Row]) -> Iterator[tuple[int, str]]:
    """The chunk index and what is wrong there: the text, the place within the document, the span."""
    before = (-1, -1)
    for row in rows:
        at = row.row - document.first
        if hashlib.sha256(row.text.encode()).hexdigest() != row.digest:
            yield at, "its text does not match its digest"
        if (row.document, row.index) != (document.id, at):
            yield at, f"it says that it is chunk {row.index} of document number {row.document}"
        if not _follows(before, row.span):
            yield at, f"its span {row.span} does not follow {before}"
        before = row.span


def _follows(before: tuple[int, int], span: tuple[int, int]) -> bool:
    """Whether a span is one, and begins and ends no earlier than the one before it."""
    return before[0] <= span[0] <= span[1] and before[1] <= span[1]
