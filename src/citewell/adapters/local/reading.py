"""Reads documents and chunks out of the tables, within whatever transaction the caller holds.

It answers in values of the model and knows no index.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from citewell.adapters.local.faults import GARBLED, MENDED_BY_INGESTION, decoded
from citewell.errors import StoreCorrupt
from citewell.identity import find_identity
from citewell.model import (
    DocumentInfo,
    DocumentRecord,
    EmbedderIdentity,
    Locator,
    StoreBinding,
    StoredChunk,
    StoredDocument,
)
from citewell.model.making import maker

if TYPE_CHECKING:
    from numpy.typing import NDArray

WITHDRAWN = "!"
"""Before the fingerprint of a document that is not stored as it was written, so that the next ingestion renews it."""

_Properties = tuple[tuple[str, ...] | None, dict[str, object], tuple[str, ...]]
"""Labels, metadata, headings."""
_NONE: _Properties = (None, {}, ())

_NOWHERE = Locator()
_make_chunk = maker(StoredChunk)

Described = tuple[str, str, str, str | None, tuple[str, ...] | None, str]
"""What a document says of each of its chunks: its id, source, title, category, labels, and its metadata as JSON, of
which each chunk gets a mapping of its own."""

_CHUNKS = (
    "SELECT c.row, c.document, c.chunk_index, c.text, c.breadcrumb, c.span_start, c.span_end, c.page, c.line, c.url,"
    " c.digest FROM json_each(?) AS wanted JOIN chunks AS c ON c.row = wanted.value"
)
_DESCRIBED = (
    "SELECT d.id, d.doc_id, d.source, d.title, d.category, d.scope, d.metadata FROM json_each(?) AS wanted"
    " JOIN documents AS d ON d.id = wanted.value"
)
_MOST_DESCRIBED = 50_000
"""About 40 MB, as documents mostly are."""
_LONGEST_DESCRIBED = 1_000
"""Characters; what says more, such as metadata with an abstract, is read each time: many of it would fill memory."""


@decoded("a binding")
def read_binding(connection: sqlite3.Connection) -> StoreBinding | None:
    """What the store is bound to."""
    held = connection.execute("SELECT value FROM meta WHERE name = 'binding'").fetchone()[0]
    if held is None:
        return None
    binding = json.loads(held)
    embedder = binding["embedder"]
    prefixes = (embedder["prefixes"][0], embedder["prefixes"][1])
    identity = EmbedderIdentity(embedder["name"], embedder["dimensions"], embedder["fingerprint"], prefixes)
    return StoreBinding(identity, binding["analyzer"])


def as_json(binding: StoreBinding) -> str:
    """The binding as `read_binding` reads it."""
    embedder = binding.embedder
    return json.dumps(
        {
            "embedder": {
                "name": embedder.name,
                "dimensions": embedder.dimensions,
                "fingerprint": embedder.fingerprint,
                "prefixes": embedder.prefixes,
            },
            "analyzer": binding.analyzer,
        }
    )


def count(connection: sqlite3.Connection) -> tuple[int, int]:
    """How many documents and chunks there are."""
    documents, chunks = connection.execute("SELECT count(*), coalesce(sum(chunks), 0) FROM documents").fetchone()
    return documents, chunks


@decoded("a document")
def read_catalogue(connection: sqlite3.Connection) -> list[DocumentInfo]:
    """Every document, ordered by doc_id; one that is not stored as it was written bears a fingerprint of no source.

    That is one of which rows are missing, or whose labels, metadata or headings can't be read; it is shown without.
    """
    rows = connection.execute(
        "SELECT doc_id, title, source, category, chunks, characters, fingerprint, content_digest, scope, headings,"
        " metadata FROM documents ORDER BY doc_id"
    ).fetchall()
    lacking = _lacking(connection)
    try:
        metadata = _parsed([row[-1] for row in rows])
        properties = [(_labels(row[-3]), held, _headings(row[-2])) for row, held in zip(rows, metadata, strict=True)]
    except GARBLED:
        found = {row[0]: _readable(*row[-3:]) for row in rows}
        lacking |= {doc_id for doc_id, held in found.items() if held is None}
        properties = [held or _NONE for held in found.values()]
    return [
        DocumentInfo(
            doc_id, title, source, category, labels, held, chunks, characters,
            f"{WITHDRAWN}{fingerprint}" if doc_id in lacking else fingerprint, content, headings,
        )
        for (doc_id, title, source, category, chunks, characters, fingerprint, content, *_), (labels, held, headings)
        in zip(rows, properties, strict=True)
    ]  # fmt: skip


def _readable(scope: str | None, headings: str, metadata: str) -> _Properties | None:
    """What a document says of itself; None if any of it is damaged."""
    try:
        return properties_of(scope, headings, metadata)
    except GARBLED:
        return None


def properties_of(scope: str | None, headings: str, metadata: str) -> _Properties:
    """A document's labels, metadata and headings; raises one of GARBLED if they are damaged."""
    return _labels(scope), _parsed([metadata])[0], _headings(headings)


def _headings(held: str) -> tuple[str, ...]:
    found = json.loads(held)
    if not isinstance(found, list):
        raise TypeError("headings are no list")
    return tuple(found)


def _lacking(connection: sqlite3.Connection) -> set[str]:
    """Documents of which rows are missing; they are looked for only where the rows in all are not those in all."""
    held = "SELECT count(*), coalesce(sum(row), 0) FROM"
    chunks, features = (connection.execute(f"{held} {table}").fetchone() for table in ("chunks", "features"))
    wanted = connection.execute(
        "SELECT coalesce(sum(chunks), 0), coalesce(sum(chunks * (2 * first_row + chunks - 1) / 2), 0) FROM documents"
    ).fetchone()
    if chunks == features == wanted:
        return set()
    found = connection.execute(
        "SELECT doc_id FROM documents AS d"
        " WHERE chunks <> (SELECT count(*) FROM chunks WHERE row BETWEEN first_row AND first_row + d.chunks - 1)"
        " OR chunks <> (SELECT count(*) FROM features WHERE row BETWEEN first_row AND first_row + d.chunks - 1)"
    )
    return {doc_id for (doc_id,) in found}


@decoded("a document")
def read_document(connection: sqlite3.Connection, doc_id: str) -> StoredDocument | None:
    """The record, the version and the context digests of a document, blank where a row is missing; None without one.

    Labels, metadata or headings that can't be read are none, and the fingerprint is that of no source.
    """
    row = connection.execute(
        "SELECT version, first_row, chunks, title, source, category, scope, metadata, headings, fingerprint,"
        " content_digest FROM documents WHERE doc_id = ?",
        (doc_id,),
    ).fetchone()
    if row is None:
        return None
    version, first, chunks, title, source, category, scope, metadata, headings, fingerprint, content = row
    properties = _readable(scope, headings, metadata)
    if properties is None:  # it is written anew by the next ingestion, which must not fail over what can't be read
        properties, fingerprint = _NONE, f"{WITHDRAWN}{fingerprint}"
    record = DocumentRecord(doc_id, title, source, category, *properties, fingerprint, content)
    held = dict(
        connection.execute(
            "SELECT c.row, c.context_digest FROM chunks AS c JOIN features AS f ON f.row = c.row"
            " WHERE c.row BETWEEN ? AND ?",
            (first, first + chunks - 1),
        )
    )
    # A row that is missing must not move the others up: a Reuse names a vector by its place.
    return StoredDocument(record, version, tuple(held.get(first + index, "") for index in range(chunks)))


def read_holders(connection: sqlite3.Connection, content_digest: str) -> list[str]:
    """The documents with this content, ordered by doc_id."""
    found = connection.execute(
        "SELECT doc_id FROM documents WHERE content_digest = ? ORDER BY doc_id", (content_digest,)
    )
    return [doc_id for (doc_id,) in found]


@decoded("a vector")
def read_vectors(connection: sqlite3.Connection, doc_id: str) -> dict[str, NDArray[np.float32]]:
    """The vectors of a document by the context digest of their chunk."""
    rows = connection.execute(
        "SELECT c.context_digest, f.vector FROM documents AS d"
        " JOIN chunks AS c ON c.row BETWEEN d.first_row AND d.first_row + d.chunks - 1"
        " JOIN features AS f ON f.row = c.row WHERE d.doc_id = ?",
        (doc_id,),
    )
    return {digest: np.frombuffer(vector, dtype="<f4").astype(np.float32) for digest, vector in rows}


def rows_of(connection: sqlite3.Connection, keys: Iterable[str]) -> dict[str, int]:
    """The row of each of these evidence keys, as the keys were given; unknown ones are left out."""
    wanted = {key: identity for key in keys if (identity := find_identity(key)) is not None}
    names = dict.fromkeys(identity.doc_id for identity in wanted.values() if identity.doc_id is not None)
    held = {doc_id: (first, chunks) for doc_id, first, chunks in _places(connection, list(names))}
    rows = {}
    for key, identity in wanted.items():
        first, chunks = held.get(identity.doc_id, (0, 0))
        index = identity.chunk_index
        # Only the canonical spelling is the key of a chunk; anything else would come back under another name.
        if index is not None and index < chunks and identity.evidence_key == key:
            rows[key] = first + index
    return rows


@decoded("the place of a document")
def _places(connection: sqlite3.Connection, doc_ids: Sequence[str]) -> list[tuple[str | None, int, int]]:
    found: list[tuple[str | None, int, int]] = []
    known = [doc_id for doc_id in doc_ids if storable(doc_id)]
    for start in range(0, len(known), 500):
        some = known[start : start + 500]
        places = ",".join("?" * len(some))
        sql = f"SELECT doc_id, first_row, chunks FROM documents WHERE doc_id IN ({places})"  # noqa: S608 - placeholders only
        found += ((name, int(first), int(chunks)) for name, first, chunks in connection.execute(sql, some))
    return found


def storable(text: str) -> bool:
    """Whether the text has a UTF-8 form; one with a lone surrogate has none and can't be stored."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@decoded("a chunk")
def read_chunks(
    connection: sqlite3.Connection, keys: Mapping[int, str], known: dict[int, Described]
) -> dict[str, StoredChunk]:
    """The chunks of these rows, by evidence key.

    `keys` are those of the rows; `known` is what was read of documents in the transaction's era, and grows.
    """
    in_order = repr(sorted(keys))  # in which they lie in the file
    rows = connection.execute(_CHUNKS, (in_order,)).fetchall()
    described = _described(connection, [row[1] for row in rows], known)
    if not all(described):  # documents that went behind the engine's back: their chunks are left out
        rows = [row for row, document in zip(rows, described, strict=True) if document]
    documents = [document for document in described if document]
    chunks = {}
    for (row, _, index, text, breadcrumb, start, end, page, line, url, digest), document, metadata in zip(
        rows, documents, _parsed([document[-1] for document in documents]), strict=True
    ):
        key = keys[row]
        # A microsecond each; SQLite has no checksums, and evidence is what is cited.
        if hashlib.sha256(text.encode()).hexdigest() != digest:
            raise StoreCorrupt(f"{key} is not the text that was written", way_out=MENDED_BY_INGESTION)
        doc_id, source, title, category, labels, _ = document
        locator = _NOWHERE if page is line is url is None else _locator(page, line, url)
        chunks[key] = _make_chunk(
            key, doc_id, index, text, source, title, breadcrumb, category, labels, (start, end),
            locator, metadata, digest,
        )  # fmt: skip
    return chunks


def _described(
    connection: sqlite3.Connection, numbers: Sequence[int], known: dict[int, Described]
) -> list[Described | None]:
    """What each of these documents says, by its number; None for one that is not there."""
    held = [known.get(number) for number in numbers]
    if all(held):
        return held
    # Not those that are unknown by now: other readers of the era add to it meanwhile.
    missing: dict[object, None] = dict.fromkeys(
        number for number, document in zip(numbers, held, strict=True) if not document
    )
    unknown = [number for number in missing if isinstance(number, int)]  # damage may have left any value
    found = connection.execute(_DESCRIBED, (repr(unknown),)).fetchall()
    read: dict[int, Described] = {
        number: (doc_id, source, title, category, _labels(scope), metadata)
        for number, doc_id, source, title, category, scope, metadata in found
    }
    if len(known) > _MOST_DESCRIBED:
        known.clear()
    known |= {
        number: read[number] for number, *said in found if sum(map(len, filter(None, said))) <= _LONGEST_DESCRIBED
    }
    return [document or read.get(number) for number, document in zip(numbers, held, strict=True)]


def _parsed(texts: Sequence[str]) -> list[dict[str, object]]:
    """The mappings that these texts are the JSON of; parsed as one array, which takes a third of the time.

    A damaged text may make them more or fewer: the caller must not put them beside others without counting.
    """
    held = json.loads(f"[{','.join(texts)}]")
    if any(type(item) is not dict for item in held):
        raise ValueError("metadata is no mapping")
    return list(held)


def read_names(connection: sqlite3.Connection, documents: Sequence[int]) -> dict[int, str]:
    """The doc_id of each of these document numbers."""
    return dict(
        connection.execute(
            "SELECT d.id, d.doc_id FROM json_each(?) AS wanted JOIN documents AS d ON d.id = wanted.value",
            (json.dumps(list(documents)),),
        )
    )


@lru_cache(maxsize=4_096)
def _locator(page: int | None, line: int | None, url: str | None) -> Locator:
    return Locator(page, line, url)


@lru_cache(maxsize=4_096)
def _labels(scope: str | None) -> tuple[str, ...] | None:
    return None if scope is None else tuple(json.loads(scope))
