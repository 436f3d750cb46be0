"""The search contract on the modes: which paths run, what each reports, how their rankings become one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from citewell.model import PATHS, Mode, SearchRequest
from citewell.ports import KnowledgeSearchPort
from citewell.testing.requirement import requirement
from citewell.testing.search_base import WIDE, SearchSuite, ask, both_modes, documents, found_by, report_of
from citewell.testing.search_corpus import KELP, LAMP, QUARTZ


class DenseModes(SearchSuite):
    """One dense search, and nothing behind the caller's back (PORT-4)."""

    @requirement("PORT-4", "PORT-2")
    def test_dense_mode_runs_one_path_and_reports_it(self, port: KnowledgeSearchPort) -> None:
        response = ask(port, SearchRequest(LAMP, 7))
        (report,) = response.paths
        assert (report.path, report.status, report.hits, report.cut, report.filter) == ("dense", "ran", 7, True, "none")
        assert report.milliseconds >= 0
        assert (len(response.hits), response.degraded, response.store_empty) == (7, (), False)

    @requirement("PORT-4")
    def test_dense_mode_takes_the_category_as_its_filter(self, port: KnowledgeSearchPort) -> None:
        request = SearchRequest(LAMP, WIDE, category="hr")
        response = ask(port, request)
        (report,) = response.paths
        assert report.filter == request.filters(category="hr").describe()
        assert documents(response.hits) == {sample.doc_id for sample in self.corpus() if sample.category == "hr"}
        assert {hit.category for hit in response.hits} == {"hr"}

    @requirement("PORT-4")
    def test_dense_mode_with_a_category_of_nothing_finds_nothing_and_says_so(self, port: KnowledgeSearchPort) -> None:
        response = ask(port, SearchRequest(LAMP, 10, category="finance"))
        assert response.hits == ()
        assert (response.paths[0].status, response.paths[0].hits, response.store_empty) == ("ran", 0, False)

    @requirement("RRF-3", "SCORE-1")
    def test_dense_hits_are_ordered_by_similarity_then_key_and_bear_no_other_number(
        self, port: KnowledgeSearchPort
    ) -> None:
        hits = ask(port, SearchRequest(f"{LAMP} {KELP}", WIDE)).hits
        places = [(-(hit.similarity or 0.0), hit.evidence_key) for hit in hits]
        assert places == sorted(places)
        for rank, hit in enumerate(hits, 1):
            assert [(reason.path, reason.rank) for reason in hit.reasons] == [("dense", rank)]
            assert hit.reasons[0].score == hit.similarity
            assert (hit.lexical_score, hit.fused_score, hit.rerank_score) == (None, None, None)

    @requirement("PORT-2", "POST-5")
    def test_a_width_beyond_the_corpus_is_not_cut(self, port: KnowledgeSearchPort) -> None:
        (report,) = ask(port, SearchRequest(LAMP, WIDE)).paths
        assert (report.hits, report.cut) == (sum(len(sample.texts) for sample in self.corpus()), False)


class HybridModes(SearchSuite):
    """Up to three paths, each reported (PORT-5)."""

    @requirement("PORT-5", "PORT-2")
    def test_hybrid_without_a_category_runs_two_paths_and_says_why_not_the_third(
        self, port: KnowledgeSearchPort
    ) -> None:
        """I84."""
        response = ask(port, SearchRequest(LAMP, 5, "hybrid"))
        assert tuple(report.path for report in response.paths[:3]) == PATHS
        assert [report.status for report in response.paths[:3]] == ["ran", "skipped", "ran"]
        skipped = report_of(response, "dense_filtered")
        assert "category" in skipped.cause
        assert skipped.hits == 0
        assert [report_of(response, path).hits for path in ("dense", "lexical")] == [5, 5]
        assert response.degraded == ()

    @requirement("PORT-5", "PORT-2")
    def test_hybrid_with_a_category_runs_three_paths_of_retrieve_k_each(self, port: KnowledgeSearchPort) -> None:
        """I84, I49."""
        response = ask(port, SearchRequest(LAMP, 4, "hybrid", category="hr"))
        assert [report.status for report in response.paths[:3]] == ["ran", "ran", "ran"]
        assert [(report.hits, report.cut) for report in response.paths[:3]] == [(4, True)] * 3

    @requirement("PORT-5")
    def test_hybrid_filters_by_category_on_its_own_path_alone(self, port: KnowledgeSearchPort) -> None:
        """I77: a category may raise what it matches; it never hides the rest."""
        request = SearchRequest(LAMP, 6, "hybrid", category="hr")
        response = ask(port, request)
        assert report_of(response, "dense_filtered").filter == request.filters(category="hr").describe()
        assert {hit.category for hit in found_by(response, "dense_filtered")} == {"hr"}
        free = ask(port, replace(request, category=None))
        for path in ("dense", "lexical"):
            assert report_of(response, path).filter == "none"
            assert [hit.evidence_key for hit in found_by(response, path)] == [
                hit.evidence_key for hit in found_by(free, path)
            ]
        assert {hit.category for hit in found_by(response, "dense")} != {"hr"}

    @requirement("PORT-5")
    def test_a_category_that_matches_nothing_still_gets_an_answer(self, port: KnowledgeSearchPort) -> None:
        """I77."""
        response = ask(port, SearchRequest(LAMP, 5, "hybrid", category="finance"))
        report = report_of(response, "dense_filtered")
        assert (report.status, report.hits, report.cut) == ("ran", 0, False)
        assert len(found_by(response, "dense")) == 5
        assert response.degraded == ()

    @requirement("RRF-1", "RRF-2", "RRF-4")
    def test_a_fused_score_is_the_sum_over_the_paths_that_found_the_hit(self, port: KnowledgeSearchPort) -> None:
        """I02, I07, I18."""
        response = ask(port, SearchRequest(f"{QUARTZ} {KELP}", 12, "hybrid", category="ops"))
        assert any(len(hit.reasons) == 3 for hit in response.hits)
        for hit in response.hits:
            votes = [response.weights.get(reason.path, 1.0) / (self.rrf_k + reason.rank) for reason in hit.reasons]
            assert hit.fused_score == pytest.approx(sum(votes), rel=1e-9)
            assert len({reason.path for reason in hit.reasons}) == len(hit.reasons)

    @requirement("RRF-3")
    def test_the_fused_order_is_total(self, port: KnowledgeSearchPort) -> None:
        """I19: fused score, best single rank, similarity, key."""
        for query in (LAMP, f"{LAMP} {KELP}", f"{QUARTZ} {KELP}"):
            hits = ask(port, SearchRequest(query, 15, "hybrid", category="hr")).hits
            places = [
                (
                    -(hit.fused_score or 0.0),
                    min(reason.rank for reason in hit.reasons),
                    hit.similarity is None,
                    -(hit.similarity or 0.0),
                    hit.evidence_key,
                )
                for hit in hits
            ]
            assert places == sorted(places)

    @requirement("RRF-3", "PORT-2")
    @both_modes
    def test_the_same_request_gets_the_same_answer(self, port: KnowledgeSearchPort, mode: Mode) -> None:
        request = SearchRequest(f"{KELP} {LAMP}", 12, mode, category="ops")
        assert ask(port, request).hits == ask(port, request).hits
