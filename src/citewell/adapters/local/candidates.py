"""Which rows of a large view the dense path scores: those that promise most by their codes, in three steps.

All codes are compared roughly, those of the best twentieth again, finely. The best few hundred of these are scored,
which tells how far the estimates lie from the truth; then whatever may by that margin come among the best, too.
Segments without codes are small and scored whole. It knows no filter but a mask, and does not say which rows win.
"""

from __future__ import annotations

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

_FINE = 5_000
_FINE_PER_HIT = 40
_FINE_SHARE = 1 / 20
_ROUGHLY_FROM = 0.6
"""The share of rows in question from which on all are compared roughly before. Where a filter lets fewer pass, the
nearest are often far away, and a rough estimate would miss some of those."""
_SCORED = 300
_SCORED_PER_HIT = 10
_MOST_SCORED = 3_000
_SURE = 20
_SURE_SHARE = 0.8
"""Ranks down to which hits are sought as far as the margin reaches: 20, or four of five hits if these are more. The
last fifth would cost a tenth more time, and a fusion hardly hears it."""
_MARGIN = 3.0
"""In standard deviations of the estimates that were put to the test."""
_SAMPLED = 16
_MOST_ALIKE = 0.1
_ROUNDING = 1e-6
"""By which estimates of equal rows may differ, and one that was put on another scale and back."""


@dataclass(frozen=True, slots=True)
class _Part:
    """Rows of a segment: their places, ascending (None = all), in codes of which the first has this slot."""

    codes: Codes
    start: int
    places: Int64s | None

    @property
    def size(self) -> int:
        return int(self.codes.scales.size if self.places is None else self.places.size)

    @property
    def slots(self) -> Int64s:
        return self.start + (np.arange(self.size) if self.places is None else self.places)

    def taken(self) -> Codes:
        return self.codes if self.places is None else self.codes.at(self.places)

    def rough(self, asked: Asked) -> Floats:
        estimates = self.codes.rough(asked)
        return estimates if self.places is None else estimates[self.places]

    def at(self, chosen: Int64s) -> _Part:
        return _Part(self.codes, self.start, chosen if self.places is None else self.places[chosen])


def promising(
    view: View, vector: Floats, k: int, allowed: Bools | None, scores: Callable[[Int64s], Floats]
) -> tuple[Int64s, Floats]:
    """Slots among which the k nearest are sought, and their scores; unordered, rows with equal estimates together.

    `scores` gives those of ascending slots; `allowed` is bool [slots], None = all, and lets something pass.
    """
    plain, asked = _uncoded(view, allowed), ask(vector)
    parts = _best_roughly(_coded(view, allowed), asked, k)
    slots = np.concatenate([plain[:0], *(part.slots for part in parts)])
    estimates = _joined([part.taken().fine(asked) for part in parts])
    first = estimates >= _nth_unlike(estimates, max(_SCORED, _SCORED_PER_HIT * k))
    found, sure = scores(slots[first]), scores(plain)
    bound = nth_best(_joined([found, sure]), max(min(k, _SURE), int(_SURE_SHARE * k))) - _margin(
        found, estimates[first]
    )
    more = (estimates >= max(bound, _nth_unlike(estimates, max(_MOST_SCORED, _FINE_PER_HIT * k)))) & ~first
    return np.concatenate([slots[first], slots[more], plain]), _joined([found, scores(slots[more]), sure])


def _margin(scores: Floats, estimates: Floats) -> float:
    _, unlike = np.unique(estimates, return_index=True)  # a thousand equal rows tell no more than one
    return _MARGIN * float(np.sqrt(np.square((scores - estimates)[unlike]).mean())) if scores.size else 0.0


def _uncoded(view: View, allowed: Bools | None) -> Int64s:
    """The slots in question that have no codes, ascending."""
    spans = [span for segment, span in view.parts() if segment.codes is None]
    found = np.concatenate([np.empty(0, dtype=np.int64), *(np.arange(span.start, span.stop) for span in spans)])
    return found if allowed is None else found[allowed[found]]


def _coded(view: View, allowed: Bools | None) -> list[_Part]:
    """The rows in question that have codes."""
    return [
        _Part(segment.codes, span.start, None if allowed is None else np.flatnonzero(allowed[span]))
        for segment, span in view.parts()
        if segment.codes is not None
    ]


def _best_roughly(parts: Sequence[_Part], asked: Asked, k: int) -> Sequence[_Part]:
    """Of these rows, about as many as are wanted: those that promise most by a rough estimate; of few, all."""
    total = sum(part.size for part in parts)
    wanted = max(_FINE, _FINE_PER_HIT * k, int(_FINE_SHARE * total))
    if total <= wanted or total < _ROUGHLY_FROM * sum(part.codes.scales.size for part in parts):
        return parts
    rough = [part.rough(asked) for part in parts]
    chosen = _above(parts, rough, asked, wanted, _SAMPLED)
    if 2 * sum(part.size for part in chosen) < wanted:  # what was sampled is not like the rest
        return _above(parts, rough, asked, wanted, 1)
    return chosen


def _above(parts: Sequence[_Part], rough: Sequence[Floats], asked: Asked, wanted: int, sampled: int) -> list[_Part]:
    """Those whose estimate is not below the bound that as many as wanted reach, by every `sampled`-th of them."""
    unit, levels = 2 * asked.size or 1.0, [part.codes.level(asked) for part in parts]
    sample = _joined([some[::sampled] * unit + level for some, level in zip(rough, levels, strict=True)])
    bound = _nth_unlike(sample, wanted // sampled + 1) - _ROUNDING
    return [
        part.at(np.flatnonzero(some >= np.float32((bound - level) / unit)))
        for part, some, level in zip(parts, rough, levels, strict=True)
    ]


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
