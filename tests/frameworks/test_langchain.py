"""Citewell in LangChain: identity, similarity, filters, sessions, ensembles, errors and a tool call (API-6)."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from frameworks_room import DNS, ETCD, TWIN, keys_of
from langchain_classic.retrievers import EnsembleRetriever
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.messages import ToolMessage
from langchain_core.retrievers import BaseRetriever
from pydantic import ValidationError

from citewell import Knowledge
from citewell.errors import InvalidRequest
from citewell.integrations.langchain import CitewellRetriever, lookup_knowledge_tool, to_documents

QUESTION = "etcd slow disk"


def ids(documents: list[Document]) -> list[str | None]:
    return [document.id for document in documents]


@pytest.mark.requirement("API-6")
def test_a_hundred_questions_give_the_librarys_keys_in_its_order(runbooks: Knowledge, questions: list[str]) -> None:
    retriever = CitewellRetriever(knowledge=runbooks, k=8)
    assert [ids(retriever.invoke(each)) for each in questions] == [
        keys_of(runbooks, each, return_n=8) for each in questions
    ]


@pytest.mark.requirement("API-6")
async def test_asynchronously_they_are_the_same(runbooks: Knowledge, questions: list[str]) -> None:
    found = await asyncio.gather(*[CitewellRetriever(knowledge=runbooks).ainvoke(each) for each in questions[:20]])
    assert [ids(each) for each in found] == [keys_of(runbooks, each) for each in questions[:20]]


@pytest.mark.requirement("API-6", "SCORE-1")
def test_a_document_carries_identity_similarity_and_reasons_as_json(kb: Knowledge) -> None:
    (first, *_) = CitewellRetriever(knowledge=kb, where={"team": "a"}).invoke(QUESTION)
    (block,) = kb.lookup(QUESTION, where={"team": "a"}).evidence
    metadata = json.loads(json.dumps(first.metadata, allow_nan=False))
    assert (first.id, first.page_content) == (ETCD, block.text)
    assert {name: metadata[name] for name in ("evidence_key", "doc_id", "chunk_index", "source", "breadcrumb")} == {
        "evidence_key": ETCD, "doc_id": "etcd.md", "chunk_index": 0, "source": "etcd.md", "breadcrumb": "Disk",
    }  # fmt: skip
    assert metadata["similarity"] == block.similarity != block.fused_score == metadata["fused_score"]
    assert metadata["reasons"] == [reason.to_dict() for reason in block.reasons]
    assert (metadata["locator"], metadata["team"], metadata["n"]) == ({"line": 1}, "a", 1)


def test_documents_of_a_lookup_of_ones_own_are_the_same(kb: Knowledge) -> None:
    assert to_documents(kb.lookup(QUESTION)) == CitewellRetriever(knowledge=kb).invoke(QUESTION)


@pytest.mark.requirement("SAFE-3")
def test_where_and_scope_are_hard_and_a_call_may_set_them_again(kb: Knowledge) -> None:
    retriever = CitewellRetriever(knowledge=kb, where={"team": "b"})
    assert ids(retriever.invoke("slow")) == [TWIN]
    assert ids(retriever.invoke("slow", where={"team": "a"})) == [ETCD]
    assert ids(CitewellRetriever(knowledge=kb, scope="net").invoke("slow")) == [DNS]
    assert ids(CitewellRetriever(knowledge=kb, scope={"net"}).invoke("slow")) == [DNS]
    assert CitewellRetriever(knowledge=kb, scope=[]).invoke("slow") == []
    assert ids(CitewellRetriever(knowledge=kb, scope="net").invoke("slow", scope=None, where=None)) == [DNS]


def test_every_setting_of_a_lookup_is_a_field(kb: Knowledge) -> None:
    retriever = CitewellRetriever(knowledge=kb, mode="dense", min_similarity=0.99, max_chunks_per_document=1)
    assert retriever.invoke(QUESTION) == []
    (found,) = retriever.invoke(QUESTION, min_similarity="off", category="network")
    assert (found.id, [reason["path"] for reason in found.metadata["reasons"]]) == (DNS, ["dense"])
    assert len(retriever.invoke(QUESTION, min_similarity="off", retrieve_k=2, k=2)) == 2
    assert {each.metadata["role"] for each in CitewellRetriever(knowledge=kb, neighbours=1).invoke("slow")} == {"hit"}


@pytest.mark.requirement("API-8")
def test_an_unknown_setting_is_refused_by_name(kb: Knowledge) -> None:
    with pytest.raises(ValidationError, match="top_k"):
        CitewellRetriever(knowledge=kb, top_k=3)  # type: ignore[call-arg,unused-ignore]  # what is tested
    with pytest.raises(InvalidRequest, match="'top_k'"):
        CitewellRetriever(knowledge=kb).invoke("slow", top_k=3)
    with pytest.raises(InvalidRequest, match="return_n can't be 0"):
        CitewellRetriever(knowledge=kb).invoke("slow", k=0)


@pytest.mark.requirement("GUARD-1", "SESSION-1")
def test_a_session_remembers_what_was_handed_out_and_it_is_handed_out_again(kb: Knowledge) -> None:
    retriever = CitewellRetriever(knowledge=kb, session="s", where={"team": "a"})
    first, again = retriever.invoke(QUESTION), retriever.invoke(QUESTION)
    assert first == again
    assert kb.check(f"Slow [{ETCD}], not [{DNS}].", session="s").citations[0].verdict == "shown"
    (reference,) = retriever.invoke(QUESTION, repeat=False)
    assert (reference.id, reference.page_content, reference.metadata["already_shown"]) == (ETCD, "", True)


class _Fixed(BaseRetriever):
    documents: list[Document]

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return self.documents


@pytest.mark.requirement("API-6")
def test_an_ensemble_keeps_twins_apart_and_adds_the_votes_for_one_chunk(kb: Knowledge) -> None:
    other = _Fixed(documents=[Document(page_content="Restart.", metadata={"evidence_key": DNS})])
    ensemble = EnsembleRetriever(
        retrievers=[CitewellRetriever(knowledge=kb), other], weights=[0.5, 0.5], id_key="evidence_key"
    )
    found = ensemble.invoke(QUESTION)
    assert sorted(each.metadata["evidence_key"] for each in found) == sorted([DNS, ETCD, TWIN])
    assert found[0].metadata["evidence_key"] == DNS  # both members voted for it
    assert {each.id for each in found} == {DNS, ETCD, TWIN}


@pytest.mark.requirement("API-6", "PROJ-7")
def test_the_tool_gives_the_model_text_and_the_program_the_projection(kb: Knowledge) -> None:
    tool = lookup_knowledge_tool(kb, session="s", where={"team": "a"})
    call = {"name": tool.name, "args": {"query": QUESTION}, "id": "1", "type": "tool_call"}
    message = tool.invoke(call)
    assert isinstance(message, ToolMessage)
    assert f"[{ETCD}]" in str(message.content)
    assert "<<evidence" in str(message.content)
    assert [item["document_id"] for item in message.artifact["evidence"]] == [ETCD]
    assert kb.check(f"Slow [{ETCD}].", session="s").ok


@pytest.mark.requirement("API-6", "API-8")
async def test_what_the_tool_refuses_is_an_error_that_the_model_can_read(kb: Knowledge) -> None:
    tool = lookup_knowledge_tool(kb, scope="net")
    args: dict[str, Any] = {"query": "slow", "scope": ["other"]}
    call = {"name": tool.name, "args": args, "id": "1", "type": "tool_call"}
    for message in (tool.invoke(call), await tool.ainvoke(call)):
        assert message.status == "error"
        assert "unknown argument 'scope'" in message.content
        assert message.content.endswith("[invalid_request]")
    nothing = tool.invoke({**call, "args": {"query": "slow", "where": {"team": "none"}}})
    assert (nothing.status, nothing.artifact["status"]) == ("success", "no_match")


@pytest.mark.requirement("API-6")
def test_the_tool_can_answer_in_blocks_that_claude_cites(kb: Knowledge) -> None:
    tool = lookup_knowledge_tool(kb, form="search_results", where={"team": "a"})
    message = tool.invoke({"name": tool.name, "args": {"query": QUESTION}, "id": "1", "type": "tool_call"})
    assert [(block["type"], block.get("source")) for block in message.content] == [
        ("text", None),
        ("search_result", ETCD),
    ]
    with pytest.raises(InvalidRequest, match="'xml'"):
        lookup_knowledge_tool(kb, form="xml")  # type: ignore[arg-type,unused-ignore]  # what is tested
