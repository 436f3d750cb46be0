"""500 lookups on the embedded engine and on Milvus Lite: the dense path agrees whole, the lexical one nearly."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from citewell.adapters.local import LocalStore
from citewell.adapters.milvus import MilvusStore
from citewell.model import DocumentChange, Filters, Scored
from citewell.ports import Store
from citewell.testing.samples import change
from citewell.testing.store_base import keys_of, random_units, write

CHUNKS, LOOKUPS, WIDTH = 1_500, 500, 50
WORDS = [f"w{number}" for number in range(4_000)]


def documents() -> list[DocumentChange]:
    """Documents of five chunks; words by Zipf's law, and a few of a subject of its own in each document."""
    chance = np.random.default_rng(11)
    vectors = random_units(CHUNKS, seed=12)
    weights = 1 / (np.arange(len(WORDS)) + 2.7)
    weights /= weights.sum()
    made = []
    for doc in range(CHUNKS // 5):
        subject = [f"s{doc % 90}{letter}" for letter in "abcd"]
        terms = [
            [
                *(WORDS[at] for at in chance.choice(len(WORDS), chance.integers(20, 90), p=weights)),
                *subject[: 1 + at % 4],
            ]
            for at in range(5)
        ]
        made.append(change(f"{doc:03}.md", ["x"] * 5, vectors=list(vectors[doc * 5 : doc * 5 + 5]), terms=terms))
    return made


Ask = Callable[[Store, int], tuple[Scored, ...]]


def filled(store: Store, rounds: int) -> Store:
    """Write everything in so many ingestions: Lite then has segments of its own for each."""
    held = documents()
    for start in range(rounds):
        write(store, *held[start::rounds])
        store.compact()  # type: ignore[attr-defined]  # both engines have it
    return store


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """The embedded engine, filled."""
    store = filled(LocalStore.open(tmp_path_factory.mktemp("local") / "kb"), 1)
    yield store
    store.close()


@pytest.fixture
def location(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A new Lite store."""
    return f"milvus:{tmp_path_factory.mktemp('lite')}/kb.db"


def rankings(one: Store, other: Store, ask: Ask) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """What each of the two says to each question."""
    return [(keys_of(ask(one, number)), keys_of(ask(other, number))) for number in range(LOOKUPS)]


@pytest.mark.slow
@pytest.mark.requirement("ENGINE-2", "PORT-4", "RRF-3")
def test_dense_lookups_give_the_same_keys_in_the_same_order(local: Store, location: str) -> None:
    queries = random_units(LOOKUPS, seed=13)

    def ask(store: Store, number: int) -> tuple[Scored, ...]:
        with store.snapshot() as snapshot:
            return snapshot.dense(queries[number], WIDTH, Filters())

    lite = filled(MilvusStore.open(location), 3)
    assert [number for number, (one, other) in enumerate(rankings(local, lite, ask)) if one != other] == []
    lite.close()


DOCUMENTS = documents()


def terms(number: int) -> list[str]:
    """A word of a chunk's subject, as questions have, and up to five others of it."""
    chunk, chance = DOCUMENTS[number % len(DOCUMENTS)].chunks[number % 5], np.random.default_rng(number)
    others = chance.choice(len(chunk.terms) - 4, int(chance.integers(1, 6)), replace=False)
    return [chunk.terms[-1], *(chunk.terms[at] for at in others)]


def lexical(store: Store, number: int) -> tuple[Scored, ...]:
    """The lexical path's answer to a question."""
    with store.snapshot() as snapshot:
        return snapshot.lexical(terms(number), WIDTH, Filters())


@pytest.mark.slow
@pytest.mark.requirement("ENGINE-2", "LEX-2")
@pytest.mark.parametrize(("rounds", "same_top", "overlap"), [(1, 0.95, 0.9), (3, 0.95, 0.75)])
def test_native_bm25_nearly_agrees_less_so_after_several_ingestions_for_lite_counts_by_segment(
    local: Store,
    location: str,
    record_property: Callable[[str, object], None],
    rounds: int,
    same_top: float,
    overlap: float,
) -> None:
    lite = filled(MilvusStore.open(location), rounds)
    found = rankings(local, lite, lexical)
    lite.close()
    same = sum(one[:1] == other[:1] for one, other in found) / LOOKUPS
    shared = sum(len({*one[:20]} & {*other[:20]}) / max(len(one[:20]), 1) for one, other in found) / LOOKUPS
    differing = [
        f"{terms(at)}: {one[:1]} / {other[:1]}" for at, (one, other) in enumerate(found) if one[:1] != other[:1]
    ]
    said = f"Milvus Lite beside local, {LOOKUPS} lexical lookups after {rounds} ingestions"
    figures = f"same top {same:.3f}, overlap@20 {shared:.3f}; other tops: {'; '.join(differing[:3]) or 'none'}"
    record_property("said at the end", f"{said}: {figures}")
    assert same >= same_top
    assert shared >= overlap


@pytest.mark.slow
@pytest.mark.requirement("ENGINE-2", "LEX-2")
def test_the_index_in_memory_agrees_whole_after_any_number_of_ingestions(local: Store, location: str) -> None:
    lite = filled(MilvusStore.open(location, lexical="memory"), 3)
    assert [number for number, (one, other) in enumerate(rankings(local, lite, lexical)) if one != other] == []
    assert "as store.lexical says" in str(dict(lite.status().details)["lexical"])
    lite.close()
