"""Whatever odd value stands at any argument of a public rule, it is taken or refused as ours, never a raw TypeError."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from citewell import admission, analysis, fusion, identity, postprocess, projection, scope, scores
from citewell.errors import CitewellError
from citewell.evaluation import metrics
from citewell.model import Budget, EvidenceBlock, LookupOutcome, LookupPolicy, SearchPolicy, Trace


class Unshowable:
    """Raises when it is asked what it looks like."""

    def __repr__(self) -> str:
        raise RuntimeError


SINGLE: list[Any] = [
    None, True, False, 0, -1, 1, 5, 2.5, math.nan, math.inf, -math.inf, 10**400, 10**6_000, -(10**6_000),
    "", "x", "3", "60", "off", "\ud800", "\x00", "a#chunk-1", b"x", b"", bytearray(b"a"), memoryview(b"ab"),
    (), [], [1], ["a"], [None], [[]], [("a", 1)], (1, 2), ("a",), {}, {"a": 1}, {"a": None}, {1: 2}, {"dense": "x"},
    {"dense": ["a"]}, {"dense": [1]}, {"dense": [[]]}, set(), {"a"}, frozenset("ab"), range(3), Counter("ab"),
    object(), Unshowable(), Decimal("0.5"), Fraction(1, 3), Fraction(10**6_000), 1j,
    np.float32(0.5), np.int64(3), np.bool_(True), np.array(3), np.array([1, 2]), np.array(["a"]),
    lambda *_: None, lambda *_: [1],
]  # fmt: skip
ODD: list[Any] = [odd for value in SINGLE for odd in (value, [value], {"dense": value}, {"a": value})]

BLOCK = EvidenceBlock(evidence_key="a#chunk-0", doc_id="a", text="E12", similarity=0.1, lexical_score=1.0)
OUTCOME = LookupOutcome("q", "ok", (), (BLOCK,), Trace(mode="hybrid"))
RANKINGS = {"dense": ["a", "b"], "lexical": ["b"]}
admit = partial(admission.admit, "q", policy=LookupPolicy(), search=SearchPolicy())
refine = partial(postprocess.refine, [BLOCK], min_similarity=0.5)
project = partial(projection.project, OUTCOME)
compare = partial(metrics.paired_randomisation_test, [1.0, 2.0], [2.0, 1.0])

CITED = "search_result_location"


def view(**changed: object) -> dict[str, object]:
    """A projection with other values."""
    return {**projection.project(OUTCOME), **changed}


def item(**changed: object) -> dict[str, object]:
    """A projection of one item with other values."""
    return view(evidence=[{**projection.project_block(BLOCK), **changed}])


CALLS: dict[str, Callable[[Any], object]] = {
    "admit query": lambda odd: admission.admit(odd, policy=LookupPolicy(), search=SearchPolicy()),
    "admit category": lambda odd: admit(category=odd),
    "admit scope": lambda odd: admit(scope=odd),
    "admit where": lambda odd: admit(where=odd),
    "admit mode": lambda odd: admit(mode=odd),
    "admit retrieve_k": lambda odd: admit(retrieve_k=odd),
    "admit return_n": lambda odd: admit(return_n=odd),
    "admit cap": lambda odd: admit(max_chunks_per_document=odd),
    "admit floor": lambda odd: admit(min_similarity=odd),
    "admit_scope": admission.admit_scope,
    "check_category": admission.check_category,
    "check_labels": admission.check_labels,
    "check_names": lambda odd: admission.check_names(odd, ["a"]),
    "fuse rankings": fusion.fuse,
    "fuse k": lambda odd: fusion.fuse(RANKINGS, k=odd),
    "fuse weights": lambda odd: fusion.fuse(RANKINGS, weights=odd),
    "fuse similarity": lambda odd: fusion.fuse(RANKINGS, similarity=odd),
    "check_weights": fusion.check_weights,
    "check_weights paths": lambda odd: fusion.check_weights({}, paths=odd),
    "normalize_l2": scores.normalize_l2,
    "normalize_cosine": scores.normalize_cosine,
    "normalize_ip": scores.normalize_ip,
    "normalize_id": identity.normalize_id,
    "normalize_index": identity.normalize_index,
    "format_key doc_id": lambda odd: identity.format_key(odd, 0),
    "format_key index": lambda odd: identity.format_key("a", odd),
    "parse_key": identity.parse_key,
    "find_identity": identity.find_identity,
    "check_doc_id": identity.check_doc_id,
    "identify": identity.identify,
    "identify vector_id": lambda odd: identity.identify({}, vector_id=odd),
    "identify title": lambda odd: identity.identify({}, title=odd),
    "is_visible bears": lambda odd: scope.is_visible(odd, ("a",)),
    "is_visible holds": lambda odd: scope.is_visible(("a",), odd),
    "refine": lambda odd: postprocess.refine(odd, return_n=1),
    "refine return_n": lambda odd: refine(return_n=odd),
    "refine cap": lambda odd: refine(return_n=1, max_chunks_per_document=odd),
    "refine floor": lambda odd: postprocess.refine([BLOCK], return_n=1, min_similarity=odd),
    "refine keep": lambda odd: refine(return_n=1, keep_identifiers=odd),
    "refine identifiers": lambda odd: refine(return_n=1, query_identifiers=odd),
    "full_documents": lambda odd: postprocess.full_documents(odd, 1),
    "full_documents cap": lambda odd: postprocess.full_documents([BLOCK], odd),
    "document_of": postprocess.document_of,
    "holds_identifiers": lambda odd: postprocess.holds_identifiers(odd, ["E12"]),
    "holds_identifiers of": lambda odd: postprocess.holds_identifiers(BLOCK, odd),
    "project": projection.project,
    "project budget": lambda odd: project(odd),
    "project max_items": lambda odd: project(Budget(max_items=odd)),
    "project max_chars_per_item": lambda odd: project(Budget(max_chars_per_item=odd)),
    "project max_chars": lambda odd: project(Budget(max_chars=odd)),
    "project max_tokens": lambda odd: project(Budget(max_tokens=odd)),
    "project count_tokens": lambda odd: project(count_tokens=odd),
    "project_block": projection.project_block,
    "to_text": projection.to_text,
    "to_text status": lambda odd: projection.to_text(view(status=odd)),
    "to_text items": lambda odd: projection.to_text(view(evidence=odd)),
    "to_text item": lambda odd: projection.to_text(view(evidence=[odd])),
    "to_text similarity": lambda odd: projection.to_text(item(similarity=odd)),
    "to_text why": lambda odd: projection.to_text(item(why=odd)),
    "to_text reason": lambda odd: projection.to_text(item(why=[odd])),
    "to_text rank": lambda odd: projection.to_text(item(why=[{"path": "dense", "rank": odd}])),
    "to_text role": lambda odd: projection.to_text(item(role=odd)),
    "to_text truncated": lambda odd: projection.to_text(item(truncated=odd)),
    "to_text continues": lambda odd: projection.to_text(item(continues=odd)),
    "to_text hints": lambda odd: projection.to_text(view(hints=odd)),
    "to_text_blocks": projection.to_text_blocks,
    "to_search_results": projection.to_search_results,
    "to_openai_search": projection.to_openai_search,
    "to_openai_search base_url": lambda odd: projection.to_openai_search(project(), base_url=odd),
    "to_openai_fetch": projection.to_openai_fetch,
    "to_markdown": projection.to_markdown,
    "cited_ids": projection.cited_ids,
    "cited_ids block": lambda odd: projection.cited_ids([odd]),
    "cited_ids citations": lambda odd: projection.cited_ids([{"citations": odd}]),
    "cited_ids citation": lambda odd: projection.cited_ids([{"citations": [odd]}]),
    "cited_ids source": lambda odd: projection.cited_ids([{"citations": [{"type": CITED, "source": odd}]}]),
    "sentences": projection.sentences,
    "foreign": projection.foreign,
    "read_id": projection.read_id,
    "printable": projection.printable,
    "printable_id": projection.printable_id,
    "token_bound": projection.token_bound,
    "analyze": analysis.analyze,
    "analyze_query": analysis.analyze_query,
    "identifiers": analysis.identifiers,
    "Analyzer": analysis.Analyzer,
    "Analyzer stop_words": lambda odd: analysis.Analyzer(stop_words=odd),
    "ndcg_at": lambda odd: metrics.ndcg_at(odd)(["a"], {"a": 1}),
    "recall_at": lambda odd: metrics.recall_at(odd)(["a"], {"a": 1}),
    "ranking": lambda odd: metrics.ndcg_at(3)(odd, {"a": 1}),
    "gains": lambda odd: metrics.ndcg_at(3)(["a"], odd),
    "reciprocal_rank": lambda odd: metrics.reciprocal_rank(odd, odd),
    "average_precision": lambda odd: metrics.average_precision(odd, odd),
    "per_query run": lambda odd: metrics.per_query(metrics.reciprocal_rank, odd, {"a": {"a": 1}}),
    "mean qrels": lambda odd: metrics.mean(metrics.reciprocal_rank, {"a": ["a"]}, odd),
    "paired test": lambda odd: metrics.paired_randomisation_test(odd, [1.0]),
    "paired test rounds": lambda odd: compare(rounds=odd),
    "paired test seed": lambda odd: compare(seed=odd),
}


@pytest.mark.requirement("API-1")
@pytest.mark.parametrize("name", CALLS)
def test_an_odd_value_is_taken_or_refused_with_a_way_out(name: str) -> None:
    refusals: list[CitewellError] = []
    for odd in ODD:
        try:
            CALLS[name](odd)
        except CitewellError as refused:
            refusals.append(refused)
    assert all(refused.way_out and len(str(refused)) < 1_000 for refused in refusals)
    assert refusals or name in ("normalize_id", "normalize_index", "find_identity", "identify", "identify vector_id")
