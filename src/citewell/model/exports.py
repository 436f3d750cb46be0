"""A whole document as another store takes it in: what `reindex` copies.

These values don't know where they come from, nor how they will be kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from citewell.model.documents import DocumentRecord
from citewell.model.search import StoredChunk

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class ExportedDocument:
    """A document, its chunks in reading order, and what their vectors are.

    Attributes:
        record: as the source has it; the copy gets a fingerprint of its own.
        chunks: in reading order, unless `remark` says otherwise; their own indexes may be missing or have gaps.
        vectors: per chunk the stored vector, of any length; None where there is none.
        context_digests: per chunk the digest of what its vector was made from; None where the source doesn't know.
        remark: what a person should know, such as an order that is not known.
    """

    record: DocumentRecord
    chunks: tuple[StoredChunk, ...]
    vectors: tuple[NDArray[np.float32] | None, ...]
    context_digests: tuple[str | None, ...]
    remark: str = ""
