"""At no edge can a caller tell whether others' documents exist: HTTP, MCP, inspector and command line say the same."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from http_room import client
from inspector_room import pages
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_room import served
from mcp_types import ResourceTemplateReference
from starlette.testclient import TestClient
from two_worlds import KEYS, OURS, QUERIES, SCOPE, THEIRS, alike, differences, world
from typer.testing import CliRunner

from citewell import Knowledge
from citewell.cli import app
from citewell.server.callers import Caller
from citewell.server.mcp.uris import document_uri, evidence_uri
from citewell.testing.fakes import HashEmbedder

TOKEN = {"Authorization": "Bearer token-of-blue-0123456789"}
SETTINGS = {
    "server.rate": 0,
    "server.tokens": [
        {"name": "blue", "token": "token-of-blue-0123456789", "scope": list(SCOPE), "ingest": True},
        {"name": "all", "token": "token-of-all-0123456789", "ingest": True},
    ],
}
IDS = [document.doc_id for document in (*OURS, *THEIRS[:5])]
_TIMES = r"<tr><th scope=\"row\">\w+</th>.*? ms</td></tr>|\d+\.\d+|\d+ ms"
_SESSION = r"mcp-[0-9a-f]{16}"
BLUE = Caller("blue", SCOPE, ingest=False, bound=True, apart=True)


@pytest.fixture(scope="module")
def worlds() -> Iterator[tuple[Knowledge, Knowledge]]:
    with world("memory:", OURS, SETTINGS) as alone, world("memory:", [*THEIRS, *OURS], SETTINGS) as among:
        yield alone, among


def answered(response: Any) -> object:  # noqa: ANN401 - of either client
    """Status, names of headers and body of an answer."""
    kind = response.headers.get("content-type", "")
    body = alike(response.json()) if "json" in kind else re.sub(_TIMES, "", response.text).split()
    return [response.status_code, sorted(response.headers), body]


def over_http(http: TestClient) -> dict[str, object]:
    said: dict[str, object] = {}
    for query in QUERIES:
        for agent in (True, False):
            body = {"query": query, "agent": agent, "session": "s", "neighbours": 1}
            said[f"lookup {query} {agent}"] = answered(http.post("/v1/lookup", json=body, headers=TOKEN))
    for key in KEYS:
        path = f"/v1/evidence/{key.replace('#', '%23')}"
        said[path] = answered(http.get(path, params={"neighbours": 3}, headers=TOKEN))
    for limit in (1, 2, 100):
        said[f"list {limit}"] = answered(http.get("/v1/documents", params={"limit": limit}, headers=TOKEN))
        said[f"list {limit} on"] = answered(
            http.get("/v1/documents", params={"limit": limit, "after": "ours/pump.md"}, headers=TOKEN)
        )
    said["check"] = answered(http.post("/v1/check", json={"answer": list(KEYS), "session": "s"}, headers=TOKEN))
    for path in ("/metrics", "/v1/ingest/none", "/healthz", "/readyz", "/v1/lookup", "/nowhere"):
        said[path] = answered(http.get(path, headers=TOKEN))
    for doc_id in IDS[len(OURS) :]:
        said[f"delete {doc_id}"] = answered(http.delete(f"/v1/documents/{doc_id}", headers=TOKEN))
    return said


@pytest.mark.requirement("API-4", "SAFE-3")
def test_http_tells_a_caller_the_same_with_and_without_others_documents(worlds: tuple[Knowledge, Knowledge]) -> None:
    said = []
    for knowledge in worlds:
        with client(knowledge) as http:
            said.append(over_http(http))
    assert len(said[0]) > 40
    assert differences(*said) == []
    assert len(list(worlds[1].documents())) == len(OURS) + len(THEIRS)


def in_pages(http: TestClient) -> dict[str, object]:
    said: dict[str, object] = {}
    for shape in ({}, {"format": "json"}):
        for query in QUERIES:
            for mode in ("dense", "hybrid", "compare"):
                asked = {"q": query, "mode": mode, **shape}
                said[f"{asked}"] = answered(http.get("/inspect", params=asked, headers=TOKEN))
        for key in KEYS[::2]:
            said[f"evidence {key} {shape}"] = answered(
                http.get("/inspect/evidence", params={"key": key, **shape}, headers=TOKEN)
            )
        for doc_id in IDS:
            asked = {"id": doc_id, **shape}
            said[f"document {asked}"] = answered(http.get("/inspect/document", params=asked, headers=TOKEN))
        for name in ("corpus", "evaluations", "ingestions", "evaluation?name=x"):
            said[f"{name} {shape}"] = answered(http.get(f"/inspect/{name}", params=shape, headers=TOKEN))
    return said


@pytest.mark.requirement("API-5", "SAFE-3")
def test_the_inspector_shows_a_caller_the_same_with_and_without_others_documents(
    worlds: tuple[Knowledge, Knowledge],
) -> None:
    said = []
    for knowledge in worlds:
        with pages(knowledge) as http:
            said.append(in_pages(http))
    assert sum(answer[0] == 200 for answer in said[0].values()) > 30  # type: ignore[index]
    assert differences(*said) == []


async def over_mcp(mcp: Client) -> dict[str, object]:
    said: dict[str, object] = {}
    calls: list[tuple[str, Any]] = [
        *(("lookup_knowledge", {"query": query, "session": "s", "neighbours": 1}) for query in QUERIES),
        *(("search", {"query": query}) for query in QUERIES),
        *(("read_evidence", {"id": key, "neighbours": 2}) for key in KEYS),
        *(("fetch", {"id": key}) for key in KEYS),
        ("check_citations", {"ids": list(KEYS), "session": "s"}),
        ("check_citations", {"answer": " ".join(f"[{key}]" for key in KEYS), "session": "s"}),
    ]
    for tool, arguments in calls:
        result = await mcp.call_tool(tool, arguments)
        said[f"{tool} {arguments}"] = re.sub(_SESSION, "", str(alike(result.model_dump(mode="json"))))
    for uri in [*(document_uri(name) for name in IDS), *(evidence_uri(key) for key in KEYS)]:
        try:
            said[uri] = (await mcp.read_resource(uri)).model_dump(mode="json")
        except MCPError as error:
            said[uri] = str(error)
    said["resources"] = (await mcp.list_resources()).model_dump(mode="json")
    for template, argument in (("citewell://document/{id}", "id"), ("citewell://evidence/{key}", "key")):
        for begun in ("", "ours/", "theirs", "ours/pump"):
            reference = ResourceTemplateReference(uri=template)
            completed = await mcp.complete(reference, {"name": argument, "value": begun})
            said[f"{template} {begun}"] = completed.model_dump(mode="json")
    return said


@pytest.mark.requirement("API-3", "SAFE-3")
def test_mcp_tells_a_caller_the_same_with_and_without_others_documents(worlds: tuple[Knowledge, Knowledge]) -> None:
    async def talked(knowledge: Knowledge) -> dict[str, object]:
        with served(knowledge, BLUE) as server:
            async with Client(server) as mcp:
                return await over_mcp(mcp)

    said = [asyncio.run(talked(knowledge)) for knowledge in worlds]
    assert len(said[0]) > 90
    assert differences(*said) == []


def on_the_command_line(kb: Path) -> dict[str, object]:
    def run(*arguments: str) -> object:
        result = CliRunner().invoke(app, [*arguments, "--kb", str(kb), "--json"])
        return [result.exit_code, alike(json.loads(result.stdout)), result.stderr.replace(str(kb), "KB")]

    scope = [part for label in SCOPE for part in ("--scope", label)]
    asked: dict[str, Callable[[], object]] = {}
    for more in (["--agent", "--session", "s"], ["--neighbours", "1", "--mode", "hybrid", "--explain"]):
        asked[f"lookup {more}"] = partial(run, "lookup", QUERIES[0], *scope, *more)
    for key in KEYS[::6]:
        asked[f"show {key}"] = partial(run, "show", key, *scope)
    answer = kb.parent / "answer.md"
    answer.write_text("\n".join(KEYS), encoding="utf-8")
    asked["check"] = partial(run, "check", str(answer), "--session", "s", *scope)
    asked["check ids"] = partial(run, "check", str(answer), "--ids", "--session", "s", *scope)
    return {name: ask() for name, ask in asked.items()}


@pytest.mark.requirement("API-2", "SAFE-3")
def test_the_command_line_tells_a_caller_the_same_with_and_without_others_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("citewell.app.knowledge.open_embedder", lambda *_: HashEmbedder())
    for name in ("CITEWELL_KB", "CITEWELL_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    said = []
    contents: tuple[tuple[str, Sequence[Any]], ...] = (("alone", OURS), ("among", [*THEIRS, *OURS]))
    for name, documents in contents:
        world(str(tmp_path / name), documents).close()
        said.append(on_the_command_line(tmp_path / name))
    assert len(said[0]) == 8
    assert differences(*said) == []
