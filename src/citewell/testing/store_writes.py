"""The store contract on writing: replacement by versions, reuse of vectors, conflicts, deletion."""

from __future__ import annotations

from dataclasses import replace

import pytest

from citewell.errors import StoreConflict, StoreError
from citewell.model import DocumentChange, Filters, Reuse
from citewell.ports import Store
from citewell.testing.fakes import unit
from citewell.testing.requirement import requirement
from citewell.testing.samples import DOCS, change, terms_of
from citewell.testing.store_base import (
    EMBEDDER,
    StoreSuite,
    dense,
    key,
    lexical,
    look,
    put,
    random_units,
    size_of,
    texts_of,
    version_of,
    write,
)


class Replacements(StoreSuite):
    """A new version takes the place of the old one, whole."""

    @requirement("INGEST-5")
    def test_a_shorter_version_leaves_no_tail_on_any_path(self, store: Store) -> None:
        """I93."""
        put(store, "alpha", [f"shared tail{number}" for number in range(6)])
        put(store, "alpha", ["shared first", "shared second"])
        keys = [key("alpha"), key("alpha", 1)]
        assert look(store, "shared").everywhere == keys
        assert not lexical(store, [f"tail{number}" for number in range(6)])
        gone = [key("alpha", index) for index in range(6)]
        assert texts_of(store, gone) == {keys[0]: "shared first", keys[1]: "shared second"}
        with store.snapshot() as snapshot:
            assert sorted(snapshot.similarities(EMBEDDER.embed_query("shared"), gone)) == keys
            assert snapshot.size == 2

    @requirement("INGEST-5")
    def test_a_new_text_under_an_old_index_replaces_vector_and_terms(self, store: Store) -> None:
        put(store, "a.md", ["about apples"])
        put(store, "a.md", ["concerning pears"])
        assert not lexical(store, ["apples"])
        (hit,) = dense(store, EMBEDDER.embed_query("concerning pears"), 5)
        assert hit.score == pytest.approx(1.0, abs=1e-6)

    @requirement("INGEST-5")
    def test_a_reuse_takes_the_vector_of_the_stored_version(self, store: Store) -> None:
        first, second, third = (unit([float(axis == at) for axis in range(64)]) for at in range(3))
        put(store, "a.md", ["one", "two"], vectors=[first, second])
        put(store, "a.md", ["zero", "one again", "two again"], vectors=[third, Reuse(0), Reuse(1)])
        assert dense(store, first, 1)[0].key == key("a.md", 1)
        assert dense(store, second, 1)[0].key == key("a.md", 2)
        assert dense(store, third, 1)[0].key == key("a.md")

    @requirement("INGEST-5")
    def test_vectors_can_be_reused_in_another_order_and_more_than_once(self, store: Store) -> None:
        first, second = random_units(2, seed=1)
        put(store, "a.md", ["one", "two"], vectors=[first, second])
        put(store, "a.md", ["two", "one", "two"], vectors=[Reuse(1), Reuse(0), Reuse(1)])
        with store.snapshot() as snapshot:
            near = snapshot.similarities(second, [key("a.md", index) for index in range(3)])
        one = float(first @ second)
        assert near == pytest.approx({key("a.md"): 1.0, key("a.md", 1): one, key("a.md", 2): 1.0}, abs=1e-5)

    @requirement("INGEST-5")
    def test_a_reuse_of_what_is_not_stored_writes_nothing(self, store: Store) -> None:
        put(store, "a.md", ["one"])
        with pytest.raises(StoreError):
            put(store, "a.md", ["one", "two"], vectors=[Reuse(0), Reuse(1)])
        with pytest.raises(StoreError):
            put(store, "b.md", ["one"], vectors=[Reuse(0)])
        assert [info.chunks for info in store.documents()] == [1]

    @requirement("INGEST-5")
    def test_new_scope_category_and_metadata_take_effect_while_vectors_are_reused(self, store: Store) -> None:
        put(store, "a.md", ["text"], category="ops", scope="old", metadata={"page": 1, "lang": "en"})
        put(store, "a.md", ["text"], category="hr", scope=["new", "newer"], metadata={"page": 2}, vectors=[Reuse(0)])
        before = (
            Filters("ops"),
            Filters(scope=("old",)),
            Filters(where=(("page", 1),)),
            Filters(where=(("lang", "en"),)),
        )
        after = (Filters("hr"), Filters(scope=("newer",)), Filters(where=(("page", 2),)))
        assert all(not look(store, "text", filters).everywhere for filters in before)
        assert all(look(store, "text", filters).everywhere == [key("a.md")] for filters in after)
        with store.snapshot() as snapshot:
            chunk = snapshot.fetch([key("a.md")])[key("a.md")]
        assert (chunk.category, chunk.scope, chunk.metadata) == ("hr", ("new", "newer"), {"page": 2})

    @requirement("INGEST-5")
    def test_a_new_title_takes_effect_while_vectors_are_reused(self, store: Store) -> None:
        put(store, "a.md", ["text"], title="Yesterday")
        put(store, "a.md", ["text"], title="Tomorrow", vectors=[Reuse(0)])
        assert not lexical(store, terms_of("Yesterday"))
        assert len(lexical(store, terms_of("Tomorrow"))) == 1
        with store.snapshot() as snapshot:
            assert snapshot.fetch([key("a.md")])[key("a.md")].title == "Tomorrow"
        assert [info.title for info in store.documents()] == ["Tomorrow"]

    @requirement("INGEST-5")
    def test_writing_a_corpus_three_times_changes_no_count_and_no_answer(self, store: Store) -> None:
        """I99."""
        answers = []
        for _ in range(3):
            write(store, *(doc.change(expected_version=version_of(store, doc.doc_id)) for doc in DOCS))
            answers.append((size_of(store), look(store, "rotating the signing key"), list(store.documents())))
        assert answers[0] == answers[1] == answers[2]
        assert answers[0][0] == 8

    @requirement("INGEST-5")
    def test_what_the_caller_does_with_its_values_later_changes_nothing(self, store: Store) -> None:
        vector, metadata = random_units(1, seed=3)[0], {"tags": ["one"]}
        new = change("a.md", ["text"], vectors=[vector])
        write(store, replace(new, document=replace(new.document, metadata=metadata)))
        kept = vector.copy()
        vector[:] = 0
        metadata["tags"].append("two")
        assert dense(store, kept, 1)[0].score == pytest.approx(1.0, abs=1e-6)
        assert [info.metadata for info in store.documents()] == [{"tags": ["one"]}]


class Conflicts(StoreSuite):
    """A plan made against another version is refused, and with it the whole call."""

    @requirement("INGEST-5", "INGEST-7")
    @pytest.mark.parametrize("wrong", ["absent but expected", "present but unexpected", "older than stored"])
    def test_an_unexpected_version_is_refused_and_nothing_of_the_call_is_written(
        self, store: Store, wrong: str
    ) -> None:
        put(store, "a.md", ["first shared"])
        stale = version_of(store, "a.md")
        put(store, "a.md", ["second shared"])
        doc_id, expected = {
            "absent but expected": ("absent.md", 1),
            "present but unexpected": ("a.md", 0),
            "older than stored": ("a.md", stale),
        }[wrong]
        self._refused(
            store, change("new.md", ["third shared"]), change(doc_id, ["fourth shared"], expected_version=expected)
        )

    @requirement("INGEST-5", "INGEST-7")
    def test_one_document_twice_in_a_call_is_refused(self, store: Store) -> None:
        put(store, "a.md", ["first shared"])
        twice = change("b.md", ["second shared"])
        self._refused(store, change("c.md", ["third shared"]), twice, replace(twice))

    def _refused(self, store: Store, *changes: DocumentChange) -> None:
        before = (list(store.documents()), look(store, "shared"), store.stored("a.md"), size_of(store))
        with pytest.raises(StoreConflict):
            write(store, *changes)
        assert before == (list(store.documents()), look(store, "shared"), store.stored("a.md"), size_of(store))
        assert store.verify().ok

    @requirement("INGEST-5", "INGEST-7")
    def test_versions_grow_with_every_write_even_across_a_deletion(self, store: Store) -> None:
        versions = []
        for text in ("one", "two"):
            put(store, "a.md", [text])
            versions.append(version_of(store, "a.md"))
        store.delete(["a.md"])
        put(store, "a.md", ["three"])
        versions.append(version_of(store, "a.md"))
        assert 0 < versions[0] < versions[1] < versions[2]


class Deletions(StoreSuite):
    """What is deleted is gone from every path at once."""

    @requirement("INGEST-5", "LEX-2")
    def test_a_deleted_document_is_found_on_no_path_and_the_others_stay(self, store: Store) -> None:
        """I90."""
        write(store, *(change(doc_id, ["shared one", "shared two"]) for doc_id in ("a.md", "b.md", "c.md")))
        assert store.delete(["b.md"]) == 2
        assert look(store, "shared").everywhere == [key("a.md"), key("a.md", 1), key("c.md"), key("c.md", 1)]
        with store.snapshot() as snapshot:
            assert not snapshot.fetch([key("b.md")])
            assert not snapshot.similarities(EMBEDDER.embed_query("shared"), [key("b.md")])
            assert snapshot.size == 4
        assert store.stored("b.md") is None

    @requirement("INGEST-5")
    def test_a_deletion_touches_no_id_that_looks_like_the_one_given(self, store: Store) -> None:
        alike = ["a", "A", "ab", "a/b", "a b", "a.md", "a%", "_", key("a")]
        write(store, *(change(doc_id, ["text"]) for doc_id in alike))
        for at, doc_id in enumerate(alike, 1):
            assert store.delete([doc_id]) == 1
            assert [info.doc_id for info in store.documents()] == sorted(alike[at:])

    @requirement("INGEST-5")
    def test_delete_counts_chunks_and_ignores_ids_that_it_does_not_know(self, store: Store) -> None:
        write(store, change("a.md", ["one", "two", "three"]), change("b.md", ["four"]))
        assert store.delete(["nothing.md"]) == 0
        assert store.delete(["a.md", "nothing.md", "a.md"]) == 3
        assert store.delete(["a.md"]) == 0
        assert [info.doc_id for info in store.documents()] == ["b.md"]
