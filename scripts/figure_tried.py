"""The table of docs/benchmarks.md about what was tried on the fusion, from the JSON of bench/tried.py; pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from figure_tables import bold, signed, table

_METRICS = ("nDCG@10", "recall@5")
_LEVEL = 0.05


def tried(rows: Sequence[Mapping[str, Any]]) -> str:
    """A variant a row: differences in nDCG@10 / recall@5 on each set, bold where p < .05."""
    sets = list(rows[0]["sets"])
    lines = [[row["variant"], *(_cell(row["sets"][name]) for name in sets)] for row in rows]
    return table(["nDCG@10 / recall@5", *sets], lines)


def _cell(found: Mapping[str, Mapping[str, float]]) -> str:
    return " / ".join(_figure(found[metric]) for metric in _METRICS)


def _figure(measured: Mapping[str, float]) -> str:
    difference = round(measured["difference"], 3)
    if not difference:
        return "0"
    sure = measured["p"] < _LEVEL
    p = f" (p {measured['p']:.3f})" if sure else ""
    return bold(f"{signed(difference)}{p}", when=sure)


TABLES: Mapping[str, tuple[str, Callable[[Any], str]]] = {"tried": ("tried.json", tried)}
