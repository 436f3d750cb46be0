"""What holds of post-processing whatever the candidates are (POST-1..8)."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.evaluation.metrics import recall_at
from citewell.model import Candidate, Reason
from citewell.postprocess import document_of, full_documents, refine

REASONS = st.lists(
    st.builds(Reason, st.sampled_from(["dense", "lexical"]), st.integers(1, 50), st.just(1.0)), max_size=2
).map(tuple)
SIMILARITIES = st.one_of(st.none(), st.floats(-1, 1))
CANDIDATES = st.lists(
    st.builds(
        lambda doc, index, similarity, reasons, text: Candidate(
            evidence_key=f"{doc}#chunk-{index}", doc_id=doc, similarity=similarity, reasons=reasons, text=text
        ),
        st.sampled_from("abcd"),
        st.integers(0, 4),
        SIMILARITIES,
        REASONS,
        st.sampled_from(["E12", "E1207", ""]),
    ),
    max_size=25,
)
CAPS, FLOORS = st.integers(0, 3), st.one_of(st.none(), st.floats(-1, 1))


def keys(candidates: tuple[Candidate, ...] | list[Candidate]) -> list[str]:
    return [candidate.evidence_key for candidate in candidates]


@pytest.mark.requirement("POST-1", "POST-2", "POST-4", "POST-8")
@given(CANDIDATES, st.integers(1, 12), CAPS, FLOORS)
def test_no_key_twice_no_document_over_its_cap_and_nothing_lost(
    candidates: list[Candidate], return_n: int, cap: int, floor: float | None
) -> None:
    """Trial I04: no evidence key twice."""
    before = list(candidates)
    refined = refine(
        candidates, return_n=return_n, max_chunks_per_document=cap, min_similarity=floor, query_identifiers=["E12"]
    )
    assert candidates == before
    assert len(set(keys(refined.kept))) == len(refined.kept) <= return_n
    if cap:
        assert max(Counter(map(document_of, refined.kept)).values(), default=0) <= cap
    everything = Counter(keys(candidates))
    assert Counter(keys(refined.kept)) + Counter(drop.evidence_key for drop in refined.dropped) == everything
    assert set(refined.kept_identifiers) <= set(keys(refined.kept))


@pytest.mark.requirement("POST-4")
@given(CANDIDATES, st.integers(1, 12), CAPS, FLOORS)
def test_what_stays_and_what_goes_keep_the_order_of_the_input(
    candidates: list[Candidate], return_n: int, cap: int, floor: float | None
) -> None:
    refined = refine(candidates, return_n=return_n, max_chunks_per_document=cap, min_similarity=floor)
    firsts = list(dict.fromkeys(keys(candidates)))
    places = [firsts.index(key) for key in keys(refined.kept)]
    assert places == sorted(places)
    remaining = iter(keys(candidates))
    assert all(drop.evidence_key in remaining for drop in refined.dropped)


@pytest.mark.requirement("POST-6")
@given(CANDIDATES, st.integers(1, 12), st.integers(1, 12), CAPS, FLOORS)
def test_the_answer_for_a_smaller_return_n_is_a_prefix(
    candidates: list[Candidate], one: int, other: int, cap: int, floor: float | None
) -> None:
    small, large = sorted((one, other))
    options = {"max_chunks_per_document": cap, "min_similarity": floor, "query_identifiers": ["E12"]}
    shorter = refine(candidates, return_n=small, **options).kept  # type: ignore[arg-type]  # each is of its type
    longer = refine(candidates, return_n=large, **options).kept  # type: ignore[arg-type]  # each is of its type
    assert shorter == longer[:small]


@pytest.mark.requirement("POST-6")
@given(
    CANDIDATES, CAPS, st.dictionaries(st.sampled_from([f"{d}#chunk-{n}" for d in "abcd" for n in range(5)]), st.just(1))
)
def test_recall_never_falls_as_more_is_returned(candidates: list[Candidate], cap: int, gains: dict[str, int]) -> None:
    """Trial I53: for n = 1..12."""
    recalls = [
        recall_at(n)(keys(refine(candidates, return_n=n, max_chunks_per_document=cap).kept), gains)
        for n in range(1, 13)
    ]
    assert all(fewer <= more for fewer, more in pairwise(recalls))


@pytest.mark.requirement("SCORE-5")
@given(CANDIDATES, st.floats(-1, 1), st.floats(-1, 1))
def test_a_higher_floor_keeps_no_hit_that_a_lower_one_drops(
    candidates: list[Candidate], one: float, other: float
) -> None:
    low, high = sorted((one, other))
    options = {"return_n": 100, "max_chunks_per_document": 0, "query_identifiers": ["E12"]}
    lenient = refine(candidates, min_similarity=low, **options)  # type: ignore[arg-type]  # each is of its type
    strict = refine(candidates, min_similarity=high, **options)  # type: ignore[arg-type]  # each is of its type
    assert set(keys(strict.kept)) <= set(keys(lenient.kept))


@pytest.mark.requirement("POST-7")
@given(CANDIDATES, CANDIDATES, st.integers(1, 12), st.integers(1, 3))
def test_a_refill_only_appends(first: list[Candidate], more: list[Candidate], return_n: int, cap: int) -> None:
    before = refine(first, return_n=return_n, max_chunks_per_document=cap)
    full = full_documents(before.kept, cap)
    further = [candidate for candidate in more if candidate.doc_id not in full]
    after = refine([*first, *further], return_n=return_n, max_chunks_per_document=cap)
    assert keys(after.kept)[: len(before.kept)] == keys(before.kept)
