"""Which candidates become evidence: duplicates, floor, cap, return-n, in this order (POST-1..8, SCORE-5, SCORE-6)."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import citewell
from citewell.analysis import identifiers
from citewell.errors import InvalidRequest
from citewell.model import Candidate, Dropped, Hit, Reason, Refined
from citewell.postprocess import document_of, full_documents, holds_identifiers, refine

LEXICAL = (Reason("lexical", 1, 4.2),)


def hit(key: str, similarity: float | None = None, **fields: Any) -> Candidate:  # noqa: ANN401 - any field of a candidate
    doc_id, mark, _ = key.rpartition("#chunk-")
    return Candidate(evidence_key=key, similarity=similarity, **{"doc_id": doc_id if mark else None, **fields})


def kept(refined: Refined) -> list[str]:
    return [candidate.evidence_key for candidate in refined.kept]


def dropped(refined: Refined) -> list[tuple[str, str]]:
    return [(drop.evidence_key, drop.reason) for drop in refined.dropped]


@pytest.mark.requirement("POST-1", "POST-8")
def test_duplicates_then_floor_then_cap_then_return_n() -> None:
    candidates = [
        hit("a#chunk-0", 0.9),
        hit("a#chunk-0", 0.9),
        hit("a#chunk-1", 0.1),
        hit("a#chunk-2", 0.8),
        hit("a#chunk-3", 0.7),
        hit("b#chunk-0", 0.6),
        hit("c#chunk-0", 0.5),
    ]
    refined = refine(candidates, return_n=3, min_similarity=0.45)
    # The duplicate and the chunk below the floor take none of the two places of `a`, nor of the three in all.
    assert kept(refined) == ["a#chunk-0", "a#chunk-2", "b#chunk-0"]
    assert refined.dropped == (
        Dropped("a#chunk-0", "duplicate", "position 2 repeats position 1"),
        Dropped("a#chunk-1", "below_similarity", "similarity 0.100 < 0.450"),
        Dropped("a#chunk-3", "document_cap", "number 3 of document 'a', at most 2"),
        Dropped("c#chunk-0", "return_n", "place 4 > 3"),
    )


@pytest.mark.requirement("POST-2")
def test_the_same_text_in_two_documents_is_two_pieces_of_evidence() -> None:
    """Trials I01, I08, I13, I16: nothing but the evidence key makes a duplicate."""
    same: dict[str, Any] = {"text": "Rotate the signing key.", "source": "keys.md", "title": "Keys", "digest": "d"}
    candidates = [hit("policy-v1#chunk-0", **same), hit("policy-v2#chunk-0", **same), hit("policy-v1#chunk-7", **same)]
    refined = refine(candidates, return_n=5)
    assert refined == Refined(kept=tuple(candidates), dropped=())


@pytest.mark.requirement("POST-2")
def test_a_record_without_a_chunk_index_is_merged_with_itself_alone() -> None:
    """Trial I14."""
    candidates = [hit("doc#chunk-0"), hit("vector:7", doc_id="doc"), hit("vector:7", doc_id="doc"), hit("vector:8")]
    refined = refine(candidates, return_n=5)
    assert kept(refined) == ["doc#chunk-0", "vector:7", "vector:8"]
    assert dropped(refined) == [("vector:7", "duplicate")]


@pytest.mark.requirement("POST-3")
def test_of_duplicates_the_higher_content_stays_with_the_reasons_of_both() -> None:
    high = hit(
        "a#chunk-0", 0.4, text="first", reasons=(Reason("lexical", 3, 1.0), Reason("dense", 5, 0.4)), lexical_score=1.0
    )
    low = hit(
        "a#chunk-0", 0.6, text="second", fused_score=0.02, rerank_score=0.3,
        reasons=(Reason("dense", 2, 0.6), Reason("windows", 1, 9.0), Reason("lexical", 3, 7.0)),
    )  # fmt: skip
    refined = refine([high, low], return_n=5)
    assert refined.kept == (
        hit(
            "a#chunk-0", 0.6, text="first", lexical_score=1.0, fused_score=0.02, rerank_score=0.3,
            reasons=(Reason("dense", 2, 0.6), Reason("lexical", 3, 1.0), Reason("windows", 1, 9.0)),
        ),
    )  # fmt: skip


@pytest.mark.requirement("POST-3")
@pytest.mark.parametrize(
    ("first", "second", "best"),
    [
        (0.0, -0.1, 0.0),
        (-0.1, 0.0, 0.0),
        (None, -0.1, -0.1),
        (0.0, None, 0.0),
        (None, None, None),
        (math.nan, -0.5, -0.5),
        (0.3, 0.7, 0.7),
    ],
)
def test_the_best_known_similarity_is_kept(first: float | None, second: float | None, best: float | None) -> None:
    """Trial I12: 0.0 is a value, and -0.1 does not replace it."""
    (merged,) = refine([hit("a#chunk-0", first), hit("a#chunk-0", second)], return_n=1).kept
    assert merged.similarity == best
    assert (merged.lexical_score, merged.fused_score, merged.rerank_score) == (None, None, None)


@pytest.mark.requirement("POST-3", "RRF-6")
def test_merging_makes_a_new_value_and_leaves_the_others_alone() -> None:
    high = Hit(evidence_key="a#chunk-0", similarity=0.1, reasons=(Reason("dense", 1, 0.1),), scope=("ops",))
    low = Hit(evidence_key="a#chunk-0", similarity=0.2, reasons=LEXICAL)
    given = [high, low]
    (merged,) = refine(given, return_n=1).kept
    assert isinstance(merged, Hit)
    assert merged.scope == ("ops",)
    assert given == [high, low]
    assert (high.similarity, low.similarity) == (0.1, 0.2)
    assert (len(high.reasons), len(low.reasons)) == (1, 1)


@pytest.mark.requirement("POST-3")
def test_a_candidate_without_a_duplicate_stays_the_very_object() -> None:
    candidate = hit("a#chunk-0", reasons=(Reason("lexical", 1, 1.0), Reason("dense", 1, 0.5)))
    assert refine([candidate], return_n=1).kept[0] is candidate


@pytest.mark.requirement("SCORE-5")
@pytest.mark.parametrize(
    ("similarity", "floor", "stays"),
    [
        (0.7, 0.6, True),
        (0.6, 0.6, True),
        (0.5999, 0.6, False),
        (-0.5, 0, False),
        (-0.5, None, True),
        (-0.5, -1, True),
        (0.0, 0, True),
        (None, 0.5, False),
        (None, -1, False),
        (None, None, True),
        (math.nan, -1, False),
        (1.0, 0.9, True),
        (1.0, 1, True),
        (0.999, 1.0, False),
    ],
)
def test_a_hit_stays_if_its_similarity_is_at_least_the_floor(
    similarity: float | None, floor: float | None, stays: bool
) -> None:
    """Trials I24, I25, I26, I28, I32: the fused score plays no part, and unknown counts as below."""
    candidate = hit("a#chunk-0", similarity, fused_score=1 / 61, lexical_score=9.0, reasons=LEXICAL)
    refined = refine([candidate], return_n=5, min_similarity=floor)
    assert refined.kept == ((candidate,) if stays else ())
    assert dropped(refined) == ([] if stays else [("a#chunk-0", "below_similarity")])


@pytest.mark.requirement("SCORE-5")
def test_what_passes_a_floor_passes_every_lower_one() -> None:
    """Trial I43: answers nest, for floors from .1 to .9."""
    candidates = [hit(f"d{n}#chunk-0", n / 20) for n in range(20)]
    answers = [set(kept(refine(candidates, return_n=20, min_similarity=floor / 10))) for floor in range(1, 10)]
    assert all(lower > higher for lower, higher in pairwise(answers))


@pytest.mark.requirement("POST-8")
@pytest.mark.parametrize(
    ("similarity", "floor", "detail"),
    [
        (0.31, 0.45, "similarity 0.310 < 0.450"),
        (0.44996, 0.45, "similarity 0.44996 < 0.45000"),
        (-0.2, 0, "similarity -0.200 < 0.000"),
        (None, 0.45, "similarity unknown, floor 0.450"),
        (math.nan, 0.45, "similarity unknown, floor 0.450"),
        (math.nextafter(0.45, 0), 0.45, "similarity 0.44999999999999996 < 0.45"),
    ],
)
def test_a_shortfall_is_told_with_as_many_digits_as_it_takes(
    similarity: float | None, floor: float, detail: str
) -> None:
    refined = refine([hit("a#chunk-0", similarity)], return_n=1, min_similarity=floor)
    assert refined.dropped == (Dropped("a#chunk-0", "below_similarity", detail),)


@pytest.mark.requirement("SCORE-6")
def test_an_exact_code_that_the_lexical_path_found_is_kept_below_the_floor() -> None:
    """Trial I35: `ZX-81-Q` under a floor of .99."""
    code = hit("codes#chunk-3", 0.2, text="Fuse ZX-81-Q is rated 3 A.", lexical_score=7.1, reasons=LEXICAL)
    other = hit("codes#chunk-4", 0.3, text="Fuse ZX-82-Q is rated 5 A.", lexical_score=6.0, reasons=LEXICAL)
    refined = refine([code, other], return_n=5, min_similarity=0.99, query_identifiers=["zx-81-q"])
    assert refined.kept == (code,)
    assert refined.kept_identifiers == ("codes#chunk-3",)
    assert dropped(refined) == [("codes#chunk-4", "below_similarity")]


@pytest.mark.requirement("SCORE-6")
@pytest.mark.parametrize(
    ("fields", "identifiers", "stays"),
    [
        ({"lexical_score": 2.0}, ["E12"], True),
        ({"reasons": LEXICAL}, ["E12"], True),
        ({"reasons": (Reason("dense", 1, 0.1),)}, ["E12"], False),
        ({}, ["E12"], False),
        ({"lexical_score": 2.0}, [], False),
        ({"lexical_score": 2.0}, ["", " ", "\u200b"], False),
        ({"lexical_score": 2.0}, ["E12", "max_conn"], True),
        ({"lexical_score": 2.0}, ["E12", "E13"], False),
        ({"lexical_score": 2.0}, ["E12", "openStore"], False),  # without a digit or an underscore, too
    ],
)
def test_it_takes_the_lexical_path_and_every_identifier(
    fields: dict[str, Any], identifiers: list[str], stays: bool
) -> None:
    candidate = hit("a#chunk-0", None, text="E12: raise max_conn", **fields)
    refined = refine([candidate], return_n=1, min_similarity=0.5, query_identifiers=identifiers)
    assert bool(refined.kept) is stays
    assert refined.kept_identifiers == (("a#chunk-0",) if stays else ())


@pytest.mark.requirement("SCORE-6")
def test_the_exception_can_be_switched_off_and_names_no_hit_that_needs_none() -> None:
    candidate = hit("a#chunk-0", 0.2, text="E12", lexical_score=2.0)
    off = refine([candidate], return_n=1, min_similarity=0.5, keep_identifiers=False, query_identifiers=["E12"])
    assert off.kept == ()
    for floor in (0.1, None):
        needless = refine([candidate], return_n=1, min_similarity=floor, query_identifiers=["E12"])
        assert needless == Refined(kept=(candidate,), dropped=())


@pytest.mark.requirement("SCORE-6", "POST-1")
def test_a_kept_identifier_is_still_capped_and_then_not_listed_as_kept() -> None:
    candidates = [hit(f"a#chunk-{n}", 0.1, text="E12", lexical_score=2.0) for n in range(3)]
    refined = refine(candidates, return_n=5, min_similarity=0.5, query_identifiers=["E12"])
    assert refined.kept_identifiers == ("a#chunk-0", "a#chunk-1")
    assert dropped(refined) == [("a#chunk-2", "document_cap")]


@pytest.mark.requirement("SCORE-6")
@pytest.mark.parametrize(
    ("identifier", "text"),
    [
        ("E12", "error e12."),
        ("e12", "(E12)"),
        ("E12", "E12"),
        ("E12", "KB-E12"),
        ("E12", "E12_old"),
        ("4471", "KB_4471"),
        ("1.24.3", "since v1.24.3"),
        ("v1.24.3", "since 1.24.3"),
        ("don\u2019t-7", "DON'T-7"),
        ("E12", "E12/E13"),
        ("E12", "code=E12,"),
        ("E12", "报错E12时重启网关"),
        ("E12", "오류 E12를 확인"),
        ("E12", "エラーE12の場合"),
        ("E12", "Ｅ１２"),
        ("Ｅ１２", "E12"),
        ("E12", "E\u200b12"),
        ("E12", "E\u00ad1\u200c2\u200d"),
        ("E12", "\ufeffE\u206012"),
        ("KB-4471", "kb\u20104471"),
        ("4471", "KB-4471"),
        ("KB-4471", "see KB-4471."),
        ("KB-4471", "kb\u20114471"),
        ("kb-4471", "[KB-4471](kb-4471.md)"),
        ("v1.2", "since v1.2, and later"),
        ("v1.2", "upgrade to v1.2."),
        ("10.0.0.1", "10.0.0.1:8080"),
        ("fetchTableRow", "call fetchtablerow()"),
        ("max_conn", "`max_conn`"),
        ("/etc/hosts", "edit /etc/hosts now"),
        ("C++17", "needs C++17"),
        ("a.b*c1", "a.b*c1"),
    ],
)
def test_an_identifier_is_found_as_a_whole_token(identifier: str, text: str) -> None:
    assert holds_identifiers(hit("a#chunk-0", text=text), [identifier])


@pytest.mark.requirement("SCORE-6")
@pytest.mark.parametrize(
    ("identifier", "text"),
    [
        ("E12", "E1207"),
        ("E12", "XE12"),
        ("E12", "E12é"),
        ("E12", "E 12"),
        ("KB-4471", "KB-44710"),
        ("ZX-81", "ZX-81-Q"),
        ("81-Q", "ZX-81-Q"),
        ("v1.2", "v1.2.3"),
        ("2.3", "v1.2.3"),
        ("1.24", "v1.24.3"),
        ("v1.24", "rev1.24"),
        ("1.24", "rev1.24"),
        ("10.0.0.1", "110.0.0.1"),
        ("10.0.0.1", "10.0.0.12"),
        ("max_conn", "max_conn_age"),
        ("/etc/hosts", "backup/etc/hosts"),
        ("a.b*c1", "aXb*c1"),
        ("E12", ""),
    ],
)
def test_a_part_of_a_longer_word_or_code_is_not_the_identifier(identifier: str, text: str) -> None:
    assert not holds_identifiers(hit("a#chunk-0", text=text), [identifier])


@pytest.mark.requirement("SCORE-6")
def test_a_passage_holds_every_identifier_that_the_analysis_finds_in_it() -> None:
    corpus = sorted((Path(citewell.__file__).parent / "demo" / "corpus" / "storage").rglob("*.md"))
    passages = [passage for path in corpus for passage in path.read_text(encoding="utf-8").split("\n\n")]
    asked = [(passage, identifier) for passage in passages for identifier in identifiers(passage)]
    assert len(asked) > 100
    assert [(p, i) for p, i in asked if not holds_identifiers(hit("a#chunk-0", text=p), [i])] == []


@pytest.mark.requirement("SCORE-6")
def test_identifiers_may_stand_in_title_breadcrumb_and_text_together() -> None:
    candidate = hit("a#chunk-0", title="Runbook KB-1", breadcrumb="Codes > E12", text="Set max_conn.", source="E99")
    assert holds_identifiers(candidate, ["kb-1", "E12", "max_conn"])
    assert holds_identifiers(hit("a#chunk-0", title="4471 is the code"), ["4471"])
    assert not holds_identifiers(candidate, ["E99"])
    assert not holds_identifiers(hit("a#chunk-0", title="E1", breadcrumb="2"), ["E12"])


@pytest.mark.requirement("POST-4")
def test_a_document_gives_its_first_chunks_and_the_freed_places_go_to_the_next() -> None:
    """Trial I56: alpha twice, beta, gamma."""
    order = ["alpha#chunk-4", "alpha#chunk-0", "alpha#chunk-2", "beta#chunk-0", "alpha#chunk-1", "gamma#chunk-0"]
    refined = refine([hit(key) for key in order], return_n=4)
    assert kept(refined) == ["alpha#chunk-4", "alpha#chunk-0", "beta#chunk-0", "gamma#chunk-0"]
    assert dropped(refined) == [("alpha#chunk-2", "document_cap"), ("alpha#chunk-1", "document_cap")]
    assert refined.dropped[1].detail == "number 4 of document 'alpha', at most 2"


@pytest.mark.requirement("POST-4")
def test_a_cap_of_one_gives_distinct_documents_and_zero_is_no_cap() -> None:
    """Trial I58."""
    candidates = [hit(f"{name}#chunk-{index}") for name in "ab" for index in range(3)]
    assert kept(refine(candidates, return_n=6, max_chunks_per_document=1)) == ["a#chunk-0", "b#chunk-0"]
    assert refine(candidates, return_n=6, max_chunks_per_document=0).kept == tuple(candidates)


@pytest.mark.requirement("POST-4")
def test_the_cap_changes_no_score() -> None:
    """Trial I62."""
    candidates = [
        hit(f"a#chunk-{n}", 0.5, fused_score=1 / (61 + n), lexical_score=2.0, rerank_score=0.1) for n in range(4)
    ]
    assert refine(candidates, return_n=5).kept == tuple(candidates[:2])


@pytest.mark.requirement("POST-4")
def test_without_a_document_id_the_source_counts_and_without_both_the_block_itself() -> None:
    by_source = [hit(f"vector:{n}", source="wiki/etcd") for n in range(3)]
    nameless = [hit(f"vector:{n}", source=" ") for n in range(10, 14)]
    blank = [hit(f"vector:{n}", doc_id="", source="wiki/etcd") for n in range(20, 22)]
    of_document = hit("wiki/etcd#chunk-0", source="elsewhere")
    refined = refine([*by_source, *nameless, of_document, *blank], return_n=20)
    assert dropped(refined) == [(f"vector:{n}", "document_cap") for n in (2, 20, 21)]
    assert refined.dropped[0].detail == "number 3 of source 'wiki/etcd', at most 2"
    assert document_of(of_document) == ("document", "wiki/etcd")
    assert document_of(by_source[0]) == ("source", "wiki/etcd")
    assert document_of(nameless[0]) == ("block", "vector:10")


@pytest.mark.requirement("POST-6")
def test_a_smaller_answer_is_a_prefix_of_a_larger_one() -> None:
    """Trial I48: 3 against 8."""
    candidates = [hit(f"{name}#chunk-{index}", 0.5) for index in range(3) for name in "abcd"]
    larger = kept(refine(candidates, return_n=8))
    assert larger == [f"{name}#chunk-{index}" for index in range(2) for name in "abcd"]
    assert kept(refine(candidates, return_n=3)) == larger[:3]
    assert kept(refine(candidates, return_n=1)) == larger[:1]


@pytest.mark.requirement("POST-5")
def test_return_n_is_honoured_to_the_letter() -> None:
    """Trials I49, I51."""
    candidates = [hit(f"d{n % 6}#chunk-{n}") for n in range(10)]
    assert len(refine(candidates, return_n=6).kept) == 6
    assert len(refine(candidates, return_n=1).kept) == 1
    assert len(refine(candidates, return_n=99).kept) == 10
    assert refine([], return_n=5) == Refined(kept=(), dropped=())


@pytest.mark.requirement("POST-7")
def test_documents_at_their_cap_are_full_in_the_order_of_their_first_chunk() -> None:
    keys = ["b#chunk-0", "a#chunk-0", "c#chunk-0", "a#chunk-1", "b#chunk-1"]
    candidates = [*(hit(key) for key in keys), hit("vector:1", source="s"), hit("vector:2", source="s")]
    assert full_documents(candidates, 2) == ("b", "a")
    assert full_documents(candidates, 1) == ("b", "a", "c")
    assert full_documents(candidates, 3) == ()
    assert full_documents(candidates, 0) == ()
    assert full_documents([], 2) == ()


@pytest.mark.requirement("POST-7")
def test_refilled_hits_come_after_the_others_under_the_same_caps() -> None:
    first = [*(hit(f"alpha#chunk-{n}") for n in range(5)), hit("beta#chunk-0")]
    refilled = [hit("beta#chunk-1"), hit("beta#chunk-2"), hit("gamma#chunk-0"), hit("delta#chunk-0")]
    assert kept(refine(first, return_n=5)) == ["alpha#chunk-0", "alpha#chunk-1", "beta#chunk-0"]
    assert kept(refine([*first, *refilled], return_n=5)) == [
        "alpha#chunk-0", "alpha#chunk-1", "beta#chunk-0", "beta#chunk-1", "gamma#chunk-0",
    ]  # fmt: skip


@pytest.mark.requirement("POST-5")
@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"return_n": 0}, "return_n can't be 0"),
        ({"return_n": -1}, "return_n can't be -1"),
        ({"return_n": True}, "return_n can't be True"),
        ({"return_n": 1, "max_chunks_per_document": -1}, "max_chunks_per_document can't be -1"),
        ({"return_n": 1, "max_chunks_per_document": True}, "max_chunks_per_document can't be True"),
        ({"return_n": 1, "min_similarity": 1.1}, "min_similarity can't be 1.1"),
        ({"return_n": 1, "min_similarity": -1.1}, "min_similarity can't be -1.1"),
        ({"return_n": 1, "min_similarity": math.nan}, "min_similarity can't be nan"),
        ({"return_n": 1, "min_similarity": True}, "min_similarity can't be True"),
        ({"return_n": 2.5}, "return_n can't be 2.5"),
        ({"return_n": "3"}, "return_n can't be '3'"),
        ({"return_n": None}, "return_n can't be None"),
        ({"return_n": 1, "max_chunks_per_document": "x"}, "max_chunks_per_document can't be 'x'"),
        ({"return_n": 1, "max_chunks_per_document": 1.5}, "max_chunks_per_document can't be 1.5"),
        ({"return_n": 1, "max_chunks_per_document": None}, "max_chunks_per_document can't be None"),
        ({"return_n": 1, "min_similarity": "off"}, "min_similarity can't be 'off'"),
        ({"return_n": 1, "keep_identifiers": None}, "keep_identifiers can't be None"),
        ({"return_n": 1, "keep_identifiers": "E12"}, "keep_identifiers can't be 'E12'"),
        ({"return_n": 1, "keep_identifiers": ["E12", 5]}, "keep_identifiers can't hold 5"),
        ({"return_n": 1, "query_identifiers": "E12"}, "query_identifiers can't be 'E12'"),
        ({"return_n": 1, "query_identifiers": None}, "query_identifiers can't be None"),
        ({"return_n": 1, "query_identifiers": [None]}, "query_identifiers can't hold None"),
        ({"return_n": 1, "keep_identifiers": ["E1"], "query_identifiers": ["E2"]}, "query_identifiers can't be ['E2']"),
    ],
)
def test_an_argument_that_can_not_be_used_is_refused_by_name_and_value(options: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidRequest, match=re.escape(named)) as caught:
        refine([], **options)
    assert caught.value.way_out


@pytest.mark.requirement("POST-1")
@pytest.mark.parametrize(
    ("candidates", "named"),
    [
        (None, "candidates can't be None"),
        ("abc", "candidates can't be 'abc'"),
        ({"a": 1}, "candidates can't be {'a': 1}"),
        ([hit("a#chunk-0"), {"evidence_key": "b#chunk-0"}], "a candidate can't be {'evidence_key': 'b#chunk-0'}"),
        (["a#chunk-0"], "a candidate can't be 'a#chunk-0'"),
    ],
)
def test_what_is_no_list_of_candidates_is_refused(candidates: Any, named: str) -> None:  # noqa: ANN401 - raw on purpose
    for use in (lambda given: refine(given, return_n=1), lambda given: full_documents(given, 1)):
        with pytest.raises(InvalidRequest, match=re.escape(named)) as caught:
            use(candidates)
        assert caught.value.way_out


@pytest.mark.requirement("POST-4", "SCORE-6")
def test_helpers_refuse_what_they_can_not_use_too() -> None:
    for use, named in (
        (lambda: full_documents([], -1), "max_chunks_per_document can't be -1"),
        (lambda: full_documents([], "2"), "max_chunks_per_document can't be '2'"),  # type: ignore[arg-type]  # raw
        (lambda: holds_identifiers(hit("a#chunk-0"), "E12"), "identifiers can't be 'E12'"),
        (lambda: holds_identifiers(None, ["E12"]), "a candidate can't be None"),  # type: ignore[arg-type]  # raw
        (lambda: document_of("a"), "a candidate can't be 'a'"),  # type: ignore[arg-type]  # raw
    ):
        with pytest.raises(InvalidRequest, match=re.escape(named)):
            use()


@pytest.mark.requirement("SCORE-5", "POST-4")
def test_numbers_of_numpy_are_numbers() -> None:
    candidates = [hit("a#chunk-0", 0.5), hit("a#chunk-1", 0.25)]
    numbers: dict[str, Any] = {"return_n": np.int64(5), "max_chunks_per_document": np.uint8(1)}
    assert refine(candidates, min_similarity=float(np.float32(0.25)), **numbers).kept == tuple(candidates[:1])
    assert refine(iter(candidates), return_n=5, min_similarity=np.float32(0.5)).kept == (candidates[0],)  # type: ignore[arg-type]


@pytest.mark.requirement("SCORE-6")
def test_the_identifiers_may_be_given_where_it_is_said_to_keep_them() -> None:
    """With True alone there is no identifier to look for, and nothing below the floor stays."""
    code = hit("a#chunk-0", 0.2, text="Fuse ZX-81-Q", lexical_score=2.0)
    options: dict[str, Any] = {"return_n": 1, "min_similarity": 0.9}
    assert refine([code], **options).kept == ()
    assert refine([code], keep_identifiers=["zx-81-q"], **options).kept == (code,)
    assert refine([code], keep_identifiers=("zx-81-q", "E12"), **options).kept == ()
    assert refine([code], keep_identifiers=[], **options).kept == ()
    assert refine([code], keep_identifiers=True, query_identifiers=["zx-81-q"], **options).kept == (code,)


@pytest.mark.requirement("SCORE-6")
@pytest.mark.parametrize(
    ("identifier", "text"),
    [
        ("v1.24.3", "升级到…1.24.3，然后"),
        ("max_conn", "（ＭＡＸ＿ＣＯＮＮ）"),
        ("fetchTableRow", "调用：fetchTableRow；"),
        ("E12", "① E12！"),
        ("E12", "错误　E12？"),
        ("4471", "KB‑4471"),
        ("kb-4471", "KB‐4471。"),
    ],
)
def test_full_width_marks_around_an_identifier_change_nothing(identifier: str, text: str) -> None:
    assert holds_identifiers(hit("a#chunk-0", text=text), [identifier])
