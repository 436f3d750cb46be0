"""On which side of random planes through the origin a direction lies, a bit for each plane.

Two directions lie on different sides of as many planes as the angle between them says (Charikar, "Similarity
Estimation Techniques from Rounding Algorithms", STOC 2002). The planes' normals are products of two small rotations
(after Zhang et al., "Fast Orthogonal Projection Based on Kronecker Product", ICCV 2015), which find the sides in a
fraction of the time that normals of their own take, and no worse. It knows no document.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Words = NDArray[np.uint64]

PLANES = 255
"""As many as a byte counts; the last bit of the last word is always clear."""

WORDS = -(-PLANES // 64)


class Sides:
    """The planes for directions of so many dimensions; the same in every process."""

    def __init__(self, dimensions: int) -> None:
        short = next(size for size in range(math.isqrt(dimensions), 0, -1) if dimensions % size == 0)
        self._shape = short, dimensions // short
        rng, wanted = np.random.default_rng(0), -(-PLANES // self._shape[1])
        # In few dimensions one turn does not yield planes enough.
        self._turns = [
            (_rotation(rng, short)[:wanted], _rotation(rng, self._shape[1])) for _ in range(0, PLANES, dimensions)
        ]

    def of(self, vectors: Floats) -> Words:
        """Uint64 [vectors, WORDS] of float32 [vectors, dimensions]."""
        boxes = vectors.reshape(-1, *self._shape)
        turned = [(left @ boxes).reshape(-1, right.shape[0]) @ right for left, right in self._turns]
        along = np.concatenate([each.reshape(len(vectors), -1) for each in turned], axis=1)
        words: Words = np.packbits(along[:, :PLANES] > 0, axis=1).view(np.uint64)
        return words


def _rotation(rng: np.random.Generator, size: int) -> Floats:
    """Float32 [size, size]: at random."""
    drawn: Floats = np.linalg.qr(rng.normal(size=(size, size)))[0].astype(np.float32)
    return drawn
