"""The collections of a store: their fields, limits and indexes; knows no row and no search.

    NAME             a row per chunk and version of its document
    NAME_catalogue   a row per document, the head, the binding, leases, and what is too long for one field
    NAME_sessions    what sessions were shown; made when there is something to remember

A row of a chunk is never changed. Its primary key is the evidence key and the version of the document, so that a new
version lies beside the old one until the catalogue switches from one to the other with a single row. (An upsert under
the evidence key alone would replace a document row by row, and readers would see mixtures.)

The partition key is the tenant (see `filters.tenant`); Lite has one partition, for there is nothing to spread.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from citewell.adapters.milvus.filters import MAX_TOKEN_BYTES
from citewell.errors import InvalidRequest

if TYPE_CHECKING:
    from citewell.adapters.milvus.client import Client

K1 = 1.2
B = 0.75

MAX_FIELD_BYTES = 65_535
MAX_ID_BYTES = 8_000
"""The longest document id: the first part of a chunk's body must hold it, whatever JSON makes of it."""
MAX_ITEMS = 4_096
"""The most labels, and the most metadata values that `where` can find, of one document."""
MAX_WIDTH = 16_000
"""The most hits of one search; a server allows 16,384."""

SCHEMA_VERSION = 1

_KEY_BYTES = 1_024
_TOKEN_BYTES = MAX_TOKEN_BYTES + 8
_PARTITIONS = 16
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")


@dataclass(frozen=True, slots=True)
class Names:
    """What the collections of a store are called."""

    chunks: str

    @property
    def catalogue(self) -> str:
        """Beside the chunks."""
        return f"{self.chunks}_catalogue"

    @property
    def sessions(self) -> str:
        """What sessions were shown."""
        return f"{self.chunks}_sessions"


def names_of(collection: str) -> Names:
    """The names for the setting `store.collection`.

    Raises:
        InvalidRequest: Milvus takes no such name.
    """
    if not _NAME.fullmatch(collection):
        raise InvalidRequest(
            f"store.collection can't be {collection!r}", way_out="Give letters, digits and underscores, no digit first."
        )
    return Names(collection)


Index = Literal["exact", "hnsw"]
"""How vectors are searched: `exact` compares with every one; `hnsw` walks a graph, on servers."""


def make_collections(client: Client, names: Names, dimensions: int, how: Index) -> None:
    """Make both, the catalogue last: where it is, all is."""
    complete_indexes(client, names, how)
    if not client.has(names.chunks):
        _make(
            client,
            names.chunks,
            _chunks(client, dimensions),
            _chunk_indexes(client, how),
            partitions=not client.server.is_lite,
        )
    if not client.has(names.catalogue):
        _make(client, names.catalogue, _catalogue(dimensions), _only_vector("centre"), partitions=False)


def complete_indexes(client: Client, names: Names, how: Index) -> None:
    """Make what is missing of the indexes of collections that are there: who made them may have been cut short."""
    for name, indexes in ((names.chunks, _chunk_indexes(client, how)), (names.catalogue, _only_vector("centre"))):
        if client.has(name):
            _complete(client, name, indexes)


def is_indexed(client: Client, name: str) -> bool:
    """Whether a collection has an index, without which it can't be loaded."""
    return bool(client.call("list_indexes", name))


def make_sessions(client: Client, name: str) -> None:
    """Make the collection of sessions."""
    _make(client, name, _sessions(), _only_vector("pad"), partitions=False)


def index_of(client: Client, names: Names) -> Index:
    """How the vectors of the collection are searched."""
    held = client.call("describe_index", names.chunks, index_name="vector") or {}
    return "hnsw" if "HNSW" in str(held.get("index_type")) else "exact"


def _make(client: Client, name: str, schema: object, indexes: object, *, partitions: bool) -> None:
    options: dict[str, object] = {"num_partitions": _PARTITIONS} if partitions else {}
    # Strong is what a read waits for that can't say otherwise: pages (see catalogue.py). All others say so.
    client.call("create_collection", name, schema=schema, consistency_level="Strong", **options)
    client.call("create_index", name, indexes, sync=False)


def _complete(client: Client, name: str, indexes: Any) -> None:  # noqa: ANN401 - pymilvus has no types
    held = set(client.call("list_indexes", name))
    if all(each.field_name in held for each in indexes):
        return
    missing = _indexes()
    missing += [each for each in indexes if each.field_name not in held]
    client.call("create_index", name, missing, sync=False)


def _schema() -> Any:  # noqa: ANN401 - pymilvus has no types
    from pymilvus import MilvusClient  # noqa: PLC0415 - an extra

    return MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)


def _indexes() -> Any:  # noqa: ANN401 - pymilvus has no types
    from pymilvus import MilvusClient  # noqa: PLC0415 - an extra

    return MilvusClient.prepare_index_params()


def _chunks(client: Client, dimensions: int) -> object:
    from pymilvus import DataType, Function, FunctionType  # noqa: PLC0415 - an extra

    schema = _schema()
    texts = {"element_type": DataType.VARCHAR, "max_capacity": MAX_ITEMS, "max_length": _TOKEN_BYTES}
    schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=_KEY_BYTES)
    schema.add_field("evidence", DataType.VARCHAR, max_length=_TOKEN_BYTES)
    schema.add_field("document", DataType.VARCHAR, max_length=_TOKEN_BYTES)
    schema.add_field("tenant", DataType.VARCHAR, max_length=_TOKEN_BYTES, is_partition_key=not client.server.is_lite)
    schema.add_field("category", DataType.VARCHAR, max_length=_TOKEN_BYTES)
    schema.add_field("labels", DataType.ARRAY, **texts)
    schema.add_field("marks", DataType.ARRAY, **texts)
    schema.add_field("version", DataType.INT64)
    schema.add_field("position", DataType.INT64)
    schema.add_field("context", DataType.VARCHAR, max_length=_TOKEN_BYTES)
    schema.add_field("body", DataType.VARCHAR, max_length=MAX_FIELD_BYTES)
    schema.add_field("more", DataType.INT64)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=dimensions)
    if not client.server.has_bm25:
        schema.add_field("terms", DataType.VARCHAR, max_length=MAX_FIELD_BYTES)
        return schema
    analyzer = {"tokenizer": "standard"}
    schema.add_field(
        "terms", DataType.VARCHAR, max_length=MAX_FIELD_BYTES, enable_analyzer=True, analyzer_params=analyzer
    )
    schema.add_field("sparse", DataType.SPARSE_FLOAT_VECTOR)
    schema.add_function(Function("bm25", FunctionType.BM25, ["terms"], ["sparse"]))
    return schema


def _chunk_indexes(client: Client, how: Index) -> object:
    indexes = _indexes()
    if how == "hnsw" and not client.server.is_lite:
        graph = {"M": 32, "efConstruction": 360}
        indexes.add_index("vector", index_type="HNSW", metric_type="IP", params=graph)
    else:
        indexes.add_index("vector", index_type="FLAT", metric_type="IP")
    if client.server.has_bm25:
        # pymilvus hands the parameters over one by one; Lite looks for them under one name, and falls back silently.
        tuned: dict[str, object] = {"bm25_k1": K1, "bm25_b": B}
        tuned = {"params": tuned} if client.server.is_lite else tuned
        indexes.add_index("sparse", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25", params=tuned)
    if client.server.has_inverted:
        for name in ("evidence", "document"):
            indexes.add_index(name, index_type="INVERTED")
    return indexes


def _catalogue(dimensions: int) -> object:
    from pymilvus import DataType  # noqa: PLC0415 - an extra

    schema = _schema()
    schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=_KEY_BYTES)
    schema.add_field("kind", DataType.VARCHAR, max_length=16)
    schema.add_field("version", DataType.INT64)
    schema.add_field("number", DataType.INT64)
    schema.add_field("more", DataType.INT64)
    schema.add_field("body", DataType.VARCHAR, max_length=MAX_FIELD_BYTES)
    schema.add_field("content", DataType.VARCHAR, max_length=_TOKEN_BYTES)
    schema.add_field("centre", DataType.FLOAT_VECTOR, dim=dimensions)
    return schema


def _sessions() -> object:
    from pymilvus import DataType  # noqa: PLC0415 - an extra

    schema = _schema()
    schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=_KEY_BYTES)
    schema.add_field("kind", DataType.VARCHAR, max_length=16)
    schema.add_field("owner", DataType.VARCHAR, max_length=_TOKEN_BYTES)
    schema.add_field("session", DataType.VARCHAR, max_length=_TOKEN_BYTES)
    schema.add_field("at", DataType.DOUBLE)
    schema.add_field("body", DataType.VARCHAR, max_length=MAX_FIELD_BYTES)
    schema.add_field("pad", DataType.FLOAT_VECTOR, dim=2)  # a collection without a vector is refused
    return schema


def _only_vector(name: str) -> object:
    indexes = _indexes()
    indexes.add_index(name, index_type="FLAT", metric_type="L2")
    return indexes
