"""What of the catalogue was written after a given sequence, in bounded portions, for readers that keep a copy of it.

It reads within the caller's transaction and knows neither the copy nor what it is for.
"""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING

import numpy as np

from citewell.adapters.local.faults import decoded
from citewell.adapters.local.writing import read_meta
from citewell.model import DocumentInfo
from citewell.model.catalogue import CatalogueChanges, Catalogued, Mark

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PORTION = 1_000
"""Documents read at once; a single commit that wrote more comes whole."""


@decoded("a document")
def read_changes(connection: sqlite3.Connection, origin: object, since: int) -> CatalogueChanges:
    """The first documents written after `since`, in the order of their writing, with the means of their vectors."""
    sequence = read_meta(connection, "sequence")
    (count,) = connection.execute("SELECT count(*) FROM documents").fetchone()
    further = connection.execute(
        "SELECT version FROM documents WHERE version > ? ORDER BY version LIMIT 1 OFFSET ?", (since, _PORTION - 1)
    ).fetchone()
    until = further[0] if further else sequence
    centres = _centres(connection, since, until)
    rows = connection.execute(
        "SELECT doc_id, title, source, category, scope, metadata, chunks, characters, fingerprint, content_digest,"
        " headings, id FROM documents WHERE version > ? AND version <= ? ORDER BY version, id",
        (since, until),
    )
    documents = tuple(Catalogued(_info(*row[:-1]), centres.get(row[-1])) for row in rows)
    return CatalogueChanges(Mark(origin, until), documents, count, until == sequence)


def _info(
    doc_id: str, title: str, source: str, category: str | None, scope: str | None, metadata: str, chunks: int,
    characters: int, fingerprint: str, content: str, headings: str,
) -> DocumentInfo:  # fmt: skip
    labels = None if scope is None else tuple(json.loads(scope))
    return DocumentInfo(
        doc_id, title, source, category, labels, json.loads(metadata), chunks, characters, fingerprint, content,
        tuple(json.loads(headings)),
    )  # fmt: skip


def _centres(connection: sqlite3.Connection, since: int, until: int) -> dict[int, NDArray[np.float32]]:
    """The mean vector of each document written in between, by its number."""
    sums: dict[int, tuple[NDArray[np.float32], int]] = {}
    rows = connection.execute(
        "SELECT d.id, d.chunks, f.vector FROM documents AS d"
        " JOIN features AS f ON f.row BETWEEN d.first_row AND d.first_row + d.chunks - 1"
        " WHERE d.version > ? AND d.version <= ?",
        (since, until),
    )
    for number, chunks, held in rows:
        vector = np.frombuffer(held, dtype="<f4")
        before = sums.get(number)
        sums[number] = (vector.astype(np.float32) if before is None else before[0] + vector, chunks)
    return {number: total / np.float32(chunks) for number, (total, chunks) in sums.items()}
