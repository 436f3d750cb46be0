"""Values as JSON that fits Milvus's fields: chunks, document records, bindings; what is too long goes on in parts.

A VARCHAR holds 65,535 bytes on a server (as many characters on Lite). A longer text is cut; its rest lies in the
catalogue. It knows no collection.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from citewell.adapters.milvus.schema import MAX_FIELD_BYTES
from citewell.errors import InvalidRequest, StoreCorrupt
from citewell.identity import format_key
from citewell.model import (
    Chunk,
    DocumentInfo,
    DocumentRecord,
    EmbedderIdentity,
    Locator,
    StoreBinding,
    StoredChunk,
)


def parts_of(text: str) -> list[str]:
    """The text in parts of at most 65,535 bytes of UTF-8 each; at least one.

    Raises:
        InvalidRequest: it holds half a character (a lone surrogate), which no UTF-8 has.
    """
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequest(f"a text holds half a character: {error}", way_out="Clean it first.") from error
    parts: list[str] = []
    start = 0
    while start < len(data) or not parts:
        end = min(start + MAX_FIELD_BYTES, len(data))
        while end < len(data) and data[end] & 0xC0 == 0x80:  # never within a character
            end -= 1
        parts.append(data[start:end].decode())
        start = end
    return parts


def to_json(value: object) -> str:
    """Compact JSON, its characters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Let what does not have the form in which it was written come out as damage, by name."""
    try:
        yield
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise StoreCorrupt(
            f"{what} can't be read: {type(error).__name__}: {error}",
            way_out="Restore the store from a backup, or ingest the documents into a new one; keep it until then.",
        ) from error


def chunk_body(record: DocumentRecord, chunk: Chunk) -> str:
    """All that a search hands out of a chunk."""
    return to_json(
        {
            "document": record.doc_id,
            "index": chunk.chunk_index,
            "text": chunk.text,
            "source": record.source,
            "title": record.title,
            "breadcrumb": chunk.breadcrumb,
            "category": record.category,
            "scope": record.scope,
            "span": chunk.span,
            "place": chunk.locator.to_dict(),
            "metadata": dict(record.metadata),
            "digest": chunk.digest,
        }
    )


def read_chunk(key: str, body: str) -> StoredChunk:
    """The inverse of `chunk_body`, for the chunk with this evidence key."""
    with reading(f"the chunk {key!r}"):
        held: dict[str, Any] = json.loads(body)
        return StoredChunk(
            evidence_key=key,
            doc_id=held["document"],
            chunk_index=held["index"],
            text=held["text"],
            source=held["source"],
            title=held["title"],
            breadcrumb=held["breadcrumb"],
            category=held["category"],
            scope=_labels(held["scope"]),
            span=(held["span"][0], held["span"][1]),
            locator=Locator(**held["place"]),
            metadata=held["metadata"],
            digest=held["digest"],
        )


_RECORD = re.compile(r'\{"document":("(?:[^"\\]|\\.)*"),')


def key_in_record(body: str) -> str:
    """The document id in the first part of a record; blank if there is none."""
    found = _RECORD.match(body)
    return str(json.loads(found[1])) if found else ""


_DOCUMENT = re.compile(r'\{"document":("(?:[^"\\]|\\.)*"),"index":(\d+),')


def key_in(body: str) -> str:
    """The evidence key in the first part of a chunk's body."""
    found = _DOCUMENT.match(body)
    if found is None:
        raise StoreCorrupt("a chunk's body does not begin with its document", way_out="Run `citewell verify`.")
    return format_key(json.loads(found[1]), int(found[2]))


def record_body(record: DocumentRecord, characters: int, *, parts: bool) -> str:
    """A document without its chunks; `parts`: whether anything of it or of them lies in parts."""
    return to_json(
        {
            "document": record.doc_id,
            "title": record.title,
            "source": record.source,
            "category": record.category,
            "scope": record.scope,
            "metadata": dict(record.metadata),
            "headings": record.headings,
            "fingerprint": record.fingerprint,
            "content": record.content_digest,
            "characters": characters,
            "parts": parts,
        }
    )


def has_parts(body: str) -> bool:
    """What `record_body` was told."""
    with reading("a document's record"):
        return bool(json.loads(body)["parts"])


def read_record(body: str) -> DocumentRecord:
    """The inverse of `record_body`."""
    with reading("a document's record"):
        held: dict[str, Any] = json.loads(body)
        return DocumentRecord(
            doc_id=held["document"],
            title=held["title"],
            source=held["source"],
            category=held["category"],
            scope=_labels(held["scope"]),
            metadata=held["metadata"],
            headings=tuple(held["headings"]),
            fingerprint=held["fingerprint"],
            content_digest=held["content"],
        )


def read_info(body: str, chunks: int) -> DocumentInfo:
    """A row of the catalogue."""
    record = read_record(body)
    with reading(f"the record of {record.doc_id!r}"):
        characters = int(json.loads(body)["characters"])
    return DocumentInfo(
        doc_id=record.doc_id,
        title=record.title,
        source=record.source,
        category=record.category,
        scope=record.scope,
        metadata=record.metadata,
        chunks=chunks,
        characters=characters,
        fingerprint=record.fingerprint,
        content_digest=record.content_digest,
        headings=record.headings,
    )


def without_fingerprint(body: str) -> str:
    """The same record, which the next ingestion takes for a changed one."""
    held: dict[str, Any] = json.loads(body)
    return to_json(held | {"fingerprint": ""})


def binding_body(binding: StoreBinding, schema: int) -> str:
    """What the contents depend on, the version of the schema included."""
    embedder = binding.embedder
    return to_json(
        {
            "schema": schema,
            "analyzer": binding.analyzer,
            "name": embedder.name,
            "dimensions": embedder.dimensions,
            "fingerprint": embedder.fingerprint,
            "prefixes": embedder.prefixes,
        }
    )


def read_binding(body: str) -> tuple[StoreBinding, int]:
    """The binding and the version of the schema."""
    with reading("what the store was filled with (its binding)"):
        held: dict[str, Any] = json.loads(body)
        prefixes = (str(held["prefixes"][0]), str(held["prefixes"][1]))
        embedder = EmbedderIdentity(held["name"], held["dimensions"], held["fingerprint"], prefixes)
        return StoreBinding(embedder, held["analyzer"]), int(held["schema"])


def _labels(labels: list[str] | None) -> tuple[str, ...] | None:
    return None if labels is None else tuple(labels)
