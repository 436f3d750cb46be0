"""Citewell in Haystack: identity, similarity, filters, joiners, pipelines on file, secrets and agents (API-6)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from frameworks_room import DNS, ETCD, SETTINGS, SMALL, TWIN, keys_of
from haystack import Document, Pipeline
from haystack.components.agents import Agent
from haystack.components.generators.chat import MockChatGenerator
from haystack.components.joiners import DocumentJoiner
from haystack.dataclasses import ChatMessage, ToolCall
from haystack.utils import Secret

from citewell import Knowledge
from citewell.config import EmbedderSettings
from citewell.errors import ConfigError, InvalidRequest, StoreUnreachable
from citewell.integrations.haystack import CitewellRetriever, lookup_knowledge_tool, to_documents
from citewell.testing.fakes import HashEmbedder
from citewell.tool import DESCRIPTION, LOOKUP_ARGUMENTS

QUESTION = "etcd slow disk"
IS_A = {"field": "meta.team", "operator": "==", "value": "a"}
IS_B = {"field": "team", "operator": "==", "value": "b"}
HYBRID = {"retrieval.search.mode": "hybrid", "rag.hints": False}


def ids(found: dict[str, Any]) -> list[str]:
    return [document.id for document in found["documents"]]


@pytest.fixture
def location(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store on disk, whose embedder opens without a model."""
    monkeypatch.setattr("citewell.app.knowledge.open_embedder", lambda *_: HashEmbedder())
    with Knowledge.open(tmp_path / "kb", settings=SETTINGS) as knowledge:
        knowledge.ingest_documents(SMALL)
    return str(tmp_path / "kb")


@pytest.mark.requirement("API-6")
def test_a_hundred_questions_give_the_librarys_keys_in_its_order(runbooks: Knowledge, questions: list[str]) -> None:
    retriever = CitewellRetriever(runbooks, top_k=8)
    assert [ids(retriever.run(each)) for each in questions] == [
        keys_of(runbooks, each, return_n=8) for each in questions
    ]


@pytest.mark.requirement("API-6")
async def test_asynchronously_they_are_the_same(runbooks: Knowledge, questions: list[str]) -> None:
    found = await asyncio.gather(*[CitewellRetriever(runbooks).run_async(each) for each in questions[:20]])
    assert [ids(each) for each in found] == [keys_of(runbooks, each) for each in questions[:20]]


@pytest.mark.requirement("API-6", "SCORE-1")
def test_a_document_carries_identity_similarity_and_reasons_as_json(kb: Knowledge) -> None:
    (first,) = CitewellRetriever(kb, filters=IS_A).run(QUESTION)["documents"]
    (block,) = kb.lookup(QUESTION, where={"team": "a"}).evidence
    meta = json.loads(json.dumps(first.meta, allow_nan=False))
    assert (first.id, first.content) == (ETCD, block.text)
    assert first.score == block.similarity != block.fused_score
    assert {name: meta[name] for name in ("evidence_key", "doc_id", "chunk_index", "source", "breadcrumb")} == {
        "evidence_key": ETCD, "doc_id": "etcd.md", "chunk_index": 0, "source": "etcd.md", "breadcrumb": "Disk",
    }  # fmt: skip
    assert meta["reasons"] == [reason.to_dict() for reason in block.reasons]
    assert (meta["locator"], meta["team"]) == ({"line": 1}, "a")
    assert Document.from_dict(first.to_dict()) == first


def test_documents_of_a_lookup_of_ones_own_are_the_same(kb: Knowledge) -> None:
    assert to_documents(kb.lookup(QUESTION)) == CitewellRetriever(kb).run(QUESTION)["documents"]


@pytest.mark.requirement("SAFE-3", "PROJ-6")
def test_filters_and_scope_are_hard_and_nothing_found_has_its_status(kb: Knowledge) -> None:
    both = {"operator": "AND", "conditions": [IS_A, {"field": "meta.n", "operator": "==", "value": 1}]}
    assert ids(CitewellRetriever(kb, filters=both).run("slow")) == [ETCD]
    assert ids(CitewellRetriever(kb).run("slow", scope=["net"], top_k=1)) == [DNS]
    nothing = CitewellRetriever(kb, options={"scope": ["other"]}).run("slow")
    assert nothing == {"documents": [], "status": "no_match", "degraded": []}


def test_filters_of_a_run_replace_those_of_the_component_or_are_merged_with_them(kb: Knowledge) -> None:
    assert ids(CitewellRetriever(kb, filters=IS_A).run("slow", filters=IS_B)) == [TWIN]
    by_number = {"field": "meta.n", "operator": "==", "value": 1}
    assert ids(CitewellRetriever(kb, filters=IS_A, filter_policy="merge").run("slow", filters=by_number)) == [ETCD]
    assert ids(CitewellRetriever(kb, filters=IS_B, filter_policy="merge").run("slow", filters=by_number)) == []
    assert ids(CitewellRetriever(kb, options={"where": {"n": 1}}).run("slow", filters=IS_A)) == [ETCD]


@pytest.mark.parametrize(
    ("filters", "named"),
    [
        ({"field": "meta.n", "operator": ">", "value": 1}, "'n' with the operator '>'"),
        ({"operator": "OR", "conditions": [IS_A, IS_B]}, "'OR'"),
        ({"operator": "NOT", "conditions": [IS_A]}, "'NOT'"),
        ({"operator": "AND", "conditions": [IS_A, IS_B]}, "both 'a' and 'b'"),
        ({"team": "a"}, "a condition of team"),
        ({"field": "meta.similarity", "operator": "==", "value": 1.0}, "'similarity'"),
    ],
)
def test_a_filter_that_no_lookup_can_keep_is_refused_and_never_dropped(
    kb: Knowledge, filters: dict[str, Any], named: str
) -> None:
    with pytest.raises(InvalidRequest, match=named):
        CitewellRetriever(kb, filters=filters)
    with pytest.raises(InvalidRequest, match=named):
        CitewellRetriever(kb).run("slow", filters=filters)


@pytest.mark.requirement("API-8")
def test_an_unknown_option_is_refused_by_name(kb: Knowledge) -> None:
    with pytest.raises(InvalidRequest, match="'topk'"):
        CitewellRetriever(kb, options={"topk": 3})


@pytest.mark.requirement("API-6")
@pytest.mark.parametrize("mode", ["concatenate", "merge", "reciprocal_rank_fusion", "distribution_based_rank_fusion"])
def test_a_joiner_keeps_twins_apart_and_takes_one_chunk_of_two_members_for_one(kb: Knowledge, mode: str) -> None:
    pipeline = Pipeline()
    pipeline.add_component("citewell", CitewellRetriever(kb))
    pipeline.add_component("dense", CitewellRetriever(kb, options={"mode": "dense"}))
    pipeline.add_component("joiner", DocumentJoiner(join_mode=mode))
    pipeline.connect("citewell.documents", "joiner.documents")
    pipeline.connect("dense.documents", "joiner.documents")
    asked = {"query": QUESTION}
    found = pipeline.run({"citewell": asked, "dense": asked})["joiner"]["documents"]
    assert sorted(document.id for document in found) == sorted([ETCD, TWIN, DNS])
    assert {document.meta["evidence_key"] for document in found} == {ETCD, TWIN, DNS}


@pytest.mark.requirement("API-6")
def test_a_pipeline_comes_back_from_its_file_opens_the_store_and_closes_it(location: str) -> None:
    pipeline = Pipeline()
    made = CitewellRetriever(
        location=location, settings=HYBRID, top_k=1, filters=IS_A, filter_policy="merge", options={"scope": None}
    )
    pipeline.add_component("citewell", made)
    read = Pipeline.loads(pipeline.dumps(), allowed_modules=["citewell.*"])
    assert read.to_dict() == pipeline.to_dict()
    assert ids(read.run({"citewell": {"query": "slow"}})["citewell"]) == [ETCD]
    read.close()
    assert ids(read.run({"citewell": {"query": "slow"}})["citewell"]) == [ETCD]  # opens again
    read.close()


@pytest.mark.requirement("API-6")
def test_of_secrets_the_file_has_the_names_of_variables_alone(location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBEDDER_KEY", "hunter2")
    seen: list[str | None] = []

    def opened(settings: EmbedderSettings, _: object) -> HashEmbedder:
        seen.append(settings.api_key)
        return HashEmbedder()

    monkeypatch.setattr("citewell.app.knowledge.open_embedder", opened)
    made = CitewellRetriever(location=location, secrets={"embedder.api-key": Secret.from_env_var("EMBEDDER_KEY")})
    written = json.dumps(made.to_dict())
    assert "hunter2" not in written
    assert "EMBEDDER_KEY" in written
    read = CitewellRetriever.from_dict(json.loads(written))
    assert read.to_dict() == made.to_dict()
    read.warm_up()
    read.close()
    assert seen == ["hunter2"]
    with pytest.raises(ValueError, match="token"):
        CitewellRetriever(location=location, secrets={"store.token": Secret.from_token("hunter2")}).to_dict()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({}, "both or neither"),
        ({"location": "kb", "settings": {"embedder": {"api-key": "hunter2"}}}, "embedder.api-key in `settings`"),
        ({"location": "kb", "settings": {"rag.return": 3}}, "rag.return"),
        ({"location": "kb", "secrets": {"rag.return-n": Secret.from_env_var("X")}}, "rag.return-n is no secret"),
        ({"location": "http://root:hunter2@127.0.0.1:19530"}, "password"),
    ],
)
def test_what_must_not_be_written_down_or_is_unknown_is_refused(arguments: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError, match=named) as refused:
        CitewellRetriever(**arguments)
    assert "hunter2" not in str(refused.value)


@pytest.mark.requirement("API-6")
def test_an_open_knowledge_stays_open_and_is_not_written_to_a_file(kb: Knowledge) -> None:
    retriever = CitewellRetriever(kb)
    retriever.warm_up()
    retriever.close()
    assert kb.lookup(QUESTION).evidence
    with pytest.raises(ConfigError, match="open Knowledge"):
        retriever.to_dict()
    with pytest.raises(ConfigError, match="settings already"):
        CitewellRetriever(kb, settings=HYBRID)


def test_no_store_is_made_where_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(StoreUnreachable):
        CitewellRetriever(location=str(tmp_path / "nothing")).warm_up()
    assert not (tmp_path / "nothing").exists()


@pytest.mark.requirement("API-6", "PROJ-7")
async def test_an_agent_calls_the_tool_reads_text_and_is_told_of_its_mistakes(kb: Knowledge) -> None:
    tool = lookup_knowledge_tool(kb, session="s", where={"team": "a"})
    assert (tool.description, set(tool.parameters["properties"])) == (
        DESCRIPTION,
        set(LOOKUP_ARGUMENTS["properties"]) - {"session", "where"},
    )
    asks = [
        ChatMessage.from_assistant(tool_calls=[ToolCall("lookup_knowledge", arguments)])
        for arguments in ({"query": QUESTION, "session": "t"}, {"query": QUESTION})
    ]
    for run in (False, True):
        answer = ChatMessage.from_assistant(f"The disk is slow [{ETCD}].")
        agent = Agent(
            chat_generator=MockChatGenerator(responses=[*asks, answer]),
            tools=[tool],
            raise_on_tool_invocation_failure=False,
        )
        messages = [ChatMessage.from_user("Why?")]
        said = (await agent.run_async(messages) if run else agent.run(messages))["messages"]
        told = [message.tool_call_result for message in said if message.tool_call_result]
        assert [result.error for result in told] == [True, False]
        assert "unknown argument 'session'" in told[0].result
        assert f"[{ETCD}]" in told[1].result
        assert kb.check(said[-1].text, session="s").ok
