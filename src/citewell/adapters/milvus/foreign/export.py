"""An attached collection as whole documents, for `reindex`: rows gathered by document and put in reading order.

What order there is, is decided here: by chunk index, by place in the text, by the order of insertion. Where none of
them is known, the remark says so. It knows no target.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from citewell.adapters.milvus.foreign.attachment import Attachment
from citewell.adapters.milvus.foreign.collection import Collection, vector_of
from citewell.adapters.milvus.foreign.derived import Derived, shared
from citewell.adapters.milvus.foreign.rows import PrimaryKey, Row, RowReader
from citewell.errors import InvalidRequest
from citewell.identity import check_doc_id
from citewell.model import DocumentRecord
from citewell.model.exports import ExportedDocument

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_READ_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class _Member:
    row: Row
    vector: NDArray[np.float32]

    @property
    def place(self) -> tuple[int, int] | None:
        """Page and character with which it begins; None if the character is not known."""
        span = self.row.chunk.span
        return None if span is None else (self.row.chunk.locator.page or 0, span[0])

    @property
    def pk(self) -> tuple[str, PrimaryKey]:
        """Comparable whatever its type."""
        return (type(self.row.pk).__name__, self.row.pk)


def exported(
    derived: Derived, collection: Collection, reader: RowReader, attachment: Attachment
) -> Iterator[ExportedDocument]:
    """Every document of the collection by document id, then every row that has none; read as they are asked for."""
    batch: list[tuple[str | None, list[PrimaryKey]]] = []
    names = _Names(attachment.collection, (doc_id for doc_id, _ in derived.members()))
    for each in derived.members():
        batch.append(each)
        if sum(len(pks) for _, pks in batch) >= _READ_AT_ONCE:
            yield from _read(batch, collection, reader, attachment.vector, names)
            batch = []
    yield from _read(batch, collection, reader, attachment.vector, names)


def _read(
    batch: Sequence[tuple[str | None, list[PrimaryKey]]],
    collection: Collection,
    reader: RowReader,
    vector: str,
    names: _Names,
) -> Iterator[ExportedDocument]:
    entities = collection.rows([pk for _, pks in batch for pk in pks], vectors=True)
    members = [_Member(reader.read(entity), vector_of(entity, vector)) for entity in entities]
    found = {member.row.pk: member for member in members}
    for doc_id, pks in batch:
        there = [found[pk] for pk in pks if pk in found and found[pk].row.chunk.doc_id == doc_id]
        if there:
            yield _document(doc_id, there, names, counts_up=collection.schema.counts_up)


def _document(doc_id: str | None, members: Sequence[_Member], names: _Names, *, counts_up: bool) -> ExportedDocument:
    distinct, repeats = _without_repeats(members)
    ordered, remark = _in_order(distinct, counts_up=counts_up)
    scope, narrowed = _common_scope(ordered)
    name, renamed = names.give(doc_id, ordered[0])
    first = ordered[0].row.chunk
    remarks = [renamed, f"{repeats} rows that repeat another one left out" if repeats else "", remark, narrowed]
    return ExportedDocument(
        record=DocumentRecord(
            doc_id=name,
            title=first.title,
            source=first.source or name,
            category=first.category,
            scope=scope,
            metadata=shared(dict(member.row.chunk.metadata) for member in ordered),
            headings=tuple(dict.fromkeys(m.row.chunk.breadcrumb for m in ordered if m.row.chunk.breadcrumb)),
        ),
        chunks=tuple(member.row.chunk for member in ordered),
        vectors=tuple(member.vector for member in ordered),
        context_digests=(None,) * len(ordered),
        remark="; ".join(filter(None, remarks)),
    )


def _without_repeats(members: Sequence[_Member]) -> tuple[list[_Member], int]:
    """Rows with one key and one text are one chunk: the one with the smallest primary key stays."""
    kept: dict[tuple[str, str], _Member] = {}
    for member in sorted(members, key=lambda each: each.pk):
        kept.setdefault((member.row.chunk.evidence_key, member.row.chunk.digest), member)
    return list(kept.values()), len(members) - len(kept)


def _in_order(members: Sequence[_Member], *, counts_up: bool) -> tuple[list[_Member], str]:
    """In reading order, and what is to be said of it."""
    by_pk = sorted(members, key=lambda member: member.pk)
    indexes = [member.row.chunk.chunk_index for member in by_pk]
    if None not in indexes and len(set(indexes)) == len(indexes):
        ordered = sorted(by_pk, key=lambda member: member.row.chunk.chunk_index or 0)
        is_whole = [member.row.chunk.chunk_index for member in ordered] == list(range(len(ordered)))
        return ordered, "" if is_whole else "its chunk indexes had gaps; they are counted anew from 0"
    said = "chunk indexes given in the order"
    places = [member.place for member in by_pk]
    if None not in places and len(set(places)) == len(places):
        return sorted(by_pk, key=lambda member: member.place or (0, 0)), f"{said} of their places in the text"
    if counts_up or len(by_pk) == 1:
        return (
            by_pk,
            f"{said} in which the rows were inserted" if counts_up else "chunk index given: it is the only one",
        )
    pages = [member.row.chunk.locator.page for member in by_pk]
    if None not in pages:
        ordered = sorted(by_pk, key=lambda member: member.row.chunk.locator.page or 0)
        known = len(set(pages)) == len(pages)
        return ordered, f"{said} of their pages" + ("" if known else "; the order within a page is not known")
    return by_pk, "the order of its chunks is not known; they were taken by primary key"


def _common_scope(members: Sequence[_Member]) -> tuple[tuple[str, ...] | None, str]:
    """A document has one scope: the labels that all its chunks bear, so that nobody sees more than before."""
    scopes = {member.row.chunk.scope for member in members}
    if len(scopes) == 1:
        return next(iter(scopes)), ""
    common = set.intersection(*(set(scope or ()) for scope in scopes))
    return tuple(sorted(common)) or None, "its chunks bear different labels; it bears those that all of them have"


class _Names:
    """Document ids that a store takes, each given once.

    Args:
        collection: that documents come from.
        known: the ids that its documents have.
    """

    def __init__(self, collection: str, known: Iterable[str | None]) -> None:
        self._collection, self._taken = collection, {name for name in known if name is not None}

    def give(self, doc_id: str | None, first: _Member) -> tuple[str, str]:
        """A document's own id; where it has none, or none that is taken, one that is nobody else's, and what to say."""
        if doc_id is None:
            return self._new(str(first.row.pk)), "it has no document id and is a document by itself"
        try:
            return check_doc_id(doc_id), ""
        except InvalidRequest:
            return self._new(doc_id), f"renamed from {doc_id!r}, which looks like a fallback key"

    def _new(self, name: str) -> str:
        """The collection and the name; the collection again, as long as that is another document's."""
        found = f"{self._collection}/{name}"
        while found in self._taken:
            found = f"{self._collection}/{found}"
        self._taken.add(found)
        return found
