"""Sentences of README.md and docs/ that say figures, from the JSON that scripts of bench/ wrote.

It knows the shapes of those files, and no table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from figure_peers import LABELS, verdict
from figure_tables import share

_LEVEL = 0.05
"""Of p, below which chance is no explanation."""
_SAID = f"{_LEVEL:g}".lstrip("0")
_PATHS = ("dense", "lexical")
_FIXED = "fixed 1.9"


def below_a_path(results: Mapping[str, Mapping[str, Any]]) -> str:
    """bench/peers: the sets on which hybrid is below one of Citewell's own paths with significance."""
    found = [
        f"{path} path on {name} ({share(-test['difference'])}, p {share(test['p'])})"
        for name, result in sorted(results.items())
        for path in _PATHS
        if (test := result["stacks"]["citewell"]["against"][f"citewell {path}"]["nDCG@10"])["p"] < _LEVEL
        and test["difference"] < 0
    ]
    if not found:
        return f"Hybrid is below neither of Citewell's own paths on any set with p < {_SAID}."
    return f"Hybrid stays below Citewell's own {', and its '.join(found)}."


def fastest(result: Mapping[str, Any]) -> str:
    """bench/peers: Citewell's hybrid beside the fastest peer at many chunks."""
    alike, bound = result["ratio, shallow"], result["bound"]
    return (
        f"Of {result['chunks']:,} chunks a hybrid lookup takes {alike:.2f} times as long as with"
        f" {LABELS[result['fastest']]}, the fastest peer there,\nwhere both do the same, 20 deep and 20 texts (aim: at"
        f" most {bound:g}, {verdict(alike, bound)}); {result['ratio, plain']:.2f} at its own depth of 50, and"
        f" {result['ratio']:.2f} with hints as well, which no peer gives."
    )


def below_better_path(result: Mapping[str, Any]) -> str:
    """bench/weighing.py: the sets on which hybrid is below its better path with significance, and by how much."""
    found = [
        f"{row['set']} by {share(best - row['in force'])} (with the fixed weight 1.9 by {share(best - row[_FIXED])})"
        for row in result["rows"]
        if (best := max(row[path] for path in _PATHS)) > row["in force"] and row["p against the better path"] < _LEVEL
    ]
    where = "; ".join(found) or "none"
    return f"Below its better path with p < {_SAID}: {where}."


TABLES: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "below-a-path": ("peers", below_a_path),
    "fastest-peer": ("peers_scale.json", fastest),
    "below-better-path": ("weighing.json", below_better_path),
}
