"""Compares the truth with itself and with everything derived from it, and makes the derived anew where that is asked.

The truth itself is never repaired by guessing: what is damaged there is named, so that its document can be ingested
again.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from citewell.adapters.local.core import Core
from citewell.adapters.local.loading import load
from citewell.adapters.local.segments import Segment
from citewell.adapters.local.view import View
from citewell.adapters.local.writing import read_meta
from citewell.identity import format_key
from citewell.model import Finding, VerifyReport

if TYPE_CHECKING:
    from citewell.adapters.local.segments import Int64s

_MOST_FINDINGS = 1_000


def verify(core: Core, *, repair: bool) -> VerifyReport:
    """Check all; with `repair`, and only if something derived is wrong, make what is derived anew."""
    with core.reading() as connection:
        chunks = connection.execute("SELECT coalesce(sum(chunks), 0) FROM documents").fetchone()[0]
        truth = list(_in_truth(connection))[:_MOST_FINDINGS]
        derived = [] if truth else list(_in_index(core, connection))[:_MOST_FINDINGS]
    if repair and derived:
        with core.writing() as connection:
            core.index.rebuild(connection, read_meta(connection, "sequence"))
        derived = [
            Finding(found.kind, found.where, found.evidence_key, found.detail, repaired=True) for found in derived
        ]
    return VerifyReport(chunks, (*truth, *derived))


def _in_truth(connection: sqlite3.Connection) -> Iterator[Finding]:
    """What is wrong within the tables; the first that can't be read ends the search."""
    try:
        for (said,) in connection.execute("PRAGMA quick_check(20)"):
            if said != "ok":
                yield Finding("damaged", "citewell.db", detail=str(said))
        yield from _counted(connection)
        yield from _digested(connection)
    except sqlite3.DatabaseError as error:
        yield Finding("damaged", "citewell.db", detail=str(error))


def _digested(connection: sqlite3.Connection) -> Iterator[Finding]:
    """Chunks whose text is not what was written."""
    for doc_id, index, text, digest in connection.execute(
        "SELECT d.doc_id, c.chunk_index, c.text, c.digest FROM documents AS d"
        " JOIN chunks AS c ON c.row BETWEEN d.first_row AND d.first_row + d.chunks - 1 ORDER BY d.doc_id, c.row"
    ):
        if hashlib.sha256(text.encode()).hexdigest() != digest:
            yield Finding("damaged", "citewell.db", format_key(doc_id, index), "its text does not match its digest")


def _counted(connection: sqlite3.Connection) -> Iterator[Finding]:
    """Documents of which chunks or features are missing, and chunks or features of no document."""
    for table in ("chunks", "features"):
        for doc_id, chunks, found in connection.execute(
            f"SELECT doc_id, chunks, (SELECT count(*) FROM {table} WHERE row BETWEEN first_row AND"  # noqa: S608 - a constant
            " first_row + chunks - 1) AS found FROM documents WHERE found <> chunks ORDER BY doc_id"
        ):
            detail = f"{chunks - found} of its {chunks} rows are missing in {table}"
            yield Finding("damaged", "citewell.db", format_key(doc_id, 0), detail)
        rows, held = connection.execute(
            f"SELECT (SELECT count(*) FROM {table}), (SELECT coalesce(sum(chunks), 0) FROM documents)"  # noqa: S608 - a constant
        ).fetchone()
        if rows > held:
            yield Finding("damaged", "citewell.db", detail=f"{rows - held} rows of {table} belong to no document")


def _in_index(core: Core, connection: sqlite3.Connection) -> Iterator[Finding]:
    """What the files and the view of this process say otherwise than the truth."""
    kept = core.shelf.segments(thorough=True)
    for damage in core.shelf.damaged:
        yield Finding("damaged", f"index/{damage.partition(':')[0]}", detail=damage.partition(": ")[2])
    sequence = read_meta(connection, "sequence")
    anew = load(connection, sequence, ())
    keys = _Keys(connection)
    for segment in kept:
        yield from _compared(segment, anew, keys, f"index/{segment.name}")
    if core.index.sequence >= 0:
        view = core.index.view(connection, sequence)
        yield from _listed(view, anew, keys)
        for segment in view.segments:
            yield from _compared(segment, anew, keys, "index in memory")


class _Keys:
    """Evidence keys by row, for findings."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def of(self, row: int) -> str:
        """The evidence key of a stored row; empty if the row is not stored."""
        found = self._connection.execute(
            "SELECT d.doc_id, c.chunk_index FROM chunks AS c JOIN documents AS d ON d.id = c.document WHERE c.row = ?",
            (row,),
        ).fetchone()
        return format_key(*found) if found else ""


def _listed(view: View, anew: View, keys: _Keys) -> Iterator[Finding]:
    """Rows that the view lacks, or holds alone."""
    for row in np.setdiff1d(anew.rows, view.rows[view.live]).tolist():
        yield Finding("missing", "index in memory", keys.of(row))
    for row in np.setdiff1d(view.rows[view.live], anew.rows).tolist():
        yield Finding("orphaned", "index in memory", detail=f"row {row}")


def _compared(segment: Segment, anew: View, keys: _Keys, where: str) -> Iterator[Finding]:
    """Stored rows whose vector or terms the segment has otherwise."""
    for truth, _ in anew.parts():
        _, here, there = np.intersect1d(segment.rows, truth.rows, assume_unique=True, return_indices=True)
        differs = (segment.vectors[here] != truth.vectors[there]).any(axis=1)
        differs |= segment.lengths[here] != truth.lengths[there]
        differs |= _digests(segment, here) != _digests(truth, there)
        for row in segment.rows[here[differs]].tolist():
            yield Finding("stale", where, keys.of(row), "its vector or its terms differ from the stored ones")


def _digests(segment: Segment, places: Int64s) -> Int64s:
    """A number per place that depends on its terms and their counts, whatever their order."""
    postings = segment.postings
    mixed = (postings.spread().astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    mixed *= postings.counts.astype(np.uint64) * np.uint64(2) + np.uint64(1)
    sums = np.zeros(segment.size, dtype=np.uint64)
    np.add.at(sums, postings.places, mixed)
    return sums[places].view(np.int64)
