"""MCP over HTTP: who gets in, what each token sees on every tool and resource, and whose sessions are whose."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_room import MODES, Mode, filled, live, structured, texts
from mcp_types import ResourceTemplateReference, TextResourceContents

from citewell import Knowledge
from citewell.config import ServerSettings, Settings
from citewell.identity import format_key as key
from citewell.server.mcp.uris import document_uri, evidence_uri

T = TypeVar("T")

TOKENS = {name: f"{name}-token-of-enough-length" for name in ("red", "blue", "twin", "all", "none")}
SETTINGS = Settings.of(
    {
        "server.max-body": 20_000,
        "server.tokens": [
            {"name": "red", "token": TOKENS["red"], "scope": ["red"]},
            {"name": "twin", "token": TOKENS["twin"], "scope": ["red"]},
            {"name": "blue", "token": TOKENS["blue"], "scope": ["blue"]},
            {"name": "all", "token": TOKENS["all"]},
            {"name": "none", "token": TOKENS["none"], "scope": []},
        ],
    }
).server
SEES = {
    "red": {"ops/etcd.md", "steps.md"},
    "blue": {"pay.md", "steps.md"},
    "all": {"ops/etcd.md", "pay.md", "steps.md"},
    "none": set[str](),
}
DOCUMENTS = sorted(SEES["all"])
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
ACCEPT = {"accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def knowledge() -> Iterator[Knowledge]:
    with filled() as opened:
        yield opened


@pytest.fixture(scope="module")
def url(knowledge: Knowledge) -> Iterator[str]:
    with live(knowledge, SETTINGS) as address:
        yield address


def bearing(name: str | None) -> dict[str, str]:
    return {} if name is None else {"authorization": f"Bearer {TOKENS.get(name, name)}"}


def as_caller(url: str, name: str | None, talk: Callable[[Client], Awaitable[T]], mode: Mode = "auto") -> T:
    """A conversation with a live server, by the bearer of a token."""

    async def talked() -> T:
        async with (
            httpx2.AsyncClient(headers=bearing(name), timeout=30) as http,
            Client(streamable_http_client(url, http_client=http), mode=mode) as client,
        ):
            return await talk(client)

    return asyncio.run(talked())


def post(url: str, body: object, headers: dict[str, str]) -> httpx2.Response:
    return httpx2.post(url, json=body, headers={**ACCEPT, **headers}, timeout=30)


async def found(client: Client) -> set[str]:
    result = await client.call_tool("lookup_knowledge", {"query": "disk salaries wheel", "max_chunks_per_document": 1})
    return {item["document_id"].partition("#")[0] for item in structured(result)["evidence"]}


async def hinted(client: Client) -> set[str]:
    result = await client.call_tool("lookup_knowledge", {"query": "etcd pay step"})
    return {hint["value"] for hint in structured(result)["hints"] if hint["kind"] == "document"}


async def searched(client: Client) -> set[str]:
    results = structured(await client.call_tool("search", {"query": "disk salaries wheel"}))["results"]
    return {result["id"].partition("#")[0] for result in results}


async def read(client: Client) -> set[str]:
    tried = {name: await client.call_tool("read_evidence", {"id": key(name, 0)}) for name in DOCUMENTS}
    return {name for name, result in tried.items() if not result.is_error}


async def beside(client: Client) -> set[str]:
    tried = {name: await client.call_tool("read_evidence", {"id": key(name, 0), "neighbours": 3}) for name in DOCUMENTS}
    shown = [structured(result)["evidence"] for result in tried.values() if not result.is_error]
    return {item["document_id"].partition("#")[0] for items in shown for item in items}


async def fetched(client: Client) -> set[str]:
    tried = {name: await client.call_tool("fetch", {"id": key(name, 0)}) for name in DOCUMENTS}
    return {name for name, result in tried.items() if not result.is_error}


async def known(client: Client) -> set[str]:
    ids = {"ids": [key(name, 0) for name in DOCUMENTS], "session": "nothing was shown here"}
    citations = structured(await client.call_tool("check_citations", ids))["citations"]
    return {one["raw"].partition("#")[0] for one in citations if one["verdict"] != "unknown"}


async def listed(client: Client) -> set[str]:
    return {resource.name for resource in (await client.list_resources()).resources}


async def resources(client: Client) -> set[str]:
    readable = set()
    for name in DOCUMENTS:
        for uri in (document_uri(name), evidence_uri(key(name, 0))):
            try:
                (contents,) = (await client.read_resource(uri)).contents
            except MCPError:
                continue
            assert isinstance(contents, TextResourceContents)
            readable |= {other for other in DOCUMENTS if f"[{key(other, 0)}]" in contents.text}
    return readable


async def completed(client: Client) -> set[str]:
    names = set[str]()
    for uri, argument in (("citewell://document/{id}", "id"), ("citewell://evidence/{key}", "key")):
        reference = ResourceTemplateReference(uri=uri)
        result = await client.complete(reference, {"name": argument, "value": ""})
        names |= {value.partition("#")[0] for value in result.completion.values}
    return names


WAYS = [found, hinted, searched, read, beside, fetched, known, listed, resources, completed]


@pytest.mark.requirement("API-3", "SAFE-1", "SAFE-3")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_each_token_sees_its_own_documents_and_hears_of_no_other_in_every_way_there_is(
    url: str, mode: Mode, way: Callable[[Client], Awaitable[set[str]]]
) -> None:
    assert {name: as_caller(url, name, way, mode) for name in SEES} == SEES


@pytest.mark.requirement("SAFE-3")
@pytest.mark.parametrize("tool", ["lookup_knowledge", "read_evidence", "check_citations"])
def test_a_call_can_narrow_its_tokens_scope_and_never_widen_it(url: str, tool: str) -> None:
    table: dict[str, dict[str, Any]] = {
        "lookup_knowledge": {"query": "disk salaries wheel"},
        "read_evidence": {"id": key("pay.md", 0)},
        "check_citations": {"ids": [key("pay.md", 0)], "session": "s"},
    }
    arguments = table[tool]

    def asked(name: str, scope: list[str]) -> Any:  # noqa: ANN401 - a result
        return as_caller(url, name, lambda client: client.call_tool(tool, {**arguments, "scope": scope}))

    for scope in (["blue"], ["nobody bears this"], ["red", "blue"]):
        refused = asked("red", scope)
        assert refused.is_error
        assert texts(refused) == ["the scope holds a label that this token doesn't. Leave `scope` out. [forbidden]"]
    assert not asked("all", ["blue"]).is_error
    narrowed = asked("all", ["red"])
    assert "Salaries" not in str(narrowed.structured_content)
    assert "last day" not in str(texts(narrowed))


@pytest.mark.requirement("SAFE-1")
def test_what_is_out_of_scope_and_what_there_is_not_are_told_in_the_same_words(url: str) -> None:
    async def told(client: Client, name: str) -> list[str]:
        words = [
            texts(await client.call_tool("read_evidence", {"id": key(name, 0)}))[0],
            texts(await client.call_tool("fetch", {"id": key(name, 0)}))[0],
        ]
        ids = {"ids": [key(name, 0)], "session": "s"}
        words.append(texts(await client.call_tool("check_citations", ids))[0])
        for uri in (document_uri(name), evidence_uri(key(name, 0))):
            with pytest.raises(MCPError) as refused:
                await client.read_resource(uri)
            words.append(refused.value.error.model_dump_json())
        return [
            word.replace(name, "X").replace(document_uri(name), "X").replace(evidence_uri(name), "X") for word in words
        ]

    hidden = as_caller(url, "red", lambda client: told(client, "pay.md"))
    absent = as_caller(url, "red", lambda client: told(client, "nix.md"))
    assert hidden == absent


@pytest.mark.requirement("API-3")
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
@pytest.mark.parametrize(
    "presented",
    [
        None,
        "Bearer",
        "Bearer wrong-token-of-some-length",
        f"Bearer {TOKENS['red'][:-1]}",
        f"Bearer {TOKENS['red']}x",
        f"Basic {TOKENS['red']}",
        TOKENS["red"],
    ],
)
def test_nobody_without_a_known_token_gets_in(url: str, method: str, presented: str | None) -> None:
    headers = ACCEPT if presented is None else {**ACCEPT, "authorization": presented}
    answer = httpx2.request(method, url, json=INITIALIZE if method == "POST" else None, headers=headers, timeout=30)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.json()["error"]["code"] == "unauthorized"
    assert "red" not in answer.text


@pytest.mark.requirement("API-3")
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
def test_two_tokens_are_none(url: str, method: str) -> None:
    """Whoever passed the request on may have looked at the other one."""
    two = [*ACCEPT.items(), *(("authorization", f"Bearer {TOKENS[name]}") for name in ("red", "red"))]
    answer = httpx2.request(method, url, json=INITIALIZE if method == "POST" else None, headers=two, timeout=30)
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthorized")


@pytest.mark.requirement("API-3")
def test_no_token_gets_into_the_log(url: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    as_caller(url, "red", listed, "legacy")
    httpx2.get(url, headers=bearing("wrong-token-of-some-length"), timeout=30)
    assert caplog.records
    assert not [record for record in caplog.records if "-token-of-" in f"{record.getMessage()}{record.args}"]


@pytest.mark.requirement("API-3", "SESSION-2")
def test_a_session_of_the_protocol_answers_its_owner_alone(url: str) -> None:
    opened = post(url, INITIALIZE, bearing("red"))
    session = {"mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    statuses = {
        name: post(url, ping, {**bearing(name), **session}).status_code for name in ("red", "twin", "blue", "all")
    }
    assert statuses == {"red": 200, "twin": 404, "blue": 404, "all": 404}


@pytest.mark.requirement("GUARD-1", "SESSION-2")
def test_a_connection_with_a_handshake_remembers_and_one_without_names_a_session_to_go_on_with(url: str) -> None:
    ids = [key("ops/etcd.md", 0)]

    async def scene(client: Client) -> tuple[str, Any]:
        shown = structured(await client.call_tool("read_evidence", {"id": ids[0]}))
        return shown["session"], await client.call_tool("check_citations", {"ids": ids})

    _, remembered = as_caller(url, "red", scene, "legacy")
    assert structured(remembered)["ok"] is True
    session, unnamed = as_caller(url, "red", scene)
    assert unnamed.is_error
    assert "a check needs to know which session was shown the evidence. Give `session`" in texts(unnamed)[0]

    def checked(name: str) -> bool:
        named = {"ids": ids, "session": session}
        return bool(structured(as_caller(url, name, lambda client: client.call_tool("check_citations", named)))["ok"])

    assert {name: checked(name) for name in ("red", "twin")} == {"red": True, "twin": False}


@pytest.mark.requirement("API-3")
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "127.0.0.1.evil.example:80"}, 421),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "http://localhost:5173"}, 403),
        ({"content-type": "text/plain"}, 400),
    ],
)
def test_requests_that_a_page_elsewhere_could_send_are_refused(url: str, headers: dict[str, str], status: int) -> None:
    assert post(url, INITIALIZE, {**bearing("red"), **headers}).status_code == status


def test_the_hosts_that_are_set_are_those_that_are_taken(knowledge: Knowledge) -> None:
    with live(knowledge, ServerSettings(allowed_hosts=("kb.example",))) as address:
        statuses = [
            post(address, INITIALIZE, {"host": host}).status_code
            for host in ("kb.example", "kb.example:8642", "127.0.0.1", "x.kb.example")
        ]
    assert statuses == [200, 200, 421, 421]


def test_a_page_whose_origin_is_allowed_may_send_requests(knowledge: Knowledge) -> None:
    with live(knowledge, ServerSettings(cors_origins=("https://app.example",))) as address:
        own = address.removesuffix("/mcp")
        origins = ("https://app.example", own, "http://app.example", "null", "https://127.0.0.1:1")
        statuses = [post(address, INITIALIZE, {"origin": origin}).status_code for origin in origins]
    assert statuses == [200, 200, 403, 403, 403]


def test_a_server_on_every_address_goes_by_tokens_and_not_by_names(knowledge: Knowledge) -> None:
    everywhere = replace(SETTINGS, host="0.0.0.0")  # noqa: S104 - compared with, not listened on
    with live(knowledge, everywhere) as address:
        statuses = [
            post(address, INITIALIZE, {"host": "kb.example", **bearing(name)}).status_code for name in ("red", None)
        ]
    assert statuses == [200, 401]


def test_a_body_beyond_the_bound_is_refused(url: str) -> None:
    large = {**INITIALIZE, "params": {**INITIALIZE["params"], "filler": "x" * 20_000}}  # type: ignore[dict-item]
    assert post(url, large, bearing("red")).status_code == 413


def test_without_tokens_anyone_may_ask_for_everything(knowledge: Knowledge) -> None:
    with live(knowledge) as address:
        assert as_caller(address, None, listed) == SEES["all"]
        assert as_caller(address, None, found, "legacy") == SEES["all"]
