"""What a store tells of itself: catalogue, changes to it, one document's stored form, figures; it writes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from citewell.adapters.milvus import bodies
from citewell.adapters.milvus.catalogue import Catalogue, Row, document_id
from citewell.adapters.milvus.schema import MAX_WIDTH
from citewell.model import DocumentInfo, StoredDocument
from citewell.model.catalogue import CatalogueChanges, Catalogued, Mark

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from citewell.adapters.milvus.client import Server
    from citewell.adapters.milvus.joining import Bound
    from citewell.adapters.milvus.state import State

_PORTION = 1_000
"""How many documents are read at once for who keeps a copy of the catalogue."""


def documents(bound: Bound) -> list[DocumentInfo]:
    """The catalogue, ordered by doc_id."""
    rows = bound.catalogue.of_kind("document")
    return sorted((bodies.read_info(row.body, row.number) for row in rows), key=lambda info: info.doc_id)


def holders(bound: Bound, content_digest: str) -> list[str]:
    """The documents with this content, ordered by doc_id."""
    return sorted(bodies.read_record(row.body).doc_id for row in bound.catalogue.with_content(content_digest))


def changes(bound: Bound, state: State, since: Mark | None) -> CatalogueChanges:
    """A portion of the documents written after the mark, or ever; a mark of another origin is none."""
    head = state.head
    after = since.sequence if since is not None and since.origin is state else 0
    until, rows = _portion(bound.catalogue, after, head.sequence)
    told = tuple(Catalogued(bodies.read_info(row.body, row.number), row.centre) for row in rows)
    return CatalogueChanges(Mark(state, until), told, head.documents, until >= head.sequence)


def _portion(catalogue: Catalogue, after: int, sequence: int) -> tuple[int, list[Row]]:
    """Some of the documents written since, and the sequence up to which they are all of them."""
    rows: list[Row] = []
    width = _PORTION
    while after < sequence and len(rows) < _PORTION:
        until = min(after + width, sequence)
        rows += catalogue.written(after, until)
        after, width = until, min(2 * width, MAX_WIDTH)
    return after, rows


def stored(bound: Bound, doc_id: str) -> StoredDocument | None:
    """What the planner needs; a chunk whose row is gone has a blank digest, so that it is written again."""
    row = _row(bound, doc_id)
    if row is None:
        return None
    held = bound.chunks.contexts(doc_id, row.version, row.number)
    digests = tuple(held.get(index, "") for index in range(row.number))
    return StoredDocument(bodies.read_record(row.body), row.version, digests)


def vectors(bound: Bound, doc_id: str) -> Mapping[str, NDArray[np.float32]]:
    """The stored vectors of a document by the context digest of their chunk; empty if there is none."""
    row = _row(bound, doc_id)
    if row is None:
        return {}
    held = bound.chunks.vectors(doc_id, row.version, row.number)
    digests = bound.chunks.contexts(doc_id, row.version, row.number)
    return {digest: held[index] for index, digest in digests.items() if index in held}


def details(server: Server, bound: Bound | None) -> Iterator[tuple[str, str | int | float]]:
    """What stands behind each path."""
    yield "milvus", server.text
    if bound is not None:
        yield "dense", "FLAT, exact" if bound.how == "exact" else "HNSW, approximate"
    if bound is not None and bound.derived is not None:
        why = "as store.lexical says" if server.has_bm25 else "this Milvus has no BM25 (2.5 and later have)"
        yield "lexical", f"an index in this process's memory: {why}"
        yield "lexical rows in memory", bound.derived.size
    elif bound is not None:
        yield "lexical", "native BM25" + (", statistics per segment" if server.is_lite else "")


def _row(bound: Bound, doc_id: str) -> Row | None:
    id_ = document_id(doc_id)
    row = bound.catalogue.get([id_]).get(id_)
    return row if row is not None and row.kind == "document" else None
