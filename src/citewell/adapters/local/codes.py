"""Sign codes: one bit per rotated dimension, by which a few thousand candidates are chosen out of many vectors.

A vector is centred, rotated at random (the same rotation everywhere) and each coordinate's sign kept; the Hamming
distance of two codes then grows with the angle between their vectors (Charikar 2002). Rotating and centring make it
work for vectors whose energy lies in few dimensions. Candidates are scored exactly elsewhere; this module knows
neither filters' meaning nor files.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SIDE = 64
_ROUNDS = 2
_SEED = 20_260
_ENCODED_AT_ONCE = 8_192
_COMPARED_AT_ONCE = 65_536


@dataclass(frozen=True, slots=True)
class Codes:
    """The codes of a block of vectors.

    Attributes:
        middle: float32 [width], the rotated mean that they were centred with.
        bits: uint64 [ceil(dimensions / 64), vectors].
    """

    middle: NDArray[np.float32]
    bits: NDArray[np.uint64]

    def nearest(
        self, vector: NDArray[np.float32], at_least: int, allowed: NDArray[np.bool_] | None
    ) -> NDArray[np.int64]:
        """The `at_least` places whose codes are nearest to the vector's, ascending; with all that tie with the last.

        `allowed` is bool [vectors]; None = all of them.
        """
        distances = self._distances(_encode(vector[None, :], self.middle)[:, 0])
        if allowed is None:
            return np.flatnonzero(distances <= _radius(distances, at_least))
        radius = _radius(distances[allowed], at_least)
        return np.flatnonzero((distances <= radius) & allowed)

    def _distances(self, code: NDArray[np.uint64]) -> NDArray[np.uint16]:
        """Uint16 [vectors]: in how many bits each differs."""
        count = self.bits.shape[1]
        distances = np.zeros(count, dtype=np.uint16)
        different = np.empty(min(count, _COMPARED_AT_ONCE), dtype=np.uint64)
        # In slices that stay in the processor's cache.
        for start in range(0, count, _COMPARED_AT_ONCE):
            part = distances[start : start + _COMPARED_AT_ONCE]
            scratch = different[: part.size]
            for word, own in zip(self.bits, code, strict=True):
                np.bitwise_xor(word[start : start + part.size], own, out=scratch)
                np.add(part, np.bitwise_count(scratch), out=part)
        return distances


def make_codes(vectors: NDArray[np.float32]) -> Codes:
    """The codes of these vectors, float32 [vectors, dimensions], centred with their own mean."""
    mean = vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
    middle = mean @ _rotation(mean.size)
    return Codes(middle, _encode(vectors, middle))


def _encode(vectors: NDArray[np.float32], middle: NDArray[np.float32]) -> NDArray[np.uint64]:
    """Uint64 [ceil(dimensions / 64), vectors]: the signs of the rotated and centred vectors."""
    count, dimensions = vectors.shape
    rotation = _rotation(dimensions)
    bits = np.empty((-(-dimensions // _SIDE), count), dtype=np.uint64)
    for start in range(0, count, _ENCODED_AT_ONCE):
        signs = vectors[start : start + _ENCODED_AT_ONCE] @ rotation > middle
        bits[:, start : start + _ENCODED_AT_ONCE] = np.packbits(signs, axis=1, bitorder="little").view(np.uint64).T
    return bits


@lru_cache(maxsize=4)
def _rotation(dimensions: int) -> NDArray[np.float32]:
    """Float32 [dimensions, width], orthonormal rows; width is the next multiple of 64.

    Signs are flipped, coordinates shuffled and mixed 64 at a time, twice. Every entry is an exact multiple of 1/64, and
    RandomState's stream is frozen, so that codes made elsewhere and by other versions of numpy stay valid.
    """
    width = -(-dimensions // _SIDE) * _SIDE
    chance = np.random.RandomState(_SEED)
    rotation = np.eye(dimensions, width, dtype=np.float32)
    for _ in range(_ROUNDS):
        signs, order = chance.choice(np.array([-1, 1], dtype=np.float32), width), chance.permutation(width)
        rotation = ((rotation * signs)[:, order].reshape(-1, _SIDE) @ _hadamard()).reshape(dimensions, width)
    return rotation


def _hadamard() -> NDArray[np.float32]:
    """The orthogonal matrix of side 64 whose entries are all +-1/8 (Sylvester)."""
    matrix = np.ones((1, 1), dtype=np.float32)
    while matrix.shape[0] < _SIDE:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix / np.float32(_SIDE**0.5)


def _radius(distances: NDArray[np.uint16], at_least: int) -> int:
    """The smallest distance within which there are `at_least` of these, or all."""
    within = np.cumsum(np.bincount(distances))
    return int(np.searchsorted(within, min(at_least, distances.size)))
