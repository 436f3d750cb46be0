"""Asks for hints beside the search rather than before it, and turns what fails into a cause that `degraded` says.

It knows no catalogue: whatever is a `HintSource` will do.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from citewell.attempts import attempt
from citewell.errors import StoreError
from citewell.model import SearchRequest
from citewell.model.catalogue import Hinted
from citewell.ports import HintSource

Finish = Callable[[], tuple[Hinted, str]]
"""Waits for the hints; the second is why there are none, if that is a failure."""


def begin_hints(source: HintSource | None, request: SearchRequest) -> Finish:
    """Begin to look for hints, where the source can; else they are looked for when they are waited for."""
    if source is None:
        return _nothing
    begin: Callable[[SearchRequest], Callable[[], Hinted]] = getattr(source, "begin", None) or (
        lambda asked: partial(source.hints, asked)
    )
    begun, error = attempt(lambda: begin(request), StoreError, "no hints could be had")
    if begun is None:
        return lambda: (Hinted(), _cause(error))
    return lambda: _finished(begun)


def _nothing() -> tuple[Hinted, str]:
    return Hinted(), ""


def _finished(begun: Callable[[], Hinted]) -> tuple[Hinted, str]:
    hinted, error = attempt(begun, StoreError, "no hints could be had")
    return hinted or Hinted(), _cause(error)


def _cause(error: Exception | None) -> str:
    return f"hints: {getattr(error, 'message', error)}" if error else ""
