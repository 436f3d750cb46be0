"""Folds by a seed, the simplest of settings that are as good, and a bootstrap of a mean; pure.

A choice is made among settings by the mean of their figures on some queries: the simplest one whose mean is within one
standard error of the best. The error is that of the paired difference to the best, so that a difference which comes
from few queries counts for little. The rule is that of Breiman, Friedman, Olshen and Stone, "Classification and
Regression Trees", 1984, section 3.4.3; theirs is not paired.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Figures = NDArray[np.float64]
    Places = NDArray[np.int64]

_T = TypeVar("_T")
_ROUNDING = 1e-12


def folds_of(queries: Sequence[str], folds: int, seed: int) -> list[Places]:
    """The places of the queries in each fold, ascending; sizes differ by one at most.

    Queries, which differ, are dealt out as `shuffled` orders them.
    """
    place = {query: number for number, query in enumerate(queries)}
    dealt = [place[query] for query in shuffled(queries, seed)]
    return [np.array(sorted(dealt[fold::folds]), dtype=np.int64) for fold in range(folds)]


def shuffled(names: Sequence[str], seed: int) -> list[str]:
    """The names in an order that depends on them and on the seed alone, whatever the version of Python."""
    return sorted(names, key=lambda name: (_digest(seed, name), name))


def _digest(seed: int, name: str) -> bytes:
    return hashlib.sha256(f"{seed}\x1f{name}".encode("utf-8", "surrogatepass")).digest()


def simplest_of_the_best(settings: Sequence[_T], figures: Callable[[_T], Figures], places: Places) -> _T:
    """The first of the settings whose mean on these places is within one standard error of the best mean.

    Args:
        settings: the simplest first, at least one.
        figures: of a setting, one per query.
        places: of the queries to look at.
    """
    seen = [figures(setting)[places] for setting in settings]
    best = seen[int(np.argmax([round(float(each.mean()), 12) for each in seen]))]
    return next(setting for setting, each in zip(settings, seen, strict=True) if _as_good(best - each))


def _as_good(behind: Figures) -> bool:
    error = float(behind.std(ddof=1)) / len(behind) ** 0.5 if len(behind) > 1 else 0.0
    return float(behind.mean()) <= error + _ROUNDING


def bootstrap(values: Figures, *, seed: int, rounds: int = 2_000, level: float = 0.95) -> tuple[float, float]:
    """The interval that holds the middle `level` of the means of `rounds` samples, drawn with replacement.

    See Efron, "Bootstrap Methods: Another Look at the Jackknife", Annals of Statistics 1979.
    """
    draw = np.random.Generator(np.random.PCG64(seed & ((1 << 64) - 1)))
    means = np.array([values[draw.integers(0, len(values), len(values))].mean() for _ in range(rounds)])
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
