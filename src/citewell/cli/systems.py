"""What is judged side by side: a name and its settings, from the modes and the KEY=VALUE texts of the command line.

What a setting means is the configuration's affair; here it is only decided which may differ between systems that share
a store.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from citewell.cli.options import load_settings
from citewell.errors import InvalidRequest

if TYPE_CHECKING:
    from citewell.config import Settings

Chosen = dict[str, object]

MODES: Final[Mapping[str, Chosen]] = {
    "dense": {"retrieval.search.mode": "dense"},
    "lexical": {"retrieval.search.mode": "hybrid", "retrieval.search.paths": ["lexical"]},
    "hybrid": {"retrieval.search.mode": "hybrid"},
}
"""What each mode sets that `--mode` names."""

_FREE = ("rag.", "retrieval.", "projection.", "reranker.")
_NEXT_PAIR = re.compile(r",(?=[a-z]+(?:\.[a-z_-]+)+=)")


@dataclass(frozen=True, slots=True)
class System:
    """One of those that are judged.

    Attributes:
        name: told apart from the others by it.
        chosen: what sets it apart from the configuration, by dotted key.
        settings: in force.
    """

    name: str
    chosen: Mapping[str, object]
    settings: Settings


def systems(modes: Sequence[str], named: Sequence[str], shared: Chosen, config: Path | None) -> tuple[System, ...]:
    """The modes, then the named runs; all modes where nothing is asked for.

    Args:
        modes: of MODES.
        named: `NAME:KEY=VALUE,KEY=VALUE` each.
        shared: what holds for all of them.
        config: the file of settings below that.

    Raises:
        InvalidRequest: a mode is unknown, a name is missing or taken, or a setting can't differ between systems.
        ConfigError: a setting is unknown or out of range.
    """
    runs = {name: {**shared, **chosen} for name, chosen in _runs(modes, named).items()}
    return tuple(System(name, chosen, load_settings(config, chosen)) for name, chosen in runs.items())


def pairs(texts: Sequence[str], where: str) -> Chosen:
    """KEY=VALUE texts as settings.

    Raises:
        InvalidRequest: one has no `=`.
    """
    found: Chosen = {}
    for text in texts:
        key, sign, value = text.partition("=")
        if not sign or not key.strip():
            raise InvalidRequest(f"{where} {text!r} is no KEY=VALUE", way_out="Write rag.retrieve-k=100.")
        found[key.strip()] = value.strip()
    return found


def _runs(modes: Sequence[str], named: Sequence[str]) -> dict[str, Chosen]:
    found: dict[str, Chosen] = {}
    for mode in modes or ([] if named else MODES):
        if mode not in MODES:
            raise InvalidRequest(f"--mode can't be {mode!r}", way_out=f"Give one of {', '.join(MODES)}.")
        found[mode] = MODES[mode]
    for text in named:
        name, sign, rest = text.partition(":")
        if not sign or not name.strip() or name in found:
            problem = "names a run that there is already" if name in found else "has no NAME: in front"
            raise InvalidRequest(f"--run {text!r} {problem}", way_out="Write --run wide:rag.retrieve-k=100.")
        found[name] = _of_one_run(pairs(_NEXT_PAIR.split(rest), f"--run {name}"))
    return found


def _of_one_run(chosen: Chosen) -> Chosen:
    fixed = [key for key in chosen if not key.startswith(_FREE)]
    if fixed:
        raise InvalidRequest(
            f"{fixed[0]} can't differ between runs, which share a store",
            way_out="Judge another store with --kb, or set it for all runs with --set.",
        )
    return chosen
