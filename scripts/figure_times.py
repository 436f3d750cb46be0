"""The table of how long the scripts of bench/ take, from the JSON of bench/every.py; pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from figure_tables import ran, table


def times(result: Mapping[str, Any]) -> str:
    """A script a row, in the order in which they run, and the whole."""
    rows = [[f"`{each['script']}`", *_minutes(each)] for each in result["scripts"]]
    whole = {name: sum(each[name] for each in result["scripts"]) for name in ("minutes", "processor")}
    return f"{table(['script', 'minutes', 'of processor'], [*rows, ['all', *_minutes(whole)]])}\n\n{ran(result)}"


def _minutes(taken: Mapping[str, float]) -> tuple[str, str]:
    return f"{taken['minutes']:.1f}", f"{taken['processor']:.1f}"


TABLES: Mapping[str, tuple[str, Callable[[Any], str]]] = {"times": ("times.json", times)}
