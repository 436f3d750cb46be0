"""What `citewell attach` looks at before anything is recorded: the schema, a few rows, the embedder.

A mapping is checked against the schema AND against what rows really hold; an error names the field and those that there
are. It writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from citewell.adapters.milvus.client import Client
from citewell.adapters.milvus.foreign.attachment import Attachment, check_there, check_uri
from citewell.adapters.milvus.foreign.collection import Collection, vector_of
from citewell.adapters.milvus.foreign.mapping import FieldMap, as_object, first_usable, follow, root
from citewell.adapters.milvus.foreign.presets import Preset, detected, preset_named
from citewell.adapters.milvus.foreign.rows import RowReader
from citewell.adapters.milvus.foreign.schema import Schema, read_schema
from citewell.adapters.milvus.foreign.similarity import are_unit
from citewell.errors import EmbedderMismatch, InvalidRequest
from citewell.ports import Embedder, embedder_identity

if TYPE_CHECKING:
    from citewell.adapters.milvus.foreign.mapping import Entity

_SAMPLE = 100
_COMPARED = 5
_ALIKE = 0.6
"""The least median cosine between stored vectors and the embedder's own of the same texts that raises no doubt."""
_METRICS = ("COSINE", "IP", "L2")
_USUAL_METADATA = ("metadata", "meta")


@dataclass(frozen=True, slots=True)
class Look:
    """What was found: the attachment to record, how many rows there are, and what a person should know."""

    attachment: Attachment
    rows: int
    notes: tuple[str, ...]


def inspect(
    uri: str,
    collection: str,
    chosen: FieldMap,
    embedder: Embedder,
    *,
    preset: str = "",
    token: str | None = None,
    timeout_s: float = 10.0,
) -> Look:
    """Look at a collection and decide what its fields are.

    Args:
        uri: of the Milvus.
        collection: its name.
        chosen: what the caller maps; wins over the preset.
        embedder: the one that filled the collection.
        preset: by name; empty = the one that the schema fits exactly, if there is one.
        token: for the server.
        timeout_s: of each call.

    Raises:
        InvalidRequest: a field, a role, a preset or the collection is not there; names it and what there is.
        EmbedderMismatch: the embedder's vectors have another dimension.
        StoreError: the Milvus can't be used.
    """
    where = check_uri(uri)
    check_there(where)
    client = Client(where, token=token, timeout_s=timeout_s)
    try:
        schema = read_schema(client, collection)
        return _Inspection(client, schema, embedder).look(where, chosen, preset)
    finally:
        client.close()


def check_fields(schema: Schema, fields: FieldMap) -> None:
    """Every path begins with a field that is there, and the text and the vectors are of their kinds.

    Raises:
        InvalidRequest: names the field and those that there are.
    """
    for role, paths in fields.paths.items():
        for path in paths:
            if root(path) not in schema.fields and not schema.is_dynamic:
                raise _no_field(schema, role, path)
    vector = schema.fields.get(fields.one("vector"))
    if vector is None or vector.kind != "vector":
        said = "is no field" if vector is None else f"is {vector.type_name}"
        raise InvalidRequest(
            f"vector={fields.one('vector')} {said} of {schema.collection!r}; a vector is a FLOAT_VECTOR",
            way_out=f"It has: {schema.names}.",
        )
    text = schema.fields.get(root(fields.one("text")))
    if text is not None and text.kind not in ("text", "json"):
        raise InvalidRequest(
            f"text={fields.one('text')} is {text.type_name}, which holds no text", way_out=f"It has: {schema.names}."
        )
    for name in fields.of("sparse"):
        if name not in schema.bm25:
            raise InvalidRequest(
                f"sparse={name} is no BM25 field that the engine makes of a text, so no query can be put to it",
                way_out=f"It has: {', '.join(schema.bm25)}." if schema.bm25 else "Leave it out: words are derived.",
            )


def _no_field(schema: Schema, role: str, path: str) -> InvalidRequest:
    return InvalidRequest(
        f"{role}={path}: the collection {schema.collection!r} has no field {root(path)!r}",
        way_out=f"It has: {schema.names}.",
    )


class _Inspection:
    def __init__(self, client: Client, schema: Schema, embedder: Embedder) -> None:
        self._client, self._schema, self._embedder = client, schema, embedder
        self._notes: list[str] = []

    def look(self, uri: str, chosen: FieldMap, preset_name: str) -> Look:
        preset = self._preset(chosen, preset_name)
        vector = self._vector(chosen, preset)
        collection = Collection(self._client, self._schema, vector)
        metric = self._metric(vector)
        self._check_dimensions(vector)
        collection.load()
        sample = collection.sample(_SAMPLE)
        fields = self._fields(chosen, preset, vector, sample)
        check_fields(self._schema, fields)
        self._check_chosen(chosen, sample)
        self._remark(fields, sample)
        unit = are_unit(np.array([vector_of(row, vector) for row in sample])) if sample else True
        self._compare(fields, vector, sample, preset.absent if preset else ())
        attachment = Attachment(
            uri=uri,
            collection=self._schema.collection,
            metric=metric,
            unit=unit,
            fields=fields,
            embedder=embedder_identity(self._embedder),
            absent=preset.absent if preset else (),
            json_text=self._json_text(sample),
            preset=preset.name if preset else "",
        )
        return Look(attachment, collection.count(), tuple(self._notes))

    def _preset(self, chosen: FieldMap, name: str) -> Preset | None:
        if name:
            return preset_named(name)
        found = detected(self._schema)
        if found is not None:
            self._notes.append(f"the fields are those of {found.name}; its preset is used")
        elif not chosen.of("text"):
            raise InvalidRequest(
                f"the fields of {self._schema.collection!r} are those of no known tool, and none is mapped to text",
                way_out=f"Give --map text=FIELD. It has: {self._schema.names}.",
            )
        return found

    def _vector(self, chosen: FieldMap, preset: Preset | None) -> str:
        named = chosen.of("vector") or (preset.fields.of("vector") if preset else ())
        there = self._schema.of_kind("vector")
        if named:
            if named[0] not in there:
                raise _no_field(self._schema, "vector", named[0])
            return named[0]
        if len(there) != 1:
            raise InvalidRequest(
                f"{self._schema.collection!r} has {len(there)} fields of type FLOAT_VECTOR, and one is needed",
                way_out=f"Give --map vector=FIELD. It has: {self._schema.names}.",
            )
        return there[0]

    def _metric(self, vector: str) -> str:
        index = self._schema.indexes.get(vector)
        if index is None or index.metric not in _METRICS:
            raise InvalidRequest(
                f"{vector!r} of {self._schema.collection!r} "
                + ("has no index" if index is None else f"is compared by {index.metric}"),
                way_out=f"It needs an index by one of {', '.join(_METRICS)}.",
            )
        return index.metric

    def _check_dimensions(self, vector: str) -> None:
        dimensions, own = self._schema.fields[vector].dimensions, self._embedder.dimensions
        if dimensions != own:
            raise EmbedderMismatch(
                f"{vector!r} of {self._schema.collection!r} holds vectors of {dimensions} dimensions, and the embedder"
                f" {self._embedder.name} makes such of {own}",
                way_out="Set embedder.name and embedder.url to the model that filled the collection.",
            )

    def _fields(self, chosen: FieldMap, preset: Preset | None, vector: str, sample: Sequence[Entity]) -> FieldMap:
        known = FieldMap({"vector": (vector,)})
        metadata = self._metadata(sample)
        if metadata:
            known = known.over(FieldMap({"metadata": metadata}))
        if preset is None:
            return chosen.over(known)
        there = {
            role: kept
            for role, paths in preset.fields.paths.items()
            if (kept := tuple(path for path in paths if self._may_be_there(path, sample)))
        }
        return chosen.over(FieldMap(there, preset.fields.hidden).over(known))

    def _may_be_there(self, path: str, sample: Sequence[Entity]) -> bool:
        """Of a preset's path: rows that were not looked at may have it, but no collection has a field by surprise."""
        in_rows = self._schema.is_dynamic and "." not in path
        return root(path) in self._schema.fields or in_rows or self._is_there(path, sample)

    def _metadata(self, sample: Sequence[Entity]) -> tuple[str, ...]:
        """JSON fields, and a field of the usual name whose texts are JSON objects."""
        texts = [name for name in self._schema.of_kind("text") if name in _USUAL_METADATA]
        is_object = [name for name in texts if sample and all(as_object(row.get(name)) is not None for row in sample)]
        return tuple(self._schema.of_kind("json") + is_object)

    def _is_there(self, path: str, sample: Sequence[Entity]) -> bool:
        """Whether rows have something at a path; for an empty collection, whether they may."""
        field = self._schema.fields.get(root(path))
        if sample:
            return any(follow(row, path) is not None for row in sample)
        return self._schema.is_dynamic if field is None else path == root(path) or field.kind in ("json", "text")

    def _check_chosen(self, chosen: FieldMap, sample: Sequence[Entity]) -> None:
        """What the caller maps must lead to something in a row or other; a typing error would hide everything else."""
        for role, paths in chosen.paths.items():
            for path in paths:
                if role in ("vector", "sparse") or self._is_there(path, sample):
                    continue
                raise InvalidRequest(
                    f"{role}={path}: none of {len(sample)} rows of {self._schema.collection!r} has anything there",
                    way_out=f"They have: {', '.join(_places(sample))}." if sample else f"It has: {self._schema.names}.",
                )

    def _json_text(self, sample: Sequence[Entity]) -> tuple[str, ...]:
        return tuple(
            name for name in self._schema.of_kind("json") if any(isinstance(row.get(name), str) for row in sample)
        )

    def _remark(self, fields: FieldMap, sample: Sequence[Entity]) -> None:
        if not sample:
            self._notes.append("the collection is empty, so the mapping could not be tried")
            return
        for role, means in (
            ("docId", "every chunk is known by its primary key, and the cap per document has no effect"),
            ("chunkIndex", "chunks are known by their primary keys"),
            ("category", "a category finds nothing"),
            ("scope", "whoever gives a scope finds nothing"),
        ):
            if all(first_usable(row, fields.of(role)) is None for row in sample):
                how = "is not mapped" if not fields.of(role) else "is in none of the rows looked at"
                self._notes.append(f"{role} {how}: {means}")
        blank = sum(not first_usable(row, fields.of("text")) for row in sample)
        if blank:
            self._notes.append(f"{blank} of {len(sample)} rows have no text")

    def _compare(self, fields: FieldMap, vector: str, sample: Sequence[Entity], absent: tuple[str, ...]) -> None:
        """Whether this embedder may have made the vectors: its own of the same texts are close to them."""
        reader = RowReader(fields, primary=self._schema.primary, vectors=(vector,), absent=absent)
        rows = [(reader.read(row).chunk.text, vector_of(row, vector)) for row in sample]
        tried = [(text, stored) for text, stored in rows if text.strip() and np.linalg.norm(stored)][:_COMPARED]
        if not tried:
            return
        own = self._embedder.embed_passages([text for text, _ in tried])
        alike = [
            float(np.dot(mine, stored) / np.linalg.norm(stored)) for mine, (_, stored) in zip(own, tried, strict=True)
        ]
        median = float(np.median(alike))
        if median < _ALIKE:
            self._notes.append(
                f"the vectors don't look like those of {self._embedder.name}: to its own of the same texts their median"
                f" cosine is {median:.2f}; name the model that filled the collection, or expect poor answers"
            )


def _places(sample: Iterable[Entity]) -> list[str]:
    """The paths that rows have, one level deep."""
    found: set[str] = set()
    for row in sample:
        for name, value in row.items():
            held = as_object(value)
            found |= {f"{name}.{key}" for key in held} if held else {name}
    return sorted(found)[:60]
