"""Which documents lie closest to a question: all are compared, or those that lie on its side of most random planes.

It knows neither a document nor a filter, but a mask.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from citewell.hints.column import Column
from citewell.hints.sides import PLANES, WORDS, Sides
from citewell.hints.top import top

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Halves = NDArray[np.float16]
    Slots = NDArray[np.intp]

EXACT = 2_000
"""Up to so many documents each is compared; beyond, those that lie on the question's side of most random planes."""

_CANDIDATES = 128
_NUMBERS = 49_152
"""In few dimensions more documents are compared, of so many coordinates together: there the angles differ less."""

_AT_ONCE = 1_024
_HALF_TO_SINGLE = np.float32(2.0**112)
"""The ratio of the two forms' smallest exponents."""


class Near:
    """Remembers of centres what it needs of them, for as long as they only grow."""

    def __init__(self, dimensions: int) -> None:
        self._sides = Sides(dimensions)
        self._words = [Column(np.uint64) for _ in range(WORDS)]
        self._candidates = max(_CANDIDATES, _NUMBERS // dimensions)
        self._sharp: Floats | None = None

    def scores(self, centres: Halves, vector: Floats, allowed: NDArray[np.bool_] | None) -> tuple[Slots, Floats]:
        """The slots worth comparing, ascending, and the inner product of each with the vector.

        `allowed` is bool [slots]; None = all of them.
        """
        count = len(centres) if allowed is None else int(np.count_nonzero(allowed))
        if count > EXACT:
            slots = self._promising(centres, vector, allowed)
            return slots, products(sharp(centres.take(slots, axis=0)), vector)
        if len(centres) > EXACT and allowed is not None:
            slots = np.flatnonzero(allowed)
            return slots, products(sharp(centres.take(slots, axis=0)), vector)
        # All of a small catalogue is wanted each time, and kept ready.
        if self._sharp is None or len(self._sharp) != len(centres):
            self._sharp = sharp(centres)
        found = products(self._sharp, vector)
        slots = np.arange(len(centres)) if allowed is None else np.flatnonzero(allowed)
        return slots, found[slots]

    def _promising(self, centres: Halves, vector: Floats, allowed: NDArray[np.bool_] | None) -> Slots:
        self._follow(centres)
        alike = self._alike(vector)
        if allowed is None:
            return top(alike, self._candidates)
        alike *= allowed
        slots = top(alike, self._candidates)
        return slots[allowed[slots]]  # one that is like the question in nothing counts no more than one out of scope

    def _follow(self, centres: Halves) -> None:
        for start in range(len(self._words[0]), len(centres), _AT_ONCE):
            words = self._sides.of(sharp(centres[start : start + _AT_ONCE]))
            for at, column in enumerate(self._words):
                column.append(words[:, at])

    def _alike(self, vector: Floats) -> NDArray[np.uint8]:
        """Uint8 [slots]: of how many planes each lies on the vector's side."""
        size = len(self._words[0])
        alike, apart = np.full(size, PLANES, np.uint8), np.empty(size, np.uint8)
        different = np.empty(size, np.uint64)
        for column, asked in zip(self._words, self._sides.of(vector[np.newaxis])[0], strict=True):
            np.bitwise_xor(column.values, asked, out=different)
            alike -= np.bitwise_count(different, out=apart)
        return alike


def sharp(halves: Halves) -> Floats:
    """The same numbers in single precision; finite ones, in a third of numpy's time."""
    bits = halves.view(np.int16).astype(np.int32)
    bits <<= 13
    bits &= np.int32(-0x70000001)  # the sign, which has spread, stays in its own place alone
    wide: Floats = bits.view(np.float32)
    wide *= _HALF_TO_SINGLE
    return wide


def products(rows: Floats, vector: Floats) -> Floats:
    """Float32 [rows]: the inner product of each with the vector; equal for equal rows."""
    # Not `@`, which may round equal rows differently by their position.
    found: Floats = np.einsum("ij,j->i", rows, vector)
    return found
