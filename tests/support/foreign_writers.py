"""Writes a collection with the tools themselves, in an environment of their own: their pins are not ours.

    python foreign_writers.py TOOL URI COLLECTION < passages.json

`passages.json` is a list of {doc_id, index, text, vector, category, start}. Knows nothing of Citewell.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Passages = Sequence[Mapping[str, Any]]


def langchain(uri: str, collection: str, passages: Passages, **options: object) -> None:
    """As `Milvus.from_documents` does it, metadata in fields of their own unless the options say otherwise."""
    document = importlib.import_module("langchain_core.documents").Document
    store = importlib.import_module("langchain_milvus").Milvus
    base = importlib.import_module("langchain_core.embeddings").Embeddings
    table = {passage["text"]: passage["vector"] for passage in passages}

    class Table(base):  # type: ignore[misc,valid-type]  # loaded by name
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [table[text] for text in texts]

        def embed_query(self, text: str) -> list[float]:
            return list(table[text])

    documents = [
        document(page_content=p["text"], metadata={"source": p["doc_id"], "category": p["category"]}) for p in passages
    ]
    store.from_documents(
        documents, Table(), connection_args={"uri": uri}, collection_name=collection, auto_id=True, **options
    )


def langchain_bm25(uri: str, collection: str, passages: Passages) -> None:
    """With the engine's BM25 beside the vectors."""
    function = importlib.import_module("langchain_milvus").BM25BuiltInFunction
    indexes = [
        {"index_type": "FLAT", "metric_type": "COSINE", "params": {}},
        {"index_type": "SPARSE_INVERTED_INDEX", "metric_type": "BM25", "params": {}},
    ]
    langchain(
        uri, collection, passages, builtin_function=function(), vector_field=["vector", "sparse"], index_params=indexes
    )


def llama_index(uri: str, collection: str, passages: Passages) -> None:
    """Nodes that know their document and their place in it."""
    schema = importlib.import_module("llama_index.core.schema")
    store = importlib.import_module("llama_index.vector_stores.milvus").MilvusVectorStore
    nodes = []
    for number, p in enumerate(passages):
        end = p["start"] + len(p["text"])
        node = schema.TextNode(id_=f"node-{number}", text=p["text"], start_char_idx=p["start"], end_char_idx=end)
        node.metadata = {"category": p["category"], "file_name": p["doc_id"]}
        node.relationships = {schema.NodeRelationship.SOURCE: schema.RelatedNodeInfo(node_id=p["doc_id"])}
        node.embedding = p["vector"]
        nodes.append(node)
    store(
        uri=uri, dim=len(passages[0]["vector"]), collection_name=collection, overwrite=True, use_async_client=False
    ).add(nodes)


def haystack(uri: str, collection: str, passages: Passages) -> None:
    """Documents as its splitter leaves them."""
    document = importlib.import_module("haystack").Document
    store = importlib.import_module("milvus_haystack").MilvusDocumentStore
    documents = [
        document(
            content=p["text"],
            embedding=p["vector"],
            meta={
                "source_id": p["doc_id"],
                "split_id": p["index"],
                "split_idx_start": p["start"],
                "page_number": 1,
                "category": p["category"],
            },
        )
        for p in passages
    ]
    store(connection_args={"uri": uri}, collection_name=collection, drop_old=True).write_documents(documents)


TOOLS: Mapping[str, Callable[[str, str, Passages], None]] = {
    "langchain": langchain,
    "langchain-dynamic": lambda *of: langchain(*of, enable_dynamic_field=True),
    "langchain-json": lambda *of: langchain(*of, metadata_field="metadata"),
    "langchain-bm25": langchain_bm25,
    "llama-index": llama_index,
    "haystack": haystack,
}

if __name__ == "__main__":
    TOOLS[sys.argv[1]](sys.argv[2], sys.argv[3], json.load(sys.stdin))
