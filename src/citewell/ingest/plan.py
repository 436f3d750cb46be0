"""What is stored against what was read: which chunks need a vector, which keep theirs (INGEST-5). Pure.

Decided per document, never per batch. Knows no embedder and no store; vectors come in when they are made, or with the
document whose text this one has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from citewell.model import Chunk, DocumentChange, DocumentRecord, Reuse, StoredDocument

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

Kind = Literal["added", "updated", "metadata", "unchanged"]


@dataclass(frozen=True, slots=True)
class Plan:
    """How the new version of a document is written.

    Attributes:
        kind: `metadata`: no chunk needs a vector and none goes or moves; `unchanged`: nothing needs to be written.
        record, chunks: the new version.
        fresh: indexes of the chunks to embed, ascending; of chunks that are embedded alike only the first.
        sources: per chunk a Reuse of the stored version's vector, or the vector that another document has for it, or
            the place in `fresh` of the chunk whose vector it takes.
        expected_version: of the stored document; 0 if there is none.
    """

    kind: Kind
    record: DocumentRecord
    chunks: tuple[Chunk, ...]
    fresh: tuple[int, ...]
    sources: tuple[Reuse | Vector | int, ...]
    expected_version: int

    def change(self, vectors: Sequence[Vector]) -> DocumentChange:
        """The change to write; `vectors` holds one vector per entry of `fresh`, in its order."""
        taken = tuple(vectors[source] if isinstance(source, int) else source for source in self.sources)
        return DocumentChange(self.record, self.chunks, taken, self.expected_version)


def diff(
    stored: StoredDocument | None,
    record: DocumentRecord,
    chunks: Sequence[Chunk],
    others: Mapping[str, Vector] | None = None,
) -> Plan:
    """Compare a document with its stored version, if there is one.

    A chunk keeps a vector when the stored version has one for the same context digest, wherever it stood there; the
    first of several equal ones is taken. Else it takes the one that `others` has for that digest.
    """
    old = stored.context_digests if stored else ()
    places = {digest: Reuse(index) for index, digest in reversed(list(enumerate(old)))}
    fresh: dict[str, int] = {}
    indexes: list[int] = []
    sources: list[Reuse | Vector | int] = []
    others = others or {}
    for chunk in chunks:
        digest = chunk.context_digest
        if digest in places:
            sources.append(places[digest])
            continue
        if digest in others:
            sources.append(others[digest])
            continue
        if digest not in fresh:
            fresh[digest] = len(indexes)
            indexes.append(chunk.chunk_index)
        sources.append(fresh[digest])
    kind = _kind(stored, record, tuple(chunk.context_digest for chunk in chunks))
    return Plan(kind, record, tuple(chunks), tuple(indexes), tuple(sources), stored.version if stored else 0)


def _kind(stored: StoredDocument | None, record: DocumentRecord, digests: tuple[str, ...]) -> Kind:
    if stored is None:
        return "added"
    if digests != stored.context_digests:
        return "updated"
    return "unchanged" if record == stored.record else "metadata"
