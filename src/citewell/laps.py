"""A stopwatch for stages that follow each other; knows no stage and no clock of its own."""

from __future__ import annotations

from collections.abc import Callable


class Laps:
    """What each stage took, in milliseconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._started = self._last = clock()
        self._spent: dict[str, float] = {}

    def mark(self, stage: str) -> None:
        """The stage ends now; what a stage took before, in another part, is added."""
        now = self._clock()
        self._spent[stage] = self._spent.get(stage, 0.0) + (now - self._last) * 1000
        self._last = now

    def milliseconds(self, embed: float | None) -> dict[str, float]:
        """By stage, then the query's embedding, which is part of one, then all together."""
        spent = self._spent if embed is None else {**self._spent, "embed": embed}
        return {**spent, "total": (self._last - self._started) * 1000}
