"""The query's vector: begun, waited for, checked and timed; what fails becomes an error beside it.

It knows no path. How long an embedder is waited for is the embedder's affair.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from citewell.attempts import attempt
from citewell.checks import shown
from citewell.errors import CitewellError, EmbedderError
from citewell.ports import Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]
    Wait = Callable[[], tuple[Vector, float]]
    """Waits for the vector, and says the milliseconds that it took."""

_UNIT_TOLERANCE = 1e-3
_WHAT = "the query could not be embedded"


@dataclass(frozen=True, slots=True)
class Embedded:
    """What became of the query's embedding; `milliseconds` is what it took, whatever was done meanwhile."""

    vector: Vector | None
    milliseconds: float
    error: CitewellError | None = None


def begin_embedding(embedder: Embedder, query: str, clock: Callable[[], float]) -> Callable[[], Embedded]:
    """Begin to embed, where the embedder can; else the query is embedded when the vector is waited for.

    What is returned waits for it, and raises nothing.
    """
    started = clock()
    begun, error = attempt(lambda: _begun(embedder, query, clock), EmbedderError, _WHAT)
    if begun is None:
        return lambda: Embedded(None, (clock() - started) * 1000, error)

    def embedded() -> Embedded:
        done, error = attempt(lambda: _finished(begun, embedder), EmbedderError, _WHAT)
        return done or Embedded(None, (clock() - started) * 1000, error)

    return embedded


def _begun(embedder: Embedder, query: str, clock: Callable[[], float]) -> Wait:
    begin: Callable[[str], Wait] | None = getattr(embedder, "begin_query", None)
    wait = partial(_embedded, embedder, query, clock) if begin is None else begin(query)
    if not callable(wait):
        raise EmbedderError(
            f"{embedder.name} began the query's embedding and gave {shown(wait)}, which can't be waited for",
            way_out="Let begin_query return a function that waits, as citewell.ports.Embedder says.",
        )
    return wait


def _embedded(embedder: Embedder, query: str, clock: Callable[[], float]) -> tuple[Vector, float]:
    started = clock()
    return embedder.embed_query(query), (clock() - started) * 1000


def _finished(wait: Wait, embedder: Embedder) -> Embedded:
    vector, milliseconds = wait()
    return Embedded(_checked(vector, embedder), float(milliseconds))


def _checked(vector: object, embedder: Embedder) -> Vector:
    """The query's vector, if it is one: float32 [dimensions], finite, of unit length."""
    import numpy as np  # noqa: PLC0415 - the rest of this file needs no vectors

    array = np.asarray(vector, dtype=np.float32)
    if array.shape != (embedder.dimensions,) or not np.isfinite(array).all():
        raise EmbedderError(
            f"{embedder.name} gave no vector of {embedder.dimensions} finite numbers for the query",
            way_out="Check the embedder with citewell.testing.EmbedderContract.",
        )
    length = float(np.linalg.norm(array))
    if abs(length - 1) > _UNIT_TOLERANCE:
        raise EmbedderError(
            f"{embedder.name} gave a vector of length {length:.4g} for the query, and vectors have length 1",
            way_out="Normalise it, as citewell.testing.EmbedderContract asks.",
        )
    return array
