"""Proposes settings from labelled queries by cross-validation, and says what they are worth (EVAL-2); pure.

    for each stage (tune_grid):
        for each fold: choose on the others (tune_folds), judge on it
        kept, if what the folds held out gained by it is significant and no guarded measure falls
    what the kept stages choose on all queries is proposed; a similarity floor apart (tune_floor)

Choosing and judging never see the same query, so that a gain is that of the procedure on questions it has not seen; a
stage that earns nothing by itself does not ride on one that does. At a tie the settings in force stay.

It knows no store, no file and no clock, and not what labels are: the judge is brought by the caller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from citewell.checks import check_count, check_number
from citewell.evaluation.metrics import paired_randomisation_test
from citewell.evaluation.model import Dataset
from citewell.evaluation.recorded import Recording
from citewell.evaluation.tune_floor import find_floor
from citewell.evaluation.tune_folds import bootstrap, folds_of, shuffled, simplest_of_the_best
from citewell.evaluation.tune_grid import Stage, by_simplicity, changes
from citewell.evaluation.tune_replay import Rules, Setting
from citewell.evaluation.tune_result import Comparison, Fold, Look, Step, Tuning, Verdict
from citewell.evaluation.tune_table import Judge, Table
from citewell.model import PATHS

if TYPE_CHECKING:
    from citewell.evaluation.tune_folds import Figures, Places

ENOUGH: Final = 30
"""The fewest judged queries that anything is proposed from. A setting changes the figure of about one query in five;
six that all go the same way are the fewest that a paired test calls significant (2 of 2^6 sign flips, p = .031)."""

SIGNIFICANT: Final = 0.05
TOLERANCE: Final = 0.005
"""What a floor may cost of a measure's mean."""

_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Task:
    """What tuning is to do.

    Attributes:
        recording: of every judged query.
        current: the settings in force.
        rules: what no setting changes.
        stages: what to try (tune_grid.stages).
        judge: what a run of answers is worth, by measure.
        metric: the measure to choose by.
        guarded: the measures that may not fall.
        folds: 2 or more, at most as many as queries.
        seed: of folds, test and bootstrap.
        tolerance: what a floor may cost.
        unanswerable: the recording of questions that nothing answers, if there are some.
    """

    recording: Recording
    current: Setting
    rules: Rules
    stages: Sequence[Stage]
    judge: Judge
    metric: str = "nDCG@10"
    guarded: Sequence[str] = ("nDCG@10", "recall@5")
    folds: int = 5
    seed: int = 20_090_719
    tolerance: float = TOLERANCE
    unanswerable: Recording | None = None


def sample(dataset: Dataset, most: int, seed: int) -> Dataset:
    """The same dataset with at most so many judged questions, drawn by the seed; 0 = all.

    Questions that nothing answers are drawn apart, as many at most.
    """
    judged, outside = (_drawn(texts, most, seed) for texts in (dataset.queries, dataset.unanswerable))
    return replace(dataset, queries=judged, unanswerable=outside)


def _drawn(texts: Mapping[str, str], most: int, seed: int) -> dict[str, str]:
    drawn = shuffled(list(texts), seed)
    return {query: texts[query] for query in sorted(drawn[: most or None])}


def too_few(queries: int, metric: str, folds: int, seed: int) -> Tuning | None:
    """The answer where there are too few queries to say anything; None if there are enough."""
    if queries >= ENOUGH:
        return None
    why = (
        f"{queries} judged queries can't tell settings apart, {ENOUGH} might: a setting changes the figure of about "
        "one query in five, and fewer than six changed figures are never significant"
    )
    return Tuning(queries, metric, folds, seed, "too_few", why)


def tune(task: Task) -> Tuning:
    """Choose, judge, and decide whether to propose.

    Raises:
        InvalidRequest: an argument can't be used.
    """
    count = check_count("folds", task.folds, least=2)
    check_number("tolerance", task.tolerance, least=0, most=1, wanted="a number from 0 to 1")
    table = Table(task.recording, task.rules, task.judge, dict.fromkeys([task.metric, *task.guarded]))
    few = too_few(len(table.queries), task.metric, count, task.seed)
    if few is not None:
        return few
    folds = folds_of(table.queries, min(count, len(table.queries)), task.seed)
    chain = _Chain(task.current, (task.current,) * len(folds))
    steps = []
    for stage in task.stages:
        longer = _longer(task, table, stage, chain, folds)
        step = _step(task, table, stage, chain, longer, folds)
        steps.append(step)
        chain = longer if step.kept else chain
    outside = None if task.unanswerable is None else Table(task.unanswerable, task.rules, task.judge, ())
    looks = _looks(task, table)
    verdict, why = _verdict(steps)
    return Tuning(
        queries=len(table.queries),
        metric=task.metric,
        folds=len(folds),
        seed=task.seed,
        verdict=verdict,
        why=why,
        changes=changes(task.current, chain.on_all),
        comparisons=_compare(task, table, _Chain(task.current, (task.current,) * len(folds)), chain, folds),
        steps=tuple(steps),
        looks=looks,
        alone=_alone(task, table),
        floor=find_floor(table, chain.on_all, folds, task.guarded, tolerance=task.tolerance, unanswerable=outside),
    )


@dataclass(frozen=True, slots=True)
class _Chain:
    """What the stages so far have come to: on all queries, and without each of the folds."""

    on_all: Setting
    without: tuple[Setting, ...]


def _longer(task: Task, table: Table, stage: Stage, chain: _Chain, folds: Sequence[Places]) -> _Chain:
    """With what one more stage chooses."""
    everything = np.arange(len(table.queries))
    return _Chain(
        _choose(task, table, stage, chain.on_all, everything),
        tuple(
            _choose(task, table, stage, before, np.setdiff1d(everything, held))
            for before, held in zip(chain.without, folds, strict=True)
        ),
    )


def _choose(task: Task, table: Table, stage: Stage, before: Setting, places: Places) -> Setting:
    """Simplicity is counted from the settings in force."""
    tried = by_simplicity([before, *stage.vary(before)], task.current)
    return simplest_of_the_best(tried, partial(table.figures, measure=task.metric), places)


def _step(task: Task, table: Table, stage: Stage, before: _Chain, after: _Chain, folds: Sequence[Places]) -> Step:
    compared = _compare(task, table, before, after, folds)
    why_not = _why_not(table, before, after, compared)
    pairs = list(zip(before.without, after.without, strict=True))
    metric = partial(table.figures, measure=task.metric)
    return Step(
        keys=stage.keys,
        changes=changes(before.on_all, after.on_all),
        comparisons=compared,
        by_fold=tuple(
            Fold(len(held), changes(one, other), float((metric(other)[held] - metric(one)[held]).mean()))
            for (one, other), held in zip(pairs, folds, strict=True)
        ),
        agreeing=sum(changes(one, other) == changes(before.on_all, after.on_all) for one, other in pairs),
        kept=not why_not,
        why=why_not or "it pays on questions that it was not chosen on, and nothing falls",
    )


def _compare(
    task: Task, table: Table, before: _Chain, after: _Chain, folds: Sequence[Places]
) -> tuple[Comparison, ...]:
    """Every query under what was chosen without its fold, before and after."""
    return tuple(
        _compared(name, _held_out(table, before, folds, name), _held_out(table, after, folds, name), task.seed)
        for name in table.measures
    )


def _held_out(table: Table, chain: _Chain, folds: Sequence[Places], measure: str) -> Figures:
    figures = np.zeros(len(table.queries))
    for setting, held in zip(chain.without, folds, strict=True):
        figures[held] = table.figures(setting, measure)[held]
    return figures


def _compared(measure: str, current: Figures, tuned: Figures, seed: int) -> Comparison:
    low, high = bootstrap(tuned - current, seed=seed)
    p = paired_randomisation_test(tuned.tolist(), current.tolist(), seed=seed)
    return Comparison(measure, float(current.mean()), float(tuned.mean()), p, low, high)


def _why_not(table: Table, before: _Chain, after: _Chain, compared: Sequence[Comparison]) -> str:
    """Why a stage's choice is not kept; empty if it is: it pays where it was not chosen, and no measure falls."""
    metric = compared[0]
    if after.on_all == before.on_all:
        return "nothing that was tried is better by more than one standard error"
    if metric.gain <= 0 or metric.p >= SIGNIFICANT:
        return (
            f"on questions that it was not chosen on, {metric.measure} differs by {metric.gain:+.4f}, "
            f"which may be chance (p = {metric.p:.3f})"
        )
    falling = [each.measure for each in compared if each.gain < -_ROUNDING]
    falling += [name for name in table.measures if _gain(table, before.on_all, after.on_all, name) < -_ROUNDING]
    if falling:
        return f"{metric.measure} rises by {metric.gain:.4f} at the cost of {' and '.join(dict.fromkeys(falling))}"
    return ""


def _gain(table: Table, one: Setting, other: Setting, measure: str) -> float:
    return float((table.figures(other, measure) - table.figures(one, measure)).mean())


def _verdict(steps: Sequence[Step]) -> tuple[Verdict, str]:
    kept = [step for step in steps if step.kept]
    if kept:
        gains = " and ".join(f"{step.comparisons[0].gain:+.4f} (p = {step.comparisons[0].p:.4f})" for step in kept)
        return "propose", f"on questions that it was not chosen on it is worth {gains} {kept[0].comparisons[0].measure}"
    chosen = [step for step in steps if step.changes]
    if not chosen:
        return "keep", "nothing that was tried is better than the settings in force by more than one standard error"
    return "keep", "; ".join(f"{', '.join(step.changes)}: {step.why}" for step in chosen)


def _looks(task: Task, table: Table) -> tuple[Look, ...]:
    """Every setting that a fold or the whole tried, the best mean first, equal ones the simplest first."""
    means = {
        each: float(table.figures(each, task.metric).mean()) for each in by_simplicity(table.tried(), task.current)
    }
    ordered = sorted(means, key=lambda setting: -round(means[setting], 12))
    return tuple(Look(changes(task.current, setting), means[setting]) for setting in ordered)


def _alone(task: Task, table: Table) -> dict[str, float]:
    """The metric's mean of each path by itself."""
    found = {path for recorded in task.recording.queries.values() for path in recorded.rankings}
    alone: dict[str, float] = {}
    for path in (path for path in PATHS if path in found):
        weights = tuple((each, float(each == path)) for each in PATHS)
        setting = replace(task.current, mode="hybrid", weights=weights)
        alone[path] = float(table.figures(setting, task.metric).mean())
    return alone
