"""What a lookup makes of hints: shown beside the evidence, never among it; a category where the caller gave none."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from citewell import Document, Knowledge, Settings
from citewell.admission import LookupRequest, admit
from citewell.app.embed_once import EmbedOnce
from citewell.errors import StoreUnreachable
from citewell.lookup import Lookup, LookupResult
from citewell.model import Hint, Hit, LookupPolicy, PathReport, SearchPolicy, SearchRequest, SearchResponse
from citewell.model.catalogue import Hinted
from citewell.projection import to_text
from citewell.testing import EmbedderContract
from citewell.testing.fakes import HashEmbedder

DOCUMENT = Hint("document", "pool.md", "Pool\x1b[2J exhausted", "title: pool")
CATEGORY = Hint("category", "storage", why="5 of the 5 likeliest documents")


class Port:
    def __init__(self) -> None:
        self.requests: list[SearchRequest] = []

    def search(self, request: SearchRequest) -> SearchResponse:
        self.requests.append(request)
        found = Hit(
            evidence_key="a.md#chunk-0", doc_id="a.md", chunk_index=0, text="text", similarity=0.5, scope=("s",)
        )
        return SearchResponse((found,), (PathReport("dense", "ran", 1),))


class Source:
    def __init__(self, hinted: Hinted | Exception) -> None:
        self.hinted = hinted
        self.asked: list[SearchRequest] = []

    def hints(self, request: SearchRequest) -> Hinted:
        self.asked.append(request)
        if isinstance(self.hinted, Exception):
            raise self.hinted
        return self.hinted


AGREED = Hinted((DOCUMENT, CATEGORY), category="storage")


def run(
    hinted: Hinted | Exception = AGREED, *, mode: str = "hybrid", category: str | None = None, **policy: bool
) -> tuple[LookupResult, list[SearchRequest], Source]:
    source, port = Source(hinted), Port()
    return Lookup(port, hints=source).run(request(mode, category, **policy)), port.requests, source


def request(mode: str, category: str | None, **policy: bool) -> LookupRequest:
    chosen = replace(LookupPolicy(), **policy)
    return admit(
        "the pool", policy=chosen, search=SearchPolicy(), mode=mode, category=category, scope=["s"], where={"t": 1}
    )


@pytest.mark.requirement("L0-1", "L0-2")
def test_hints_come_beside_the_evidence_and_change_nothing_of_it() -> None:
    with_hints, asked, source = run()
    without, asked_without, _ = run(hints=False)
    assert with_hints.hints == (DOCUMENT, CATEGORY)
    assert (with_hints.evidence, asked) == (without.evidence, asked_without)
    assert asked[0].category is None
    assert (source.asked[0].query, source.asked[0].scope, source.asked[0].where) == ("the pool", ("s",), (("t", 1),))


@pytest.mark.requirement("L0-1", "L0-2")
@pytest.mark.parametrize(
    ("filtered", "order"),
    [(False, ["begin", "search", "finish"]), (True, ["begin", "finish", "search"])],
    ids=["shown alone", "wanted for a filter"],
)
def test_hints_are_looked_for_beside_the_search_unless_it_may_filter_by_them(filtered: bool, order: list[str]) -> None:
    said: list[str] = []

    class Recording(Source):
        def begin(self, request: SearchRequest) -> Callable[[], Hinted]:
            said.append("begin")
            return partial(self.hints, request)

        def hints(self, request: SearchRequest) -> Hinted:
            said.append("finish")
            return super().hints(request)

    class Said(Port):
        def search(self, request: SearchRequest) -> SearchResponse:
            said.append("search")
            return super().search(request)

    result = Lookup(Said(), hints=Recording(AGREED)).run(request("hybrid", None, hints_filter=filtered))
    assert said == order
    assert result.hints == (DOCUMENT, CATEGORY)
    assert list(result.trace.milliseconds)[:2] == ["hints", "search"]


@pytest.mark.requirement("L0-1", "PORT-2")
def test_hints_that_can_not_begin_are_a_cause_and_the_search_goes_on() -> None:
    class Unable(Source):
        def begin(self, request: SearchRequest) -> Callable[[], Hinted]:
            raise StoreUnreachable("gone")

    result = Lookup(Port(), hints=Unable(AGREED)).run(request("hybrid", None))
    assert (result.hints, result.degraded) == ((), ("hints: gone",))
    assert len(result.evidence) == 1


@pytest.mark.requirement("L0-2")
def test_switched_off_nobody_is_asked_for_hints() -> None:
    result, _, source = run(hints=False)
    assert (result.hints, source.asked) == ((), [])


@pytest.mark.requirement("L0-2")
def test_the_agreed_category_serves_the_filtered_path_and_the_trace_says_so() -> None:
    result, asked, _ = run(hints_filter=True)
    assert asked[0].category == "storage"
    assert "category 'storage' comes from the hints" in result.trace.notes
    assert result.trace.settings["hints_filter"] == (True, "settings")


@pytest.mark.requirement("L0-2", "PORT-4")
@pytest.mark.parametrize(
    ("hinted", "arguments", "category"),
    [
        (AGREED, {"mode": "dense"}, None),
        (AGREED, {"category": "network"}, "network"),
        (Hinted((DOCUMENT, CATEGORY)), {}, None),
    ],
    ids=["dense mode", "the caller's own", "no agreement"],
)
def test_a_hinted_category_never_filters_otherwise(
    hinted: Hinted, arguments: dict[str, str], category: str | None
) -> None:
    _, asked, _ = run(hinted, hints_filter=True, **arguments)  # type: ignore[arg-type]
    assert [each.category for each in asked] == [category]


@pytest.mark.requirement("L0-2")
def test_the_filter_works_without_hints_being_shown() -> None:
    result, asked, _ = run(hints=False, hints_filter=True)
    assert (result.hints, asked[0].category) == ((), "storage")


@pytest.mark.requirement("L0-1")
@pytest.mark.parametrize("error", [StoreUnreachable("the disk is gone"), RuntimeError("odd")], ids=["named", "any"])
def test_hints_that_fail_are_said_and_the_lookup_goes_on(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.CRITICAL):
        result, _, _ = run(error)
    assert (result.status, len(result.evidence), result.hints) == ("ok", 1, ())
    (cause,) = result.degraded
    assert cause.startswith("hints: ")
    assert str(error).partition(".")[0] in cause


@pytest.mark.requirement("L0-1")
def test_a_catalogue_that_is_being_read_is_a_note_not_a_failure() -> None:
    result, _, _ = run(Hinted(note="no hints yet"))
    assert (result.degraded, result.trace.notes) == ((), ("no hints yet",))


@pytest.mark.requirement("L0-2", "PROJ-7")
def test_an_agent_sees_hints_as_lines_that_can_not_be_cited() -> None:
    result, _, _ = run(Hinted((DOCUMENT, CATEGORY, Hint("document", "x" * 301))))
    seen = result.to_agent()
    assert seen["hints"] == [
        {"kind": "document", "value": "pool.md", "title": r"Pool\x1b[2J exhausted", "why": "title: pool"},
        {"kind": "category", "value": "storage", "title": "", "why": "5 of the 5 likeliest documents"},
    ]
    assert [block.evidence_key for block in result.projected(seen)] == ["a.md#chunk-0"]
    assert "document: pool.md" in to_text(seen)


# Through the front door


class Counting(HashEmbedder):
    def __init__(self) -> None:
        super().__init__()
        self.queries: list[str] = []

    def embed_query(self, text: str) -> np.ndarray:
        self.queries.append(text)
        return super().embed_query(text)


@pytest.mark.parametrize("location", ["local", "memory:"])
@pytest.mark.requirement("L0-1", "L0-2", "GUARD-1", "PORT-4")
def test_a_lookup_gives_hints_embeds_once_and_a_session_is_not_shown_them(location: str, tmp_path: Path) -> None:
    embedder = Counting()
    where = str(tmp_path / "kb") if location == "local" else location
    settings = Settings.of({"rag.max-chunks-per-document": 1, "rag.return-n": 1, "rag.retrieve-k": 1})
    with Knowledge.open(where, settings=settings, embedder=embedder) as knowledge:
        knowledge.ingest_documents(
            [
                Document("pool.md", "# Pool\n\nThe pool is exhausted.", category="storage", scope="s"),
                Document("dns.md", "# DNS\n\nNames.", category="network", scope="t"),
            ]
        )
        embedder.queries.clear()
        embedder.embedded.clear()
        knowledge._hints._patience_s = 30.0
        for mode in ("dense", "hybrid"):
            result = knowledge.lookup("names of the pool", mode=mode, session="1", scope=["s"])
            assert [hint.value for hint in result.hints] == ["pool.md", "storage"]
            result.to_agent()
        assert embedder.queries == ["names of the pool"]
        assert embedder.embedded == []
        assert list(knowledge._memory.shown("1", ("s",))) == ["pool.md#chunk-0"]


class TestEmbedOnce(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> EmbedOnce:
        return EmbedOnce(HashEmbedder())


def test_only_the_last_sixteen_queries_are_remembered_and_failures_never() -> None:
    counting = Counting()
    once = EmbedOnce(counting)
    for number in (*range(17), 16, 1, 0):
        once.embed_query(f"q{number}")
    assert counting.queries == [*(f"q{number}" for number in range(17)), "q0"]

    class Failing(Counting):
        def embed_query(self, text: str) -> np.ndarray:
            self.queries.append(text)
            raise ValueError(text)

    failing = Failing()
    for _ in range(2):
        with pytest.raises(ValueError, match="q"):
            EmbedOnce(failing).embed_query("q")
    assert failing.queries == ["q", "q"]


@pytest.mark.requirement("PORT-5")
def test_an_embedder_at_hand_is_asked_in_the_callers_thread_and_once_and_others_are_not() -> None:
    class Telling(Counting):
        at_hand = True
        threads: ClassVar[list[int]] = []

        def embed_query(self, text: str) -> np.ndarray:
            self.threads.append(threading.get_ident())
            return super().embed_query(text)

    at_hand, elsewhere = Telling(), Telling()
    elsewhere.at_hand = False
    for embedder in (at_hand, elsewhere):
        once = EmbedOnce(embedder)
        vector, milliseconds = once.begin_query("q")()
        assert vector.tolist() == once.embed_query("q").tolist() == Counting().embed_query("q").tolist()
        assert milliseconds > 0
        assert embedder.queries == ["q"]
    here, other = Telling.threads
    assert here == threading.get_ident() != other


@pytest.mark.requirement("PORT-5")
def test_a_query_that_was_begun_is_embedded_beside_whoever_waits_for_it_and_once() -> None:
    gate = threading.Event()

    class Slow(Counting):
        def embed_query(self, text: str) -> np.ndarray:
            assert gate.wait(60)
            return super().embed_query(text)

    slow = Slow()
    once = EmbedOnce(slow)
    waits = [once.begin_query("q"), once.begin_query("q")]
    gate.set()
    (one, spent), (other, _) = (wait() for wait in waits)
    assert one.tobytes() == other.tobytes() == once.embed_query("q").tobytes()
    assert one is not other
    assert spent > 0
    assert once.begin_query("q")()[1] == 0.0  # it is remembered
    assert slow.queries == ["q"]


def test_what_the_embedder_offers_beyond_the_port_is_there() -> None:
    class Prefixed(HashEmbedder):
        prefixes = ("query: ", "")

    assert EmbedOnce(Prefixed()).prefixes == ("query: ", "")
    assert copy(EmbedOnce(Prefixed())).prefixes == ("query: ", "")
    with pytest.raises(AttributeError):
        EmbedOnce(HashEmbedder()).nothing  # noqa: B018 - the access is what is tested


@pytest.mark.requirement("L0-2", "GUARD-1")
def test_a_hinted_document_that_was_not_shown_can_not_be_cited() -> None:
    settings = Settings.of({"rag.return-n": 1, "rag.max-chunks-per-document": 1})
    with Knowledge.open("memory:", settings=settings, embedder=HashEmbedder()) as knowledge:
        knowledge.ingest_documents(
            [Document("pool.md", "# Pool\n\nThe pool is exhausted."), Document("dns.md", "# DNS\n\nNames of the pool.")]
        )
        knowledge._hints._patience_s = 30.0
        result = knowledge.lookup("the pool is exhausted", session="1")
        shown = [block.evidence_key for block in result.evidence]
        assert shown == ["pool.md#chunk-0"]
        assert {hint.value for hint in result.hints} == {"pool.md", "dns.md"}
        result.to_agent()
        cited = ["pool.md#chunk-0", "dns.md#chunk-0", "dns.md"]
        for given in ({"session": "1"}, {"shown": result}):
            verdicts = [each.verdict for each in knowledge.check(cited, **given).citations]
            assert verdicts[:2] == ["shown", "not_shown"]
            assert verdicts[2] not in ("shown", "stale")
