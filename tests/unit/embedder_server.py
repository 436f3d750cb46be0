"""A small embeddings endpoint over real HTTP that misbehaves on demand; it knows only what its replies tell it."""

from __future__ import annotations

import base64
import hashlib
import json
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from answering import answering

DIMENSIONS = 4


@dataclass(frozen=True)
class Reply:
    """What to do with one request; the default is to answer it well.

    Attributes:
        change: makes something else of the good answer.
        body: sent instead of the answer.
        delay_s: before the first byte.
        cut: leave out so many bytes of what `Content-Length` promised.
        trickle_s: wait so long after each of the first bytes.
    """

    status: int = 200
    change: Callable[[dict[str, Any]], object] | None = None
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    cut: int = 0
    trickle_s: float = 0.0


@dataclass(frozen=True)
class Received:
    path: str
    headers: Mapping[str, str]
    payload: dict[str, Any]


class EmbeddingServer:
    """Answers from `replies` in turn, then from `rule` if there is one, then well."""

    def __init__(self) -> None:
        self.replies: deque[Reply] = deque()
        self.rule: Callable[[dict[str, Any]], Reply] | None = None
        self.received: list[Received] = []
        self.most_at_once = 0
        self.given_up = threading.Event()
        self._over = threading.Event()
        self._at_once = 0
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def batches(self) -> list[list[str]]:
        """The texts of each request."""
        return [request.payload["input"] for request in self.received]

    @contextmanager
    def running(self) -> Iterator[EmbeddingServer]:
        with answering(self._server):
            try:
                yield self
            finally:
                self._over.set()  # nobody waits for what is delayed

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                payload = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                reply = outer._begin(Received(self.path, dict(self.headers.items()), payload))
                try:
                    _send(self, reply, payload, outer._over.wait)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True  # the client has had enough
                    outer.given_up.set()
                finally:
                    outer._end()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in http.server
                return

        return Handler

    def _begin(self, request: Received) -> Reply:
        with self._lock:
            self.received.append(request)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            if self.replies:
                return self.replies.popleft()
            return self.rule(request.payload) if self.rule else Reply()

    def _end(self) -> None:
        with self._lock:
            self._at_once -= 1


def _send(
    handler: BaseHTTPRequestHandler, reply: Reply, payload: dict[str, Any], wait: Callable[[float], object]
) -> None:
    if reply.delay_s:
        wait(reply.delay_s)
    good = good_answer(payload)
    body = reply.body if reply.body is not None else json.dumps(reply.change(good) if reply.change else good).encode()
    handler.send_response_only(reply.status)
    for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **reply.headers}.items():
        handler.send_header(name, value)
    handler.end_headers()
    for byte in body[:40] if reply.trickle_s else b"":
        handler.wfile.write(bytes([byte]))
        wait(reply.trickle_s)
    handler.wfile.write(body[40 if reply.trickle_s else 0 : len(body) - reply.cut])
    handler.close_connection = bool(reply.cut)


def good_answer(payload: dict[str, Any]) -> dict[str, Any]:
    data = [{"object": "embedding", "index": i, "embedding": vector(text)} for i, text in enumerate(payload["input"])]
    return {"object": "list", "model": payload["model"], "data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}}


def vector(text: str) -> list[float]:
    """Four numbers from 1 to 256, which tell texts apart."""
    return [byte + 1.0 for byte in hashlib.sha256(text.encode()).digest()[:DIMENSIONS]]


def as_base64(answer: dict[str, Any]) -> dict[str, Any]:
    for item in answer["data"]:
        item["embedding"] = base64.b64encode(struct.pack(f"<{DIMENSIONS}f", *item["embedding"])).decode()
    return answer
