"""Reads JSON values of known shape; what has another shape gives an empty value instead of a broken page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Json = Mapping[str, Any]

_LARGEST = 1e15


def mapping(value: object) -> Json:
    """The object, or an empty one."""
    return value if isinstance(value, Mapping) else {}


def objects(value: object) -> list[Json]:
    """The objects of a list."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list | tuple) else []


def number(value: object) -> float | None:
    """A number that a drawing can place: finite, and not so large that sums of such overflow; a truth value is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) <= _LARGEST else None


def scored(value: float | None, places: int = 3) -> str:
    """A number for a table, or a dash."""
    return "–" if value is None else f"{value:.{places}f}"


def milliseconds(value: float) -> str:
    """A time: `0.38 ms`, `12.4 ms`, `340 ms`, `2.1 s`."""
    if value >= 1000:
        return f"{value / 1000:.1f} s"
    return f"{value:.0f} ms" if value >= 100 else f"{value:.1f} ms" if value >= 1 else f"{value:.2f} ms"


def counted(value: float) -> str:
    """A count with thin groups of digits: `12 345`."""
    return f"{value:,.0f}".replace(",", "\u202f")


def compact(value: float) -> str:
    """A count for a narrow place: `512`, `2k`, `16k`, `1M`."""
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if value >= size:
            return f"{value / size:.0f}{letter}"
    return f"{value:.0f}"
