"""The store contract on the paths: dense order, ties, similarities, BM25 and its statistics; not their filters."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from citewell.model import Filters, Scored
from citewell.ports import Store
from citewell.testing.fakes import unit
from citewell.testing.requirement import requirement
from citewell.testing.samples import DOCS, ZH, change, terms_of
from citewell.testing.store_base import (
    EMBEDDER,
    StoreSuite,
    dense,
    key,
    keys_of,
    lexical,
    look,
    put,
    random_units,
    write,
)

HOSTILE_TERMS = (
    '"', "'", '"quoted"', "AND", "and", "OR", "NOT", "a:b", "text:x", "c:\\new\\", "\\", "\\\\", "*", "te*", "te", "?",
    "(", ")", "+x", "-x", "x", "~2", "x^2", "[a", "b]", "{}", "/re.*/", "%", "_", "max_conn", "max",
    "kb-4471", "4471", "网关", "关", "é", "e", "😀", "#", key("a"), "--", ";", "x'or'1'='1", "l" * 300,
)  # fmt: skip


def ordered(hits: tuple[Scored, ...]) -> bool:
    """Best first, equal scores by evidence key, no key twice."""
    places = [(-hit.score, hit.key) for hit in hits]
    return places == sorted(places) and len(set(keys_of(hits))) == len(hits)


class DensePaths(StoreSuite):
    """The nearest chunks, in a total order."""

    @requirement("PORT-4", "RRF-3", "SCORE-2")
    def test_the_nearest_chunks_come_first_as_in_exact_search(self, store: Store) -> None:
        vectors = random_units(400, seed=11)
        truth = {key(f"{doc}.md", at): vectors[doc * 10 + at] for doc in range(40) for at in range(10)}
        write(
            store,
            *(change(f"{doc}.md", ["x"] * 10, vectors=list(vectors[doc * 10 : doc * 10 + 10])) for doc in range(40)),
        )
        recalls = []
        for query in random_units(20, seed=12):
            exact = {key: float(vector.astype(np.float64) @ query.astype(np.float64)) for key, vector in truth.items()}
            hits = dense(store, query, 20)
            assert len(hits) == 20
            assert ordered(hits)
            assert all(hit.score == pytest.approx(exact[hit.key], abs=1e-5) for hit in hits)
            best = sorted(exact, key=lambda key: (-exact[key], key))[:20]
            recalls.append(len({*best} & {*keys_of(hits)}) / 20)
        assert sum(recalls) / len(recalls) >= self.recall

    @requirement("PORT-4")
    def test_a_width_beyond_the_store_returns_every_chunk_once(self, store: Store) -> None:
        write(store, *(change(f"{number}.md", ["x", "y"]) for number in range(5)))
        hits = dense(store, random_units(1, seed=4)[0], 1000)
        assert len(hits) == 10
        assert ordered(hits)

    @requirement("RRF-3")
    def test_equal_vectors_are_ordered_by_key_at_the_cut_too(self, store: Store) -> None:
        near, tied = random_units(2, seed=5)
        ids = [f"tie{number:02}.md" for number in range(40)]
        random.Random(6).shuffle(ids)  # noqa: S311 - a fixed order, no secret
        for batch in (ids[:15], ids[15:16], ids[16:]):
            write(store, *(change(doc_id, ["x"], vectors=[tied]) for doc_id in batch))
        write(store, change("zz.md", ["x"], vectors=[near]), change("aa.md", ["x"], vectors=[-tied]))
        query = unit(tied + 0.5 * near)
        (other,) = dense(store, near, 1)
        assert other.key == key("zz.md")
        for k in (1, 10, 39, 40):
            tied_hits = [hit for hit in dense(store, query, k + 1) if hit.key != other.key][:k]
            assert keys_of(tied_hits) == tuple(key(f"tie{number:02}.md") for number in range(k))
            assert len({hit.score for hit in tied_hits}) == 1
        assert dense(store, query, 42)[-1].key == key("aa.md")

    @requirement("RRF-3")
    def test_keys_are_ordered_as_text_not_as_numbers(self, store: Store) -> None:
        put(store, "a.md", ["shared same"] * 12)
        keys = tuple(sorted(key("a.md", index) for index in range(12)))
        assert keys[2] == key("a.md", 10)
        assert look(store, "shared").dense == look(store, "shared").lexical == keys

    @requirement("POST-2", "ID-3")
    def test_the_same_text_in_two_documents_is_found_twice(self, store: Store) -> None:
        """I13, I16: and a paragraph repeated within one document too."""
        put(store, "a.md", ["shared text", "other shared", "shared text"])
        put(store, "b.md", ["shared text"])
        assert look(store, "shared text").dense[:3] == (key("a.md"), key("a.md", 2), key("b.md"))
        assert look(store, "shared text").everywhere == [key("a.md"), key("a.md", 1), key("a.md", 2), key("b.md")]


class Similarities(StoreSuite):
    """One similarity per chunk, whoever asks."""

    @requirement("SCORE-3", "SCORE-4")
    def test_a_similarity_equals_the_score_of_the_dense_path(self, store: Store) -> None:
        """I33."""
        vectors = random_units(120, seed=21)
        write(
            store, *(change(f"{doc}.md", ["x"] * 4, vectors=list(vectors[doc * 4 : doc * 4 + 4])) for doc in range(30))
        )
        for query in random_units(5, seed=22):
            with store.snapshot() as snapshot:
                hits = {hit.key: hit.score for hit in snapshot.dense(query, 200, Filters())}
                assert len(hits) == 120
                assert snapshot.similarities(query, list(hits)) == pytest.approx(hits, abs=1e-6)
                assert snapshot.similarities(query, sorted(hits)) == pytest.approx(hits, abs=1e-6)
                for key in sorted(hits)[::17]:
                    assert snapshot.similarities(query, [key]) == pytest.approx({key: hits[key]}, abs=1e-6)

    @requirement("SCORE-4")
    def test_keys_that_are_not_there_have_no_similarity(self, store: Store) -> None:
        put(store, "a.md", ["text"])
        strangers = [key("a.md", 1), key("b.md"), "vector:7", "nonsense", key("a.md") + " ", ""]
        with store.snapshot() as snapshot:
            near = snapshot.similarities(EMBEDDER.embed_query("text"), [key("a.md"), *strangers])
            assert near == pytest.approx({key("a.md"): 1.0}, abs=1e-6)
            assert snapshot.similarities(EMBEDDER.embed_query("text"), []) == {}

    @requirement("SCORE-1", "SCORE-2")
    def test_a_similarity_is_the_cosine_with_its_sign_and_zero_is_a_value(self, store: Store) -> None:
        """I12, I36."""
        axis = unit([1.0] + [0.0] * 63)
        across, between = unit([0.0, 1.0] + [0.0] * 62), unit([0.6, 0.8] + [0.0] * 62)
        put(store, "a.md", ["same", "between", "across", "opposite"], vectors=[axis, between, across, -axis])
        expected = [(key("a.md"), 1.0), (key("a.md", 1), 0.6), (key("a.md", 2), 0.0), (key("a.md", 3), -1.0)]
        hits = dense(store, axis, 10)
        assert keys_of(hits) == tuple(key for key, _ in expected)
        assert [hit.score for hit in hits] == pytest.approx([score for _, score in expected], abs=1e-6)
        with store.snapshot() as snapshot:
            assert snapshot.similarities(axis, keys_of(hits)) == pytest.approx(dict(expected), abs=1e-6)

    @requirement("SCORE-2")
    def test_no_similarity_leaves_the_range_of_a_cosine(self, store: Store) -> None:
        vectors = random_units(60, seed=23)
        put(store, "a.md", ["x"] * 60, vectors=list(vectors))
        for query in (*vectors[:20], *-vectors[:20]):
            assert all(-1.0 <= hit.score <= 1.0 for hit in dense(store, query, 60))


class LexicalPaths(StoreSuite):
    """BM25 over terms that are compared exactly."""

    @requirement("LEX-2", "PORT-5")
    def test_any_of_the_terms_is_enough_and_a_chunk_with_none_is_no_hit(self, store: Store) -> None:
        put(store, "a.md", ["red apple", "green pear", "blue plum"])
        hits = lexical(store, ["apple", "pear", "unheard"])
        assert sorted(keys_of(hits)) == [key("a.md"), key("a.md", 1)]
        assert all(hit.score > 0 for hit in hits)
        assert lexical(store, ["unheard"]) == ()
        assert lexical(store, []) == ()

    @requirement("LEX-2")
    def test_a_term_that_every_chunk_holds_still_scores(self, store: Store) -> None:
        put(store, "a.md", ["common one", "common two"])
        put(store, "b.md", ["common three"])
        hits = lexical(store, ["common"])
        assert len(hits) == 3
        assert all(hit.score > 0 for hit in hits)

    @requirement("LEX-2")
    def test_a_rare_term_weighs_more_and_a_repeated_one_too(self, store: Store) -> None:
        put(store, "a.md", ["common one xx yy", "common two xx yy", "common common xx yy", "three four rare yy"])
        assert lexical(store, ["common", "rare"])[0].key == key("a.md", 3)
        assert keys_of(lexical(store, ["common"])) == (key("a.md", 2), key("a.md"), key("a.md", 1))

    @requirement("LEX-2")
    def test_the_shorter_of_two_chunks_with_the_same_term_comes_first(self, store: Store) -> None:
        put(store, "a.md", ["apple " + " ".join(f"filler{number}" for number in range(60)), "apple pie"])
        assert keys_of(lexical(store, ["apple"])) == (key("a.md", 1), key("a.md"))

    @requirement("RRF-3", "LEX-2")
    def test_equal_scores_are_ordered_by_key_at_the_cut_too(self, store: Store) -> None:
        ids = [f"tie{number:02}.md" for number in range(40)]
        random.Random(7).shuffle(ids)  # noqa: S311 - a fixed order, no secret
        for batch in (ids[:15], ids[15:16], ids[16:]):
            write(store, *(change(doc_id, ["same words here"]) for doc_id in batch))
        put(store, "zz.md", ["same same same"])
        for k in (1, 10, 39, 40):
            hits = lexical(store, ["same"], k + 1)
            assert ordered(hits)
            assert keys_of(hits) == (key("zz.md"), *(key(f"tie{number:02}.md") for number in range(k)))

    @requirement("LEX-2", "SAFE-2")
    def test_nothing_in_a_term_is_syntax(self, store: Store) -> None:
        """I83: each of these terms finds exactly the chunk that holds it, also beside the others."""
        put(store, "a.md", ["x"] * len(HOSTILE_TERMS), terms=[[term] for term in HOSTILE_TERMS])
        for index, term in enumerate(HOSTILE_TERMS):
            assert keys_of(lexical(store, [term])) == (key("a.md", index),), term
        assert len(lexical(store, HOSTILE_TERMS)) == len(HOSTILE_TERMS)
        for term in ("An", "xx", "kb", "te?", "网", "chunk", "a", '""', "text", "E", "l" * 299):
            assert lexical(store, [term]) == (), term

    @requirement("LEX-2")
    def test_a_chunk_without_terms_is_kept_and_never_a_lexical_hit(self, store: Store) -> None:
        put(store, "a.md", ["!!!", "apple"], terms=[[], ["apple"]])
        assert keys_of(lexical(store, ["apple", "", "!!!"])) == (key("a.md", 1),)
        assert len(dense(store, EMBEDDER.embed_query("apple"), 5)) == 2

    @requirement("LEX-2")
    def test_a_store_in_which_no_chunk_has_terms_answers_empty(self, store: Store) -> None:
        """I87: the mean length is zero."""
        put(store, "a.md", ["!!!"], terms=[[]])
        assert lexical(store, ["apple"]) == ()

    @requirement("LEX-2", "LEX-3")
    def test_chinese_terms_are_found_by_the_lexical_path_alone(self, store: Store) -> None:
        """I81, as far as a store goes: terms come from the analyser."""
        write(store, *(sample.change() for sample in ZH))
        for query in ("连接池耗尽", "重启网关"):
            assert lexical(store, terms_of(query))[0].key == key("handbook-zh", 1)
        assert lexical(store, terms_of("Redis连接超时"))[0].key == key("handbook-zh", 2)

    @requirement("LEX-2")
    def test_filters_do_not_change_scores(self, store: Store) -> None:
        for number in range(30):
            put(store, f"{number}.md", [f"apple {'pie ' * (number % 4)}"], category="ops" if number % 3 else "hr")
        free = {hit.key: hit.score for hit in lexical(store, ["apple", "pie"])}
        kept = {hit.key: hit.score for hit in lexical(store, ["apple", "pie"], filters=Filters("hr"))}
        assert len(kept) == 10
        assert kept == pytest.approx({key: free[key] for key in kept}, rel=1e-6)

    @requirement("LEX-2")
    def test_documents_that_came_and_went_leave_ids_and_scores_as_they_were(self, store: Store) -> None:
        """I90: the hits at once, the statistics after compaction."""
        write(store, *(sample.change() for sample in DOCS))
        terms = terms_of("rotating the signing key")
        before = lexical(store, terms)
        write(store, *(change(f"other{number}", ["the key to the signing room", "the key"]) for number in range(100)))
        assert store.delete([f"other{number}" for number in range(100)]) == 200
        assert sorted(keys_of(lexical(store, terms))) == sorted(keys_of(before))
        self.compact(store)
        after = lexical(store, terms)
        assert keys_of(after) == keys_of(before)
        assert [hit.score for hit in after] == pytest.approx(
            [hit.score for hit in before], rel=self.statistics_tolerance
        )

    @requirement("INGEST-5", "LEX-2")
    def test_changed_terms_of_an_unchanged_text_take_effect(self, store: Store) -> None:
        put(store, "a.md", ["text"], terms=[["old"]])
        new = change("a.md", ["text"], terms=[["new"]])
        stored = store.stored("a.md")
        assert stored is not None
        write(store, replace(new, expected_version=stored.version))
        assert lexical(store, ["old"]) == ()
        assert len(lexical(store, ["new"])) == 1
