"""Turns each metric's raw score into a similarity that means the same everywhere (SCORE-2); knows no engine.

Higher is closer. For unit vectors a similarity is the cosine, in [-1, 1]. What is not a finite number is no
similarity: it is refused here, and whoever reads it from a store treats the hit's similarity as unknown.

Each function is monotone over the whole range, in floating point too: each is a chain of single operations that
rounding can't turn around.
"""

from __future__ import annotations

import math

from citewell.checks import as_number, shown
from citewell.errors import InvalidRequest


def normalize_l2(distance: float, *, unit: bool = True) -> float:
    """The similarity that a *squared* L2 distance d stands for.

    Unit vectors: 1 - d/2, which is their cosine, clipped to [-1, 1]. Others: 1 / (1 + d), in (0, 1]. A distance
    below 0 is a rounding error and counts as 0.

    Raises:
        InvalidRequest: the distance is no finite number.
    """
    squared = max(_finite(distance), 0.0)
    return _clipped(1.0 - squared / 2.0) if unit else 1.0 / (1.0 + squared)


def normalize_cosine(score: float) -> float:
    """A cosine is a similarity already; what rounding put outside [-1, 1] is clipped.

    Raises:
        InvalidRequest: the score is no finite number.
    """
    return _clipped(_finite(score))


def normalize_ip(score: float, *, unit: bool = True) -> float:
    """The similarity that an inner product s stands for.

    Unit vectors: s, which is their cosine, clipped to [-1, 1]. Others: s / (1 + |s|), in [-1, 1].

    Raises:
        InvalidRequest: the score is no finite number.
    """
    product = _finite(score)
    if unit:
        return _clipped(product)
    # s / (1 + |s|) written so that s occurs once: with two occurrences, rounding can turn two neighbours around.
    return math.copysign(1.0 / (1.0 + 1.0 / abs(product)), product) if product else 0.0


def _finite(value: object) -> float:
    number = as_number(value)
    if not math.isfinite(number):
        raise InvalidRequest(
            f"{shown(value)} is no similarity or distance", way_out="Treat the similarity of this hit as unknown."
        )
    return number


def _clipped(similarity: float) -> float:
    return max(-1.0, min(1.0, similarity))
