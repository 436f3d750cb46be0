"""Sign codes: one bit per rotated dimension, from which inner products with a query are estimated.

A vector is centred, rotated at random (the same rotation everywhere) and each coordinate's sign kept, with one scale
per vector. The inner product with a query is estimated from signs, scale and the query's own coordinates, of which
two sizes are told apart (after RaBitQ, Gao and Long 2024), or roughly from its signs alone, at half the cost.
Centring and rotating make it work for vectors that share an offset or whose energy lies in few dimensions.
Which vectors are scored exactly is decided elsewhere; this module knows neither filters nor files.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from citewell.adapters.local.chance import Chance

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Words = NDArray[np.uint64]

_SIDE = 64
_ROUNDS = 2
_SEED = 20_260
_ENCODED_AT_ONCE = 8_192
_COMPARED_AT_ONCE = 65_536
_LARGE = 0.98
"""In standard deviations; coordinates beyond it weigh 3, the others 1: the best two sizes for a normal distribution
(Lloyd and Max: .45 and 1.51)."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A query as codes are compared with it.

    Attributes:
        rotated: float32 [width].
        signs: uint64 [width / 64, 1], of its coordinates.
        large: uint64 [width / 64, 1], which of them count three times.
        weight: of all coordinates together, the large ones three times.
        size: of a coordinate where all count once.
        step: of one that counts once where large ones count three times.
    """

    rotated: Floats
    signs: Words
    large: Words
    weight: int
    size: float
    step: float


def ask(vector: Floats) -> Asked:
    """What to compare codes with, for a query that is float32 [dimensions]."""
    rotated = vector @ _rotation(vector.size)
    sizes = np.abs(rotated)
    large = sizes > _LARGE * math.sqrt(float(rotated @ rotated) / rotated.size)
    count, total, of_large = int(np.count_nonzero(large)), float(sizes.sum()), float(sizes @ large)
    # The sizes for which signs and weights come nearest to the coordinates, by least squares.
    step = (total + 2 * of_large) / (rotated.size + 8 * count)
    signs, many = _packed(rotated[None] > 0), _packed(large[None])
    return Asked(rotated, signs, many, rotated.size + 2 * count, total / rotated.size, step)


@dataclass(frozen=True, slots=True)
class Codes:
    """The codes of a block of vectors.

    Attributes:
        middle: float32 [width], the rotated mean that they were centred with.
        bits: uint64 [width / 64, vectors]; width is the dimensions, rounded up to a multiple of 64.
        scales: float32 [vectors], by which signs stand for a vector: its squared length over its coordinates' sum.
    """

    middle: Floats
    bits: Words
    scales: Floats

    def at(self, places: NDArray[np.int64]) -> Codes:
        """The codes of some of the vectors, in this order."""
        return Codes(self.middle, np.take(self.bits, places, axis=1), self.scales[places])

    def level(self, asked: Asked) -> float:
        """The inner product of the query with the mean."""
        return float(asked.rotated @ self.middle)

    def rough(self, asked: Asked) -> Floats:
        """Float32 [vectors]: how far each agrees with the query, of which signs alone are compared.

        Twice as much times the query's `size` estimates what its inner product is above the level.
        """
        differences = np.zeros(self.scales.size, dtype=np.int16)
        words = np.empty((len(self.bits), min(differences.size, _COMPARED_AT_ONCE)), dtype=np.uint64)
        counts = np.empty(words.shape, dtype=np.uint8)
        # Slices that stay in the processor's cache, in few calls: another thread gets on meanwhile.
        for start in range(0, differences.size, _COMPARED_AT_ONCE):
            part = differences[start : start + _COMPARED_AT_ONCE]
            different, once = words[:, : part.size], counts[:, : part.size]
            np.bitwise_xor(self.bits[:, start : start + part.size], asked.signs, out=different)
            np.bitwise_count(different, out=once)
            for word in range(0, len(once), 3):  # 3 x 64, which a byte holds
                part += np.add.reduce(once[word : word + 3], axis=0, dtype=np.uint8)
        return self._agreement(asked.rotated.size, differences)

    def fine(self, asked: Asked) -> Floats:
        """Float32 [vectors]: an estimate of each inner product, for which large coordinates count three times."""
        different = self.bits ^ asked.signs
        once = np.bitwise_count(different)
        different &= asked.large
        twice = np.bitwise_count(different)
        # 64 coordinates of weight 3 make 192, which a byte holds.
        once += twice
        once += twice
        agreement = self._agreement(asked.weight, np.add.reduce(once, axis=0, dtype=np.int16))
        agreement *= 2 * asked.step
        agreement += self.level(asked)
        return agreement

    def _agreement(self, weight: int, differences: NDArray[np.int16]) -> Floats:
        np.subtract(weight // 2, differences, out=differences)
        agreement = differences.astype(np.float32)
        agreement *= self.scales
        return agreement


def make_codes(vectors: Floats) -> Codes:
    """The codes of these vectors, float32 [vectors, dimensions], centred with their own mean."""
    count, dimensions = vectors.shape
    rotation = _rotation(dimensions)
    middle = vectors.mean(axis=0, dtype=np.float64).astype(np.float32) @ rotation
    bits = np.empty((rotation.shape[1] // _SIDE, count), dtype=np.uint64)
    scales = np.empty(count, dtype=np.float32)
    for start in range(0, count, _ENCODED_AT_ONCE):
        end = start + _ENCODED_AT_ONCE
        rotated = vectors[start:end] @ rotation - middle
        bits[:, start:end] = _packed(rotated > 0)
        total = np.abs(rotated).sum(axis=1)
        # A vector that is the mean itself has no direction; nothing is added for it.
        scales[start:end] = np.square(rotated).sum(axis=1) / np.where(total > 0, total, 1)
    return Codes(middle, bits, scales)


def _packed(flags: NDArray[np.bool_]) -> Words:
    """Uint64 [flags per row / 64, rows]: a bit per flag."""
    words: Words = np.packbits(flags, axis=1, bitorder="little").view(np.uint64).T
    return words


@lru_cache(maxsize=4)
def _rotation(dimensions: int) -> NDArray[np.float32]:
    """Float32 [dimensions, width], orthonormal rows; width is the next multiple of 64.

    Signs are flipped, coordinates shuffled and mixed 64 at a time, twice. Every entry is an exact multiple of 1/64, and
    the stream is frozen, so that codes made elsewhere and by other versions of numpy stay valid.
    """
    width = -(-dimensions // _SIDE) * _SIDE
    chance = Chance(_SEED)
    rotation = np.eye(dimensions, width, dtype=np.float32)
    for _ in range(_ROUNDS):
        signs, order = np.array(chance.signs(width), dtype=np.float32), chance.order(width)
        rotation = (
            ((rotation * signs)[:, order].reshape(-1, _SIDE) @ _hadamard())
            .reshape(dimensions, width)
            .astype(np.float32, copy=False)
        )
    return rotation


def _hadamard() -> NDArray[np.float32]:
    """The orthogonal matrix of side 64 whose entries are all +-1/8 (Sylvester)."""
    matrix = np.ones((1, 1), dtype=np.float32)
    while matrix.shape[0] < _SIDE:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix / np.float32(_SIDE**0.5)
