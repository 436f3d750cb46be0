"""Resources, completions and the prompt of the MCP server, through the SDK's client in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from mcp import Client
from mcp.server import Server
from mcp.shared.exceptions import MCPError
from mcp_room import DOCUMENTS, MODES, Mode, filled, served, talk
from mcp_types import (
    INVALID_PARAMS,
    GetPromptResult,
    PromptReference,
    ReadResourceResult,
    ResourceTemplateReference,
    TextContent,
    TextResourceContents,
)

from citewell import Document, Knowledge
from citewell.identity import format_key as key
from citewell.server.mcp import resources
from citewell.server.mcp.uris import document_uri, evidence_uri

NASTY = ["../up.md", "/etc/passwd", "漢字 é?&.md", "a%2Fb.md", "x#chunk-1.md", "q'uo\"te]<b>.md", "\u202eright.md"]


@pytest.fixture
def server() -> Iterator[Server[Any]]:
    with filled() as knowledge, served(knowledge) as built:
        yield built


def text_of(read: ReadResourceResult) -> str:
    (contents,) = read.contents
    assert isinstance(contents, TextResourceContents)
    return contents.text


@pytest.mark.requirement("API-3", "SAFE-2")
@pytest.mark.parametrize("mode", MODES)
def test_every_listed_document_and_each_of_its_chunks_can_be_read_whatever_it_is_called(mode: Mode) -> None:
    documents = [Document(name, f"Wheel {place} turns.") for place, name in enumerate(NASTY)]
    with filled(*documents) as knowledge, served(knowledge) as server:

        async def read(client: Client) -> dict[str, tuple[str, str]]:
            listed = (await client.list_resources()).resources
            assert {one.uri for one in listed} == {document_uri(name) for name in NASTY}
            chunk = {name: await client.read_resource(evidence_uri(key(name, 0))) for name in NASTY}
            whole = {name: await client.read_resource(document_uri(name)) for name in NASTY}
            return {name: (text_of(chunk[name]), text_of(whole[name])) for name in NASTY}

        found = talk(server, read, mode)
    for place, name in enumerate(NASTY):
        assert all(f"Wheel {place} turns." in text for text in found[name])
        assert all("<<evidence " in text and "\u202e" not in text for text in found[name])


@pytest.mark.requirement("API-3")
def test_a_document_is_read_passage_by_passage_in_order_each_under_its_own_id(server: Server[Any]) -> None:
    text = text_of(talk(server, lambda client: client.read_resource(document_uri("steps.md"))))
    places = [text.index(f"[{key('steps.md', index)}]") for index in range(3)]
    assert places == sorted(places)


@pytest.mark.requirement("API-3")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("uri", "says"),
    [
        ("citewell://evidence/no.md%23chunk-0", "there is no evidence 'no.md#chunk-0'"),
        ("citewell://evidence/no.md", "'no.md' is no evidence key"),
        ("citewell://document/no.md", "there is no document 'no.md'"),
        ("citewell://document/%20", "there is no document ' '"),
        ("file:///etc/passwd", "'file:///etc/passwd' names nothing here. URIs are citewell://evidence/KEY"),
    ],
)
def test_what_there_is_not_is_an_error_that_names_it(server: Server[Any], mode: Mode, uri: str, says: str) -> None:
    async def read(client: Client) -> Any:  # noqa: ANN401 - error data
        with pytest.raises(MCPError) as refused:
            await client.read_resource(uri)
        return refused.value.error

    error = talk(server, read, mode)
    assert error.code == INVALID_PARAMS
    assert says in error.message
    assert error.data["uri"] == uri


def test_a_list_of_resources_is_one_page_of_bounded_length(
    server: Server[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resources, "MAX_LISTED", 2)

    async def listed(client: Client) -> list[str]:
        page = await client.list_resources()
        assert page.next_cursor is None
        with pytest.raises(MCPError, match="there is no page 'x'"):
            await client.list_resources(cursor="x")
        return [one.name for one in page.resources]

    assert talk(server, listed) == ["ops/etcd.md", "pay.md"]


@pytest.mark.requirement("API-3")
@pytest.mark.parametrize(
    ("template", "argument", "begun", "values"),
    [
        ("citewell://document/{id}", "id", "", ["ops/etcd.md", "pay.md", "steps.md"]),
        ("citewell://document/{id}", "id", "p", ["pay.md"]),
        ("citewell://evidence/{key}", "key", "ops", ["ops/etcd.md#chunk-0"]),
        ("citewell://evidence/{key}", "key", "steps.md#chunk-1", ["steps.md#chunk-1"]),
        ("citewell://evidence/{key}", "key", "zzz", []),
    ],
)
def test_ids_are_completed(server: Server[Any], template: str, argument: str, begun: str, values: list[str]) -> None:
    reference = ResourceTemplateReference(uri=template)
    found = talk(server, lambda client: client.complete(reference, {"name": argument, "value": begun}))
    assert found.completion.values == values
    assert found.completion.has_more is False


def test_completions_are_bounded_and_say_that_there_are_more() -> None:
    documents = [Document(f"{number:03}.md", "Text.") for number in range(101)]
    with filled(*documents) as knowledge, served(knowledge) as server:
        reference = ResourceTemplateReference(uri="citewell://document/{id}")
        found = talk(server, lambda client: client.complete(reference, {"name": "id", "value": ""}))
    assert (len(found.completion.values), found.completion.has_more) == (100, True)


def test_an_argument_that_no_template_has_is_refused(server: Server[Any]) -> None:
    async def asked(client: Client) -> str:
        reference = ResourceTemplateReference(uri="citewell://evidence/{key}")
        with pytest.raises(MCPError) as refused:
            await client.complete(reference, {"name": "id", "value": ""})
        return refused.value.error.message

    assert "'citewell://evidence/{key}' has no argument 'id'" in talk(server, asked)


@pytest.mark.requirement("API-3")
@pytest.mark.parametrize("mode", MODES)
def test_the_prompt_puts_the_question_behind_what_teaches_to_cite_and_to_check(server: Server[Any], mode: Mode) -> None:
    async def got(client: Client) -> tuple[Any, GetPromptResult]:
        (listed,) = (await client.list_prompts()).prompts
        return listed, await client.get_prompt(listed.name, {"question": "Why {is} etcd slow?"})

    listed, prompt = talk(server, got, mode)
    assert (listed.name, [argument.name for argument in listed.arguments]) == ("answer_with_citations", ["question"])
    (message,) = prompt.messages
    assert isinstance(message.content, TextContent)
    assert message.content.text.endswith("The question:\nWhy {is} etcd slow?")
    assert all(name in message.content.text for name in ("lookup_knowledge", "read_evidence", "check_citations"))


@pytest.mark.requirement("API-8")
@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("answer_with_citations", {"question": "x", "style": "long"}, "unknown argument 'style'"),
        ("answer_with_citations", {}, "the argument 'question' is missing"),
        ("answer_with_citations", {"question": " "}, "the argument 'question' is missing"),
        ("other", {}, "there is no prompt 'other'"),
    ],
)
def test_a_prompt_refuses_what_it_does_not_know(
    server: Server[Any], name: str, arguments: dict[str, str], says: str
) -> None:
    async def got(client: Client) -> str:
        with pytest.raises(MCPError) as refused:
            await client.get_prompt(name, arguments)
        return refused.value.error.message

    assert says in talk(server, got)


def test_a_question_of_the_prompt_has_no_completions(server: Server[Any]) -> None:
    reference = PromptReference(name="answer_with_citations")
    found = talk(server, lambda client: client.complete(reference, {"name": "question", "value": "w"}))
    assert found.completion.values == []


@pytest.mark.requirement("CONTEXT-2")
def test_the_whole_of_the_demo_documents_is_what_a_store_holds_of_them() -> None:
    with filled(*DOCUMENTS) as knowledge:
        assert isinstance(knowledge, Knowledge)
        chunks = {info.doc_id: info.chunks for info in knowledge.documents()}
        read = {doc_id: len(knowledge.read_document(doc_id).evidence) for doc_id in chunks}
    assert read == chunks
