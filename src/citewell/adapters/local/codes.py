"""Sign codes: one bit per rotated dimension, by which a few thousand candidates are chosen out of many vectors.

A vector is centred, rotated at random (the same rotation everywhere) and each coordinate's sign kept, with one scale
per vector. The inner product with a query is estimated from signs, scale and the query's own coordinates, of which
two sizes are told apart (after RaBitQ, Gao and Long 2024; a query that is cut down to signs, too, finds clearly less).
Centring and rotating make it work for vectors that share an offset or whose energy lies in few dimensions.
Candidates are scored exactly elsewhere; this module knows neither filters' meaning nor files.
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
_SAMPLED = 16
_TAKEN_BELOW = 0.6
"""The share of allowed vectors up to which taking their codes out is faster than comparing all."""
_LARGE = 0.98
"""In standard deviations; coordinates beyond it weigh 3, the others 1: the best two sizes for a normal distribution
(Lloyd and Max: .45 and 1.51)."""


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

    def nearest(self, vector: Floats, at_least: int, allowed: NDArray[np.bool_] | None) -> NDArray[np.int64]:
        """The `at_least` places with the largest estimated inner product, ascending; with all that tie with the last.

        `allowed` is bool [vectors]; None = all of them.
        """
        if allowed is None:
            estimates = self.estimates(vector)
            return np.flatnonzero(estimates >= _least(estimates, at_least))
        places = np.flatnonzero(allowed)
        if places.size < _TAKEN_BELOW * allowed.size:
            estimates = self._at(places).estimates(vector)
            return places[estimates >= _least(estimates, at_least)]
        if places.size <= at_least:
            return places
        estimates = self.estimates(vector)
        estimates[np.flatnonzero(~allowed)] = -np.inf
        return np.flatnonzero(estimates >= _least(estimates, at_least))

    def _at(self, places: NDArray[np.int64]) -> Codes:
        return Codes(self.middle, np.take(self.bits, places, axis=1), self.scales[places])

    def estimates(self, vector: Floats) -> Floats:
        """Float32 [vectors]: the inner product of each, up to a factor and a constant that all share.

        The query is not centred: its product with the mean is the same for all.
        """
        rotated = vector @ _rotation(vector.size)
        signs, large = (
            _packed(rotated[None] > 0)[:, 0],
            _packed(np.abs(rotated)[None] > _LARGE * _spread(rotated))[:, 0],
        )
        most = rotated.size + 2 * int(np.bitwise_count(large).sum())
        estimates = self._differences(signs, large).astype(np.float32)
        estimates *= -2
        estimates += most
        estimates *= self.scales
        return estimates

    def _differences(self, signs: Words, large: Words) -> NDArray[np.uint16]:
        """Uint16 [vectors]: the weights of the coordinates in which each differs from the query in sign."""
        count = self.bits.shape[1]
        weights = np.zeros(count, dtype=np.uint16)
        words = np.empty(min(count, _COMPARED_AT_ONCE), dtype=np.uint64)
        counts, again = np.empty((2, words.size), dtype=np.uint8)
        # In slices that stay in the processor's cache, yet long enough for other threads to get on meanwhile.
        for start in range(0, count, _COMPARED_AT_ONCE):
            part = weights[start : start + _COMPARED_AT_ONCE]
            different, once, twice = words[: part.size], counts[: part.size], again[: part.size]
            for word, sign, mask in zip(self.bits, signs, large, strict=True):
                np.bitwise_xor(word[start : start + part.size], sign, out=different)
                np.bitwise_count(different, out=once)
                np.bitwise_and(different, mask, out=different)
                np.bitwise_count(different, out=twice)
                # 64 coordinates of weight 3 make 192, which a byte holds.
                np.add(once, twice, out=once)
                np.add(once, twice, out=once)
                np.add(part, once, out=part)
        return weights


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


def _spread(rotated: Floats) -> float:
    return float(np.sqrt(np.square(rotated).mean()))


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


def _least(estimates: Floats, at_least: int) -> float:
    """The estimate of the last of the `at_least` best; the lowest if there are fewer."""
    if at_least >= estimates.size:
        return float(estimates.min(initial=np.inf))
    sample = estimates[::_SAMPLED]
    # A bound that somewhat more than the wanted number should pass; if they do, the wanted one is among them.
    above = estimates[estimates >= _nth_best(sample, int(at_least * 1.25 / _SAMPLED) + 1)]
    return _nth_best(above if above.size >= at_least else estimates, at_least)


def _nth_best(values: Floats, n: int) -> float:
    at = values.size - min(n, values.size)
    return float(np.partition(values, at)[at])
