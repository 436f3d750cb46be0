"""The places of the best of many numbers, with all that tie with the last. It knows nothing of what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.floating] | NDArray[np.integer]

_TOGETHER = 16


def top(values: Numbers, k: int) -> NDArray[np.intp]:
    """The places of the k largest, ascending, with all that equal the k-th; all places if there are no more than k."""
    found: NDArray[np.intp] = (values >= least_of(values, k)).nonzero()[0]
    best = values[found]
    return found[best >= kth(best, k)]


def least_of(values: Numbers, k: int) -> float:
    """A number that at least k of them reach, at a fraction of the cost of the largest such; -inf if there aren't k."""
    groups = values.size // _TOGETHER
    if groups < k:
        return kth(values, k) if values.size >= k else -np.inf
    # Each of k groups holds one that is as large as the k-th largest of the groups' maxima.
    return kth(values[: groups * _TOGETHER].reshape(_TOGETHER, groups).max(axis=0), k)


def kth(values: Numbers, k: int) -> float:
    """The k-th largest; the smallest if there are fewer."""
    at = values.size - min(k, values.size)
    found: float = np.partition(values, at)[at].item()  # bytes are compared with an integer as bytes, not as floats
    return found
