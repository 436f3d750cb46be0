"""Which of many documents are worth comparing with a question: those that lie close in a few random directions.

What it finds is compared exactly elsewhere. It knows no filter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from citewell.hints.block import Block

_COARSE = 64


class Axes:
    """Random directions at right angles, the same each time, and where each block's documents lie along them."""

    def __init__(self, dimensions: int) -> None:
        drawn = np.random.default_rng(0).normal(size=(dimensions, min(_COARSE, dimensions)))
        self._axes: NDArray[np.float32] = np.linalg.qr(drawn)[0].astype(np.float32)
        self._along: WeakKeyDictionary[Block, NDArray[np.float32]] = WeakKeyDictionary()

    def rough(self, block: Block, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """Float32 [documents]: about how close each lies to the vector; 0 for one without a direction."""
        if not block.centres.shape[1]:
            return np.zeros(block.size, np.float32)
        along = self._along.get(block)
        if along is None:
            along = self._along[block] = block.centres.astype(np.float32) @ self._axes
        return products(along, vector @ self._axes)


class Sharp:
    """Blocks' centres in single precision, as long as the blocks are there: half precision is slow to compute with."""

    def __init__(self) -> None:
        self._centres: WeakKeyDictionary[Block, NDArray[np.float32]] = WeakKeyDictionary()

    def of(self, block: Block) -> NDArray[np.float32]:
        """Float32 [documents, dimensions]."""
        found = self._centres.get(block)
        if found is None:
            found = self._centres[block] = block.centres.astype(np.float32)
        return found


def products(rows: NDArray[np.float32], vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """Float32 [rows]: the inner product of each with the vector."""
    # Not `@`: its threads wait for each other where other work has the cores, which took a hundred times as long.
    found: NDArray[np.float32] = np.einsum("ij,j->i", rows, vector)
    return found
