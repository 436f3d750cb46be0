"""A small HTTP server in a thread while a test lasts; what it answers is its handler's business."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer


@contextmanager
def answering(server: ThreadingHTTPServer) -> Iterator[None]:
    """It answers within the block; afterwards its thread has ended and its port is free."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
