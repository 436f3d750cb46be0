"""The name of a token counter -> what counts: a tokenizer of tiktoken, or the embedder's own (PROJ-4).

tiktoken fetches a vocabulary over the network at its first use, unless it lies in its cache. Nothing is fetched here:
what is not there is an error that says how to get it. Which texts are counted, and why, it does not know.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citewell.errors import ConfigError

if TYPE_CHECKING:
    from citewell.ports import Embedder

Counter = Callable[[str], int]

_SETTING = "projection.token-counter"
_TIKTOKEN = "tiktoken:"
_ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
_VOCABULARIES = {
    "cl100k_base": "cl100k_base",
    "o200k_base": "o200k_base",
    "o200k_harmony": "o200k_base",
    "p50k_base": "p50k_base",
    "p50k_edit": "p50k_base",
    "r50k_base": "r50k_base",
}
"""The file that each encoding is made of; it lies in the cache under a digest of its address."""

_DIGESTS = {
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "p50k_base": "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
    "r50k_base": "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
}
"""SHA-256 by file: tiktoken throws away and fetches again what has another one."""


def open_counter(name: str, embedder: Embedder) -> Counter:
    """What counts tokens by this name: `tiktoken:o200k_base` and the like, or `embedder`.

    A tokenizer loads at the first text that is counted; whether it can be had is found out now.

    Raises:
        ConfigError: there is no such counter, its library or its vocabulary is not installed, or the embedder counts
            no tokens.
    """
    if name == "embedder":
        return _of_embedder(embedder)
    if not name.startswith(_TIKTOKEN):
        raise ConfigError(
            f"{_SETTING} is {name!r}, and there is no such counter",
            way_out="Give 'embedder', 'tiktoken:o200k_base' or another encoding of tiktoken, or leave it unset.",
        )
    return _of_tiktoken(name.removeprefix(_TIKTOKEN))


def _of_embedder(embedder: Embedder) -> Counter:
    count = getattr(embedder, "count_tokens", None)
    if not callable(count):
        raise ConfigError(
            f"{_SETTING} is 'embedder', and the embedder {embedder.name} counts no tokens",
            way_out="Leave it unset, which counts a safe bound, or name an encoding of tiktoken.",
        )
    counter: Counter = count
    return counter


def _of_tiktoken(encoding: str) -> Counter:
    loaded = _library().registry.ENCODINGS  # what the program has loaded itself needs no file of ours
    if encoding not in loaded:
        _require_vocabulary(encoding)

    def count(text: str) -> int:
        return len(_encoding(encoding).encode_ordinary(text))

    return count


@cache
def _encoding(name: str) -> Any:  # noqa: ANN401 - an optional library's type
    return _library().get_encoding(name)


def _library() -> Any:  # noqa: ANN401 - an optional library's module
    try:
        import tiktoken  # noqa: PLC0415 - an extra
        import tiktoken.registry  # noqa: PLC0415 - as the line above
    except ImportError as error:
        raise ConfigError(
            f"{_SETTING} names an encoding of tiktoken, which is not installed",
            way_out="Install citewell[tiktoken], or leave the setting unset.",
        ) from error
    return tiktoken


def _require_vocabulary(encoding: str) -> None:
    """Make sure that tiktoken will find this encoding's file, and therefore fetch nothing."""
    name = _VOCABULARIES.get(encoding)
    if name is None:
        raise ConfigError(
            f"{_SETTING} is '{_TIKTOKEN}{encoding}', and Citewell knows no such encoding",
            way_out=f"Name one of {', '.join(_VOCABULARIES)}, or load yours with tiktoken.get_encoding before.",
        )
    path = _cache_dir() / hashlib.sha1(_ADDRESS.format(name).encode(), usedforsecurity=False).hexdigest()
    if _digest(path) != _DIGESTS[name]:
        raise ConfigError(
            f"{_SETTING} is '{_TIKTOKEN}{encoding}', and its vocabulary is not at {path}; Citewell fetches none",
            way_out="Where there is a network, set TIKTOKEN_CACHE_DIR to a folder that stays and run "
            f"`python -c \"import tiktoken; tiktoken.get_encoding('{encoding}')\"`; then set it here too.",
        )


def _cache_dir() -> Path:
    """Where tiktoken looks; a variable that is empty switches its cache off, so that nothing is found there."""
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if variable in os.environ:
            return Path(os.environ[variable] or os.devnull)
    return Path(tempfile.gettempdir()) / "data-gym-cache"


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""
