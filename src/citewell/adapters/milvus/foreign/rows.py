"""One row of a foreign collection -> the chunk that it is, by the mapping; identity by `citewell.identity` alone.

Pure: it knows neither the engine nor how rows are found.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from citewell.adapters.milvus.foreign.mapping import Entity, FieldMap, as_object, first_usable, follow, root
from citewell.identity import identify, normalize_id, normalize_index
from citewell.model import Locator, StoredChunk

PrimaryKey = int | str


@dataclass(frozen=True, slots=True)
class Row:
    """A row: its primary key, and the chunk that it is."""

    pk: PrimaryKey
    chunk: StoredChunk


class RowReader:
    """Reads rows of one collection.

    Args:
        fields: the mapping.
        primary: the name of the primary key.
        vectors: fields that are no metadata.
        absent: texts that mean "none" where a document id is read.
    """

    def __init__(
        self, fields: FieldMap, *, primary: str, vectors: tuple[str, ...] = (), absent: tuple[str, ...] = ()
    ) -> None:
        self._fields, self._primary, self._absent = fields, primary, frozenset(absent)
        holders = {root(path) for path in fields.of("metadata")}
        self._no_metadata = {primary, root(fields.one("text")), *vectors, *fields.hidden, *holders}

    def read(self, entity: Entity) -> Row:
        """The chunk of a row. What the mapping leads to and is of no use counts as missing, never as an error."""
        pk = entity[self._primary]
        if not isinstance(pk, int | str):
            raise TypeError(f"a primary key of type {type(pk).__name__}")
        return Row(pk, self._chunk(entity, pk))

    def _chunk(self, entity: Entity, pk: PrimaryKey) -> StoredChunk:
        text = _text(first_usable(entity, self._fields.of("text")))
        source, title = self._label(entity, "source"), self._label(entity, "title")
        breadcrumb = self._label(entity, "breadcrumb")
        metadata = self._metadata(entity)
        known = {"docId": self._doc_id(entity), "chunkIndex": self._index(entity), "metadata": self._own(metadata)}
        who = identify(known, vector_id=pk, source=source, title=title, breadcrumb=breadcrumb, text=text)
        return StoredChunk(
            evidence_key=who.evidence_key,
            doc_id=who.doc_id,
            chunk_index=who.chunk_index,
            text=text,
            source=source or (who.doc_id or ""),
            title=title,
            breadcrumb=breadcrumb,
            category=_category(first_usable(entity, self._fields.of("category"))),
            scope=_labels(first_usable(entity, self._fields.of("scope"))),
            span=self._span(entity),
            locator=Locator(
                self._count(entity, "page"), self._count(entity, "line"), self._label(entity, "url") or None
            ),
            metadata=metadata,
            digest=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
        )

    def _doc_id(self, entity: Entity) -> str | None:
        found = (normalize_id(follow(entity, path)) for path in self._fields.of("docId"))
        return next((name for name in found if name is not None and name not in self._absent), None)

    def _index(self, entity: Entity) -> int | None:
        found = (normalize_index(follow(entity, path)) for path in self._fields.of("chunkIndex"))
        return next((index for index in found if index is not None), None)

    def _own(self, metadata: Mapping[str, object]) -> Mapping[str, object]:
        """What the metadata itself says of document and index (ID-2), where the mapping leads to nothing.

        Without texts that mean "none".
        """
        return {
            name: value
            for name, value in metadata.items()
            if not (isinstance(value, str) and name in ("docId", "doc_id") and value in self._absent)
        }

    def _metadata(self, entity: Entity) -> dict[str, object]:
        found = {name: _plain(value) for name, value in entity.items() if name not in self._no_metadata}
        for path in self._fields.of("metadata"):
            found |= as_object(follow(entity, path)) or {}
        return {name: value for name, value in found.items() if name not in self._fields.hidden}

    def _label(self, entity: Entity, role: str) -> str:
        return _text(first_usable(entity, self._fields.of(role)))

    def _count(self, entity: Entity, role: str) -> int | None:
        return normalize_index(first_usable(entity, self._fields.of(role))) or None

    def _span(self, entity: Entity) -> tuple[int, int] | None:
        start = normalize_index(first_usable(entity, self._fields.of("start")))
        end = normalize_index(first_usable(entity, self._fields.of("end")))
        if start is None or (end is not None and end < start):
            return None
        return (start, start + len(_text(first_usable(entity, self._fields.of("text")))) if end is None else end)


def _plain(value: object) -> object:
    """As JSON has it; the lists of pymilvus are of its own kind."""
    if value is None or isinstance(value, str | int | float | bool | Mapping):
        return value
    return list(value) if isinstance(value, Iterable) else str(value)


def _text(value: object) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return " > ".join(_text(item) for item in value if _text(item))
    return value if isinstance(value, str) else (normalize_id(value) or "")


def _category(value: object) -> str | None:
    text = value if isinstance(value, str) else normalize_id(value)
    return text if text and text.strip() else None


def _labels(value: object) -> tuple[str, ...] | None:
    """Sorted labels; a text is one, a list has several; anything else is none, so that nobody with a scope sees it."""
    items = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    labels = {item if isinstance(item, str) else normalize_id(item) for item in items}
    return tuple(sorted(label for label in labels if label)) or None
