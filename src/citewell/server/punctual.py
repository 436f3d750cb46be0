"""Connections that don't wait for ever: neither for the head of a request, nor for an answer to be taken (API-4).

How long a body may take is the gate's affair, and how long a quiet connection stays open uvicorn's. It knows no route
and no request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

HEAD_S: Final = 20.0
"""Within which the head of a request has to come, once it has begun or the connection was made for it."""

TAKEN_S: Final = 20.0
TAKEN_BYTES: Final = 20_000
"""Of an answer that waits to be taken, so many bytes must go in each such time: 8 kbit/s."""


class Punctual(H11Protocol):
    """Closes a connection on which the head of a request doesn't come in time, or an answer isn't taken.

    uvicorn waits for both for ever, and a connection with what it sends costs memory and a file of the process.
    """

    _late: asyncio.TimerHandle | None = None
    _untaken: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in its base
        """See the base."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # whatever waits is told of, by pause_writing
        self._watch()

    def data_received(self, data: bytes) -> None:
        """See the base."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """See the base."""
        super().on_response_complete()
        if self.conn.trailing_data[0]:  # the next head had begun behind this request, and no data may come any more
            self._watch()

    def pause_writing(self) -> None:
        """The other end takes no more for now."""
        super().pause_writing()
        self._await_taking(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """It has taken all."""
        self._taken()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """See the base."""
        self._rest()
        self._taken()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Wait for what has begun, once; a quiet connection between two requests is uvicorn's to close."""
        if self.conn.their_state is not h11.IDLE or self.transport.is_closing():
            self._rest()
        elif self._late is None:
            self._late = self.loop.call_later(HEAD_S, self.timeout_keep_alive_handler)

    def _rest(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _await_taking(self, waiting: int) -> None:
        """Look again after a while at how many of so many bytes are still there."""
        self._untaken = self.loop.call_later(TAKEN_S, self._look_again, waiting)

    def _look_again(self, waited: int) -> None:
        waiting = self.transport.get_write_buffer_size()
        if waited - waiting < TAKEN_BYTES:
            self.transport.abort()  # to close it would be to wait for the rest to be taken
        else:
            self._await_taking(waiting)

    def _taken(self) -> None:
        if self._untaken is not None:
            self._untaken.cancel()
            self._untaken = None
