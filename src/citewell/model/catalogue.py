"""What hints are made of: the catalogue as a store tells it, change by change, and the hints that it yields (L0-1).

These values know neither how a store keeps its catalogue nor how it is searched.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from citewell.model.documents import DocumentInfo
from citewell.model.evidence import Hint

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Mark:
    """A state of a store: equal marks mean that nothing was written in between.

    Attributes:
        origin: what was opened; another file under the same name is another origin.
        sequence: grows with every write; 0 = before the first.
    """

    origin: object
    sequence: int


@dataclass(frozen=True, slots=True)
class Catalogued:
    """A row of the catalogue, and where its document lies among the others.

    Attributes:
        centre: mean of the vectors of its chunks, float32 [dimensions], of any length; None if it isn't known.
    """

    info: DocumentInfo
    centre: NDArray[np.float32] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class CatalogueChanges:
    """What was written after a mark, as far as it was asked for.

    Attributes:
        mark: everything up to it is in `documents`; the store's own if `complete`.
        documents: new versions, each document once.
        count: documents in the store, so that a reader can tell whether some are gone.
        complete: whether nothing further was written by now.
    """

    mark: Mark
    documents: tuple[Catalogued, ...]
    count: int
    complete: bool


@dataclass(frozen=True, slots=True)
class KeptCopy:
    """A copy of the catalogue that a store keeps for whoever made it; what its parts say, only the maker knows.

    Attributes:
        mark: the state of the store that it is a copy of.
        parts: in the order in which they were numbered.
    """

    mark: Mark
    parts: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Hinted:
    """What the catalogue yields for a question.

    Attributes:
        hints: best first.
        category: the category that all of the likeliest documents have; None if they don't agree. What a filter may
            stand on, a guess among several may not.
        note: what there is to say, such as that the catalogue is still being read; empty for nothing.
    """

    hints: tuple[Hint, ...] = ()
    category: str | None = None
    note: str = ""
