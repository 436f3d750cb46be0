"""What hostile callers send over HTTP: told no more than they may know, and at nobody else's cost."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from http_room import bears, finished, room
from starlette.testclient import TestClient

AS_JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def http() -> Iterator[TestClient]:
    with room() as opened:
        yield opened


@pytest.mark.requirement("API-8", "SAFE-3")
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/lookup"), ("POST", "/v1/check"), ("POST", "/v1/ingest"), ("DELETE", "/v1/documents/a.md"),
        ("GET", "/v1/ingest/x"), ("GET", "/v1/ingest/x/events"), ("GET", "/metrics"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["scope", "mode"])
def test_an_argument_in_an_address_that_takes_none_is_refused_rather_than_not_heeded(
    http: TestClient, method: str, path: str, name: str
) -> None:
    answer = http.request(method, f"{path}?{name}=team-a", json={"query": "plan"} if method == "POST" else None)
    assert answer.status_code == 422, answer.text
    assert f"unknown argument '{name}'" in answer.json()["error"]["message"]


@pytest.mark.requirement("API-8", "SAFE-3")
def test_documents_are_not_ingested_without_the_label_that_an_upload_has_in_its_address(http: TestClient) -> None:
    answer = http.post("/v1/ingest?scope=team-a", files={"files": ("secret.md", b"# Secret")})
    assert answer.status_code == 422
    assert "secret.md" not in http.get("/v1/documents").text


@pytest.mark.requirement("API-8")
@pytest.mark.parametrize(
    ("body", "twice"),
    [
        (b'{"query": "plan", "scope": ["team-a"], "scope": ["team-b"]}', "scope"),
        (b'{"query": "plan", "where": {"kind": "plan", "kind": "note"}}', "kind"),
    ],
)
def test_what_a_body_says_twice_is_refused_by_name(http: TestClient, body: bytes, twice: str) -> None:
    answer = http.post("/v1/lookup", content=body, headers=AS_JSON)
    assert answer.status_code == 422
    assert answer.json()["error"]["message"] == f"'{twice}' is there twice"


@pytest.mark.requirement("API-8")
def test_of_many_unknown_arguments_some_are_named_and_all_counted(http: TestClient) -> None:
    many = {f"unknown_{number:05}": 1 for number in range(20_000)}
    answer = http.post("/v1/lookup", json={"query": "plan", **many})
    assert answer.status_code == 422
    assert "'unknown_00000', 'unknown_00001'" in answer.json()["error"]["message"]
    assert answer.json()["error"]["message"].endswith(" and 19990 more")
    assert len(answer.content) < 1_000


@pytest.mark.requirement("API-4")
@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (["a.md#chunk-0"] * 2_001, "an answer of 2001 ids is not checked at once"),
        ("[a.md#chunk-0] " * 20_000, "an answer of 300000 characters is not checked at once"),
    ],
)
def test_a_check_that_would_take_minutes_from_everyone_is_refused(http: TestClient, answer: object, says: str) -> None:
    said = http.post("/v1/check", json={"answer": answer, "shown": ["a.md#chunk-0"]})
    assert said.status_code == 422
    assert said.json()["error"]["message"] == says


@pytest.mark.requirement("API-4")
def test_a_large_body_is_taken_apart_like_a_small_one(http: TestClient) -> None:
    many = [{"doc_id": f"m{number}.md", "text": ""} for number in range(2_000)]
    job = finished(http, http.post("/v1/ingest", json={"documents": many}))
    assert job["report"]["summary"]["no_text"] == 2_000
    wrong = json.dumps({"documents": [*many, {"doc_id": 7, "text": ""}]})
    answer = http.post("/v1/ingest", content=wrong, headers=AS_JSON)
    assert answer.status_code == 422
    assert "documents[2000]: doc_id can't be 7" in answer.json()["error"]["message"]
    assert http.post("/v1/lookup", content=b"[" * 200_000, headers=AS_JSON).status_code == 400


@pytest.mark.requirement("SAFE-1")
def test_outside_the_scope_and_not_there_read_alike_word_for_word() -> None:
    with room(tokens=True) as http:
        for path in ("/v1/evidence/{}%23chunk-0", "/v1/documents/{}"):
            method = "GET" if "evidence" in path else "DELETE"
            said = [
                http.request(method, path.format(name), headers=bears("team-a")).text.replace(name, "NAME")
                for name in ("b.md", "x.md", "open.md")
            ]
            assert len(set(said)) == 1, said
