"""Looks for the highest similarity floor that costs next to nothing on questions that have an answer; pure.

Each fold chooses on the queries of the others: the highest floor up to which no floor costs any guarded measure more
than the tolerance. The lowest of the folds' floors is taken, and the loss is that of each fold's own floor on the
queries it was not chosen on. Questions that have an answer can't say what a floor is good for; questions that nothing
answers can, where there are some (`calibrate` needs neither).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from citewell.evaluation.tune_replay import Setting
from citewell.evaluation.tune_result import Floor
from citewell.evaluation.tune_table import Table

if TYPE_CHECKING:
    from citewell.evaluation.tune_folds import Figures, Places

_ROUNDING = 1e-12

STEP: Final = 0.02
_FLOORS: Final = tuple(round(step * STEP, 2) for step in range(50))
_HOPELESS: Final = 0.05
"""A floor that costs this much on all queries ends the search: higher ones cost more."""

_WORTH: Final = 0.1
"""The share of returned blocks that a floor has to reject to be worth a line of configuration."""


def find_floor(
    table: Table,
    setting: Setting,
    folds: Sequence[Places],
    guarded: Sequence[str],
    *,
    tolerance: float,
    unanswerable: Table | None = None,
) -> Floor:
    """The floor for a setting.

    Args:
        table: of the judged queries.
        setting: whose floor is looked for; its own counts as the one in force.
        folds: places of the queries held out, one after the other.
        guarded: the measures that may not fall.
        tolerance: how much of each of them a floor may cost, >= 0.
        unanswerable: of the questions that nothing answers, if there are some.
    """
    without = replace(setting, min_similarity=None)
    tried = _tried(table, without, guarded)
    chosen = [_highest(table, without, tried, guarded, tolerance, _others(folds, held)) for held in range(len(folds))]
    value = min(chosen, key=lambda floor: -1.0 if floor is None else floor, default=None)
    losses = {measure: _held_out_loss(table, without, chosen, folds, measure) for measure in guarded}
    rejected, silenced = _rejected(table, replace(setting, min_similarity=value), without)
    refused = _refused(unanswerable, replace(setting, min_similarity=value))
    verdict, why = _verdict(value, setting.min_similarity, losses, rejected, tolerance)
    return Floor(
        value=value,
        current=setting.min_similarity,
        by_fold=tuple(chosen),
        losses=losses,
        rejected=rejected,
        silenced=silenced,
        unanswerable=refused,
        verdict=verdict,
        why=why,
    )


def _tried(table: Table, without: Setting, guarded: Sequence[str]) -> list[float]:
    """Ascending, up to the first that is hopeless."""
    tried: list[float] = []
    for floor in _FLOORS:
        if max(float(_loss(table, without, floor, name).mean()) for name in guarded) > _HOPELESS:
            break
        tried.append(floor)
    return tried


def _loss(table: Table, without: Setting, floor: float | None, measure: str) -> Figures:
    """What a floor costs each query."""
    return table.figures(without, measure) - table.figures(replace(without, min_similarity=floor), measure)


def _others(folds: Sequence[Places], held: int) -> Places:
    return np.concatenate([fold for number, fold in enumerate(folds) if number != held])


def _highest(
    table: Table, without: Setting, tried: Sequence[float], guarded: Sequence[str], tolerance: float, places: Places
) -> float | None:
    """The last floor before the first one that costs too much on these places."""
    found = None
    for floor in tried:
        if any(float(_loss(table, without, floor, name)[places].mean()) > tolerance + _ROUNDING for name in guarded):
            break
        found = floor
    return found


def _held_out_loss(
    table: Table, without: Setting, chosen: Sequence[float | None], folds: Sequence[Places], measure: str
) -> float:
    parts = [_loss(table, without, floor, measure)[places] for floor, places in zip(chosen, folds, strict=True)]
    return float(np.concatenate(parts).mean())


def _rejected(table: Table, floored: Setting, without: Setting) -> tuple[float, int]:
    """The share of returned blocks that the floor takes away, and how many queries it leaves with nothing."""
    pairs = [
        (before.keys, set(after.keys))
        for before, after in zip(table.answers(without), table.answers(floored), strict=True)
    ]
    returned = sum(len(before) for before, _ in pairs)
    gone = sum(key not in after for before, after in pairs for key in before)
    return gone / max(returned, 1), sum(bool(before) and not after for before, after in pairs)


def _refused(unanswerable: Table | None, floored: Setting) -> tuple[int, int]:
    if unanswerable is None:
        return 0, 0
    answers = unanswerable.answers(floored)
    return sum(not answer.keys for answer in answers), len(answers)


def _verdict(
    value: float | None, current: float | None, losses: Mapping[str, float], rejected: float, tolerance: float
) -> tuple[Literal["propose", "offer", "none"], str]:
    """What is to be done with it, and why."""
    if value is None:
        return "none", f"even a floor of {_FLOORS[0]:g} costs more than {tolerance:g}"
    if value == current:
        return "none", "it is the floor in force"
    costs = {name: loss for name, loss in losses.items() if loss > _ROUNDING}
    said = " and ".join(f"{name} {loss:.4f}" for name, loss in costs.items())
    if any(loss > tolerance + _ROUNDING for loss in costs.values()):
        return "none", f"on the questions held out it costs {said}, more than {tolerance:g}"
    if current is None and rejected < _WORTH:
        return "none", f"it rejects {rejected:.0%} of the blocks returned, too few to be worth a setting"
    if costs:
        return "offer", f"on the questions held out it costs {said}: no more than {tolerance:g}, and yours to weigh"
    return "propose", "on the questions held out it costs nothing, and it spares the agent what it rejects"
