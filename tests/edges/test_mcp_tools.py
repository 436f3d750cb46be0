"""The tools of the MCP server through the SDK's own client in memory, in both eras of the protocol."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema
import pytest
from mcp import Client
from mcp.server import Server
from mcp.shared.exceptions import MCPError
from mcp_room import DOCUMENTS, MODES, Mode, call, filled, served, structured, talk, texts
from mcp_types import INVALID_REQUEST, Tool

from citewell import Document, Knowledge, Settings
from citewell.identity import format_key as key

ETCD, PAY = key("ops/etcd.md", 0), key("pay.md", 0)
NAMES = ["lookup_knowledge", "read_evidence", "check_citations", "search", "fetch"]
GOOD: Mapping[str, dict[str, Any]] = {
    "lookup_knowledge": {"query": "why is etcd slow", "return_n": 2},
    "read_evidence": {"id": ETCD},
    "check_citations": {"answer": f"Check the disk first [{ETCD}].", "session": "s"},
    "search": {"query": "etcd"},
    "fetch": {"id": ETCD},
}


@pytest.fixture
def knowledge() -> Iterator[Knowledge]:
    with filled() as opened:
        yield opened


@pytest.fixture
def server(knowledge: Knowledge) -> Iterator[Server[Any]]:
    with served(knowledge) as built:
        yield built


def described(schema: Mapping[str, Any]) -> Iterator[str]:
    """What of a schema has no description."""
    for name, part in schema.get("properties", {}).items():
        if not part.get("description") and "properties" not in part:
            yield name
        yield from described(part)
        yield from described(part.get("items", {}))


@pytest.mark.requirement("API-3", "API-8")
@pytest.mark.parametrize("mode", MODES)
def test_each_tool_has_a_title_annotations_and_a_description_of_all_that_it_takes_and_gives(
    server: Server[Any], mode: Mode
) -> None:
    async def listed(client: Client) -> list[Tool]:
        return (await client.list_tools()).tools

    tools = talk(server, listed, mode)
    assert [tool.name for tool in tools] == NAMES
    for tool in tools:
        assert tool.title
        assert tool.description
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is True
        assert tool.annotations.open_world_hint is False
        assert tool.input_schema["additionalProperties"] is False
        assert tool.output_schema is not None
        assert list(described(tool.input_schema)) == list(described(tool.output_schema)) == []
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        jsonschema.Draft202012Validator.check_schema(tool.output_schema)


@pytest.mark.requirement("API-3")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", NAMES)
def test_each_tool_answers_an_object_as_its_schema_says(server: Server[Any], mode: Mode, name: str) -> None:
    async def asked(client: Client) -> None:
        schema = next(tool.output_schema for tool in (await client.list_tools()).tools if tool.name == name)
        answer = structured(await client.call_tool(name, GOOD[name]))
        jsonschema.validate(answer, schema or {})

    talk(server, asked, mode)


@pytest.mark.requirement("API-3", "PROJ-7")
@pytest.mark.parametrize("mode", MODES)
def test_a_lookup_gives_one_text_for_each_passage_behind_the_tools_own_words(server: Server[Any], mode: Mode) -> None:
    result = call(server, "lookup_knowledge", {"query": "why is etcd slow: check the disk", "return_n": 2}, mode)
    answer, blocks = structured(result), texts(result)
    ids = [item["document_id"] for item in answer["evidence"]]
    assert ids[0] == ETCD
    assert len(ids) == 2
    assert blocks[0].startswith("status: ok")
    assert f"session: {answer['session']}" in blocks[0]
    assert [block.partition("]")[0] for block in blocks[1:]] == [f"[{one}" for one in ids]
    assert "Check the disk first." in blocks[1]


@pytest.mark.requirement("API-3", "PROJ-6")
def test_nothing_found_is_an_answer_that_says_why(server: Server[Any]) -> None:
    result = call(server, "lookup_knowledge", {"query": "etcd", "where": {"team": "nobody"}})
    assert structured(result)["status"] == "no_match"
    assert texts(result)[0].startswith("status: no_match (nothing was found under these filters)")
    assert len(texts(result)) == 1


@pytest.mark.requirement("API-3")
@pytest.mark.parametrize("name", ["search", "fetch"])
@pytest.mark.parametrize("mode", MODES)
def test_search_and_fetch_answer_one_text_with_the_same_json_as_their_object(
    server: Server[Any], mode: Mode, name: str
) -> None:
    result = call(server, name, GOOD[name], mode)
    (text,) = texts(result)
    assert json.loads(text) == structured(result)


@pytest.mark.requirement("API-3")
def test_what_search_finds_fetch_gives_and_addresses_lead_to_the_configured_pages(knowledge: Knowledge) -> None:
    with served(knowledge, base_url="https://kb.example/show/") as server:

        async def both(client: Client) -> tuple[Any, Any]:
            found = structured(await client.call_tool("search", {"query": "check the disk first"}))
            return found, structured(await client.call_tool("fetch", {"id": found["results"][0]["id"]}))

        found, fetched = talk(server, both)
    address = "https://kb.example/show/ops/etcd.md%23chunk-0"
    assert found["results"][0] == {"id": ETCD, "title": "Etcd", "url": address}
    assert (fetched["id"], fetched["url"], fetched["metadata"]["truncated"]) == (ETCD, address, "no")
    assert "Then wait five minutes." in fetched["text"]


@pytest.mark.requirement("API-8")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("mode", MODES)
def test_an_unknown_argument_is_refused_by_name_with_those_that_there_are(
    server: Server[Any], mode: Mode, name: str
) -> None:
    result = call(server, name, {**GOOD[name], "top_k": 3, "retrieve-k": 9}, mode)
    assert result.is_error
    (text,) = texts(result)
    assert "unknown argument 'retrieve-k', 'top_k'" in text
    assert "Known are: " in text
    assert result.structured_content is None


@pytest.mark.requirement("API-3", "API-8")
@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("lookup_knowledge", {}, "the argument 'query' is missing. Give `query` as a text"),
        ("lookup_knowledge", {"query": " \u200b"}, "query"),
        ("lookup_knowledge", {"query": 5}, "query can't be 5"),
        ("lookup_knowledge", {"query": "x", "mode": "fuzzy"}, "there is no mode 'fuzzy'. Choose one of dense, hybrid"),
        ("lookup_knowledge", {"query": "x", "return_n": 0}, "return_n can't be 0"),
        ("lookup_knowledge", {"query": "x", "return_n": "5"}, "return_n can't be '5'"),
        ("lookup_knowledge", {"query": "x", "neighbours": 51}, "neighbours can't be 51"),
        ("lookup_knowledge", {"query": "x", "repeat": "yes"}, "repeat can't be 'yes'"),
        ("lookup_knowledge", {"query": "x", "scope": 3}, "a scope can't be 3"),
        ("lookup_knowledge", {"query": "x", "session": ["s"]}, "a session id can't be ['s']"),
        ("read_evidence", {"id": "etcd.md"}, "'etcd.md' is no evidence key. Keys look like"),
        ("read_evidence", {"id": "no.md#chunk-0"}, "there is no evidence 'no.md#chunk-0'. Copy the id"),
        ("read_evidence", {"id": ETCD, "neighbours": True}, "neighbours can't be True"),
        ("check_citations", {}, "a check takes one of `answer` and `ids`, and has 0 of them"),
        ("check_citations", {"answer": "x", "ids": []}, "has 2 of them"),
        ("check_citations", {"answer": "x", "strict": 1}, "strict can't be 1"),
        ("check_citations", {"ids": "x"}, "ids can't be 'x'"),
        ("check_citations", {"ids": [1]}, "ids can't hold 1"),
        ("search", {"query": None}, "the argument 'query' is missing"),
        ("fetch", {"id": {}}, "id can't be {}"),
        ("delete_all", {}, "there is no tool 'delete_all'. There are lookup_knowledge, read_evidence"),
    ],
)
def test_an_error_says_what_is_wrong_and_the_way_out(
    server: Server[Any], name: str, arguments: dict[str, Any], says: str
) -> None:
    result = call(server, name, arguments)
    assert result.is_error
    (text,) = texts(result)
    assert says in text


def test_an_optional_argument_that_is_null_counts_as_not_given(server: Server[Any]) -> None:
    nulls = dict.fromkeys(["category", "scope", "where", "mode", "neighbours", "session", "repeat", "return_n"])
    assert structured(call(server, "lookup_knowledge", {"query": "etcd", **nulls}))["status"] == "ok"


@pytest.mark.requirement("CONTEXT-1")
def test_evidence_is_read_whole_with_its_neighbours_in_reading_order(server: Server[Any]) -> None:
    result = call(server, "read_evidence", {"id": key("steps.md", 1), "neighbours": 1})
    items = structured(result)["evidence"]
    assert [item["document_id"] for item in items] == [key("steps.md", index) for index in range(3)]
    assert [item.get("role") for item in items] == ["neighbour", None, "neighbour"]
    assert not any(item["truncated"] for item in items)
    assert len(texts(result)) == 4


@pytest.mark.parametrize(
    "doc_id", ["../up.md", "/etc/passwd", "a]b.md", 'q"uote.md', "漢字 é.md", "x#chunk-1.md", "a%2Fb.md", "new\nline"]
)
def test_an_id_is_read_as_an_answer_prints_it_and_as_its_object_has_it(doc_id: str) -> None:
    with filled(Document(doc_id, "A wheel turns.")) as knowledge, served(knowledge) as server:

        async def asked(client: Client) -> list[str]:
            found = await client.call_tool("lookup_knowledge", {"query": "wheel"})
            exact = structured(found)["evidence"][0]["document_id"]
            printed = texts(found)[1].partition("\n")[0].partition("[")[2].rpartition("]")[0]
            again = [await client.call_tool("read_evidence", {"id": written}) for written in (exact, printed)]
            return [exact, *(structured(one)["evidence"][0]["document_id"] for one in again)]

        assert talk(server, asked) == [key(doc_id, 0)] * 3


@pytest.mark.requirement("API-3")
@pytest.mark.parametrize("mode", MODES)
def test_progress_is_told_to_who_asks_for_it(server: Server[Any], mode: Mode) -> None:
    told: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    talk(server, lambda client: client.call_tool("search", {"query": "etcd"}, progress_callback=note), mode)
    assert told == [(1.0, 2.0, "searching"), (2.0, 2.0, "done")]


@pytest.mark.requirement("SAFE-3")
def test_a_store_that_demands_a_scope_gives_nothing_without_one() -> None:
    with filled(*DOCUMENTS, settings=Settings.of({"store.require-scope": True})) as knowledge:
        with served(knowledge) as server:
            refused = [call(server, name, GOOD[name]) for name in NAMES]
        with served(knowledge) as server:
            assert structured(call(server, "lookup_knowledge", {"query": "etcd", "scope": ["red"]}))["status"] == "ok"

            async def listed(client: Client) -> int:
                with pytest.raises(MCPError, match="this store answers within a scope only") as denied:
                    await client.list_resources()
                return denied.value.error.code

            assert talk(server, listed) == INVALID_REQUEST
    assert all("this store answers within a scope only" in texts(one)[0] for one in refused)
