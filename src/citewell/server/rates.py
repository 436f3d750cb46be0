"""How often a caller may call: a bound on the requests within any minute, for each name by itself (API-4).

It knows no request and no token: it is handed names.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable

from citewell.errors import Busy

_MINUTE_S = 60.0
_NAMES = 4_096
"""Names that are remembered; the one that was heard of longest ago is forgotten first."""


class TooOften(Busy):
    """A caller has called too often.

    Attributes:
        retry_after_s: whole seconds after which it may call again.
    """

    def __init__(self, most: int, retry_after_s: int) -> None:
        super().__init__(
            f"more than {most} requests within a minute", way_out=f"Try again in {retry_after_s} s, and more slowly."
        )
        self.retry_after_s = retry_after_s


class Rates:
    """Counts requests by name; to be used within one event loop.

    Args:
        most: requests of a name within any minute; 0 = no limit.
        clock: seconds.
    """

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = most, clock
        self._seen: OrderedDict[str, deque[float]] = OrderedDict()

    def count(self, name: str) -> None:
        """Count a request; one that is refused doesn't count.

        Raises:
            TooOften: it would be one too many.
        """
        if self._most == 0:
            return
        now, times = self._clock(), self._times(name)
        while times and now - times[0] >= _MINUTE_S:
            times.popleft()
        if len(times) >= self._most:
            raise TooOften(self._most, max(1, math.ceil(times[0] + _MINUTE_S - now)))
        times.append(now)

    def _times(self, name: str) -> deque[float]:
        times = self._seen.setdefault(name, deque())
        self._seen.move_to_end(name)
        if len(self._seen) > _NAMES:
            self._seen.popitem(last=False)
        return times
