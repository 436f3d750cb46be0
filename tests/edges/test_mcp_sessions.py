"""What MCP shows is what is recorded: sessions by name, by connection, and in no other's hands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from mcp import Client
from mcp.server import Server
from mcp_room import DOCUMENTS, MODES, Mode, call, filled, served, structured, talk, texts

from citewell import Knowledge, Settings
from citewell.identity import format_key as key
from citewell.server.callers import Caller

ETCD, PAY, STEP = key("ops/etcd.md", 0), key("pay.md", 0), key("steps.md", 0)
ALL = [ETCD, PAY, STEP, "no.md#chunk-0"]


@pytest.fixture
def knowledge() -> Iterator[Knowledge]:
    with filled() as opened:
        yield opened


@pytest.fixture
def server(knowledge: Knowledge) -> Iterator[Server[Any]]:
    with served(knowledge) as built:
        yield built


async def verdicts(client: Client, **further: object) -> dict[str, str]:
    report = structured(await client.call_tool("check_citations", {"ids": ALL, **further}))
    return {citation["raw"]: citation["verdict"] for citation in report["citations"]}


@pytest.mark.requirement("GUARD-1", "API-3")
@pytest.mark.parametrize("mode", MODES)
def test_a_connection_remembers_what_it_was_shown_and_another_one_does_not(server: Server[Any], mode: Mode) -> None:
    async def shown(client: Client) -> dict[str, str]:
        await client.call_tool("lookup_knowledge", {"query": "check the disk of etcd", "return_n": 1})
        return await verdicts(client)

    assert talk(server, shown, mode) == {
        ETCD: "shown",
        PAY: "not_shown",
        STEP: "not_shown",
        "no.md#chunk-0": "unknown",
    }
    assert set(talk(server, verdicts, mode).values()) == {"not_shown", "unknown"}


@pytest.mark.requirement("GUARD-1")
def test_only_what_the_texts_show_is_recorded_not_all_that_was_found(knowledge: Knowledge) -> None:
    narrow = Settings.of({"projection.max-items": 1})
    with filled(*DOCUMENTS, settings=narrow) as opened, served(opened) as server:

        async def shown(client: Client) -> dict[str, str]:
            result = await client.call_tool("lookup_knowledge", {"query": "check the disk of etcd", "return_n": 3})
            assert structured(result)["omitted_count"] >= 1
            assert len(texts(result)) == 2
            return await verdicts(client)

        assert [name for name, verdict in talk(server, shown).items() if verdict == "shown"] == [ETCD]


@pytest.mark.requirement("GUARD-1")
@pytest.mark.parametrize(
    ("tool", "arguments", "shown"),
    [
        ("read_evidence", {"id": STEP}, {STEP}),
        ("fetch", {"id": PAY}, {PAY}),
        ("search", {"query": "etcd"}, set()),  # titles alone
        ("citewell://evidence/pay.md%23chunk-0", None, {PAY}),
        ("citewell://document/ops%2Fetcd.md", None, {ETCD}),
    ],
)
def test_reading_and_fetching_count_as_showing_and_a_list_of_titles_does_not(
    server: Server[Any], tool: str, arguments: dict[str, Any] | None, shown: set[str]
) -> None:
    async def asked(client: Client) -> dict[str, str]:
        if arguments is None:
            await client.read_resource(tool)
        else:
            structured(await client.call_tool(tool, arguments))
        return await verdicts(client)

    assert {name for name, verdict in talk(server, asked).items() if verdict == "shown"} == shown


@pytest.mark.requirement("SESSION-1")
def test_a_named_session_is_shown_a_text_once_and_a_call_that_names_none_sees_everything(server: Server[Any]) -> None:
    async def asked(client: Client, **further: object) -> list[str]:
        arguments = {"query": "check the disk of etcd", "return_n": 1, **further}
        items = structured(await client.call_tool("lookup_knowledge", arguments))["evidence"]
        return ["again" if item.get("already_shown") else "text" for item in items]

    async def scene(client: Client) -> list[list[str]]:
        return [
            await asked(client, session="mine"),
            await asked(client, session="mine"),
            await asked(client, session="mine", repeat=True),
            await asked(client, session="other"),
            await asked(client),
            await asked(client),
        ]

    assert talk(server, scene) == [["text"], ["again"], ["text"], ["text"], ["text"], ["text"]]


@pytest.mark.requirement("SESSION-2", "GUARD-1")
def test_a_session_by_name_goes_on_in_another_connection_and_in_the_library(
    server: Server[Any], knowledge: Knowledge
) -> None:
    call(server, "read_evidence", {"id": PAY, "session": "mine"})
    assert talk(server, lambda client: verdicts(client, session="mine"))[PAY] == "shown"
    assert knowledge.check([PAY], session="mine").ok


@pytest.mark.requirement("SESSION-2")
def test_callers_with_tokens_share_no_session_though_name_and_scope_be_equal(knowledge: Knowledge) -> None:
    def seen_by(name: str, tool: str, arguments: dict[str, Any]) -> Any:  # noqa: ANN401 - whatever JSON holds
        caller = Caller(name, ("red",), ingest=False, bound=True, apart=True)
        with served(knowledge, caller) as server:
            return structured(call(server, tool, {**arguments, "session": "mine"}))

    first = seen_by("ann", "lookup_knowledge", {"query": "etcd"})
    assert first["session"] == "mine"
    checked = {name: seen_by(name, "check_citations", {"ids": [ETCD]})["ok"] for name in ("ann", "bob", "ann/x")}
    assert checked == {"ann": True, "bob": False, "ann/x": False}


@pytest.mark.requirement("GUARD-1", "GUARD-5", "API-3")
def test_a_checked_answer_comes_back_with_its_verdicts_in_words_and_without_its_bad_citations(
    server: Server[Any],
) -> None:
    answer = f'It says "Check the disk first." [{ETCD}], and more [{PAY}].'

    async def asked(client: Client) -> Any:  # noqa: ANN401 - a result
        await client.call_tool("read_evidence", {"id": ETCD})
        return await client.call_tool("check_citations", {"answer": answer})

    result = talk(server, asked)
    report, (words, cleaned) = structured(result), texts(result)
    assert report["ok"] is False
    assert words.splitlines()[:3] == [
        "rejected: 2 citations, 1 shown",
        f"[{ETCD}] shown; its quote: exact",
        f"[{PAY}] not_shown: it exists, but was not shown here",
    ]
    assert report["disclaimer"] in words
    assert report["cleaned"] in cleaned
    assert PAY not in cleaned
