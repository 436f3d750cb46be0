"""Settings as a piece of a configuration file, with what speaks for them in front; pure.

It writes what `Settings.load` reads, and knows no key's meaning.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence


def fragment(values: Mapping[str, object], reasons: Sequence[str] = ()) -> str:
    """TOML text: the reasons as comments, then one table for each section, in the order of the keys.

    Args:
        values: numbers, texts and tables of numbers by dotted key; empty for no table at all.
        reasons: one line each.
    """
    sections: dict[str, list[str]] = {}
    for key, value in values.items():
        section, _, name = key.rpartition(".")
        sections.setdefault(section, []).append(f"{name} = {toml(value)}")
    comments = [f"# {line}" for reason in reasons for line in reason.splitlines()]
    tables = [line for name, lines in sections.items() for line in ("", f"[{name}]", *lines)]
    return "\n".join([*comments, *tables]).strip("\n") + "\n"


def toml(value: object) -> str:
    """A value as TOML writes it: whole numbers without a point, an empty text for what is unset."""
    if value is None:
        return '""'
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{name} = {toml(each)}" for name, each in value.items()) + " }"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value, ensure_ascii=False)
