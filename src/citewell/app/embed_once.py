"""An embedder that remembers its last queries, so that the stages of one lookup embed a question once between them.

It knows no stage. Passages pass through; failures are not remembered.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING

from citewell.ports import Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_KEPT = 16


class EmbedOnce:
    """The same embedder, asked once for each of the last 16 queries; safe to call from several threads.

    Whatever else the embedder offers (`prefixes`, `count_tokens`, `close`) is there too.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """As the embedder says."""
        return self._embedder.name

    @property
    def dimensions(self) -> int:
        """As the embedder says."""
        return self._embedder.dimensions

    @property
    def fingerprint(self) -> str:
        """As the embedder says."""
        return self._embedder.fingerprint

    @property
    def max_tokens(self) -> int:
        """As the embedder says."""
        return self._embedder.max_tokens

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As the embedder does."""
        return self._embedder.embed_passages(texts)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """As the embedder does, or did a moment ago; a copy each time, which the caller may change."""
        with self._lock:
            held = self._known.get(text)
        if held is None:
            held = self._embedder.embed_query(text)
            with self._lock:
                self._known[text] = held
                while len(self._known) > _KEPT:
                    self._known.popitem(last=False)
        return copy(held)

    def __getattr__(self, name: str) -> object:
        if name.startswith("_"):  # nothing private is offered, and an unfinished copy must not look for its own parts
            raise AttributeError(name)
        return getattr(self._embedder, name)
