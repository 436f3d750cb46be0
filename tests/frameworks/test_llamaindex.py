"""Citewell in LlamaIndex: identity, similarity, filters, the cap, fusion, engines and tools with MockLLM (API-6)."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from frameworks_room import DNS, ETCD, TWIN, keys_of
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import BaseRetriever, QueryFusionRetriever
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle, TextNode
from llama_index.core.storage.docstore.utils import doc_to_json, json_to_doc
from llama_index.core.vector_stores import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters

from citewell import Knowledge
from citewell.errors import InvalidRequest
from citewell.integrations.llamaindex import CitewellRetriever, CitewellToolSpec, DocumentCap, EvidenceNode, to_nodes
from citewell.tool import DESCRIPTION, LOOKUP_ARGUMENTS

QUESTION = "etcd slow disk"


def ids(nodes: list[NodeWithScore]) -> list[str]:
    return [node.node.node_id for node in nodes]


def equal(key: str, value: Any, operator: FilterOperator = FilterOperator.EQ) -> MetadataFilter:  # noqa: ANN401
    return MetadataFilter(key=key, value=value, operator=operator)


class _Fixed(BaseRetriever):
    """Finds what it was given."""

    def __init__(self, *nodes: NodeWithScore) -> None:
        self._nodes = list(nodes)
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._nodes


@pytest.mark.requirement("API-6")
def test_a_hundred_questions_give_the_librarys_keys_in_its_order(runbooks: Knowledge, questions: list[str]) -> None:
    retriever = CitewellRetriever(runbooks, similarity_top_k=8)
    assert [ids(retriever.retrieve(each)) for each in questions] == [
        keys_of(runbooks, each, return_n=8) for each in questions
    ]


@pytest.mark.requirement("API-6")
async def test_asynchronously_they_are_the_same(runbooks: Knowledge, questions: list[str]) -> None:
    found = await asyncio.gather(*[CitewellRetriever(runbooks).aretrieve(each) for each in questions[:20]])
    assert [ids(each) for each in found] == [keys_of(runbooks, each) for each in questions[:20]]


@pytest.mark.requirement("API-6", "SCORE-1")
def test_a_node_carries_identity_similarity_and_reasons_as_json(kb: Knowledge) -> None:
    (first,) = CitewellRetriever(kb, where={"team": "a"}).retrieve(QUESTION)
    (block,) = kb.lookup(QUESTION, where={"team": "a"}).evidence
    metadata = json.loads(json.dumps(first.node.metadata, allow_nan=False))
    assert (first.node.node_id, first.node.get_content(), first.node.ref_doc_id) == (ETCD, block.text, "etcd.md")
    assert first.score == block.similarity != block.fused_score
    assert {name: metadata[name] for name in ("evidence_key", "doc_id", "chunk_index", "source", "breadcrumb")} == {
        "evidence_key": ETCD, "doc_id": "etcd.md", "chunk_index": 0, "source": "etcd.md", "breadcrumb": "Disk",
    }  # fmt: skip
    assert metadata["reasons"] == [reason.to_dict() for reason in block.reasons]
    assert (metadata["locator"], metadata["team"]) == ({"line": 1}, "a")


def test_a_prompt_gets_what_a_citation_needs_and_no_scores(kb: Knowledge) -> None:
    (first,) = CitewellRetriever(kb, where={"team": "a"}).retrieve(QUESTION)
    lines = first.node.get_content(metadata_mode=MetadataMode.LLM).splitlines()
    assert sorted(lines[:3]) == ["breadcrumb: Disk", f"evidence_key: {ETCD}", "title: Etcd"]
    assert first.node.get_content(metadata_mode=MetadataMode.EMBED) == first.node.get_content()


def test_a_node_that_was_stored_and_read_keeps_its_identity(kb: Knowledge) -> None:
    (first,) = CitewellRetriever(kb, where={"team": "a"}).retrieve(QUESTION)
    read = json_to_doc(doc_to_json(first.node))
    assert (read.node_id, read.metadata, read.ref_doc_id) == (ETCD, first.node.metadata, "etcd.md")
    assert read.get_content() == first.node.get_content()


def test_nodes_of_a_lookup_of_ones_own_are_the_same(kb: Knowledge) -> None:
    assert to_nodes(kb.lookup(QUESTION)) == CitewellRetriever(kb).retrieve(QUESTION)


@pytest.mark.requirement("SAFE-3")
def test_filters_and_scope_are_hard(kb: Knowledge) -> None:
    nested = MetadataFilters(filters=[equal("team", "a"), MetadataFilters(filters=[equal("n", 1)])])
    assert ids(CitewellRetriever(kb, filters=nested).retrieve("slow")) == [ETCD]
    assert ids(CitewellRetriever(kb, filters=MetadataFilters(filters=[equal("n", 2)])).retrieve("slow")) == []
    one = MetadataFilters(filters=[equal("team", "b")], condition=FilterCondition.OR)
    assert ids(CitewellRetriever(kb, filters=one).retrieve("slow")) == [TWIN]
    assert ids(CitewellRetriever(kb, scope=["net"]).retrieve("slow")) == [DNS]


@pytest.mark.parametrize(
    ("filters", "named"),
    [
        (MetadataFilters(filters=[equal("n", 1, FilterOperator.GT)]), "'n' with the operator '>'"),
        (MetadataFilters(filters=[equal("n", 1), equal("n", 2)], condition=FilterCondition.OR), "'or'"),
        (MetadataFilters(filters=[equal("n", 1)], condition=FilterCondition.NOT), "'not'"),
        (MetadataFilters(filters=[equal("n", 1), equal("n", 2)]), "both 1 and 2"),
        (MetadataFilters(filters=[equal("doc_id", "etcd.md")]), "'doc_id'"),
    ],
)
def test_a_filter_that_no_lookup_can_keep_is_refused_and_never_dropped(
    kb: Knowledge, filters: MetadataFilters, named: str
) -> None:
    with pytest.raises(InvalidRequest, match=named):
        CitewellRetriever(kb, filters=filters)


@pytest.mark.requirement("API-8")
def test_an_unknown_option_is_refused_by_name(kb: Knowledge) -> None:
    with pytest.raises(InvalidRequest, match="'top_k'"):
        CitewellRetriever(kb, top_k=3)


@pytest.mark.requirement("API-6")
@pytest.mark.parametrize("mode", ["reciprocal_rerank", "relative_score", "dist_based_score", "simple"])
def test_a_fusion_keeps_twins_apart_and_takes_one_chunk_of_two_members_for_one(kb: Knowledge, mode: Any) -> None:  # noqa: ANN401
    other = _Fixed(NodeWithScore(node=TextNode(id_="other", text="Something else."), score=0.1))
    members: list[BaseRetriever] = [CitewellRetriever(kb), CitewellRetriever(kb, mode="dense"), other]
    fusion = QueryFusionRetriever(members, llm=MockLLM(), mode=mode, num_queries=1, similarity_top_k=9, use_async=False)
    found = fusion.retrieve(QUESTION)
    assert sorted(ids(found)) == sorted([ETCD, TWIN, DNS, "other"])
    assert all(isinstance(each.node, EvidenceNode) for each in found if each.node.node_id != "other")


@pytest.mark.requirement("API-6")
def test_without_a_similarity_the_score_is_none_and_reciprocal_ranks_still_fuse() -> None:
    from citewell.integrations.llamaindex.nodes import nodes  # noqa: PLC0415 - what is tested lies inside
    from citewell.integrations.passages import Passage  # noqa: PLC0415 - see above

    (unknown,) = nodes([Passage("vector:7", "text", None, {"doc_id": None})])
    assert (unknown.score, unknown.node.ref_doc_id) == (None, None)
    fusion = QueryFusionRetriever([_Fixed(unknown)], llm=MockLLM(), mode="reciprocal_rerank", num_queries=1)  # type: ignore[arg-type,unused-ignore]
    assert ids(fusion.retrieve("anything")) == ["vector:7"]


@pytest.mark.requirement("API-6", "POST-4")
def test_the_cap_keeps_the_first_nodes_of_each_document_and_their_order_and_scores() -> None:
    def node(name: str, score: float, **metadata: Any) -> NodeWithScore:  # noqa: ANN401
        return NodeWithScore(node=TextNode(id_=name, text=name, metadata=metadata), score=score)

    given = [
        node("a#chunk-0", 0.1, doc_id="a", chunk_index=0),
        node("x", 0.9, file_path="x.md"),
        node("a#chunk-4", 0.5, doc_id="a", chunk_index=4),
        node("a#chunk-0", 0.3, doc_id="a", chunk_index=0),
        node("y", 0.2, file_path="x.md"),
        node("lone", 0.2),
        node("alone", 0.2),
    ]
    capped = DocumentCap(max_chunks_per_document=1).postprocess_nodes(given)
    assert capped == [given[0], given[1], given[5], given[6]]
    assert DocumentCap(max_chunks_per_document=0).postprocess_nodes(given) == [*given[:3], *given[4:]]
    assert DocumentCap().postprocess_nodes([]) == []


@pytest.mark.requirement("API-6")
def test_a_query_engine_answers_from_our_nodes_and_names_them_as_its_sources(kb: Knowledge) -> None:
    engine = RetrieverQueryEngine.from_args(
        CitewellRetriever(kb, session="s"), llm=MockLLM(), node_postprocessors=[DocumentCap(max_chunks_per_document=1)]
    )
    response = engine.query(QUESTION)
    assert ids(response.source_nodes) == keys_of(kb, QUESTION)
    assert f"evidence_key: {ETCD}" in str(response)  # MockLLM repeats its prompt
    assert kb.check(f"Slow [{ETCD}].", session="s").ok


@pytest.mark.requirement("API-6", "PROJ-7")
async def test_the_tool_gives_the_model_text_and_the_program_the_projection(kb: Knowledge) -> None:
    (tool,) = CitewellToolSpec(kb, session="s", where={"team": "a"}).to_tool_list()
    for output in (tool.call(query=QUESTION), await tool.acall(query=QUESTION, repeat=True)):
        assert f"[{ETCD}]" in output.content
        assert "<<evidence" in output.content
        assert [item["document_id"] for item in output.raw_output["evidence"]] == [ETCD]
    assert kb.check(f"Slow [{ETCD}].", session="s").ok
    with pytest.raises(InvalidRequest, match="'session'"):
        tool.call(query=QUESTION, session="t")


@pytest.mark.requirement("API-6")
def test_a_model_is_told_the_one_definition(kb: Knowledge) -> None:
    (tool,) = CitewellToolSpec(kb).to_tool_list()
    told = tool.metadata.to_openai_tool()["function"]
    assert (told["name"], told["description"]) == ("lookup_knowledge", DESCRIPTION)
    assert told["parameters"]["properties"] == LOOKUP_ARGUMENTS["properties"]
    assert told["parameters"]["required"] == ["query"]
