"""The search contract on answers: the three numbers of a hit, its identity, hard filters, and what nothing is."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from citewell.model import PATHS, Hit, Mode, SearchRequest
from citewell.ports import KnowledgeSearchPort
from citewell.testing.requirement import requirement
from citewell.testing.search_base import (
    PATIENCE_S,
    WIDE,
    SearchSuite,
    ask,
    both_modes,
    documents,
    found_by,
    report_of,
)
from citewell.testing.search_corpus import KELP, LAMP, LONELY, QUARTZ, TWINS
from citewell.testing.store_base import key


class Scores(SearchSuite):
    """Three numbers that are never copied into one another (SCORE-1)."""

    @requirement("SCORE-3", "SCORE-2")
    def test_a_similarity_is_the_same_in_both_modes(self, port: KnowledgeSearchPort) -> None:
        """I33."""
        query = f"{LAMP} {QUARTZ}"
        dense = {hit.evidence_key: hit.similarity for hit in ask(port, SearchRequest(query, WIDE)).hits}
        hybrid = {hit.evidence_key: hit.similarity for hit in ask(port, SearchRequest(query, 9, "hybrid", "ops")).hits}
        assert hybrid == pytest.approx({found: dense[found] for found in hybrid}, abs=1e-6)
        assert all(value is not None and -1 <= value <= 1 for value in hybrid.values())

    @requirement("SCORE-4")
    def test_a_hit_of_the_lexical_path_alone_gets_its_true_similarity(self, port: KnowledgeSearchPort) -> None:
        query = f"{LAMP} {LONELY}"
        response = ask(port, SearchRequest(query, 3, "hybrid"))
        alone = [hit for hit in response.hits if [reason.path for reason in hit.reasons] == ["lexical"]]
        assert key("lonely") in {hit.evidence_key for hit in alone}
        dense = {hit.evidence_key: hit.similarity for hit in ask(port, SearchRequest(query, WIDE)).hits}
        assert {hit.evidence_key: hit.similarity for hit in alone} == pytest.approx(
            {hit.evidence_key: dense[hit.evidence_key] for hit in alone}, abs=1e-6
        )

    @requirement("SCORE-1", "RRF-4")
    def test_each_number_is_that_of_its_own_path(self, port: KnowledgeSearchPort) -> None:
        """I29."""
        for hit in ask(port, SearchRequest(f"{LAMP} {LONELY}", 8, "hybrid", category="ops")).hits:
            scores = {reason.path: reason.score for reason in hit.reasons}
            assert hit.lexical_score == scores.get("lexical")
            assert hit.lexical_score is None or hit.lexical_score > 0
            assert hit.rerank_score is None
            for path in scores.keys() - {"lexical"} & set(PATHS):
                assert scores[path] == pytest.approx(hit.similarity, abs=1e-6)

    @requirement("LEX-2", "SAFE-2")
    @pytest.mark.parametrize(
        "query", [f'"{LAMP}', f"{LAMP} AND", f"title:{LAMP}", f"{LAMP} -{KELP} OR (", f"{LAMP}*?\\", f"{LAMP}' --"]
    )
    def test_nothing_in_a_query_is_syntax(self, port: KnowledgeSearchPort, query: str) -> None:
        """I83."""
        response = ask(port, SearchRequest(query, 5, "hybrid"))
        assert report_of(response, "lexical").status == "ran"
        assert report_of(response, "lexical").hits == 5


class HardFilters(SearchSuite):
    """Scope, `where` and excluded documents hold on every path (SAFE-1)."""

    @requirement("SAFE-1", "SAFE-3", "PORT-2")
    @both_modes
    @pytest.mark.parametrize("category", [None, "ops"])
    def test_scope_holds_on_every_path(self, port: KnowledgeSearchPort, mode: Mode, category: str | None) -> None:
        """I64, I65, I80: also for a text that two tenants share."""
        for query in (LAMP, QUARTZ):
            response = ask(port, SearchRequest(query, WIDE, mode, category, scope=("t1",)))
            assert response.hits
            assert all("t1" in (hit.scope or ()) for hit in response.hits)
            assert all("t1" in report.filter for report in response.paths if report.status == "ran")

    @requirement("SAFE-3")
    @both_modes
    def test_an_empty_scope_sees_nothing_and_no_scope_sees_everything(
        self, port: KnowledgeSearchPort, mode: Mode
    ) -> None:
        """I76."""
        nothing = ask(port, SearchRequest(LAMP, 10, mode, "ops", scope=()))
        assert nothing.hits == ()
        assert not nothing.store_empty
        everything = ask(port, SearchRequest(QUARTZ, WIDE, mode))
        assert {*TWINS, "lonely"} <= documents(ask(port, SearchRequest(LAMP, WIDE)).hits)
        assert set(TWINS) <= documents(everything.hits)

    @requirement("SAFE-1")
    @both_modes
    def test_what_others_hold_changes_no_count(self, port: KnowledgeSearchPort, mode: Mode) -> None:
        """I69: the documents of `t3` are few and far, those of `t2` many and near."""
        response = ask(port, SearchRequest(LAMP, 5, mode, scope=("t3",)))
        assert [report.hits for report in response.paths if report.status == "ran"] == [5] * (
            1 if mode == "dense" else 2
        )
        assert {hit.scope for hit in response.hits} == {("t3",)}

    @requirement("PORT-2", "SAFE-1")
    @both_modes
    def test_where_holds_on_every_path(self, port: KnowledgeSearchPort, mode: Mode) -> None:
        response = ask(port, SearchRequest(LAMP, WIDE, mode, "ops", where=(("lang", "en"), ("year", 2031))))
        assert response.hits
        assert {(hit.metadata["lang"], hit.metadata["year"]) for hit in response.hits} == {("en", 2031)}
        assert all("year" in report.filter for report in response.paths if report.status == "ran")

    @requirement("PORT-2", "POST-7")
    @both_modes
    def test_documents_can_be_left_out_on_every_path(self, port: KnowledgeSearchPort, mode: Mode) -> None:
        before = ask(port, SearchRequest(QUARTZ, WIDE, mode, "ops"))
        after = ask(port, SearchRequest(QUARTZ, WIDE, mode, "ops", exclude_documents=(TWINS[0], "unknown")))
        assert documents(after.hits) == documents(before.hits) - {TWINS[0]}

    @requirement("PORT-2", "SAFE-1")
    @both_modes
    def test_all_hard_filters_hold_together(self, port: KnowledgeSearchPort, mode: Mode) -> None:
        request = SearchRequest(LAMP, WIDE, mode, None, ("t1",), (("lang", "en"),), ("long",))
        hits = ask(port, request).hits
        assert hits
        assert all("t1" in (hit.scope or ()) and hit.metadata["lang"] == "en" and hit.doc_id != "long" for hit in hits)

    @requirement("SAFE-2")
    @both_modes
    @pytest.mark.parametrize("value", ['x" or id >= 0 or "x', "x' or id >= 0 or 'x", "\\", "a\nb", "%"])
    def test_no_value_of_a_filter_is_syntax(self, port: KnowledgeSearchPort, mode: Mode, value: str) -> None:
        """I71."""
        assert ask(port, SearchRequest(LAMP, 10, mode, scope=(value,))).hits == ()
        assert ask(port, SearchRequest(LAMP, 10, mode, where=(("lang", value),))).hits == ()
        filtered = ask(port, SearchRequest(LAMP, 10, mode, category=value))
        assert found_by(filtered, "dense" if mode == "dense" else "dense_filtered") == []


class Answers(SearchSuite):
    """What a hit is, and what nothing is."""

    @requirement("PROJ-6", "PORT-2")
    @both_modes
    def test_an_empty_corpus_is_flagged_and_is_no_error(self, empty_port: KnowledgeSearchPort, mode: Mode) -> None:
        """I87."""
        response = ask(empty_port, SearchRequest(LAMP, 10, mode, "ops", ("t1",)))
        assert response.store_empty
        assert (response.hits, response.degraded) == ((), ())
        assert all(report.hits == 0 and report.status != "failed" for report in response.paths)

    @requirement("PROJ-6")
    @both_modes
    def test_nothing_under_the_filters_is_not_an_empty_corpus(self, port: KnowledgeSearchPort, mode: Mode) -> None:
        response = ask(port, SearchRequest(LAMP, 10, mode, scope=("nobody",)))
        assert (response.hits, response.store_empty, response.degraded) == ((), False, ())

    @requirement("RRF-4", "ID-1", "ID-3", "PORT-1")
    @both_modes
    def test_a_hit_keeps_the_identity_and_the_data_of_its_chunk(self, port: KnowledgeSearchPort, mode: Mode) -> None:
        """I01, I138: whichever paths found it."""
        (sample,) = [sample for sample in self.corpus() if sample.doc_id == "long"]
        hits = {hit.evidence_key: hit for hit in ask(port, SearchRequest(LAMP, WIDE, mode, "ops")).hits}
        for index, text in enumerate(sample.texts):
            hit = hits[key("long", index)]
            assert (hit.doc_id, hit.chunk_index, hit.text, hit.title) == ("long", index, text, sample.title)
            assert (hit.category, hit.scope, hit.source) == (sample.category, sample.scope, "long")
            assert {name: repr(value) for name, value in hit.metadata.items()} == {
                name: repr(value) for name, value in sample.metadata.items()
            }

    @requirement("POST-2", "RRF-2", "RRF-4")
    @both_modes
    def test_the_same_text_in_two_documents_is_two_hits(self, port: KnowledgeSearchPort, mode: Mode) -> None:
        """I01, I06, I08, I13, I54: found by the same paths, with the same similarity, each once."""
        hits = {hit.doc_id: hit for hit in ask(port, SearchRequest(QUARTZ, 10, mode)).hits if hit.doc_id in TWINS}
        first, second = (hits[doc_id] for doc_id in TWINS)
        assert first.text == second.text
        assert first.similarity == pytest.approx(second.similarity, abs=1e-6)
        assert (first.lexical_score is None) is (second.lexical_score is None) is (mode == "dense")
        if mode == "hybrid":
            assert first.lexical_score == pytest.approx(second.lexical_score, rel=1e-6)
        assert [reason.path for reason in first.reasons] == [reason.path for reason in second.reasons]

    @requirement("PORT-1", "PORT-5")
    @both_modes
    def test_four_threads_get_what_one_gets(self, port: KnowledgeSearchPort, mode: Mode) -> None:
        requests = [SearchRequest(query, 10, mode, "ops") for query in (LAMP, KELP, QUARTZ, f"{LAMP} {LONELY}")] * 4
        expected = [ask(port, request).hits for request in requests]

        def hits_of(request: SearchRequest) -> tuple[Hit, ...]:
            return ask(port, request).hits

        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(hits_of, requests, timeout=PATIENCE_S)) == expected
