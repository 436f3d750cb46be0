"""A store on Milvus Lite: limits, interrupted writes, damage, and what a snapshot sees; the rest is in the contract."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from citewell.adapters.milvus import MilvusStore
from citewell.adapters.milvus.client import Client
from citewell.adapters.milvus.state import Head, State
from citewell.errors import (
    InvalidRequest,
    StoreUnreachable,
)
from citewell.model import Filters
from citewell.testing.samples import change
from citewell.testing.store_base import EMBEDDER, key, lexical, look, put, random_units, size_of, texts_of, write


@pytest.fixture
def location(tmp_path: Path) -> str:
    return f"milvus:{tmp_path}/kb.db"


@pytest.fixture
def store(location: str) -> Iterator[MilvusStore]:
    store = MilvusStore.open(location)
    yield store
    store.close()


@pytest.mark.requirement("ENGINE-2")
def test_stores_in_two_collections_of_one_place_know_nothing_of_each_other(location: str) -> None:
    one, other = (MilvusStore.open(location, collection=name) for name in ("one", "other"))
    put(one, "a.md", ["shared one"])
    put(other, "b.md", ["shared other"])
    assert look(one, "shared").everywhere == [key("a.md")]
    one.close()
    assert look(other, "shared").everywhere == [key("b.md")]
    other.close()


@pytest.mark.requirement("INGEST-7")
def test_two_stores_open_on_one_collection_see_each_others_writes_at_once(store: MilvusStore, location: str) -> None:
    other = MilvusStore.open(location)
    put(store, "a.md", ["shared old"])
    with other.snapshot() as before:
        assert before.size == 1
        put(store, "a.md", ["shared new", "shared newer"])
        assert look(other, "shared").everywhere == [key("a.md"), key("a.md", 1)]
        assert [chunk.text for chunk in before.fetch([key("a.md")]).values()] == ["shared old"]
    other.close()


@pytest.mark.requirement("ID-3", "INGEST-2")
def test_keys_texts_and_labels_beyond_every_limit_of_a_field_work(store: MilvusStore) -> None:
    doc_id, text, label, category = "文/" * 1_900, "长文。" * 60_000, "label " * 40_000, "ops " * 40_000
    metadata: dict[str, object] = {"field": "value " * 40_000, "n" * 70_000: 1}
    put(
        store,
        doc_id,
        [f"shared {text}", "shared"],
        scope=label,
        category=category,
        metadata=metadata,
        terms=[["shared"]] * 2,
    )
    put(store, doc_id[:-1], ["shared"], scope=label[:-1], category=category[:-1])
    filters = Filters(category, (label,), (("field", "value " * 40_000), ("n" * 70_000, 1)))
    assert look(store, "shared", filters).everywhere == [key(doc_id), key(doc_id, 1)]
    assert look(store, "shared", Filters(exclude_documents=(doc_id,))).everywhere == [key(doc_id[:-1])]
    assert texts_of(store, [key(doc_id)]) == {key(doc_id): f"shared {text}"}
    assert {info.doc_id for info in store.documents()} == {doc_id, doc_id[:-1]}
    assert store.delete([doc_id]) == 2
    assert store.verify().ok


@pytest.mark.requirement("INGEST-5", "ID-7")
def test_a_document_id_beyond_8000_bytes_is_refused(store: MilvusStore) -> None:
    with pytest.raises(InvalidRequest, match="longer than 8000 bytes"):
        put(store, "文" * 2_667, ["text"])
    put(store, "文" * 2_666, ["text"])
    assert size_of(store) == 1


@pytest.mark.requirement("INGEST-5")
@pytest.mark.parametrize(
    ("what", "terms", "scope", "metadata"),
    [
        ("terms", [f"term{number}" for number in range(10_000)], None, {}),
        ("labels", ["x"], [f"l{number}" for number in range(4_097)], {}),
        ("metadata values", ["x"], None, {"field": list(range(4_097))}),
    ],
)
def test_what_milvus_can_not_hold_is_refused_before_anything_is_written(
    store: MilvusStore, what: str, terms: list[str], scope: list[str] | None, metadata: dict[str, object]
) -> None:
    put(store, "a.md", ["old"])
    new = change("b.md", ["new"], terms=[terms], scope=scope, metadata=metadata)
    with pytest.raises(InvalidRequest, match=what):
        write(store, change("c.md", ["other"]), new)
    assert [info.doc_id for info in store.documents()] == ["a.md"]
    assert size_of(store) == 1
    assert store.verify().findings == ()


@pytest.mark.requirement("INGEST-5")
@pytest.mark.parametrize("vector", [np.full(64, np.nan), np.zeros(3), np.full(64, np.inf), "none"], ids=str)
def test_a_vector_that_is_none_is_refused_though_lite_would_take_it(store: MilvusStore, vector: object) -> None:
    new = replace(change("a.md", ["text"]), vectors=(vector,))  # type: ignore[arg-type]  # on purpose
    with pytest.raises(InvalidRequest, match="vector"):
        write(store, new)
    assert size_of(store) == 0


@pytest.mark.requirement("PORT-4")
@pytest.mark.parametrize("vector", [np.ones(3), np.full(64, np.nan)], ids=["dimensions", "nan"])
def test_a_query_vector_that_can_not_be_searched_is_refused_by_name(store: MilvusStore, vector: object) -> None:
    put(store, "a.md", ["text"])
    with pytest.raises(InvalidRequest, match="query's vector"), store.snapshot() as snapshot:
        snapshot.dense(np.asarray(vector, dtype=np.float32), 1, Filters())


@pytest.mark.requirement("INGEST-5", "INGEST-7")
@pytest.mark.parametrize("broken", ["insert", "upsert", "delete"])
def test_a_write_that_breaks_off_leaves_a_version_whole_and_the_next_one_works(
    store: MilvusStore, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    put(store, "a.md", ["shared old", "shared older"])
    real = Client.call

    def call(client: Client, name: str, *args: object, **options: object) -> object:
        if name == broken:
            raise StoreUnreachable("no space", way_out="Free some.")
        return real(client, name, *args, **options)

    with monkeypatch.context() as patched:
        patched.setattr(Client, "call", call)
        with pytest.raises(StoreUnreachable):
            put(store, "a.md", ["shared new"])
    # The commit is the upsert of the catalogue: what breaks after it is put right later.
    expected = ["shared new"] if broken == "delete" else ["shared old", "shared older"]
    keys = look(store, "shared").everywhere
    assert [texts_of(store, [found])[found] for found in keys] == expected
    put(store, "b.md", ["shared other"])
    put(store, "a.md", ["shared last"])
    assert look(store, "shared").everywhere == [key("a.md"), key("b.md")]
    assert store.verify().findings == ()
    assert size_of(store) == 2


@pytest.mark.requirement("INGEST-5", "INGEST-7")
def test_a_commit_whose_answer_was_lost_counts_as_done(store: MilvusStore, monkeypatch: pytest.MonkeyPatch) -> None:
    put(store, "a.md", ["shared old"])
    real = Client.call
    lost: list[str] = []

    def call(client: Client, name: str, *args: object, **options: object) -> object:
        answer = real(client, name, *args, **options)
        if name == "upsert" and not lost:
            lost.append(name)
            raise StoreUnreachable("no answer", way_out="Try again.")
        return answer

    with monkeypatch.context() as patched:
        patched.setattr(Client, "call", call)
        put(store, "a.md", ["shared new"])
    assert lost == ["upsert"]
    assert texts_of(store, look(store, "shared").everywhere) == {key("a.md"): "shared new"}
    assert store.verify().findings == ()


@pytest.mark.requirement("INGEST-7", "ENGINE-1")
def test_a_copy_of_a_closed_store_is_a_store(store: MilvusStore, tmp_path: Path) -> None:
    put(store, "a.md", ["shared"])
    store.close()
    shutil.copytree(tmp_path / "kb.db", tmp_path / "copy.db")
    copy = MilvusStore.open(f"milvus:{tmp_path}/copy.db", create=False)
    assert look(copy, "shared").everywhere == [key("a.md")]
    copy.close()


@pytest.mark.requirement("INGEST-5", "INGEST-7")
def test_versions_become_visible_and_go_with_the_head_alone() -> None:
    state = State()
    state.moved(Head(5, 2, 3))
    old = state.pin()
    assert state.mask(5) == ""
    state.moved(Head(6, 2, 3, retired=(4,)))
    assert [state.sees(version, 5) for version in (3, 4, 5, 6)] == [True, True, True, False]
    assert [state.sees(version, 6) for version in (3, 4, 5, 6)] == [True, False, True, True]
    assert state.mask(6) == "(version not in [4])"
    assert state.mask(5) == "(version <= 5)"
    assert state.purgeable() == []
    state.unpin(old.sequence)
    assert state.purgeable() == [4]
    state.moved(Head(5, 9, 9))
    assert state.head.sequence == 6
    with state.writing():
        assert state.mask(6) == "(version <= 6) and (version not in [4])"


@pytest.mark.requirement("LEX-2")
def test_lexical_scores_are_positive_and_those_of_the_embedded_formula(store: MilvusStore) -> None:
    """One segment: Lite's statistics are those of the whole."""
    put(store, "a.md", ["red apple", "green pear", "apple apple pie"])
    scores = {hit.key: hit.score for hit in lexical(store, ["apple"])}
    idf, mean = np.log(1 + (3 - 2 + 0.5) / (2 + 0.5)), 7 / 3
    expected = {
        key("a.md"): idf * 1 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 2 / mean)),
        key("a.md", 2): idf * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 3 / mean)),
    }
    assert scores == pytest.approx(expected, rel=1e-5)


@pytest.mark.requirement("PORT-4")
def test_a_dense_search_makes_one_call_and_the_texts_come_with_it(
    store: MilvusStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, "a.md", ["shared one", "shared two"])
    store.compact()
    made: list[str] = []
    real = Client.call

    def call(client: Client, name: str, *args: object, **options: object) -> object:
        made.append(name)
        return real(client, name, *args, **options)

    monkeypatch.setattr(Client, "call", call)
    with store.snapshot() as snapshot:
        hits = snapshot.dense(EMBEDDER.embed_query("shared"), 5, Filters())
        assert snapshot.size == len(snapshot.fetch([hit.key for hit in hits])) == 2
    assert made == ["search"]


@pytest.mark.requirement("INGEST-5", "INGEST-7")
def test_a_call_with_more_documents_than_a_commit_holds_writes_and_replaces_them_all(store: MilvusStore) -> None:
    ids = [f"{number:04}.md" for number in range(600)]
    for word in ("old", "new"):
        write(
            store,
            *(change(doc_id, [f"shared {word}"], expected_version=version) for doc_id, version in stored(store, ids)),
        )
    assert size_of(store) == len(ids)
    assert len(lexical(store, ["new"], 2_000)) == len(ids)
    assert lexical(store, ["old"], 2_000) == ()
    assert store.delete(ids) == len(ids)
    assert size_of(store) == 0
    assert store.verify().findings == ()


def stored(store: MilvusStore, ids: list[str]) -> list[tuple[str, int]]:
    """Each document with its version as it is stored: they were written in order, in one call."""
    first = store.stored(ids[0])
    return [(doc_id, first.version + at if first else 0) for at, doc_id in enumerate(ids)]


@pytest.mark.requirement("L0-1", "INGEST-5")
def test_changes_of_the_catalogue_are_told_once_with_the_middle_of_each_documents_vectors(store: MilvusStore) -> None:
    assert store.mark().sequence == 0
    assert store.changes(None).documents == ()
    first, second = random_units(2, seed=3)
    put(store, "a.md", ["one", "two"], vectors=[first, second], title="A")
    put(store, "b.md", ["three"])
    told = store.changes(None)
    assert [entry.info.doc_id for entry in told.documents] == ["a.md", "b.md"]
    assert (told.count, told.complete, told.mark) == (2, True, store.mark())
    assert told.documents[0].centre == pytest.approx((first + second) / 2, abs=1e-6)
    assert told.documents[0].info == next(store.documents())
    put(store, "b.md", ["four"])
    store.delete(["a.md"])
    after = store.changes(told.mark)
    assert [entry.info.doc_id for entry in after.documents] == ["b.md"]
    assert (after.count, after.complete) == (1, True)
    assert store.changes(after.mark).documents == ()


@pytest.mark.requirement("INGEST-5")
def test_documents_with_one_content_are_found_by_it(store: MilvusStore) -> None:
    write(store, change("b.md", ["same"]), change("a.md", ["same"]), change("c.md", ["other"]))
    info = next(store.documents())
    assert store.holders(info.content_digest) == ["a.md", "b.md"]
    assert store.holders("nothing") == []
    store.delete(["a.md"])
    assert store.holders(info.content_digest) == ["b.md"]


@pytest.mark.requirement("INGEST-5")
def test_vectors_are_told_by_the_digest_of_what_they_were_made_of(store: MilvusStore) -> None:
    first, second = random_units(2, seed=4)
    new = change("a.md", ["one", "two"], vectors=[first, second])
    write(store, new)
    held = store.vectors("a.md")
    assert held[new.chunks[0].context_digest] == pytest.approx(first)
    assert held[new.chunks[1].context_digest] == pytest.approx(second)
    assert store.vectors("b.md") == {}


@pytest.mark.requirement("SAFE-2")
def test_half_a_character_can_be_asked_for_and_is_nowhere(store: MilvusStore) -> None:
    half = "\ud800"
    put(store, "a.md", ["shared"], category="ops", scope="team", metadata={"m": "v"})
    for filters in (Filters(category=half), Filters(scope=(half,)), Filters(where=(("m", half),))):
        assert look(store, "shared", filters).everywhere == []
    assert look(store, "shared", Filters(exclude_documents=(half,))).everywhere == [key("a.md")]
    assert store.stored(half) is None
    assert store.delete([half]) == 0
    assert store.holders(half) == []
    assert store.vectors(half) == {}
    assert texts_of(store, [key(half)]) == {}
    with store.snapshot() as snapshot:
        assert snapshot.similarities(EMBEDDER.embed_query("shared"), [key(half)]) == {}
    assert store.sessions().shown(half, None, since=0) == {}
