"""An embedder that remembers its last queries, so that the stages of one lookup embed a question once between them.

It knows no stage. Passages pass through; failures are not remembered. A query is waited for so long and no longer,
whatever the embedder is made of; who asks for the same one meanwhile waits for the same answer.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from typing import TYPE_CHECKING

from citewell.errors import EmbedderUnavailable
from citewell.patience import Late, Patience
from citewell.ports import Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from citewell.patience import Call

_KEPT = 16

_log = logging.getLogger("citewell.app.embed_once")


class EmbedOnce:
    """The same embedder, asked once for each of the last 16 queries; safe to call from several threads.

    Whatever else the embedder offers (`prefixes`, `count_tokens`, `close`) is there too.

    Args:
        embedder: is asked in a thread of its own for each new query; in the caller's if it says that it is `at_hand`.
        timeout_s: how long its answer is waited for, by whoever asks, from its beginning.
    """

    def __init__(self, embedder: Embedder, timeout_s: float = math.inf) -> None:
        self._embedder, self._timeout_s = embedder, timeout_s
        self._known: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._asked: dict[str, Call[NDArray[np.float32]]] = {}
        self._lock = threading.Lock()
        self._patience = Patience("citewell-embed-query")

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
        """As the embedder does, or did a moment ago; a copy each time, which the caller may change.

        Raises:
            EmbedderUnavailable: it is late, or too many queries before are; and whatever it raises itself.
        """
        vector, _ = self.begin_query(text)()
        return vector

    def begin_query(self, text: str) -> Callable[[], tuple[NDArray[np.float32], float]]:
        """Begin what `embed_query` does; what is returned waits for the vector, and says the milliseconds it took.

        Either raises as `embed_query`.
        """
        with self._lock:
            held = self._known.get(text)
            if held is not None:
                return lambda: (copy(held), 0.0)
            if not getattr(self._embedder, "at_hand", False):
                return partial(self._awaited, self._begun(text))
        started = time.perf_counter()
        vector, spent = self._embedded(text), (time.perf_counter() - started) * 1000
        return lambda: (copy(vector), spent)

    def let_go(self) -> None:
        """Release the threads, having waited a while for those that are busy. Idempotent."""
        left = self._patience.close()
        if left:
            _log.warning("%d queries are still being embedded by %s; they end with the process", left, self.name)

    def _begun(self, text: str) -> Call[NDArray[np.float32]]:
        """The call that embeds this query; the caller holds the lock."""
        call = self._asked.get(text)
        if call is None:
            try:
                call = self._asked[text] = self._patience.start("query", partial(self._embedded, text))
            except Late as error:
                message = f"the query's embedding {error}"
                raise EmbedderUnavailable(message, way_out="Check the embedder.") from error
            except RuntimeError as error:
                raise EmbedderUnavailable("the embedder was let go", way_out="Open the store again.") from error
        return call

    def _awaited(self, call: Call[NDArray[np.float32]]) -> tuple[NDArray[np.float32], float]:
        try:
            return copy(call.result(self._timeout_s)), call.milliseconds
        except Late as error:
            raise EmbedderUnavailable(
                f"the query's embedding {error}", way_out="Check the embedder, or raise retrieval.search.timeout."
            ) from error

    def _embedded(self, text: str) -> NDArray[np.float32]:
        """Ask, and remember: also for who comes after nobody waits any more."""
        try:
            vector = self._embedder.embed_query(text)
            with self._lock:
                self._known[text] = vector
                while len(self._known) > _KEPT:
                    self._known.popitem(last=False)
            return vector
        finally:
            with self._lock:
                self._asked.pop(text, None)

    def __getattr__(self, name: str) -> object:
        if name.startswith("_"):  # nothing private is offered, and an unfinished copy must not look for its own parts
            raise AttributeError(name)
        return getattr(self._embedder, name)
