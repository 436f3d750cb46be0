"""What the distance to a stored vector means (SCORE-2), computed here for every path, so that all agree (SCORE-3).

Engines round, quantise and clip, each in its own way; the stored vector says the same to all. It knows no engine.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from citewell.scores import normalize_cosine, normalize_ip, normalize_l2

if TYPE_CHECKING:
    from numpy.typing import NDArray


_FAR = 1e300


def similarity_of(metric: str, *, unit: bool) -> Callable[[NDArray[np.float32], NDArray[np.float32]], float]:
    """(query of unit length, stored vector) -> similarity, by the metric of the collection's index.

    A vector that can't be compared (zero length under COSINE, a number that is none) is as far as can be.
    """

    def similarity(query: NDArray[np.float32], stored: NDArray[np.float32]) -> float:
        left, right = query.astype(np.float64), stored.astype(np.float64)
        if not np.isfinite(right).all():
            return -1.0 if metric != "L2" else normalize_l2(_FAR, unit=unit)
        if metric == "L2":
            return normalize_l2(min(float(np.square(left - right).sum()), _FAR), unit=unit)
        product = float((left * right).sum())
        if metric == "IP":
            return normalize_ip(product, unit=unit)
        length = math.sqrt(float(np.square(right).sum()))
        return normalize_cosine(product / length) if length else -1.0

    return similarity


def are_unit(vectors: NDArray[np.float32]) -> bool:
    """Whether every row of float32 [n, d] has length 1, up to a thousandth."""
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    return bool((np.abs(lengths - 1.0) <= 1e-3).all())
