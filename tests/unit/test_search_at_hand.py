"""A store at hand is asked in the caller's thread where nothing can be done meanwhile; any other store never is."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from citewell.adapters.memory import MemoryStore
from citewell.model import SearchPolicy, SearchRequest, SearchResponse, StoredChunk
from citewell.ports import KnowledgeSearchPort
from citewell.search import StoreSearch
from citewell.testing.fakes import HashEmbedder
from citewell.testing.samples import binding_of, change, terms_of

EMBEDDER = HashEmbedder()
CALLS = ("dense", "lexical", "similarities", "fetch")


class Watched:
    """A store that notes the thread of each call on its snapshots; `fault` is raised by one of them."""

    def __init__(self, *, at_hand: bool, fault: str = "") -> None:
        self.at_hand, self.fault = at_hand, fault
        self.threads: dict[str, list[str]] = {name: [] for name in CALLS}
        self.store = MemoryStore()
        self.store.bind(binding_of(EMBEDDER))
        texts = ["rotate the signing key", "signing off", "payroll"]
        self.store.apply([change("ops", texts, embedder=EMBEDDER, category="ops")])

    def binding(self) -> object:
        return self.store.binding()

    @contextmanager
    def snapshot(self) -> Iterator[_View]:
        with self.store.snapshot() as view:
            yield _View(view, self)


class _View:
    def __init__(self, view: Any, owner: Watched) -> None:  # noqa: ANN401 - a Snapshot
        self.size, self.owner = view.size, owner
        for name in CALLS:
            setattr(self, name, self._noted(name, getattr(view, name)))

    def _noted(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*given: object) -> Any:  # noqa: ANN401 - whatever a snapshot answers
            self.owner.threads[name].append(threading.current_thread().name)
            if name == self.owner.fault:
                raise KeyError(name)
            return call(*given)

        return noted


def search(store: Watched, category: str | None = None, **options: Any) -> SearchResponse:  # noqa: ANN401 - of a policy
    port = StoreSearch(store, EMBEDDER, SearchPolicy(**options), analyze=terms_of)  # type: ignore[arg-type]  # as much of a store as a search asks for
    try:
        return port.search(SearchRequest("signing key", 2, "hybrid", category=category))
    finally:
        port.close()


@pytest.fixture
def here() -> str:
    return threading.current_thread().name


@pytest.mark.requirement("PORT-5")
def test_of_a_store_at_hand_the_lexical_path_runs_beside_the_dense_one_which_the_caller_runs(here: str) -> None:
    store = Watched(at_hand=True)
    search(store)
    assert store.threads == {"lexical": ["citewell-path"], "dense": [here], "similarities": [], "fetch": [here]}


@pytest.mark.requirement("PORT-5")
def test_with_a_category_all_paths_but_the_last_have_a_thread_of_their_own(here: str) -> None:
    store = Watched(at_hand=True)
    search(store, "ops")
    assert set(store.threads["dense"]) == {here, "citewell-path"}
    assert store.threads["lexical"] == ["citewell-path"]


@pytest.mark.requirement("SCORE-4")
def test_similarities_of_lexical_hits_are_asked_by_the_caller(here: str) -> None:
    store = Watched(at_hand=True)
    response = search(store, paths=("lexical",))
    assert store.threads == {"lexical": ["citewell-path"], "dense": [], "similarities": [here], "fetch": [here]}
    assert None not in {hit.similarity for hit in response.hits}


@pytest.mark.requirement("PORT-2")
def test_no_call_on_another_store_is_made_in_the_callers_thread() -> None:
    store = Watched(at_hand=False)
    search(store, "ops")
    search(store, paths=("lexical",))
    assert {name for names in store.threads.values() for name in names} == {"citewell-path"}


@pytest.mark.requirement("PORT-2", "PORT-5")
@pytest.mark.parametrize("at_hand", [True, False])
def test_the_answers_are_the_same(at_hand: bool) -> None:
    expected = search(Watched(at_hand=not at_hand), "ops")
    response = search(Watched(at_hand=at_hand), "ops")
    assert response.hits == expected.hits
    assert [report.path for report in response.paths] == ["dense", "dense_filtered", "lexical"]
    assert response.degraded == expected.degraded == ()


@pytest.mark.requirement("PORT-2")
def test_a_path_that_breaks_in_the_callers_thread_leaves_what_the_other_finds() -> None:
    response = search(Watched(at_hand=True, fault="dense"))
    assert [hit.evidence_key for hit in response.hits] == ["ops#chunk-0", "ops#chunk-1"]
    assert response.degraded == ("dense: the dense path failed: KeyError: 'dense'",)
    with pytest.raises(KeyError):
        search(Watched(at_hand=True, fault="fetch"))
    response = search(Watched(at_hand=True, fault="similarities"), paths=("lexical",))
    assert response.degraded[0].startswith("similarity: ")


@pytest.mark.requirement("CONTEXT-1")
def test_neighbours_are_fetched_by_the_caller_of_a_store_at_hand(here: str) -> None:
    def fetched(port: KnowledgeSearchPort, keys: Sequence[str]) -> Mapping[str, StoredChunk]:
        found: Mapping[str, StoredChunk] = port.fetch(keys)  # type: ignore[attr-defined]  # optional
        return found

    store = Watched(at_hand=True)
    port = StoreSearch(store, EMBEDDER, analyze=terms_of)  # type: ignore[arg-type]  # as above
    with port.session() as session:
        assert list(fetched(session, ["ops#chunk-1"])) == ["ops#chunk-1"]
    port.close()
    assert store.threads["fetch"] == [here]
