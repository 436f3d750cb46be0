"""A Knowledge that is opened in the background, so that a client's handshake waits for neither store nor model (API-3).

It knows no protocol. What fails to open is tried again by whoever asks next: a store that was locked, or not yet
filled, is found once it is there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from citewell.app import Knowledge


class Source(Protocol):
    """Where a server has its Knowledge from."""

    @property
    def ready(self) -> bool:
        """Whether `get` answers at once."""
        ...

    def start(self) -> None:
        """Begin to open it, unless that was begun; returns at once."""
        ...

    async def get(self) -> Knowledge:
        """The open Knowledge.

        Raises:
            CitewellError: it can't be opened.
        """
        ...


class Opened:
    """A Knowledge that its owner has opened, and closes."""

    ready = True

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge

    def start(self) -> None:
        """It is open."""

    async def get(self) -> Knowledge:
        """The Knowledge."""
        return self._knowledge


class Opening:
    """Opens a Knowledge in a thread, once; to be used within one event loop."""

    def __init__(self, opened: Callable[[], Knowledge]) -> None:
        self._opened, self._task = opened, None  # type: tuple[Callable[[], Knowledge], asyncio.Task[Knowledge] | None]

    @property
    def ready(self) -> bool:
        """Whether it was opened, with success."""
        return self._task is not None and self._task.done() and not _failed(self._task)

    def start(self) -> None:
        """Begin, unless that was begun."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(asyncio.to_thread(self._opened))

    async def get(self) -> Knowledge:
        """The open Knowledge; who asks after a failure makes it try again."""
        if self._task is not None and self._task.done() and _failed(self._task):
            self._task = None
        self.start()
        assert self._task is not None  # noqa: S101 - start has just seen to it
        # One caller that gives up must not stop what the others wait for.
        return await asyncio.shield(self._task)

    async def close(self) -> None:
        """Close what was opened, waiting for an opening that is under way. Idempotent."""
        task, self._task = self._task, None
        if task is None:
            return
        await asyncio.wait([task])
        if not _failed(task):
            await asyncio.to_thread(task.result().close)


def _failed(task: asyncio.Task[Knowledge]) -> bool:
    return task.cancelled() or task.exception() is not None
