"""A configuration to begin with, as commented TOML: every key, its meaning and default, `hybrid` and why (PORT-3).

It is made from the table of keys, so that it names all of them and no other. It writes no file and makes no token.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from citewell.config.keys import KEYS, Key

_HEAD: Final = """\
# Settings of Citewell. A line that begins with '# name = ' shows a default; take the '# ' away to change it.
# The environment wins over this file (CITEWELL_RAG__RETRIEVE_K=80), and arguments win over both.
# `citewell config` shows each value in force and where it came from."""

_HYBRID: Final = """\
# hybrid asks by meaning and by words, and fuses both rankings: it finds questions in other words, and exact codes,
# names and error messages too. The library's own default is dense, so that those who upgrade get what they had.
mode = "hybrid\""""

_TOKENS: Final = """\
# Who may call. Without tokens the server listens on loopback alone, and anyone there sees and changes everything.
# These were made for this file and are in no other: keep it to yourself. Take '# ' away to use them; for a token that
# is in no file, give its digest: printf %s TOKEN | sha256sum, and token = "sha256:<the digits>"."""

_PLACES: Final = ("retrieval.search", "rag", "projection", "store", "embedder", "reranker", "session", "server")
_ACTIVE: Final = {"retrieval.search.mode": _HYBRID}
_APART: Final = "server.tokens"


def generated(tokens: Sequence[str]) -> str:
    """The text of a file that `Settings.load` takes; its name has to end in `.toml`.

    Args:
        tokens: two that nobody can guess, written as comments: one for everything, one within a scope.
    """
    sections = [_section(name, list(keys)) for name, keys in groupby(_ordered(), key=_section_of)]
    return "\n\n".join([_HEAD, *sections, _callers(*tokens)]) + "\n"


def _ordered() -> list[Key]:
    return sorted((key for key in KEYS if key.name != _APART), key=lambda key: _PLACES.index(_section_of(key)))


def _section_of(key: Key) -> str:
    return key.name.rpartition(".")[0]


def _section(name: str, keys: Sequence[Key]) -> str:
    return "\n\n".join([f"[{name}]", *(_entry(key) for key in keys)])


def _entry(key: Key) -> str:
    if key.name in _ACTIVE:
        return _ACTIVE[key.name]
    name = key.name.rpartition(".")[2]
    if key.default is None:
        secret = " Better kept in the environment." if key.secret else ""
        return f"# {key.meaning}{secret}\n# {name} is not set"
    return f"# {key.meaning}\n# {name} = {_toml(key.default)}"


def _callers(everything: str, scoped: str) -> str:
    lines = [
        _TOKENS,
        f'# [[server.tokens]]\n# name = "ops"\n# token = "{everything}"\n# ingest = true',
        f'# [[server.tokens]]\n# name = "team-a-bot"\n# token = "{scoped}"\n# scope = ["team-a"]',
    ]
    return "\n\n".join(lines)


def _toml(value: object) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(_pairs(value)) + " }"
    return json.dumps(list(value) if isinstance(value, tuple) else value)


def _pairs(table: Mapping[str, object]) -> Iterator[str]:
    return (f"{name} = {_toml(value)}" for name, value in table.items())
