"""Which documents lie closest to a question: all are compared, or those that lie close in a few random directions.

It knows neither a document nor a filter, but a mask.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from citewell.hints.column import Column
from citewell.hints.top import top

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Halves = NDArray[np.float16]
    Slots = NDArray[np.intp]

EXACT = 2_000
"""Up to so many documents each is compared; beyond, those that lie closest in a few random directions."""

_COARSE = 64
_CANDIDATES = 256
_ENCODED_AT_ONCE = 1_024
_AT_ONCE = 400_000
"""Numbers multiplied at once: few enough that BLAS stays on the calling thread, since handing half to another costs a
scheduler's time slice where cores are busy."""

_HALF_TO_SINGLE = np.float32(2.0**112)
"""The ratio of the two forms' smallest exponents."""


class Near:
    """Remembers of centres what it needs of them, for as long as they only grow."""

    def __init__(self, dimensions: int) -> None:
        drawn = np.random.default_rng(0).normal(size=(dimensions, min(_COARSE, dimensions)))
        self._axes: Floats = np.linalg.qr(drawn)[0].astype(np.float32)
        self._along = Column(np.float32, self._axes.shape[1])
        self._sharp: Floats | None = None

    def scores(self, centres: Halves, vector: Floats, allowed: NDArray[np.bool_] | None) -> tuple[Slots, Floats]:
        """The slots worth comparing, ascending, and the inner product of each with the vector.

        `allowed` is bool [slots]; None = all of them.
        """
        count = len(centres) if allowed is None else int(np.count_nonzero(allowed))
        if count > EXACT:
            slots = self._candidates(centres, vector, allowed)
            return slots, products(sharp(centres[slots]), vector)
        if len(centres) > EXACT and allowed is not None:
            slots = np.flatnonzero(allowed)
            return slots, products(sharp(centres[slots]), vector)
        # All of a small catalogue is wanted each time, and kept ready.
        if self._sharp is None or len(self._sharp) != len(centres):
            self._sharp = sharp(centres)
        found = products(self._sharp, vector)
        slots = np.arange(len(centres)) if allowed is None else np.flatnonzero(allowed)
        return slots, found[slots]

    def _candidates(self, centres: Halves, vector: Floats, allowed: NDArray[np.bool_] | None) -> Slots:
        rough = self._rough(centres, vector)
        if allowed is not None:
            rough[~allowed] = -np.inf
        return top(rough, _CANDIDATES)

    def _rough(self, centres: Halves, vector: Floats) -> Floats:
        """Float32 [slots]: about how close each lies to the vector."""
        for start in range(len(self._along), len(centres), _ENCODED_AT_ONCE):
            self._along.append(sharp(centres[start : start + _ENCODED_AT_ONCE]) @ self._axes)
        along, coarse, found = self._along.values, vector @ self._axes, np.empty(len(centres), np.float32)
        step = _AT_ONCE // coarse.size
        for start in range(0, len(centres), step):
            np.dot(along[start : start + step], coarse, out=found[start : start + step])
        return found


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
