"""Which rows of a large view the dense path scores: those that promise most by their codes, in three steps.

All codes are compared. The best few hundred by them are scored, which tells how far the estimates lie from the truth;
then whatever may by that margin come among the best, too, out of a few thousand that were kept for it. Segments
without codes are small and scored whole. It knows no filter but a mask, and does not say which rows win.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from citewell.adapters.local.codes import Asked, Codes, ask
from citewell.adapters.local.view import View

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from citewell.adapters.local.segments import Bools, Int64s

    Floats = NDArray[np.float32]

_SCORED = 100
_SCORED_PER_HIT = 5
_MOST_SCORED = 4_000
_MOST_SCORED_PER_HIT = 40
_COMPARED_FROM = 0.25
"""The share of a segment's rows in question from which on comparing all takes less time than taking their codes out."""
_SURE = 20
_SURE_SHARE = 0.8
"""Ranks down to which hits are sought as far as the margin reaches: 20, or four of five hits if these are more. The
last fifth would cost a tenth more time, and a fusion hardly hears it."""
_MARGIN = 3.4
"""In standard deviations of the estimates that were put to the test."""
_SAMPLED = 32
"""Of so many estimates one tells about where the best few thousand begin."""
_MOST_ALIKE = 0.1
_ROUNDING = 1e-6
"""By which estimates of equal rows in two segments may differ."""


@dataclass(frozen=True, slots=True)
class _Estimated:
    """Rows of a segment that begins with the slot `start`: their estimates and places, ascending (None = all)."""

    estimates: Floats
    start: int
    places: Int64s | None

    def slots(self, chosen: Int64s) -> Int64s:
        """Of some of them."""
        return self.start + (chosen if self.places is None else self.places[chosen])


def promising(
    view: View, vector: Floats, k: int, allowed: Bools | None, scores: Callable[[Int64s], Floats]
) -> tuple[Int64s, Floats]:
    """Slots among which the k nearest are sought, and their scores; unordered, rows with equal estimates together.

    `scores` gives those of ascending slots; `allowed` is bool [slots], None = all, and lets something pass.
    """
    plain = _uncoded(view, allowed)
    slots, estimates = _best(_coded(view, ask(vector), allowed), max(_MOST_SCORED, _MOST_SCORED_PER_HIT * k))
    first = estimates >= _nth_unlike(estimates, max(_SCORED, _SCORED_PER_HIT * k))
    found, sure = scores(slots[first]), scores(plain)
    bound = nth_best(_joined([found, sure]), max(min(k, _SURE), int(_SURE_SHARE * k)))
    more = (estimates >= bound - _margin(found, estimates[first])) & ~first
    return np.concatenate([slots[first], slots[more], plain]), _joined([found, scores(slots[more]), sure])


def _margin(scores: Floats, estimates: Floats) -> float:
    """How far below its score an estimate may lie, by those that were put to the test."""
    errors, ordered = scores - estimates, np.sort(estimates)
    if np.any(ordered[1:] == ordered[:-1]):  # a thousand equal rows tell no more than one
        errors = errors[np.unique(estimates, return_index=True)[1]]
    return _MARGIN * math.sqrt(float(errors @ errors) / max(errors.size, 1))


def _uncoded(view: View, allowed: Bools | None) -> Int64s:
    """The slots in question that have no codes, ascending."""
    spans = [span for segment, span in view.parts() if segment.codes is None]
    found = np.concatenate([np.empty(0, dtype=np.int64), *(np.arange(span.start, span.stop) for span in spans)])
    return found if allowed is None else found[allowed[found]]


def _coded(view: View, asked: Asked, allowed: Bools | None) -> list[_Estimated]:
    """The rows in question that have codes, by segment."""
    return [
        _estimated(segment.codes, asked, span, None if allowed is None else np.flatnonzero(allowed[span]))
        for segment, span in view.parts()
        if segment.codes is not None
    ]


def _estimated(codes: Codes, asked: Asked, span: slice, places: Int64s | None) -> _Estimated:
    if places is None:
        return _Estimated(codes.estimates(asked), span.start, None)
    if places.size < _COMPARED_FROM * codes.scales.size:
        return _Estimated(codes.at(places).estimates(asked), span.start, places)
    return _Estimated(codes.estimates(asked)[places], span.start, places)


def _best(parts: Sequence[_Estimated], wanted: int) -> tuple[Int64s, Floats]:
    """About as many of these rows as are wanted, those that promise most: their slots, ascending, and estimates."""
    if sum(part.estimates.size for part in parts) > wanted:
        found = _above(parts, wanted, _SAMPLED)
        if 2 * found[0].size >= wanted:
            return found
        # What was sampled is not like the rest.
    return _above(parts, wanted, 1)


def _above(parts: Sequence[_Estimated], wanted: int, sampled: int) -> tuple[Int64s, Floats]:
    """Those whose estimate is not below the bound that as many as wanted reach, by every `sampled`-th of them."""
    sample = _joined([part.estimates[::sampled] for part in parts])
    bound = _nth_unlike(sample, wanted // sampled + 1)
    chosen = [np.flatnonzero(part.estimates >= bound) for part in parts]
    slots = [part.slots(places) for part, places in zip(parts, chosen, strict=True)]
    estimates = [part.estimates[places] for part, places in zip(parts, chosen, strict=True)]
    return np.concatenate([np.empty(0, dtype=np.int64), *slots]), _joined(estimates)


def nth_best(values: Floats, n: int) -> float:
    """The n-th largest; the lowest if there are fewer, infinity if there are none."""
    if n >= values.size:
        return float(values.min(initial=np.inf))
    at = values.size - n
    return float(np.partition(values, at)[at])


def _nth_unlike(values: Floats, n: int) -> float:
    """The n-th largest, of which values that many share count as one: equal rows, such as a notice in every document.

    Their estimates err alike, and so many of them would take the places of all others.
    """
    bound = nth_best(values, n)
    if np.count_nonzero(np.abs(values - bound) <= _ROUNDING) <= _MOST_ALIKE * n:
        return bound
    unlike = np.unique(np.rint(values / np.float32(_ROUNDING)))
    return float(unlike[max(0, unlike.size - n)]) * _ROUNDING - _ROUNDING


def _joined(arrays: Sequence[Floats]) -> Floats:
    return np.concatenate([np.empty(0, dtype=np.float32), *arrays])
