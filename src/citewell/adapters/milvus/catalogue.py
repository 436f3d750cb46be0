"""The catalogue's rows: reading by id and by kind, writing, with the parts of bodies that are too long for one field.

A row and its parts are written in one request, which Milvus applies as a whole. What the rows say is known elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from citewell.adapters.milvus.bodies import key_in_record, parts_of
from citewell.adapters.milvus.filters import both, literal, literals, token
from citewell.adapters.milvus.schema import MAX_WIDTH
from citewell.errors import StoreCorrupt

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from citewell.adapters.milvus.client import Client

HEAD = "m:head"
BINDING = "m:binding"

_FIELDS = ["id", "kind", "version", "number", "more", "body"]
_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Row:
    """One row.

    Attributes:
        id: unique within the catalogue.
        kind: document, gone (a document that was deleted a moment ago), meta, lease, session, part.
        version: of a document; a row of another kind counts with it what it likes.
        number: chunks of a document.
        body: whole, whatever its length.
        content: digest of a document's text.
        centre: mean of a document's vectors, float32 [dimensions]; None for other rows, and where it was not asked for.
    """

    id: str
    kind: str
    version: int = 0
    number: int = 0
    body: str = ""
    content: str = ""
    centre: NDArray[np.float32] | None = field(default=None, compare=False)


def document_id(doc_id: str) -> str:
    """The id of a document's row."""
    return "d:" + token(doc_id)


class Catalogue:
    """The collection beside the chunks; safe to call from several threads."""

    def __init__(self, client: Client, name: str, dimensions: int) -> None:
        self._client, self._name = client, name
        self._nowhere = np.zeros(dimensions, dtype=np.float32)

    def get(self, ids: Iterable[str], *, strong: bool = False) -> dict[str, Row]:
        """The rows with these ids; `strong` waits for what any other process wrote before."""
        wanted = list(dict.fromkeys(ids))
        level = "Strong" if strong else "Session"
        found: dict[str, Row] = {}
        for start in range(0, len(wanted), _AT_ONCE):
            chosen = f"id in {literals(wanted[start : start + _AT_ONCE])}"
            rows = self._client.call("query", self._name, filter=chosen, output_fields=_FIELDS, consistency_level=level)
            found |= {row.id: row for row in self._whole(rows)}
        return found

    def of_kind(self, kind: str) -> Iterator[Row]:
        """Every row of a kind, whatever process wrote it, in the order of the ids."""
        for rows in pages(self._client, self._name, f"kind == {literal(kind)}", _FIELDS):
            yield from self._whole(rows)

    def versions(self, kind: str) -> list[int]:
        """The versions of the rows of a kind."""
        found = pages(self._client, self._name, f"kind == {literal(kind)}", ["id", "version"])
        return [int(row["version"]) for rows in found for row in rows]

    def part_ids(self) -> set[str]:
        """The ids of all parts."""
        return {str(row["id"]) for rows in pages(self._client, self._name, 'kind == "part"', ["id"]) for row in rows}

    def put(self, rows: Sequence[Row]) -> None:
        """Write these rows in place of those with the same ids, all in one request."""
        data = [entry for row in rows for entry in self._entries(row)]
        if data:
            self._client.call("upsert", self._name, data)

    def put_parts(self, owner: str, version: int, rest: Sequence[str]) -> None:
        """Write what comes behind the first part of a body that belongs to `owner`."""
        if rest:
            self._client.call("upsert", self._name, list(self._part_entries(owner, version, rest)))

    def remove(self, chosen: str) -> None:
        """Remove the rows that an expression matches."""
        self._client.call("delete", self._name, filter=chosen)

    def remove_ids(self, ids: Sequence[str]) -> None:
        """Remove the rows with these ids."""
        for start in range(0, len(ids), _AT_ONCE):
            self.remove(f"id in {literals(ids[start : start + _AT_ONCE])}")

    def flush(self) -> None:
        """Bring what Milvus has in memory into files."""
        self._client.flush(self._name)

    def parts(self, owner: str, version: int, count: int) -> str | None:
        """What comes behind the first part of a long body; None if some of it is not there (any more)."""
        ids = [part_id(owner, version, number) for number in range(1, count + 1)]
        rows = self._client.call(
            "query", self._name, filter=f"id in {literals(ids)}", output_fields=["id", "body"],
            consistency_level="Session",
        )  # fmt: skip
        held = {row["id"]: str(row["body"]) for row in rows}
        return "".join(held[each] for each in ids) if len(held) == count else None

    def written(self, after: int, until: int) -> list[Row]:
        """The documents of versions in (after, until], with their centres, in the order of the versions."""
        chosen = f'kind == "document" and version > {after} and version <= {until}'
        rows = self._client.call(
            "query", self._name, filter=chosen, output_fields=[*_FIELDS, "content", "centre"], limit=MAX_WIDTH,
            consistency_level="Session",
        )  # fmt: skip
        return sorted(self._whole(rows), key=lambda row: row.version)

    def with_content(self, content: str) -> list[Row]:
        """The documents with this text."""
        return [
            row
            for rows in pages(self._client, self._name, f"content == {literal(token(content))}", _FIELDS)
            for row in self._whole(rows)
            if row.kind == "document"
        ]

    def _entries(self, row: Row) -> Iterator[dict[str, object]]:
        """The row as Milvus takes it, its parts behind it."""
        first, *rest = parts_of(row.body)
        yield self._entry(row, first, len(rest))
        yield from self._part_entries(row.id, row.version, rest)

    def _part_entries(self, owner: str, version: int, rest: Sequence[str]) -> Iterator[dict[str, object]]:
        for number, part in enumerate(rest, 1):
            yield self._entry(Row(part_id(owner, version, number), "part", version, number), part, 0)

    def _entry(self, row: Row, body: str, more: int) -> dict[str, object]:
        return {
            "id": row.id, "kind": row.kind, "version": row.version, "number": row.number, "more": more, "body": body,
            "content": token(row.content), "centre": self._nowhere if row.centre is None else row.centre,
        }  # fmt: skip

    def _whole(self, rows: Iterable[Any]) -> Iterator[Row]:
        for row in rows:
            whole = self._with_parts(row)
            if whole is not None:
                yield whole

    def _with_parts(self, row: Any) -> Row | None:  # noqa: ANN401 - a mapping of pymilvus's own
        """The row, its body whole; None if it has gone since it was read."""
        rest = self.parts(row["id"], row["version"], row["more"]) if row["more"] else ""
        if rest is None:
            return self._read_again(row)
        centre = np.array(row["centre"], dtype=np.float32) if "centre" in row else None
        return Row(
            row["id"], row["kind"], int(row["version"]), int(row["number"]), row["body"] + rest,
            row.get("content", ""), centre,
        )  # fmt: skip

    def _read_again(self, before: Any) -> Row | None:  # noqa: ANN401 - a mapping of pymilvus's own
        """A row whose parts are not there: replaced or removed meanwhile, with its parts, or else damaged."""
        rows = self._client.call(
            "query", self._name, filter=f"id == {literal(before['id'])}", output_fields=list(before),
            consistency_level="Strong",
        )  # fmt: skip
        if not rows:
            return None
        if rows[0]["version"] == before["version"]:
            raise StoreCorrupt(
                f"the record of {key_in_record(before['body']) or before['id']!r} lacks its end: the store is damaged",
                way_out="Restore the store from a backup, or ingest the documents into a new one; keep this one until"
                " then.",
            )
        return self._with_parts(rows[0])


def damaged_parts(what: str) -> StoreCorrupt:
    """A text that is longer than one field lacks its end."""
    return StoreCorrupt(
        f"{what!r} lacks a part of its text: the store is damaged",
        way_out="Run `citewell verify --repair` and ingest again: it writes what is missing.",
    )


def part_id(owner: str, version: int, number: int) -> str:
    """The id of a part."""
    return "p:" + token(f"{owner}@{version}#{number}")


def pages(client: Client, name: str, chosen: str, fields: list[str]) -> Iterator[list[Any]]:
    """All rows that an expression matches, page by page, in the order of their primary key (`id`).

    Every page waits for whatever any process wrote before. pymilvus has an iterator of its own, which puts primary
    keys into its filters unescaped: a key with a quote in it breaks that, or means something else.
    """
    width = _AT_ONCE if "body" in fields or "terms" in fields else 10 * _AT_ONCE
    last = ""
    while True:
        behind = both(chosen, f"id > {literal(last)}" if last else "")
        rows = client.call(
            "query", name, filter=behind, output_fields=fields, limit=width, iterator="True",
            reduce_stop_for_best="True",
        )  # fmt: skip
        if rows:
            yield list(rows)
        # A server may give fewer than asked for where there are more; only nothing means that there is nothing.
        if len(rows) < (width if client.server.is_lite else 1):
            return
        last = str(rows[-1]["id"])
