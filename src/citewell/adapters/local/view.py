"""One state of everything searched, at one sequence number: segments, and which of their rows are live.

A view never changes; a write makes the next one. Slots number the rows of all segments, in order. It knows no
database and no file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from citewell.adapters.local.segments import Segment

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from citewell.adapters.local.segments import Bools, Int32s, Int64s

    Floats = NDArray[np.float32]

Number = TypeVar("Number", np.int32, np.int64)


@dataclass(frozen=True)
class View:
    """Everything searched, as of `sequence`.

    Attributes:
        sequence: of the store when the view was true.
        segments: their rows ascend, from the first to the last.
        documents: int64 [slots], the number of the document of each.
        indexes: int32 [slots], the chunk index of each.
        live: bool [slots], whether the row is still stored.
    """

    sequence: int
    segments: tuple[Segment, ...]
    documents: Int64s
    indexes: Int32s
    live: Bools

    @cached_property
    def bases(self) -> tuple[int, ...]:
        """The first slot of each segment, and the number of slots."""
        return tuple(np.cumsum([0, *(segment.size for segment in self.segments)]).tolist())

    @cached_property
    def size(self) -> int:
        """Live rows."""
        return int(np.count_nonzero(self.live))

    @cached_property
    def is_whole(self) -> bool:
        """Whether every row is live."""
        return self.size == self.live.size

    @cached_property
    def rows(self) -> Int64s:
        """Int64 [slots], ascending."""
        return concatenated([segment.rows for segment in self.segments], np.int64)

    @cached_property
    def lengths(self) -> Int32s:
        """Int32 [slots], terms in each."""
        return concatenated([segment.lengths for segment in self.segments], np.int32)

    @cached_property
    def mean_length(self) -> float:
        """Of the live rows; 0 if there are none."""
        return float(self.lengths.sum(where=self.live)) / self.size if self.size else 0.0

    @cached_property
    def relative_lengths(self) -> Floats:
        """Float32 [slots], the length of each over the mean length."""
        return (self.lengths / (self.mean_length or 1.0)).astype(np.float32)

    def parts(self) -> Iterator[tuple[Segment, slice]]:
        """Each segment with its slots."""
        for segment, start, end in zip(self.segments, self.bases[:-1], self.bases[1:], strict=True):
            yield segment, slice(start, end)

    def slots_of(self, rows: Int64s) -> Int64s:
        """The slot of each row that is live here, in the order of the rows; others are left out."""
        if not self.rows.size:
            return np.empty(0, dtype=np.int64)
        slots = np.minimum(np.searchsorted(self.rows, rows), self.rows.size - 1)
        found: Int64s = slots[(self.rows[slots] == rows) & self.live[slots]]
        return found


def concatenated(arrays: Sequence[NDArray[Number]], dtype: type[Number]) -> NDArray[Number]:
    """The arrays one after the other; of no arrays, an empty one."""
    return np.concatenate(arrays) if arrays else np.empty(0, dtype=dtype)
