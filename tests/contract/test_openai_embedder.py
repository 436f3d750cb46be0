"""The embedder behind HTTP keeps the embedder contract, against a well-behaved endpoint on this machine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from answering import answering

from citewell.adapters.embedders.openai import OpenAIEmbedder
from citewell.ports import Embedder
from citewell.testing import EmbedderContract

LONGEST = 40_000


class Handler(BaseHTTPRequestHandler):
    """Refuses empty and overlong texts with the whole batch, as real endpoints do, and answers last text first."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
        if all(0 < len(text.encode()) <= LONGEST for text in texts):
            data = [{"index": index, "embedding": embed(text)} for index, text in enumerate(texts)]
            self.answer(200, {"data": data[::-1]})
        else:
            self.answer(400, {"error": {"message": "a text is empty or too long"}})

    def answer(self, status: int, content: object) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in http.server
        return


def embed(text: str) -> list[float]:
    return [byte - 127.5 for byte in hashlib.sha256(text.encode()).digest()]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    with answering(server):
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"


class TestOpenAIEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self, address: str) -> Iterator[Embedder]:
        with OpenAIEmbedder(address, "bytes", batch_size=4, query_prefix="query: ", timeout_s=20) as embedder:
            yield embedder
