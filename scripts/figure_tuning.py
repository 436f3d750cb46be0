"""The tables of docs/tuning.md and of the token bound, from the JSON of bench/tune.py, calibrate.py and tokens.py.

It knows the shapes of those files alone.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from figure_tables import ran, share, signed, table

_TEXTS = {
    "runbooks": "the demo's runbooks, English and Chinese",
    "Kubernetes docs": "Kubernetes' documentation",
    "CMRC 2018": "a Chinese encyclopaedia (CMRC 2018)",
    "log": "lines of a log",
    "Python": "Citewell's own Python, as it was then",
    "rare Han": "rare Chinese characters alone",
    "random words": "words of random letters",
}
_GUARDED = ("nDCG@10", "recall@5")


def calibration(result: Mapping[str, Any]) -> str:
    """bench/calibrate.py: the floor of each store, and what it does to people's questions."""
    head = [
        "store",
        "floor",
        "95% interval",
        "everyday questions rejected",
        "its own, made: kept",
        "its own, people's: kept",
        "other sets' questions rejected (fewest)",
        "",
    ]
    return table(head, [_floor(row) for row in result["sets"]])


def _floor(row: Mapping[str, Any]) -> list[str]:
    others = row["rejected, of other sets"]
    fewest = min(others, key=others.__getitem__)
    low, high = row["interval"]
    kept = (row["kept, made questions"], row["kept, its people's questions"])
    return [
        row["set"],
        f"{row['floor']:.2f}",
        f"{low:.2f} to {high:.2f}",
        f"{row['rejected, everyday questions']:.0%}",
        *(f"{value:.0%}" for value in kept),
        f"{statistics.mean(others.values()):.0%} ({fewest} {others[fewest]:.0%})",
        "proposed" if row["proposed"] else "not proposed",
    ]


def stand_in(result: Mapping[str, Any]) -> str:
    """bench/calibrate.py: how far what is kept of made questions is from what is kept of people's."""
    points = [
        round(100 * (row["kept, its people's questions"] - row["kept, made questions"])) for row in result["sets"]
    ]
    return (
        f"Made questions stand in for people's: of people's, floors kept between {min(points):+d} and"
        f" {max(points):+d} points beside what they kept of made ones. {ran(result)}"
    )


def tuning(rows: Sequence[Mapping[str, Any]]) -> str:
    """bench/tune.py: what is chosen on all questions, what that is worth held out, and the floor."""
    head = ["set", "in force", "chosen on all questions", "gain held out", "p", "folds the same", "proposed"]
    return table([*head, "highest floor within .005"], [_tuned(row) for row in rows])


def _tuned(row: Mapping[str, Any]) -> list[str]:
    current = next(each["current"] for each in row["comparisons"] if each["measure"] == row["metric"])
    steps = [step for step in row["steps"] if step["changes"]]
    gains = [step["comparisons"][0] for step in steps]
    many = f"{row['queries']:,}" + (f" of {row['judged']:,}" if row["judged"] != row["queries"] else "")
    return [
        f"{row['dataset']}, {many} questions by {row['grain']}",
        share(current),
        "; ".join(_changed(step["changes"]) for step in steps) or "nothing",
        "; ".join(signed(gain["gain"]) for gain in gains),
        "; ".join(f"{gain['p']:.4f}" for gain in gains),
        "; ".join(f"{step['agreeing']} of {row['folds']}" for step in steps),
        ", ".join(f"{_last(key)} {_value(value)}" for key, value in row["proposed"].items()) or "nothing",
        "" if row["floor"] is None else _highest(row["floor"]),
    ]


def _changed(changes: Mapping[str, Mapping[str, Any]]) -> str:
    return ", ".join(f"{_last(key)} {_value(change['to'])}" for key, change in changes.items())


def _last(key: str) -> str:
    return key.rpartition(".")[2]


def _value(value: object) -> str:
    """Weights of the paths as they stand beside each other: `1:1:1.9`."""
    if isinstance(value, Mapping):
        return ":".join(f"{each:g}" for each in value.values())
    return "unset" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _highest(floor: Mapping[str, Any]) -> str:
    if floor["value"] is None:
        return "none"
    costs = ", ".join(f"{name} {signed(-floor['losses'][name])}" for name in _GUARDED if name in floor["losses"])
    verdict = {"propose": "proposed", "offer": "offered", "none": "not proposed"}[floor["verdict"]]
    return f"{floor['value']:.2f}, {verdict}: {costs}; rejects {floor['rejected']:.0%} of blocks"


def tokens(result: Mapping[str, Any]) -> str:
    """bench/tokens.py: what the bound counts for each true token, in brackets the worst part."""
    names = list(result["rows"][0]["ratios"])
    rows = [
        [_TEXTS.get(row["text"], row["text"]), *(_ratio(row["ratios"][name]) for name in names)]
        for row in result["rows"]
    ]
    return f"{table(['text', *names], rows)}\n\n{ran(result)}"


def _ratio(found: Sequence[float]) -> str:
    whole, worst = found
    return f"{whole:.2f} ({worst:.2f})"


TABLES: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "calibration": ("calibrate.json", calibration),
    "calibration-stand-in": ("calibrate.json", stand_in),
    "tuning": ("tune.json", tuning),
    "tokens": ("tokens.json", tokens),
}
