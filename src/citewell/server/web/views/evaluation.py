"""A file of evaluation figures -> recall by k, means by metric, differences query by query; pure.

Two forms are read:

    {"dataset": NAME, "runs": [{"name": RUN, "means": {METRIC: x}, "queries": {ID: {METRIC: x}}}, ...]}
    [{"set": NAME, "figures": {RUN: {METRIC: x}}}, ...]          what bench/quality.py writes; means alone

A metric is named as `recall@5`, `nDCG@10`. Means that a run leaves out are made of its queries.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from citewell.errors import InvalidRequest
from citewell.server.web.views.plots import Lines, lines
from citewell.server.web.views.values import Json, mapping, number, objects

_RECALL = re.compile(r"(?:recall|R)@(\d{1,6})", re.IGNORECASE)

MOST_QUERIES = 200
"""Differences in a plot: the largest on either side are drawn."""


@dataclass(frozen=True, slots=True)
class Run:
    """One system on one set: means, and figures by query where the file has them."""

    name: str
    means: Mapping[str, float]
    queries: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Difference:
    """What one query gains from the first run to the second; `share` of the largest gain or loss, from -1 to 1."""

    query: str
    first: float
    second: float
    share: float

    @property
    def gain(self) -> float:
        """Second less first."""
        return self.second - self.first


@dataclass(frozen=True, slots=True)
class Differences:
    """Two runs, query by query, on one metric: losses and gains; ties are only counted."""

    metric: str
    first: str
    second: str
    entries: tuple[Difference, ...]
    better: int
    worse: int
    equal: int


@dataclass(frozen=True, slots=True)
class SetView:
    """Runs on one set of queries."""

    name: str
    runs: tuple[Run, ...]
    metrics: tuple[str, ...]
    recall: Lines
    differences: tuple[Differences, ...]


def evaluation_view(content: object) -> tuple[SetView, ...]:
    """The sets of a file.

    Raises:
        InvalidRequest: it has neither form.
    """
    sets = _sets(content)
    if not sets:
        raise InvalidRequest(
            "the file holds no evaluation runs",
            way_out='It must hold {"dataset": ..., "runs": [...]}, or a list of sets.',
        )
    return tuple(_set(name, runs) for name, runs in sets)


def _sets(content: object) -> list[tuple[str, tuple[Run, ...]]]:
    if isinstance(content, Mapping):
        runs = tuple(_run(str(run.get("name", "")), run) for run in objects(content.get("runs")))
        return [(str(content.get("dataset", "")), runs)] if runs else []
    found = []
    for each in objects(content):
        figures = mapping(each.get("figures"))
        runs = tuple(_run(str(name), {"means": means}) for name, means in figures.items())
        if runs:
            found.append((str(each.get("set", "")), runs))
    return found


def _run(name: str, run: Json) -> Run:
    queries = {str(query): _figures(figures) for query, figures in mapping(run.get("queries")).items()}
    metrics = dict.fromkeys(metric for figures in queries.values() for metric in figures)
    made = {metric: fmean(figures.get(metric, 0.0) for figures in queries.values()) for metric in metrics}
    return Run(name, made | _figures(run.get("means")), queries)


def _figures(given: object) -> dict[str, float]:
    return {str(name): value for name, raw in mapping(given).items() if (value := number(raw)) is not None}


def _set(name: str, runs: tuple[Run, ...]) -> SetView:
    curves = {run.name: _recalls(run.means) for run in runs}
    return SetView(
        name=name,
        runs=runs,
        metrics=tuple(dict.fromkeys(metric for run in runs for metric in run.means)),
        recall=lines(curves if any(len(points) > 1 for points in curves.values()) else {}),
        differences=tuple(_differences(runs[0], run) for run in runs[1:] if runs[0].queries and run.queries),
    )


def _recalls(means: Mapping[str, float]) -> list[tuple[float, float]]:
    found = [(_RECALL.fullmatch(name), value) for name, value in means.items()]
    return sorted((float(match[1]), value) for match, value in found if match and int(match[1]) > 0)


def _differences(first: Run, second: Run) -> Differences:
    """On the metric that both have for most queries: nDCG before others."""
    metric = _common(first, second)
    queries = sorted(first.queries.keys() | second.queries.keys())  # a query without an answer counts as 0
    pairs = {query: (_value(first, query, metric), _value(second, query, metric)) for query in queries}
    gains = {query: after - before for query, (before, after) in pairs.items()}
    moved = sorted((query for query in queries if gains[query]), key=lambda query: (-gains[query], query))
    largest = max((abs(gains[query]) for query in moved), default=1.0)
    drawn = moved if len(moved) <= MOST_QUERIES else moved[: MOST_QUERIES // 2] + moved[-MOST_QUERIES // 2 :]
    return Differences(
        metric=metric,
        first=first.name,
        second=second.name,
        entries=tuple(Difference(query, *pairs[query], share=gains[query] / largest) for query in drawn),
        better=sum(gain > 0 for gain in gains.values()),
        worse=sum(gain < 0 for gain in gains.values()),
        equal=sum(gain == 0 for gain in gains.values()),
    )


def _common(first: Run, second: Run) -> str:
    shared = [name for name in first.means if name in second.means]
    return next((name for name in shared if name.lower().startswith("ndcg")), shared[0] if shared else "")


def _value(run: Run, query: str, metric: str) -> float:
    return run.queries.get(query, {}).get(metric, 0.0)
