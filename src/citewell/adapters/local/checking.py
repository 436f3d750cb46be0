"""Compares the truth with itself and with everything derived from it, and puts right what follows from the truth.

The truth itself is never repaired by guessing: a document that is damaged there is named and marked, so that the next
ingestion of its source writes it anew.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from citewell.adapters.local.copies import copied, forget_copy, read_copy
from citewell.adapters.local.core import Core
from citewell.adapters.local.files import transaction
from citewell.adapters.local.loading import load
from citewell.adapters.local.segments import Segment
from citewell.adapters.local.truth import FILE, TABLES, faults, leftovers
from citewell.adapters.local.view import View
from citewell.adapters.local.writing import read_meta, remove_leftovers, withdraw
from citewell.errors import StoreCorrupt
from citewell.identity import format_key, parse_key
from citewell.model import Finding, VerifyReport

if TYPE_CHECKING:
    from citewell.adapters.local.segments import Int64s

_MOST_FINDINGS = 1_000


def verify(core: Core, *, repair: bool) -> VerifyReport:
    """Check all; with `repair`, make what is derived anew where it is wrong, and mark damaged documents for renewal.

    What is derived is compared with a sound truth only.
    """
    with core.reading() as connection:
        truth = list(islice(faults(connection), _MOST_FINDINGS))
    if repair and truth:
        truth = _mended(core, truth)
    with core.reading() as connection:
        chunks = connection.execute("SELECT coalesce(sum(chunks), 0) FROM documents").fetchone()[0]
        sound = all(found.repaired for found in truth)
        derived = _derived(core, connection) if sound else []
    if repair and derived and all(found.where != FILE for found in derived):
        with core.writing() as connection:
            core.index.rebuild(connection, read_meta(connection, "sequence"))
        derived = [replace(found, repaired=True) for found in derived]
    return VerifyReport(chunks, (*truth, *derived, *_in_copy(core, repair=repair), *_lost(core, repair=repair)))


def _lost(core: Core, *, repair: bool) -> list[Finding]:
    """Commits that went with their log. Nothing brings them back but their sources; `repair` ends the complaint."""
    if not core.doubt:
        return []
    found = Finding("damaged", f"{FILE}-wal", detail=core.doubt)
    if repair:
        with core.locked(core.lock_timeout_s):
            core.accept_losses()
    return [found]


def _in_copy(core: Core, *, repair: bool) -> list[Finding]:
    """Damage of the kept copy of the catalogue; with `repair` it is let go of, and made anew when it is next wanted."""
    with core.reading() as connection:
        if copied(connection) is None or read_copy(connection) is not None:
            return []
    if repair:
        with core.writing() as connection, transaction(connection):
            forget_copy(connection)
    return [Finding("damaged", f"{FILE}: copy of the catalogue", detail="a part is lost or changed", repaired=repair)]


def _derived(core: Core, connection: sqlite3.Connection) -> list[Finding]:
    """What is wrong with what is derived; if it can't be derived at all, the file itself is damaged."""
    try:
        return list(islice(_in_index(core, connection), _MOST_FINDINGS))
    except StoreCorrupt as error:
        return [Finding("damaged", FILE, detail=error.message)]


def _mended(core: Core, truth: Sequence[Finding]) -> list[Finding]:
    """The findings after rows of no document were deleted; nothing is touched where the file itself is damaged."""
    if any(found.kind == "damaged" and not found.evidence_key for found in truth):
        return list(truth)
    damaged = [parse_key(found.evidence_key).doc_id or "" for found in truth if found.kind == "damaged"]
    with core.writing() as connection:
        with transaction(connection):
            withdraw(connection, list(dict.fromkeys(damaged)))
            core.dictionary.forget()
            if len(damaged) < len(truth):
                remove_leftovers(connection, sorted({row for table in TABLES for row in leftovers(connection, table)}))
        core.settle(connection)
    return [replace(found, repaired=found.kind == "orphaned") for found in truth]


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
