"""The one definition of lookup_knowledge: what each vendor is given, and what a model's call does (API-6, API-8)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import pytest

from citewell import Document, Knowledge, Settings
from citewell.app.options import LookupOptions
from citewell.errors import InvalidRequest
from citewell.server.mcp.tools import TOOLS
from citewell.testing.fakes import HashEmbedder
from citewell.tool import DESCRIPTION, LOOKUP_ARGUMENTS, LookupTool, arguments, tool_schema


@pytest.fixture
def kb() -> Iterator[Knowledge]:
    with Knowledge.open("memory:", embedder=HashEmbedder(), settings=Settings.of({"rag.hints": False})) as knowledge:
        knowledge.ingest_documents(
            [
                Document("etcd.md", "etcd is slow when its disk is slow.", scope="ops"),
                Document("pay.md", "etcd holds no card numbers.", scope="pay"),
            ]
        )
        yield knowledge


def ids(seen: dict[str, Any]) -> list[str]:
    return [item["document_id"] for item in seen["evidence"]]


@pytest.mark.requirement("API-6")
def test_each_vendor_is_given_the_one_definition_in_its_own_shape() -> None:
    completions, responses, messages = (tool_schema(each) for each in ("openai", "openai-responses", "anthropic"))
    described = {name: responses[name] for name in ("name", "description", "parameters")}
    assert completions == {"type": "function", "function": described}
    assert responses["strict"] is False
    assert messages == {
        "name": "lookup_knowledge",
        "description": DESCRIPTION,
        "input_schema": responses["parameters"],
    }
    assert responses["parameters"] == LOOKUP_ARGUMENTS


@pytest.mark.requirement("API-6")
def test_mcp_offers_the_same_definition() -> None:
    (tool,) = (tool for tool in TOOLS if tool.name == "lookup_knowledge")
    assert (tool.description, tool.takes) == (DESCRIPTION, LOOKUP_ARGUMENTS)


@pytest.mark.requirement("API-6")
def test_the_definition_has_every_argument_of_a_lookup_and_no_other() -> None:
    assert set(LOOKUP_ARGUMENTS["properties"]) == {"query", *LookupOptions.__annotations__}


def test_changing_a_schema_that_was_handed_out_changes_no_other() -> None:
    tool_schema("anthropic")["input_schema"]["properties"]["mode"]["enum"].append("magic")
    assert arguments()["properties"]["mode"]["enum"] == ["dense", "hybrid"]


def test_arguments_that_the_program_decides_are_not_in_the_schema() -> None:
    names = set(tool_schema("openai", without=("scope", "session"))["function"]["parameters"]["properties"])
    assert names == set(LOOKUP_ARGUMENTS["properties"]) - {"scope", "session"}


@pytest.mark.parametrize("without", [("scope", "session"), ["scope", "session"], {"scope", "session"}])
def test_they_may_be_named_in_any_collection(without: Collection[str]) -> None:
    assert arguments(without=without) == arguments(without=("session", "scope"))


@pytest.mark.parametrize("without", [("scop",), ("query",), {"scop"}, "scope"])
def test_leaving_out_what_is_no_argument_or_the_query_is_refused(without: Collection[str]) -> None:
    with pytest.raises(InvalidRequest, match=r"scop|query"):
        tool_schema("openai", without=without)


@pytest.mark.parametrize("vendor", ["gemini", "OpenAI", 3, None])
def test_an_unknown_vendor_is_refused_by_name(vendor: object) -> None:
    with pytest.raises(InvalidRequest, match=repr(vendor)):
        tool_schema(vendor)  # type: ignore[arg-type]  # that is what is tested


@pytest.mark.requirement("API-8")
def test_an_unknown_argument_is_refused_by_name(kb: Knowledge) -> None:
    with pytest.raises(InvalidRequest, match=r"'top_k'.*return_n"):
        LookupTool(kb)({"query": "etcd", "top_k": 3})


@pytest.mark.parametrize(
    ("given", "said"), [({}, "missing"), ({"query": None}, "missing"), ({"query": 3}, "query can't be 3")]
)
def test_a_call_without_a_query_is_refused(kb: Knowledge, given: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidRequest, match=said):
        LookupTool(kb)(given)


def test_a_null_counts_as_not_given_and_what_is_shown_is_recorded_for_the_guard(kb: Knowledge) -> None:
    seen = LookupTool(kb, {"session": "s"})({"query": "etcd slow disk", "category": None, "return_n": 1})
    assert ids(seen) == ["etcd.md#chunk-0"]
    assert kb.check("Slow [etcd.md#chunk-0].", session="s").ok


@pytest.mark.requirement("SAFE-3")
def test_a_model_can_neither_widen_nor_change_the_scope_that_the_program_fixed(kb: Knowledge) -> None:
    tool = LookupTool(kb, {"scope": "ops"})
    assert ids(tool({"query": "etcd"})) == ["etcd.md#chunk-0"]
    with pytest.raises(InvalidRequest, match="'scope'"):
        tool({"query": "etcd", "scope": ["pay"]})


def test_fixing_what_is_no_argument_is_refused_before_a_model_calls(kb: Knowledge) -> None:
    with pytest.raises(InvalidRequest, match="'sope'"):
        LookupTool(kb, {"sope": "ops"})
