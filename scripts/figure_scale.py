"""The tables of how the embedded engine grows, and of single commands and warm lookups, from the JSON of bench/.

It knows the shapes of those files alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from figure_tables import number, table

_CALLS = {
    "dense": "dense path (ms)",
    "dense within a category": "dense path within a category that a tenth has (ms)",
    "lexical": "lexical path, six words (ms)",
    "fetch": "fetching the texts of 50 chunks (ms)",
    "lookup": "hybrid lookup, two paths, texts fetched (ms)",
    "lookup within a category": "hybrid lookup with a category, three paths (ms)",
    "lookup with hints": "hybrid lookup with hints (ms)",
}
_OTHERS = {
    "build, cpu s": "writing everything, processor (s)",
    "open to first answer, s": "a new process, from opening to its first dense answer (s)",
    "open to first answer, cpu s": "the same, processor, imports included (s)",
    "catalogue read, s": "first hints where no copy is kept (s)",
    "catalogue's copy taken, s": "first hints of a process, from the copy (s)",
    "disk, MB": "on disk (MB)",
    "memory, of its own, MB": "memory that is no mapped file (MB)",
    "memory with hints, of its own, MB": "the same with hints (MB)",
    "memory, MB": "resident, mapped files included (MB)",
    "dense recall@20": "dense recall@20",
}


def scale(sizes: Mapping[str, Mapping[str, float]]) -> str:
    """bench/scale.py: a column per size, and the exponent of growth between the last two."""
    every = [sizes[size] for size in sorted(sizes, key=int)]
    head = ["chunks", *(f"{int(each['chunks']):,}" for each in every), "growth"]
    calls = [
        [label, *(_call(each, name) for each in every), _grown(every, f"{name} cpu")]
        for name, label in _CALLS.items()
        if any(f"{name} cpu" in each for each in every)
    ]
    others = [
        [label, *(number(each[name]) if name in each else "" for each in every), _grown(every, name)]
        for name, label in _OTHERS.items()
    ]
    return table(head, [*calls, *others])


def _call(figures: Mapping[str, float], name: str) -> str:
    if f"{name} cpu" not in figures:
        return ""
    return " / ".join(number(figures[f"{name} {what}"]) for what in ("cpu", "p50", "p95"))


def _grown(every: Sequence[Mapping[str, float]], name: str) -> str:
    before, last = every[-2:]
    if "recall" in name or name not in last or name not in before:
        return ""
    return f"{math.log(last[name] / before[name]) / math.log(last['chunks'] / before['chunks']):.2f}"


def cold(runs: Mapping[str, Mapping[str, float]]) -> str:
    """bench/cold_cli.py: a single command beside the bare imports and the model."""
    rows = [
        [
            name,
            *(number(run[what]) for what in ("wall", "wall ratio", "processor", "processor ratio")),
            "" if name in ("bare", "mapped") else f"{run['without hints']:.0f}",
        ]
        for name, run in runs.items()
    ]
    return table(["", "wall (s)", "to bare", "processor (s)", "to bare", "without hints"], rows)


def warm(figures: Sequence[Mapping[str, Any]]) -> str:
    """bench/warm.py: a lookup in a process that is warm."""
    rows = [
        [str(each["name"]), *(number(float(each[what])) for what in ("p50", "p95", "processor"))] for each in figures
    ]
    return table(["10,000 chunks (ms)", "p50", "p95", "processor, p50"], rows)


TABLES: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "scale": ("scale.json", scale),
    "cold": ("cold_cli.json", cold),
    "warm": ("warm.json", warm),
}
