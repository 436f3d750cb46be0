"""Rerankers behind HTTP, against a real server on this machine that misbehaves on demand."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from rerank_server import Reply, RerankServer, score

from citewell.adapters.rerankers.http import HttpReranker, endpoint_url
from citewell.adapters.rerankers.styles import STYLES
from citewell.errors import ConfigError, RerankerError
from citewell.testing import RerankerContract

KEY = "sk-veryVerySecret42"
TEXTS = ["one", "two", "three", "four", "five"]


@pytest.fixture
def server() -> Iterator[RerankServer]:
    with RerankServer().running() as running:
        yield running


class Sleeper:
    """Time that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.naps: list[float] = []

    def clock(self) -> float:
        return sum(self.naps)

    def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)


def make(server: RerankServer, style: str = "cohere", **options: Any) -> HttpReranker:  # noqa: ANN401 - options of any kind
    return HttpReranker(server.address, "rerank-small", style=style, **{"timeout_s": 20.0, **options})


@pytest.mark.parametrize("style", STYLES)
class TestHttpReranker(RerankerContract):
    @pytest.fixture
    def reranker(self, style: str, server: RerankServer) -> Iterator[HttpReranker]:
        with make(server, style) as made:
            yield made


@pytest.mark.requirement("RERANK-1")
@pytest.mark.parametrize(
    ("style", "path", "payload"),
    [
        ("cohere", "/v2/rerank", {"model": "rerank-small", "query": "q", "documents": ["a", "b"], "top_n": 2}),
        (
            "jina",
            "/v1/rerank",
            {"model": "rerank-small", "query": "q", "documents": ["a", "b"], "top_n": 2, "return_documents": False},
        ),
        ("tei", "/rerank", {"query": "q", "texts": ["a", "b"], "truncate": True}),
    ],
)
def test_each_style_asks_as_its_endpoints_want_to_be_asked(
    server: RerankServer, style: str, path: str, payload: dict[str, object]
) -> None:
    with make(server, style, api_key=KEY) as reranker:
        assert reranker.rerank("q", ["a", "b"]) == [score("q", "a"), score("q", "b")]
    (request,) = server.received
    assert (request.path, request.payload) == (path, payload)
    assert request.headers["Authorization"] == f"Bearer {KEY}"


@pytest.mark.requirement("API-7")
@pytest.mark.parametrize(
    ("given", "style", "asked"),
    [
        ("http://h:8080", "cohere", "http://h:8080/v2/rerank"),
        ("https://h/", "jina", "https://h/v1/rerank"),
        ("http://h", "tei", "http://h/rerank"),
        ("https://h/v3", "cohere", "https://h/v3/rerank"),
        ("https://h/api/rerank/", "jina", "https://h/api/rerank"),
        (" http://[::1]:80/v1?x=1#y ", "tei", "http://[::1]/v1/rerank?x=1"),
    ],
)
def test_an_address_is_completed_up_to_rerank(given: str, style: str, asked: str) -> None:
    assert str(endpoint_url(given, STYLES[style])) == asked


@pytest.mark.requirement("API-7")
@pytest.mark.parametrize("url", ["", "h:80/v1", "ftp://h", "http://user:pass@h:port/v1"])
def test_what_is_no_http_address_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ConfigError, match=r"reranker.url is .* no address") as caught:
        HttpReranker(url, "m")
    assert "pass" not in str(caught.value)


@pytest.mark.requirement("API-7")
@pytest.mark.parametrize(
    "options", [{"style": "odd"}, {"batch_size": 0}, {"timeout_s": 0}, {"retries": -1}, {"model": " "}], ids=str
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        HttpReranker("http://127.0.0.1:9", **{"model": "m", **options})


@pytest.mark.requirement("RERANK-1")
def test_many_texts_go_in_portions_and_their_scores_come_back_in_order(server: RerankServer) -> None:
    with make(server, "tei", batch_size=2) as reranker:
        assert reranker.rerank("q", TEXTS) == [score("q", text) for text in TEXTS]
    assert [request.payload["texts"] for request in server.received] == [TEXTS[:2], TEXTS[2:4], TEXTS[4:]]


@pytest.mark.requirement("RERANK-1")
def test_a_portion_that_is_too_large_for_the_endpoint_is_halved(server: RerankServer) -> None:
    server.rule = lambda payload: Reply(413) if len(payload["documents"]) > 2 else Reply()
    with make(server) as reranker:
        assert reranker.rerank("q", TEXTS) == [score("q", text) for text in TEXTS]
    assert [len(request.payload["documents"]) for request in server.received] == [5, 2, 3, 1, 2]


Change = Callable[[Any], object]
WRONG: dict[str, tuple[Change, str]] = {
    "one missing": (lambda answer: {"results": answer["results"][:1]}, "1 scores for 2 texts"),
    "one twice": (lambda answer: {"results": [answer["results"][0]] * 2}, "twice"),
    "beyond the texts": (lambda _: {"results": [{"index": 2, "relevance_score": 1}]}, "index 2 for 2 texts"),
    "below zero": (lambda _: {"results": [{"index": -1, "relevance_score": 1}]}, "index -1"),
    "no index": (lambda _: {"results": [{"relevance_score": 1}, {"relevance_score": 2}]}, "index None"),
    "a switch as index": (lambda _: {"results": [{"index": True, "relevance_score": 1}]}, "index True"),
    "no score": (lambda _: {"results": [{"index": 0}]}, "'None' as the relevance_score"),
    "text as score": (lambda _: {"results": [{"index": 0, "relevance_score": "high"}]}, "'high' as the"),
    "NaN": (lambda _: {"results": [{"index": 0, "relevance_score": float("nan")}]}, "'nan' as the"),
    "infinity": (lambda _: {"results": [{"index": 0, "relevance_score": float("inf")}]}, "'inf' as the"),
    "an error with status 200": (lambda _: {"error": "no credit"}, "an error .no credit."),
    "a list of numbers": (lambda _: {"results": [1, 2]}, "where a list of scores should be"),
    "a list": (lambda answer: answer["results"], "a list of 2 where"),
    "nothing": (lambda _: None, "NoneType"),
}


@pytest.mark.requirement("RERANK-1")
@pytest.mark.parametrize("name", WRONG)
def test_an_answer_that_does_not_score_each_text_once_is_refused(name: str, server: RerankServer) -> None:
    change, message = WRONG[name]
    server.replies.append(Reply(change=change))
    with make(server) as reranker, pytest.raises(RerankerError, match=message) as caught:
        reranker.rerank("q", ["a", "b"])
    assert "reranker.style" in caught.value.way_out


@pytest.mark.requirement("RERANK-1")
def test_it_asks_again_while_that_may_help_and_no_longer_than_its_time(server: RerankServer) -> None:
    naps = Sleeper()
    server.replies += [Reply(503), Reply(429, headers={"Retry-After": "2"})]
    with make(server, clock=naps.clock, sleep=naps.sleep) as reranker:
        assert reranker.rerank("q", ["a"]) == [score("q", "a")]
    assert naps.naps == [0.5, 2.0]

    server.rule = lambda _: Reply(503, body=b"overloaded")
    with (
        make(server, clock=naps.clock, sleep=naps.sleep, retries=1) as reranker,
        pytest.raises(RerankerError, match=r"answers 503: overloaded .asked 2 times") as caught,
    ):
        reranker.rerank("q", ["a"])
    assert caught.value.way_out == "It is out of order; see its log."
    with (
        make(server, clock=naps.clock, sleep=naps.sleep, timeout_s=0.4) as reranker,
        pytest.raises(RerankerError, match="503"),
    ):
        reranker.rerank("q", ["a"])


@pytest.mark.requirement("RERANK-1")
def test_the_time_is_that_of_all_portions_together(server: RerankServer) -> None:
    naps = Sleeper()

    def slow(_: dict[str, Any]) -> Reply:
        naps.sleep(1.0)
        return Reply()

    server.rule = slow
    with (
        make(server, batch_size=1, timeout_s=2.5, clock=naps.clock, sleep=naps.sleep) as reranker,
        pytest.raises(RerankerError, match=r"took longer than 2.5 s|did not answer in time"),
    ):
        reranker.rerank("q", TEXTS)
    assert len(server.received) == 3


@pytest.mark.requirement("RERANK-1")
def test_an_endpoint_that_never_answers_is_given_up(server: RerankServer) -> None:
    gate = threading.Event()
    server.rule = lambda _: Reply(until=gate)
    with (
        make(server, timeout_s=0.2, retries=0) as reranker,
        pytest.raises(RerankerError, match="did not answer in time"),
    ):
        reranker.rerank("q", ["a"])
    gate.set()


@pytest.mark.requirement("RERANK-1", "API-7")
@pytest.mark.parametrize("status", [401, 404, 422])
def test_a_refusal_is_final_names_what_to_check_and_never_the_key(
    status: int, server: RerankServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.replies.append(Reply(status, body=json.dumps({"message": f"bad {KEY}"}).encode()))
    with (
        caplog.at_level(logging.DEBUG),
        make(server, api_key=KEY) as reranker,
        pytest.raises(RerankerError, match=r"the reranking endpoint .* answers") as caught,
    ):
        reranker.rerank("q", ["a"])
    assert len(server.received) == 1
    assert "reranker." in caught.value.way_out
    assert KEY not in str(caught.value) + repr(reranker) + caplog.text


@pytest.mark.requirement("RERANK-1")
def test_nobody_there_and_a_closed_reranker_are_clear_errors(server: RerankServer) -> None:
    nobody = HttpReranker("http://127.0.0.1:9", "m", retries=0, timeout_s=5)
    with pytest.raises(RerankerError, match="can't be reached"):
        nobody.rerank("q", ["a"])
    nobody.close()
    nobody.close()
    with pytest.raises(RerankerError, match="the reranker is closed"):
        nobody.rerank("q", ["a"])


@pytest.mark.requirement("RERANK-1")
def test_an_answer_without_end_is_not_read_to_its_end(server: RerankServer) -> None:
    server.replies.append(Reply(body=b"[" + b" " * 3_000_000))
    with make(server) as reranker, pytest.raises(RerankerError, match="more than"):
        reranker.rerank("q", ["a"])
