"""The collection of chunks: every search, query and write on it; knows no document as a whole and no snapshot.

Scores leave it as similarities: higher is better on every engine (BM25 is negative on Lite, positive on servers).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from citewell.adapters.milvus.bodies import key_in
from citewell.adapters.milvus.catalogue import pages
from citewell.adapters.milvus.filters import both, literal, literals, token
from citewell.adapters.milvus.schema import MAX_WIDTH, Index
from citewell.adapters.milvus.terms import words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from citewell.adapters.milvus.client import Client

_AT_ONCE = 500
_MOST_BYTES = 8_000_000
_MOST_IN_MEMORY = 64_000_000
"""At 128 MB Lite flushes by itself, and readers in between may miss rows (see lite.py)."""
_LEAST_WIDTH = 192
"""How far the graph is searched at least; filters need more (see docs/milvus.md)."""
_LEAST_WIDTH_FILTERED = 2_048


@dataclass(frozen=True, slots=True)
class Found:
    """A row, as a search or a query returns it.

    Attributes:
        id: primary key.
        evidence: the token of the evidence key.
        version: of the document.
        key: the evidence key; blank where it is long and the body was not asked for.
        score: of a search, higher is better; 0 for a query.
        body: its first part.
        more: how many parts follow it in the catalogue.
    """

    id: str
    evidence: str
    version: int
    key: str
    score: float = 0.0
    body: str = ""
    more: int = 0


def found_of(id_: str, score: float = 0.0, body: str = "", more: int = 0) -> Found:
    """A row by its primary key, which holds the evidence key, or its digest if it is long, and the version."""
    evidence, _, version = id_.rpartition("@")
    # The body's first part begins with the document, so it holds a long key, too.
    key = evidence if evidence[0] != "\x1d" else key_in(body) if body else ""
    return Found(id_, evidence, int(version), key, score, body, more)


def primary_key(evidence_key: str, version: int) -> str:
    """The primary key of a row."""
    return f"{token(evidence_key)}@{version}"


Ask = Callable[[int], list[Found]]
"""A search: how many -> that many at most, best first."""


class Chunks:
    """The collection; safe to call from several threads."""

    def __init__(self, client: Client, name: str, how: Index) -> None:
        self._client, self._name, self._how = client, name, how
        self._in_memory = 0

    def dense(self, vector: NDArray[np.float32], chosen: str) -> Ask:
        """A search for the nearest rows that an expression matches; scores are cosines in [-1, 1]."""
        return partial(self._dense, vector.tolist(), chosen)

    def _dense(self, vector: list[float], chosen: str, width: int) -> list[Found]:
        least = _LEAST_WIDTH_FILTERED if chosen else _LEAST_WIDTH
        how = {"ef": max(least, 2 * width)} if self._how == "hnsw" else {}
        return [
            found_of(hit["id"], min(1.0, max(-1.0, float(hit["distance"]))), *_said(hit["entity"]))
            for hit in self._search("vector", vector, chosen, width, {"metric_type": "IP", "params": how})
        ]

    def bm25(self, terms: Sequence[str], chosen: str) -> Ask:
        """A search for the best rows by native BM25 that an expression matches; scores are > 0."""
        return partial(self._bm25, words(terms), chosen)

    def _bm25(self, text: str, chosen: str, width: int) -> list[Found]:
        sign = -1.0 if self._client.server.is_lite else 1.0
        hits = self._search("sparse", text, chosen, width, {"metric_type": "BM25", "params": {}})
        found = (found_of(hit["id"], sign * float(hit["distance"]), *_said(hit["entity"])) for hit in hits)
        return [each for each in found if each.score > 0]

    def _search(self, field: str, what: object, chosen: str, width: int, how: dict[str, object]) -> list[Any]:
        hits = self._client.call(
            "search", self._name, [what], anns_field=field, filter=chosen, limit=width, search_params=how,
            output_fields=["body", "more"], consistency_level="Session",
        )  # fmt: skip
        return list(hits[0])

    def with_keys(self, keys: Sequence[str], chosen: str = "") -> list[Found]:
        """The rows with these evidence keys, of every version that an expression matches."""
        rows = self._with_keys(keys, chosen, ["id", "body", "more"])
        return [found_of(row["id"], 0.0, *_said(row)) for row in rows]

    def with_ids(self, ids: Sequence[str]) -> list[Found]:
        """The rows with these primary keys."""
        found: list[Found] = []
        for start in range(0, len(ids), _AT_ONCE):
            rows = self._client.call(
                "query", self._name, filter=f"id in {literals(ids[start : start + _AT_ONCE])}",
                output_fields=["id", "body", "more"], consistency_level="Session",
            )  # fmt: skip
            found += [found_of(row["id"], 0.0, *_said(row)) for row in rows]
        return found

    def vectors_with_keys(self, keys: Sequence[str], chosen: str = "") -> tuple[list[str], NDArray[np.float32]]:
        """The primary keys of those rows, and their vectors as float32 [rows, dimensions]."""
        rows = list(self._with_keys(keys, chosen, ["id", "vector"]))
        return [row["id"] for row in rows], np.array([row["vector"] for row in rows], dtype=np.float32)

    def _with_keys(self, keys: Sequence[str], chosen: str, fields: list[str]) -> Iterator[Any]:
        wanted = list(dict.fromkeys(keys))
        for start in range(0, len(wanted), _AT_ONCE):
            named = f"evidence in {literals(token(key) for key in wanted[start : start + _AT_ONCE])}"
            # Two versions of each at most are there at a time, or few more.
            yield from self._client.call(
                "query", self._name, filter=both(named, chosen), output_fields=fields, limit=MAX_WIDTH,
                consistency_level="Session",
            )  # fmt: skip

    def contexts(self, doc_id: str, version: int, count: int) -> dict[int, str]:
        """The context digest of each chunk of a version that has `count` of them, by chunk index."""
        rows = self._of_version(doc_id, version, count, ["position", "context"])
        return {int(row["position"]): str(row["context"]) for row in rows}

    def vectors(self, doc_id: str, version: int, count: int) -> dict[int, NDArray[np.float32]]:
        """The vector of each chunk of a version that has `count` of them, by chunk index."""
        rows = self._of_version(doc_id, version, count, ["position", "vector"])
        return {int(row["position"]): np.array(row["vector"], dtype=np.float32) for row in rows}

    def _of_version(self, doc_id: str, version: int, count: int, fields: list[str]) -> Iterator[Any]:
        chosen = f"version == {version} and document == {literal(token(doc_id))}"
        for start in range(0, count, _AT_ONCE):
            here = f"position >= {start} and position < {start + _AT_ONCE}"
            yield from self._client.call(
                "query", self._name, filter=both(chosen, here), output_fields=fields, limit=MAX_WIDTH,
                consistency_level="Session",
            )  # fmt: skip

    def rows(self, chosen: str, fields: list[str]) -> Iterator[Any]:
        """Fields of all rows that an expression matches, in the order of their primary keys."""
        for rows in pages(self._client, self._name, chosen, ["id", *fields]):
            yield from rows

    def insert(self, rows: Sequence[dict[str, object]]) -> None:
        """Add rows whose primary keys are new: on 2.3 an upsert puts rows into the wrong partition."""
        for batch, size in _batches(rows):
            self._client.call("insert", self._name, batch)
            self._in_memory += size
            if self._client.server.is_lite and self._in_memory > _MOST_IN_MEMORY:
                self.flush()

    def remove(self, chosen: str) -> None:
        """Remove the rows that an expression matches."""
        self._client.call("delete", self._name, filter=chosen)

    def remove_ids(self, ids: Sequence[str]) -> None:
        """Remove the rows with these primary keys."""
        for start in range(0, len(ids), _AT_ONCE):
            self.remove(f"id in {literals(ids[start : start + _AT_ONCE])}")

    def count(self, chosen: str) -> int:
        """How many rows an expression matches."""
        rows = self._client.call(
            "query", self._name, filter=chosen, output_fields=["count(*)"], consistency_level="Session"
        )
        return int(rows[0]["count(*)"])

    def flush(self) -> None:
        """Bring what Milvus has in memory into files."""
        self._in_memory = 0
        self._client.flush(self._name)


def _batches(rows: Sequence[dict[str, object]]) -> Iterator[tuple[list[dict[str, object]], int]]:
    """The rows in requests of bounded size, and how many bytes each takes, generously."""
    batch: list[dict[str, object]] = []
    size = 0
    for row in rows:
        own = 4 * len(str(row["body"])) + len(str(row["terms"])) + 4 * len(cast("NDArray[np.float32]", row["vector"]))
        if batch and (len(batch) >= _AT_ONCE or size + own > _MOST_BYTES):
            yield batch, size
            batch, size = [], 0
        batch.append(row)
        size += own
    if batch:
        yield batch, size


def _said(row: Any) -> tuple[str, int]:  # noqa: ANN401 - a mapping of pymilvus's own
    return str(row["body"]), int(row["more"])


def best(ask: Ask, k: int) -> list[Found]:
    """The k best of a search, ties by evidence key, at the cut too: more is asked for while a tie reaches its end."""
    wanted = min(k, MAX_WIDTH)
    width = min(wanted + 1, MAX_WIDTH)
    found = ask(width)
    while len(found) == width < MAX_WIDTH and found[wanted - 1].score == found[-1].score:
        width = min(4 * width, MAX_WIDTH)
        found = ask(width)
    if len({each.id for each in found}) < len(found):  # an insert that was tried again may have left a row twice
        found = list({each.id: each for each in reversed(found)}.values())
    return sorted(found, key=lambda each: (-each.score, each.key))[:wanted]
