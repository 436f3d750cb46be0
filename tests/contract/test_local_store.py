"""The embedded engine keeps the contract, keeps its contents, and answers as the reference store does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from citewell.adapters.local import LocalStore, index, loading, segments, vectors
from citewell.adapters.memory import MemoryStore
from citewell.errors import EmbedderMismatch, StoreVersion
from citewell.model import EmbedderIdentity, Filters, StoreBinding
from citewell.ports import Store, check_binding
from citewell.testing import StoreContract
from citewell.testing.store_base import StoreSuite, key, put, random_units
from citewell.testing.store_concurrency import Snapshots, Threads
from citewell.testing.store_filters import CombinedFilters
from citewell.testing.store_life import Lifetimes
from citewell.testing.store_paths import DensePaths, LexicalPaths, Similarities
from citewell.testing.store_writes import Deletions, Replacements


class LocalSuite(StoreSuite):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        store = LocalStore.open(tmp_path / "store")
        yield store
        store.close()

    def reopen(self, store: Store) -> Store:
        assert isinstance(store, LocalStore)
        store.close()
        return LocalStore.open(store.path)


class TestLocalStore(LocalSuite, StoreContract):
    """As it is: small stores are searched exactly, and lexical statistics need no compaction."""

    recall: ClassVar[float] = 1.0


@pytest.fixture
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every size at which a large store begins to behave differently, made tiny."""
    for module in (index, loading):
        monkeypatch.setattr(module, "OPEN_UP_TO", 4)
    monkeypatch.setattr(index, "_READERS_WAIT_UP_TO", 8)
    monkeypatch.setattr(loading, "_AT_ONCE", 7)
    monkeypatch.setattr(segments, "CODED_FROM", 16)
    monkeypatch.setattr(vectors, "EXACT_UP_TO", 0)
    monkeypatch.setattr(vectors, "_AT_ONCE", 640)


@pytest.mark.usefixtures("small_segments")
class TestLocalStoreOfManySegments(
    LocalSuite,
    Replacements,
    Deletions,
    Lifetimes,
    DensePaths,
    Similarities,
    LexicalPaths,
    CombinedFilters,
    Snapshots,
    Threads,
):
    """As a large store: what writes and searches meet when segments are sealed, joined and read from files."""


WORDS = ("etcd", "slow", "disk", "leader", "restart", "the", "of")
VECTORS = random_units(12, seed=5)
texts = st.lists(st.lists(st.sampled_from(WORDS), max_size=6), min_size=1, max_size=5)
writes = st.tuples(st.just("put"), st.sampled_from("abcdef"), texts, st.integers(0, 11), st.sampled_from(["x", "y"]))
steps = st.one_of(
    writes,
    writes,
    st.tuples(st.just("delete"), st.sampled_from("abcdef")),
    st.tuples(st.sampled_from(["reopen", "compact", "lose the index"])),
)


@pytest.mark.requirement("ENGINE-1", "LEX-2", "INGEST-7")
@pytest.mark.usefixtures("small_segments")
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(st.lists(steps, min_size=1, max_size=14), st.integers(0, 10**9))
def test_whatever_was_written_deleted_and_lost_the_answers_are_those_of_the_reference_store(
    tmp_path_factory: pytest.TempPathFactory, taken: list[tuple[object, ...]], seed: int
) -> None:
    """I90, I93, I99: scores, keys and order, after every history."""
    reference, path = MemoryStore(), tmp_path_factory.mktemp("any") / "store"
    store = LocalStore.open(path)
    for step in taken:
        store = carried_out(step, store, reference, path)
        assert_same_answers(store, reference)
    assert store.verify().findings == ()
    store.close()


def carried_out(step: tuple[object, ...], store: LocalStore, reference: MemoryStore, path: Path) -> LocalStore:
    """Do the same to both; what the reference has no word for is done to the store alone."""
    match step:
        case ("put", str(doc_id), list(held), int(first), str(label)):
            chosen = [VECTORS[(first + at) % len(VECTORS)] for at in range(len(held))]
            for one in (store, reference):
                put(one, doc_id, [" ".join(words) for words in held], terms=held, vectors=chosen, scope=label)
        case ("delete", str(doc_id)):
            assert store.delete([doc_id]) == reference.delete([doc_id])
        case ("compact",):
            store.compact()
        case _:
            store.close()
            if step == ("lose the index",):
                for file in path.glob("index/*"):
                    file.unlink()
            return LocalStore.open(path)
    return store


def assert_same_answers(store: LocalStore, reference: MemoryStore) -> None:
    with store.snapshot() as own, reference.snapshot() as other:
        assert own.size == other.size
        for k, filters in ((3, Filters()), (100, Filters(scope=("x",))), (2, Filters(exclude_documents=("a",)))):
            assert own.dense(VECTORS[0], k, filters) == other.dense(VECTORS[0], k, filters)
            for terms in (["etcd", "the", "disk", "etcd"], ["of"]):
                assert own.lexical(terms, k, filters) == other.lexical(terms, k, filters)
        keys = [key(doc_id, at) for doc_id in "abcdef" for at in range(5)]
        assert own.similarities(VECTORS[1], keys) == other.similarities(VECTORS[1], keys)
        assert own.fetch(keys) == other.fetch(keys)


BOUND = StoreBinding(EmbedderIdentity("one", 8, "f" * 40 + "1", ("q: ", "")), "v1")
OTHERS = {
    "name": StoreBinding(EmbedderIdentity("two", 8, "f" * 40 + "1", ("q: ", "")), "v1"),
    "dimensions": StoreBinding(EmbedderIdentity("one", 9, "f" * 40 + "1", ("q: ", "")), "v1"),
    "fingerprint": StoreBinding(EmbedderIdentity("one", 8, "f" * 40 + "2", ("q: ", "")), "v1"),
    "prefixes": StoreBinding(EmbedderIdentity("one", 8, "f" * 40 + "1"), "v1"),
    "analyser": StoreBinding(BOUND.embedder, "v2"),
}


@pytest.mark.requirement("INGEST-8")
@pytest.mark.parametrize(("difference", "other"), OTHERS.items(), ids=OTHERS)
def test_both_engines_refuse_another_binding_in_the_same_words_as_opening_does(
    tmp_path: Path, difference: str, other: StoreBinding
) -> None:
    """What differs is told, however long the rest, and the way out is a copy."""
    said = []
    for store in (LocalStore.open(tmp_path / "store"), MemoryStore()):
        store.bind(BOUND)
        with pytest.raises((EmbedderMismatch, StoreVersion)) as refusal:
            store.bind(other)
        said.append(str(refusal.value))
        store.close()
    with pytest.raises((EmbedderMismatch, StoreVersion)) as refusal:
        check_binding(BOUND, other)
    assert set(said) == {str(refusal.value)}
    assert difference in said[0]
    assert "`citewell reindex`" in said[0]
