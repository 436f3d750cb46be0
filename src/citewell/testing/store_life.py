"""The store contract on a store's life: empty stores, the binding, the catalogue, closing and opening again."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import pytest

from citewell.errors import EmbedderMismatch, StoreError, StoreVersion
from citewell.model import DocumentInfo, EmbedderIdentity, Filters, StoreBinding
from citewell.ports import Store
from citewell.testing.requirement import requirement
from citewell.testing.samples import binding_of, change
from citewell.testing.store_base import (
    ANY,
    EMBEDDER,
    StoreSuite,
    dense,
    key,
    keys_of,
    lexical,
    look,
    put,
    random_units,
    size_of,
    write,
)

BINDING = binding_of(EMBEDDER)


def assert_empty(store: Store) -> None:
    """Nothing on any path, in the catalogue or in the figures, and nothing that fails."""
    vector, filters = EMBEDDER.embed_query("anything"), Filters("ops", ("a",), (("page", 1),), ("other.md",))
    with store.snapshot() as snapshot:
        assert snapshot.size == 0
        for limits in (ANY, filters):
            assert not snapshot.dense(vector, 10, limits)
            assert not snapshot.lexical(("anything",), 10, limits)
        assert not snapshot.similarities(vector, (key("a.md"),))
        assert not snapshot.fetch((key("a.md"),))
    assert not list(store.documents())
    assert store.stored("a.md") is None
    assert store.delete(["a.md"]) == 0
    assert (store.status().documents, store.status().chunks) == (0, 0)
    assert store.verify().ok


class EmptyStores(StoreSuite):
    """A store without documents is a store, not an error."""

    @requirement("PORT-6", "PROJ-6")
    def test_an_empty_store_answers_empty_on_every_path(self, store: Store) -> None:
        """I87: before anything is bound, and when bound but not filled."""
        assert_empty(store)
        store.bind(BINDING)
        assert_empty(store)

    @requirement("PORT-6", "PROJ-6")
    def test_a_store_answers_empty_again_after_everything_was_deleted(self, store: Store) -> None:
        """I87."""
        write(store, change("a.md", ["anything one", "anything two"]), change("b.md", ["anything three"]))
        assert store.delete(["a.md", "b.md"]) == 3
        assert_empty(store)

    @requirement("PORT-6")
    def test_a_store_can_be_filled_again_after_everything_was_deleted(self, store: Store) -> None:
        put(store, "a.md", ["old words"])
        store.delete(["a.md"])
        put(store, "a.md", ["new words"])
        assert look(store, "words").everywhere == [key("a.md")]

    @requirement("PORT-6")
    def test_applying_nothing_writes_nothing(self, store: Store) -> None:
        store.bind(BINDING)
        store.apply([])
        assert store.delete([]) == 0
        assert_empty(store)


class Bindings(StoreSuite):
    """A store knows what its contents were made with (INGEST-8)."""

    others: ClassVar = [
        (replace(BINDING.embedder, name="other-words"), ("hash-words", "other-words")),
        (replace(BINDING.embedder, dimensions=32), ("64", "32")),
        (replace(BINDING.embedder, fingerprint="other-print"), ("hash-words", "other-print")),
        (replace(BINDING.embedder, prefixes=("query: ", "passage: ")), ("hash-words",)),
    ]

    @requirement("INGEST-8")
    def test_a_new_store_is_bound_to_nothing(self, store: Store) -> None:
        assert store.binding() is None
        assert store.status().binding is None

    @requirement("INGEST-8")
    def test_a_binding_is_remembered_and_may_be_repeated(self, store: Store) -> None:
        store.bind(BINDING)
        store.bind(BINDING)
        assert store.binding() == BINDING
        assert store.status().binding == BINDING

    @requirement("INGEST-8")
    def test_a_binding_outlives_the_last_document(self, store: Store) -> None:
        put(store, "a.md", ["text"])
        store.delete(["a.md"])
        assert store.binding() == BINDING

    @requirement("INGEST-8")
    @pytest.mark.parametrize(("other", "named"), others, ids=["name", "dimensions", "fingerprint", "prefixes"])
    def test_another_embedder_is_refused_with_both_named(
        self, store: Store, other: EmbedderIdentity, named: tuple[str, ...]
    ) -> None:
        """I133."""
        put(store, "a.md", ["text"])
        with pytest.raises(EmbedderMismatch) as refusal:
            store.bind(replace(BINDING, embedder=other))
        assert all(name in refusal.value.message for name in named)
        assert refusal.value.way_out
        assert store.binding() == BINDING
        assert look(store, "text").everywhere == [key("a.md")]

    @requirement("INGEST-8")
    def test_another_analyser_is_refused(self, store: Store) -> None:
        store.bind(BINDING)
        with pytest.raises(StoreVersion) as refusal:
            store.bind(StoreBinding(BINDING.embedder, "other-analyser"))
        assert "other-analyser" in refusal.value.message
        assert store.binding() == BINDING


class Catalogues(StoreSuite):
    """What the store says of itself and of its documents."""

    @requirement("INGEST-5", "API-1")
    def test_documents_come_in_the_order_of_their_ids_with_their_figures(self, store: Store) -> None:
        ids = ["z.md", "a2.md", "文.md", "B.md", "a10.md", "é.md", "😀.md", "a.md"]
        write(store, *(change(doc_id, ["a" * 7, "b" * 5], title=f"T {doc_id}") for doc_id in ids))
        listed = list(store.documents())
        assert [info.doc_id for info in listed] == sorted(ids)
        assert {(info.chunks, info.characters) for info in listed} == {(2, 12)}

    @requirement("INGEST-5", "API-1")
    def test_a_catalogue_row_holds_what_was_written(self, store: Store) -> None:
        metadata = {"page": 3, "draft": False, "tags": ["x", 1], "nested": {"deep": None}}
        new = change("a.md", ["text"], title="T", source="s/a.md", category="ops", scope=["b", "a"], metadata=metadata)
        write(store, new)
        record = new.document
        assert record.headings == ("T",)
        assert list(store.documents()) == [
            DocumentInfo(
                "a.md",
                "T",
                "s/a.md",
                "ops",
                ("a", "b"),
                metadata,
                1,
                4,
                record.fingerprint,
                record.content_digest,
                record.headings,
            )
        ]

    @requirement("INGEST-5")
    def test_documents_can_be_deleted_while_the_catalogue_is_read(self, store: Store) -> None:
        write(store, *(change(f"{number}.md", ["text"]) for number in range(9)))
        assert sum(store.delete([info.doc_id]) for info in store.documents()) == 9
        assert size_of(store) == 0

    @requirement("INGEST-5")
    def test_stored_gives_the_record_and_the_context_digests_in_order(self, store: Store) -> None:
        new = change("a.md", [f"text {number}" for number in range(12)], title="T", scope="x", metadata={"page": 1})
        write(store, new, change("b.md", ["other"]))
        stored = store.stored("a.md")
        assert stored is not None
        assert stored.record == new.document
        assert stored.context_digests == tuple(chunk.context_digest for chunk in new.chunks)

    @requirement("API-1", "INGEST-7")
    def test_the_status_counts_and_its_sequence_grows_with_every_write(self, store: Store) -> None:
        sequences = [store.status().sequence]
        put(store, "a.md", ["one", "two"])
        sequences.append(store.status().sequence)
        put(store, "b.md", ["three"])
        sequences.append(store.status().sequence)
        assert (store.status().documents, store.status().chunks) == (2, 3)
        store.delete(["a.md"])
        sequences.append(store.status().sequence)
        assert (store.status().documents, store.status().chunks) == (1, 1)
        assert sequences == sorted(set(sequences))

    @requirement("API-1", "ENGINE-4")
    def test_a_store_is_sound_after_writes_replacements_and_deletions(self, store: Store) -> None:
        put(store, "a.md", ["one", "two", "three"])
        put(store, "a.md", ["four"])
        put(store, "b.md", ["five"])
        store.delete(["b.md"])
        for report in (store.verify(), store.verify(repair=True), store.verify()):
            assert report.ok
            assert report.findings == ()
            assert report.chunks == 1


class Lifetimes(StoreSuite):
    """Reading one's own writes, closing, and coming back."""

    @requirement("INGEST-7", "ENGINE-1")
    def test_a_document_is_found_in_the_line_after_its_write_a_hundred_times(self, store: Store) -> None:
        """I104."""
        for number, vector in enumerate(random_units(100, seed=41)):
            put(store, f"{number}.md", [f"shared unique{number}"], vectors=[vector])
            expected = (key(f"{number}.md"),)
            assert keys_of(dense(store, vector, 1)) == keys_of(lexical(store, [f"unique{number}"])) == expected
        assert size_of(store) == 100

    @requirement("API-1", "ENGINE-4")
    def test_close_may_be_repeated_and_then_every_call_is_refused(self, store: Store) -> None:
        put(store, "a.md", ["text"])
        store.close()
        store.close()
        with pytest.raises(StoreError), store.snapshot() as snapshot:
            snapshot.fetch([key("a.md")])
        with pytest.raises(StoreError):
            store.apply([change("b.md", ["text"])])
        with pytest.raises(StoreError):
            store.delete(["a.md"])
        with pytest.raises(StoreError):
            list(store.documents())

    @requirement("ENGINE-1", "INGEST-7")
    def test_everything_survives_closing_and_opening_again(self, store: Store) -> None:
        put(store, "a.md", ["shared one", "shared two"], category="ops", scope="x", metadata={"page": 1})
        put(store, "b.md", ["shared three"])
        put(store, "c.md", ["shared four"])
        put(store, "b.md", ["shared five"])
        store.delete(["c.md"])
        before = (list(store.documents()), store.stored("b.md"), look(store, "shared"), store.status().sequence)
        opened = self.reopen(store)
        if opened is None:
            pytest.skip("the engine keeps nothing")
        try:
            assert before == (
                list(opened.documents()),
                opened.stored("b.md"),
                look(opened, "shared"),
                opened.status().sequence,
            )
            assert opened.binding() == BINDING
            assert opened.verify().ok
            put(opened, "d.md", ["shared six"])
            assert look(opened, "shared", Filters(scope=("x",))).everywhere == [key("a.md"), key("a.md", 1)]
            assert key("d.md") in look(opened, "shared").everywhere
        finally:
            opened.close()
