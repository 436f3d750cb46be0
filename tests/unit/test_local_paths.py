"""The dense and the lexical path over views: equal to the plain formulas, whatever the segments and the filters."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.adapters.local import candidates, lexical, race, segments, vectors
from citewell.adapters.local.segments import Postings, Segment
from citewell.adapters.local.view import View
from citewell.testing.store_base import random_units

chance = np.random.default_rng(11)


def view_of(rows: list[list[int]], live: list[bool], cuts: list[int], dense: np.ndarray | None = None) -> View:
    """A view of rows given as lists of term numbers, cut into sealed segments; the last segment stays open."""
    dense = np.zeros((len(rows), 2), dtype=np.float32) if dense is None else dense
    edges = [0, *sorted({cut for cut in cuts if 0 < cut < len(rows)}), len(rows)]
    made = [_segment(rows[start:end], start, dense[start:end]) for start, end in pairwise(edges)]
    made = [*(segment.sealed() for segment in made[:-1]), made[-1]]
    numbers = np.arange(len(rows), dtype=np.int64)
    return View(1, tuple(made), numbers, np.zeros(len(rows), dtype=np.int32), np.array(live, dtype=np.bool_))


def _segment(rows: list[list[int]], first: int, dense: np.ndarray) -> Segment:
    pairs = [(place, term, row.count(term)) for place, row in enumerate(rows) for term in dict.fromkeys(row)]
    places, terms, counts = np.array(pairs, dtype=np.int64).reshape(-1, 3).T
    postings = Postings(terms.astype(np.int32), None, places.astype(np.int32), counts.astype(np.uint16))
    numbers = np.arange(first, first + len(rows), dtype=np.int64)
    return Segment(numbers, numbers, np.array([len(row) for row in rows], dtype=np.int32), dense, postings)


def bm25(rows: list[list[int]], live: list[bool], terms: list[int]) -> list[float]:
    """The formula of the docstring, in plain Python."""
    alive = [row for row, lives in zip(rows, live, strict=True) if lives]
    mean = sum(map(len, alive)) / len(alive) if alive else 0
    scores = [0.0] * len(rows)
    for term in terms:
        holders = sum(term in row for row in alive)
        idf = math.log(1 + (len(alive) - holders + 0.5) / (holders + 0.5))
        for at, row in enumerate(rows):
            if live[at] and row.count(term):
                scores[at] += idf * row.count(term) * 2.2 / (row.count(term) + 1.2 * (0.25 + 0.75 * len(row) / mean))
    return scores


@pytest.mark.requirement("LEX-2", "RRF-3")
@given(
    st.lists(st.tuples(st.lists(st.integers(1, 6), max_size=8), st.booleans(), st.booleans()), min_size=1, max_size=40),
    st.lists(st.integers(1, 39), max_size=3),
    st.lists(st.integers(1, 7), max_size=4),
    st.integers(1, 6),
)
def test_the_best_rows_are_those_of_the_plain_formula_with_all_that_tie_at_the_cut(
    rows: list[tuple[list[int], bool, bool]], cuts: list[int], terms: list[int], k: int
) -> None:
    held, live, within = [row for row, _, _ in rows], [lives for _, lives, _ in rows], [inside for _, _, inside in rows]
    truth = np.array(bm25(held, live, terms)) * np.array(within)
    allowed = np.array(within) & np.array(live)
    slots, scores = lexical.best(view_of(held, live, cuts), terms, k, allowed)
    least = np.sort(truth)[::-1][min(k, truth.size) - 1]
    expected = {at for at, score in enumerate(truth) if score > 0 and score >= least * (1 - 1e-12)}
    assert set(slots.tolist()) == expected
    assert scores == pytest.approx(truth[slots], rel=1e-12)


@pytest.mark.requirement("LEX-2")
@pytest.mark.parametrize("share", [1.0, 0.9, 0.2], ids=["no filter", "most", "a fifth"])
@pytest.mark.parametrize("rare", [0, 40, 400, 2_000])
def test_giving_up_rows_on_the_way_never_changes_the_answer(
    monkeypatch: pytest.MonkeyPatch, rare: int, share: float
) -> None:
    """Rare terms beside common ones, often and seldom repeated, so that rows are given up early and overtake late."""
    monkeypatch.setattr(race, "_RARE", 0.0)
    monkeypatch.setattr(race, "_RARE_AT_LEAST", rare)
    shares = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.9]
    counts = (chance.random((3_000, 7)) < shares) * chance.integers(1, 9, (3_000, 7))
    rows = [[term for term, count in enumerate(row) for _ in range(count)] for row in counts.tolist()]
    live = (chance.random(3_000) < (1.0 if share == 1 else 0.95)).tolist()
    allowed = None if share == 1 else np.array(live) & (chance.random(3_000) < share)
    view, added = view_of(rows, live, [1_000, 2_900]), [np.array(bm25(rows, live, [term])) for term in range(7)]
    for _ in range(20):
        terms = [*chance.permutation(7)[: chance.integers(2, 7)].tolist(), *chance.integers(0, 7, chance.integers(2))]
        truth = sum(added[term] for term in terms) * (1 if allowed is None else allowed)
        for k in (1, 2, 5, 40):
            slots, scores = lexical.best(view, terms, k, allowed)
            assert np.sort(scores)[::-1][:k] == pytest.approx(np.sort(truth[truth > 0])[::-1][:k], rel=1e-12)
            assert scores == pytest.approx(truth[slots], rel=1e-12)


@pytest.mark.requirement("LEX-2")
@given(
    st.lists(st.booleans(), min_size=1, max_size=30),
    st.lists(st.integers(1, 29), max_size=3),
    st.lists(st.integers(-2, 32), max_size=8),
)
def test_a_row_that_lives_has_a_slot_and_the_slot_has_that_row(
    live: list[bool], cuts: list[int], asked: list[int]
) -> None:
    rows = [[1] * (at % 4) for at in range(len(live))]
    view = view_of(rows, live, cuts)
    slots = view.slots_of(np.array(asked, dtype=np.int64))
    assert view.rows_of(slots).tolist() == [row for row in asked if 0 <= row < len(live) and live[row]]
    slots.sort()
    assert view.lengths_of(slots).tolist() == [len(rows[row]) for row in view.rows_of(slots)]
    lengths = [len(row) for row, lives in zip(rows, live, strict=True) if lives]
    assert view.mean_length == (sum(lengths) / len(lengths) if sum(lengths) else 1.0)


def test_terms_that_no_live_row_holds_find_nothing() -> None:
    view = view_of([[1, 2], [2]], [False, True], [1])
    for terms in ([], [1], [9], [1, 9]):
        assert lexical.best(view, terms, 5, None)[0].size == 0
    assert lexical.best(view, [2], 0, None)[0].size == 0


@pytest.fixture
def coded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Codes for small segments too, and few candidates."""
    monkeypatch.setattr(segments, "CODED_FROM", 100)
    monkeypatch.setattr(vectors, "EXACT_UP_TO", 0)
    monkeypatch.setattr(candidates, "_MOST_SCORED", 800)
    monkeypatch.setattr(candidates, "_MOST_SCORED", 800)


def clustered(count: int) -> np.ndarray:
    centres = random_units(count // 50, 64, seed=1)
    rows = np.repeat(centres, 50, axis=0) + 0.4 * random_units(count, 64, seed=2)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def plain(rows: np.ndarray, query: np.ndarray, allowed: np.ndarray, k: int) -> list[int]:
    found: list[int] = np.argsort(np.where(allowed, -(rows @ query), np.inf), kind="stable")[:k].tolist()
    return found


@pytest.mark.requirement("PORT-4", "SCORE-3")
@pytest.mark.usefixtures("coded")
@pytest.mark.parametrize("share", [1.0, 0.5, 0.1], ids=["no filter", "half", "a tenth"])
def test_candidates_by_code_hold_the_nearest_within_filters_as_without(share: float) -> None:
    rows = clustered(6_000)
    view = view_of([[]] * 6_000, [True] * 6_000, [3_000, 5_500], rows)
    allowed = np.random.default_rng(4).random(6_000) < share
    recalls = []
    for query in rows[7::150]:
        slots, scores = vectors.nearest(view, query, 20, None if share == 1 else allowed)
        recalls.append(np.isin(plain(rows, query, allowed, 20), slots).mean())
        assert allowed[slots].all()
        assert scores.tolist() == vectors.similarities(view, query, slots).tolist()
    assert np.mean(recalls) >= 0.99


@pytest.mark.requirement("RRF-3")
def test_all_rows_that_tie_with_the_last_are_returned() -> None:
    rows = np.repeat(random_units(30, 100, seed=3), 7, axis=0)
    view = view_of([[]] * 210, [True] * 210, [20, 111], rows)
    slots, scores = vectors.nearest(view, rows[0], 3, None)
    assert sorted(slots.tolist()) == list(range(7))
    assert len(set(scores.tolist())) == 1


@pytest.mark.requirement("SCORE-2")
def test_similarities_are_clipped_to_the_range_of_a_cosine() -> None:
    rows = random_units(50, 64, seed=9) * np.float32(1.0001)
    view = view_of([[]] * 50, [True] * 50, [], rows)
    assert vectors.similarities(view, rows[4], np.array([4])).tolist() == [1.0]
    assert vectors.similarities(view, -rows[4], np.array([4])).tolist() == [-1.0]


def test_rows_that_have_gone_are_not_found() -> None:
    rows = random_units(40, 64, seed=9)
    view = view_of([[]] * 40, [at % 2 == 0 for at in range(40)], [10], rows)
    slots, _ = vectors.nearest(view, rows[1], 40, view.live)
    assert sorted(slots.tolist()) == list(range(0, 40, 2))
    assert vectors.nearest(view, rows[1], 0, view.live)[0].size == 0
