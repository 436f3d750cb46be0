"""What of the catalogue was written after a given sequence, in bounded portions, for readers that keep a copy of it.

It reads within the caller's transaction and knows neither the copy nor what it is for.
"""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING

import numpy as np

from citewell.adapters.local.faults import decoded
from citewell.adapters.local.view import View
from citewell.adapters.local.writing import read_meta
from citewell.model import DocumentInfo
from citewell.model.catalogue import CatalogueChanges, Catalogued, Mark

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PORTION = 1_000
"""Documents read at once; a single commit that wrote more comes whole."""


@decoded("a document")
def read_changes(connection: sqlite3.Connection, origin: object, view: View, since: int) -> CatalogueChanges:
    """The first documents written after `since`, in the order of their writing, with the means of their vectors.

    `view` is that of the connection's transaction.
    """
    sequence = read_meta(connection, "sequence")
    (count,) = connection.execute("SELECT count(*) FROM documents").fetchone()
    further = connection.execute(
        "SELECT version FROM documents WHERE version > ? ORDER BY version LIMIT 1 OFFSET ?", (since, _PORTION - 1)
    ).fetchone()
    until = further[0] if further else sequence
    rows = connection.execute(
        "SELECT doc_id, title, source, category, scope, metadata, chunks, characters, fingerprint, content_digest,"
        " headings, id FROM documents WHERE version > ? AND version <= ? ORDER BY version, id",
        (since, until),
    ).fetchall()
    centres = _centres(view, np.array([row[-1] for row in rows], np.int64))
    documents = tuple(Catalogued(_info(*row[:-1]), centres.get(row[-1])) for row in rows)
    return CatalogueChanges(Mark(origin, until), documents, count, until == sequence)


def count_since(connection: sqlite3.Connection, sequence: int) -> int:
    """How many documents were written after it."""
    (count,) = connection.execute("SELECT count(*) FROM documents WHERE version > ?", (sequence,)).fetchone()
    return int(count)


def _info(
    doc_id: str, title: str, source: str, category: str | None, scope: str | None, metadata: str, chunks: int,
    characters: int, fingerprint: str, content: str, headings: str,
) -> DocumentInfo:  # fmt: skip
    labels = None if scope is None else tuple(json.loads(scope))
    return DocumentInfo(
        doc_id, title, source, category, labels, json.loads(metadata), chunks, characters, fingerprint, content,
        tuple(json.loads(headings)),
    )  # fmt: skip


def _centres(view: View, documents: NDArray[np.int64]) -> dict[int, NDArray[np.float32]]:
    """The mean vector of each of these documents, by its number: read from what is searched, a portion at a time."""
    found: dict[int, NDArray[np.float32]] = {}
    for start in range(0, documents.size, _PORTION):
        some = documents[start : start + _PORTION]
        wanted = np.zeros(int(max(some.max(), view.documents.max(initial=0))) + 1, np.bool_)
        wanted[some] = True
        for segment, span in view.parts():
            places = np.flatnonzero(wanted[view.documents[span]] & view.live[span])
            _add_means(found, view.documents[span][places], segment.vectors[places])
    return found


def _add_means(found: dict[int, NDArray[np.float32]], owners: NDArray[np.int64], vectors: NDArray[np.float32]) -> None:
    """Add the mean of each run of rows; no document lies in two segments, for it is written at once."""
    if owners.size:
        starts = np.flatnonzero(np.diff(owners, prepend=-1))
        sizes = np.diff(starts, append=owners.size).astype(np.float32)
        means = np.add.reduceat(vectors, starts, axis=0) / sizes[:, np.newaxis]
        found.update(zip(owners[starts].tolist(), means, strict=True))
