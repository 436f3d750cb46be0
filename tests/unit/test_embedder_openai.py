"""The embedder behind HTTP, against a real server on this machine that misbehaves on demand."""

from __future__ import annotations

import gzip
import json
import logging
import socket
import time
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from embedder_server import DIMENSIONS, EmbeddingServer, Reply, as_base64, vector
from numpy.typing import NDArray

from citewell.adapters.embedders.openai import OpenAIEmbedder, endpoint_url
from citewell.errors import ConfigError, EmbedderError, EmbedderUnavailable
from citewell.ports import embedder_identity

Change = Callable[[dict[str, Any]], object]

KEY = "sk-veryVerySecret42"


class Sleeper:
    """Time that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.naps: list[float] = []

    def clock(self) -> float:
        return sum(self.naps)

    def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer().running() as running:
        yield running


@pytest.fixture
def naps() -> Sleeper:
    return Sleeper()


def make(server: EmbeddingServer, naps: Sleeper | None = None, **options: object) -> OpenAIEmbedder:
    chosen: dict[str, Any] = {"timeout_s": 5.0, **options}
    if naps is not None:
        chosen |= {"clock": naps.clock, "sleep": naps.sleep}
    return OpenAIEmbedder(server.address, "small", **chosen)


def unit(*texts: str) -> NDArray[np.float32]:
    rows = np.array([vector(text) for text in texts])
    scaled: NDArray[np.float32] = (rows / np.sqrt((rows * rows).sum(axis=1, keepdims=True))).astype(np.float32)
    return scaled


# Where it asks


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ("http://h:8080", "http://h:8080/v1/embeddings"),
        ("http://h:8080/", "http://h:8080/v1/embeddings"),
        ("https://h/v1", "https://h/v1/embeddings"),
        ("https://h/v1/", "https://h/v1/embeddings"),
        ("https://h/v1/embeddings", "https://h/v1/embeddings"),
        ("https://h/v1/embeddings/", "https://h/v1/embeddings"),
        ("https://h/api/v3", "https://h/api/v3/embeddings"),
        ("https://h/deployments/d?api-version=1", "https://h/deployments/d/embeddings?api-version=1"),
        (" http://[::1]:80/v1#x ", "http://[::1]/v1/embeddings"),
    ],
)
@pytest.mark.requirement("API-7")
def test_an_address_is_completed_up_to_embeddings(given: str, asked: str) -> None:
    assert str(endpoint_url(given)) == asked


@pytest.mark.parametrize("url", ["", "h:8080/v1", "ftp://h/v1", "http://", "http://user:pass@h:port/v1", "/v1"])
@pytest.mark.requirement("API-7")
def test_what_is_no_http_address_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ConfigError, match="no address") as caught:
        OpenAIEmbedder(url, "small")
    assert "pass" not in str(caught.value)
    assert "http://127.0.0.1:8080/v1" in caught.value.way_out


@pytest.mark.parametrize(
    "options",
    [
        {"dimensions": 0},
        {"batch_size": 0},
        {"timeout_s": 0},
        {"patience_s": -1},
        {"query_patience_s": float("nan")},
        {"retries": -1},
        {"max_tokens": 0},
        {"proxy": "no proxy"},
    ],
    ids=str,
)
@pytest.mark.requirement("API-7")
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        OpenAIEmbedder("http://127.0.0.1:9", "small", **options)


@pytest.mark.requirement("API-7")
def test_a_blank_model_is_refused() -> None:
    with pytest.raises(ConfigError, match="name of a model"):
        OpenAIEmbedder("http://127.0.0.1:9", " ")


@pytest.mark.requirement("PORT-6")
def test_nothing_is_sent_before_the_first_text(server: EmbeddingServer) -> None:
    with make(server, dimensions=DIMENSIONS) as embedder:
        assert (embedder.name, embedder.dimensions, embedder.fingerprint) == ("small", 4, "small/4")
        assert embedder.embed_passages([]).shape == (0, 4)
        assert "small" in repr(embedder)
    assert server.received == []


# Batches, order and form


@pytest.mark.requirement("PORT-6")
def test_passages_go_out_in_batches_and_come_back_in_order(server: EmbeddingServer) -> None:
    texts = [f"passage {number}" for number in range(130)]
    with make(server) as embedder:
        assert np.allclose(embedder.embed_passages(texts), unit(*texts), atol=1e-7)
    assert server.batches == [texts[:64], texts[64:128], texts[128:]]
    assert server.received[0].path == "/v1/embeddings"
    assert server.received[0].payload == {"model": "small", "input": texts[:64], "encoding_format": "float"}


@pytest.mark.requirement("INGEST-4")
def test_a_batch_holds_at_most_a_hundred_thousand_characters(server: EmbeddingServer) -> None:
    texts = ["a" * 60_000, "b" * 40_000, "c", "d" * 200_000, "e"]
    with make(server) as embedder:
        embedder.embed_passages(texts)
    assert [[len(text) for text in batch] for batch in server.batches] == [[60_000, 40_000], [1], [200_000], [1]]


@pytest.mark.requirement("PORT-6")
def test_vectors_are_put_in_order_by_their_index(server: EmbeddingServer) -> None:
    server.replies.append(Reply(change=lambda answer: {**answer, "data": answer["data"][::-1]}))
    with make(server) as embedder:
        assert np.allclose(embedder.embed_passages(["a", "b", "c"]), unit("a", "b", "c"), atol=1e-7)


@pytest.mark.requirement("PORT-6")
def test_an_endpoint_without_indexes_is_taken_to_answer_in_order(server: EmbeddingServer) -> None:
    def without(answer: dict[str, Any]) -> object:
        return {"data": [{"embedding": item["embedding"]} for item in answer["data"]]}

    server.replies.append(Reply(change=without))
    with make(server) as embedder:
        assert np.allclose(embedder.embed_passages(["a", "b"]), unit("a", "b"), atol=1e-7)


@pytest.mark.requirement("PORT-6")
def test_base64_gives_the_same_vectors_as_numbers(server: EmbeddingServer) -> None:
    with make(server) as embedder:
        numbers = embedder.embed_query("a")
        server.replies.append(Reply(change=as_base64))
        assert embedder.embed_query("a").tobytes() == numbers.tobytes()


@pytest.mark.requirement("INGEST-8")
def test_prefixes_are_put_before_the_texts_and_are_part_of_the_identity(server: EmbeddingServer) -> None:
    with make(server, query_prefix="query: ", passage_prefix="passage: ") as embedder:
        embedder.embed_query("a")
        embedder.embed_passages(["a", "b"])
        assert server.batches == [["query: a"], ["passage: a", "passage: b"]]
        assert embedder_identity(embedder).prefixes == ("query: ", "passage: ")


@pytest.mark.requirement("INGEST-2")
def test_nul_and_lone_surrogates_are_cleaned_and_an_empty_text_is_sent_as_a_space(server: EmbeddingServer) -> None:
    with make(server) as embedder:
        embedder.embed_passages(["a\0b\ud800c", ""])
    assert server.batches == [["a b\ufffdc", " "]]


# Dimensions and identity


@pytest.mark.requirement("INGEST-8")
def test_dimensions_are_learnt_with_one_question_and_are_part_of_the_fingerprint(server: EmbeddingServer) -> None:
    with make(server, name="mine") as embedder:
        identity = embedder_identity(embedder)
        assert (identity.name, identity.dimensions, identity.fingerprint) == ("mine", 4, "small/4")
        assert embedder_identity(embedder) == identity
    assert len(server.received) == 1


@pytest.mark.requirement("INGEST-8")
def test_the_first_text_teaches_the_dimensions_too(server: EmbeddingServer) -> None:
    with make(server) as embedder:
        embedder.embed_query("a")
        assert embedder.dimensions == 4
    assert server.batches == [["a"]]


@pytest.mark.requirement("INGEST-8")
def test_dimensions_that_are_asked_for_are_sent_and_others_refused(server: EmbeddingServer) -> None:
    """I133: a vector of another length must never reach a store."""
    with make(server, dimensions=3) as embedder, pytest.raises(EmbedderError, match="4 dimensions instead of 3"):
        embedder.embed_query("a")
    assert server.received[0].payload["dimensions"] == 3


@pytest.mark.requirement("INGEST-8")
def test_a_model_that_changes_its_dimensions_on_the_way_is_refused(server: EmbeddingServer) -> None:
    def longer(answer: dict[str, Any]) -> object:
        answer["data"][0]["embedding"].append(1.0)
        return answer

    with make(server) as embedder:
        embedder.embed_query("a")
        server.replies.append(Reply(change=longer))
        with pytest.raises(EmbedderError, match="5 dimensions instead of 4"):
            embedder.embed_query("a")
        assert embedder.dimensions == 4


# Patience


@pytest.mark.requirement("INGEST-6")
def test_too_many_requests_waits_as_long_as_it_is_told(server: EmbeddingServer, naps: Sleeper) -> None:
    server.replies.append(Reply(429, headers={"Retry-After": "7"}))
    with make(server, naps, query_patience_s=20.0) as embedder:
        assert np.allclose(embedder.embed_query("a"), unit("a")[0], atol=1e-7)
    assert naps.naps == [7.0]


@pytest.mark.requirement("INGEST-6")
def test_a_date_to_wait_for_is_taken_by_the_endpoints_own_clock(server: EmbeddingServer, naps: Sleeper) -> None:
    dates = {"Date": "Wed, 21 Oct 2015 07:28:00 GMT", "Retry-After": "Wed, 21 Oct 2015 07:28:03 GMT"}
    server.replies.append(Reply(503, headers=dates))
    with make(server, naps) as embedder:
        embedder.embed_query("a")
    assert naps.naps == [3.0]


@pytest.mark.parametrize("value", ["soon", "-1", "", "1e9", "Wed, 21 Oct 2015 07:28:03 GMT"])
@pytest.mark.requirement("INGEST-6")
def test_a_wait_that_makes_no_sense_is_not_heeded(server: EmbeddingServer, naps: Sleeper, value: str) -> None:
    server.replies.append(Reply(429, headers={"Retry-After": value}))
    with make(server, naps) as embedder:
        embedder.embed_query("a")
    assert naps.naps == [0.5]


@pytest.mark.requirement("INGEST-6")
def test_an_endpoint_that_is_out_of_order_twice_is_asked_three_times(server: EmbeddingServer, naps: Sleeper) -> None:
    server.replies.extend([Reply(500), Reply(502)])
    with make(server, naps) as embedder:
        assert np.allclose(embedder.embed_query("a"), unit("a")[0], atol=1e-7)
    assert naps.naps == [0.5, 1.0]


@pytest.mark.requirement("INGEST-6")
def test_an_endpoint_that_stays_out_of_order_is_given_up_with_what_it_says(
    server: EmbeddingServer, naps: Sleeper
) -> None:
    server.rule = lambda _: Reply(500, body=b'{"error": {"message": "no GPU\\nleft"}}')
    with make(server, naps) as embedder, pytest.raises(EmbedderUnavailable) as caught:
        embedder.embed_passages(["a"])
    assert naps.naps == [0.5, 1.0, 2.0, 4.0]
    assert caught.value.message == (
        f"the embedding endpoint {server.address}/v1/embeddings answers 500: no GPU left (asked 5 times in 7.5 s)"
    )


@pytest.mark.requirement("INGEST-6")
def test_waiting_never_goes_beyond_the_patience_for_one_batch(server: EmbeddingServer, naps: Sleeper) -> None:
    server.rule = lambda _: Reply(503)
    with make(server, naps, retries=100, patience_s=20) as embedder, pytest.raises(EmbedderUnavailable):
        embedder.embed_passages(["a"])
    assert naps.naps == [0.5, 1.0, 2.0, 4.0, 8.0]  # 15.5 s; another 8 would end after 20


@pytest.mark.requirement("PORT-5")
def test_a_query_has_less_patience_than_a_batch_of_passages(server: EmbeddingServer, naps: Sleeper) -> None:
    """I86: whoever waits for a lookup gets the lexical path's answer soon."""
    server.rule = lambda _: Reply(429, headers={"Retry-After": "60"})
    with make(server, naps) as embedder:
        with pytest.raises(EmbedderUnavailable, match="it asks to wait 60 s"):
            embedder.embed_query("a")
        assert naps.naps == []
        with pytest.raises(EmbedderUnavailable):
            embedder.embed_passages(["a"])
        assert naps.naps == [60.0]


@pytest.mark.requirement("PORT-5")
def test_an_endpoint_that_hangs_is_unavailable_in_time(server: EmbeddingServer) -> None:
    server.rule = lambda _: Reply(delay_s=120)
    started = time.monotonic()
    with make(server, timeout_s=0.1, retries=1) as embedder, pytest.raises(EmbedderUnavailable) as caught:
        embedder.embed_query("a")
    assert time.monotonic() - started < 60  # 0.1 + 0.5 + 0.1, with room for a slow machine
    assert "did not answer in time" in caught.value.message
    assert server.address in caught.value.message
    assert "embedder.url" in caught.value.way_out


@pytest.mark.requirement("PORT-5")
def test_a_body_that_trickles_is_too_slow_as_well(server: EmbeddingServer) -> None:
    server.rule = lambda _: Reply(trickle_s=0.4)  # 40 bytes: 16 seconds, each of them within the time-out
    started = time.monotonic()
    with make(server, timeout_s=1.0, retries=0) as embedder, pytest.raises(EmbedderUnavailable, match="in time"):
        embedder.embed_query("a")
    assert time.monotonic() - started < 12


@pytest.mark.requirement("PORT-5")
def test_where_nobody_listens_is_unavailable_with_the_address_and_the_way_out(naps: Sleeper) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    embedder = OpenAIEmbedder(f"http://127.0.0.1:{port}", "small", retries=2, clock=naps.clock, sleep=naps.sleep)
    with embedder, pytest.raises(EmbedderUnavailable) as caught:
        embedder.embed_query("a")
    assert f"http://127.0.0.1:{port}/v1/embeddings can't be reached" in caught.value.message
    assert "asked 3 times" in caught.value.message
    assert caught.value.way_out == "Check that it runs, and embedder.url."


@pytest.mark.requirement("PORT-2")
def test_after_a_query_that_found_nobody_the_next_ones_fail_at_once_for_a_while(naps: Sleeper) -> None:
    """Trial I86: a lookup must not wait for a dead endpoint each time."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    with OpenAIEmbedder(address, "small", rest_s=15.0, clock=naps.clock, sleep=naps.sleep) as embedder:
        with pytest.raises(EmbedderUnavailable):
            embedder.embed_query("a")
        waited = len(naps.naps)
        with pytest.raises(EmbedderUnavailable, match=r"can't be reached.*a moment ago"):
            embedder.embed_query("b")
        assert len(naps.naps) == waited
        naps.sleep(15.0)
        with pytest.raises(EmbedderUnavailable):
            embedder.embed_query("c")
        assert len(naps.naps) > waited + 1


@pytest.mark.requirement("INGEST-8")
def test_dimensions_that_a_store_remembers_need_no_request_and_are_checked(server: EmbeddingServer) -> None:
    with make(server, expected_dimensions=DIMENSIONS) as embedder:
        assert embedder_identity(embedder).fingerprint == f"small/{DIMENSIONS}"
        assert server.received == []
        assert embedder.embed_query("a").shape == (DIMENSIONS,)
        assert "dimensions" not in server.received[0].payload
    with make(server, expected_dimensions=DIMENSIONS + 1) as embedder, pytest.raises(EmbedderError, match="dimensions"):
        embedder.embed_query("a")


@pytest.mark.requirement("INGEST-6")
def test_a_body_cut_short_is_asked_for_again(server: EmbeddingServer, naps: Sleeper) -> None:
    server.replies.append(Reply(cut=10))
    with make(server, naps) as embedder:
        assert np.allclose(embedder.embed_query("a"), unit("a")[0], atol=1e-7)
    assert naps.naps == [0.5]


# Refusals


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.requirement("ENGINE-4")
def test_a_key_that_is_refused_is_final_and_appears_nowhere(
    server: EmbeddingServer, naps: Sleeper, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    caplog.set_level(logging.DEBUG)
    server.rule = lambda _: Reply(status, body=json.dumps({"error": {"message": f"bad key {KEY}"}}).encode())
    with make(server, naps, api_key=f" {KEY}\n") as embedder:
        with pytest.raises(EmbedderUnavailable, match=rf"answers {status}: bad key \[api key\]") as caught:
            embedder.embed_query("a")
        seen = [repr(embedder), repr(vars(embedder)), repr(vars(vars(embedder)["_endpoint"]))]
    assert server.received[0].headers["Authorization"] == f"Bearer {KEY}"
    assert len(server.received) == 1
    assert "api-key" in caught.value.way_out
    seen += [str(caught.value), repr(caught.value.__cause__), repr(caught.value.__context__), caplog.text]
    assert [text for text in seen if KEY in text] == []


@pytest.mark.requirement("ENGINE-4")
def test_a_key_in_a_good_answer_that_is_no_good_is_hidden_too(server: EmbeddingServer) -> None:
    server.replies.extend([Reply(body=f"<p>{KEY}</p>".encode()), Reply(change=lambda _: {"error": f"bad {KEY}"})])
    with make(server, api_key=KEY) as embedder:
        for _ in range(2):
            with pytest.raises(EmbedderError) as caught:
                embedder.embed_query("a")
            assert KEY not in str(caught.value)


@pytest.mark.parametrize("key", ["sk-\N{LATIN SMALL LETTER E WITH ACUTE}", "sk-a\r\nX-Other: b"])
@pytest.mark.requirement("ENGINE-4")
def test_a_key_that_no_header_can_carry_is_refused_without_being_named(key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        OpenAIEmbedder("http://127.0.0.1:9", "small", api_key=key)
    assert "sk-" not in str(caught.value)


@pytest.mark.requirement("ENGINE-4")
def test_credentials_in_the_address_are_sent_and_never_shown(
    server: EmbeddingServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.replies.append(Reply(404))
    address = server.address.replace("http://", "http://user:hunter2@")
    with OpenAIEmbedder(address, "small") as embedder:
        with pytest.raises(EmbedderUnavailable, match="answers 404") as caught:
            embedder.embed_query("a")
        assert "hunter2" not in repr(embedder) + str(caught.value) + caplog.text
    assert server.received[0].headers["Authorization"] == "Basic dXNlcjpodW50ZXIy"


@pytest.mark.requirement("ENGINE-4")
def test_a_redirection_is_not_followed(server: EmbeddingServer) -> None:
    server.replies.append(Reply(307, headers={"Location": f"{server.address}/v1/embeddings"}))
    with make(server) as embedder, pytest.raises(EmbedderUnavailable, match="307, a redirection"):
        embedder.embed_query("a")
    assert len(server.received) == 1


@pytest.mark.requirement("ENGINE-4")
def test_a_refused_text_is_an_error_with_the_endpoints_words_and_is_not_tried_again(
    server: EmbeddingServer, naps: Sleeper
) -> None:
    server.rule = lambda _: Reply(400, body=b'{"message": "model does not embed"}')
    with (
        make(server, naps) as embedder,
        pytest.raises(EmbedderError, match="answers 400: model does not embed") as caught,
    ):
        embedder.embed_query("a")
    assert type(caught.value) is EmbedderError
    assert len(server.received) == 1
    assert naps.naps == []


@pytest.mark.requirement("INGEST-6")
def test_a_batch_that_is_too_large_for_the_endpoint_is_asked_in_halves(server: EmbeddingServer) -> None:
    server.rule = lambda payload: Reply(422 if len(payload["input"]) > 2 else 200)
    texts = ["a", "b", "c", "d", "e"]
    with make(server) as embedder:
        assert np.allclose(embedder.embed_passages(texts), unit(*texts), atol=1e-7)
    assert [len(batch) for batch in server.batches] == [5, 2, 3, 1, 2]


@pytest.mark.requirement("INGEST-4")
def test_a_text_that_is_too_long_for_the_endpoint_is_embedded_by_its_beginning(server: EmbeddingServer) -> None:
    """I108: no chunk fails for ever. 24 tokens less 8 for marks leave 16 bytes: five Chinese characters."""
    server.rule = lambda payload: Reply(413 if any(len(text) > 20 for text in payload["input"]) else 200)
    long = "文" * 50
    with make(server, max_tokens=24) as embedder:
        assert np.allclose(embedder.embed_passages(["a", long]), unit("a", "文" * 5), atol=1e-7)
    assert server.batches == [["a", long], ["a"], [long], ["文" * 5]]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda answer: {**answer, "data": answer["data"][:1]}, "gave 1 vectors for 2 texts"),
        (lambda answer: {**answer, "data": answer["data"] * 2}, "gave 4 vectors for 2 texts"),
        (lambda _: {"error": {"message": "busy"}}, "gave an error .*busy"),
        (lambda answer: [answer], "gave a list of 1"),
        (lambda _: None, "gave NoneType"),
    ],
    ids=["too few", "too many", "error with 200", "list", "null"],
)
@pytest.mark.requirement("ENGINE-4")
def test_an_answer_of_another_form_is_refused_by_name(server: EmbeddingServer, change: Change, says: str) -> None:
    server.rule = lambda _: Reply(change=change)
    with make(server) as embedder, pytest.raises(EmbedderError, match=says):
        embedder.embed_passages(["a", "b"])
    assert len(server.received) == 1


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
@pytest.mark.requirement("SCORE-2")
def test_a_vector_with_no_direction_is_refused(server: EmbeddingServer, number: str) -> None:
    server.replies.append(Reply(body=f'{{"data": [{{"index": 0, "embedding": [1, {number}]}}]}}'.encode()))
    server.replies.append(Reply(body=b'{"data": [{"index": 0, "embedding": [0, 0.0]}]}'))
    with make(server) as embedder:
        with pytest.raises(EmbedderError, match="NaN or infinity"):
            embedder.embed_query("a")
        with pytest.raises(EmbedderError, match="nothing but zeros"):
            embedder.embed_query("a")


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"<html>It works!</html>", "no JSON: '<html>It works!</html>'"),
        (b"", "no JSON: ''"),
        (b'{"data": [', "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b"\xff\xfe\x00", "no JSON"),
    ],
    ids=["html", "empty", "half", "deep", "binary"],
)
@pytest.mark.requirement("ENGINE-4")
def test_what_is_no_json_is_refused_with_its_beginning(server: EmbeddingServer, body: bytes, says: str) -> None:
    server.replies.append(Reply(body=body))
    with make(server) as embedder, pytest.raises(EmbedderError, match=says):
        embedder.embed_query("a")


@pytest.mark.requirement("ENGINE-4")
def test_a_huge_body_is_not_read_to_its_end(server: EmbeddingServer) -> None:
    """1 MiB and half a MiB for the one text."""
    server.replies.append(Reply(body=b" " * 20_000_000))
    with make(server) as embedder, pytest.raises(EmbedderError, match="more than 1,572,864 bytes"):
        embedder.embed_query("a")
    assert server.given_up.wait(60)


@pytest.mark.requirement("ENGINE-4")
def test_a_small_body_that_unpacks_to_a_huge_one_is_not_unpacked_to_its_end(server: EmbeddingServer) -> None:
    body = gzip.compress(b" " * 50_000_000)
    server.replies.append(Reply(body=body, headers={"Content-Encoding": "gzip"}))
    tracemalloc.start()
    with make(server) as embedder, pytest.raises(EmbedderError, match="more than 1,572,864 bytes"):
        embedder.embed_query("a")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 10_000_000


@pytest.mark.requirement("ENGINE-4")
def test_a_body_that_is_not_compressed_as_it_claims_is_refused(server: EmbeddingServer) -> None:
    server.replies.append(Reply(body=b"plain", headers={"Content-Encoding": "gzip"}))
    with make(server) as embedder, pytest.raises(EmbedderError, match="can't be decompressed"):
        embedder.embed_query("a")


@pytest.mark.requirement("ENGINE-4")
def test_a_long_complaint_is_cut(server: EmbeddingServer) -> None:
    server.replies.append(Reply(404, body=b"x" * 5_000_000))
    with make(server) as embedder, pytest.raises(EmbedderUnavailable) as caught:
        embedder.embed_query("a")
    assert len(caught.value.message) < 450


# Threads, proxies, closing


@pytest.mark.requirement("PORT-6")
def test_threads_share_an_embedder_and_each_gets_its_own_vectors(server: EmbeddingServer) -> None:
    server.rule = lambda _: Reply(delay_s=0.01)
    texts = [[f"{worker}-{number}" for number in range(5)] for worker in range(24)]
    with make(server, batch_size=2) as embedder, ThreadPoolExecutor(8) as pool:
        for own, found in zip(texts, pool.map(embedder.embed_passages, texts), strict=True):
            assert np.allclose(found, unit(*own), atol=1e-7)
    assert server.most_at_once > 1


@pytest.mark.requirement("API-7")
def test_a_proxy_of_the_environment_is_used_only_when_trusted(
    server: EmbeddingServer, naps: Sleeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with make(server) as embedder:
        embedder.embed_query("a")
    with make(server, naps, trust_env=True) as embedder, pytest.raises(EmbedderUnavailable):
        embedder.embed_query("a")
    assert len(server.received) == 1


@pytest.mark.requirement("API-7")
def test_a_proxy_that_is_named_is_used(server: EmbeddingServer) -> None:
    with OpenAIEmbedder("http://model.invalid/v1", "small", proxy=server.address) as embedder:
        embedder.embed_query("a")
    assert server.received[0].path == "http://model.invalid/v1/embeddings"


@pytest.mark.requirement("PORT-6")
def test_a_closed_embedder_says_so(server: EmbeddingServer) -> None:
    embedder = make(server)
    embedder.embed_query("a")
    embedder.close()
    embedder.close()
    with pytest.raises(EmbedderError, match="closed"):
        embedder.embed_query("a")
