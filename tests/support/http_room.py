"""Rooms for HTTP tests: a small knowledge base of two teams behind an application, with callers of every kind."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from starlette.testclient import TestClient

from citewell import Document, Knowledge, Settings
from citewell.ports import Embedder
from citewell.server.http.app import create_app
from citewell.testing.fakes import HashEmbedder

DOCUMENTS = (
    Document("a.md", "# Alpha\n\nThe alpha plan needs a wheel.", scope="team-a", category="plans"),
    Document("b.md", "# Beta\n\nThe beta plan needs a sail.", scope="team-b", metadata={"kind": "plan"}),
    Document("both.md", "# Both\n\nThe shared plan needs both.", scope=["team-a", "team-b"]),
    Document("open.md", "# Open\n\nThe open plan bears no label."),
)

TOKENS: Mapping[str, dict[str, Any]] = {
    "everything": {"ingest": True},
    "team-a": {"scope": ["team-a"], "ingest": True},
    "team-b": {"scope": ["team-b"]},
    "nothing": {"scope": []},
}
"""By the name of the caller."""

SEES = {
    "everything": ["a.md", "b.md", "both.md", "open.md"],
    "team-a": ["a.md", "both.md"],
    "team-b": ["b.md", "both.md"],
    "nothing": [],
}


def token(name: str) -> str:
    """The bearer token of a caller."""
    return f"token-of-{name}-0123456789"


def bears(name: str | None) -> dict[str, str]:
    """The header of a caller; of nobody in particular, none."""
    return {} if name is None else {"Authorization": f"Bearer {token(name)}"}


def settings(*, tokens: bool = False, **server: Any) -> Settings:  # noqa: ANN401 - whatever a setting can be
    """Those of a server; with `tokens`, of one that knows TOKENS."""
    entries = [{"name": name, "token": token(name), **rest} for name, rest in TOKENS.items()] if tokens else []
    named = {f"server.{name.replace('_', '-')}": value for name, value in server.items()}
    return Settings.of({"server.tokens": entries, "server.rate": 0, "retrieval.search.mode": "hybrid", **named})


@contextlib.contextmanager
def filled(chosen: Settings | None = None, *, embedder: Embedder | None = None) -> Iterator[Knowledge]:
    """An open Knowledge in memory with DOCUMENTS."""
    with Knowledge.open("memory:", settings=chosen or settings(), embedder=embedder or HashEmbedder()) as knowledge:
        knowledge.ingest_documents(DOCUMENTS)
        yield knowledge


@contextlib.contextmanager
def client(knowledge: Knowledge, *, faults: bool = False, **options: Any) -> Iterator[TestClient]:  # noqa: ANN401 - of create_app
    """A client of an application in this process; with `faults`, failures come as answers."""
    app = create_app(knowledge, **options)
    with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=not faults) as opened:
        yield opened


@contextlib.contextmanager
def room(**server: Any) -> Iterator[TestClient]:  # noqa: ANN401 - as `settings`
    """A client of a server with DOCUMENTS."""
    with filled(settings(**server)) as knowledge, client(knowledge) as opened:
        yield opened


def finished(opened: TestClient, started: Any, caller: str | None = None) -> dict[str, Any]:  # noqa: ANN401 - a response
    """The job that an ingestion started, when it has ended."""
    assert started.status_code == 202, started.text
    with opened.stream("GET", f"{started.headers['location']}/events", headers=bears(caller)) as events:
        events.read()
    job: dict[str, Any] = opened.get(started.headers["location"], headers=bears(caller)).json()
    return job
