"""A small OpenAI-compatible endpoint over real HTTP that says what it was told to say; it knows no model."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from answering import answering

Reply = dict[str, Any] | tuple[int, bytes]
"""The assistant's next message; or a status and a body."""


@dataclass
class ChatServer:
    """Answers POST /v1/chat/completions with its replies in turn."""

    replies: deque[Reply] = field(default_factory=deque)
    received: list[dict[str, Any]] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    url: str = ""


@contextmanager
def chat_server(*replies: Reply) -> Iterator[ChatServer]:
    """A server on a free port of this machine, until the context ends."""
    state = ChatServer(deque(replies))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            state.received.append(json.loads(body))
            state.headers.append(dict(self.headers))
            status, answer = _answer(state, self.path)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Nothing is logged."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}/v1"
    with answering(server):
        yield state


def _answer(state: ChatServer, path: str) -> tuple[int, bytes]:
    if path != "/v1/chat/completions" or not state.replies:
        return 404, b"{}"
    reply = state.replies.popleft()
    if isinstance(reply, tuple):
        return reply
    choice = {"index": 0, "message": reply, "finish_reason": "stop"}
    return 200, json.dumps({"id": "chat-1", "object": "chat.completion", "choices": [choice]}).encode()
