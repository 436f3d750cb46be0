"""The paths over a real (in-memory) store: which run, what they report, what one failing path does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from citewell.adapters.memory import MemoryStore
from citewell.errors import EmbedderError, EmbedderMismatch, StoreError, StoreUnreachable
from citewell.model import SearchPolicy, SearchRequest, SearchResponse
from citewell.ports import Snapshot, Store
from citewell.search import StoreSearch
from citewell.testing.fakes import HashEmbedder
from citewell.testing.samples import binding_of, change, terms_of
from citewell.weighing import weigh

EMBEDDER = HashEmbedder()


class Breakable:
    """A store whose paths can be made to fail, and which counts the calls of each."""

    def __init__(self, store: Store, broken: dict[str, Exception] | None = None) -> None:
        self._store = store
        self.broken = broken or {}
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    def begin(self, name: str) -> None:
        self.calls.append(name)

    @contextmanager
    def snapshot(self) -> Iterator[_View]:
        with self._store.snapshot() as view:
            yield _View(view, self)


class _View:
    def __init__(self, view: Snapshot, owner: Breakable) -> None:
        self._view = view
        self._owner = owner

    def __getattr__(self, name: str) -> Callable[..., object]:
        value = getattr(self._view, name)
        if not callable(value):
            return value  # type: ignore[no-any-return]  # `size`

        def call(*args: object) -> object:
            self._owner.begin(name)
            if name in self._owner.broken:
                raise self._owner.broken[name]
            return value(*args)

        return call


class BrokenEmbedder(HashEmbedder):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    def embed_query(self, text: str) -> NDArray[np.float32]:
        raise self._error


@pytest.fixture
def store() -> Breakable:
    memory = MemoryStore()
    memory.bind(binding_of(EMBEDDER))
    ops = ["rotate the signing key", "the signing key is old", "lunch is at noon"]
    memory.apply(
        [
            change("alpha", ops, embedder=EMBEDDER, category="ops", scope="t1"),
            change("beta", ["the signing key of the payroll"], embedder=EMBEDDER, category="hr", scope="t2"),
        ]
    )
    return Breakable(memory)


def search(
    store: Breakable,
    query: str = "signing key",
    policy: SearchPolicy | None = None,
    embedder: HashEmbedder = EMBEDDER,
    **request: object,
) -> SearchResponse:
    port = StoreSearch(store, embedder, policy, analyze=terms_of)  # type: ignore[arg-type]  # forwards the rest
    try:
        return port.search(SearchRequest(query, **{"retrieve_k": 50, "mode": "hybrid", **request}))  # type: ignore[arg-type]  # free-form
    finally:
        port.close()


def statuses(response: SearchResponse) -> dict[str, str]:
    return {report.path: report.status for report in response.paths}


@pytest.mark.requirement("PORT-4")
def test_dense_mode_is_one_vector_search_filtered_by_the_category(store: Breakable) -> None:
    response = search(store, mode="dense", category="hr")
    assert store.calls == ["dense", "fetch"]
    assert [hit.evidence_key for hit in response.hits] == ["beta#chunk-0"]
    assert [(report.path, report.filter) for report in response.paths] == [("dense", "category = 'hr'")]
    assert [hit.fused_score for hit in response.hits] == [None]


@pytest.mark.requirement("PORT-5", "RRF-1", "RRF-4")
def test_hybrid_fuses_three_paths_and_each_hit_says_where_it_was_found(store: Breakable) -> None:
    policy = SearchPolicy(weights={"dense": 1, "dense_filtered": 1, "lexical": 1})
    response = search(store, "rotate the signing key", policy, category="ops")
    first = response.hits[0]
    assert first.evidence_key == "alpha#chunk-0"
    assert [(reason.path, reason.rank) for reason in first.reasons] == [
        ("dense", 1),
        ("dense_filtered", 1),
        ("lexical", 1),
    ]
    assert first.fused_score == pytest.approx(3 / 61)
    assert first.reasons[0].score == first.similarity == pytest.approx(1.0)
    assert first.reasons[2].score == first.lexical_score
    assert statuses(response) == {"dense": "ran", "dense_filtered": "ran", "lexical": "ran"}


@pytest.mark.requirement("PORT-5")
def test_a_category_that_matches_nothing_hides_nothing(store: Breakable) -> None:
    """Trial I77."""
    response = search(store, category="finance")
    assert {hit.evidence_key for hit in response.hits} >= {"alpha#chunk-0", "beta#chunk-0"}
    assert {report.path: report.hits for report in response.paths}["dense_filtered"] == 0


@pytest.mark.requirement("PORT-2", "PORT-3")
def test_a_path_that_does_not_run_says_why(store: Breakable) -> None:
    """Trial I84."""
    policy = SearchPolicy(paths=("dense", "dense_filtered"))
    causes = {report.path: report.cause for report in search(store, policy=policy).paths}
    assert causes == {"dense": "", "dense_filtered": "no category", "lexical": "switched off by retrieval.search.paths"}
    causes = {report.path: report.cause for report in search(store, "\U0001f525").paths}
    assert causes["lexical"] == "the query holds no term"


@pytest.mark.requirement("PORT-3", "LEX-3", "SCORE-4")
def test_the_lexical_path_alone_gives_true_similarities(store: Breakable) -> None:
    (hit,) = search(store, "payroll", SearchPolicy(paths=("lexical",))).hits
    truth = {each.evidence_key: each.similarity for each in search(store, "payroll", mode="dense").hits}
    assert hit.similarity == pytest.approx(truth["beta#chunk-0"], abs=1e-6)
    assert [reason.path for reason in hit.reasons] == ["lexical"]


@pytest.mark.requirement("PORT-3", "LEX-3", "SCORE-4")
def test_the_lexical_path_alone_answers_without_an_embedding_and_says_what_is_missing(store: Breakable) -> None:
    broken = BrokenEmbedder(EmbedderError("no model"))
    response = search(store, "payroll", SearchPolicy(paths=("lexical",)), broken)
    assert [hit.evidence_key for hit in response.hits] == ["beta#chunk-0"]
    assert response.hits[0].similarity is None
    assert response.degraded == ("similarity: no model",)


class OddEmbedder(HashEmbedder):
    def __init__(self, answer: object) -> None:
        super().__init__()
        self.answer = answer

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self.answer  # type: ignore[return-value]  # that is the fault


@pytest.mark.requirement("PORT-2", "SCORE-2")
@pytest.mark.parametrize(
    "answer",
    [
        None,
        [0.0] * 63 + [np.nan],
        [np.inf] + [0.0] * 63,
        [0.0] * 64,
        [10.0] + [0.0] * 63,
        [1.0] + [0.0] * 7,
        "vector",
    ],
    ids=["nothing", "NaN", "infinity", "zero", "not of unit length", "too short", "text"],
)
def test_a_query_vector_that_is_none_is_an_error_and_never_a_score(store: Breakable, answer: object) -> None:
    with pytest.raises(EmbedderError):
        search(store, embedder=OddEmbedder(answer), mode="dense")
    response = search(store, "payroll", embedder=OddEmbedder(answer))
    assert [(hit.evidence_key, hit.similarity) for hit in response.hits] == [("beta#chunk-0", None)]
    assert response.degraded[0].startswith("dense: ")


@pytest.mark.requirement("POST-7", "INGEST-5")
def test_searches_within_one_session_see_one_version_and_embed_once(store: Breakable) -> None:
    class Counting(HashEmbedder):
        queries = 0

        def embed_query(self, text: str) -> NDArray[np.float32]:
            self.queries += 1
            return super().embed_query(text)

    embedder = Counting()
    port = StoreSearch(store, embedder, analyze=terms_of)  # type: ignore[arg-type]  # forwards the rest
    request = SearchRequest("signing key", 50, "hybrid")
    with port.session() as session:
        before = session.search(request)
        version = store.stored("alpha").version  # type: ignore[operator]  # forwards the rest
        store.apply([change("alpha", ["another text"], embedder=EMBEDDER, expected_version=version)])  # type: ignore[operator]  # as above
        assert session.search(request).hits == before.hits
    assert embedder.queries == 1
    assert port.search(request).hits != before.hits
    port.close()


@pytest.mark.requirement("SCORE-3")
def test_similarity_is_the_same_number_in_both_modes(store: Breakable) -> None:
    """Trial I33."""
    dense = {hit.evidence_key: hit.similarity for hit in search(store, mode="dense").hits}
    hybrid = {hit.evidence_key: hit.similarity for hit in search(store).hits}
    assert dense == pytest.approx(hybrid, abs=1e-6)


@pytest.mark.requirement("SCORE-4")
def test_a_hit_of_the_lexical_path_alone_gets_its_true_similarity_in_one_further_call(store: Breakable) -> None:
    response = search(store, "noon key payroll", retrieve_k=2)
    lexical_only = [hit for hit in response.hits if [reason.path for reason in hit.reasons] == ["lexical"]]
    assert store.calls.count("similarities") == 1
    truth = {hit.evidence_key: hit.similarity for hit in search(store, "noon key payroll", mode="dense").hits}
    assert lexical_only
    assert [hit.similarity for hit in lexical_only] == pytest.approx([truth[hit.evidence_key] for hit in lexical_only])


@pytest.mark.requirement("SCORE-4")
def test_where_the_similarity_can_not_be_had_it_is_none_and_the_hit_stays(store: Breakable) -> None:
    store.broken = {"similarities": StoreError("no vectors")}
    response = search(store, "noon key payroll", retrieve_k=2)
    lexical_only = [hit for hit in response.hits if [reason.path for reason in hit.reasons] == ["lexical"]]
    assert [hit.similarity for hit in lexical_only] == [None] * len(lexical_only)
    assert lexical_only
    assert response.degraded == ("similarity: no vectors",)


@pytest.mark.requirement("PORT-2")
@pytest.mark.parametrize("error", [StoreError("index gone"), RuntimeError("index gone")])
def test_a_dead_lexical_path_degrades_the_answer_and_says_so(store: Breakable, error: Exception) -> None:
    """Trial I85."""
    store.broken = {"lexical": error}
    response = search(store)
    assert [hit.evidence_key for hit in response.hits][:1] != []
    assert statuses(response)["lexical"] == "failed"
    assert len(response.degraded) == 1
    assert response.degraded[0].startswith("lexical: ")
    assert "index gone" in response.degraded[0]


@pytest.mark.requirement("PORT-2")
@pytest.mark.parametrize("error", [EmbedderError("no model"), OSError("no model")])
def test_a_dead_embedder_leaves_the_lexical_answer_and_says_so(store: Breakable, error: Exception) -> None:
    """Trial I86."""
    response = search(store, "payroll", embedder=BrokenEmbedder(error), category="hr")
    assert [hit.evidence_key for hit in response.hits] == ["beta#chunk-0"]
    assert statuses(response) == {"dense": "failed", "dense_filtered": "failed", "lexical": "ran"}
    assert [cause.partition(":")[0] for cause in response.degraded] == ["dense", "dense_filtered"]


@pytest.mark.requirement("PORT-2", "PROJ-6")
def test_all_paths_down_is_an_error_and_never_reads_as_nothing_found(store: Breakable) -> None:
    store.broken = {"lexical": StoreUnreachable("gone"), "dense": StoreUnreachable("gone")}
    with pytest.raises(StoreUnreachable, match="gone"):
        search(store)
    store.broken = {"lexical": ValueError("odd")}
    with pytest.raises(EmbedderError, match="no model"):
        search(store, embedder=BrokenEmbedder(EmbedderError("no model")))


@pytest.mark.requirement("PORT-4")
def test_in_dense_mode_the_one_path_failing_is_the_error(store: Breakable) -> None:
    store.broken = {"dense": RuntimeError("odd")}
    with pytest.raises(StoreError, match="the dense path failed: RuntimeError: odd"):
        search(store, mode="dense")


@pytest.mark.requirement("PORT-5")
def test_the_lexical_path_starts_before_the_query_is_embedded(store: Breakable) -> None:
    """The embedder waits until the lexical path has begun; were they in turn, this would never end."""
    begun = threading.Event()

    class Waiting(HashEmbedder):
        def embed_query(self, text: str) -> NDArray[np.float32]:
            assert begun.wait(timeout=60)
            return super().embed_query(text)

    class Telling(Breakable):
        def begin(self, name: str) -> None:
            super().begin(name)
            if name == "lexical":
                begun.set()

    assert search(Telling(store._store), embedder=Waiting()).degraded == ()


@pytest.mark.requirement("SAFE-1")
@pytest.mark.parametrize("mode", ["dense", "hybrid"])
def test_scope_holds_on_every_path(store: Breakable, mode: str) -> None:
    """Trials I64, I80: each report proves the effective filter."""
    response = search(store, mode=mode, scope=("t1",), category="hr")
    assert {hit.doc_id for hit in response.hits} <= {"alpha"}
    assert all("scope in ['t1']" in report.filter for report in response.paths)
    assert search(store, mode=mode, scope=()).hits == ()


@pytest.mark.requirement("INGEST-8")
def test_a_store_of_another_embedder_is_refused_naming_both(store: Breakable) -> None:
    with pytest.raises(EmbedderMismatch, match=r"hash-words \(64 dimensions.*hash-words \(8 dimensions"):
        search(store, embedder=HashEmbedder(8))


@pytest.mark.requirement("PORT-2")
def test_an_empty_store_answers_empty_and_says_so() -> None:
    """Trial I87."""
    response = search(Breakable(MemoryStore()))
    assert (response.hits, response.store_empty, response.degraded) == ((), True, ())
    assert {report.cause for report in response.paths} == {"the store is empty", "no category"}


@pytest.mark.requirement("RRF-1")
def test_a_path_of_weight_zero_has_no_say(store: Breakable) -> None:
    """Trial I10."""
    policy = SearchPolicy(weights={"lexical": 0.0})
    order = [hit.evidence_key for hit in search(store, "payroll", policy).hits]
    assert order == [hit.evidence_key for hit in search(store, "payroll", mode="dense").hits]


def shelf(texts: list[str]) -> Breakable:
    memory = MemoryStore()
    memory.bind(binding_of(EMBEDDER))
    memory.apply([change(f"doc{number:02}", [text], embedder=EMBEDDER) for number, text in enumerate(texts)])
    return Breakable(memory)


@pytest.mark.requirement("RRF-1", "PORT-2")
def test_each_query_has_its_own_weights_and_the_response_names_them() -> None:
    store = shelf([*(f"signing key number {number}" for number in range(12)), "lunch is at noon", "payroll of May"])
    response = search(store)
    hits = response.hits
    scores = {
        path: [
            score or 0.0 for _, score in sorted((r.rank, r.score) for h in hits for r in h.reasons if r.path == path)
        ]
        for path in ("dense", "lexical")
    }
    assert response.weights == weigh(scores)
    assert response.weights["lexical"] != 1.9
    for hit in response.hits:
        votes = [response.weights[reason.path] / (60 + reason.rank) for reason in hit.reasons]
        assert hit.fused_score == pytest.approx(sum(votes))


@pytest.mark.requirement("RRF-1", "POST-7")
def test_a_second_search_for_the_same_query_keeps_its_weights() -> None:
    store = shelf([*(f"signing key number {number}" for number in range(12)), "lunch is at noon"])
    port = StoreSearch(store, EMBEDDER, analyze=terms_of)  # type: ignore[arg-type]  # forwards the rest
    request = SearchRequest("signing key", retrieve_k=50, mode="hybrid")
    with port.session() as session:
        first = session.search(request)
        again = session.search(replace(request, exclude_documents=("doc00", "doc01", "doc02", "doc03")))
    port.close()
    assert again.weights == first.weights


@pytest.mark.requirement("RRF-1")
def test_weights_that_are_set_hold_for_every_query() -> None:
    """Trial I10."""
    store = shelf([f"signing key number {number}" for number in range(12)])
    assert search(store, policy=SearchPolicy(weights={"lexical": 1.5})).weights == {"dense": 1.0, "lexical": 1.5}
