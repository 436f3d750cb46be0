"""A reranker with a time limit that holds whatever it is made of: late is a RerankerError, and the lookup goes on.

It knows no reranker.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial

from citewell.errors import RerankerError
from citewell.patience import Late, Patience
from citewell.ports import Reranker

_log = logging.getLogger("citewell.rerank.in_time")


class InTime:
    """The same reranker, never waited for beyond the limit. Safe to call from several threads, and after a fork.

    Args:
        reranker: is asked in another thread than the caller's.
        timeout_s: how long its answer is waited for.
        owned: whether closing closes the reranker too.
    """

    def __init__(self, reranker: Reranker, timeout_s: float, *, owned: bool = False) -> None:
        self._reranker, self._timeout_s, self._owned = reranker, timeout_s, owned
        self._patience = Patience("citewell-rerank")

    @property
    def name(self) -> str:
        """As the reranker says."""
        return self._reranker.name

    def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """As the reranker does.

        Raises:
            RerankerError: it is late, or too many calls before are, or it was closed; and whatever it raises itself.
        """
        try:
            call = self._patience.start("rerank", partial(self._reranker.rerank, query, texts))
        except Late as error:
            raise RerankerError(f"{self.name} {error}", way_out="Check the reranker, or switch it off.") from error
        except RuntimeError as error:
            raise RerankerError("the reranker is closed", way_out="Open the store again.") from error
        try:
            return call.result(self._timeout_s)
        except Late as error:
            raise RerankerError(
                f"{self.name} gave no answer within {self._timeout_s:g} s",
                way_out="Lower rag.rerank-k, or raise reranker.timeout.",
            ) from error

    def close(self, *, patience_s: float = 2.0) -> None:
        """Close the reranker if it is ours and can be, then wait a while for calls that still run. Idempotent."""
        self._patience.close(patience_s=0.0)  # nothing further is asked of what is about to be closed
        close = getattr(self._reranker, "close", None)
        if self._owned and callable(close):
            close()
        left = self._patience.close(patience_s)
        if left:
            _log.warning("%d calls of the reranker %s still run; they end with the process", left, self.name)
