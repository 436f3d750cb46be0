"""Compares what the catalogue says with the rows that are there, and puts right what differs (`verify`).

Milvus Lite opens a store whose files were damaged with rows missing and says nothing, so rows are counted. It knows no
snapshot; callers hold the turn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from citewell.adapters.milvus.bodies import read_record, without_fingerprint
from citewell.adapters.milvus.catalogue import HEAD, Row, part_id
from citewell.model import Finding, VerifyReport

if TYPE_CHECKING:
    from citewell.adapters.milvus.catalogue import Catalogue
    from citewell.adapters.milvus.chunks import Chunks
    from citewell.adapters.milvus.state import State


def verify(chunks: Chunks, catalogue: Catalogue, state: State, *, repair: bool) -> VerifyReport:
    """Compare; with `repair`, remove rows that belong to no document, and let the next ingestion write what is missing.

    A document of which chunks are missing keeps those that are there, and loses its fingerprint: the next ingestion
    takes it for changed and writes it whole. Nothing that can be read is removed; a chunk whose text lacks its end
    can't be.
    """
    rows = [(str(row["id"]), int(row["version"]), int(row["more"])) for row in chunks.rows("", ["version", "more"])]
    parts = catalogue.part_ids()
    cut = {id_ for id_, version, more in rows if not _has_parts(id_, version, more, parts)}
    held = Counter(version for id_, version, _ in rows if id_ not in cut)
    documents = list(catalogue.of_kind("document"))
    known = {row.version for row in documents}
    strangers = sorted({version for _, version, _ in rows} - state.live(known))
    short = [row for row in documents if held[row.version] < row.number]
    total = sum(min(held[row.version], row.number) for row in documents)
    findings = [*_missing(short, held, repaired=repair), *_orphaned(strangers, held, repaired=repair)]
    if repair and findings:
        chunks.remove(f"version in {strangers}") if strangers else None
        chunks.remove_ids(sorted(cut))
        catalogue.put([replace(row, number=held[row.version], body=without_fingerprint(row.body)) for row in short])
    if (len(documents), total) != (state.head.documents, state.head.chunks):
        counted = (
            f"counts {state.head.documents} documents and {state.head.chunks} chunks, of {len(documents)} and {total}"
        )
        if not short:
            findings.append(Finding("stale", "the head of the catalogue", "", counted, repaired=repair))
        if repair:
            _recount(catalogue, state, len(documents), total)
    return VerifyReport(total, tuple(findings))


def _has_parts(id_: str, version: int, more: int, parts: set[str]) -> bool:
    """Whether all is there that lies behind the first part of a chunk's body."""
    return all(part_id(id_, version, number) in parts for number in range(1, more + 1))


def _missing(short: list[Row], held: Counter[int], *, repaired: bool) -> Iterator[Finding]:
    for row in short:
        doc_id = read_record(row.body).doc_id
        detail = f"{row.number - held[row.version]} of {row.number} chunks of {doc_id!r} are gone; ingest it again"
        yield Finding("missing", "the collection of chunks", "", detail, repaired=repaired)


def _orphaned(strangers: list[int], held: Counter[int], *, repaired: bool) -> Iterator[Finding]:
    for version in strangers:
        detail = f"{held[version]} rows of version {version}, which no document has"
        yield Finding("orphaned", "the collection of chunks", "", detail, repaired=repaired)


def _recount(catalogue: Catalogue, state: State, documents: int, chunks: int) -> None:
    head = replace(state.head, documents=documents, chunks=chunks)
    catalogue.put([Row(HEAD, "meta", head.sequence, head.chunks, head.body())])
    state.moved(head)
