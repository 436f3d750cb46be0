"""`lookup --session --neighbours --repeat` and `citewell sessions`: what is recorded, marked, listed, forgotten."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from citewell.cli import app
from citewell.testing.fakes import HashEmbedder

QUESTION = "why is the pool exhausted"


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each test in a folder of its own with a filled store, and an embedder that needs no model."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("CITEWELL_RETRIEVAL__SEARCH__MODE", "hybrid")
    for name in ("CITEWELL_KB", "CITEWELL_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("citewell.app.knowledge.open_embedder", lambda *_: HashEmbedder())
    (tmp_path / "docs").mkdir()
    sections = [f"## Step {n}\n\n{'Walk on to the next door. ' * 30}\n\n" for n in range(5)]
    (tmp_path / "docs" / "evacuation.md").write_text("# Evacuation\n\n" + "".join(sections), encoding="utf-8")
    (tmp_path / "docs" / "pool.md").write_text("# Pool\n\nThe pool is exhausted: grow it.\n", encoding="utf-8")
    assert run("ingest", "docs").exit_code == 0
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def run_json(*arguments: str) -> Any:  # noqa: ANN401 - whatever JSON holds
    return json.loads(run(*arguments, "--json").stdout)


@pytest.mark.requirement("SESSION-1", "SESSION-2", "API-2")
def test_what_an_agent_was_shown_comes_as_a_reference_from_the_next_process_on() -> None:
    arguments = ("lookup", QUESTION, "--session", "s1", "--return-n", "1", "--agent")
    first = run_json(*arguments)
    assert (first["status"], first["degraded"]) == ("ok", [])
    assert "grow it" in first["evidence"][0]["content"]
    second = run_json(*arguments)
    assert second["status"] == "all_already_shown"
    assert (second["evidence"][0]["content"], second["evidence"][0]["already_shown"]) == ("", True)
    assert run_json(*arguments, "--repeat")["evidence"][0]["content"] == first["evidence"][0]["content"]
    text = run(*arguments)
    assert "grow it" not in text.stdout
    assert "all of this evidence has been shown in this session before" in text.stdout
    assert text.exit_code == 0


@pytest.mark.requirement("SESSION-1", "GUARD-1", "API-2")
@pytest.mark.parametrize("view", [(), ("--explain",), ("--json",)])
def test_views_for_people_mark_what_was_shown_and_record_nothing(view: tuple[str, ...]) -> None:
    arguments = ("lookup", QUESTION, "--session", "s1", "--return-n", "1")
    before = run(*arguments, *view)
    assert before.exit_code == 0
    assert "shown before" not in before.stdout
    assert run_json("sessions") == []
    run(*arguments, "--agent")
    after = run(*arguments, *view)
    assert "grow it" in after.stdout
    assert (
        ("pool.md#chunk-0" in json.loads(after.stdout)["already_shown"])
        if view == ("--json",)
        else ("shown before in this session" in re.sub(r"\s+", " ", after.stdout))
    )
    assert [info["shown"] for info in run_json("sessions")] == [1]


@pytest.mark.requirement("CONTEXT-1", "API-2")
def test_neighbours_are_shown_to_agents_and_to_people() -> None:
    arguments = ("lookup", "Step 3", "--return-n", "1", "--neighbours", "1")
    roles = [(item["document_id"], item.get("role", "hit")) for item in run_json(*arguments, "--agent")["evidence"]]
    assert sorted(role for _, role in roles) == ["hit", "neighbour", "neighbour"]
    shown = run(*arguments).stdout
    assert all(key in shown for key, _ in roles)
    assert shown.count("a neighbour of a hit") == 2
    assert "2 neighbours" in re.sub(r"\s+", " ", shown)
    refused = run("lookup", "Step 3", "--neighbours", "-1")
    assert refused.exit_code == 2
    assert "neighbours can't be -1" in refused.stderr


@pytest.mark.requirement("SESSION-2", "API-2")
def test_sessions_are_listed_with_scope_and_figures_for_people_and_as_json() -> None:
    assert "0 sessions" in run("sessions").stdout
    run("lookup", QUESTION, "--session", "s1", "--return-n", "1", "--agent")
    run("lookup", QUESTION, "--session", "中文", "--return-n", "2", "--agent")
    listed = run_json("sessions")
    assert [(info["session"], info["scope"], info["shown"]) for info in listed] == [("s1", None, 1), ("中文", None, 2)]
    assert all(info["last_at"] > 1_600_000_000 for info in listed)
    table = run("sessions").stdout
    assert "2 sessions" in table
    assert re.search(r"s1 +everything +1 +20\d\d-\d\d-\d\d", table)


@pytest.mark.requirement("SESSION-2", "API-2")
def test_a_session_is_forgotten_by_its_id() -> None:
    run("lookup", QUESTION, "--session", "s1", "--return-n", "1", "--agent")
    assert run_json("sessions", "--forget", "s1") == {"session": "s1", "forgotten": 1}
    assert run_json("sessions") == []
    again = run("sessions", "--forget", "s1")
    assert (again.exit_code, again.stdout) == (0, "forgot 0 pieces of evidence of session 's1'\n")
    refused = run("sessions", "--forget", " ")
    assert (refused.exit_code, "a session id can't be" in refused.stderr) == (2, True)


@pytest.mark.requirement("SESSION-2", "ENGINE-4", "API-2")
def test_a_damaged_file_of_sessions_is_named_lookups_go_on_and_repair_sets_it_aside(own_folder: Path) -> None:
    arguments = ("lookup", QUESTION, "--session", "s1", "--return-n", "1", "--agent")
    run(*arguments)
    file = own_folder / ".citewell" / "sessions.db"
    file.write_bytes(b"no database " * 100)
    seen = run_json(*arguments)
    assert (seen["status"], len(seen["evidence"]), bool(seen["evidence"][0]["content"])) == ("ok", 1, True)
    assert all(cause.startswith("session: ") for cause in seen["degraded"])
    assert seen["degraded"]
    listed = run("sessions")
    assert listed.exit_code == 3
    assert "verify --repair" in listed.stderr
    assert run("verify").exit_code == 1
    repaired = run("verify", "--repair")
    assert (repaired.exit_code, "sessions.db.damaged" in re.sub(r"\s+", "", repaired.stdout)) == (0, True)
    assert run_json("sessions") == []
    assert run_json(*arguments)["degraded"] == []
