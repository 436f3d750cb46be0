"""Every question to a foreign collection: counts, scans, rows by primary key, nearest vectors, native BM25. Only reads.

Rows come back as plain mappings; what they mean, others know. Searches keep the collection's own consistency level;
counts and scans see everything that was acknowledged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from citewell.adapters.milvus.filters import literal, literals
from citewell.errors import StoreError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from citewell.adapters.milvus.client import Client
    from citewell.adapters.milvus.foreign.mapping import Entity
    from citewell.adapters.milvus.foreign.rows import PrimaryKey
    from citewell.adapters.milvus.foreign.schema import Schema, VectorIndex

MAX_WIDTH = 16_384
"""The most rows that one search or query returns."""
_PAGE = 500
_KEYS_AT_ONCE = 500
_COUNT = "count(*)"
_LEAST_EF, _LEAST_EF_FILTERED, _LARGEST_EF = 192, 2_048, 32_768
_SCAN_SECONDS = 60.0
_REPEATED = "incomplete query result"
"""What Milvus 2.3 says instead of vectors where an insert repeated a primary key."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a search returns: the row as the engine has it, and its own score."""

    entity: Entity
    score: float


class Collection:
    """A collection of a connected Milvus; safe to call from several threads.

    Args:
        client: connected.
        schema: of the collection.
        vector: the dense vector field.
    """

    def __init__(self, client: Client, schema: Schema, vector: str) -> None:
        self._client, self._schema, self._vector = client, schema, vector
        self._name = schema.collection
        self._fields = [*schema.scalars, *(["$meta"] if schema.is_dynamic else [])]

    @property
    def schema(self) -> Schema:
        """As it was when it was opened."""
        return self._schema

    @property
    def is_exact(self) -> bool:
        """Whether a search compares with every row."""
        index = self._schema.indexes.get(self._vector)
        return index is None or index.kind == "FLAT"

    def load(self) -> None:
        """Have the engine ready to search it, unless it is: whoever loaded it may have asked for several replicas."""
        said = self._client.call("get_load_state", self._name)
        if getattr(said.get("state"), "name", "") != "Loaded":
            self._client.load(self._name)

    def count(self, chosen: str = "") -> int:
        """How many rows an expression matches; all for a blank one."""
        said = self._client.call("query", self._name, filter=chosen, output_fields=[_COUNT], consistency_level="Strong")
        return int(said[0][_COUNT])

    def sample(self, most: int) -> list[Entity]:
        """A few rows, vectors included, whichever the engine finds first."""
        fields = [*self._fields, self._vector]
        return list(self._client.call("query", self._name, filter="", output_fields=fields, limit=most))

    def scan(self, *, vectors: bool = False) -> Iterator[list[Entity]]:
        """All rows, in pages, by ascending primary key.

        pymilvus has an iterator of its own, which puts primary keys into its filters unescaped.
        """
        fields = [*self._fields, self._vector] if vectors else self._fields
        behind = ""
        while True:
            rows = self._client.call(
                "query", self._name, filter=behind, output_fields=fields, limit=_PAGE, iterator="True",
                reduce_stop_for_best="True", consistency_level="Strong", timeout=_SCAN_SECONDS,
            )  # fmt: skip
            if not rows:
                return  # a server may give fewer than asked for where there are more
            yield list(rows)
            last = max(row[self._schema.primary] for row in rows)
            behind = f"{self._schema.primary} > {literal(last) if isinstance(last, str) else last}"

    def rows(self, pks: Sequence[PrimaryKey], *, vectors: bool = False) -> list[Entity]:
        """The rows with these primary keys, those that there are, in no order."""
        fields = [*self._fields, self._vector] if vectors else self._fields
        found: list[Entity] = []
        for start in range(0, len(pks), _KEYS_AT_ONCE):
            chosen = self.with_keys(pks[start : start + _KEYS_AT_ONCE])
            found += self._client.call("query", self._name, filter=chosen, output_fields=fields, limit=_KEYS_AT_ONCE)
        return found

    def matching(self, chosen: str) -> list[Entity]:
        """Every row that an expression matches, vectors included; for at most MAX_WIDTH of them."""
        fields = [*self._fields, self._vector]
        return list(self._client.call("query", self._name, filter=chosen, output_fields=fields, limit=MAX_WIDTH))

    def with_keys(self, pks: Sequence[PrimaryKey]) -> str:
        """The expression for rows with these primary keys."""
        if self._schema.fields[self._schema.primary].kind == "text":
            return f"{self._schema.primary} in {literals(str(pk) for pk in pks)}"
        return f"{self._schema.primary} in {[int(pk) for pk in pks]}"

    def nearest(self, vector: NDArray[np.float32], limit: int, chosen: str) -> list[Found]:
        """The rows whose vectors are nearest by the index's metric, nearest first, with their vectors."""
        index = self._schema.indexes.get(self._vector)
        how = {} if self._client.server.is_lite else _how(index, limit, filtered=bool(chosen))
        metric = {"metric_type": index.metric} if index else {}
        ask = partial(self._search, vector.tolist(), self._vector, limit, chosen, {**metric, "params": how})
        try:
            return ask([*self._fields, self._vector])
        except StoreError as error:
            if _REPEATED not in error.message:
                raise
            return self._with_vectors(ask(self._fields))

    def _with_vectors(self, found: Sequence[Found]) -> list[Found]:
        """The same rows as a query gives them, which has vectors where a search has none."""
        primary = self._schema.primary
        pks = [pk for each in found if isinstance(pk := each.entity[primary], int | str)]
        held = {row[primary]: row for row in self.rows(pks, vectors=True)}
        return [Found(held[pk], each.score) for each in found if (pk := each.entity[primary]) in held]

    def bm25(self, text: str, field: str, limit: int, chosen: str) -> list[Found]:
        """The best rows by the engine's own BM25, best first; scores are > 0 (Lite says them negative)."""
        how = {"metric_type": "BM25", "params": {}}
        sign = -1.0 if self._client.server.is_lite else 1.0
        found = self._search(text, field, limit, chosen, how, self._fields)
        return [Found(each.entity, sign * each.score) for each in found]

    def _search(
        self, what: object, field: str, limit: int, chosen: str, how: Mapping[str, object], fields: list[str]
    ) -> list[Found]:
        hits = self._client.call(
            "search", self._name, [what], anns_field=field, limit=limit, filter=chosen, search_params=dict(how),
            output_fields=fields,
        )  # fmt: skip
        return [Found(self._entity(hit), float(hit["distance"])) for hit in hits[0]]

    def _entity(self, hit: Any) -> Entity:  # noqa: ANN401 - pymilvus has no types
        """With its primary key, which servers say beside the row, under a name of their own."""
        entity = dict(hit["entity"])
        if self._schema.primary not in entity:
            entity[self._schema.primary] = hit.get(self._schema.primary, hit.get("id"))
        return entity


def vector_of(entity: Entity, field: str) -> NDArray[np.float32]:
    """The vector of a row, float32 [dimensions]."""
    return np.asarray(entity[field], dtype=np.float32)


def _how(index: VectorIndex | None, limit: int, *, filtered: bool) -> dict[str, object]:
    """How widely to search: as much as recall needs, more within filters, where a narrow graph loses most."""
    kind = index.kind if index else ""
    if kind.startswith("HNSW"):
        return {"ef": min(max(_LEAST_EF_FILTERED if filtered else _LEAST_EF, 2 * limit), _LARGEST_EF)}
    if kind.startswith("IVF") or kind == "SCANN":
        lists = index.lists if index and index.lists else 1_024
        return {"nprobe": max(16, lists if filtered else lists // 4)}
    if kind == "DISKANN":
        return {"search_list": max(200, 2 * limit)}
    return {}
