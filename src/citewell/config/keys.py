"""The table of every configuration key: its dotted name, how to read it, its default and what it means.

A value may come from TOML or YAML (typed) or from the environment (text); each reader takes both. The table knows
nothing of how keys depend on each other: settings.py does.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from citewell.admission import MAX_COUNT
from citewell.checks import as_number, shown
from citewell.config.tokens import read_tokens
from citewell.errors import ConfigError
from citewell.model import PATHS, Budget, LookupPolicy, SearchPolicy, SessionPolicy
from citewell.weighing import WEIGHTS


@dataclass(frozen=True, slots=True)
class Key:
    """One configuration key.

    Attributes:
        name: dotted, kebab-case.
        read: (name, raw value) -> value; raises ConfigError.
        default: None = unset.
        meaning: one sentence.
        secret: never shown.
    """

    name: str
    read: Callable[[str, object], object]
    default: object
    meaning: str
    secret: bool = False


def refuse(name: str, value: object, wanted: str) -> ConfigError:
    """The error for a value that can't be used."""
    return ConfigError(f"{name} can't be {shown(value)}", way_out=f"Give {wanted}.")


def _whole(lowest: int, highest: int = MAX_COUNT) -> Callable[[str, object], int]:
    def read(name: str, raw: object) -> int:
        value = _number(raw)
        if value is None or value != int(value) or not lowest <= value <= highest:
            raise refuse(name, raw, f"an integer from {lowest} to {highest}")
        return int(value)

    return read


def _real(lowest: float, highest: float = math.inf) -> Callable[[str, object], float]:
    def read(name: str, raw: object) -> float:
        value = _number(raw)
        if value is None or not lowest <= value <= highest:
            upper = "" if highest == math.inf else f" and <= {highest:g}"
            raise refuse(name, raw, f"a number >= {lowest:g}{upper}")
        return float(value)

    return read


def _number(raw: object) -> int | float | None:
    if isinstance(raw, str):
        try:
            raw = float(raw) if not raw.strip().lstrip("+-").isdigit() else int(raw)
        except ValueError:
            return None
    if isinstance(raw, bool) or not isinstance(raw, int | float) or not math.isfinite(as_number(raw)):
        return None
    return raw


def _optional(read: Callable[[str, object], object]) -> Callable[[str, object], object]:
    def read_optional(name: str, raw: object) -> object:
        return None if raw is None or (isinstance(raw, str) and not raw) else read(name, raw)

    return read_optional


def _positive(name: str, raw: object) -> float:
    value = _number(raw)
    if value is None or value <= 0:
        raise refuse(name, raw, "a number > 0")
    return float(value)


def _switch(name: str, raw: object) -> bool:
    if isinstance(raw, bool):
        return raw
    text = str(raw).strip().lower() if isinstance(raw, str) or (isinstance(raw, int) and raw in (0, 1)) else ""
    if text in ("true", "yes", "on", "1"):
        return True
    if text in ("false", "no", "off", "0"):
        return False
    raise refuse(name, raw, "true or false")


def _text(name: str, raw: object) -> str:
    if not isinstance(raw, str):
        raise refuse(name, raw, "text")
    return raw


def _secret(name: str, raw: object) -> str:
    if not isinstance(raw, str):
        raise ConfigError(f"{name} is no text", way_out="Put it in quotes.")  # what it is, no log must hold
    return raw


def _one_of(*allowed: str) -> Callable[[str, object], str]:
    def read(name: str, raw: object) -> str:
        if not isinstance(raw, str) or raw not in allowed:
            raise refuse(name, raw, f"one of {', '.join(allowed)}")
        return str(raw)

    return read


def _from_text(name: str, raw: object, wanted: str) -> object:
    """The environment has only text: a JSON list or object, or comma-separated words."""
    if not isinstance(raw, str):
        return raw
    if raw.lstrip().startswith(("[", "{")):
        try:
            return json.loads(raw)
        except (ValueError, RecursionError) as error:
            raise refuse(name, raw, wanted) from error
    return [word.strip() for word in raw.split(",")]


def _paths(name: str, raw: object) -> tuple[str, ...]:
    wanted = f"a list of {', '.join(PATHS)}"
    names = _from_text(name, raw, wanted)
    if not isinstance(names, list | tuple) or not names or any(path not in PATHS for path in names):
        raise refuse(name, raw, wanted)
    return tuple(path for path in PATHS if path in names)


def _weights(name: str, raw: object) -> Mapping[str, float]:
    wanted = f"a table of weights >= 0 for {', '.join(PATHS)}"
    table = _from_text(name, raw, wanted)
    if not isinstance(table, Mapping):
        raise refuse(name, raw, wanted)
    for path in table:
        if path not in PATHS:
            raise refuse(f"{name}.{path}", table[path], f"a weight for one of {', '.join(PATHS)}")
    weight = _real(0.0)
    return {**WEIGHTS, **{path: weight(f"{name}.{path}", table[path]) for path in PATHS if path in table}}


def _words(name: str, raw: object) -> tuple[str, ...]:
    words = () if isinstance(raw, str) and not raw else _from_text(name, raw, "a list of texts")
    if not isinstance(words, list | tuple) or any(not isinstance(word, str) or not word for word in words):
        raise refuse(name, raw, "a list of texts")
    return tuple(words)


_MANY = 1_000_000_000
_RAG, _SEARCH, _BUDGET, _SESSION = LookupPolicy(), SearchPolicy(), Budget(), SessionPolicy()

KEYS: tuple[Key, ...] = (
    Key("rag.retrieve-k", _whole(1), _RAG.retrieve_k, "How many candidates each path is asked for."),
    Key("rag.return-n", _whole(1), _RAG.return_n, "The most evidence blocks that a lookup returns."),
    Key("rag.top-k", _optional(_whole(1)), None, "Stands in for whichever of retrieve-k and return-n is not set."),
    Key(
        "rag.max-chunks-per-document",
        _whole(0),
        _RAG.max_chunks_per_document,
        "The most evidence blocks from one document; 0 = no cap.",
    ),
    Key(
        "rag.min-similarity",
        _optional(_real(-1.0, 1.0)),
        None,
        "A hit stays if its dense similarity is at least this; unset = off, 0 is a threshold.",
    ),
    Key(
        "rag.keep-identifiers",
        _switch,
        _RAG.keep_identifiers,
        "A lexical hit that holds every identifier of the query stays below the floor.",
    ),
    Key(
        "rag.refill",
        _switch,
        _RAG.refill,
        "If the cap leaves fewer than return-n blocks, ask once more without the full documents (hybrid only).",
    ),
    Key("rag.hints", _switch, _RAG.hints, "Look for hints in the catalogue: documents and categories, never evidence."),
    Key(
        "rag.hints-filter",
        _switch,
        _RAG.hints_filter,
        "Hybrid search takes the best hinted category where the caller gives none.",
    ),
    Key("rag.rerank-k", _optional(_whole(1)), None, "How many candidates a reranker is asked about; unset = all."),
    Key(
        "retrieval.search.mode",
        _one_of("dense", "hybrid"),
        _SEARCH.mode,
        "dense: one vector search; hybrid: dense, dense_filtered and lexical, fused.",
    ),
    Key("retrieval.search.rrf-k", _positive, _SEARCH.rrf_k, "The constant k of reciprocal rank fusion."),
    Key(
        "retrieval.search.weights",
        _optional(_weights),
        _SEARCH.weights,
        "The weight of each path's ranking in the fusion, the same for every query; unset = each query's own.",
    ),
    Key("retrieval.search.paths", _paths, _SEARCH.paths, "The paths that may run in hybrid mode."),
    Key(
        "retrieval.search.timeout",
        _positive,
        _SEARCH.timeout_s,
        "Seconds after which a lookup goes on without a path, or without the query's embedding. The embedded engine's"
        " paths are waited for: no network lies between.",
    ),
    Key(
        "projection.max-items", _optional(_whole(1, _MANY)), _BUDGET.max_items, "The most items that an agent is shown."
    ),
    Key(
        "projection.max-chars-per-item",
        _optional(_whole(1, _MANY)),
        _BUDGET.max_chars_per_item,
        "The most characters of one item.",
    ),
    Key("projection.max-chars", _optional(_whole(1, _MANY)), _BUDGET.max_chars, "The most characters of all items."),
    Key("projection.max-tokens", _optional(_whole(1, _MANY)), _BUDGET.max_tokens, "The most tokens of all items."),
    Key(
        "projection.token-counter",
        _optional(_text),
        None,
        "What counts tokens: `tiktoken:o200k_base` and the like, or `embedder`; unset = a bound by script.",
    ),
    Key(
        "store.location",
        _text,
        "./.citewell",
        "The directory of the embedded engine, milvus:PATH.db for Milvus Lite, or the http(s) URI of a Milvus server.",
    ),
    Key("store.collection", _text, "citewell", "On Milvus: the collection; the names of others begin with it."),
    Key(
        "store.index",
        _one_of("exact", "hnsw"),
        "exact",
        "On a Milvus server: how a new collection is searched; a graph (hnsw) pays from some 100,000 chunks.",
    ),
    Key(
        "store.lexical",
        _one_of("native", "memory"),
        "native",
        "On Milvus: whose BM25 ranks, its own where it has one, or that of an index in this process's memory.",
    ),
    Key("store.timeout", _positive, 10.0, "On Milvus: seconds that one call may take, its retries included."),
    Key("store.require-scope", _switch, False, "Refuse a lookup that names no scope."),
    Key(
        "store.token",
        _optional(_secret),
        None,
        "Sent to a Milvus server: user:password, or an API key.",
        secret=True,
    ),
    Key("store.lock-timeout", _real(0.0), 30.0, "Seconds that a writer waits for another one."),
    Key("session.max-items", _whole(1, _MANY), _SESSION.max_items, "The most evidence that a session remembers."),
    Key("session.max-age", _positive, _SESSION.max_age_s, "Seconds after which a session forgets evidence."),
    Key("session.max-sessions", _whole(1, _MANY), _SESSION.max_sessions, "The most sessions that a store remembers."),
    Key("embedder.name", _text, "use-multilingual", "The model; with embedder.url, its name at that endpoint."),
    Key("embedder.url", _optional(_text), None, "An OpenAI-compatible endpoint, such as http://127.0.0.1:8080/v1."),
    Key("embedder.api-key", _optional(_secret), None, "Sent to that endpoint as a bearer token.", secret=True),
    Key(
        "embedder.dimensions",
        _optional(_whole(1, _MANY)),
        None,
        "Dimensions to ask that endpoint for; unset = its own.",
    ),
    Key("embedder.query-prefix", _text, "", "Put before every query."),
    Key("embedder.passage-prefix", _text, "", "Put before every passage."),
    Key("server.host", _text, "127.0.0.1", "The address to listen on; one that others can reach needs tokens."),
    Key("server.port", _whole(0, 65_535), 8642, "The port to listen on; 0 = any free one."),
    Key("server.tokens", read_tokens, (), "Bearer tokens: name, token, scope and ingest of each caller.", secret=True),
    Key("server.workers", _whole(1, 256), 8, "How many lookups run at once; the others wait their turn."),
    Key("server.timeout", _positive, 30.0, "Seconds that a caller waits for a lookup."),
    Key("server.max-body", _whole(1, _MANY), 10_000_000, "The most bytes of a request, uploads among them."),
    Key("server.rate", _whole(0, _MANY), 600, "The most requests of a caller within a minute; 0 = no limit."),
    Key("server.cors-origins", _words, (), "Web origins whose pages may call; none unless named."),
    Key("server.allowed-hosts", _words, (), "Host names that requests may name; unset = the address listened on."),
    Key("server.evaluations", _optional(_text), None, "A folder of evaluation runs, as JSON, for the inspector."),
    Key("server.log-queries", _switch, False, "Write what was asked to the log, too."),
    Key("server.tracing", _switch, False, "Send spans to a collector of OpenTelemetry; needs the extra `otel`."),
    Key("server.public-url", _optional(_text), None, "The address that readers of evidence reach the server at."),
    Key("reranker.name", _optional(_text), None, "The reranking model; unset = candidates stay in fused order."),
    Key(
        "reranker.style",
        _optional(_one_of("fastembed", "sentence-transformers", "cohere", "jina", "tei")),
        None,
        "How it is run or spoken to; unset = cohere with reranker.url, else fastembed.",
    ),
    Key("reranker.url", _optional(_text), None, "A reranking endpoint, such as http://127.0.0.1:8080."),
    Key("reranker.api-key", _optional(_secret), None, "Sent to that endpoint as a bearer token.", secret=True),
    Key("reranker.timeout", _positive, 5.0, "Seconds after which a lookup goes on without the reranker."),
    Key("reranker.model-dir", _optional(_text), None, "The folder of a model in this process; unset = a download."),
    Key("embedder.cache-dir", _optional(_text), None, "Where the default model lies; unset = the user's cache folder."),
)
