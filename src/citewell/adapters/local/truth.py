"""Checks the tables against themselves: whole documents, in order, as they were written, with the marks that they bear.

It reads within the caller's transaction, changes nothing and knows no index.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from citewell.adapters.local.faults import decoded
from citewell.adapters.local.marks import marks_of
from citewell.adapters.local.reading import properties_of
from citewell.adapters.local.seals import is_seal, seal_of
from citewell.adapters.local.writing import stamp_of
from citewell.errors import StoreCorrupt
from citewell.identity import format_key
from citewell.model import DocumentRecord, Finding

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
        # Not the quick one: a term or a name that an index has otherwise is not found any more.
        for (said,) in connection.execute("PRAGMA integrity_check(20)"):
            if said != "ok":
                yield Finding("damaged", FILE, detail=str(said))
        yield from _overlaps(connection)
        known = _numbers_of_terms(connection)
        for row in connection.execute(
            "SELECT id, doc_id, first_row, chunks, stamp, category, scope, metadata, headings FROM documents"
            " ORDER BY doc_id"
        ):
            yield from _in_record(connection, row, known)
        for table in TABLES:
            left = len(leftovers(connection, table))
            if left:
                yield Finding("orphaned", FILE, detail=f"{left} rows of {table} belong to no document")
    except (sqlite3.DatabaseError, StoreCorrupt) as error:
        yield Finding("damaged", FILE, detail=str(error))


def _overlaps(connection: sqlite3.Connection) -> Iterator[Finding]:
    """Documents that claim rows of each other: whichever is written anew takes rows of the other along."""
    places = connection.execute(
        "SELECT first_row, first_row + chunks, doc_id FROM documents"
        " WHERE typeof(first_row) = 'integer' AND typeof(chunks) = 'integer' ORDER BY first_row, chunks"
    ).fetchall()
    reach, claimant = 0, ""
    for first, end, doc_id in places:
        if first < reach:
            for one, other in ((claimant, doc_id), (doc_id, claimant)):
                yield Finding("damaged", FILE, format_key(one, 0), f"it claims rows that {other!r} claims as well")
        if end > reach:
            reach, claimant = end, doc_id


def _numbers_of_terms(connection: sqlite3.Connection) -> NDArray[np.bool_]:
    """Whether the dictionary has a term for each number."""
    held = np.array(connection.execute("SELECT id FROM terms").fetchall(), dtype=np.int64).reshape(-1)
    known = np.zeros(int(held.max(initial=0)) + 1, dtype=np.bool_)
    known[held] = True
    return known


def _nameless(terms: bytes, known: NDArray[np.bool_]) -> int:
    """How many of these numbers stand for no term."""
    numbers = np.frombuffer(terms, dtype="<i4")
    within = numbers[(numbers >= 0) & (numbers < known.size)]
    return int(numbers.size - np.count_nonzero(known[within]))


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
    labels, fields, titles = properties_of(scope, headings, metadata)
    record = DocumentRecord(doc_id, category=category, scope=labels, metadata=fields, headings=titles)
    return _Document(number, doc_id, int(first), int(chunks), stamp, record)


def _in_record(connection: sqlite3.Connection, row: Sequence[Any], known: NDArray[np.bool_]) -> Iterator[Finding]:
    try:
        document = _document(*row)
    except StoreCorrupt as error:
        yield Finding("damaged", FILE, format_key(row[1], 0), error.message)
    else:
        found = list(_in_document(connection, document, known))
        yield from found or _unsealed(connection, document)


def _in_document(connection: sqlite3.Connection, document: _Document, known: NDArray[np.bool_]) -> Iterator[Finding]:
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
    elif nameless := _nameless(b"".join(terms for _, terms, _ in features), known):
        yield Finding("damaged", FILE, first, f"{nameless} of its terms are missing in the dictionary")
    for at, detail in _wrong(document, rows):
        yield Finding("damaged", FILE, format_key(document.doc_id, at), detail)
    if [mark for mark in _borne(connection, document) if not is_seal(mark)] != marks_of(document.record):
        yield Finding("damaged", FILE, first, "its marks are not those of its category, labels and metadata")


def _unsealed(connection: sqlite3.Connection, document: _Document) -> Iterator[Finding]:
    """A seal that doesn't fit, which says nothing of where: for documents of which nothing else is wrong."""
    seals = [mark for mark in _borne(connection, document) if is_seal(mark)]
    if seals and seals != [seal_of(connection, document.id)]:
        detail = "its title, source, metadata, breadcrumbs or places are not those that were written"
        yield Finding("damaged", FILE, format_key(document.doc_id, 0), detail)


def _borne(connection: sqlite3.Connection, document: _Document) -> list[bytes]:
    rows = connection.execute("SELECT mark FROM marks WHERE document = ? ORDER BY mark", (document.id,))
    return [mark for (mark,) in rows]


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
