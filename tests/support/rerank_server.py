"""A small reranking endpoint over real HTTP that speaks three styles and misbehaves on demand."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from answering import answering


@dataclass(frozen=True)
class Reply:
    """What to do with one request; the default is to answer it well.

    Attributes:
        change: makes something else of the good answer.
        body: sent instead of the answer.
        until: waited for before the first byte.
    """

    status: int = 200
    change: Callable[[Any], object] | None = None
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    until: threading.Event | None = None


@dataclass(frozen=True)
class Received:
    path: str
    headers: Mapping[str, str]
    payload: dict[str, Any]


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A client that has had enough is no news."""


class RerankServer:
    """Answers from `replies` in turn, then from `rule` if there is one, then well."""

    def __init__(self) -> None:
        self.replies: deque[Reply] = deque()
        self.rule: Callable[[dict[str, Any]], Reply] | None = None
        self.received: list[Received] = []
        self._server = _Quiet(("127.0.0.1", 0), self._handler())
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"

    @contextmanager
    def running(self) -> Iterator[RerankServer]:
        with answering(self._server):
            yield self

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                payload = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.received.append(Received(self.path, dict(self.headers.items()), payload))
                reply = outer._next(payload)
                if reply.until is not None:
                    reply.until.wait(60)
                good = good_answer(self.path, payload)
                answer = reply.change(good) if reply.change else good
                body = json.dumps(answer).encode() if reply.body is None else reply.body
                try:
                    self.send_response_only(reply.status)
                    for name, value in {"Content-Length": str(len(body)), **reply.headers}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(body)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True  # the client has had enough

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in http.server
                return

        return Handler

    def _next(self, payload: dict[str, Any]) -> Reply:
        if self.replies:
            return self.replies.popleft()
        return self.rule(payload) if self.rule else Reply()


def good_answer(path: str, payload: dict[str, Any]) -> object:
    """Best first, as such endpoints answer, so that only `index` tells which text is meant."""
    texts = payload["texts"] if "texts" in payload else payload["documents"]
    name = "score" if "texts" in payload else "relevance_score"
    entries = [{"index": index, name: score(payload["query"], text)} for index, text in enumerate(texts)]
    entries.sort(key=lambda entry: -float(entry[name]))
    return entries if "texts" in payload else {"id": path, "results": entries}


def score(query: str, text: str) -> float:
    """A number from 0 to 1 that tells pairs apart."""
    return int.from_bytes(hashlib.sha256(f"{query}\0{text}".encode()).digest()[:4], "big") / 2**32
