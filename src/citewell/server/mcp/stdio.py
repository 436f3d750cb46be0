"""MCP on standard input and output: the protocol alone goes out, and nothing else waits for store or model (API-3).

While it serves, the SDK keeps the real standard output to itself and lets what libraries print there go to standard
error, as logs do. It knows no option of the command line.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING

from mcp.server.stdio import stdio_server

from citewell.server.desk import Desk
from citewell.server.mcp.factory import build
from citewell.server.mcp.opening import Opening

if TYPE_CHECKING:
    from citewell.app import Knowledge
    from citewell.server.callers import Caller

_WAITING = 64


def serve(
    opened: Callable[[], Knowledge], *, caller: Caller, version: str, workers: int = 8, timeout_s: float | None = 30.0
) -> None:
    """Serve one client until it closes standard input; an interrupt ends the process at once, as SIGTERM does.

    To be called in the main thread. What the process prints afterwards goes to standard error.

    Args:
        opened: opens the Knowledge; called in a thread, again if it failed, and closed here.
        caller: whose scope holds for every call.
        version: of Citewell.
        workers: calls at once.
        timeout_s: how long a call may take.
    """
    # Python's own way would wait for the thread that reads standard input. A store bears to be left at any moment.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    asyncio.run(_serve(opened, caller, version, Desk("mcp", workers=workers, waiting=_WAITING, timeout_s=timeout_s)))


async def _serve(opened: Callable[[], Knowledge], caller: Caller, version: str, desk: Desk) -> None:
    source = Opening(opened)
    server = build(source, desk=desk, caller_of=lambda _: caller, version=version)
    try:
        async with stdio_server() as (incoming, outgoing):
            try:
                await server.run(incoming, outgoing, server.create_initialization_options())
            finally:
                # Within the block: what a store says while it closes must not reach standard output either.
                await asyncio.to_thread(desk.close)
                await source.close()
    finally:
        # What still waits in buffers, and what is printed while Python ends, must not follow the protocol either.
        os.dup2(2, 1)
        desk.close()
