"""The inspector's pages, without a browser: what they show, to whom, and that nothing in them can run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from http_room import DOCUMENTS, SEES, TOKENS, bears, filled, finished, settings, token
from inspector_room import EVIL, EVIL_ID, EVIL_TEXT, Page, inspector, pages
from starlette.testclient import TestClient

from citewell import Document, Knowledge
from citewell.identity import format_key as key
from citewell.server.web.gate import COOKIE, HOME

KEY = quote(key("a.md", 0), safe="")
EVERY = [
    "",
    "?q=plan",
    "?q=plan&mode=dense&return_n=2",
    "?q=plan&mode=compare",
    "?q=plan&mode=hybrid&category=plans&scope=team-a&depth=25&min_similarity=0.1&neighbours=1",
    "?q=plan&retrieve_k=1&return_n=9",
    "?q=%20",
    f"/evidence?key={KEY}",
    "/evidence?key=none.md%23chunk-0",
    "/document?id=a.md",
    "/document?id=a.md&chunk=0",
    "/document?id=none.md",
    "/corpus",
    "/corpus?after=b.md",
    "/jobs",
    "/job?name=none",
    "/evaluations",
    "/evaluation?name=run.json",
    "/nowhere",
]
RUN = {
    "dataset": "plans",
    "runs": [
        {
            "name": "dense",
            "queries": {"q1": {"recall@1": 0.0, "recall@5": 1.0}, "q2": {"recall@1": 1.0, "recall@5": 1.0}},
        },
        {
            "name": "<hybrid>",
            "queries": {"q1": {"recall@1": 1.0, "recall@5": 1.0}, "q2": {"recall@1": 0.5, "recall@5": 1}},
        },
    ],
}


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    (tmp_path / "run.json").write_text(json.dumps(RUN), "utf-8")
    return tmp_path


@pytest.fixture
def web(runs: Path) -> Iterator[TestClient]:
    with inspector(EVIL, evaluations=str(runs)) as opened:
        yield opened


@pytest.fixture
def guarded(runs: Path) -> Iterator[TestClient]:
    with inspector(tokens=True, evaluations=str(runs)) as opened:
        yield opened


def page(web: TestClient, path: str, status: int = 200, **options: Any) -> Page:  # noqa: ANN401 - of the client
    """A page, which is sound whatever it says."""
    answer = web.get(HOME + path, **options)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    found = Page(answer.text)
    assert found.faults == []
    return found


@pytest.mark.requirement("API-5")
@pytest.mark.parametrize("path", EVERY)
def test_every_page_is_sound_html_and_bears_the_strict_headers(web: TestClient, path: str) -> None:
    answer = web.get(HOME + path)
    found = Page(answer.text)
    assert found.faults == []
    assert all(link.startswith((HOME, "#")) for link in found.links)  # nothing comes from elsewhere
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "same-origin"
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.requirement("API-5")
def test_the_root_leads_to_the_first_page(web: TestClient) -> None:
    answer = web.get("/")
    assert (answer.status_code, answer.headers["location"]) == (303, HOME)


@pytest.mark.requirement("API-5")
def test_a_lookup_shows_each_paths_ranking_what_was_dropped_and_what_the_agent_saw(web: TestClient) -> None:
    text = web.get(f"{HOME}?q=alpha+plan+wheel&mode=hybrid&category=plans&return_n=1").text
    shown = Page(text).text
    for heading in ("dense, category", "fused order", "lexical", "What the agent saw", "Dropped", "Time", "Candidates"):
        assert heading in shown
    assert "The alpha plan needs a wheel." in shown
    assert "Beyond the number of blocks to return return_n" in " ".join(shown.split())
    assert text.count('class="line path-dense') >= 3
    assert 'aria-label="lexical, rank 1: a.md#chunk-0' in text


@pytest.mark.requirement("API-5")
def test_dense_and_hybrid_stand_beside_each_other(web: TestClient) -> None:
    shown = Page(web.get(f"{HOME}?q=alpha+plan+wheel&mode=compare").text).text
    for part in ("What moved", "in both", "in hybrid alone", "Dense", "Hybrid"):
        assert part in shown
    assert shown.count("The alpha plan needs a wheel.") == 2


@pytest.mark.requirement("API-5")
@pytest.mark.parametrize("mode", ["dense", "hybrid"])
def test_a_page_links_to_the_same_as_json_which_is_the_librarys_own(mode: str) -> None:
    with filled(settings()) as knowledge, pages(knowledge) as web:
        found = page(web, f"?q=alpha+plan&mode={mode}&return_n=2&scope=team-a")
        (link,) = {link for link in found.links if "format=json" in link}
        given = web.get(link).json()
        own = knowledge.lookup("alpha plan", mode=mode, return_n=2, scope=["team-a"]).to_dict()  # type: ignore[arg-type]
        (agents,) = {link for link in found.links if "format=agent" in link}
        seen = web.get(agents).json()
        shown = knowledge.lookup("alpha plan", mode=mode, return_n=2, scope=["team-a"]).to_agent()  # type: ignore[arg-type]
        assert (
            web.get(f"{HOME}/evidence?key={KEY}&format=json").json()["evidence"][0]
            == knowledge.show(key("a.md", 0)).to_dict()
        )
    assert given["evidence"] == own["evidence"]
    assert given["trace"]["candidates"] == own["trace"]["candidates"]  # type: ignore[index]
    assert seen == shown


@pytest.mark.requirement("API-5")
def test_the_inspector_remembers_nothing_as_shown() -> None:
    with filled(settings()) as knowledge, pages(knowledge) as web:
        for path in EVERY:
            web.get(HOME + path)
        assert list(knowledge.sessions()) == []


@pytest.mark.requirement("API-5")
def test_a_document_is_shown_around_the_chunk_that_is_marked() -> None:
    text = "\n\n".join(f"## Part {number}\n\n{f'Wheel {number} turns slowly. ' * 50}" for number in range(60))
    with inspector(Document("long.md", text)) as web:
        whole = web.get(f"{HOME}/document?id=long.md&chunk=30").text
        first, beyond = page(web, "/document?id=long.md"), web.get(f"{HOME}/document?id=long.md&chunk=10000")
    marked = re.search(r'<article class="chunk marked" id="marked".*?</article>', whole, re.DOTALL)
    assert marked is not None
    assert f"key={quote(key('long.md', 30), safe='')}" in marked[0]
    assert whole.count("<article") == 41
    assert {"earlier chunks", "later chunks"} <= set(re.findall(r"(?:earlier|later) chunks", whole))
    assert "earlier chunks" not in first.text
    assert "later chunks" in first.text
    assert beyond.status_code == 404
    assert Page(beyond.text).faults == []


@pytest.mark.requirement("API-5")
@pytest.mark.parametrize(
    "path",
    ["?q=zanzibar", "?q=zanzibar&mode=compare", f"/evidence?key={quote(key(EVIL_ID, 0), safe='')}", "/corpus",
     f"/document?id={quote(EVIL_ID, safe='')}", f"?q={quote(EVIL_TEXT)}",
     f"?q=a&category={quote(EVIL_TEXT)}&return_n={quote(EVIL_TEXT)}",
     f"?q=a&scope={quote(EVIL_ID)}&mode={quote(EVIL_TEXT)}", f"/evidence?key={quote(EVIL_TEXT)}", f"/{quote(EVIL_ID)}"],
)  # fmt: skip
def test_what_is_hostile_reads_as_text(web: TestClient, path: str) -> None:
    answer = web.get(HOME + path)
    found = Page(answer.text)
    assert found.faults == []
    assert answer.text.count("<script") == 1  # the one of the page itself
    assert not {"iframe", "i", "textarea", "object", "embed"} & set(found.tags)
    assert "\u202e" not in found.text
    assert all(link.startswith((HOME, "#")) for link in found.links)


@pytest.mark.requirement("API-5")
def test_the_text_of_a_hostile_document_is_all_there(web: TestClient) -> None:
    found = page(web, f"/document?id={quote(EVIL_ID, safe='')}")
    written = EVIL_TEXT.replace("\u202e", r"\u202e").replace("\u200b\u200b", r"\u200b\u200b")
    assert written in found.text


def test_no_template_switches_escaping_off() -> None:
    folder = resources.files("citewell.server.web").joinpath("templates")
    for template in folder.iterdir():
        source = template.read_text("utf-8")
        assert not re.search(r"\|\s*safe|autoescape|Markup|\bstyle=|\son[a-z]+=", source), template.name


@pytest.mark.requirement("API-5")
@pytest.mark.parametrize(("path", "status", "says"), [
    ("?q=%20", 422, "query"),
    ("?q=plan&return_n=many", 422, "'many'"),
    ("?q=plan&mode=sideways", 422, "'sideways'"),
    ("?q=plan&retrieve_k=1&return_n=9", 422, "retrieve_k 1"),
    ("/evidence", 422, "'key'"),
    ("/document?id=a.md&chunk=-1", 422, "'-1'"),
    ("/document?id=none.md", 404, "'none.md'"),
    ("/job?name=none", 404, "'none'"),
    ("/evaluation?name=..%2Fsecret.json", 404, "'../secret.json'"),
    ("/nowhere", 404, "there is no such page"),
])  # fmt: skip
def test_what_cannot_be_shown_is_said_on_a_page_and_as_json(web: TestClient, path: str, status: int, says: str) -> None:
    assert says in page(web, path, status).text
    told = web.get(f"{HOME}{path}{'&' if '?' in path else '?'}format=json")
    assert told.status_code == status
    assert says in told.json()["error"]["message"]


@pytest.mark.requirement("API-5")
def test_evaluation_runs_are_drawn_and_a_missing_folder_is_said(web: TestClient) -> None:
    shown = page(web, "/evaluation?name=run.json").text
    assert all(
        part in shown for part in ("Recall by k", "query by query", "1 better", "1 worse", "0 equal", "<hybrid>")
    )
    with inspector() as bare:
        assert "No folder of evaluation runs is configured" in page(bare, "/evaluations").text


@pytest.mark.parametrize("content", ["no json", "[]", '{"runs": 3}', "[[]]", '"x"', "null"])
def test_a_file_that_holds_no_runs_is_refused_by_what_it_should_hold(tmp_path: Path, content: str) -> None:
    (tmp_path / "run.json").write_text(content, "utf-8")
    with inspector(evaluations=str(tmp_path)) as web:
        page(web, "/evaluation?name=run.json", 422)


@pytest.mark.requirement("API-5")
def test_ingestions_are_reported_to_the_caller_who_began_them(guarded: TestClient) -> None:
    documents = [{"doc_id": "new.md", "text": "A new plan."}, {"doc_id": "empty.md", "text": ""}]
    started = guarded.post("/v1/ingest", json={"documents": documents}, headers=bears("team-a"))
    job = finished(guarded, started, "team-a")
    listed = guarded.get(f"{HOME}/jobs", headers=bears("team-a")).text
    assert job["job"] in listed
    found = page(guarded, f"/job?name={job['job']}", headers=bears("team-a"))
    assert "team-a/new.md" in found.text
    assert "added" in found.text
    assert guarded.get(f"{HOME}/job?name={job['job']}&format=json", headers=bears("team-a")).json() == job
    for other in ("everything", "team-b"):
        assert job["job"] not in guarded.get(f"{HOME}/jobs", headers=bears(other)).text
        page(guarded, f"/job?name={job['job']}", 404, headers=bears(other))


@pytest.mark.requirement("API-5", "SAFE-3")
@pytest.mark.parametrize("name", TOKENS)
def test_a_caller_sees_and_counts_its_own_documents_on_every_page(guarded: TestClient, name: str) -> None:
    hidden = [document.doc_id for document in DOCUMENTS if document.doc_id not in SEES[name]]
    for path in (
        "",
        "?q=plan&return_n=10",
        "?q=plan&mode=compare&return_n=10",
        "/corpus",
        "/corpus?format=json",
        "?q=plan&format=json",
    ):
        text = guarded.get(HOME + path, headers=bears(name)).text
        assert not [doc_id for doc_id in hidden if f">{doc_id}" in text or f'"{doc_id}' in text], path
        if name not in ("everything", "team-b"):
            assert "team-b" not in text
    told = guarded.get(f"{HOME}/corpus?format=json", headers=bears(name)).json()
    assert told["corpus"]["documents"] == len(SEES[name])
    assert [info["doc_id"] for info in told["documents"]] == SEES[name]
    assert (told["store"] is not None) == (name == "everything")


@pytest.mark.requirement("API-5", "SAFE-3")
@pytest.mark.parametrize("name", TOKENS)
@pytest.mark.parametrize("doc_id", [document.doc_id for document in DOCUMENTS])
def test_a_document_outside_the_scope_reads_as_not_there(guarded: TestClient, name: str, doc_id: str) -> None:
    for path in ("/evidence?key={}%23chunk-0", "/document?id={}"):
        here = guarded.get(HOME + path.format(doc_id), headers=bears(name))
        if doc_id in SEES[name]:
            assert here.status_code == 200
            assert name == "everything" or set(
                re.findall(r'<span class="chip(?: label)?">(team-.)</span>', here.text)
            ) == {name}
        else:
            nowhere = guarded.get(HOME + path.format("none.md"), headers=bears(name))
            assert (here.status_code, here.text) == (404, nowhere.text.replace("none.md", doc_id))


@pytest.mark.requirement("API-5", "SAFE-3")
def test_a_scope_can_be_narrowed_and_never_widened(guarded: TestClient) -> None:
    assert "both.md" in page(guarded, "?q=plan&scope=team-a", headers=bears("team-a")).text
    refused = page(guarded, "?q=plan&scope=team-b", 403, headers=bears("team-a")).text
    assert "the scope holds a label that this token doesn't" in refused
    page(guarded, "/evaluations", 403, headers=bears("team-a"))
    assert "run.json" in page(guarded, "/evaluations", headers=bears("everything")).text


def log_in(web: TestClient, name: str, wanted: str = "") -> Any:  # noqa: ANN401 - a response
    return web.post(f"{HOME}/login", data={"token": token(name), "next": wanted})


@pytest.mark.requirement("API-5")
def test_who_is_not_logged_in_is_led_to_the_log_in_and_back(guarded: TestClient) -> None:
    for path in EVERY:
        sent = guarded.get(HOME + path)
        assert (sent.status_code, sent.text) == (303, "")
        assert sent.headers["location"] == f"{HOME}/login?next={quote(HOME + path, safe='')}"
        assert guarded.get(HOME + path, params={"format": "json"}).status_code == 401
    done = log_in(guarded, "team-a", f"{HOME}?q=plan")
    assert (done.status_code, done.headers["location"]) == (303, f"{HOME}?q=plan")
    assert "alpha plan" in page(guarded, "?q=plan").text


@pytest.mark.requirement("API-5", "SAFE-3")
def test_the_cookie_holds_no_token_and_is_kept_from_scripts_and_other_sites(guarded: TestClient) -> None:
    cookie = log_in(guarded, "team-a").headers["set-cookie"]
    assert {"httponly", "samesite=strict", f"path={HOME}"} <= {part.strip().lower() for part in cookie.split(";")}
    assert token("team-a") not in cookie
    assert guarded.get(HOME).status_code == 200
    assert guarded.get("/v1/documents").status_code == 401  # the cookie opens pages alone


@pytest.mark.requirement("API-5")
def test_behind_https_the_cookie_goes_over_https_alone() -> None:
    with inspector(tokens=True, public_url="https://kb.example") as web:
        assert "secure" in log_in(web, "team-a").headers["set-cookie"].lower()


@pytest.mark.requirement("API-5")
def test_a_log_out_ends_the_log_in_even_for_who_kept_the_cookie(guarded: TestClient) -> None:
    log_in(guarded, "team-a")
    name = guarded.cookies[COOKIE]
    assert guarded.post(f"{HOME}/logout").status_code == 303
    guarded.cookies.set(COOKIE, name)
    assert guarded.get(HOME).status_code == 303


@pytest.mark.requirement("API-5")
@pytest.mark.parametrize(
    "headers", [{"Sec-Fetch-Site": "cross-site"}, {"Origin": "http://evil.example"}, {"Origin": "null"}]
)
def test_another_site_can_log_nobody_in_or_out(guarded: TestClient, headers: dict[str, str]) -> None:
    answer = guarded.post(f"{HOME}/login", data={"token": token("team-a")}, headers=headers)
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers
    log_in(guarded, "team-b")
    assert guarded.post(f"{HOME}/logout", headers=headers).status_code == 403
    assert guarded.get(HOME).status_code == 200


@pytest.mark.requirement("API-5")
def test_a_link_of_another_site_is_asked_for_again_by_the_page_itself(guarded: TestClient) -> None:
    answer = guarded.get(f"{HOME}/evidence?key={KEY}", headers={"Sec-Fetch-Site": "cross-site"})
    assert answer.status_code == 200
    assert '<meta http-equiv="refresh" content="0">' in answer.text
    assert "alpha" not in answer.text


@pytest.mark.requirement("API-5")
@pytest.mark.parametrize("given", ["", "wrong-token-0123456789", "x" * 9000, "\x00", "token=a&token=b"])
def test_a_wrong_token_is_refused_without_saying_it(guarded: TestClient, given: str) -> None:
    answer = guarded.post(f"{HOME}/login", data={"token": given})
    assert answer.status_code in (401, 422)
    assert "set-cookie" not in answer.headers
    assert not given.strip("\x00") or given not in answer.text
    assert Page(answer.text).faults == []


@pytest.mark.parametrize(
    "wanted",
    ["https://evil.example", "//evil.example", "/\\evil.example", "/inspectors", "/v1/documents", "/inspect\n", ""],
)
def test_a_log_in_leads_nowhere_else(guarded: TestClient, wanted: str) -> None:
    assert log_in(guarded, "team-a", wanted).headers["location"] == HOME


@pytest.mark.requirement("API-5")
def test_tokens_cannot_be_tried_without_end() -> None:
    with inspector(tokens=True, rate=5) as web:
        tried = [
            web.post(f"{HOME}/login", data={"token": f"guess-number-{number:08}"}).status_code for number in range(8)
        ]
        assert tried == [401] * 5 + [429] * 3


def test_a_file_that_pages_use_keeps_its_address_until_it_changes(web: TestClient) -> None:
    links = [link for link in Page(web.get(HOME).text).links if "/static/" in link]
    assert {re.sub(r".*/static/|\?.*", "", link) for link in links} == {"style.css", "inspect.js", "icon.svg"}
    for link in links:
        answer = web.get(link)
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert web.get(f"{HOME}/static/style.css").headers["cache-control"] == "no-store"
    assert web.get(f"{HOME}/static/..%2Fpages.py").status_code == 404


def test_a_corpus_is_counted_anew_after_a_write() -> None:
    with filled(settings()) as knowledge, pages(knowledge) as web:
        assert web.get(f"{HOME}/corpus?format=json").json()["corpus"]["documents"] == 4
        knowledge.ingest_documents([Document("more.md", "One more.")])
        assert web.get(f"{HOME}/corpus?format=json").json()["corpus"]["documents"] == 5


def test_an_empty_store_says_how_to_fill_it(tmp_path: Path) -> None:
    from citewell.testing.fakes import HashEmbedder  # noqa: PLC0415 - here alone

    with Knowledge.open(tmp_path, settings=settings(), embedder=HashEmbedder()) as knowledge, pages(knowledge) as web:
        assert "citewell ingest FOLDER" in page(web, "").text
        assert "The knowledge base is empty" in page(web, "?q=plan").text
        assert "No documents" in page(web, "/corpus").text
