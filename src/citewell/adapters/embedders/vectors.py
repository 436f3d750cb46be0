"""Scales vectors to unit length, and refuses those that have none; knows no model and no endpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from citewell.errors import EmbedderError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def unit_rows(rows: NDArray[np.float32] | NDArray[np.float64], origin: str) -> NDArray[np.float32]:
    """Float32 [n, d] of unit length in the order of `rows`; worked out in float64, row by row alike.

    Args:
        rows: [n, d].
        origin: who made them, for the message.

    Raises:
        EmbedderError: a row holds NaN or infinity, or is zero: it has no direction.
    """
    exact = rows.astype(np.float64)
    if not np.isfinite(exact).all():
        raise EmbedderError(
            f"{origin} gave a vector with NaN or infinity in it",
            way_out="The model is broken or unfit for this text; try another one.",
        )
    largest = np.abs(exact).max(axis=1, keepdims=True, initial=0.0)
    if not largest.all():
        raise EmbedderError(
            f"{origin} gave a vector of nothing but zeros",
            way_out="A zero vector is close to nothing; the model is broken or unfit for this text.",
        )
    scaled = exact / largest  # so that squares of very large or small numbers stay finite
    # Row by row, so that no vector depends on how many others there are.
    lengths = [float(np.sqrt(np.square(row).sum())) for row in scaled]
    unit: NDArray[np.float32] = (scaled / np.reshape(lengths, (-1, 1))).astype(np.float32)
    return unit
