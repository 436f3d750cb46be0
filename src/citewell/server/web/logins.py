"""Log-ins of the inspector: a name that nobody can guess stands for a caller, for a while (API-5).

A browser can't send a bearer token by itself, and must not keep one: it keeps such a name, and the token goes nowhere.
Kept in memory alone, so that a restart ends them all. It knows no request and no cookie.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from citewell.server.callers import Caller

LASTS_S: Final = 8 * 3600.0
_MOST: Final = 1_000


class Logins:
    """Who is logged in; safe to use from several threads.

    Args:
        clock: seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._known: OrderedDict[str, tuple[Caller, float]] = OrderedDict()

    def open(self, caller: Caller) -> str:
        """A new name for this caller; of too many, the oldest is forgotten."""
        name = secrets.token_urlsafe(32)
        with self._lock:
            self._known[_digest(name)] = (caller, self._clock() + LASTS_S)
            while len(self._known) > _MOST:
                self._known.popitem(last=False)
        return name

    def caller(self, name: str) -> Caller | None:
        """Whom the name stands for; None if it never did, or no longer does."""
        with self._lock:
            caller, until = self._known.get(_digest(name), (None, 0.0))
            if caller is not None and until <= self._clock():
                del self._known[_digest(name)]
                return None
            return caller

    def close(self, name: str) -> None:
        """Forget the name, if it is known."""
        with self._lock:
            self._known.pop(_digest(name), None)


def _digest(name: str) -> str:
    """Looked up instead of the name: how long that takes says nothing of names that there are."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
