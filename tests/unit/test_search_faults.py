"""A path that is slow, fails, hangs or lies: the others answer, the cause is said, nothing wrong is shown (PORT-2).

Every fault is injected on every path and in both modes; what the store then answers is known from the one without.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from citewell import Document, Knowledge, Settings
from citewell.adapters.memory import MemoryStore
from citewell.errors import CitewellError, EmbedderUnavailable, StoreError, StoreUnreachable
from citewell.model import Hint, Mode, Scored, SearchPolicy, SearchRequest, SearchResponse, StoredChunk
from citewell.search import StoreSearch
from citewell.testing.fakes import HashEmbedder
from citewell.testing.samples import binding_of, change, terms_of

EMBEDDER = HashEmbedder()
LIMIT_S = 0.05
ROOMY_S = 0.5
"""A limit within which what does not hang answers, on a busy machine too."""
SEARCHES = ("dense", "dense_filtered", "lexical")
Answer = Any
"""Of any call on a snapshot: faults return what no store should."""


@dataclass
class Faulty:
    """A store of two documents; each call on a snapshot may be replaced by what a fault makes of its true answer."""

    faults: dict[str, Callable[[Answer], Answer]] = field(default_factory=dict)
    open: int = 0

    def __post_init__(self) -> None:
        self.store = MemoryStore()
        self.store.bind(binding_of(EMBEDDER))
        texts = [f"signing key number {number}" for number in range(6)]
        self.store.apply([change("ops", texts, embedder=EMBEDDER, category="ops", metadata={"team": "a"})])
        self.store.apply([change("hr", ["signing key payroll"], embedder=EMBEDDER, metadata={"team": "b"})])

    def binding(self) -> object:
        return self.store.binding()

    @contextmanager
    def snapshot(self) -> Iterator[_View]:
        with self.store.snapshot() as view:
            self.open += 1
            try:
                yield _View(view, self)
            finally:
                self.open -= 1


class _View:
    def __init__(self, view: Any, owner: Faulty) -> None:  # noqa: ANN401 - a Snapshot
        self.view, self.owner, self.size = view, owner, view.size

    def dense(self, vector: NDArray[np.float32], k: int, filters: Any) -> Answer:  # noqa: ANN401 - Filters
        name = "dense_filtered" if filters.category else "dense"
        return self._answer(name, self.view.dense(vector, k, filters))

    def lexical(self, terms: Sequence[str], k: int, filters: Any) -> Answer:  # noqa: ANN401 - Filters
        return self._answer("lexical", self.view.lexical(terms, k, filters))

    def similarities(self, vector: NDArray[np.float32], keys: Sequence[str]) -> Answer:
        return self._answer("similarities", self.view.similarities(vector, keys))

    def fetch(self, keys: Sequence[str]) -> Answer:
        return self._answer("fetch", self.view.fetch(keys))

    def _answer(self, name: str, truth: Answer) -> Answer:
        return self.owner.faults[name](truth) if name in self.owner.faults else truth


@contextmanager
def searching(store: Faulty, timeout_s: float = 60.0, **policy: Any) -> Iterator[Callable[..., SearchResponse]]:  # noqa: ANN401
    port = StoreSearch(store, EMBEDDER, SearchPolicy(timeout_s=timeout_s, **policy), analyze=terms_of)  # type: ignore[arg-type]  # as much of a store as a search asks for

    def search(mode: Mode = "hybrid", **request: Any) -> SearchResponse:  # noqa: ANN401 - of a SearchRequest
        return port.search(SearchRequest("signing key", **{"retrieve_k": 5, "category": "ops", **request}, mode=mode))

    yield search
    port.close()


def keys(response: SearchResponse) -> list[str]:
    return [hit.evidence_key for hit in response.hits]


def alone(path: str) -> list[str]:
    """What the search answers when this path had failed plainly."""

    def fail(_: Answer) -> Answer:
        raise StoreError("down")

    with searching(Faulty({path: fail})) as search:
        return keys(search())


def _raise(error: BaseException) -> Answer:
    raise error


LIES: dict[str, tuple[Callable[[Answer], Answer], str]] = {
    "nothing": (lambda _: None, "answered None"),
    "a text": (lambda _: "hits", "as a hit"),
    "pairs": (lambda found: [(hit.key, hit.score) for hit in found], "as a hit"),
    "a key that is none": (lambda found: (Scored(None, 0.5), *found[1:]), "as a hit"),  # type: ignore[arg-type]  # a lie
    "NaN": (lambda found: (Scored(found[0].key, math.nan), *found[1:]), "with the score nan"),
    "infinity": (lambda found: (Scored(found[0].key, math.inf), *found[1:]), "with the score inf"),
    "a score of text": (lambda found: (Scored(found[0].key, "high"), *found[1:]), "with the score 'high'"),  # type: ignore[arg-type]  # a lie
    "no score": (lambda found: (Scored(found[0].key, None), *found[1:]), "with the score None"),  # type: ignore[arg-type]  # a lie
    "one hit twice": (lambda found: (found[0], *found[:-1]), "a key twice"),
    "the worst first": (lambda found: tuple(replace(h, score=i / 9) for i, h in enumerate(found)), "order"),
    "more than asked for": (lambda found: (*found, *(Scored(f"x#chunk-{n}", -1.0) for n in range(5))), "were asked"),
}  # fmt: skip


@pytest.mark.requirement("PORT-2", "RRF-2", "SCORE-1")
@pytest.mark.parametrize("path", SEARCHES)
@pytest.mark.parametrize(("lie", "said"), LIES.values(), ids=LIES)
def test_a_path_that_lies_has_failed_and_nothing_of_it_is_believed(
    path: str, lie: Callable[[Answer], Answer], said: str
) -> None:
    with searching(Faulty({path: lie})) as search:
        response = search()
        assert keys(response) == alone(path)
        (cause,) = response.degraded
        assert cause.startswith(f"{path}: ")
        assert said in cause
        assert {report.path: report.status for report in response.paths}[path] == "failed"


@pytest.mark.requirement("SCORE-2")
@pytest.mark.parametrize("path", ["dense", "dense_filtered"])
def test_a_similarity_beyond_one_is_a_lie_and_rounding_is_none(path: str) -> None:
    with searching(Faulty({path: lambda found: (replace(found[0], score=7.3), *found[1:])})) as search:
        assert "the similarity 7.3" in search().degraded[0]
    with searching(Faulty({path: lambda found: (replace(found[0], score=1.000001), *found[1:])})) as search:
        assert search().degraded == ()


@pytest.mark.requirement("PORT-2")
@pytest.mark.parametrize(("lie", "said"), LIES.values(), ids=LIES)
def test_in_dense_mode_a_lie_is_the_error(lie: Callable[[Answer], Answer], said: str) -> None:
    with searching(Faulty({"dense": lie, "dense_filtered": lie})) as search, pytest.raises(StoreError, match=said):
        search("dense")


@pytest.mark.requirement("PORT-2")
@pytest.mark.parametrize("path", SEARCHES)
def test_a_key_that_no_chunk_has_is_dropped_and_said(path: str) -> None:
    def forged(found: tuple[Scored, ...]) -> tuple[Scored, ...]:
        return (replace(found[0], key="elsewhere#chunk-0"), *found[1:])

    with searching(Faulty({path: forged})) as search:
        response = search()
        assert "elsewhere#chunk-0" not in keys(response)
        (cause,) = response.degraded
        assert cause.startswith(f"{path}: 1 of its 5 hits are not there")


@pytest.mark.requirement("PORT-2", "SAFE-1")
@pytest.mark.parametrize("path", ["dense", "lexical"])
@pytest.mark.parametrize("request_", [{"where": (("team", "b"),)}, {"exclude_documents": ("ops",)}], ids=str)
def test_a_path_that_forgets_a_hard_filter_shows_nothing_beyond_it_and_is_named(
    path: str, request_: Mapping[str, Any]
) -> None:
    def forgetful(_: Answer) -> Answer:
        return (Scored("ops#chunk-0", 1.0), Scored("hr#chunk-0", 0.5))

    with searching(Faulty({path: forgetful})) as search:
        response = search(category=None, **request_)
        assert keys(response) == ["hr#chunk-0"]
        (cause,) = response.degraded
        assert cause.startswith(f"{path}: 1 of its 2 hits")


FETCHED: dict[str, Callable[[Mapping[str, StoredChunk]], Answer]] = {
    "texts of other keys": lambda found: dict(zip(found, list(found.values())[::-1], strict=True)),
    "no chunks": lambda found: dict.fromkeys(found, "text"),
    "nothing of what is there": lambda _: {},
}


@pytest.mark.requirement("PORT-2", "ID-1")
@pytest.mark.parametrize("lie", FETCHED.values(), ids=FETCHED)
def test_a_text_is_never_shown_under_the_key_of_another(lie: Callable[[Answer], Answer]) -> None:
    with searching(Faulty()) as search:
        truth = {hit.evidence_key: hit.text for hit in search().hits}
    with searching(Faulty({"fetch": lie})) as search:
        response = search()
        assert all(truth[hit.evidence_key] == hit.text for hit in response.hits)
        assert [cause.partition(":")[0] for cause in response.degraded] == list(SEARCHES)
    with searching(Faulty({"fetch": lambda _: None})) as search, pytest.raises(StoreError, match="answered as None"):
        search()


@pytest.mark.requirement("PORT-2", "SCORE-4")
@pytest.mark.parametrize(
    "lie",
    [
        lambda _: None,
        lambda found: dict.fromkeys(found, math.nan),
        lambda found: dict.fromkeys(found, 2.0),
        lambda _: {"elsewhere#chunk-0": 0.5},
    ],
    ids=["nothing", "NaN", "two", "of another"],
)
def test_similarities_that_can_not_be_are_none_at_all(lie: Callable[[Answer], Answer]) -> None:
    with searching(Faulty({"similarities": lie}), paths=("lexical",)) as search:
        response = search()
        assert {hit.similarity for hit in response.hits} == {None}
        assert len(response.hits) == 5
        assert response.degraded[0].startswith("similarity: ")


class Gate:
    """Calls that hang until it is opened."""

    def __init__(self) -> None:
        self.event = threading.Event()
        self.asked = 0

    def __call__(self, truth: Answer) -> Answer:
        self.asked += 1
        self.event.wait()
        return truth


@pytest.fixture
def gate() -> Iterator[Gate]:
    made = Gate()
    yield made
    made.event.set()


def settled(check: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 20
    while not check() and time.monotonic() < deadline:
        time.sleep(0.002)
    return check()


def path_threads() -> int:
    """Of this process: stores that other tests left open have theirs."""
    return sum(thread.name == "citewell-path" for thread in threading.enumerate())


@pytest.mark.requirement("PORT-2")
@pytest.mark.parametrize("path", SEARCHES)
def test_a_path_that_hangs_is_left_behind_and_the_others_answer(path: str, gate: Gate) -> None:
    expected = alone(path)
    store = Faulty({path: gate})
    with searching(store, ROOMY_S) as search:
        before = time.monotonic()
        response = search()
        assert keys(response) == expected
        assert response.degraded == (f"{path}: the search timed out after 0.5 s",)
        assert time.monotonic() - before < 20
        assert store.open == 1  # what hangs still reads it
        gate.event.set()
        assert settled(lambda: store.open == 0)
        assert settled(lambda: search().degraded == ())


@pytest.mark.requirement("PORT-2")
def test_what_hangs_for_ever_holds_four_threads_and_four_snapshots_however_often_it_is_asked(gate: Gate) -> None:
    store, others = Faulty({"lexical": gate}), path_threads()
    with searching(store, ROOMY_S) as search, ThreadPoolExecutor(4) as pool:
        late = ("lexical: the search timed out after 0.5 s",)
        assert [response.degraded for response in pool.map(lambda _: search(), range(4))] == [late] * 4
        causes = {search().degraded for _ in range(8)}
        assert causes == {("lexical: the search was not asked: 4 calls before are late and still run",)}
        assert (gate.asked, store.open) == (4, 4)
        assert settled(lambda: path_threads() <= others + 4 + 8)  # those that hang, and those that are kept for later
        gate.event.set()
        assert settled(lambda: store.open == 0)
    assert settled(lambda: path_threads() <= others)


@pytest.mark.requirement("PORT-2", "PROJ-6")
def test_all_paths_hanging_is_an_error_after_the_limit(gate: Gate) -> None:
    with searching(Faulty(dict.fromkeys(SEARCHES, gate)), LIMIT_S) as search:
        with pytest.raises(StoreUnreachable, match=r"the search timed out after 0\.05 s") as refusal:
            search()
        assert "retrieval.search.timeout" in refusal.value.way_out
        gate.event.set()


@pytest.mark.requirement("PORT-2", "SCORE-4")
def test_a_hanging_fetch_is_an_error_and_hanging_similarities_are_none(gate: Gate) -> None:
    with searching(Faulty({"fetch": gate}), ROOMY_S) as search:
        with pytest.raises(StoreUnreachable, match="reading the chunks timed out"):
            search()
        gate.event.set()
    late = Gate()
    with searching(Faulty({"similarities": late}), ROOMY_S, paths=("lexical",)) as search:
        response = search()
        assert {hit.similarity for hit in response.hits} == {None}
        assert response.degraded == ("similarity: reading similarities timed out after 0.5 s",)
        late.event.set()


@pytest.mark.requirement("PORT-2")
@pytest.mark.parametrize("path", SEARCHES)
@pytest.mark.parametrize("error", [StoreError("down"), OSError("down"), TimeoutError("down"), MemoryError("down")])
def test_a_path_that_fails_leaves_what_the_others_find(path: str, error: Exception) -> None:
    with searching(Faulty({path: lambda _: _raise(error)})) as search:
        response = search()
        assert keys(response) == alone(path)
        (cause,) = response.degraded
        assert cause.startswith(f"{path}: ")
        assert "down" in cause


@pytest.mark.requirement("PORT-2")
@pytest.mark.parametrize("path", SEARCHES)
def test_a_path_that_is_slow_within_the_limit_is_waited_for(path: str) -> None:
    def slow(truth: Answer) -> Answer:
        time.sleep(LIMIT_S)
        return truth

    with searching(Faulty({path: slow})) as search:
        response = search()
        assert response.degraded == ()
        assert {report.path: report.milliseconds for report in response.paths}[path] >= LIMIT_S * 1000


class HangingEmbedder(HashEmbedder):
    """Answers passages, and queries once it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.asked = threading.Event(), 0
        self.plain = HashEmbedder()

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.plain.embed_passages(texts)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        self.asked += 1
        self.gate.wait()
        return super().embed_query(text)


@pytest.fixture
def hanging(tmp_path: FilePath) -> Iterator[tuple[Knowledge, HangingEmbedder]]:
    embedder = HangingEmbedder()
    settings = Settings.of({"retrieval.search.mode": "hybrid", "retrieval.search.timeout": ROOMY_S})
    with Knowledge.open(tmp_path / "kb", settings=settings, embedder=embedder) as knowledge:
        knowledge.ingest_documents([Document("a.md", "# Keys\n\nRotate the signing key.")])
        yield knowledge, embedder
        embedder.gate.set()


@pytest.mark.requirement("PORT-2")
def test_an_embedder_that_hangs_costs_the_limit_once_and_the_lexical_path_answers(
    hanging: tuple[Knowledge, HangingEmbedder],
) -> None:
    knowledge, embedder = hanging
    before = time.monotonic()
    result = knowledge.lookup("signing key")
    assert [block.evidence_key for block in result.evidence] == ["a.md#chunk-0"]
    assert "dense: the query's embedding timed out after 0.5 s" in result.degraded
    assert time.monotonic() - before < 20
    assert embedder.asked == 1  # hints and search wait for the same answer
    embedder.gate.set()
    assert settled(lambda: knowledge.lookup("signing key").degraded == ())
    assert embedder.asked == 1


@pytest.mark.requirement("PORT-2", "PROJ-6")
def test_in_dense_mode_an_embedder_that_hangs_is_an_error_and_holds_four_threads(
    hanging: tuple[Knowledge, HangingEmbedder],
) -> None:
    knowledge, embedder = hanging

    def timed_out(number: int) -> bool:
        with pytest.raises(EmbedderUnavailable) as refusal:
            knowledge.lookup(f"question {number}", mode="dense")
        return "timed out" in refusal.value.message

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(timed_out, range(4))) == [True] * 4
    assert [timed_out(number) for number in range(4, 7)] == [False] * 3
    assert embedder.asked == 4


class OddEmbedder(HashEmbedder):
    """Fills a store like any other; then its queries are odd."""

    answer: Callable[[NDArray[np.float32]], Answer] = staticmethod(lambda vector: vector)

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return HashEmbedder().embed_passages(texts)

    def embed_query(self, text: str) -> Answer:
        return self.answer(super().embed_query(text))


ODD_VECTORS: dict[str, Callable[[NDArray[np.float32]], Answer]] = {
    "half as many dimensions": lambda vector: vector[:32],
    "twice as many": lambda vector: np.concatenate([vector, vector]),
    "a matrix": lambda vector: vector[np.newaxis],
    "NaN": lambda vector: np.where(vector == vector.max(), np.nan, vector),
    "infinite": lambda vector: vector / 0.0,
    "zero": lambda vector: vector * 0,
    "of length two": lambda vector: vector * 2,
    "texts": lambda vector: [str(value) for value in vector] + ["x"],
    "nothing": lambda _: None,
    "an exception that is no error of ours": lambda _: _raise(KeyError("dim")),
}


@pytest.mark.requirement("PORT-2", "SCORE-2")
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
@pytest.mark.parametrize("odd", ODD_VECTORS.values(), ids=ODD_VECTORS)
def test_an_embedder_that_turns_odd_leaves_the_lexical_answer_and_no_score(
    odd: Callable[[NDArray[np.float32]], Answer], tmp_path: FilePath
) -> None:
    embedder = OddEmbedder()
    with Knowledge.open(tmp_path / "kb", settings=Settings(), embedder=embedder) as knowledge:
        knowledge.ingest_documents([Document("a.md", "# Keys\n\nRotate the signing key.")])
        embedder.answer = odd
        result = knowledge.lookup("signing key", mode="hybrid")
        assert [(block.evidence_key, block.similarity) for block in result.evidence] == [("a.md#chunk-0", None)]
        assert any(cause.startswith("dense: ") for cause in result.degraded)
        with pytest.raises(CitewellError):
            knowledge.lookup("signing key", mode="dense")


@pytest.mark.requirement("PORT-2", "API-1")
def test_a_forked_child_looks_up_what_its_parent_looked_up(tmp_path: FilePath) -> None:
    """The threads that a lookup had started are not in the child."""
    settings = Settings.of({"retrieval.search.mode": "hybrid"})
    with Knowledge.open(tmp_path / "kb", settings=settings, embedder=HashEmbedder()) as knowledge:
        knowledge.ingest_documents([Document("a.md", "# Keys\n\nRotate the signing key.")])
        expected = [block.text for block in knowledge.lookup("signing key").evidence]
        child = os.fork()
        if child == 0:
            code = 1
            try:
                found = knowledge.lookup("signing key")
                code = 0 if [block.text for block in found.evidence] == expected and not found.degraded else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert knowledge.lookup("signing key").degraded == ()


def hints_in_time(knowledge: Knowledge, query: str) -> tuple[Hint, ...]:
    """A lookup does not wait for long for the catalogue to be read, which a busy machine may take."""
    deadline = time.monotonic() + 60
    while (found := knowledge.lookup(query)).trace.notes and time.monotonic() < deadline:
        time.sleep(0.05)
    return found.hints


@pytest.mark.requirement("L0-1", "API-1")
def test_a_forked_child_has_hints_of_what_was_written_after_its_parent_looked(tmp_path: FilePath) -> None:
    """The thread that reads the catalogue is not in the child."""
    with Knowledge.open(tmp_path / "kb", settings=Settings(), embedder=HashEmbedder()) as knowledge:
        knowledge.ingest_documents([Document("a.md", "# Keys\n\nRotate the signing key.")])
        assert [hint.value for hint in knowledge.lookup("signing key").hints] == ["a.md"]
        knowledge.ingest_documents([Document("b.md", "# Payroll\n\nThe payroll runs on Friday.")])
        child = os.fork()
        if child == 0:
            code = 1
            try:
                code = 0 if "b.md" in [hint.value for hint in knowledge.lookup("payroll").hints] else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
