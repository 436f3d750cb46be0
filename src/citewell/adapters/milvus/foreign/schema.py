"""What a collection says of itself, in our words: its fields, which are vectors, how they are compared.

It reads what `describe_collection` and `describe_index` return, whose shape differs a little between Lite, servers and
versions of pymilvus; nothing else of Milvus is known here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from citewell.errors import InvalidRequest

if TYPE_CHECKING:
    from citewell.adapters.milvus.client import Client

Kind = Literal["text", "integer", "real", "boolean", "json", "array", "vector", "sparse", "other"]

_KINDS: Mapping[int, Kind] = {
    1: "boolean", 2: "integer", 3: "integer", 4: "integer", 5: "integer", 10: "real", 11: "real", 20: "text",
    21: "text", 22: "array", 23: "json", 101: "vector", 104: "sparse",
}  # fmt: skip
"""By Milvus's numbers of its data types; binary and 16-bit vectors are `other`."""
_BM25 = 1
"""Milvus's number of the function that makes BM25 vectors of a text."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of the schema.

    Attributes:
        kind: in our words; `element` is that of an array's elements.
        type_name: as Milvus calls it, for messages.
        dimensions: of a vector, else 0.
        is_nullable: whether rows may lack it.
    """

    name: str
    kind: Kind
    type_name: str
    element: Kind = "other"
    dimensions: int = 0
    is_nullable: bool = False


@dataclass(frozen=True, slots=True)
class VectorIndex:
    """How a vector field is searched: the metric (`L2`, `IP`, `COSINE`, `BM25`) and the kind of index."""

    metric: str
    kind: str
    lists: int = 0


@dataclass(frozen=True, slots=True)
class Schema:
    """A collection, as far as attaching needs it.

    Attributes:
        primary: the name of the primary key.
        counts_up: whether the engine numbers the rows itself, so that their order is the order of insertion.
        is_dynamic: whether rows may have fields that the schema does not name.
        bm25: sparse field -> the text field that the engine makes it from.
        indexes: by field.
    """

    collection: str
    fields: Mapping[str, Field]
    primary: str
    counts_up: bool
    is_dynamic: bool
    bm25: Mapping[str, str]
    indexes: Mapping[str, VectorIndex]

    @property
    def names(self) -> str:
        """Its fields for a message: `pk (INT64), text (VARCHAR)`."""
        named = ", ".join(f"{field.name} ({field.type_name})" for field in self.fields.values())
        return f"{named}, and fields of its rows' own" if self.is_dynamic else named

    @property
    def scalars(self) -> list[str]:
        """What a query can return beside vectors."""
        return [field.name for field in self.fields.values() if field.kind not in ("vector", "sparse", "other")]

    def of_kind(self, kind: Kind) -> list[str]:
        """The names of the fields of a kind, in the order of the schema."""
        return [field.name for field in self.fields.values() if field.kind == kind]


def read_schema(client: Client, collection: str) -> Schema:
    """Ask for the schema of a collection.

    Raises:
        InvalidRequest: there is no such collection; names those that there are.
        StoreError: the engine can't be asked.
    """
    if not client.has(collection):
        there = sorted(client.call("list_collections"))
        raise InvalidRequest(
            f"there is no collection {collection!r} at {client.location}",
            way_out=f"It has: {', '.join(there)}." if there else "It holds none.",
        )
    said = client.call("describe_collection", collection)
    fields = [_field(each) for each in said["fields"]]
    primary = next(each for each in said["fields"] if each.get("is_primary"))
    counts_up = bool(primary.get("auto_id") or said.get("auto_id")) and _KINDS.get(int(primary["type"])) == "integer"
    return Schema(
        collection=collection,
        fields={field.name: field for field in fields},
        primary=primary["name"],
        counts_up=counts_up,
        is_dynamic=bool(said.get("enable_dynamic_field")),
        bm25=dict(_bm25(said.get("functions") or ())),
        indexes=_indexes(client, collection),
    )


def _field(said: Mapping[str, Any]) -> Field:
    number = int(said["type"])
    element = said.get("element_type")
    return Field(
        said["name"],
        _KINDS.get(number, "other"),
        getattr(said["type"], "name", str(said["type"])),
        _KINDS.get(int(element), "other") if element is not None else "other",
        int(said.get("params", {}).get("dim", 0)),
        bool(said.get("nullable", False)),
    )


def _bm25(functions: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    return [
        (function["output_field_names"][0], function["input_field_names"][0])
        for function in functions
        if int(function["type"]) == _BM25
    ]


def _indexes(client: Client, collection: str) -> dict[str, VectorIndex]:
    found: dict[str, VectorIndex] = {}
    for name in client.call("list_indexes", collection):
        said = client.call("describe_index", collection, name)
        if said and said.get("metric_type"):
            kind = str(said.get("index_type", "")).upper()
            found[said["field_name"]] = VectorIndex(str(said["metric_type"]).upper(), kind, int(said.get("nlist", 0)))
    return found
