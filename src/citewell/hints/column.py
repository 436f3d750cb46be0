"""An array that grows at its end. It knows nothing of what it holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

_LEAST = 16


class Column:
    """Rows of one kind, in one piece of memory: what is appended is copied, and room grows by a quarter of itself."""

    def __init__(self, dtype: DTypeLike, width: int | None = None) -> None:
        self._room: NDArray[Any] = np.empty((0,) if width is None else (0, width), dtype)
        self._size = 0

    def __len__(self) -> int:
        """Rows."""
        return self._size

    @property
    def values(self) -> NDArray[Any]:
        """[rows] or [rows, width]; a view, until something is appended."""
        return self._room[: self._size]

    def append(self, rows: NDArray[Any]) -> None:
        """Put these behind the others."""
        end = self._size + len(rows)
        if end > len(self._room):
            grown = np.empty((max(_LEAST, end, self._size + self._size // 4), *self._room.shape[1:]), self._room.dtype)
            grown[: self._size] = self.values
            self._room = grown
        self._room[self._size : end] = rows
        self._size = end

    def kept(self, mask: NDArray[np.bool_]) -> Column:
        """The rows where the mask, which may be longer, is true."""
        left = Column(self._room.dtype, self._room.shape[1] if self._room.ndim > 1 else None)
        left._room = self.values[mask[: self._size]]
        left._size = len(left._room)
        return left
