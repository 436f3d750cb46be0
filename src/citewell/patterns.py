"""Patterns that are made when they are first used: one over many scripts takes milliseconds, and a lookup uses few.

It knows no pattern. Those that every lookup uses are made as usual, where they stand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

_T = TypeVar("_T")


class _Late:
    """Stands for a pattern; its methods are the pattern's, and cost no more once they were used."""

    def __init__(self, make: Callable[[], object]) -> None:
        self._make = make
        self._made: object = None

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever a pattern has
        if name.startswith("_"):
            raise AttributeError(name)
        if self._made is None:
            self._made = self._make()
        found = self.__dict__[name] = getattr(self._made, name)
        return found


def late(make: Callable[[], _T]) -> _T:
    """What `make` makes, once a method or attribute of it is asked for; to be used as the pattern itself."""
    return cast("_T", _Late(make))
