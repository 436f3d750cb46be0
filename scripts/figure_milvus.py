"""The tables of Milvus: what a lookup adds, how indexes, partition keys, writers and shards do.

It knows the shapes of milvus.json, milvus_scale.json and milvus_shards.json alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from typing import Any

from figure_tables import bold, number, ran, share, table

_KEPT = ("all", "1%", "10%", "30%")
_POOR = 0.9
"""A recall below it is bold."""
_ARITHMETIC_GB = 1.68
"""Of a million chunks of 384 dimensions: vectors and an HNSW graph's links, as the page's table of memory has them."""


def lookup(result: Mapping[str, Any]) -> str:
    """bench/milvus.py: a dense lookup beside the bare search that it makes."""
    rows = []
    for each in result["engines"]:
        ms = each["ms"]
        bound = number(ms["bound"]) + (", missed" if ms["lookup"] > ms["bound"] else "")
        rows.append([each["engine"], number(ms["bare"]), number(ms["lookup"]), bound, number(ms["with_hints"])])
    head = ["medians, ms", "the bare search", "dense lookup", "bound", "with hints"]
    return f"{table(head, rows)}\n\n{_sizes(result)} {ran(result)}"


def agreement(result: Mapping[str, Any]) -> str:
    """bench/milvus.py: how far the answers are those of the embedded engine."""
    names = ("same order", "same first", "overlap@20")
    rows = [
        [f"{each['engine']}, {path}", *(_recall(each[path][name]) for name in names)]
        for each in result["engines"]
        for path in ("dense", "lexical")
    ]
    return f"{table(['beside `local`', 'same keys in the same order', 'same first', 'overlap of 20'], rows)}"


def _sizes(result: Mapping[str, Any]) -> str:
    return f"{result['chunks']:,} chunks of {result['dimensions']} dimensions, {result['lookups']} lookups."


def indexes(result: Mapping[str, Any]) -> str:
    """bench/milvus_scale.py: milliseconds and recall of each index, by how widely it searches."""
    rows = [
        [kind, _way(row["search"]), f"{row['build_s']:.0f} s" if first else "", *(_cell(row, kept) for kept in _KEPT)]
        for kind, group in groupby(result["indexes"], key=lambda row: row["index"])
        for first, row in _marked(group)
    ]
    return f"{table(['index', 'search', 'built in', *_KEPT], rows)}\n\n{_run(result)}"


def _marked(rows: Iterator[Mapping[str, Any]]) -> Iterator[tuple[bool, Mapping[str, Any]]]:
    return ((at == 0, row) for at, row in enumerate(rows))


def _way(search: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {value:,}" for name, value in search.items())


def _cell(row: Mapping[str, Any], kept: str) -> str:
    return f"{row[f'{kept} p50_ms']:.1f} ms, {_recall(row[f'{kept} recall'])}"


def _recall(value: float) -> str:
    return bold(share(value), when=value < _POOR)


def _run(result: Mapping[str, Any]) -> str:
    when = f" {ran(result)}" if "commit" in result else ""
    return f"{result['chunks']:,} chunks of {result['dims']} dimensions, server {result['server']}.{when}"


def memory(result: Mapping[str, Any]) -> str:
    """bench/milvus_scale.py: what loading an HNSW index took, and what that is for a million chunks."""
    (taken,) = {row["memory_mb"] for row in result["indexes"] if "memory_mb" in row}
    million = taken / result["chunks"] * 1_000
    return (
        f"*Measured*: loading {result['chunks']:,} chunks of {result['dims']} dimensions with HNSW took {taken} MB,"
        f" which is {million:.1f} GB for a million;\narithmetic says {_ARITHMETIC_GB:.1f} for 384 dimensions"
        " (some of it was already there from writing)."
    )


def keys(result: Mapping[str, Any]) -> str:
    """bench/milvus_scale.py: one tenant of a hundred by a plain field and by the partition key."""
    widths = sorted({row["ef"] for row in result["partition_keys"]})
    found = {(row["partition_key"], row["ef"]): row for row in result["partition_keys"]}
    rows = [
        [label, *(_tenant(found[key, ef]) for ef in widths)]
        for key, label in ((False, "a plain field"), (True, "the partition key, 16 partitions"))
    ]
    return table(["", *(f"ef {ef:,}" for ef in widths)], rows)


def _tenant(row: Mapping[str, Any]) -> str:
    return f"{row['p50_ms']:.1f} ms, {_recall(row['recall'])}"


def writers(result: Mapping[str, Any]) -> str:
    """bench/milvus_scale.py: rows a second of several writers, and a search over rows that just came."""
    rows = [
        [
            str(row["writers"]),
            str(row["shards"]),
            f"{row['rows_per_s']:,}",
            f"{row['p50_ms_right_after']:.1f} ms",
        ]
        for row in result["writers"]
    ]
    return table(["clients", "shards", "rows a second", "a search right after"], rows)


def shards(result: Mapping[str, Any]) -> str:
    """bench/milvus_shards.py: rankings by each shard's own counts beside those by all."""
    rows = [
        [
            str(row["shards"]),
            f"{row['documents_per_shard']:,}",
            share(row["overlap@20"]),
            share(row["same_top_1"]),
        ]
        for row in result["shards"]
    ]
    return table(["shards", "paragraphs in each", "overlap of the first 20", "same first hit"], rows)


TABLES: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "milvus-lookup": ("milvus.json", lookup),
    "milvus-agreement": ("milvus.json", agreement),
    "milvus-indexes": ("milvus_scale.json", indexes),
    "milvus-memory": ("milvus_scale.json", memory),
    "milvus-keys": ("milvus_scale.json", keys),
    "milvus-writers": ("milvus_scale.json", writers),
    "milvus-shards": ("milvus_shards.json", shards),
}
