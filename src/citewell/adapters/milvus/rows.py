"""One new version of a document as the rows that Milvus takes; what does not fit is refused before anything is written.

It knows no collection and no other version.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from citewell.adapters.milvus.bodies import chunk_body, parts_of, record_body
from citewell.adapters.milvus.catalogue import Row, document_id
from citewell.adapters.milvus.chunks import primary_key
from citewell.adapters.milvus.filters import marks, tenant, token
from citewell.adapters.milvus.schema import MAX_FIELD_BYTES, MAX_ID_BYTES, MAX_ITEMS
from citewell.adapters.milvus.terms import words
from citewell.checks import shown
from citewell.errors import InvalidRequest
from citewell.identity import format_key

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from citewell.model import Chunk, DocumentChange, DocumentRecord


@dataclass(frozen=True, slots=True)
class NewVersion:
    """What is written for one document.

    Attributes:
        chunks: rows of the collection of chunks.
        parts: what comes behind the first part of long bodies, by the primary key of their chunk.
        document: the row of the catalogue that makes the version the current one.
    """

    chunks: list[dict[str, object]]
    parts: dict[str, list[str]]
    document: Row


def new_version(change: DocumentChange, vectors: Sequence[NDArray[np.float32]], version: int) -> NewVersion:
    """The rows of a change; `vectors` are those of its chunks, none left to be reused.

    Raises:
        InvalidRequest: something is larger than Milvus holds, or a text holds half a character.
    """
    record = change.document
    if sum(len(part.encode()) for part in parts_of(record.doc_id)) > MAX_ID_BYTES:
        raise InvalidRequest(
            f"the document id {shown(record.doc_id)} is longer than {MAX_ID_BYTES} bytes",
            way_out="Give it a shorter one.",
        )
    shared = _shared(record, version)
    chunks: list[dict[str, object]] = []
    parts: dict[str, list[str]] = {}
    for chunk, vector in zip(change.chunks, vectors, strict=True):
        key = format_key(record.doc_id, chunk.chunk_index)
        first, *rest = parts_of(chunk_body(record, chunk))
        own = {"id": primary_key(key, version), "evidence": token(key), "body": first, "more": len(rest)}
        chunks.append(own | shared | _of_chunk(chunk, vector, key))
        if rest:
            parts[primary_key(key, version)] = rest
    characters = sum(len(chunk.text) for chunk in change.chunks)
    body = record_body(record, characters, parts=bool(parts))
    if len(parts_of(body)) > 1:
        body = record_body(record, characters, parts=True)
    centre: NDArray[np.float32] = np.stack(vectors).mean(axis=0, dtype=np.float32)
    id_, content = document_id(record.doc_id), record.content_digest
    return NewVersion(chunks, parts, Row(id_, "document", version, len(chunks), body, content, centre))


def _shared(record: DocumentRecord, version: int) -> dict[str, object]:
    """What all chunks of a document have in common."""
    labels = [token(label) for label in record.scope or ()]
    found = marks(record.metadata)
    for name, items in (("labels", labels), ("metadata values", found)):
        if len(items) > MAX_ITEMS:
            raise InvalidRequest(
                f"the document {record.doc_id!r} has {len(items)} {name}, and Milvus holds {MAX_ITEMS}",
                way_out="Give it fewer.",
            )
    return {
        "document": token(record.doc_id),
        "tenant": tenant(record.scope),
        "category": "" if record.category is None else token("=" + record.category),
        "labels": labels,
        "marks": found,
        "version": version,
    }


def _of_chunk(chunk: Chunk, vector: NDArray[np.float32], key: str) -> dict[str, object]:
    text = words(chunk.terms)
    if len(text) > MAX_FIELD_BYTES:  # ASCII alone
        raise InvalidRequest(
            f"the terms of {key!r} take {len(text)} bytes, and Milvus holds {MAX_FIELD_BYTES}",
            way_out="Ingest with smaller chunks.",
        )
    return {
        "position": chunk.chunk_index,
        "context": token(chunk.context_digest),
        "terms": text,
        "vector": vector,
    }


def checked(vector: object, dimensions: int, key: str) -> NDArray[np.float32]:
    """The vector as float32; Lite would take one with a NaN in it.

    Raises:
        InvalidRequest: it is none, of another length, or holds a value that is no finite number.
    """
    try:
        array = np.array(vector, dtype=np.float32)
    except (ValueError, TypeError) as error:
        raise InvalidRequest(f"the vector of {key!r} is no array of numbers: {error}", way_out=_CHECK) from error
    if array.shape != (dimensions,) or not np.isfinite(array).all():
        raise InvalidRequest(
            f"the vector of {key!r} has the shape {array.shape} or a value that is no finite number; the store holds"
            f" {dimensions} dimensions",
            way_out=_CHECK,
        )
    return array


_CHECK = "Check the embedder."
