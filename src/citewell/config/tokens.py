"""The `server.tokens` setting: who may call the servers, and which scope each caller holds (SAFE-3, API-4).

Tokens are kept as digests from here on, so that nothing that prints or logs settings can show one.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from citewell.admission import check_labels
from citewell.errors import ConfigError, InvalidRequest

_KNOWN = ("name", "token", "scope", "ingest")
_DIGEST = re.compile("sha256:[0-9a-f]{64}")
_SHORTEST = 16
_LEAST_VARIED = 8
"""Different characters; `changemechangeme` has 7, a token made by chance 8 or more."""

_FRESH = "Make one: python3 -c 'import secrets; print(secrets.token_urlsafe(32))'."
_WAY_OUT = (
    f'Write [[server.tokens]] with name = "ops", token = "..." ({_SHORTEST} characters or more, or sha256:<hex>),'
    ' scope = ["team-a"] (left out = everything) and ingest = true | false.'
)


@dataclass(frozen=True, slots=True)
class Token:
    """One bearer token.

    Attributes:
        name: of the caller, for logs.
        digest: SHA-256 of the token in UTF-8, as 64 hexadecimal digits.
        scope: sorted labels that the caller holds; None = everything, () = nothing.
        ingest: whether the caller may add and delete documents.
    """

    name: str
    digest: str
    scope: tuple[str, ...] | None = None
    ingest: bool = False


def read_tokens(name: str, raw: object) -> tuple[Token, ...]:
    """A list of tables, or the same as JSON text (the environment has only text).

    Raises:
        ConfigError: it is no such list; names the entry, never a token.
    """
    entries = _parsed(name, raw)
    tokens = tuple(_token(f"{name}[{place}]", entry) for place, entry in enumerate(entries))
    for what, values in (("name", [t.name for t in tokens]), ("token", [t.digest for t in tokens])):
        if len(set(values)) < len(values):
            raise ConfigError(f"two entries of {name} have the same {what}", way_out="Each caller has its own.")
    return tokens


def digest_of(token: str) -> str:
    """How a token is kept."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _parsed(name: str, raw: object) -> list[object]:
    if raw is None or (isinstance(raw, str) and not raw):
        return []
    if isinstance(raw, str):
        try:
            raw = json.loads(raw)
        except (ValueError, RecursionError):
            raise ConfigError(f"{name} is no JSON list of tables", way_out=_WAY_OUT) from None
    if not isinstance(raw, list | tuple):
        raise ConfigError(f"{name} is no list of tables", way_out=_WAY_OUT)
    return list(raw)


def _token(where: str, entry: object) -> Token:
    if not isinstance(entry, Mapping):
        raise ConfigError(f"{where} is no table", way_out=_WAY_OUT)
    unknown = sorted(str(key) for key in entry if key not in _KNOWN)
    if unknown:
        raise ConfigError(f"{where} has unknown keys: {', '.join(unknown)}", way_out=_WAY_OUT)
    name, ingest = entry.get("name"), entry.get("ingest", False)
    if not isinstance(name, str) or not name.strip() or not isinstance(ingest, bool):
        raise ConfigError(f"{where} needs a name, and ingest must be true or false", way_out=_WAY_OUT)
    return Token(name.strip(), _digest(where, entry.get("token")), _scope(where, entry.get("scope")), ingest)


def _digest(where: str, token: object) -> str:
    if isinstance(token, str) and _DIGEST.fullmatch(token):
        return token.removeprefix("sha256:")
    if not isinstance(token, str) or len(token) < _SHORTEST or token.startswith("sha256:") or not token.isprintable():
        raise ConfigError(f"{where}.token can't be used", way_out=_WAY_OUT)
    if len(set(token)) < _LEAST_VARIED or (token[0], token[-1]) == ("<", ">"):
        raise ConfigError(f"{where}.token looks like a placeholder", way_out=_FRESH)
    return digest_of(token)


def _scope(where: str, scope: object) -> tuple[str, ...] | None:
    try:
        return check_labels(scope)
    except InvalidRequest as error:
        raise ConfigError(f"{where}.scope: {error.message}", way_out=error.way_out) from error
