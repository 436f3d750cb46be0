"""The contract that every reranker keeps: subclass, override one fixture, run pytest (RERANK-1).

    from citewell.testing import RerankerContract

    class TestMyReranker(RerankerContract):
        @pytest.fixture(scope="class")
        def reranker(self):
            return MyReranker()

It asks for shapes, order and repeatability; that better texts score higher is a matter of measuring, not of tests.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import pytest

from citewell.ports import Reranker
from citewell.testing.embedder import LONG_TEXTS, ODD_TEXTS, TEXTS
from citewell.testing.requirement import requirement

PATIENCE_S = 300.0
QUERY = "Why is the connection pool exhausted?"


class RerankerContract:
    """Every sentence of `citewell.ports.Reranker`, as tests. Override the fixture `reranker`."""

    score_tolerance: ClassVar[float] = 1e-4
    """How far a score may move with the other texts of the call; models that pad a batch round differently."""

    @pytest.fixture
    def reranker(self) -> Iterator[Reranker]:
        """The reranker; a fixture of scope `class` spares loading a model for each test."""
        raise NotImplementedError("override the fixture `reranker` and return a reranker")

    @requirement("RERANK-1")
    def test_it_is_a_reranker_with_a_name(self, reranker: Reranker) -> None:
        assert isinstance(reranker, Reranker)
        assert reranker.name.strip()

    @requirement("RERANK-1")
    @pytest.mark.parametrize("count", [1, 2, len(TEXTS)])
    def test_each_text_gets_one_finite_score(self, reranker: Reranker, count: int) -> None:
        scores = reranker.rerank(QUERY, list(TEXTS[:count]))
        assert len(scores) == count
        assert all(math.isfinite(score) for score in scores)

    @requirement("RERANK-1")
    def test_no_texts_get_no_scores(self, reranker: Reranker) -> None:
        assert len(reranker.rerank(QUERY, [])) == 0

    @requirement("RERANK-1")
    def test_a_score_belongs_to_its_text_whatever_the_order_and_the_company(self, reranker: Reranker) -> None:
        together = self._scores(reranker, TEXTS)
        assert self._scores(reranker, TEXTS[::-1])[::-1] == pytest.approx(together, abs=self.score_tolerance)
        alone = [self._scores(reranker, [text])[0] for text in TEXTS]
        assert alone == pytest.approx(together, abs=self.score_tolerance)

    @requirement("RERANK-1")
    def test_the_same_text_twice_gets_the_same_score(self, reranker: Reranker) -> None:
        first, _, second = self._scores(reranker, [TEXTS[0], TEXTS[1], TEXTS[0]])
        assert first == pytest.approx(second, abs=self.score_tolerance)

    @requirement("RERANK-1")
    def test_more_texts_than_fit_one_batch_are_scored_in_their_order(self, reranker: Reranker) -> None:
        many = [f"{text} {number}" for number in range(25) for text in TEXTS]
        scores = self._scores(reranker, many)
        assert len(scores) == len(many)
        assert scores[-3:] == pytest.approx(self._scores(reranker, many[-3:]), abs=self.score_tolerance)

    @requirement("RERANK-1")
    def test_what_was_given_is_not_changed(self, reranker: Reranker) -> None:
        texts = list(TEXTS)
        reranker.rerank(QUERY, texts)
        assert texts == list(TEXTS)

    @requirement("RERANK-1")
    @pytest.mark.parametrize("text", [*ODD_TEXTS, "\ud800 half a pair"], ids=lambda text: ascii(text[:12]))
    def test_odd_texts_and_odd_queries_get_a_score_like_any_other(self, reranker: Reranker, text: str) -> None:
        self._scores(reranker, [text, TEXTS[0]])
        self._scores(reranker, [TEXTS[0]], query=text)

    @requirement("RERANK-1")
    def test_a_text_far_beyond_the_limit_gets_a_score_too(self, reranker: Reranker) -> None:
        self._scores(reranker, [LONG_TEXTS[0][:20_000], TEXTS[0]])

    @requirement("RERANK-1")
    def test_four_threads_get_what_one_gets(self, reranker: Reranker) -> None:
        expected = self._scores(reranker, TEXTS)
        with ThreadPoolExecutor(4) as pool:
            futures = [pool.submit(self._scores, reranker, TEXTS) for _ in range(8)]
            for future in futures:
                assert future.result(PATIENCE_S) == pytest.approx(expected, abs=self.score_tolerance)

    def _scores(self, reranker: Reranker, texts: Sequence[str], query: str = QUERY) -> list[float]:
        scores = [float(score) for score in reranker.rerank(query, list(texts))]
        assert len(scores) == len(texts)
        assert all(map(math.isfinite, scores))
        return scores
