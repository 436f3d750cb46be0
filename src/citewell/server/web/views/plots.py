"""Numbers -> bars and lines of small plots: places and lengths in units of the drawing; pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

PLOT_WIDTH, PLOT_HEIGHT = 360, 150


@dataclass(frozen=True, slots=True)
class Bar:
    """A labelled amount; `share` of the largest, from 0 to 1."""

    label: str
    amount: float
    share: float


@dataclass(frozen=True, slots=True)
class Bin:
    """How many values lie from `low` up to, not including, `high`."""

    low: float
    high: float
    count: int


@dataclass(frozen=True, slots=True)
class Tick:
    """A place on an axis and what stands there."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Series:
    """A line through points, as an SVG path, and the points with their values."""

    name: str
    d: str
    points: tuple[tuple[float, float, str], ...]


@dataclass(frozen=True, slots=True)
class Lines:
    """A plot of lines."""

    series: tuple[Series, ...]
    x: tuple[Tick, ...]
    y: tuple[Tick, ...]


def bars(amounts: Mapping[str, float], most: int = 12) -> tuple[Bar, ...]:
    """The largest amounts, the largest first; equal ones by label; what is beyond `most` is one bar, the last."""
    ranked = sorted(amounts.items(), key=lambda item: (-item[1], item[0]))
    shown = ranked[:most] if len(ranked) <= most else ranked[: most - 1]
    rest = sum(amount for _, amount in ranked[len(shown) :])
    if len(shown) < len(ranked):
        shown = [*shown, (f"{len(ranked) - len(shown)} others", rest)]
    return in_order(dict(shown))


def in_order(amounts: Mapping[str, float]) -> tuple[Bar, ...]:
    """Every amount, in the order given."""
    largest = max(amounts.values(), default=0.0)
    return tuple(Bar(label, amount, amount / largest if largest > 0 else 0.0) for label, amount in amounts.items())


def doubling_bins(values: Mapping[int, int]) -> tuple[Bin, ...]:
    """Counts of whole values >= 1 in bins that double: 1, 2-3, 4-7, ..., without empty ones at either end.

    Args:
        values: how often each value occurs.
    """
    counts: dict[int, int] = {}
    for value, count in values.items():
        power = max(1, value).bit_length() - 1
        counts[power] = counts.get(power, 0) + count
    if not counts:
        return ()
    return tuple(Bin(2**power, 2 ** (power + 1), counts.get(power, 0)) for power in range(min(counts), max(counts) + 1))


def lines(named: Mapping[str, Sequence[tuple[float, float]]]) -> Lines:
    """Values from 0 to 1 over positive x, x in doublings, so that k = 1, 2, 5, 10, 20 stand apart."""
    xs = sorted({x for points in named.values() for x, _ in points})
    if not xs:
        return Lines((), (), ())
    low, high = math.log(xs[0]), math.log(xs[-1])

    def across(x: float) -> float:
        return round(PLOT_WIDTH * (math.log(x) - low) / (high - low), 1) if high > low else PLOT_WIDTH / 2

    def down(y: float) -> float:
        return round(PLOT_HEIGHT * (1 - min(1.0, max(0.0, y))), 1)

    drawn = [
        Series(name, _through(placed), placed)
        for name, points in named.items()
        if (placed := tuple((across(x), down(y), f"{name}, {x:g}: {y:.3f}") for x, y in sorted(points)))
    ]
    return Lines(
        tuple(drawn),
        x=tuple(Tick(across(x), f"{x:g}") for x in xs),
        y=tuple(Tick(down(y), f"{y:g}") for y in (0, 0.25, 0.5, 0.75, 1)),
    )


def _through(points: Sequence[tuple[float, float, str]]) -> str:
    return "M" + "L".join(f"{x:g} {y:g}" for x, y, _ in points)
