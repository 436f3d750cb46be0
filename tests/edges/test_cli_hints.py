"""Hints and reranking through the command line: a line of pointers, a column of scores, a reranker that is down."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from rerank_server import Reply, RerankServer
from typer.testing import CliRunner, Result

from citewell.cli import app
from citewell.hints import CatalogueHints
from citewell.testing.fakes import HashEmbedder

DOCS = {
    "pool.md": "---\ncategory: storage\n---\n\n# Connection pool exhausted\n\nRestart the gateway.\n",
    "dns.md": "# Cluster DNS\n\nNames of the pool don't resolve.\n",
}


@pytest.fixture(autouse=True)
def filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("citewell.app.knowledge.open_embedder", lambda *_: HashEmbedder())
    # A busy machine must not turn hints into a note.
    monkeypatch.setitem(CatalogueHints.__init__.__kwdefaults__, "patience_s", 60.0)  # type: ignore[arg-type]
    (tmp_path / "docs").mkdir()
    for name, text in DOCS.items():
        (tmp_path / "docs" / name).write_text(text, encoding="utf-8")
    assert run("ingest", "docs").exit_code == 0


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[RerankServer]:
    with RerankServer().running() as running:
        monkeypatch.setenv("CITEWELL_RERANKER__URL", running.address)
        monkeypatch.setenv("CITEWELL_RERANKER__NAME", "rerank-small")
        monkeypatch.setenv("CITEWELL_RERANKER__STYLE", "jina")
        yield running


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


@pytest.mark.requirement("API-2", "L0-1", "L0-2")
def test_people_see_hints_on_one_line_that_says_what_they_are_not() -> None:
    shown = " ".join(run("lookup", "connection pool").stdout.split())
    assert "hints, no evidence: document pool.md, document dns.md, category storage" in shown


@pytest.mark.requirement("API-2", "API-7", "L0-2")
def test_hints_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITEWELL_RAG__HINTS", "false")
    result = run("lookup", "connection pool", "--json")
    assert json.loads(result.stdout)["hints"] == []
    assert "hints" not in run("lookup", "connection pool").stdout


@pytest.mark.requirement("API-2", "RERANK-1")
@pytest.mark.parametrize("mode", ["dense", "hybrid"])
def test_explain_shows_the_rerank_scores_in_the_order_that_they_make(mode: str, server: RerankServer) -> None:
    server.rule = lambda payload: Reply(
        change=lambda _: {
            "results": [
                {"index": index, "relevance_score": 0.75 if "Names" in text else 0.125}
                for index, text in enumerate(payload["documents"])
            ]
        }
    )
    result = run("lookup", "connection pool", "--mode", mode, "--explain")
    assert "Reranked order" in result.stdout
    table = result.stdout.partition("Reranked order")[2]
    assert table.index("dns.md#chunk-0") < table.index("pool.md#chunk-0")
    assert table.index("0.750") < table.index("0.125")
    assert max(map(len, result.stdout.splitlines())) <= 80
    found = json.loads(run("lookup", "connection pool", "--mode", mode, "--json").stdout)
    assert [block["rerank_score"] for block in found["evidence"]] == [0.75, 0.125]


@pytest.mark.requirement("API-2", "RERANK-1")
def test_a_reranker_that_is_down_degrades_the_answer_and_is_no_failure(server: RerankServer) -> None:
    server.rule = lambda _: Reply(401, body=b"")
    result = run("lookup", "connection pool", "--json")
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert [block["rerank_score"] for block in found["evidence"]] == [None, None]
    assert found["degraded"] == [f"reranker: the reranking endpoint {server.address}/v1/rerank answers 401"]
