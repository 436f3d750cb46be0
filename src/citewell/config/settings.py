"""`{dotted key: value}` by origin into one frozen Settings, with where each value came from.

What depends on more than one key is decided here: the fallback `rag.top-k`, and that retrieve-k is not below
return-n. Nothing is read here but the one file that `Settings.load` is given, and the environment with it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast

from citewell.bounded import read_file
from citewell.config.keys import KEYS
from citewell.config.parse import parse_environment, parse_file, parse_mapping
from citewell.config.tokens import Token
from citewell.errors import ConfigError, InvalidRequest
from citewell.fusion import check_weights
from citewell.model import Budget, LookupPolicy, SearchPolicy, SessionPolicy

_LARGEST = 1_000_000
"""Bytes of a file of settings."""


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """The `store.*` settings; lock_timeout_s in seconds."""

    location: str = "./.citewell"
    collection: str = "citewell"
    index: Literal["exact", "hnsw"] = "exact"
    lexical: Literal["native", "memory"] = "native"
    timeout_s: float = 10.0
    require_scope: bool = False
    token: str | None = field(default=None, repr=False)
    lock_timeout_s: float = 30.0


@dataclass(frozen=True, slots=True)
class EmbedderSettings:
    """The `embedder.*` settings."""

    name: str = "use-multilingual"
    url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    dimensions: int | None = None
    query_prefix: str = ""
    passage_prefix: str = ""
    cache_dir: str | None = None


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """The `server.*` settings.

    Attributes:
        workers: lookups at once.
        timeout_s: seconds that a caller waits.
        max_body: bytes.
        rate: requests of a caller within a minute; 0 = no limit.
    """

    host: str = "127.0.0.1"
    port: int = 8642
    tokens: tuple[Token, ...] = ()
    workers: int = 8
    timeout_s: float = 30.0
    max_body: int = 10_000_000
    rate: int = 600
    cors_origins: tuple[str, ...] = ()
    allowed_hosts: tuple[str, ...] = ()
    public_url: str | None = None
    evaluations: str | None = None
    log_queries: bool = False
    tracing: bool = False


@dataclass(frozen=True, slots=True)
class RerankerSettings:
    """The `reranker.*` settings; without a name there is none. timeout_s in seconds."""

    name: str | None = None
    style: str | None = None
    url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    timeout_s: float = 5.0
    model_dir: str | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be configured, read once (API-7).

    Attributes:
        lookup: `rag.*`.
        search: `retrieval.search.*`.
        budget: `projection.*`.
        store: `store.*`.
        sessions: `session.*`.
        embedder: `embedder.*`.
        reranker: `reranker.*`.
        server: `server.*`.
        token_counter: `projection.token-counter`.
        top_k: `rag.top-k`; it has done its work in `lookup`.
        origins: by dotted key, where its value came from; a key that is not there has its default.
    """

    lookup: LookupPolicy = field(default_factory=LookupPolicy)
    search: SearchPolicy = field(default_factory=SearchPolicy)
    budget: Budget = field(default_factory=Budget)
    store: StoreSettings = field(default_factory=StoreSettings)
    sessions: SessionPolicy = field(default_factory=SessionPolicy)
    embedder: EmbedderSettings = field(default_factory=EmbedderSettings)
    reranker: RerankerSettings = field(default_factory=RerankerSettings)
    server: ServerSettings = field(default_factory=ServerSettings)
    token_counter: str | None = None
    top_k: int | None = None
    origins: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def load(
        cls,
        path: str | Path | None = None,
        *,
        overrides: Mapping[str, object] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Settings:
        """Read a TOML or YAML file, then the environment, then arguments; the later wins.

        Args:
            path: of the file; None = no file.
            overrides: dotted keys, or nested tables.
            environment: variables to read instead of the process's own.

        Raises:
            ConfigError: the file can't be read or parsed; a key is unknown; a value is out of range.
        """
        layers: list[tuple[str, Mapping[str, object]]] = []
        if path is not None:
            layers.append((str(path), parse_file(_read(Path(path)), str(path))))
        layers.append(("environment", parse_environment(os.environ if environment is None else environment)))
        layers.append(("argument", parse_mapping(overrides or {}, "an argument")))
        return cls._of(layers)

    @classmethod
    def of(cls, mapping: Mapping[str, object]) -> Settings:
        """From nested tables or dotted keys alone: no file, no environment."""
        return cls._of([("argument", parse_mapping(mapping, "an argument"))])

    @classmethod
    def _of(cls, layers: list[tuple[str, Mapping[str, object]]]) -> Settings:
        raw, origins = _merge(layers)
        values: dict[str, object] = {key.name: key.default for key in KEYS}
        values |= {key.name: key.read(key.name, raw[key.name]) for key in KEYS if key.name in raw}
        _fall_back(values, origins)
        return _assemble(values, origins)

    def describe(self) -> list[tuple[str, object, str]]:
        """Every key, its value and where it came from, in the order of the table; secrets are hidden."""
        values = _values(self)
        return [
            (key.name, _shown(values[key.name], secret=key.secret), self.origins.get(key.name, "default"))
            for key in KEYS
        ]

    def with_location(self, location: str) -> Settings:
        """The same settings for another store."""
        return replace(self, store=replace(self.store, location=location))


def _merge(layers: list[tuple[str, Mapping[str, object]]]) -> tuple[dict[str, object], dict[str, str]]:
    """The last raw value of each key and where it came from; a table (weights) gains from each layer what that says."""
    raw: dict[str, object] = {}
    origins: dict[str, str] = {}
    for origin, layer in layers:
        for name, value in layer.items():
            below = raw.get(name)
            if isinstance(below, Mapping) and isinstance(value, Mapping):
                raw[name], origins[name] = {**below, **value}, f"{origins[name]}, {origin}"
            else:
                raw[name], origins[name] = value, origin
    return raw, origins


def _read(path: Path) -> str:
    try:
        return read_file(path, _LARGEST).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} can't be read: {error}", way_out="Name a readable TOML or YAML file.") from error


def _fall_back(values: dict[str, object], origins: dict[str, str]) -> None:
    """`rag.top-k` stands in for whichever width is absent, and the two may not contradict each other (POST-5)."""
    if values["rag.top-k"] is not None:
        for name in ("rag.retrieve-k", "rag.return-n"):
            if name not in origins:
                values[name], origins[name] = values["rag.top-k"], f"rag.top-k of {origins['rag.top-k']}"
    retrieve_k, return_n = cast("int", values["rag.retrieve-k"]), cast("int", values["rag.return-n"])
    if retrieve_k < return_n:
        raise ConfigError(
            f"rag.retrieve-k is {retrieve_k} ({origins.get('rag.retrieve-k', 'default')}), below rag.return-n,"
            f" which is {return_n} ({origins.get('rag.return-n', 'default')})",
            way_out="Raise rag.retrieve-k or lower rag.return-n.",
        )


_ALONE = {"rag.top-k": "top_k", "projection.token-counter": "token_counter"}
"""Keys that are fields of Settings itself."""

_FIELDS = {
    "store.lock-timeout": "lock_timeout_s",
    "session.max-age": "max_age_s",
    "server.timeout": "timeout_s",
    "reranker.timeout": "timeout_s",
    "retrieval.search.timeout": "timeout_s",
    "store.timeout": "timeout_s",
}


def _section(values: Mapping[str, Any], section: str) -> dict[str, Any]:
    """The values of one section by field name, without those that stand alone."""
    names = [name for name in values if name.rpartition(".")[0] == section and name not in _ALONE]
    return {_field(name): values[name] for name in names}


def _field(name: str) -> str:
    return _FIELDS.get(name, name.rpartition(".")[2].replace("-", "_"))


def _assemble(values: Mapping[str, Any], origins: Mapping[str, str]) -> Settings:
    try:
        check_weights(values["retrieval.search.weights"] or {}, paths=values["retrieval.search.paths"])
    except InvalidRequest as error:
        raise ConfigError(f"retrieval.search.weights: {error.message}", way_out=error.way_out) from error
    return Settings(
        lookup=LookupPolicy(**_section(values, "rag")),
        search=SearchPolicy(**_section(values, "retrieval.search")),
        budget=Budget(**_section(values, "projection")),
        store=StoreSettings(**_section(values, "store")),
        sessions=SessionPolicy(**_section(values, "session")),
        embedder=EmbedderSettings(**_section(values, "embedder")),
        reranker=RerankerSettings(**_section(values, "reranker")),
        server=ServerSettings(**_section(values, "server")),
        **{place: values[name] for name, place in _ALONE.items()},
        origins=dict(origins),
    )


_PLACES = {
    "rag": "lookup",
    "retrieval.search": "search",
    "projection": "budget",
    "store": "store",
    "session": "sessions",
    "embedder": "embedder",
    "reranker": "reranker",
    "server": "server",
}


def _values(settings: Settings) -> dict[str, object]:
    values: dict[str, object] = {name: getattr(settings, place) for name, place in _ALONE.items()}
    for key in KEYS:
        section = key.name.rpartition(".")[0]
        if key.name not in _ALONE:
            values[key.name] = getattr(getattr(settings, _PLACES[section]), _field(key.name))
    return values


def _shown(value: object, *, secret: bool) -> object:
    if secret and value:
        return "(set)"
    return list(value) if isinstance(value, tuple) else value
