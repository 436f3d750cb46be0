"""Who sees what on every HTTP route, by token; and that nothing tells of what a caller may not see."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from http_room import SEES, TOKENS, bears, client, filled, finished, settings, token
from starlette.testclient import TestClient

from citewell import Document, Knowledge
from citewell.server.observe.logs import log_to
from citewell.server.serve import _beside

ALL = ["a.md", "b.md", "both.md", "open.md"]
HIDDEN = {"team-a": ["beta", "sail", "b.md", "team-b", "open"], "team-b": ["alpha", "wheel", "a.md", "team-a", "open"]}


@pytest.fixture
def knowledge() -> Iterator[Knowledge]:
    with filled(settings(tokens=True)) as opened:
        yield opened


@pytest.fixture
def http(knowledge: Knowledge) -> Iterator[TestClient]:
    """Of all that one process serves: what stands beside HTTP must open no way around it."""
    with client(knowledge, beside=partial(_beside, version="1")) as opened:
        yield opened


def ingested(http: TestClient, document: dict[str, Any]) -> dict[str, Any]:
    """The job that stored a document for team-a."""
    return finished(http, http.post("/v1/ingest", json={"documents": [document]}, headers=bears("team-a")), "team-a")


def ids(found: dict[str, Any]) -> list[str]:
    return sorted(block["doc_id"] for block in found["evidence"])


@pytest.mark.requirement("API-4", "SAFE-3")
@pytest.mark.parametrize("name", TOKENS)
def test_a_lookup_finds_what_its_caller_may_see(http: TestClient, name: str) -> None:
    for mode in ("dense", "hybrid"):
        body = {"query": "which plan needs what", "mode": mode, "return_n": 10}
        answer = http.post("/v1/lookup", json=body, headers=bears(name))
        assert ids(answer.json()) == SEES[name]
        assert not [word for word in HIDDEN.get(name, ALL if name == "nothing" else []) if f'"{word}' in answer.text]


@pytest.mark.requirement("API-4", "SAFE-3")
@pytest.mark.parametrize("name", TOKENS)
@pytest.mark.parametrize("doc_id", ALL)
def test_evidence_outside_the_scope_reads_as_not_there(http: TestClient, name: str, doc_id: str) -> None:
    here = http.get(f"/v1/evidence/{doc_id}%23chunk-0", params={"neighbours": 3}, headers=bears(name))
    if doc_id in SEES[name]:
        assert [block["evidence_key"] for block in here.json()["evidence"]] == [f"{doc_id}#chunk-0"]
        return
    nowhere = http.get("/v1/evidence/none.md%23chunk-0", params={"neighbours": 3}, headers=bears(name))
    assert (here.status_code, here.text) == (404, nowhere.text.replace("none.md", doc_id))
    assert here.headers.keys() == nowhere.headers.keys()


@pytest.mark.requirement("API-4", "GUARD-1")
@pytest.mark.parametrize("name", TOKENS)
def test_a_check_knows_no_id_outside_the_scope(http: TestClient, name: str) -> None:
    keys = [f"{doc_id}#chunk-0" for doc_id in ALL]
    checked = http.post("/v1/check", json={"answer": keys, "shown": keys}, headers=bears(name)).json()
    verdicts = {citation["raw"]: citation["verdict"] for citation in checked["citations"]}
    assert [key for key in keys if verdicts[key] != "unknown"] == [f"{doc_id}#chunk-0" for doc_id in SEES[name]]


@pytest.mark.requirement("API-4", "SAFE-3")
@pytest.mark.parametrize("name", TOKENS)
def test_the_list_counts_and_labels_what_the_caller_may_see(http: TestClient, name: str) -> None:
    listed = http.get("/v1/documents", headers=bears(name)).json()
    assert [document["doc_id"] for document in listed["documents"]] == SEES[name]
    labels = {label for document in listed["documents"] for label in document["scope"] or []}
    assert labels == ({"team-a", "team-b"} if name == "everything" else {name} & {"team-a", "team-b"})
    page = http.get("/v1/documents", params={"limit": 1}, headers=bears(name)).json()
    assert page["next"] == (SEES[name][0] if SEES[name] else None)


@pytest.mark.requirement("API-4", "SAFE-3")
@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/v1/lookup"), ("GET", "/v1/documents"), ("GET", "/v1/evidence/a.md%23chunk-0")]
)
def test_a_call_may_narrow_its_scope_and_not_widen_it(http: TestClient, method: str, path: str) -> None:
    for label in ("team-b", "no-such-label"):
        asked: dict[str, Any] = (
            {"json": {"query": "plan", "scope": [label]}} if method == "POST" else {"params": {"scope": label}}
        )
        refused = http.request(method, path, headers=bears("team-a"), **asked)
        assert refused.status_code == 403
        assert refused.json()["error"]["message"] == "the scope holds a label that this token doesn't"
        assert http.request(method, path, headers=bears("everything"), **asked).status_code in (200, 404)


@pytest.mark.requirement("API-4")
@pytest.mark.parametrize("given", [None, "Bearer wrong-0123456789012345", f"Basic {token('everything')}", "Bearer "])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/lookup"), ("GET", "/v1/evidence/a.md%23chunk-0"), ("POST", "/v1/check"), ("GET", "/v1/documents"),
        ("DELETE", "/v1/documents/a.md"), ("POST", "/v1/ingest"), ("GET", "/v1/ingest/x"),
        ("GET", "/v1/ingest/x/events"), ("GET", "/metrics"), ("GET", "/nowhere"), ("POST", "/mcp"),
    ],
)  # fmt: skip
def test_without_a_known_token_nothing_is_told(http: TestClient, method: str, path: str, given: str | None) -> None:
    refused = http.request(method, path, headers={} if given is None else {"Authorization": given})
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
    assert refused.json()["error"]["message"] == "a known bearer token is needed"


@pytest.mark.requirement("API-4")
@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("path", ["/v1/documents", "/v1/evidence/a.md%23chunk-0", "/mcp", "/inspect/corpus"])
@pytest.mark.parametrize("names", [("team-a", "everything"), ("everything", "team-a"), ("team-a", "team-a")])
def test_two_tokens_are_none(http: TestClient, method: str, path: str, names: tuple[str, str]) -> None:
    """Whoever passed the request on may have looked at the other one."""
    two = [("Authorization", f"Bearer {token(name)}") for name in names]
    refused = http.request(method, path, headers=two, follow_redirects=False)
    if path.startswith("/inspect") and method == "GET":  # a browser is led to the log-in
        assert (refused.status_code, refused.headers["location"][:14]) == (303, "/inspect/login")
    else:
        assert refused.status_code in (401, 405)
    assert "alpha" not in refused.text.lower()


@pytest.mark.requirement("API-4")
def test_probes_need_no_token_and_are_told_a_word(http: TestClient) -> None:
    assert http.get("/healthz", headers={"Host": "10.1.2.3:80"}).text == '{"status":"ok"}'
    assert http.get("/readyz", headers={"Host": "10.1.2.3:80"}).text == '{"status":"ready"}'


@pytest.mark.requirement("API-4")
def test_figures_need_a_token_that_holds_everything_and_have_no_label_of_a_caller(http: TestClient) -> None:
    http.post("/v1/lookup", json={"query": "the alpha plan"}, headers=bears("team-a"))
    http.get("/v1/evidence/a.md%23chunk-0", headers=bears("team-a"))
    for name in ("team-a", "team-b", "nothing"):
        assert http.get("/metrics", headers=bears(name)).status_code == 403
    page = http.get("/metrics", headers=bears("everything"))
    assert page.status_code == 200
    assert 'citewell_lookups_total{mode="hybrid",status="ok"} 1.0' in page.text
    for word in ("team-a", "a.md", "alpha", "everything"):
        assert word not in page.text


@pytest.mark.requirement("API-4", "SESSION-2")
def test_callers_of_one_scope_do_not_share_a_session() -> None:
    tokens = [{"name": name, "token": token(name), "scope": ["team-a"]} for name in ("ann", "bob")]
    from citewell import Settings  # noqa: PLC0415 - here alone

    with filled(Settings.of({"server.tokens": tokens})) as knowledge, client(knowledge) as http:
        asked = {"query": "the alpha plan", "session": "s", "agent": True, "return_n": 1}
        http.post("/v1/lookup", json=asked, headers=bears("ann"))
        check = {"answer": ["a.md#chunk-0"], "session": "s"}
        verdicts = [
            http.post("/v1/check", json=check, headers=bears(name)).json()["citations"][0]["verdict"]
            for name in ("ann", "bob")
        ]
    assert verdicts == ["shown", "not_shown"]


@pytest.mark.requirement("API-4", "SAFE-3")
@pytest.mark.parametrize(
    ("name", "doc_id", "status"),
    [
        ("everything", "open.md", 200), ("team-a", "a.md", 200), ("team-a", "b.md", 404), ("team-a", "open.md", 404),
        ("team-a", "none.md", 404), ("team-a", "both.md", 403), ("team-b", "b.md", 403), ("nothing", "a.md", 403),
    ],
)  # fmt: skip
def test_a_caller_deletes_what_is_its_own_alone(
    knowledge: Knowledge, http: TestClient, name: str, doc_id: str, status: int
) -> None:
    answer = http.delete(f"/v1/documents/{doc_id}", headers=bears(name))
    assert answer.status_code == status
    assert (doc_id in [info.doc_id for info in knowledge.documents()]) is (status != 200 and doc_id in ALL)
    if status == 404:
        other = http.delete("/v1/documents/nowhere.md", headers=bears(name))
        assert answer.text == other.text.replace("nowhere.md", doc_id)


@pytest.mark.requirement("API-4", "SAFE-3")
def test_a_caller_with_a_scope_writes_under_its_own_name_with_its_own_labels(
    knowledge: Knowledge, http: TestClient
) -> None:
    body = {"documents": [{"doc_id": "b.md", "text": "# Mine\n\nThe beta plan needs a sail."}]}
    job = finished(http, http.post("/v1/ingest", json=body, headers=bears("team-a")), "team-a")
    assert [(file["doc_id"], file["status"]) for file in job["report"]["files"]] == [("team-a/b.md", "added")]
    assert (knowledge.document("team-a/b.md").scope, knowledge.document("b.md").scope) == (("team-a",), ("team-b",))
    ours = finished(http, http.post("/v1/ingest", json=body, headers=bears("everything")), "everything")
    assert ours["report"]["files"][0]["status"] == "updated"
    assert knowledge.document("b.md").scope is None


@pytest.mark.requirement("API-4", "SAFE-3")
def test_a_caller_with_a_scope_does_not_learn_that_others_have_its_text(knowledge: Knowledge, http: TestClient) -> None:
    text = "# Beta\n\nThe beta plan needs a sail."
    jobs = [ingested(http, {"doc_id": "x", "text": each}) for each in (text, f"{text} Or two.")]
    files = [job["report"]["files"][0] for job in jobs]
    assert [(file["status"], file["embedded"], file["detail"]) for file in files] == [
        ("added", 1, ""),
        ("updated", 1, ""),
    ]


@pytest.mark.requirement("API-4", "SAFE-3")
@pytest.mark.parametrize(
    ("name", "document", "status"),
    [
        ("team-a", {"scope": ["team-b"]}, 403), ("team-a", {"scope": ["team-a", "x"]}, 403),
        ("team-a", {"scope": []}, 403), ("team-a", {"doc_id": "taken"}, 403), ("team-a", {"doc_id": "bare"}, 403),
        ("team-b", {}, 403), ("nothing", {}, 403),
        ("team-a", {"scope": "team-a"}, 202), ("everything", {"scope": ["x"]}, 202),
    ],
)  # fmt: skip
def test_what_a_caller_may_write(
    knowledge: Knowledge, http: TestClient, name: str, document: dict[str, Any], status: int
) -> None:
    knowledge.ingest_documents(
        [Document("team-a/taken", "x", scope=["team-a", "team-b"]), Document("team-a/bare", "x")]
    )
    body = {"documents": [{"doc_id": "new", "text": "x", **document}]}
    assert http.post("/v1/ingest", json=body, headers=bears(name)).status_code == status


@pytest.mark.requirement("API-4")
def test_a_job_is_its_callers_alone(http: TestClient) -> None:
    body = {"documents": [{"doc_id": "new", "text": "x"}]}
    started = http.post("/v1/ingest", json=body, headers=bears("team-a"))
    finished(http, started, "team-a")
    for name in ("everything", "team-b", "nothing"):
        for path in (started.headers["location"], f"{started.headers['location']}/events"):
            here, nowhere = (http.get(each, headers=bears(name)) for each in (path, "/v1/ingest/none"))
            assert (here.status_code, here.text) == (404, nowhere.text)


@pytest.mark.requirement("API-4")
def test_the_log_holds_neither_tokens_nor_queries_nor_text(http: TestClient) -> None:
    log = io.StringIO()
    before = {name: list(logging.getLogger(name).handlers) for name in ("citewell", "uvicorn", "mcp")}
    try:
        log_to(log)
        http.post("/v1/lookup", json={"query": "the secret alpha"}, headers={**bears("team-a"), "X-Request-Id": "r-1"})
        http.get("/v1/documents", params={"after": "secret"}, headers={"Authorization": "Bearer secret-token-000000"})
        ingested(http, {"doc_id": "n", "text": "secret"})
    finally:
        for name, handlers in before.items():
            logging.getLogger(name).handlers = handlers
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    asked = [line for line in lines if line.get("request") == "r-1"]
    assert [(line["event"], line["caller"] if line["event"] == "request" else None) for line in asked] == [
        ("lookup", None),
        ("request", "team-a"),
    ]
    assert asked[1]["status"] == 200
    assert asked[0]["paths"].keys() == {"dense", "dense_filtered", "lexical"}
    for word in ("secret", token("team-a"), "Bearer", "wheel"):
        assert word not in log.getvalue()
