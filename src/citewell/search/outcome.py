"""What became of each path: its ranking and report, or the error that it met; one error never reaches another path.

It knows no order of steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from citewell.errors import CitewellError, EmbedderError
from citewell.model import PATHS, Filters, Path, PathReport, Scored, SearchResponse
from citewell.ports import Embedder
from citewell.search.plan import Plan

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

_UNIT_TOLERANCE = 1e-3


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one path: its ranking and report, and the error if it failed."""

    report: PathReport
    ranking: tuple[Scored, ...] = ()
    error: CitewellError | None = None


@dataclass(frozen=True, slots=True)
class Embedded:
    """What became of the query's embedding."""

    vector: Vector | None
    milliseconds: float
    error: CitewellError | None = None


def checked_vector(vector: object, embedder: Embedder) -> Vector:
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


def skipped(path: Path, cause: str) -> Outcome:
    """A path that had nothing to do."""
    return Outcome(PathReport(path, "skipped", cause=cause))


def failed(path: Path, filters: Filters, error: CitewellError | None, milliseconds: float = 0.0) -> Outcome:
    """A path that should have run and broke; the cause names it."""
    cause = f"{path}: {error.message}" if error else path
    report = PathReport(path, "failed", milliseconds=milliseconds, filter=filters.describe(), cause=cause)
    return Outcome(report, error=error)


def nothing_stored(plan: Plan) -> SearchResponse:
    """The answer of an empty store: every path was skipped, none failed."""
    causes = {**dict.fromkeys(plan.run, "the store is empty"), **plan.skipped}
    return SearchResponse(
        (), tuple(skipped(path, causes[path]).report for path in PATHS if path in causes), store_empty=True
    )


def raise_if_all_failed(outcomes: Mapping[Path, Outcome], plan: Plan) -> None:
    """One path that failed degrades the answer; all of them is an error, for "nothing found" would be a lie."""
    errors = [outcomes[path].error for path in PATHS if path in plan.run]
    first = errors[0] if errors else None
    if first is not None and all(errors):
        raise first
