"""Neighbours through the whole read path: which come, which never do, and how they read beside their hit (CONTEXT)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from citewell import Document, Knowledge, LookupResult, Settings
from citewell.adapters.memory import MemoryStore
from citewell.admission import LookupRequest, admit
from citewell.errors import StoreUnreachable
from citewell.lookup import Lookup
from citewell.model import (
    Budget,
    Filters,
    LookupPolicy,
    Scored,
    SearchPolicy,
    SearchRequest,
    SearchResponse,
    StoredChunk,
)
from citewell.ports import KnowledgeSearchPort, Snapshot
from citewell.search import StoreSearch
from citewell.testing.fakes import HashEmbedder
from citewell.testing.samples import terms_of
from citewell.testing.store_base import put

ALL = Budget(max_items=None, max_chars_per_item=None, max_chars=None, max_tokens=None)
STEPS = [f"{name} of the evacuation: {'walk on ' * 3}" for name in ("First", "Second", "Third", "Fourth", "Fifth")]


def request(query: str, **arguments: Any) -> LookupRequest:  # noqa: ANN401 - raw arguments may be anything
    return admit(query, policy=LookupPolicy(hints=False), search=SearchPolicy(mode="hybrid"), **arguments)


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    store = MemoryStore()
    put(store, "evacuation.md", STEPS, scope=["t1"], title="Evacuation")
    put(store, "pool.md", ["The pool is full.", "Grow the pool.", "Restart it."], scope=["t2"])
    yield store
    store.close()


def run(store: MemoryStore, query: str, **arguments: Any) -> LookupResult:  # noqa: ANN401 - raw arguments
    return Lookup(StoreSearch(store, HashEmbedder(), analyze=terms_of)).run(request(query, **arguments))


def shown(result: LookupResult) -> list[tuple[str, str]]:
    return [(block.evidence_key, block.role) for block in result.evidence]


@pytest.mark.requirement("CONTEXT-1", "CONTEXT-2")
def test_the_chunks_before_and_after_a_hit_come_with_ids_of_their_own_and_are_marked(store: MemoryStore) -> None:
    """Trial I130."""
    result = run(store, "fourth of the evacuation", return_n=1, neighbours=1)
    assert shown(result) == [
        ("evacuation.md#chunk-2", "neighbour"),
        ("evacuation.md#chunk-3", "hit"),
        ("evacuation.md#chunk-4", "neighbour"),
    ]
    before = result.evidence[0]
    assert (before.text, before.title, before.doc_id, before.chunk_index) == (
        STEPS[2],
        "Evacuation",
        "evacuation.md",
        2,
    )
    assert (before.similarity, before.lexical_score, before.fused_score, before.reasons) == (None, None, None, ())
    assert before.digest
    assert result.trace.settings["neighbours"] == (1, "settings")


@pytest.mark.requirement("CONTEXT-1")
@pytest.mark.parametrize("neighbours", [1, 2, 50])
def test_neighbours_change_neither_the_hits_nor_their_order_nor_what_was_dropped(
    store: MemoryStore, neighbours: int
) -> None:
    alone = run(store, "second of the evacuation pool", return_n=3)
    assert {block.role for block in alone.evidence} == {"hit"}
    wider = run(store, "second of the evacuation pool", return_n=3, neighbours=neighbours)
    assert tuple(block for block in wider.evidence if block.role == "hit") == alone.evidence
    assert len(wider.evidence) > len(alone.evidence)
    assert wider.trace.dropped == alone.trace.dropped
    assert wider.trace.distinct_documents == alone.trace.distinct_documents


@pytest.mark.requirement("CONTEXT-1", "POST-4", "PROJ-5")
def test_a_chunk_that_the_cap_dropped_may_come_as_a_neighbour_and_is_not_named_as_left_out(store: MemoryStore) -> None:
    result = run(store, "evacuation walk second", max_chunks_per_document=1, return_n=1, neighbours=1)
    (hit,) = [block for block in result.evidence if block.role == "hit"]
    capped = {dropped.evidence_key for dropped in result.trace.dropped if dropped.reason == "document_cap"}
    beside = {block.evidence_key for block in result.evidence} - {hit.evidence_key}
    assert beside
    assert beside <= capped
    seen: Any = result.to_agent(ALL)
    assert not beside & {entry["document_id"] for entry in seen["omitted"]}
    assert {entry["document_id"] for entry in seen["omitted"]} >= capped - beside


@pytest.mark.requirement("CONTEXT-1", "SCORE-5")
def test_a_chunk_below_the_floor_may_come_as_a_neighbour(store: MemoryStore) -> None:
    result = run(store, "the pool is full", min_similarity=0.9, neighbours=1)
    assert shown(result) == [("pool.md#chunk-0", "hit"), ("pool.md#chunk-1", "neighbour")]


@pytest.mark.requirement("CONTEXT-1", "PROJ-6")
def test_where_nothing_is_found_there_are_no_neighbours(store: MemoryStore) -> None:
    result = run(store, "the pool is full", min_similarity=1.0, neighbours=2, scope="t1")
    assert (result.status, result.evidence) == ("below_similarity", ())


class LeakyFetch:
    """A search port whose fetch gives a chunk of another scope, as one with a forgotten filter would."""

    def __init__(self, search: StoreSearch) -> None:
        self._search = search

    @contextmanager
    def session(self) -> Iterator[Any]:
        with self._search.session() as session:
            inner: Any = session

            class Leaky:
                def search(self, request: SearchRequest) -> SearchResponse:
                    return inner.search(request)  # type: ignore[no-any-return]

                def fetch(self, keys: Sequence[str]) -> Mapping[str, StoredChunk]:
                    return {key: replace(chunk, scope=("t9",)) for key, chunk in inner.fetch(keys).items()}

            yield Leaky()

    def search(self, request: SearchRequest) -> SearchResponse:
        raise AssertionError("the session is asked")


@pytest.mark.requirement("CONTEXT-2", "SAFE-1")
def test_a_chunk_outside_the_scope_is_no_neighbour(store: MemoryStore) -> None:
    port = LeakyFetch(StoreSearch(store, HashEmbedder(), analyze=terms_of))
    inside = Lookup(port).run(request("second of the evacuation", scope="t1", return_n=1, neighbours=1))
    assert [block.role for block in inside.evidence] == ["hit"]
    everything = Lookup(port).run(request("second of the evacuation", return_n=1, neighbours=1))
    assert [block.role for block in everything.evidence] == ["neighbour", "hit", "neighbour"]


class NoFetch:
    def __init__(self, search: KnowledgeSearchPort) -> None:
        self._search = search

    def search(self, request: SearchRequest) -> SearchResponse:
        return self._search.search(request)


class BrokenFetch(NoFetch):
    def fetch(self, keys: Sequence[str]) -> Mapping[str, StoredChunk]:
        raise StoreUnreachable("the disk is gone")


@pytest.mark.requirement("CONTEXT-1", "PROJ-6")
@pytest.mark.parametrize(
    ("port", "cause"),
    [
        (NoFetch, "neighbours: this search port can't fetch a chunk by its key"),
        (BrokenFetch, "neighbours: the disk is gone"),
    ],
)
def test_where_neighbours_can_not_be_had_the_hits_come_and_the_cause_is_said(
    store: MemoryStore, port: type[NoFetch], cause: str
) -> None:
    lookup = Lookup(port(StoreSearch(store, HashEmbedder(), analyze=terms_of)))
    result = lookup.run(request("second of the evacuation", return_n=1, neighbours=1))
    assert (result.status, [block.role for block in result.evidence]) == ("ok", ["hit"])
    assert result.degraded == (cause,)
    assert lookup.run(request("second of the evacuation", return_n=1)).degraded == ()


@pytest.mark.requirement("CONTEXT-1", "ID-1")
@pytest.mark.parametrize(
    ("lie", "cause"),
    [
        (lambda found: dict.fromkeys(found, "text"), ()),
        (lambda found: dict.fromkeys(found), ()),
        (lambda found: dict(zip(found, [*found.values()][::-1], strict=True)), ()),
        (lambda found: [*found.values()], ("neighbours: chunks were answered as [StoredChunk(",)),
    ],
    ids=["texts", "nothing", "of other keys", "a list"],
)
def test_what_is_no_chunk_or_another_keys_is_no_neighbour(
    store: MemoryStore, lie: Callable[[Mapping[str, StoredChunk]], Any], cause: tuple[str, ...]
) -> None:
    class Lying(NoFetch):
        def fetch(self, keys: Sequence[str]) -> Any:  # noqa: ANN401 - no fetch would
            with store.snapshot() as view:
                return lie(view.fetch(keys))

    lookup = Lookup(Lying(StoreSearch(store, HashEmbedder(), analyze=terms_of)))
    result = lookup.run(request("second of the evacuation", return_n=1, neighbours=1))
    assert [block.role for block in result.evidence] == ["hit"]
    assert tuple(each[: len(start)] for each, start in zip(result.degraded, cause, strict=True)) == cause


class WrittenDuringTheSearch(MemoryStore):
    """Replaces the document as soon as it was searched."""

    @contextmanager
    def snapshot(self) -> Iterator[Any]:
        with super().snapshot() as snapshot:
            yield Writing(self, snapshot)


class Writing:
    def __init__(self, store: MemoryStore, snapshot: Snapshot) -> None:
        self._store, self._snapshot = store, snapshot

    def __getattr__(self, name: str) -> object:
        return getattr(self._snapshot, name)

    def lexical(self, terms: Sequence[str], k: int, filters: Filters) -> tuple[Scored, ...]:
        found = self._snapshot.lexical(terms, k, filters)
        put(self._store, "evacuation.md", ["new words"] * 5)
        return found


@pytest.mark.requirement("CONTEXT-2", "INGEST-5")
def test_a_document_replaced_between_search_and_fetch_shows_one_version_whole() -> None:
    store = WrittenDuringTheSearch()
    put(store, "evacuation.md", STEPS)
    result = run(store, "second of the evacuation", return_n=1, neighbours=2)
    assert [block.text for block in result.evidence] == STEPS[:4]
    assert run(store, "new words", return_n=1, neighbours=1).evidence[0].text == "new words"
    store.close()


def table(rows: int) -> str:
    head = "| alert | level | who is called |\n| --- | --- | --- |\n"
    return head + "".join(f"| PoolExhausted{n} | page{n} | the team on duty number {n} |\n" for n in range(rows))


@pytest.mark.requirement("CONTEXT-2", "INGEST-4")
def test_pieces_of_a_long_table_read_on_with_header_and_headings_in_each_and_no_row_twice() -> None:
    text = f"# Alerts\n\n## Whom to call\n\n{table(200)}"
    with Knowledge.open("memory:", settings=Settings.of({"rag.hints": False}), embedder=HashEmbedder()) as knowledge:
        knowledge.ingest_documents([Document("alerts.md", text)])
        (info,) = knowledge.documents()
        assert info.chunks >= 4
        seen: Any = knowledge.lookup("PoolExhausted100", return_n=1, neighbours=50).to_agent(ALL)
    contents = [item["content"] for item in seen["evidence"]]
    assert len(contents) == info.chunks
    assert all("| alert | level | who is called |\n| --- | --- | --- |\n" in content for content in contents)
    breadcrumbs = [item["breadcrumb"] for item in seen["evidence"]]
    assert breadcrumbs == ["Alerts", *["Alerts > Whom to call"] * (info.chunks - 1)]  # the first begins with both
    rows = [line for content in contents for line in content.splitlines() if line.startswith("| PoolExhausted")]
    assert rows == table(200).splitlines()[2:]
    assert not any(item["truncated"] or "continues" in item for item in seen["evidence"])


@pytest.mark.requirement("CONTEXT-2", "INGEST-4")
def test_everything_around_a_hit_joined_is_the_document_again() -> None:
    """Citewell's own chunks don't overlap, and nothing between them is lost but white space."""
    text = "\n\n".join(f"Paragraph {n}. " + f"It says a thing number {n}. " * 12 for n in range(30))
    with Knowledge.open("memory:", settings=Settings.of({"rag.hints": False}), embedder=HashEmbedder()) as knowledge:
        knowledge.ingest_documents([Document("long.md", text, format="text")])
        seen: Any = knowledge.lookup("paragraph 15", return_n=1, neighbours=50).to_agent(ALL)
    assert "".join("".join(item["content"] for item in seen["evidence"]).split()) == "".join(text.split())
