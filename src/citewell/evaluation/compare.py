"""Runs against one of them, query by query: is the difference more than chance, and where is it? (EVAL-1); pure.

p is the paired randomisation test's of `metrics`, with its fixed seed. Whoever makes many comparisons finds a small p
by luck: beside each stands Holm's, which holds for all comparisons of the list together (Holm, "A simple sequentially
rejective multiple test procedure", Scandinavian Journal of Statistics 1979).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from citewell.evaluation.measures import Judged
from citewell.evaluation.metrics import paired_randomisation_test

COMPARED = ("nDCG@10", "recall@5", "char-recall@5")
"""The measures that are compared, as far as both runs have them."""

MOST_CHANGED = 10


@dataclass(frozen=True, slots=True)
class Change:
    """What one query gained or lost."""

    query: str
    text: str
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """A run against the baseline on one measure.

    Attributes:
        run: its name.
        measure: such as `nDCG@10`.
        before: the baseline's mean.
        after: the run's.
        p: two-sided, of this comparison alone.
        p_holm: with all comparisons of the list in mind.
        better: how many queries gained.
        equal: how many stayed.
        worse: how many lost.
        gained: the ten that gained most, most first, then by query id.
        lost: the ten that lost most, most first, then by query id.
    """

    run: str
    measure: str
    before: float
    after: float
    p: float
    p_holm: float
    better: int
    equal: int
    worse: int
    gained: tuple[Change, ...]
    lost: tuple[Change, ...]


def compare(baseline: Judged, others: Sequence[Judged], questions: Mapping[str, str]) -> tuple[Comparison, ...]:
    """Each other run against the baseline, on each measure of COMPARED that both have.

    Args:
        baseline: what the others are held against.
        others: judged on the same queries.
        questions: text by query id.
    """
    found = [
        _comparison(baseline, other, measure, questions)
        for other in others
        for measure in COMPARED
        if measure in baseline.means and measure in other.means
    ]
    adjusted = holm([each.p for each in found])
    return tuple(replace(each, p_holm=p) for each, p in zip(found, adjusted, strict=True))


def holm(values: Sequence[float]) -> list[float]:
    """Holm's p for each of these p, in their order: times the number of those not smaller, never falling, at most 1."""
    adjusted, highest = [0.0] * len(values), 0.0
    for rank, place in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        highest = max(highest, min(1.0, values[place] * (len(values) - rank)))
        adjusted[place] = highest
    return adjusted


def _comparison(baseline: Judged, other: Judged, measure: str, questions: Mapping[str, str]) -> Comparison:
    changes = [
        Change(query, questions[query], before[measure], other.figures[query][measure])
        for query, before in baseline.figures.items()
    ]
    p = paired_randomisation_test(other.values(measure), baseline.values(measure))
    better, worse = (
        sorted((each for each in changes if sign * _gain(each) > 0), key=lambda each: (-abs(_gain(each)), each.query))
        for sign in (1, -1)
    )
    return Comparison(
        run=other.run.name,
        measure=measure,
        before=baseline.means[measure],
        after=other.means[measure],
        p=p,
        p_holm=p,
        better=len(better),
        equal=len(changes) - len(better) - len(worse),
        worse=len(worse),
        gained=tuple(better[:MOST_CHANGED]),
        lost=tuple(worse[:MOST_CHANGED]),
    )


def _gain(change: Change) -> float:
    return change.after - change.before
