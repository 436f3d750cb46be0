"""The routes of the HTTP server: each answers the library's own values, in the shapes that OpenAPI says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from http_room import DOCUMENTS, client, filled, finished, room
from starlette.testclient import TestClient

from citewell import Knowledge

KEY = "/v1/evidence/a.md%23chunk-0"
BAD = "invalid_request"
FOX = {"doc_id": "fox", "text": "The fox sleeps."}
AS_JSON = {"content-type": "application/json"}
AS_TEXT = {"content-type": "text/plain"}
AS_FORM = {"content-type": "multipart/form-data"}


@pytest.fixture
def knowledge() -> Iterator[Knowledge]:
    with filled() as opened:
        yield opened


@pytest.fixture
def http(knowledge: Knowledge) -> Iterator[TestClient]:
    with client(knowledge) as opened:
        yield opened


def shape_of(http: TestClient, path: str, method: str, status: int = 200) -> dict[str, Any]:
    """What OpenAPI says of an answer, with what it refers to."""
    described = http.get("/openapi.json").json()
    schema = described["paths"][path][method]["responses"][str(status)]["content"]["application/json"]["schema"]
    return {**schema, "components": described["components"]}


def without_times(found: dict[str, Any]) -> dict[str, Any]:
    paths = [{**path, "milliseconds": 0} for path in found["trace"]["paths"]]
    return {**found, "trace": {**found["trace"], "paths": paths, "milliseconds": {}}}


@pytest.mark.requirement("API-4")
def test_a_lookup_answers_what_the_library_does(knowledge: Knowledge, http: TestClient) -> None:
    options: dict[str, Any] = {"return_n": 2, "neighbours": 1, "category": "plans"}
    answer = http.post("/v1/lookup", json={"query": "the alpha plan", **options})
    assert answer.status_code == 200
    found = json.loads(json.dumps(knowledge.lookup("the alpha plan", **options).to_dict()))
    assert without_times(answer.json()) == without_times(found)
    jsonschema.validate(answer.json(), shape_of(http, "/v1/lookup", "post"))


@pytest.mark.requirement("API-4", "GUARD-1")
def test_what_an_agent_is_shown_counts_as_shown_in_its_session(http: TestClient) -> None:
    seen = http.post(
        "/v1/lookup", json={"query": "the alpha plan", "agent": True, "session": "s", "return_n": 1}
    ).json()
    assert [item["document_id"] for item in seen["evidence"]] == ["a.md#chunk-0"]
    jsonschema.validate(seen, shape_of(http, "/v1/lookup", "post"))
    checked = http.post("/v1/check", json={"answer": "x [a.md#chunk-0] y [b.md#chunk-0]", "session": "s"}).json()
    assert [citation["verdict"] for citation in checked["citations"]] == ["shown", "not_shown"]
    jsonschema.validate(checked, shape_of(http, "/v1/check", "post"))


@pytest.mark.requirement("API-4")
def test_ids_are_checked_against_ids_and_against_what_was_answered(http: TestClient) -> None:
    seen = http.post("/v1/lookup", json={"query": "the alpha plan", "agent": True, "return_n": 1}).json()
    for shown in (["a.md#chunk-0"], seen):
        checked = http.post("/v1/check", json={"answer": ["a.md#chunk-0", "b.md#chunk-0"], "shown": shown}).json()
        assert [citation["verdict"] for citation in checked["citations"]] == ["shown", "not_shown"]
        assert checked["ok"] is False


@pytest.mark.requirement("API-4", "CONTEXT-1")
def test_evidence_is_read_by_its_key_with_its_neighbours(knowledge: Knowledge, http: TestClient) -> None:
    long = "\n\n".join(f"## Step {n}\n\n{f'Turn wheel {n}. ' * 100}" for n in range(3))
    knowledge.ingest_documents([DOCUMENTS[0].__class__("dir/steps #chunk-1.md", long)])
    address = "/v1/evidence/dir/steps%20%23chunk-1.md%23chunk-1"
    assert [block["chunk_index"] for block in http.get(address).json()["evidence"]] == [1]
    around = http.get(address, params={"neighbours": 1}).json()
    assert [block["chunk_index"] for block in around["evidence"]] == [0, 1, 2]
    jsonschema.validate(around, shape_of(http, "/v1/evidence/{key}", "get"))
    seen = http.get(address, params={"agent": "true", "session": "s"}).json()
    assert [item["document_id"] for item in seen["evidence"]] == ["dir/steps #chunk-1.md#chunk-1"]
    checked = http.post("/v1/check", json={"answer": ["dir/steps #chunk-1.md#chunk-1"], "session": "s"}).json()
    assert checked["ok"] is True


@pytest.mark.requirement("API-4")
def test_documents_are_listed_page_by_page_and_deleted_by_id(http: TestClient) -> None:
    first = http.get("/v1/documents", params={"limit": 3}).json()
    assert [document["doc_id"] for document in first["documents"]] == ["a.md", "b.md", "both.md"]
    assert first["next"] == "both.md"
    last = http.get("/v1/documents", params={"limit": 3, "after": first["next"]}).json()
    assert ([document["doc_id"] for document in last["documents"]], last["next"]) == (["open.md"], None)
    jsonschema.validate(first, shape_of(http, "/v1/documents", "get"))
    gone = http.delete("/v1/documents/open.md")
    assert (gone.status_code, gone.json()) == (200, {"doc_id": "open.md", "chunks": 1})
    assert http.delete("/v1/documents/open.md").status_code == 404
    assert http.get("/v1/documents", params={"after": "both.md"}).json()["documents"] == []


@pytest.mark.requirement("API-4", "INGEST-1")
def test_uploaded_files_become_documents_whose_job_can_be_followed(http: TestClient) -> None:
    files = [("files", ("docs/fox.md", "# Fox\n\nThe fox sleeps.")), ("files", ("who.csv", "name,job\nann,ops\n"))]
    started = http.post("/v1/ingest", files=files, data={"category": "animals", "scope": ["x", "y"], "prefix": "new/"})
    job = finished(http, started)
    assert (job["state"], job["progress"]["total"], job["report"]["summary"]["added"]) == ("done", 2, 2)
    jsonschema.validate(job, shape_of(http, "/v1/ingest/{job}", "get"))
    listed = http.get("/v1/documents", params={"after": "c", "scope": "x"}).json()["documents"]
    assert [(d["doc_id"], d["category"], d["scope"]) for d in listed] == [
        ("new/docs/fox.md", "animals", ["x", "y"]),
        ("new/who.csv", "animals", ["x", "y"]),
    ]
    found = http.post("/v1/lookup", json={"query": "the fox sleeps", "return_n": 1}).json()
    assert found["evidence"][0]["evidence_key"] == "new/docs/fox.md#chunk-0"


@pytest.mark.requirement("API-4")
def test_documents_come_as_json_too_and_faults_are_in_the_report(http: TestClient) -> None:
    documents = [
        {"doc_id": "fox", "text": "The fox sleeps.", "format": "text", "title": "Fox", "metadata": {"legs": 4}},
        {"doc_id": "bad", "text": "x", "source": "half \ud800"},
    ]
    body = json.dumps({"documents": documents})
    job = finished(http, http.post("/v1/ingest", content=body, headers=AS_JSON))
    assert [(file["doc_id"], file["status"]) for file in job["report"]["files"]] == [
        ("bad", "failed"),
        ("fox", "added"),
    ]
    found = http.post("/v1/lookup", json={"query": "the fox", "where": {"legs": 4}}).json()
    assert [block["doc_id"] for block in found["evidence"]] == ["fox"]


@pytest.mark.requirement("API-4")
def test_the_last_event_of_a_job_holds_its_report(http: TestClient) -> None:
    started = http.post("/v1/ingest", json={"documents": [{"doc_id": "fox", "text": "The fox sleeps."}]})
    with http.stream("GET", f"{started.headers['location']}/events") as events:
        text = events.read().decode("utf-8")
    assert events.headers["content-type"].startswith("text/event-stream")
    kind, data = text.strip().split("\n\n")[-1].splitlines()
    assert kind == "event: done"
    assert json.loads(data.removeprefix("data: "))["report"]["summary"]["added"] == 1


@pytest.mark.requirement("API-8", "API-4")
@pytest.mark.parametrize(
    ("method", "path", "options", "status", "code", "says"),
    [
        ("POST", "/v1/lookup", {"json": {"query": "x", "top_k": 3}}, 422, BAD, "unknown argument 'top_k'"),
        ("POST", "/v1/lookup", {"json": {}}, 422, BAD, "query is missing"),
        ("POST", "/v1/lookup", {"json": {"query": None}}, 422, BAD, "query is missing"),
        ("POST", "/v1/lookup", {"json": {"query": " ?"}}, 422, BAD, "query"),
        ("POST", "/v1/lookup", {"json": {"query": "x", "return_n": "5"}}, 422, BAD, "return_n can't be '5'"),
        ("POST", "/v1/lookup", {"json": {"query": "x", "agent": 1}}, 422, BAD, "agent can't be 1"),
        ("POST", "/v1/lookup", {"json": {"query": "x", "mode": "best"}}, 422, BAD, "no mode 'best'"),
        ("POST", "/v1/lookup", {"json": ["x"]}, 422, BAD, "the body can't be ['x']"),
        ("POST", "/v1/lookup", {"content": b"{", "headers": AS_JSON}, 400, "no_json", ""),
        ("POST", "/v1/lookup", {"content": b"[" * 99_999, "headers": AS_JSON}, 400, "no_json", ""),
        ("POST", "/v1/lookup", {"content": b"\xff", "headers": AS_JSON}, 400, "no_json", ""),
        ("POST", "/v1/lookup", {"content": b"{}", "headers": AS_TEXT}, 415, "unknown_kind", "text/plain"),
        ("GET", "/v1/evidence/a.md", {}, 422, BAD, "'a.md' is no evidence key"),
        ("GET", KEY, {"params": {"neighbors": 1}}, 422, BAD, "unknown argument 'neighbors'"),
        ("GET", KEY, {"params": {"neighbours": "many"}}, 422, BAD, "neighbours can't be 'many'"),
        ("GET", KEY, {"params": {"agent": "yes"}}, 422, BAD, "agent can't be 'yes'"),
        ("GET", KEY, {"params": [("neighbours", 1), ("neighbours", 2)]}, 422, BAD, "there twice"),
        ("GET", "/v1/evidence/a.md%23chunk-7", {}, 404, "unknown_evidence", "'a.md#chunk-7'"),
        ("POST", "/v1/check", {"json": {"answer": "x"}}, 422, BAD, "session"),
        ("POST", "/v1/check", {"json": {"answer": 3, "session": "s"}}, 422, BAD, "answer can't be 3"),
        ("GET", "/v1/documents", {"params": {"limit": 0}}, 422, BAD, "limit can't be 0"),
        ("GET", "/v1/documents", {"params": {"limit": "1" * 40}}, 422, BAD, "limit can't be '111"),
        ("DELETE", "/v1/documents/none.md", {}, 404, "unknown_evidence", "no document 'none.md'"),
        ("GET", "/v1/ingest/none", {}, 404, "unknown_job", "no such job of yours"),
        ("POST", "/v1/ingest", {"json": {"documents": []}}, 422, BAD, "no document to ingest"),
        ("POST", "/v1/ingest", {"json": {"documents": {}}}, 422, BAD, "documents can't be {}"),
        ("POST", "/v1/ingest", {"json": {"documents": [{"doc_id": "a"}]}}, 422, BAD, "documents[0]: text is"),
        ("POST", "/v1/ingest", {"json": {"documents": [{"doc_id": "a", "text": "", "id": 1}]}}, 422, BAD, "'id'"),
        ("POST", "/v1/ingest", {"json": {"documents": [{"doc_id": "vector:1", "text": "x"}]}}, 422, BAD, "'vector:1'"),
        ("POST", "/v1/ingest", {"json": {"documents": [{**FOX, "format": {}}]}}, 422, BAD, "documents[0]: format"),
        ("POST", "/v1/ingest", {"json": {"documents": [{**FOX, "title": 3}]}}, 422, BAD, "title can't be 3"),
        ("POST", "/v1/ingest", {"json": {"documents": [{**FOX, "metadata": []}]}}, 422, BAD, "metadata can't be []"),
        ("POST", "/v1/ingest", {"json": {"documents": [FOX, 3]}}, 422, BAD, "documents[1] can't be 3"),
        ("POST", "/v1/ingest", {"files": [("files", ("../a.md", b"x"))]}, 422, BAD, "can't be named '../a.md'"),
        ("POST", "/v1/ingest", {"files": [("files", ("/etc/a.md", b"x"))]}, 422, BAD, "can't be named"),
        ("POST", "/v1/ingest", {"files": [("files", ("C:/a.md", b"x"))]}, 422, BAD, "can't be named"),
        ("POST", "/v1/ingest", {"files": [("file", ("a.md", b"x"))]}, 422, BAD, "unknown argument 'file'"),
        ("POST", "/v1/ingest", {"files": [("category", ("a.md", b"x"))]}, 422, BAD, "mixed up"),
        ("POST", "/v1/ingest", {"content": b"x", "headers": AS_FORM}, 400, "no_form", ""),
        ("POST", "/v1/ingest", {"content": b"x"}, 415, "unknown_kind", "'unsaid'"),
        ("GET", "/v2/lookup", {}, 404, "no_route", ""),
        ("PUT", "/v1/lookup", {}, 405, "method_not_allowed", ""),
        ("POST", "/v1/documents/", {}, 405, "method_not_allowed", ""),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused_by_name(
    http: TestClient, method: str, path: str, options: dict[str, Any], status: int, code: str, says: str
) -> None:
    answer = http.request(method, path, **options)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (status, code), answer.text
    assert says in error["message"]
    assert set(answer.json()) == {"error"}
    assert set(error) == {"code", "message", "way_out"}


@pytest.mark.requirement("API-4")
def test_half_a_character_goes_in_and_comes_out(http: TestClient) -> None:
    body = b'{"answer": ["a\\ud800#chunk-0"], "shown": ["a.md#chunk-0"]}'
    answer = http.post("/v1/check", content=body, headers=AS_JSON)
    assert answer.status_code == 200
    assert answer.json()["citations"][0]["verdict"] == "unknown"


@pytest.mark.requirement("API-4")
def test_each_request_of_the_description_is_one_that_the_server_takes(http: TestClient) -> None:
    described = http.get("/openapi.json").json()
    taken = 0
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            for example in body.get("examples", {}).values():
                jsonschema.validate(example["value"], body["schema"])
                answer = http.request(method, path, json=example["value"])
                assert answer.status_code in (200, 202), answer.text
                taken += 1
    assert taken == 5


@pytest.mark.requirement("API-4")
def test_each_example_of_an_answer_is_as_the_description_says(http: TestClient) -> None:
    described = http.get("/openapi.json").json()
    for operations in described["paths"].values():
        for operation in operations.values():
            assert operation["summary"]
            assert {"401", "429"} <= set(operation["responses"])
            for answer in operation["responses"].values():
                content = answer["content"].get("application/json")
                if content is not None:
                    schema = {**content["schema"], "components": described["components"]}
                    jsonschema.Draft202012Validator.check_schema(schema)
                    jsonschema.validate(content["example"], schema)


@pytest.mark.requirement("API-4")
def test_health_is_a_word_and_readiness_asks_the_store(knowledge: Knowledge, http: TestClient) -> None:
    assert http.get("/healthz").json() == {"status": "ok"}
    assert http.get("/readyz").json() == {"status": "ready"}


@pytest.mark.requirement("API-4", "SAFE-3")
def test_where_a_scope_is_demanded_a_call_without_one_is_refused() -> None:
    from citewell import Settings  # noqa: PLC0415 - here alone

    with filled(Settings.of({"store.require-scope": True})) as knowledge, client(knowledge) as http:
        for answer in (
            http.post("/v1/lookup", json={"query": "plan"}),
            http.get(KEY),
            http.get("/v1/documents"),
        ):
            assert (answer.status_code, answer.json()["error"]["code"]) == (403, "scope_denied")
        assert http.get("/v1/documents", params={"scope": "team-a"}).json()["documents"][0]["doc_id"] == "a.md"
        assert http.delete("/v1/documents/a.md").status_code == 200


@pytest.mark.requirement("API-4")
def test_pages_of_other_origins_may_call_only_if_they_are_named() -> None:
    asks = {"Origin": "https://app.example", "Access-Control-Request-Method": "POST"}
    with room() as http:
        assert "access-control-allow-origin" not in http.get("/healthz", headers=asks).headers
        assert http.options("/v1/lookup", headers=asks).status_code == 405
    with room(cors_origins=["https://app.example"], tokens=True) as http:
        allowed = http.options("/v1/lookup", headers=asks)
        assert (allowed.status_code, allowed.headers["access-control-allow-origin"]) == (200, "https://app.example")
        refused = http.post("/v1/lookup", json={"query": "x"}, headers=asks)
        assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, "https://app.example")
        assert http.options("/v1/lookup", headers={**asks, "Origin": "https://evil.example"}).status_code == 400
