"""What many documents have in common, such as a category: each value once, and a number for each document.

It knows nothing of what the values say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from citewell.hints.column import Column

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """Of a run of documents.

    Attributes:
        values: that occur.
        of: int32 [documents], which of them each has.
    """

    values: tuple[Any, ...]
    of: NDArray[np.int32]


def coded(values: Sequence[Any]) -> Coded:
    """Of documents with these values; what can't be hashed counts as different from everything else."""
    known: dict[object, int] = {}
    kept: list[Any] = []
    numbers = []
    for at, value in enumerate(values):
        key = value if _is_hashable(value) else (at, "of its own")
        if key not in known:
            known[key] = len(kept)
            kept.append(value)
        numbers.append(known[key])
    return Coded(tuple(kept), np.array(numbers, np.int32))


def _is_hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


class CodedColumn:
    """Of all documents of an index.

    Args:
        once: whether a value of several blocks is kept once: worth it where few values are expected.
    """

    def __init__(self, *, once: bool) -> None:
        self.values: list[Any] = []
        self._of = Column(np.int32)
        self._known: dict[object, int] | None = {} if once else None

    @property
    def of(self) -> NDArray[np.int32]:
        """Int32 [documents], which of the values each has."""
        found: NDArray[np.int32] = self._of.values
        return found

    def append(self, more: Coded) -> None:
        """Put these documents behind the others."""
        self._of.append(np.array([self._number(value) for value in more.values], np.int32)[more.of])

    def part(self, span: slice) -> Coded:
        """Of these documents."""
        numbers = coded(self.of[span].tolist())
        return Coded(tuple(self.values[number] for number in numbers.values), numbers.of)

    def kept(self, mask: NDArray[np.bool_]) -> CodedColumn:
        """The documents where the mask is true, and what they have: what has gone would otherwise be held for ever."""
        left = CodedColumn(once=self._known is not None)
        used, of = np.unique(self.of[mask], return_inverse=True)
        left.append(Coded(tuple(self.values[number] for number in used.tolist()), of.astype(np.int32)))
        return left

    def _number(self, value: object) -> int:
        number = len(self.values) if self._known is None else self._known.setdefault(value, len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number
