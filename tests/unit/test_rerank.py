"""Reranking: the best candidates in another order, within a time limit, or in the fused order with the cause."""

from __future__ import annotations

import logging
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell import Document, Knowledge, Settings
from citewell.adapters.rerankers.fastembed import FastembedReranker
from citewell.adapters.rerankers.http import HttpReranker
from citewell.adapters.rerankers.sentence_transformers import SentenceTransformersReranker
from citewell.admission import admit
from citewell.config import RerankerSettings
from citewell.errors import ConfigError, RerankerError
from citewell.lookup import Lookup
from citewell.model import Hit, LookupPolicy, PathReport, SearchPolicy, SearchRequest, SearchResponse
from citewell.patience import MOST_LATE
from citewell.rerank import rerank
from citewell.rerank.in_time import InTime
from citewell.testing import RerankerContract
from citewell.testing.fakes import HashEmbedder
from citewell.wiring import open_reranker


def hit(name: str, fused: float = 0.01) -> Hit:
    return Hit(evidence_key=f"{name}#chunk-0", doc_id=name, chunk_index=0, text=name, similarity=0.5, fused_score=fused)


HITS = tuple(hit(name) for name in "abcde")


class Table:
    """Scores by text; `rerank` may be replaced."""

    name = "table"

    def __init__(self, scores: dict[str, float] | None = None) -> None:
        self.scores = scores or {}
        self.asked: list[tuple[str, list[str]]] = []

    def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        self.asked.append((query, list(texts)))
        return [self.scores.get(text, float(len(text))) for text in texts]


def names(hits: Sequence[Hit]) -> str:
    return "".join(hit.text for hit in hits)


# The stage


@pytest.mark.requirement("RERANK-1")
def test_candidates_come_by_falling_score_and_equal_ones_in_fused_order() -> None:
    reranked = rerank("q", HITS, Table({"a": 1, "b": 3, "c": 2, "d": 3, "e": 1}), 50)
    assert names(reranked.hits) == "bdcae"
    assert [hit.rerank_score for hit in reranked.hits] == [3, 3, 2, 1, 1]
    assert reranked.cause == ""


@pytest.mark.requirement("RERANK-1", "SCORE-1")
def test_the_rerank_score_is_a_number_of_its_own() -> None:
    (reranked,) = rerank("q", HITS[:1], Table({"a": -7.5}), 1).hits
    assert (reranked.similarity, reranked.lexical_score, reranked.fused_score) == (0.5, None, 0.01)
    assert reranked.rerank_score == -7.5
    assert HITS[0].rerank_score is None


@pytest.mark.requirement("RERANK-1")
def test_rerank_k_bounds_what_the_reranker_sees_and_the_rest_follows_as_it_was() -> None:
    table = Table({"a": 1, "b": 2, "e": 99})
    reranked = rerank("the query", HITS, table, 2)
    assert table.asked == [("the query", ["a", "b"])]
    assert names(reranked.hits) == "bacde"
    assert [hit.rerank_score for hit in reranked.hits] == [2, 1, None, None, None]


@pytest.mark.requirement("RERANK-1")
def test_nothing_found_is_nothing_to_ask_about() -> None:
    table = Table()
    assert rerank("q", (), table, 5).hits == ()
    assert table.asked == []


WRONG: dict[str, Callable[[], object]] = {
    "one too few": lambda: [1.0] * 4,
    "one too many": lambda: [1.0] * 6,
    "none": list,
    "NaN": lambda: [1.0, math.nan, 1.0, 1.0, 1.0],
    "infinity": lambda: [1.0, math.inf, 1.0, 1.0, 1.0],
    "minus infinity": lambda: [-math.inf] * 5,
    "text": lambda: ["high"] * 5,
    "lists": lambda: [[1.0]] * 5,
    "None": lambda: None,
    "an error": lambda: (_ for _ in ()).throw(RuntimeError("boom")),
    "a named error": lambda: (_ for _ in ()).throw(RerankerError("boom")),
}


@pytest.mark.requirement("RERANK-1")
@pytest.mark.parametrize("name", WRONG)
def test_a_reranker_that_fails_leaves_everything_as_it_was_and_the_cause_is_said(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    broken = Table()
    broken.rerank = lambda *_: WRONG[name]()  # type: ignore[method-assign, assignment]
    with caplog.at_level(logging.CRITICAL):
        reranked = rerank("q", HITS, broken, 50)
    assert reranked.hits == HITS
    assert reranked.cause.startswith("reranker: ")
    assert len(reranked.cause) > len("reranker: ")


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=12), st.integers(1, 15))
@pytest.mark.requirement("RERANK-1")
def test_whatever_the_scores_no_candidate_is_lost_doubled_or_moved_past_k(scores: list[float], k: int) -> None:
    hits = [hit(f"{number}") for number in range(len(scores))]
    reranked = rerank("q", hits, Table({f"{number}": score for number, score in enumerate(scores)}), k).hits
    assert sorted(hit.evidence_key for hit in reranked) == sorted(hit.evidence_key for hit in hits)
    assert [hit.text for hit in reranked[k:]] == [hit.text for hit in hits[k:]]
    best = [scores[int(hit.text)] for hit in reranked[:k]]
    assert best == sorted(best, reverse=True)


# Within a lookup


class Port:
    """Answers the first request with four chunks of one document and others; the second with one more."""

    def __init__(self) -> None:
        self.requests: list[SearchRequest] = []

    def search(self, request: SearchRequest) -> SearchResponse:
        self.requests.append(request)
        found = HITS[:4] if len(self.requests) == 1 else (HITS[4],)
        report = PathReport("dense", "ran", len(found), cut=True)
        return SearchResponse(tuple(found), (report,))


def run(reranker: Table | InTime | None, **policy: int) -> Any:  # noqa: ANN401 - a LookupResult
    chosen = LookupPolicy(max_chunks_per_document=1, return_n=5, **policy)  # type: ignore[arg-type]
    return Lookup(Port(), reranker=reranker).run(admit("q", policy=chosen, search=SearchPolicy(mode="hybrid")))


@pytest.mark.requirement("RERANK-1", "POST-7")
def test_evidence_comes_in_the_rerankers_order_and_a_refill_comes_after_it() -> None:
    table = Table({"a": 1, "b": 2, "c": 3, "d": 4, "e": 99})
    result = run(table)
    assert [block.text for block in result.evidence] == ["d", "c", "b", "a", "e"]
    assert [block.rerank_score for block in result.evidence] == [4, 3, 2, 1, None]
    assert table.asked == [("q", ["a", "b", "c", "d"])]
    assert [line["rerank_score"] for line in result.to_dict()["trace"]["candidates"]] == [4, 3, 2, 1, None]
    assert result.degraded == ()


@pytest.mark.requirement("RERANK-1", "SCORE-5")
def test_rerank_k_of_the_settings_holds_and_the_floor_compares_similarity_alone() -> None:
    result = run(Table({"a": -1, "b": -0.5}), rerank_k=2, min_similarity=0)
    assert [block.text for block in result.evidence] == ["b", "a", "c", "d", "e"]
    assert result.trace.settings["rerank_k"] == (2, "settings")


@pytest.mark.requirement("RERANK-1")
def test_without_a_reranker_the_fused_order_stays_and_no_block_has_such_a_score() -> None:
    result = run(None)
    assert [block.text for block in result.evidence] == ["a", "b", "c", "d", "e"]
    assert {block.rerank_score for block in result.evidence} == {None}


# The time limit


class Gate(Table):
    """Answers once the gate is open."""

    name = "gate"

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.closed = 0

    def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        assert self.gate.wait(60)
        return super().rerank(query, texts)

    def close(self) -> None:
        self.closed += 1
        self.gate.set()


@pytest.mark.requirement("RERANK-1")
def test_a_reranker_that_is_late_costs_the_limit_and_the_fused_order_stays(caplog: pytest.LogCaptureFixture) -> None:
    late = Gate()
    with caplog.at_level(logging.CRITICAL):
        result = run(InTime(late, 0.02))
    assert [block.text for block in result.evidence] == ["a", "b", "c", "d", "e"]
    assert result.degraded == ("reranker: gate gave no answer within 0.02 s",)
    late.gate.set()


@pytest.mark.requirement("RERANK-1")
def test_while_too_many_calls_are_late_the_reranker_is_not_asked_and_then_again() -> None:
    late = Gate()
    limited = InTime(late, 0.01)
    for _ in range(MOST_LATE):
        with pytest.raises(RerankerError, match="gave no answer within"):
            limited.rerank("q", ["a"])
    for _ in range(3):
        with pytest.raises(RerankerError, match="gate was not asked: 4 calls before are late and still run"):
            limited.rerank("q", ["a"])
    late.gate.set()
    assert settled(lambda: answers(limited))
    assert settled(lambda: late.asked.count(("q", ["a"])) == MOST_LATE)


def answers(limited: InTime) -> bool:
    """Whether it is asked again, and in time."""
    try:
        return limited.rerank("q", ["ab"]) == [2.0]
    except RerankerError:
        return False


def settled(check: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 60
    while not check() and time.monotonic() < deadline:
        time.sleep(0.002)
    return check()


@pytest.mark.requirement("RERANK-1")
def test_many_calls_that_are_not_late_run_side_by_side() -> None:
    """The bound counts late calls alone: a server with more threads than that is not refused."""
    meeting = threading.Barrier(MOST_LATE + 3, timeout=60)

    class Meeting(Table):
        def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
            meeting.wait()
            return [1.0]

    limited, answers = InTime(Meeting(), 60), []
    threads = [
        threading.Thread(target=lambda: answers.append(limited.rerank("q", ["a"]))) for _ in range(MOST_LATE + 3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert answers == [[1.0]] * (MOST_LATE + 3)


def rerank_threads() -> set[threading.Thread]:
    """Of this process: rerankers that other tests left open have theirs."""
    return {thread for thread in threading.enumerate() if thread.name == "citewell-rerank"}


@pytest.mark.requirement("RERANK-1")
def test_closing_closes_what_is_ours_waits_for_late_calls_and_leaves_no_thread(
    caplog: pytest.LogCaptureFixture,
) -> None:
    others, late = rerank_threads(), Gate()
    limited = InTime(late, 0.01, owned=True)
    with pytest.raises(RerankerError):
        limited.rerank("q", ["a"])
    limited.close()
    limited.close()
    assert late.closed == 2
    assert settled(lambda: rerank_threads() <= others)
    with pytest.raises(RerankerError, match="closed"):
        limited.rerank("q", ["a"])

    brought = Gate()
    limited = InTime(brought, 0.01)
    with pytest.raises(RerankerError):
        limited.rerank("q", ["a"])
    with caplog.at_level(logging.WARNING):
        limited.close(patience_s=0.01)
    assert brought.closed == 0
    assert "1 calls of the reranker gate still run" in caplog.text
    brought.gate.set()


@pytest.mark.requirement("RERANK-1")
def test_what_the_reranker_raises_comes_through_and_the_callers_context_goes_along() -> None:
    trace: ContextVar[str] = ContextVar("trace", default="none")

    class Seeing(Table):
        def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
            if query == "fail":
                raise KeyError(query)
            return [float(trace.get() == "mine")]

    limited = InTime(Seeing(), 60)
    trace.set("mine")
    assert limited.rerank("q", ["a"]) == [1.0]
    with pytest.raises(KeyError, match="fail"):
        limited.rerank("fail", ["a"])


class TestInTime(RerankerContract):
    @pytest.fixture
    def reranker(self) -> Iterator[InTime]:
        limited = InTime(Table(), 60)
        yield limited
        limited.close()


# Through the front door


@pytest.mark.requirement("RERANK-1", "API-1")
def test_a_knowledge_takes_a_reranker_of_the_callers_and_does_not_close_it(tmp_path: Path) -> None:
    class Backwards(Gate):
        def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
            return [float("b.md" in text or "second" in text) for text in texts]

    mine = Backwards()
    with Knowledge.open(tmp_path / "kb", embedder=HashEmbedder(), reranker=mine, settings=Settings.of({})) as knowledge:
        knowledge.ingest_documents([Document("a.md", "the pool"), Document("b.md", "the pool, second")])
        result = knowledge.lookup("the pool")
        assert [block.doc_id for block in result.evidence] == ["b.md", "a.md"]
        assert [block.rerank_score for block in result.evidence] == [1.0, 0.0]
    assert mine.closed == 0


@pytest.mark.requirement("RERANK-1", "API-7")
def test_the_settings_choose_a_reranker_and_none_is_the_default() -> None:
    assert open_reranker(Settings.of({}).reranker) is None
    endpoint = Settings.of({"reranker.name": "m", "reranker.url": "http://h", "reranker.timeout": 2.5}).reranker
    limited = open_reranker(endpoint)
    assert limited is not None
    assert isinstance(limited._reranker, HttpReranker)
    assert (limited.name, limited._timeout_s, str(limited._reranker._endpoint)) == ("m", 2.5, "http://h/v2/rerank")
    limited.close()
    for style, kind in ((None, FastembedReranker), ("sentence-transformers", SentenceTransformersReranker)):
        limited = open_reranker(RerankerSettings(name="m", style=style))
        assert limited is not None
        assert isinstance(limited._reranker, kind)


@pytest.mark.requirement("API-7")
@pytest.mark.parametrize(
    "settings",
    [
        {"reranker.url": "http://h"},
        {"reranker.name": "m", "reranker.style": "jina"},
        {"reranker.name": "m", "reranker.style": "fastembed", "reranker.url": "http://h"},
        {"reranker.name": "m", "reranker.url": "http://h", "reranker.model-dir": "x"},
        {"reranker.name": "m", "reranker.model-dir": "no such folder"},
        {"reranker.name": "m", "reranker.style": "sentence-transformers", "reranker.model-dir": "no such folder"},
        {"reranker.name": "m", "reranker.url": "nowhere"},
        {"reranker.name": "m", "reranker.style": "odd"},
        {"reranker.timeout": 0},
    ],
    ids=str,
)
def test_settings_that_contradict_each_other_are_refused_when_the_store_is_opened(settings: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="reranker"):
        Knowledge.open("memory:", embedder=HashEmbedder(), settings=Settings.of(settings))


@pytest.mark.requirement("API-7")
def test_the_key_of_an_endpoint_is_never_shown() -> None:
    settings = Settings.of({"reranker.api-key": "sk-secret"})
    assert "sk-secret" not in repr(settings)
    assert ("reranker.api-key", "(set)", "argument") in settings.describe()


# Models in this process, with a library that is played


def played(monkeypatch: pytest.MonkeyPatch, name: str, **names: object) -> None:
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        module = ModuleType(".".join(parts[:end]))
        monkeypatch.setitem(sys.modules, module.__name__, module)
    vars(sys.modules[name]).update(names)


class PlayedFastembed:
    """What FastembedReranker uses of fastembed's TextCrossEncoder."""

    custom: list[dict[str, object]] = []  # noqa: RUF012 - a class of a library, played
    made: list[tuple[str, dict[str, object]]] = []  # noqa: RUF012 - as above

    def __init__(self, model_name: str, **options: object) -> None:
        if model_name == "unknown":
            raise ValueError("not supported")
        type(self).made.append((model_name, options))

    def rerank(self, query: str, documents: Sequence[str], batch_size: int) -> Iterator[float]:
        if query == "fail":
            raise RuntimeError("out of memory")
        yield from (float(len(text)) for text in documents)

    @classmethod
    def list_supported_models(cls) -> list[dict[str, object]]:
        return cls.custom

    @classmethod
    def add_custom_model(cls, *, model: str, sources: object, model_file: str) -> None:
        cls.custom.append({"model": model, "model_file": model_file})


@pytest.fixture
def fastembed(monkeypatch: pytest.MonkeyPatch) -> type[PlayedFastembed]:
    class Fresh(PlayedFastembed):
        custom: list[dict[str, object]] = []  # noqa: RUF012 - as above
        made: list[tuple[str, dict[str, object]]] = []  # noqa: RUF012 - as above

    played(monkeypatch, "fastembed.rerank.cross_encoder", TextCrossEncoder=Fresh)
    for part in ("fastembed.common", "fastembed.common.model_description"):
        monkeypatch.setitem(sys.modules, part, ModuleType(part))
    vars(sys.modules["fastembed.common.model_description"])["ModelSource"] = lambda hf: hf
    return Fresh


@pytest.mark.requirement("RERANK-1")
def test_fastembed_loads_a_model_once_and_a_folder_under_a_name_of_ours(
    fastembed: type[PlayedFastembed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: dict[str, str] = {}
    monkeypatch.setattr("os.putenv", told.__setitem__)
    named = FastembedReranker("org/model", threads=2)
    assert fastembed.made == []
    assert named.rerank("q", ["a", "bb"]) == [1.0, 2.0]
    assert named.rerank("q", []) == []
    assert told == {"ORT_DISABLE_TELEMETRY": "1"}
    assert fastembed.made == [("org/model", {"threads": 2})]
    (tmp_path / "onnx").mkdir()
    (tmp_path / "onnx" / "model.onnx").touch()
    for _ in range(2):
        assert FastembedReranker("mine", model_dir=tmp_path).rerank("q", ["abc"]) == [3.0]
    assert fastembed.custom == [{"model": "citewell/onnx/model.onnx", "model_file": "onnx/model.onnx"}]
    assert fastembed.made[1] == ("citewell/onnx/model.onnx", {"specific_model_path": str(tmp_path), "threads": 1})


class PlayedCrossEncoder:
    """What SentenceTransformersReranker uses of a CrossEncoder."""

    made: list[tuple[str, dict[str, object]]] = []  # noqa: RUF012 - as above

    def __init__(self, where: str, **options: object) -> None:
        if where == "unknown":
            raise OSError("no such model")
        type(self).made.append((where, options))

    def predict(self, pairs: Sequence[tuple[str, str]], *, batch_size: int, show_progress_bar: bool) -> list[Any]:
        if pairs[0][0] == "fail":
            raise RuntimeError("out of memory")
        return [[1.0, 2.0] if query == "labels" else float(len(text)) for query, text in pairs]


@pytest.fixture
def cross_encoder(monkeypatch: pytest.MonkeyPatch) -> type[PlayedCrossEncoder]:
    class Fresh(PlayedCrossEncoder):
        made: list[tuple[str, dict[str, object]]] = []  # noqa: RUF012 - as above

    played(monkeypatch, "sentence_transformers", CrossEncoder=Fresh)
    return Fresh


@pytest.mark.requirement("RERANK-1")
def test_sentence_transformers_loads_a_model_once_and_a_folder_without_the_network(
    cross_encoder: type[PlayedCrossEncoder], tmp_path: Path
) -> None:
    named = SentenceTransformersReranker("org/model", device="cpu")
    assert named.rerank("q", ["a", "bb"]) == [1.0, 2.0]
    assert named.rerank("q", []) == []
    assert SentenceTransformersReranker("mine", model_dir=tmp_path, max_length=9).rerank("q", ["abc"]) == [3.0]
    assert cross_encoder.made == [
        ("org/model", {"device": "cpu", "max_length": None, "local_files_only": False}),
        (str(tmp_path), {"device": None, "max_length": 9, "local_files_only": True}),
    ]
    with pytest.raises(RerankerError, match="several numbers for a text"):
        named.rerank("labels", ["a"])


@pytest.mark.requirement("RERANK-1")
@pytest.mark.parametrize("kind", [FastembedReranker, SentenceTransformersReranker])
def test_a_model_that_fails_or_can_not_be_loaded_is_a_named_error(
    kind: type[FastembedReranker] | type[SentenceTransformersReranker],
    fastembed: type[PlayedFastembed],
    cross_encoder: type[PlayedCrossEncoder],
) -> None:
    with pytest.raises(RerankerError, match=r"org/model failed: RuntimeError: out of memory"):
        kind("org/model").rerank("fail", ["a"])
    with pytest.raises(RerankerError, match=r"the reranker unknown can't be loaded") as caught:
        kind("unknown").rerank("q", ["a"])
    assert "reranker.model-dir" in caught.value.way_out


@pytest.mark.requirement("RERANK-1")
@pytest.mark.parametrize(
    ("kind", "library", "extra"),
    [
        (FastembedReranker, "fastembed", "citewell[fastembed]"),
        (SentenceTransformersReranker, "sentence_transformers", "citewell[sentence-transformers]"),
    ],
)
def test_without_its_library_the_error_names_the_extra(
    kind: type[FastembedReranker] | type[SentenceTransformersReranker],
    library: str,
    extra: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(RerankerError, match="not installed") as caught:
        kind("m").rerank("q", ["a"])
    assert extra in caught.value.way_out
