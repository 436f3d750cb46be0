"""Values that pass from stage to stage keep everything that they don't mean to drop."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from citewell.model import Candidate, EvidenceBlock, Hit, Locator, Reason, StoredChunk

FULL = Hit(
    evidence_key="a#chunk-1",
    doc_id="a",
    chunk_index=1,
    text="long",
    source="a.md",
    title="A",
    breadcrumb="A > B",
    category="ops",
    similarity=0.5,
    lexical_score=7.0,
    fused_score=1 / 61,
    rerank_score=0.9,
    reasons=(Reason("dense", 1, 0.5),),
    span=(3, 7),
    locator=Locator(page=2),
    metadata={"team": "red"},
    digest="d1",
    scope=("t1",),
)


@pytest.mark.requirement("POST-8", "RRF-4")
def test_a_candidate_without_its_text_keeps_everything_else() -> None:
    bare = FULL.without_text()
    same = [field.name for field in fields(Candidate) if field.name != "text"]
    assert bare.text == ""
    assert {name: getattr(bare, name) for name in same} == {name: getattr(FULL, name) for name in same}
    assert replace(bare, text="long").without_text() == bare


@pytest.mark.requirement("POST-1", "SCORE-1")
def test_a_candidate_that_is_kept_keeps_everything_but_the_labels_of_its_document() -> None:
    block = FULL.as_block()
    same = [field.name for field in fields(Candidate)]
    assert type(block) is EvidenceBlock
    assert block.role == "hit"
    assert {name: getattr(block, name) for name in same} == {name: getattr(FULL, name) for name in same}


@pytest.mark.requirement("CONTEXT-1")
def test_a_stored_chunk_as_evidence_keeps_all_of_it_but_the_labels_and_has_no_scores() -> None:
    same = [field.name for field in fields(StoredChunk) if field.name != "scope"]
    chunk = StoredChunk(**{name: getattr(FULL, name) for name in [*same, "scope"]})
    block = chunk.as_block("neighbour")
    assert {name: getattr(block, name) for name in same} == {name: getattr(FULL, name) for name in same}
    assert (block.role, block.reasons) == ("neighbour", ())
    assert {block.similarity, block.lexical_score, block.fused_score, block.rerank_score} == {None}
