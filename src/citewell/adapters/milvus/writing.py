"""Writes documents so that readers see the old version or the new one, on an engine without transactions (INGEST-5..7).

    1. the rows of all new versions are inserted, under numbers above the head's: nobody sees them
    2. one request writes the documents' rows, the head and tombstones: this is the commit
    3. the rows of versions that no snapshot of this process reads any more are removed, and the head forgets them

Killed before 2, the store is as it was: the next writer removes what has a number above the head's. Killed after 2, the
head names what is left to remove. Whatever happens, each step may be done again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from citewell.adapters.milvus.bodies import has_parts
from citewell.adapters.milvus.catalogue import HEAD, Catalogue, Row, document_id
from citewell.adapters.milvus.rows import NewVersion, checked, new_version
from citewell.adapters.milvus.state import Head, State
from citewell.errors import StoreConflict, StoreError
from citewell.identity import format_key
from citewell.model import DocumentChange, Reuse

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from citewell.adapters.milvus.chunks import Chunks
    from citewell.adapters.milvus.lease import Lease, NoLease

_AT_ONCE = 500
"""The most documents of one commit: it is one request, and a server takes 64 MB."""


class Writer:
    """Writes to one store; callers hold the turn and the lease."""

    def __init__(
        self,
        chunks: Chunks,
        catalogue: Catalogue,
        state: State,
        lease: Lease | NoLease,
        dimensions: int,
    ) -> None:
        self._chunks, self._catalogue, self._state = chunks, catalogue, state
        self._lease, self._dimensions = lease, dimensions

    def apply(self, changes: Sequence[DocumentChange]) -> None:
        """Write these versions, in commits of bounded size; nothing is written if one of them can't be."""
        ids = [document_id(change.document.doc_id) for change in changes]
        stored = self._current(ids)
        _check(changes, ids, stored)
        first = self._next()
        new = [
            new_version(change, self._vectors(change, stored.get(id_)), version)
            for version, (change, id_) in enumerate(zip(changes, ids, strict=True), first)
        ]
        for start in range(0, len(new), _AT_ONCE):
            some = new[start : start + _AT_ONCE]
            replaced = [stored[version.document.id] for version in some if version.document.id in stored]
            last = some[-1].document.version
            self._commit(self._after(last, some, replaced), [version.document for version in some], some)

    def delete(self, doc_ids: Sequence[str]) -> int:
        """Remove these documents and return how many chunks went."""
        ids = list(dict.fromkeys(document_id(doc_id) for doc_id in doc_ids))
        gone = 0
        for start in range(0, len(ids), _AT_ONCE):
            stored = list(self._current(ids[start : start + _AT_ONCE]).values())
            if stored:
                sequence = self._next()
                tombs = [Row(row.id, "gone", sequence) for row in stored]
                self._commit(self._after(sequence, [], stored), tombs, [])
                gone += sum(row.number for row in stored)
        return gone

    def repair(self) -> None:
        """Finish what a writer that was killed, or whose write failed, left: no number above the head's has rows."""
        self._chunks.remove(f"version > {self._state.head.sequence}")
        self._catalogue.remove(f'kind == "part" and version > {self._state.head.sequence}')
        self._state.is_suspect = False
        self.purge()

    def purge(self) -> None:
        """Remove the rows of retired versions that nobody in this process reads any more."""
        gone = self._state.purgeable()
        head = self._state.head
        if not gone:
            return
        for start in range(0, len(gone), _AT_ONCE):
            some = gone[start : start + _AT_ONCE]
            self._chunks.remove(f"version in {some}")
            if head.has_extras:
                self._catalogue.remove(f'kind == "gone" or (kind == "part" and version in {some})')
        left = tuple(version for version in head.retired if version not in set(gone))
        after = replace(head, retired=left, has_extras=head.has_extras and bool(left))
        self._catalogue.put([_head_row(after)])
        self._state.moved(after)

    def _current(self, ids: Sequence[str]) -> dict[str, Row]:
        return {id_: row for id_, row in self._catalogue.get(ids).items() if row.kind == "document"}

    def _vectors(self, change: DocumentChange, stored: Row | None) -> list[NDArray[np.float32]]:
        held: Mapping[int, NDArray[np.float32]] = {}
        if stored and any(isinstance(vector, Reuse) for vector in change.vectors):
            held = self._chunks.vectors(change.document.doc_id, stored.version, stored.number)
        doc_id = change.document.doc_id
        vectors = []
        for index, vector in enumerate(change.vectors):
            if isinstance(vector, Reuse) and vector.chunk_index not in held:
                raise StoreConflict(f"{doc_id!r} reuses a vector that its stored version lacks", way_out="Plan again.")
            own = held[vector.chunk_index] if isinstance(vector, Reuse) else vector
            vectors.append(checked(own, self._dimensions, format_key(doc_id, index)))
        return vectors

    def _next(self) -> int:
        """The number of the next version; after a write that failed, what it left goes first."""
        if self._state.is_suspect:
            self.repair()
        return max(self._state.head.sequence, *self._state.failed, 0) + 1

    def _after(self, sequence: int, new: Sequence[NewVersion], replaced: Sequence[Row]) -> Head:
        """The head after a commit that brings these versions and retires those, and those that failed before."""
        head = self._state.head
        retired = (*head.retired, *self._state.failed, *(row.version for row in replaced))
        return Head(
            sequence,
            head.documents + len(new) - len(replaced),
            head.chunks + sum(len(version.chunks) for version in new) - sum(row.number for row in replaced),
            retired,
            head.has_extras or len(replaced) > len(new) or any(has_parts(row.body) for row in replaced),
        )

    def _commit(self, head: Head, rows: list[Row], new: Sequence[NewVersion]) -> None:
        with self._state.writing():
            self._state.is_suspect = True
            try:
                self._write(new)
                self._lease.beat()
                self._catalogue.put([*rows, _head_row(head)])
            except StoreError:
                if not self._was_committed(head):
                    self._state.failed += tuple(range(self._state.head.sequence + 1, head.sequence + 1))
                    raise
            self._state.is_suspect, self._state.failed = False, ()
            self._state.moved(head)
        self._state.unflushed += sum(len(version.chunks) for version in new)
        self.purge()

    def _write(self, new: Sequence[NewVersion]) -> None:
        rows = [row for version in new for row in version.chunks]
        for start in range(0, len(rows), _AT_ONCE):
            self._chunks.insert(rows[start : start + _AT_ONCE])
            self._lease.beat()
        for version in new:
            for owner, rest in version.parts.items():
                self._catalogue.put_parts(owner, version.document.version, rest)

    def _was_committed(self, head: Head) -> bool:
        """A request whose answer was lost may have been carried out all the same."""
        try:
            held = self._catalogue.get([HEAD], strong=True)
        except StoreError:
            return False
        return HEAD in held and Head.read(held[HEAD].body) == head


def _head_row(head: Head) -> Row:
    return Row(HEAD, "meta", head.sequence, head.chunks, head.body())


def _check(changes: Sequence[DocumentChange], ids: Sequence[str], stored: Mapping[str, Row]) -> None:
    """Refuse the whole call before anything of it is written."""
    seen: set[str] = set()
    for change, id_ in zip(changes, ids, strict=True):
        doc_id = change.document.doc_id
        held = stored[id_].version if id_ in stored else 0
        if id_ in seen:
            raise StoreConflict(f"the batch holds the document {doc_id!r} twice", way_out="Give each document once.")
        if change.expected_version != held:
            raise StoreConflict(
                f"the document {doc_id!r} is stored as version {held}, not {change.expected_version}",
                way_out="Plan again.",
            )
        seen.add(id_)
