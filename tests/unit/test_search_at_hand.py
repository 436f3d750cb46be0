"""A store at hand is asked in the caller's thread, beside the query's embedding; any other store never is."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from citewell.adapters.memory import MemoryStore
from citewell.errors import EmbedderError, StoreError
from citewell.model import PATHS, SearchPolicy, SearchRequest, SearchResponse, StoredChunk
from citewell.ports import KnowledgeSearchPort
from citewell.search import StoreSearch
from citewell.testing.fakes import HashEmbedder
from citewell.testing.samples import binding_of, change, terms_of

EMBEDDER = HashEmbedder()
CALLS = ("dense", "lexical", "similarities", "fetch")


class Watched:
    """A store that notes the thread of each call on its snapshots.

    `fault` is raised by one of them; what `meeting` holds for one is called by it.
    """

    def __init__(self, *, at_hand: bool, fault: str = "") -> None:
        self.at_hand, self.fault = at_hand, fault
        self.threads: dict[str, list[str]] = {name: [] for name in CALLS}
        self.meeting: dict[str, Callable[[], object]] = {}
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
            self.owner.meeting.get(name, str)()
            return call(*given)

        return noted


def search(store: Watched, category: str | None = None, *, embedder: Any = EMBEDDER, **options: Any) -> SearchResponse:  # noqa: ANN401 - what an embedder has; of a policy
    port = StoreSearch(store, embedder, SearchPolicy(**options), analyze=terms_of)  # type: ignore[arg-type]  # as much of a store as a search asks for
    try:
        return port.search(SearchRequest("signing key", 2, "hybrid", category=category))
    finally:
        port.close()


@pytest.fixture
def here() -> str:
    return threading.current_thread().name


@pytest.mark.requirement("PORT-5", "SCORE-4")
@pytest.mark.parametrize("paths", [PATHS, ("lexical",)])
def test_of_a_store_at_hand_the_caller_runs_every_path(here: str, paths: tuple[str, ...]) -> None:
    store = Watched(at_hand=True)
    response = search(store, "ops", paths=paths)
    assert {name for names in store.threads.values() for name in names} == {here}
    assert [report.path for report in response.paths if report.status == "ran"] == list(paths)
    assert None not in {hit.similarity for hit in response.hits}


@pytest.mark.requirement("PORT-5")
def test_every_path_of_another_store_has_a_thread_of_its_own() -> None:
    store = Watched(at_hand=False)
    together = threading.Barrier(2, timeout=60)
    store.meeting = {"dense": together.wait}  # the two dense paths; one after the other, they would never meet
    assert search(store, "ops").degraded == ()


class Begun:
    """An embedder that begins, and whose vector is there when somebody searched."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.fails = ""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the other has
        return getattr(EMBEDDER, name)

    def begin_query(self, text: str) -> Callable[[], tuple[Any, float]]:
        self._say("begun")

        def wait() -> tuple[Any, float]:
            self._say("waited for")
            return EMBEDDER.embed_query(text), 7.5

        return wait

    def _say(self, what: str) -> None:
        self.said.append(what)
        if what == self.fails:
            raise OSError("no answer")


@pytest.mark.requirement("PORT-5")
@pytest.mark.parametrize("at_hand", [True, False])
def test_the_lexical_path_runs_between_the_beginning_of_the_embedding_and_its_end(at_hand: bool) -> None:
    store, embedder = Watched(at_hand=at_hand), Begun()
    store.meeting = {name: partial(embedder.said.append, name) for name in ("lexical", "dense")}
    response = search(store, embedder=embedder)
    assert embedder.said[0] == "begun"
    assert "lexical" in embedder.said
    assert [each for each in embedder.said if each != "lexical"] == ["begun", "waited for", "dense"]
    if at_hand:
        assert embedder.said == ["begun", "lexical", "waited for", "dense"]
    assert response.embed_milliseconds == 7.5
    assert search(Watched(at_hand=at_hand)).hits == response.hits


@pytest.mark.requirement("PORT-2")
@pytest.mark.parametrize("when", ["begun", "waited for"])
def test_an_embedding_that_fails_at_either_end_leaves_what_the_lexical_path_finds(when: str) -> None:
    embedder = Begun()
    embedder.fails = when
    response = search(Watched(at_hand=True), embedder=embedder)
    assert response.degraded == ("dense: the query could not be embedded: OSError: no answer",)
    assert [hit.evidence_key for hit in response.hits] == ["ops#chunk-0", "ops#chunk-1"]


@pytest.mark.requirement("PORT-2")
@pytest.mark.parametrize("begun", [None, 5, lambda: None, lambda: ([1.0], "soon")])
def test_an_embedder_that_begins_nothing_is_an_error_where_it_is_all_there_is(begun: object) -> None:
    embedder = Begun()
    embedder.begin_query = lambda text: begun  # type: ignore[method-assign, assignment, return-value]  # odd on purpose
    with pytest.raises(EmbedderError):
        search(Watched(at_hand=True), embedder=embedder, paths=("dense",))
    assert search(Watched(at_hand=True), embedder=embedder).degraded[0].startswith("dense: ")


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
    with pytest.raises(StoreError, match="the chunks could not be read: KeyError: 'fetch'"):
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
