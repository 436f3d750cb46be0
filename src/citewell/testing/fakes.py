"""Small deterministic embedders for tests: no model, no network, vectors that can be worked out by hand.

They know nothing of meaning: HashEmbedder sees words, TableEmbedder what it was told.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def unit(vector: Sequence[float] | NDArray[np.float32]) -> NDArray[np.float32]:
    """The vector scaled to length 1, as float32; a zero vector becomes the first axis."""
    array = np.asarray(vector, dtype=np.float64)
    length = float(np.linalg.norm(array))
    if length == 0:
        array = np.eye(1, array.size)[0]
        length = 1.0
    return (array / length).astype(np.float32)


class HashEmbedder:
    """A bag of words hashed into a fixed number of dimensions: texts that share words are close."""

    max_tokens = 512

    def __init__(self, dimensions: int = 64, *, name: str = "hash-words", fingerprint: str = "1") -> None:
        self.name = name
        self.dimensions = dimensions
        self.fingerprint = fingerprint
        self.embedded: list[str] = []
        """Every passage that was embedded, in order; tests count them."""

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Float32 [len(texts), dimensions]; refuses an empty list, as real endpoints do."""
        if not texts:
            raise ValueError("an embedder must not be called with nothing")
        self.embedded.extend(texts)
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Float32 [dimensions]."""
        vector = np.zeros(self.dimensions, dtype=np.float32)
        for word in re.findall(r"\w", text.lower()) if _is_unspaced(text) else re.findall(r"\w+", text.lower()):
            digest = hashlib.sha256(word.encode("utf-8", "surrogatepass")).digest()
            vector[int.from_bytes(digest[:4], "big") % self.dimensions] += 1 if digest[4] % 2 else -1
        return unit(vector)


def _is_unspaced(text: str) -> bool:
    return any("\u3040" <= character <= "\u9fff" for character in text)


class TableEmbedder:
    """Vectors by table, so that every similarity is known in advance; a text that is not in it is an error."""

    max_tokens = 512
    fingerprint = "table"

    def __init__(self, table: Mapping[str, Sequence[float]], *, name: str = "table") -> None:
        self.name = name
        self._table = {text: unit(vector) for text, vector in table.items()}
        self.dimensions = len(next(iter(self._table.values())))

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Float32 [len(texts), dimensions]."""
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of the first entry whose text is contained in `text`, float32 [dimensions]."""
        for known, vector in self._table.items():
            if known in text:
                return vector.copy()
        raise KeyError(text)
