"""The read path over a scripted search port: what is kept, dropped, refilled, said."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from citewell.admission import LookupRequest, admit
from citewell.errors import StoreUnreachable
from citewell.lookup import Lookup
from citewell.model import Hit, LookupPolicy, PathReport, Reason, SearchPolicy, SearchRequest, SearchResponse


class ScriptedPort:
    """Answers each request with the next response, leaving out the documents that the request excludes."""

    def __init__(self, *responses: SearchResponse) -> None:
        self.responses = list(responses)
        self.requests: list[SearchRequest] = []

    def search(self, request: SearchRequest) -> SearchResponse:
        self.requests.append(request)
        response = self.responses.pop(0)
        hits = tuple(hit for hit in response.hits if hit.doc_id not in request.exclude_documents)
        return replace(response, hits=hits)


def hit(key: str, similarity: float | None = 0.5, *, scope: tuple[str, ...] | None = None, text: str = "") -> Hit:
    doc_id, _, index = key.rpartition("#chunk-")
    return Hit(
        evidence_key=key,
        doc_id=doc_id,
        chunk_index=int(index),
        text=text or f"text of {key}",
        similarity=similarity,
        fused_score=0.01,
        reasons=(Reason("dense", 1, similarity),),
        scope=scope,
    )


def response(
    hits: Sequence[Hit], *, cut: bool = False, degraded: tuple[str, ...] = (), empty: bool = False
) -> SearchResponse:
    report = PathReport("dense", "ran", len(hits), cut)
    return SearchResponse(tuple(hits), (report,), degraded=degraded, store_empty=empty)


def request(query: Any = "why is etcd slow", **arguments: Any) -> LookupRequest:  # noqa: ANN401 - raw arguments may be anything
    return admit(query, policy=LookupPolicy(), search=SearchPolicy(mode="hybrid"), **arguments)


def keys_of(port: ScriptedPort, **arguments: Any) -> list[str]:  # noqa: ANN401 - raw arguments may be anything
    return [block.evidence_key for block in Lookup(port).run(request(**arguments)).evidence]


ALPHA = [hit(f"alpha#chunk-{index}") for index in range(6)]
BETA, GAMMA = hit("beta#chunk-0"), hit("gamma#chunk-0")


@pytest.mark.requirement("PORT-1", "PORT-2")
def test_the_request_that_crosses_the_port_carries_everything_that_was_asked() -> None:
    port = ScriptedPort(response([BETA]))
    Lookup(port).run(request("q w", category="ops", scope=["t1"], where={"team": "a"}, mode="dense", retrieve_k=9))
    assert port.requests == [SearchRequest("q w", 9, "dense", "ops", ("t1",), (("team", "a"),))]


@pytest.mark.requirement("POST-1", "POST-4")
def test_one_document_can_not_crowd_out_the_others() -> None:
    """Trial I56: alpha twice, then beta and gamma, in the order of their ranks."""
    found = keys_of(ScriptedPort(response([*ALPHA, BETA, GAMMA])), return_n=4)
    assert found == ["alpha#chunk-0", "alpha#chunk-1", "beta#chunk-0", "gamma#chunk-0"]


@pytest.mark.requirement("POST-7")
def test_freed_slots_are_refilled_once_without_the_full_documents_and_come_last() -> None:
    port = ScriptedPort(response(ALPHA, cut=True), response([*ALPHA, BETA, GAMMA], cut=True))
    result = Lookup(port).run(request(return_n=5))
    assert [block.evidence_key for block in result.evidence] == [
        "alpha#chunk-0",
        "alpha#chunk-1",
        "beta#chunk-0",
        "gamma#chunk-0",
    ]
    assert [sent.exclude_documents for sent in port.requests] == [(), ("alpha",)]
    assert result.trace.refill == ("beta#chunk-0", "gamma#chunk-0")


@pytest.mark.requirement("POST-7", "POST-4")
def test_a_refill_counts_what_the_first_answer_took_of_a_document() -> None:
    first = response([*ALPHA[:3], BETA], cut=True)
    second = response([hit("beta#chunk-1"), hit("beta#chunk-2"), GAMMA], cut=True)
    assert keys_of(ScriptedPort(first, second), return_n=5) == [
        "alpha#chunk-0",
        "alpha#chunk-1",
        "beta#chunk-0",
        "beta#chunk-1",
        "gamma#chunk-0",
    ]


@pytest.mark.requirement("POST-7", "PORT-4")
@pytest.mark.parametrize(
    ("cut", "arguments"),
    [(False, {}), (True, {"mode": "dense"}), (True, {"return_n": 2}), (True, {"max_chunks_per_document": 0})],
    ids=["paths not cut off", "dense mode", "nothing missing", "no cap"],
)
def test_no_second_request_is_made_without_a_reason(cut: bool, arguments: dict[str, Any]) -> None:
    port = ScriptedPort(response(ALPHA, cut=cut))
    result = Lookup(port).run(request(**arguments))
    assert len(port.requests) == 1
    assert result.trace.refill is None


@pytest.mark.requirement("POST-7")
def test_refilling_can_be_switched_off() -> None:
    port = ScriptedPort(response(ALPHA, cut=True))
    asked = request()
    Lookup(port).run(replace(asked, policy=replace(asked.policy, refill=False)))
    assert len(port.requests) == 1


@pytest.mark.requirement("POST-6")
def test_a_smaller_return_n_is_a_prefix_even_where_a_refill_is_made() -> None:
    def answer(return_n: int) -> list[str]:
        more = [BETA, GAMMA, hit("delta#chunk-0"), hit("delta#chunk-1")]
        return keys_of(ScriptedPort(response(ALPHA, cut=True), response(more, cut=True)), return_n=return_n)

    largest = answer(8)
    assert largest[2:] == ["beta#chunk-0", "gamma#chunk-0", "delta#chunk-0", "delta#chunk-1"]
    assert all(answer(size) == largest[:size] for size in range(1, 8))


@pytest.mark.requirement("SAFE-1", "POST-8")
def test_a_leak_is_dropped_counted_and_logged_and_its_key_is_in_no_answer(caplog: pytest.LogCaptureFixture) -> None:
    """Trial I68: a path that forgot its filter."""
    mine, foreign, bare = hit("a#chunk-0", scope=("t1",)), hit("b#chunk-0", scope=("t2",)), hit("c#chunk-0")
    with caplog.at_level(logging.ERROR, logger="citewell.lookup"):
        result = Lookup(ScriptedPort(response([foreign, mine, bare]))).run(request(scope="t1"))
    assert [block.evidence_key for block in result.evidence] == ["a#chunk-0"]
    assert result.trace.out_of_scope == 2
    assert "b#chunk-0" not in str(result.to_dict())
    assert "b#chunk-0" not in str(result.to_agent())
    assert "b#chunk-0" in caplog.text


@pytest.mark.requirement("SAFE-1", "POST-7")
def test_a_leak_in_the_refill_is_dropped_too() -> None:
    def mine(key: str) -> Hit:
        return hit(key, scope=("t1",))

    first = response([mine(f"alpha#chunk-{index}") for index in range(3)], cut=True)
    second = response([hit("b#chunk-0", scope=("t2",)), mine("c#chunk-0")], cut=True)
    result = Lookup(ScriptedPort(first, second)).run(request(scope="t1"))
    assert [block.evidence_key for block in result.evidence] == ["alpha#chunk-0", "alpha#chunk-1", "c#chunk-0"]
    assert result.trace.out_of_scope == 1


@pytest.mark.requirement("PROJ-6")
@pytest.mark.parametrize(
    ("answer", "floor", "status"),
    [
        (response([BETA]), None, "ok"),
        (response([], empty=True), None, "empty_store"),
        (response([]), None, "no_match"),
        (response([BETA]), 0.9, "below_similarity"),
    ],
)
def test_nothing_found_says_which_nothing(answer: SearchResponse, floor: float | None, status: str) -> None:
    assert Lookup(ScriptedPort(answer)).run(request(min_similarity=floor)).status == status


@pytest.mark.requirement("PROJ-6")
def test_a_leak_alone_reads_as_no_match() -> None:
    result = Lookup(ScriptedPort(response([hit("b#chunk-0", scope=("t2",))]))).run(
        request(scope="t1", min_similarity=0.9)
    )
    assert result.status == "no_match"


@pytest.mark.requirement("PROJ-6", "PORT-2")
def test_degradation_is_said_beside_the_status_and_an_error_stays_an_error() -> None:
    result = Lookup(ScriptedPort(response([BETA], degraded=("lexical: broken",)))).run(request())
    assert (result.status, result.degraded) == ("ok", ("lexical: broken",))
    assert result.to_agent()["degraded"] == ["lexical: broken"]

    class DeadPort:
        def search(self, request: SearchRequest) -> SearchResponse:
            raise StoreUnreachable("the store is down")

    with pytest.raises(StoreUnreachable, match="the store is down"):
        Lookup(DeadPort()).run(request())


@pytest.mark.requirement("SCORE-6", "SCORE-5")
def test_an_exact_code_survives_a_floor_that_its_similarity_misses() -> None:
    """Trial I35: a unique token, the floor at .99, found by the lexical path."""
    coded = replace(hit("a#chunk-0", 0.2, text="Error ZX-81-Q means a full disk."), lexical_score=7.5)
    other = replace(hit("b#chunk-0", 0.3, text="Error ZX-82-Q."), lexical_score=1.5)
    result = Lookup(ScriptedPort(response([coded, other]))).run(request("what is ZX-81-Q", min_similarity=0.99))
    assert [block.evidence_key for block in result.evidence] == ["a#chunk-0"]
    assert result.trace.kept_identifiers == ("a#chunk-0",)
    assert [(drop.evidence_key, drop.reason) for drop in result.trace.dropped] == [("b#chunk-0", "below_similarity")]


@pytest.mark.requirement("POST-8")
def test_the_trace_says_which_number_was_in_force_and_where_it_came_from() -> None:
    """Trial I41."""
    settings = Lookup(ScriptedPort(response([BETA]))).run(request(min_similarity=0.25)).trace.settings
    assert settings["min_similarity"] == (0.25, "call")
    assert settings["retrieve_k"] == (50, "settings")


@pytest.mark.requirement("POST-8")
def test_every_candidate_is_kept_or_dropped_with_a_reason() -> None:
    result = Lookup(ScriptedPort(response([*ALPHA, BETA, hit("low#chunk-0", 0.1)]))).run(
        request(return_n=2, min_similarity=0.2)
    )
    fates = {drop.evidence_key: drop.reason for drop in result.trace.dropped}
    assert fates == {
        **{f"alpha#chunk-{index}": "document_cap" for index in range(2, 6)},
        "beta#chunk-0": "return_n",
        "low#chunk-0": "below_similarity",
    }
