"""The dense path over a view: the nearest rows by cosine, exact where few are in question, else by way of sign codes.

Whatever finds the candidates, their scores come from the same float32 vectors by the same arithmetic, in which equal
rows have equal scores wherever they lie. It knows no evidence key and no filter but a mask.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from citewell.adapters.local.segments import Segment
from citewell.adapters.local.view import View

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from citewell.adapters.local.segments import Bools, Int64s, Vectors

    Floats = NDArray[np.float32]

EXACT_UP_TO = 3_000_000
"""Coordinates (rows x dimensions) up to which every vector in question is scored; beyond, gathering them out of memory
takes longer than choosing candidates by their codes."""
_CANDIDATES = 3_000
"""Chosen by their codes, out of all rows or of those within a filter: in fewer rows as many find more."""
_CANDIDATES_PER_HIT = 40
_LEAST_SHARE = 0.25
_AT_ONCE = 400_000
"""Coordinates multiplied at once: few enough that BLAS stays on the calling thread, since handing half to another
costs a scheduler's time slice where cores are busy, and few enough to stay in the processor's cache."""
_ROUNDING = 1e-5


def nearest(view: View, vector: Floats, k: int, allowed: Bools | None) -> tuple[Int64s, Floats]:
    """The slots of the k nearest rows and their similarities, unordered, with all that tie with the k-th.

    `vector` is float32 [dimensions] of unit length; `allowed` is bool [slots], None = all. Recall is 1 up to
    EXACT_UP_TO coordinates in question. Beyond, recall@20 was .999 for questions to 22,000 real passages and to
    100,000 made of those by interpolation, within filters as well; .994 where an offset was added to every vector.
    """
    total = view.size if allowed is None else int(np.count_nonzero(allowed))
    if not total or k < 1:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
    exact = total * vector.size <= EXACT_UP_TO
    found = []
    for segment, span in view.parts():
        enough = 0 if exact else _enough(k, segment.size / view.live.size)
        found.append(_of_segment(segment, vector, None if allowed is None else allowed[span], enough))
    slots = np.concatenate([places + start for (places, _), start in zip(found, view.bases[:-1], strict=True)])
    rough = np.concatenate([scores for _, scores in found])
    close = rough >= _kth(rough, k) - _ROUNDING
    return _best(slots[close], similarities(view, vector, slots[close]), k)


def similarities(view: View, vector: Floats, slots: Int64s) -> Floats:
    """Float32 [slots]: the similarity of each to the vector, in [-1, 1] (SCORE-2)."""
    scores = np.empty(slots.size, dtype=np.float32)
    for segment, span in view.parts():
        here = (slots >= span.start) & (slots < span.stop)
        if here.any():
            # Not a matrix product: that may round equal rows differently by their position.
            products = segment.vectors[slots[here] - span.start] * vector
            scores[here] = products.sum(axis=1, dtype=np.float32)
    return np.clip(scores, -1.0, 1.0)


def _enough(k: int, share: float) -> int:
    """How many candidates to choose in a segment that holds this share of all rows."""
    return int(max(_CANDIDATES, _CANDIDATES_PER_HIT * k) * max(share, _LEAST_SHARE))


def _of_segment(segment: Segment, vector: Floats, allowed: Bools | None, enough: int) -> tuple[Int64s, Floats]:
    """The places in question and their similarities, up to rounding; `enough` candidates, 0 = all that are allowed."""
    count = segment.size if allowed is None else int(np.count_nonzero(allowed))
    if segment.codes is not None and 0 < enough < count:
        places = segment.codes.nearest(vector, enough, allowed)
    elif allowed is None:
        return np.arange(segment.size), _scanned(segment.vectors, vector)
    else:
        places = np.flatnonzero(allowed)
    return places, _gathered(segment.vectors, places, vector)


def _scanned(vectors: Vectors, vector: Floats) -> Floats:
    scores, step = np.empty(len(vectors), dtype=np.float32), _step(vector)
    for start in range(0, len(vectors), step):
        np.dot(vectors[start : start + step], vector, out=scores[start : start + step])
    return scores


def _gathered(vectors: Vectors, places: Int64s, vector: Floats) -> Floats:
    scores, step = np.empty(places.size, dtype=np.float32), _step(vector)
    taken = np.empty((min(step, places.size), vector.size), dtype=np.float32)
    for start in range(0, places.size, step):
        some = places[start : start + step]
        # The places are valid; with `clip` numpy writes straight into `out`.
        np.take(vectors, some, axis=0, out=taken[: some.size], mode="clip")
        np.dot(taken[: some.size], vector, out=scores[start : start + step])
    return scores


def _step(vector: Floats) -> int:
    return max(1, _AT_ONCE // max(vector.size, 1))


def _kth(scores: Floats, k: int) -> float:
    """The k-th best score; the lowest if there are fewer."""
    at = scores.size - min(k, scores.size)
    return float(np.partition(scores, at)[at])


def _best(slots: Int64s, scores: Floats, k: int) -> tuple[Int64s, Floats]:
    best = scores >= _kth(scores, k)
    return slots[best], scores[best]
