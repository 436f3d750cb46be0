"""Ctrl-C while threads wait for each other: noted when it comes, raised where the main thread holds no lock.

Python raises KeyboardInterrupt between any two steps of the main thread, so also after `Condition.__enter__` has taken
a lock and before the body could give it back. A thread that needs that lock then waits for ever, and whoever joins the
thread waits with it. What is noted instead is looked at where nothing is held. Knows no thread and no work.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

_T = TypeVar("_T")


class CtrlC:
    """Holds Ctrl-C back in its body, until `look` or the end; a context manager.

    Pressed again before anybody has looked, it is raised at once, as if nothing held it back: something takes too long.
    Outside of the main thread, and where SIGINT has a handler of the caller's or is ignored, it changes nothing.
    """

    def __init__(self) -> None:
        self._was_pressed = self._is_through = self._holds = False

    def __enter__(self) -> CtrlC:
        usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if usual and threading.current_thread() is threading.main_thread():
            self._holds = True
            signal.signal(signal.SIGINT, self._press)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._holds and signal.getsignal(signal.SIGINT) == self._press:  # else the body has set a handler of its own
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if kind is None:
            self.look()

    def look(self) -> None:
        """Raise KeyboardInterrupt if Ctrl-C was pressed since the last look."""
        if self._was_pressed:
            self._was_pressed = False
            raise KeyboardInterrupt

    def through(self, call: Callable[..., _T], *arguments: object) -> _T:
        """What the call returns; Ctrl-C is raised in it. For what may take long and holds no lock that others want."""
        self.look()
        self._is_through = True
        try:
            return call(*arguments)
        except KeyboardInterrupt:
            self._was_pressed = False
            raise
        finally:
            self._is_through = False

    def _press(self, number: int, frame: FrameType | None) -> None:
        at_once = self._is_through or self._was_pressed
        self._was_pressed = True  # in any case: where an object is being finalized, what is raised gets lost
        if at_once:
            raise KeyboardInterrupt
