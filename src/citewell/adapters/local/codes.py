"""Sign codes: one bit per rotated dimension, from which inner products with a query are estimated.

A vector is centred, rotated at random (the same rotation everywhere) and each coordinate's sign kept, with one scale
per vector. The inner product with a query is estimated from signs, scale and the signs of the query's own larger
coordinates (after RaBitQ, Gao and Long 2024): the small ones would tell little, and err as much as the others.
Centring and rotating make it work for vectors that share an offset or whose energy lies in few dimensions.
Which vectors are scored exactly is decided elsewhere; this module knows neither filters nor files.
"""

from __future__ import annotations

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
_COMPARED_AT_ONCE = 131_072
_BYTE = 255
_TELLING = 5 / 8
"""The share of a query's coordinates that are compared, the largest. To put all others down as 0 and these at one size
loses least where they are .54 of a normal distribution (Lloyd and Max); a few more prove as good or better."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A query as codes are compared with it.

    Attributes:
        rotated: float32 [width].
        signs: uint64 [width / 64], of its coordinates.
        telling: uint64 [width / 64], which of them are compared.
        count: of those.
        step: their mean size, by which signs come nearest to the coordinates.
    """

    rotated: Floats
    signs: Words
    telling: Words
    count: int
    step: float


def ask(vector: Floats) -> Asked:
    """What to compare codes with, for a query that is float32 [dimensions]; coordinates of equal size count alike."""
    rotated = vector @ _rotation(vector.size)
    sizes = np.abs(rotated)
    left_out = rotated.size - int(_TELLING * rotated.size)
    telling = sizes >= np.partition(sizes, left_out)[left_out]
    count = int(np.count_nonzero(telling))
    signs, compared = _packed(np.array((rotated > 0, telling))).T
    return Asked(rotated, signs, compared, count, float(sizes @ telling) / count)


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

    def estimates(self, asked: Asked) -> Floats:
        """Float32 [vectors]: an estimate of each inner product with the query."""
        estimates = self._differences(asked).astype(np.float32)
        estimates -= asked.count / 2
        estimates *= self.scales
        estimates *= -2 * asked.step
        estimates += float(asked.rotated @ self.middle)
        return estimates

    def _differences(self, asked: Asked) -> NDArray[np.int16]:
        """How many of the compared signs differ from the query's."""
        differences = np.zeros(self.scales.size, dtype=np.int16)
        words = np.empty(min(differences.size, _COMPARED_AT_ONCE), dtype=np.uint64)
        summed = len(self.bits) if asked.count <= _BYTE else _BYTE // _SIDE  # of so many words, a byte holds the sum
        counts = np.empty((summed, words.size), dtype=np.uint8)
        # Word by word in slices that stay near the processor, in few calls: another thread gets on meanwhile.
        for start in range(0, differences.size, _COMPARED_AT_ONCE):
            part = differences[start : start + _COMPARED_AT_ONCE]
            different, once = words[: part.size], counts[:, : part.size]
            for first in range(0, len(self.bits), summed):
                some = self.bits[first : first + summed, start : start + part.size]
                for at, bits in enumerate(some, first):
                    np.bitwise_xor(bits, asked.signs[at], out=different)
                    different &= asked.telling[at]
                    np.bitwise_count(different, out=once[at - first])
                part += np.add.reduce(once[: len(some)], axis=0, dtype=np.uint8)
        return differences


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
