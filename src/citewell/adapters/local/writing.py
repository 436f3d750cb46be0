"""Writes document versions into the tables, within a transaction that the caller has begun.

It checks what each change was planned against and keeps row numbers unique for ever. It knows no index and no lock.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from citewell.adapters.local.faults import decoded
from citewell.adapters.local.marks import marks_of
from citewell.adapters.local.reading import WITHDRAWN
from citewell.adapters.local.seals import seal
from citewell.adapters.local.terms import Dictionary
from citewell.errors import InvalidRequest, StoreConflict
from citewell.model import Chunk, DocumentChange, DocumentCopy, DocumentRecord, Reuse

if TYPE_CHECKING:
    from numpy.typing import NDArray

_REMOVED_KEPT = 20_000
_COPY_CHUNKS = (
    "INSERT INTO chunks SELECT row + ?, ?, chunk_index, text, breadcrumb, span_start, span_end, page, line, url,"
    " digest, context_digest FROM chunks WHERE row BETWEEN ? AND ?"
)
_COPY_FEATURES = "INSERT INTO features SELECT row + ?, vector, terms, counts FROM features WHERE row BETWEEN ? AND ?"


@dataclass(frozen=True, slots=True)
class _Stored:
    """Where the stored version of a document lies; version 0 if there is none."""

    id: int | None = None
    version: int = 0
    first_row: int = 0
    chunks: int = 0


@decoded("a figure")
def read_meta(connection: sqlite3.Connection, name: str) -> int:
    """A number kept in `meta`."""
    return int(connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()[0])


def write_meta(connection: sqlite3.Connection, name: str, value: object) -> None:
    """Keep a value in `meta`."""
    connection.execute("UPDATE meta SET value = ? WHERE name = ?", (value, name))


def write_changes(connection: sqlite3.Connection, changes: Sequence[DocumentChange], dictionary: Dictionary) -> None:
    """Write these versions and raise the sequence by one.

    Raises:
        StoreConflict: a document comes twice, or its stored version is not the expected one; the caller rolls back.
        InvalidRequest: a vector is of other dimensions than the store's or not finite, or chunks are misnumbered.
    """
    _check_once(changes)
    sequence, row = read_meta(connection, "sequence") + 1, read_meta(connection, "next_row")
    dimensions = _dimensions(connection, changes)
    texts = [chunk.terms for change in changes for chunk in change.chunks]
    terms = iter(dictionary.count(connection, texts))
    for change in changes:
        stored = _find(connection, change.document.doc_id)
        _check_version(change, stored)
        _check_indexes(change)
        vectors = _vectors(connection, change, stored, dimensions)
        features = [(vector, *next(terms)) for vector in vectors]
        _remove(connection, stored, sequence)
        characters = sum(len(chunk.text) for chunk in change.chunks)
        place = (sequence, row, len(features), stamp_of(features), characters)
        document = _write_document(connection, change.document, stored, place)
        _write_chunks(connection, change.chunks, document, row)
        connection.executemany(
            "INSERT INTO features VALUES (?, ?, ?, ?)", ((row + at, *values) for at, values in enumerate(features))
        )
        seal(connection, document)
        row += len(features)
    write_meta(connection, "next_row", row)
    _end(connection, sequence)


def copy_documents(connection: sqlite3.Connection, copies: Sequence[DocumentCopy]) -> None:
    """Write stored documents again under other ids and raise the sequence by one.

    Raises:
        StoreConflict: one has changed, lacks rows, or its new id is taken; the caller rolls back.
    """
    sequence, row = read_meta(connection, "sequence") + 1, read_meta(connection, "next_row")
    for copy in copies:
        stored = _find(connection, copy.source)
        if stored.version != copy.expected_version or _find(connection, copy.document.doc_id).version:
            raise _can_not_copy(copy)
        stamp, characters = connection.execute(
            "SELECT stamp, characters FROM documents WHERE id = ?", (stored.id,)
        ).fetchone()
        place = (sequence, row, stored.chunks, stamp, characters)
        document = _write_document(connection, copy.document, _Stored(), place)
        within = (stored.first_row, stored.first_row + stored.chunks - 1)
        for statement, values in (
            (_COPY_CHUNKS, (row - stored.first_row, document)),
            (_COPY_FEATURES, (row - stored.first_row,)),
        ):
            if connection.execute(statement, (*values, *within)).rowcount != stored.chunks:
                raise _can_not_copy(copy)
        seal(connection, document)
        row += stored.chunks
    write_meta(connection, "next_row", row)
    _end(connection, sequence)


def _can_not_copy(copy: DocumentCopy) -> StoreConflict:
    return StoreConflict(
        f"{copy.source!r} can't be copied to {copy.document.doc_id!r}: one of them has changed", way_out="Plan again."
    )


def delete_documents(connection: sqlite3.Connection, doc_ids: Sequence[str]) -> int:
    """Delete what is stored of these and return how many chunks went; the sequence grows if any did."""
    sequence, gone = read_meta(connection, "sequence") + 1, 0
    for doc_id in dict.fromkeys(doc_ids):
        stored = _find(connection, doc_id)
        if stored.id is not None:
            _remove(connection, stored, sequence)
            connection.execute("DELETE FROM documents WHERE id = ?", (stored.id,))
            gone += stored.chunks
    if gone:
        _end(connection, sequence)
    return gone


def withdraw(connection: sqlite3.Connection, doc_ids: Sequence[str]) -> None:
    """Have the next ingestion write these documents anew: their fingerprints fit no source, their vectors no text."""
    connection.executemany(
        "UPDATE chunks SET context_digest = '' WHERE row BETWEEN (SELECT first_row FROM documents WHERE doc_id = ?)"
        " AND (SELECT first_row + chunks - 1 FROM documents WHERE doc_id = ?)",
        [(doc_id, doc_id) for doc_id in doc_ids],
    )
    connection.executemany(
        "UPDATE documents SET fingerprint = ? || fingerprint WHERE doc_id = ? AND substr(fingerprint, 1, 1) <> ?",
        [(WITHDRAWN, doc_id, WITHDRAWN) for doc_id in doc_ids],
    )


def remove_leftovers(connection: sqlite3.Connection, rows: Sequence[int]) -> None:
    """Delete these rows, which belong to no document, and marks of none; the sequence grows, so that views let go."""
    sequence = read_meta(connection, "sequence") + 1
    numbers = [(row,) for row in rows]
    connection.executemany("DELETE FROM chunks WHERE row = ?", numbers)
    connection.executemany("DELETE FROM features WHERE row = ?", numbers)
    connection.execute("DELETE FROM marks WHERE document NOT IN (SELECT id FROM documents)")
    connection.executemany("INSERT INTO removed VALUES (?, ?, 1)", ((sequence, row) for row in rows))
    _end(connection, sequence)


def _end(connection: sqlite3.Connection, sequence: int) -> None:
    """Raise the sequence; forget old removals once they are many, so that readers behind them load anew."""
    write_meta(connection, "sequence", sequence)
    if connection.execute("SELECT count(*) FROM removed").fetchone()[0] > _REMOVED_KEPT:
        connection.execute("DELETE FROM removed")
        write_meta(connection, "removed_floor", sequence)


def _check_once(changes: Sequence[DocumentChange]) -> None:
    times = Counter(change.document.doc_id for change in changes)
    twice = [doc_id for doc_id, count in times.items() if count > 1]
    if twice:
        raise StoreConflict(f"the batch holds the document {twice[0]!r} twice", way_out="Give each document once.")


def _find(connection: sqlite3.Connection, doc_id: str) -> _Stored:
    row = connection.execute(
        "SELECT id, version, first_row, chunks FROM documents WHERE doc_id = ?", (doc_id,)
    ).fetchone()
    return _Stored(*row) if row else _Stored()


def _check_indexes(change: DocumentChange) -> None:
    """Rows follow chunk indexes, so those must be 0, 1, 2, ..."""
    if [chunk.chunk_index for chunk in change.chunks] != list(range(len(change.chunks))):
        raise InvalidRequest(
            f"the chunks of {change.document.doc_id!r} are not numbered 0, 1, 2, ...", way_out="Number them in order."
        )


def _check_version(change: DocumentChange, stored: _Stored) -> None:
    doc_id = change.document.doc_id
    if change.expected_version != stored.version:
        raise StoreConflict(
            f"the document {doc_id!r} is stored as version {stored.version}, not {change.expected_version}",
            way_out="Plan again.",
        )
    if any(isinstance(vector, Reuse) and not 0 <= vector.chunk_index < stored.chunks for vector in change.vectors):
        raise StoreConflict(f"{doc_id!r} reuses a vector that its stored version lacks", way_out="Plan again.")


def _dimensions(connection: sqlite3.Connection, changes: Sequence[DocumentChange]) -> int:
    """Of the store's vectors; the first vector ever written decides where no binding has."""
    known = read_meta(connection, "dimensions")
    if known:
        return known
    new = (len(vector) for change in changes for vector in change.vectors if not isinstance(vector, Reuse))
    first = next(new, 0)
    write_meta(connection, "dimensions", first)
    return first


def _vectors(connection: sqlite3.Connection, change: DocumentChange, stored: _Stored, dimensions: int) -> list[bytes]:
    return [
        _kept_vector(connection, stored.first_row + vector.chunk_index)
        if isinstance(vector, Reuse)
        else _new_vector(vector, dimensions)
        for _, vector in zip(change.chunks, change.vectors, strict=True)
    ]


def stamp_of(features: Sequence[tuple[bytes, bytes, bytes]]) -> int:
    """63 bits that depend on everything that is searched of a version: a file with the same stamp says the same."""
    digest = hashlib.blake2b(b"".join(part for row in features for part in row), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def _kept_vector(connection: sqlite3.Connection, row: int) -> bytes:
    kept: bytes = connection.execute("SELECT vector FROM features WHERE row = ?", (row,)).fetchone()[0]
    return kept


def _new_vector(vector: NDArray[np.float32], dimensions: int) -> bytes:
    array = as_floats(vector, "a vector")
    if array.shape != (dimensions,):
        raise InvalidRequest(
            f"a vector has the shape {array.shape}, and the store holds vectors of {dimensions} dimensions",
            way_out="Embed with the embedder that the store is bound to.",
        )
    return array.tobytes()


def as_floats(vector: object, name: str) -> NDArray[np.float32]:
    """The vector as float32, little-endian.

    Raises:
        InvalidRequest: it is none, or holds a value that is no finite number.
    """
    try:
        array = np.ascontiguousarray(vector, dtype="<f4")
    except (ValueError, TypeError) as error:
        raise InvalidRequest(f"{name} is no array of numbers: {error}", way_out="Check the embedder.") from error
    if not np.isfinite(array).all():
        raise InvalidRequest(f"{name} holds a value that is no finite number", way_out="Check the embedder.")
    return array


def _remove(connection: sqlite3.Connection, stored: _Stored, sequence: int) -> None:
    """Take everything of a stored version but its row in `documents`."""
    if stored.id is None:
        return
    span = (stored.first_row, stored.first_row + stored.chunks - 1)
    connection.execute("DELETE FROM chunks WHERE row BETWEEN ? AND ?", span)
    connection.execute("DELETE FROM features WHERE row BETWEEN ? AND ?", span)
    connection.execute("DELETE FROM marks WHERE document = ?", (stored.id,))
    connection.execute("INSERT INTO removed VALUES (?, ?, ?)", (sequence, stored.first_row, stored.chunks))


def _write_document(
    connection: sqlite3.Connection, record: DocumentRecord, stored: _Stored, place: tuple[int, int, int, int, int]
) -> int:
    """Write the record, under the number that the document has if it is known, and return that number.

    `place` is sequence, first row, chunks, stamp, characters.
    """
    values = (*place, *_columns(record))
    connection.execute(
        "INSERT INTO documents (id, doc_id, version, first_row, chunks, stamp, characters, title, source, category,"
        " scope, metadata, headings, fingerprint, content_digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET version = excluded.version, first_row = excluded.first_row,"
        " chunks = excluded.chunks, stamp = excluded.stamp, characters = excluded.characters, title = excluded.title,"
        " source = excluded.source, category = excluded.category, scope = excluded.scope, metadata = excluded.metadata,"
        " headings = excluded.headings, fingerprint = excluded.fingerprint, content_digest = excluded.content_digest",
        (stored.id, record.doc_id, *values),
    )
    document: int = stored.id or connection.execute("SELECT last_insert_rowid()").fetchone()[0]
    marks = ((mark, document) for mark in marks_of(record))
    connection.executemany("INSERT INTO marks VALUES (?, ?)", marks)
    return document


def _columns(record: DocumentRecord) -> tuple[str | None, ...]:
    return (
        record.title,
        record.source,
        record.category,
        None if record.scope is None else json.dumps(record.scope),
        json.dumps(dict(record.metadata)),
        json.dumps(record.headings),
        record.fingerprint,
        record.content_digest,
    )


def _write_chunks(connection: sqlite3.Connection, chunks: Sequence[Chunk], document: int, row: int) -> None:
    connection.executemany(
        "INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        ((row + at, document, chunk.chunk_index, *_shown(chunk)) for at, chunk in enumerate(chunks)),
    )


def _shown(chunk: Chunk) -> tuple[str | int | None, ...]:
    locator = chunk.locator
    return (
        chunk.text, chunk.breadcrumb, *chunk.span, locator.page, locator.line, locator.url, chunk.digest,
        chunk.context_digest,
    )  # fmt: skip
