"""One state of everything searched, at one sequence number: segments, and which of their rows are live.

A view never changes; a write makes the next one. Slots number the rows of all segments, in order. It knows no
database and no file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np

from citewell.adapters.local.segments import Segment

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from citewell.adapters.local.segments import Bools, Int32s, Int64s

Number = TypeVar("Number", np.int32, np.int64)
Made = TypeVar("Made")


@dataclass(frozen=True)
class View:
    """Everything searched, as of `sequence`.

    Attributes:
        sequence: of the store when the view was true.
        segments: their rows ascend, from the first to the last.
        documents: int64 [slots], the number of the document of each.
        indexes: int32 [slots], the chunk index of each.
        live: bool [slots], whether the row is still stored.
        terms: how many the live rows have, repeats counted, where the view before told; None = they are counted.
    """

    sequence: int
    segments: tuple[Segment, ...]
    documents: Int64s
    indexes: Int32s
    live: Bools
    terms: int | None = None

    _derived: dict[Callable[[View], object], object] = field(default_factory=dict, init=False, repr=False)

    def derived(self, make: Callable[[View], Made]) -> Made:
        """What `make` makes of this view; made once and kept for as long as the view lives."""
        if make not in self._derived:
            self._derived[make] = make(self)
        return cast("Made", self._derived[make])

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
    def length(self) -> int:
        """Terms in all live rows, repeats counted."""
        if self.terms is not None:
            return self.terms
        total = sum(int(segment.lengths.sum()) for segment in self.segments)
        return total - int(self.lengths_of(np.flatnonzero(~self.live)).sum())

    @property
    def mean_length(self) -> float:
        """Terms in a live row; 1 if there are none."""
        return self.length / self.size if self.length else 1.0

    def parts(self) -> Iterator[tuple[Segment, slice]]:
        """Each segment with its slots."""
        for segment, start, end in zip(self.segments, self.bases[:-1], self.bases[1:], strict=True):
            yield segment, slice(start, end)

    def rows_of(self, slots: Int64s) -> Int64s:
        """The row in each of these slots."""
        rows = np.empty(slots.size, dtype=np.int64)
        for segment, span in self.parts():
            here = np.flatnonzero((slots >= span.start) & (slots < span.stop))
            rows[here] = segment.rows.take(slots.take(here) - span.start)
        return rows

    def lengths_of(self, slots: Int64s) -> Int64s:
        """How many terms the row in each of these slots, ascending, has."""
        lengths = np.empty(slots.size, dtype=np.int64)
        edges = slots.searchsorted(self.bases).tolist()
        for segment, base, start, end in zip(self.segments, self.bases, edges, edges[1:], strict=False):
            lengths[start:end] = segment.lengths.take(slots[start:end] - base)
        return lengths

    def slots_of(self, rows: Int64s) -> Int64s:
        """The slot of each row that is live here, in the order of the rows; others are left out."""
        slots = np.full(rows.size, -1, dtype=np.int64)
        # Segment by segment, here and above: the rows of all in one array would have to be made after every write.
        for segment, span in self.parts():
            places = np.minimum(np.searchsorted(segment.rows, rows), segment.size - 1)
            here = segment.rows[places] == rows
            slots[here] = places[here] + span.start
        found: Int64s = slots[slots >= 0]
        return found[self.live[found]]


def concatenated(arrays: Sequence[NDArray[Number]], dtype: type[Number]) -> NDArray[Number]:
    """The arrays one after the other; of no arrays, an empty one."""
    return np.concatenate(arrays) if arrays else np.empty(0, dtype=dtype)
