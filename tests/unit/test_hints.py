"""Hints from the catalogue: what is pointed at and why, within the caller's scope alone, current after each write."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citewell.adapters.local import LocalStore
from citewell.adapters.memory import MemoryStore
from citewell.errors import EmbedderError, StoreUnreachable
from citewell.hints import CatalogueHints
from citewell.hints import source as hints_source
from citewell.hints.index import CatalogueIndex
from citewell.model import DocumentChange, DocumentInfo, Filters, Hint, SearchRequest, StoreStatus
from citewell.model.catalogue import Catalogued, Hinted, Mark
from citewell.ports import Store
from citewell.scope import is_visible
from citewell.testing.fakes import HashEmbedder
from citewell.testing.samples import binding_of, change

EMBEDDER = HashEmbedder()


@pytest.fixture(params=["local", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    opened: Store = LocalStore.open(tmp_path / "kb") if request.param == "local" else MemoryStore()
    opened.bind(binding_of(EMBEDDER))
    yield opened
    opened.close()


@pytest.fixture
def hints(store: Store) -> Iterator[CatalogueHints]:
    made = CatalogueHints(store, EMBEDDER, patience_s=30.0)
    yield made
    made.close()


def doc(name: str, title: str = "", heading: str = "", text: str = "text", **more: object) -> DocumentChange:
    return change(name, [text], title=title, breadcrumb=heading, **more)  # type: ignore[arg-type]


def ask(hints: CatalogueHints, query: str, **more: object) -> Hinted:
    return hints.hints(SearchRequest(query, 50, **more))  # type: ignore[arg-type]


def documents(hinted: Hinted) -> list[str]:
    return [hint.value for hint in hinted.hints if hint.kind == "document"]


def categories(hinted: Hinted) -> list[str]:
    return [hint.value for hint in hinted.hints if hint.kind == "category"]


# What is hinted


@pytest.mark.requirement("L0-1")
def test_the_document_whose_title_holds_the_words_comes_first_and_says_why(store: Store, hints: CatalogueHints) -> None:
    store.apply(
        [
            doc("pool.md", "Connection pool exhausted", "Restarting the gateway", category="storage"),
            doc("dns.md", "Cluster DNS", "Restarting the resolver", category="network"),
        ]
    )
    hinted = ask(hints, "Why is the pool exhausted after restarting?")
    assert hinted.hints[0] == Hint(
        "document", "pool.md", "Connection pool exhausted", "title: pool, exhausted; headings: restarting"
    )
    assert documents(hinted) == ["pool.md", "dns.md"]
    assert hinted.hints[2] == Hint("category", "storage", why="1 of the 2 likeliest documents")
    assert hinted.category is None


@pytest.mark.requirement("L0-1")
def test_a_document_that_shares_no_word_is_found_by_the_direction_of_its_passages(
    store: Store, hints: CatalogueHints
) -> None:
    store.apply([doc("a.md", "Alpha", text="slow disks delay the log"), doc("b.md", "Beta", text="invoices are due")])
    first = ask(hints, "delay disks slow log").hints[0]
    assert (first.value, first.why) == ("a.md", "close in meaning")


@pytest.mark.requirement("L0-1")
def test_chinese_titles_are_found_by_their_words(store: Store, hints: CatalogueHints) -> None:
    store.apply([doc("pool.zh.md", "数据库连接池耗尽"), doc("cdn.zh.md", "证书过期处理")])
    first = ask(hints, "连接池为什么耗尽").hints[0]
    assert first.value == "pool.zh.md"
    assert first.why.startswith("title: ")
    assert "连接池" in first.why


@pytest.mark.requirement("L0-1")
def test_there_are_three_documents_and_two_categories_at_most(store: Store, hints: CatalogueHints) -> None:
    store.apply([doc(f"{number}.md", "Pool", category=f"c{number}") for number in range(9)])
    hinted = ask(hints, "pool")
    assert documents(hinted) == ["0.md", "1.md", "2.md"]
    assert categories(hinted) == ["c0", "c1"]


@pytest.mark.requirement("L0-2")
def test_a_category_is_fit_for_a_filter_only_if_all_the_likeliest_documents_have_it(
    store: Store, hints: CatalogueHints
) -> None:
    store.apply([doc(f"{number}.md", "Pool", category="storage") for number in range(5)])
    assert ask(hints, "pool").category == "storage"
    store.apply([doc("0.md", "Pool", category=None, expected_version=_version(store, "0.md"))])
    assert ask(hints, "pool").category is None
    assert categories(ask(hints, "pool")) == ["storage"]


@pytest.mark.requirement("L0-1")
def test_an_empty_store_hints_at_nothing_and_embeds_nothing(store: Store) -> None:
    class Unasked(HashEmbedder):
        def embed_query(self, text: str) -> np.ndarray:
            raise AssertionError(text)

    made = CatalogueHints(store, Unasked(), patience_s=30.0)
    assert ask(made, "pool") == Hinted()
    made.close()


@pytest.mark.requirement("L0-1")
def test_without_a_vector_the_words_alone_give_hints(store: Store) -> None:
    class Broken(HashEmbedder):
        def embed_query(self, text: str) -> np.ndarray:
            raise EmbedderError("down")

    store.apply([doc("pool.md", "Pool"), doc("dns.md", "DNS")])
    for embedder in (Broken(), HashEmbedder(7)):
        made = CatalogueHints(store, embedder, patience_s=30.0)
        assert documents(ask(made, "pool")) == ["pool.md"]
        made.close()


# Scope


@pytest.mark.requirement("L0-1", "SAFE-1", "SAFE-3")
def test_nothing_out_of_scope_is_hinted_neither_document_nor_title_nor_category(
    store: Store, hints: CatalogueHints
) -> None:
    store.apply(
        [
            doc("secret.md", "Pool secrets", category="board", scope="board"),
            doc("open.md", "Pool", category="ops", scope=["ops", "dev"]),
            doc("bare.md", "Pool", category="none"),
        ]
    )
    seen = ask(hints, "pool secrets", scope=("dev",))
    assert (documents(seen), categories(seen), seen.category) == (["open.md"], ["ops"], "ops")
    assert seen.hints[1].why == "1 of the 1 likeliest documents"
    assert ask(hints, "pool", scope=()) == Hinted()
    assert ask(hints, "pool", scope=("nobody",)) == Hinted()
    assert set(documents(ask(hints, "pool"))) == {"secret.md", "open.md", "bare.md"}


@pytest.mark.requirement("L0-1", "SAFE-1")
def test_where_holds_for_hints_as_for_evidence(store: Store, hints: CatalogueHints) -> None:
    store.apply(
        [
            doc("one.md", "Pool", metadata={"draft": True, "tags": ["a"]}, category="x"),
            doc("two.md", "Pool", metadata={"draft": 1, "tags": ["b"]}, category="y"),
        ]
    )
    assert documents(ask(hints, "pool", where=(("draft", True),))) == ["one.md"]
    assert documents(ask(hints, "pool", where=(("draft", 1), ("tags", "b")))) == ["two.md"]
    assert ask(hints, "pool", where=(("draft", False),)) == Hinted()


LABELS = st.none() | st.sets(st.sampled_from("abc")).map(lambda labels: tuple(sorted(labels)))


@given(bears=st.lists(LABELS, min_size=1, max_size=12), holds=LABELS)
@settings(max_examples=80, deadline=None)
@pytest.mark.requirement("SAFE-1", "SAFE-3")
def test_whatever_the_labels_both_searches_return_the_visible_documents_alone(
    bears: Sequence[tuple[str, ...] | None], holds: tuple[str, ...] | None
) -> None:
    index = CatalogueIndex(str.split)
    axis = np.array([1, 0], np.float32)
    index.put([row(f"{number}", scope=scope, centre=axis) for number, scope in enumerate(bears)])
    visible = sorted(f"{number}" for number, scope in enumerate(bears) if is_visible(scope, holds))
    assert sorted(index.by_words(["t"], 50, Filters(scope=holds))) == visible
    assert sorted(index.by_meaning(axis, 50, Filters(scope=holds))) == visible


# Keeping current


def _version(store: Store, doc_id: str) -> int:
    stored = store.stored(doc_id)
    assert stored is not None
    return stored.version


@pytest.mark.requirement("L0-1", "SAFE-1")
def test_the_next_question_sees_every_write(store: Store, hints: CatalogueHints) -> None:
    store.apply([doc("a.md", "Pool", category="x", scope="s"), doc("b.md", "Pool", category="y")])
    assert set(documents(ask(hints, "pool"))) == {"a.md", "b.md"}
    store.apply([doc("a.md", "Pool", category="z", scope="t", expected_version=_version(store, "a.md"))])
    assert ask(hints, "pool", scope=("s",)) == Hinted()
    assert categories(ask(hints, "pool", scope=("t",))) == ["z"]
    store.apply([doc("c.md", "Pool")])
    assert set(documents(ask(hints, "pool"))) == {"a.md", "b.md", "c.md"}
    store.delete(["a.md", "b.md"])
    assert documents(ask(hints, "pool")) == ["c.md"]
    store.delete(["c.md"])
    assert ask(hints, "pool") == Hinted()


@pytest.mark.requirement("L0-1")
def test_documents_that_are_written_again_and_again_leave_no_trail(store: Store, hints: CatalogueHints) -> None:
    store.apply([doc("a.md", "Pool")])
    for number in range(5):
        store.apply([doc("a.md", f"Pool {number}", expected_version=_version(store, "a.md"))])
        assert ask(hints, "pool").hints[0].title == f"Pool {number}"
    hints._index = worn = CatalogueIndex(str.split)
    worn.put([row("gone") for _ in range(2_003)])
    assert worn.is_worn
    store.apply([doc("b.md", "DNS")])
    assert documents(ask(hints, "pool"))[0] == "a.md"
    assert len(hints._index) == 2
    assert not hints._index.is_worn


class SlowStore(MemoryStore):
    """Its catalogue can be read only once somebody opens the gate."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.reads = 0

    def documents(self) -> Iterator[DocumentInfo]:
        self.reads += 1
        assert self.gate.wait(60)
        return super().documents()


@pytest.mark.requirement("L0-1")
def test_a_question_does_not_wait_for_a_catalogue_that_takes_long_to_read_and_says_so() -> None:
    slow = SlowStore()
    slow.bind(binding_of(EMBEDDER))
    slow.apply([doc("a.md", "Pool")])
    made = CatalogueHints(slow, EMBEDDER, patience_s=0.01)
    for _ in range(3):
        assert ask(made, "pool") == Hinted(note="no hints yet: the catalogue is being read")
    slow.gate.set()
    reading = made._reading
    assert reading is not None
    reading.result(60)
    assert documents(ask(made, "pool")) == ["a.md"]
    assert slow.reads == 1
    made.close()


@pytest.mark.requirement("L0-1")
def test_of_many_questions_that_come_while_a_long_reading_goes_on_only_the_first_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waited: list[float] = []
    now = 100.0

    def wait_for(_: object, timeout: float) -> None:
        nonlocal now
        waited.append(timeout)
        now += timeout

    slow = SlowStore()
    slow.bind(binding_of(EMBEDDER))
    slow.apply([doc("a.md", "Pool")])
    made = CatalogueHints(slow, EMBEDDER, patience_s=0.5)
    monkeypatch.setattr(hints_source, "wait_for", wait_for)
    monkeypatch.setattr(hints_source, "time", SimpleNamespace(monotonic=lambda: now))
    assert [ask(made, "pool").note != "" for _ in range(3)] == [True] * 3
    assert waited == [0.5, 0.0, 0.0]
    slow.gate.set()
    made.close()


@pytest.mark.requirement("L0-1")
def test_a_catalogue_beyond_the_bound_gives_a_note_and_hints_come_back_when_it_shrinks(
    store: Store, hints: CatalogueHints, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hints_source, "MOST_DOCUMENTS", 2)
    store.apply([doc("a.md", "Pool"), doc("b.md", "Pool"), doc("c.md", "Pool")])
    assert ask(hints, "pool").note.startswith("no hints: the catalogue has more than")
    assert len(hints._index) == 0
    store.delete(["b.md"])
    assert documents(ask(hints, "pool")) == ["a.md", "c.md"]


@pytest.mark.requirement("L0-1")
def test_a_store_that_fails_is_an_error_and_the_next_question_reads_anew(store: Store) -> None:
    class Failing(HashEmbedder):
        pass

    made = CatalogueHints(store, Failing(), patience_s=30.0)
    store.apply([doc("a.md", "Pool")])
    healthy, made._feed.since = made._feed.since, _unreachable  # type: ignore[method-assign, assignment]
    with pytest.raises(StoreUnreachable):
        ask(made, "pool")
    made._feed.since = healthy  # type: ignore[method-assign]
    assert documents(ask(made, "pool")) == ["a.md"]
    made.close()
    made.close()


def _unreachable(*_: object) -> Iterator[object]:
    raise StoreUnreachable("gone")


@pytest.mark.requirement("L0-1")
def test_closing_ends_the_thread_even_while_it_reads() -> None:
    slow = SlowStore()
    slow.bind(binding_of(EMBEDDER))
    slow.apply([doc("a.md", "Pool")])
    made = CatalogueHints(slow, EMBEDDER, patience_s=0.01)
    ask(made, "pool")
    threading.Timer(0.05, slow.gate.set).start()
    made.close()
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("citewell-hints")] == []
    with pytest.raises(Exception, match="closed"):
        ask(made, "pool")


@pytest.mark.requirement("L0-1")
def test_many_threads_that_ask_while_documents_come_get_whole_answers(store: Store, hints: CatalogueHints) -> None:
    wrong: list[object] = []
    done = threading.Event()

    def ask_on() -> None:
        while not done.is_set():
            hinted = ask(hints, "pool")
            if hinted.note or any(not hint.value.startswith("p") for hint in hinted.hints):
                wrong.append(hinted)

    threads = [threading.Thread(target=ask_on) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(15):
        store.apply([doc(f"p{number}.md", "Pool")])
    done.set()
    for thread in threads:
        thread.join(60)
    assert wrong == []
    assert documents(ask(hints, "pool")) == ["p0.md", "p1.md", "p10.md"]


@pytest.mark.requirement("L0-1")
def test_a_store_over_a_network_is_asked_in_another_thread_and_one_at_hand_is_not() -> None:
    class Far(MemoryStore):
        at_hand = False
        gate = threading.Event()
        asked: set[str] = set()  # noqa: RUF012 - of this one class

        def status(self) -> StoreStatus:
            assert self.gate.wait(60)
            self.asked.add(threading.current_thread().name.partition("_")[0])
            return super().status()

    far = Far()
    far.bind(binding_of(EMBEDDER))
    far.apply([doc("a.md", "Pool")])
    made = CatalogueHints(far, EMBEDDER, patience_s=30.0)
    finish = made.begin(SearchRequest("pool", 50))
    assert far.asked == set()
    far.gate.set()
    assert documents(finish()) == ["a.md"]
    assert far.asked == {"citewell-hints-asking", "citewell-hints"}
    far.asked.clear()
    far.at_hand = True
    assert documents(made.begin(SearchRequest("pool", 50))()) == ["a.md"]
    assert far.asked == {threading.current_thread().name}
    made.close()


# The index


def row(
    doc_id: str, title: str = "t", *, scope: tuple[str, ...] | None = None, centre: np.ndarray | None = None
) -> Catalogued:
    return Catalogued(DocumentInfo(doc_id, title, "", None, scope, {}, 1, 1, doc_id, doc_id), centre)


@pytest.mark.requirement("L0-1")
def test_rare_words_count_more_and_equal_documents_come_by_name() -> None:
    index = CatalogueIndex(str.split)
    index.put([row("c", "common rare"), row("b", "common"), row("a", "common"), row("d", "other")])
    assert index.by_words(["common", "rare"], 3, Filters()) == ["c", "a", "b"]
    assert index.by_words(["nothing"], 3, Filters()) == []
    assert index.by_words(["common"], 1, Filters()) == ["a"]


@pytest.mark.requirement("L0-1")
def test_directions_are_compared_not_lengths_and_a_document_without_a_centre_has_none() -> None:
    index = CatalogueIndex(str.split)
    near, far = np.array([0.1, 0.01], np.float32), np.array([5, 5], np.float32)
    index.put([row("far", centre=far), row("near", centre=near), row("none"), row("zero", centre=near * 0)])
    assert index.by_meaning(np.array([1, 0], np.float32), 9, Filters()) == ["near", "far"]
    assert index.by_meaning(np.array([1, 0, 0], np.float32), 9, Filters()) == []


@pytest.mark.requirement("L0-1")
def test_vectors_stay_within_their_bytes_and_documents_beyond_are_found_by_their_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("citewell.hints.index.MOST_VECTOR_BYTES", 2 * 2 * 2)
    index = CatalogueIndex(str.split)
    axis = np.array([1, 0], np.float32)
    index.put([row("a", centre=axis), row("b", centre=axis), row("c", centre=axis)])
    assert index.by_meaning(axis, 9, Filters()) == ["a", "b"]
    assert index.by_words(["t"], 9, Filters()) == ["a", "b", "c"]


@pytest.mark.requirement("L0-1", "SAFE-1")
def test_among_many_documents_the_closest_are_found_as_if_each_was_compared() -> None:
    """By 255 random planes: the 5 best of 3,000 clustered documents in 512 dimensions, within a scope too."""
    rng = np.random.default_rng(5)
    middles = rng.normal(size=(300, 512))
    centres = (middles[rng.integers(0, 300, 3_000)] + 0.7 * rng.normal(size=(3_000, 512))).astype(np.float32)
    index = CatalogueIndex(str.split)
    scopes = [("even",) if number % 2 == 0 else ("odd",) for number in range(3_000)]
    index.put([row(f"{number}", scope=scopes[number], centre=centre) for number, centre in enumerate(centres)])
    units = centres / np.linalg.norm(centres, axis=1, keepdims=True)
    found = 0
    for number in range(40):
        vector = (middles[number] / np.linalg.norm(middles[number])).astype(np.float32)
        for filters, slots in ((Filters(), np.arange(3_000)), (Filters(scope=("odd",)), np.arange(1, 3_000, 2))):
            near = np.einsum("ij,j->i", units[slots], vector)
            exact = {f"{slot}" for slot in slots[np.argsort(-near)[:5]]}
            best = index.by_meaning(vector, 5, filters)
            assert {int(name) for name in best} <= set(slots.tolist())
            found += len(exact & set(best))
    assert found >= 0.98 * 40 * 2 * 5


def test_marks_of_two_files_differ_even_with_the_same_sequence() -> None:
    assert Mark(object(), 3) != Mark(object(), 3)
    assert Mark(None, 3) == Mark(None, 3)
