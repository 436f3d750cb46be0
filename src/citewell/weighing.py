"""How much each path's vote weighs for one query, from how sharply its own scores fall (RRF-1, RRF-5); pure.

A path that knows the answer scores it well above the rest; one that doesn't scores ten passages about alike. So each
path is asked about itself alone: what part of what could be lost is lost from its first score to its tenth.

    dense    D = (s1 - s10) / (1 - s10)     similarities; 1 is the most that one can be
    lexical  L = (s1 - s10) / s1            BM25 scores; a list shorter than ten falls to 0

    weight of the lexical path = e^(3 + 6 L - 14 D), between 1/4 and k; that of the dense paths = 1

No score of one path is compared with one of another: D and L are shares, and which share says how much was measured
(docs/figures.md: five sets, leaving one out, with two embedders). It never sees keys, texts or the query.

Why no more than k: a passage that the dense path ranks r-th and the lexical one r + 1-st then stands above one that
the lexical path alone ranks r-th, for k / (k + r) - k / (k + r + 1) < 1 / (k + r). Where a filtered dense path votes
too, no more than 1.9, so that two paths outweigh one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

WEIGHTS: Final[Mapping[str, float]] = MappingProxyType({"dense": 1.0, "dense_filtered": 1.0, "lexical": 1.9})
"""What the paths weigh where their scores say nothing: fewer than ten dense hits, or one path alone."""

_FAR: Final = 10
_BASE, _PER_LEXICAL_FALL, _PER_DENSE_FALL = 3.0, 6.0, 14.0
_LEAST: Final = 0.25


def weigh(scores: Mapping[str, Sequence[float]], *, k: float = 60) -> dict[str, float]:
    """The weight of each path that is given, for `fusion.fuse`; to two places, so that it can be worked out again.

    Args:
        scores: by path, its raw scores, best first: similarities in [-1, 1] of the dense paths, BM25 scores > 0 of the
            lexical one.
        k: the constant of the fusion, > 0.
    """
    if len(scores.get("dense", ())) < _FAR or not scores.get("lexical"):
        return {path: WEIGHTS.get(path, 1.0) for path in scores}
    lexical, dense = falls(scores)
    power = _BASE + _PER_LEXICAL_FALL * lexical - _PER_DENSE_FALL * dense
    most = WEIGHTS["lexical"] if scores.get("dense_filtered") else max(k, _LEAST)
    # The power is bounded before e is raised to it: only what lies between the bounds matters.
    bounded = min(max(power, math.log(_LEAST)), math.log(most))
    return {path: round(math.exp(bounded), 2) if path == "lexical" else 1.0 for path in scores}


def falls(scores: Mapping[str, Sequence[float]]) -> tuple[float, float]:
    """L and D: what part of what can be lost each path loses from its first score to its tenth; arguments as `weigh`.

    A lexical list shorter than ten falls to 0, so that L is 1; a dense one says nothing, and D is 0.
    """
    return _lexical_fall(scores.get("lexical", ())), _dense_fall(scores.get("dense", ()))


def _dense_fall(similarities: Sequence[float]) -> float:
    if len(similarities) < _FAR:
        return 0.0
    first, far = similarities[0], similarities[_FAR - 1]
    return (first - far) / (1 - far) if far < 1 else 0.0


def _lexical_fall(scores: Sequence[float]) -> float:
    if len(scores) < _FAR:
        return 1.0
    first, far = scores[0], scores[_FAR - 1]
    return (first - far) / first if first > 0 else 0.0
