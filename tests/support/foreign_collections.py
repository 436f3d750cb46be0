"""Collections as other tools write them, by hand: the same fields, types, metrics and values, without the tools.

`tests/edges/test_attach_writers.py` compares the layouts with what the tools themselves write.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from pymilvus import DataType, Function, FunctionType, MilvusClient

from citewell.adapters.milvus.client import Client

DIMENSIONS = 256


class Fields(Protocol):
    """A schema of pymilvus, as far as layouts need it."""

    def add_field(self, field_name: str, datatype: object, **more: object) -> object: ...

    def add_function(self, function: object) -> object: ...


@dataclass(frozen=True)
class Passage:
    """What a row is about, before a layout gives it fields."""

    doc_id: str
    index: int
    text: str
    vector: NDArray[np.float32]
    category: str | None = None
    scope: tuple[str, ...] | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    title: str = ""
    start: int = 0

    def facts(self, *names: str) -> dict[str, object]:
        """Those of these that it has, by name, with its metadata."""
        known = {
            "source": self.doc_id, "chunk_index": self.index, "category": self.category, "title": self.title or None,
            "labels": list(self.scope) if self.scope else None,
        }  # fmt: skip
        return {name: known[name] for name in names if known[name] is not None} | dict(self.metadata)


@dataclass(frozen=True)
class Layout:
    """How a tool lays rows out.

    Attributes:
        add_fields: to a schema; the dynamic switch has been set.
        row: a passage -> the row, under the number that it has in the collection.
        vector: its field and the metric of its index.
        auto: whether the engine numbers the rows.
    """

    add_fields: Callable[[Fields, int], None]
    row: Callable[[Passage, int], dict[str, object]]
    vector: tuple[str, str]
    dynamic: bool = False
    auto: bool = False
    index: str = "FLAT"
    bm25: str = ""
    sparse_ip: str = ""


def _text(schema: Fields, name: str, **more: object) -> None:
    schema.add_field(name, DataType.VARCHAR, max_length=65_535, **more)


def _spring(schema: Fields, dimensions: int) -> None:
    _text(schema, "doc_id", is_primary=True)
    _text(schema, "content")
    schema.add_field("metadata", DataType.JSON)
    schema.add_field("embedding", DataType.FLOAT_VECTOR, dim=dimensions)


def _langchain(schema: Fields, dimensions: int) -> None:
    _text(schema, "text")
    schema.add_field("pk", DataType.INT64, is_primary=True, auto_id=True)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=dimensions)
    for name in ("source", "category", "lang"):
        _text(schema, name)
    schema.add_field("level", DataType.INT64)


def _langchain_dynamic(schema: Fields, dimensions: int) -> None:
    _text(schema, "text")
    schema.add_field("pk", DataType.INT64, is_primary=True, auto_id=True)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=dimensions)


def _llama_index(schema: Fields, dimensions: int) -> None:
    _text(schema, "id", is_primary=True)
    _text(schema, "doc_id")
    _text(schema, "text")
    schema.add_field("embedding", DataType.FLOAT_VECTOR, dim=dimensions)


def _haystack(schema: Fields, dimensions: int) -> None:
    _text(schema, "text")
    _text(schema, "id", is_primary=True)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=dimensions)


def _json_text(schema: Fields, dimensions: int) -> None:
    _text(schema, "key", is_primary=True)
    _text(schema, "page_content")
    _text(schema, "metadata")
    schema.add_field("dense", DataType.FLOAT_VECTOR, dim=dimensions)


def _plain(schema: Fields, dimensions: int) -> None:
    schema.add_field("number", DataType.INT64, is_primary=True)
    _text(schema, "body", enable_analyzer=True)
    _text(schema, "document")
    schema.add_field("chunk", DataType.INT64)
    _text(schema, "kind", nullable=True)
    schema.add_field("labels", DataType.ARRAY, element_type=DataType.VARCHAR, max_capacity=20, max_length=200)
    schema.add_field("dense", DataType.FLOAT_VECTOR, dim=dimensions)


def _with_bm25(schema: Fields, dimensions: int) -> None:
    _plain(schema, dimensions)
    schema.add_field("sparse", DataType.SPARSE_FLOAT_VECTOR)
    schema.add_function(Function("words", FunctionType.BM25, ["body"], ["sparse"]))


def _node(passage: Passage, number: int) -> dict[str, object]:
    end = passage.start + len(passage.text)
    content = {"id_": f"node-{number}", "text": "", "start_char_idx": passage.start, "end_char_idx": end}
    return {
        "id": f"node-{number}", "doc_id": passage.doc_id, "text": passage.text, "embedding": passage.vector.tolist(),
        "_node_content": json.dumps(content), "_node_type": "TextNode", "document_id": passage.doc_id,
        "ref_doc_id": passage.doc_id, **passage.facts("category"),
    }  # fmt: skip


def _plain_row(passage: Passage, number: int) -> dict[str, object]:
    return {
        "number": number, "body": passage.text, "document": passage.doc_id, "chunk": passage.index,
        "kind": passage.category, "labels": list(passage.scope or ()), "dense": passage.vector.tolist(),
        **passage.metadata,
    }  # fmt: skip


LAYOUTS: Mapping[str, Layout] = {
    "spring-ai": Layout(
        _spring,
        lambda p, n: {
            "doc_id": f"00000000-0000-0000-0000-{n:012}", "content": p.text, "embedding": p.vector.tolist(),
            "metadata": p.facts("source", "category", "title", "labels"),
        },
        ("embedding", "L2"),
    ),
    "langchain": Layout(
        _langchain,
        lambda p, _: {"text": p.text, "vector": p.vector.tolist(), **p.facts("source", "category")},
        ("vector", "L2"),
        auto=True,
    ),
    "langchain-dynamic": Layout(
        _langchain_dynamic,
        lambda p, _: {
            "text": p.text, "vector": p.vector.tolist(),
            **p.facts("source", "category", "chunk_index", "title", "labels"),
        },
        ("vector", "L2"),
        dynamic=True,
        auto=True,
    ),
    "llama-index": Layout(_llama_index, _node, ("embedding", "IP"), dynamic=True),
    "haystack": Layout(
        _haystack,
        lambda p, n: {
            "text": p.text, "id": f"{n:064x}", "vector": p.vector.tolist(), "source_id": p.doc_id, "split_id": p.index,
            "split_idx_start": p.start, "page_number": 1, "file_path": f"{p.doc_id}.md", **p.facts("category"),
        },
        ("vector", "L2"),
        dynamic=True,
    ),
    "json": Layout(
        _spring,
        lambda p, n: {
            "doc_id": f"row-{n}", "content": p.text, "embedding": p.vector.tolist(),
            "metadata": p.facts("source", "category", "title", "labels", "chunk_index"),
        },
        ("embedding", "L2"),
    ),
    "json-text": Layout(
        _json_text,
        lambda p, n: {
            "key": f"row-{n}", "page_content": p.text, "dense": p.vector.tolist(),
            "metadata": json.dumps(p.facts("source", "category", "title", "labels", "chunk_index")),
        },
        ("dense", "COSINE"),
    ),
    "plain": Layout(_plain, _plain_row, ("dense", "IP"), dynamic=True),
    "bm25": Layout(_with_bm25, _plain_row, ("dense", "COSINE"), dynamic=True, bm25="sparse"),
}  # fmt: skip

MAPS: Mapping[str, tuple[str, ...]] = {
    "spring-ai": ("scope=metadata.labels",),
    "langchain": (),
    "langchain-dynamic": ("scope=labels",),
    "llama-index": (),
    "haystack": (),
    "json": ("docId=metadata.source", "chunkIndex=metadata.chunk_index", "scope=metadata.labels"),
    "json-text": (
        "text=page_content", "docId=metadata.source", "category=metadata.category", "title=metadata.title",
        "scope=metadata.labels",
    ),
    "plain": ("text=body", "docId=document", "chunkIndex=chunk", "category=kind", "scope=labels"),
    "bm25": ("text=body", "docId=document", "chunkIndex=chunk", "category=kind", "scope=labels"),
}  # fmt: skip
"""What is mapped beside what the presets know."""


def fill(client: Client, name: str, layout: Layout, passages: Sequence[Passage], dimensions: int = DIMENSIONS) -> None:
    """Make a collection of this layout that holds these passages, and see to it that they are found."""
    schema = MilvusClient.create_schema(auto_id=layout.auto, enable_dynamic_field=layout.dynamic)
    layout.add_fields(schema, dimensions)
    indexes = MilvusClient.prepare_index_params()
    field_name, metric = layout.vector
    indexes.add_index(field_name, index_type=layout.index, metric_type=metric, **_sizes(layout.index))
    if layout.bm25:
        indexes.add_index(layout.bm25, index_type="SPARSE_INVERTED_INDEX", metric_type="BM25")
    if layout.sparse_ip:
        indexes.add_index(layout.sparse_ip, index_type="SPARSE_INVERTED_INDEX", metric_type="IP")
    client.call("create_collection", name, schema=schema, index_params=indexes, consistency_level="Strong", timeout=60)
    rows = [layout.row(passage, number) for number, passage in enumerate(passages)]
    if rows:
        client.call("insert", name, rows, timeout=60)
        client.call("flush", name, timeout=60)
    client.load(name)


def _sizes(index: str) -> dict[str, object]:
    """As Spring AI makes its lists, and graphs of the usual size."""
    known = {"HNSW": {"M": 16, "efConstruction": 100}, "IVF_FLAT": {"nlist": 1_024}}
    return {"params": known[index]} if index in known else {}
