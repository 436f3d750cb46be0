"""Text of a configuration file, or an environment, into `{dotted key: raw value}`; no defaults, no meaning.

Files nest tables or dot their keys, as the writer likes: `[rag]` with `retrieve-k = 20`, or `"rag.retrieve-k" = 20`.
An underscore counts as a hyphen, for the environment has no hyphens: `CITEWELL_RAG__RETRIEVE_K`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from citewell.checks import shown
from citewell.config.keys import KEYS
from citewell.errors import ConfigError

_PREFIX = "CITEWELL_"
_DEEPEST = 8  # dots in a key: a table below is no setting, and one that holds itself has no end
_KNOWN = {key.name for key in KEYS}
_NOT_SETTINGS = {"CITEWELL_KB", "CITEWELL_CONFIG"}  # they name the store and the file; the command line reads them


def parse_file(text: str, name: str) -> dict[str, object]:
    """The settings in the text of a TOML or YAML file; which of them, the name's suffix says.

    Raises:
        ConfigError: it can't be parsed, or holds a key that nobody knows.
    """
    return parse_mapping(_load(text, name), name)


def parse_mapping(mapping: object, origin: str) -> dict[str, object]:
    """The settings in nested or dotted tables."""
    found: dict[str, object] = {}
    if not isinstance(mapping, Mapping):
        raise ConfigError(f"{origin} can't be {shown(mapping)}", way_out="Give a table of settings.")
    for key, value in _flatten(mapping, ""):
        _admit(found, key, value, origin)
    return found


def parse_environment(environment: Mapping[str, str]) -> dict[str, object]:
    """The settings among the environment's variables: `CITEWELL_RAG__RETRIEVE_K` is `rag.retrieve-k`."""
    found: dict[str, object] = {}
    for variable in sorted(environment):
        if variable.startswith(_PREFIX) and variable not in _NOT_SETTINGS:
            key = variable.removeprefix(_PREFIX).lower().replace("__", ".").replace("_", "-")
            _admit(found, key.replace("dense-filtered", "dense_filtered"), environment[variable], variable)
    return found


def _load(text: str, name: str) -> Mapping[str, object]:
    try:
        loaded = _load_toml(text) if name.endswith(".toml") else _load_yaml(text)
    except ValueError as error:
        raise ConfigError(f"{name} can't be parsed: {error}", way_out="Mend the line that it names.") from error
    except RecursionError:
        raise ConfigError(f"{name} can't be parsed: it nests too deeply", way_out="Settings nest twice.") from None
    if loaded is None:
        return {}
    if not isinstance(loaded, Mapping):
        raise ConfigError(
            f"{name} holds no table of settings", way_out="Write `rag: {retrieve-k: 50}` or a TOML table."
        )
    return loaded


def _load_toml(text: str) -> object:
    import tomllib  # noqa: PLC0415 - most commands find no file

    return tomllib.loads(text)


def _load_yaml(text: str) -> object:
    import yaml  # noqa: PLC0415 - only who configures by YAML pays for it

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        # Without the lines around it, which its own text quotes: a secret may stand there.
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        raise ValueError(f"{problem or 'no YAML'}, line {mark.line + 1}" if mark else str(error)) from error


def _flatten(value: Mapping[Any, object], prefix: str) -> Iterator[tuple[str, object]]:
    for name, inner in value.items():
        key = f"{prefix}{name if isinstance(name, str) else shown(name)}"
        dotted = _normalize(key)
        if isinstance(inner, Mapping) and dotted not in _KNOWN and key.count(".") < _DEEPEST:
            yield from _flatten(inner, f"{key}.")
        else:
            yield dotted, inner


def _normalize(key: str) -> str:
    return key if key in _KNOWN else key.replace("_", "-").replace("dense-filtered", "dense_filtered")


def _admit(found: dict[str, object], key: str, value: object, origin: str) -> None:
    parent, _, path = key.rpartition(".")
    if parent == "retrieval.search.weights":
        table = found.setdefault(parent, {})
        if isinstance(table, dict):
            table[path] = value
        return
    if key not in _KNOWN:
        raise ConfigError(f"{origin} sets {shown(key)}, which is no setting", way_out=_suggestion(key))
    found[key] = value


def _suggestion(key: str) -> str:
    close = difflib.get_close_matches(key, sorted(_KNOWN), n=1)
    return f"Did you mean {close[0]!r}?" if close else "`citewell config` lists every key."
