"""`citewell check` through its own door: an answer in, a line per citation out, exit code 4 if it is rejected."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from citewell.cli import app
from citewell.testing.fakes import HashEmbedder

ETCD = "# Etcd is slow\n\nLook at the disk latency: error code E1207 says that fsync is slow.\n"
GOOD, BAD = "Look at the disk [etcd.md#chunk-0].\n", "Slow [etcd.md#chunk-0].\nFull [disk.md#chunk-3].\n"


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each test in a folder of its own, with a store of which session `s` was shown the one document."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("CITEWELL_KB", "CITEWELL_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("citewell.app.knowledge.open_embedder", lambda *_: HashEmbedder())
    (tmp_path / "etcd.md").write_text(ETCD, encoding="utf-8")
    assert run("ingest", "etcd.md").exit_code == 0
    assert run("lookup", "E1207", "--session", "s", "--agent").exit_code == 0
    return tmp_path


def run(*arguments: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(app, list(arguments), input=stdin)


def run_json(*arguments: str, stdin: str | None = None) -> tuple[int, Any]:
    result = run(*arguments, "--json", stdin=stdin)
    return result.exit_code, json.loads(result.stdout)


@pytest.mark.requirement("API-2", "GUARD-1")
def test_an_answer_that_cites_what_was_shown_is_accepted(own_folder: Path) -> None:
    (own_folder / "answer.md").write_text(GOOD, encoding="utf-8")
    result = run("check", "answer.md", "--session", "s")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[:2] == ["accepted: 1 citations", "shown      line 1  etcd.md#chunk-0"]
    assert "Not checked is" in result.stdout


@pytest.mark.requirement("API-2", "GUARD-1")
def test_an_answer_whose_ids_all_stand_in_code_is_told_to_cite_nothing() -> None:
    result = run("check", "-", "--session", "s", stdin="Look at the disk `etcd.md#chunk-0`.\n")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[:2] == [
        "accepted: 0 citations, 1 ids in code",
        "shown      line 1  etcd.md#chunk-0 (in code: not counted)",
    ]


@pytest.mark.requirement("API-2", "GUARD-1")
def test_a_bad_citation_is_named_with_its_line_and_the_exit_code_is_4() -> None:
    result = run("check", "-", "--session", "s", stdin=BAD)
    assert result.exit_code == 4
    assert "unknown    line 2  disk.md#chunk-3: there is no such evidence" in result.stdout


@pytest.mark.requirement("API-2", "GUARD-5")
def test_json_is_the_whole_report_with_the_cleaned_answer_and_strict_hands_none_back() -> None:
    code, report = run_json("check", "-", "--session", "s", stdin=BAD)
    assert code == 4
    assert report["ok"] is False
    assert [(c["raw"], c["verdict"]) for c in report["citations"]] == [
        ("etcd.md#chunk-0", "shown"),
        ("disk.md#chunk-3", "unknown"),
    ]
    assert report["cleaned"] == "Slow [etcd.md#chunk-0].\nFull.\n"
    code, strict = run_json("check", "-", "--session", "s", "--strict", stdin=BAD)
    assert (code, strict["cleaned"], strict["strict"]) == (4, "", True)
    assert run_json("check", "-", "--session", "s", "--strict", stdin=GOOD)[0] == 0


@pytest.mark.requirement("API-2", "GUARD-1")
def test_another_session_was_shown_nothing() -> None:
    code, report = run_json("check", "-", "--session", "other", stdin=GOOD)
    assert (code, report["citations"][0]["verdict"]) == (4, "not_shown")


@pytest.mark.requirement("API-2", "GUARD-1")
def test_what_lookup_printed_stands_in_for_a_session(own_folder: Path) -> None:
    seen = run("lookup", "E1207", "--agent", "--json").stdout
    (own_folder / "seen.json").write_text(seen, encoding="utf-8")
    assert run("check", "-", "--shown", "seen.json", stdin=GOOD).exit_code == 0
    assert run("check", "-", "--shown", "seen.json", stdin=BAD).exit_code == 4


@pytest.mark.requirement("API-2", "GUARD-1")
def test_a_list_of_ids_is_checked_line_by_line() -> None:
    code, report = run_json("check", "-", "--ids", "--session", "s", stdin="etcd.md#chunk-0\n\n[disk.md#chunk-3]\n")
    assert code == 4
    assert [(c["raw"], c["verdict"]) for c in report["citations"]] == [
        ("etcd.md#chunk-0", "shown"),
        ("disk.md#chunk-3", "unknown"),
    ]


@pytest.mark.requirement("API-2")
@pytest.mark.parametrize(
    ("arguments", "stdin", "message"),
    [
        (["missing.md", "--session", "s"], None, "'missing.md' can't be read"),
        (["-", "--session", "s"], b"\xff\xfe\x00", "'-' is not UTF-8 text"),
        (["-"], GOOD, "neither a session nor what was shown"),
        (["-", "--session", "s", "--shown", "etcd.md"], GOOD, "holds no JSON"),
        (["-", "--shown", "list.json"], GOOD, "holds no projection"),
        (["-", "--shown", "empty.json"], GOOD, "holds no projection"),
        (["-", "--shown", "error.json"], GOOD, "holds no projection"),
    ],
)
def test_what_cannot_be_checked_is_a_usage_error(
    own_folder: Path, arguments: list[str], stdin: str | bytes | None, message: str
) -> None:
    (own_folder / "list.json").write_text("[]", encoding="utf-8")
    (own_folder / "empty.json").write_text("{}", encoding="utf-8")
    (own_folder / "error.json").write_text('{"error": {"code": "store"}}', encoding="utf-8")
    result = run("check", *arguments, stdin=stdin)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


@pytest.mark.requirement("PROJ-7", "API-2")
def test_no_control_character_of_an_answer_reaches_the_terminal() -> None:
    result = run("check", "-", "--session", "s", stdin="[\x1b[2Jetcd.md#chunk-0] “\x1b[31mred” [etcd.md#chunk-0]")
    assert "\x1b" not in result.stdout


@pytest.mark.requirement("API-2")
@pytest.mark.parametrize("arguments", [("/dev/zero",), ("etcd.md", "--shown", "/dev/zero"), ("large.md",)])
def test_a_file_without_end_is_refused(own_folder: Path, arguments: tuple[str, ...]) -> None:
    (own_folder / "large.md").write_bytes(bytes(16_000_001))
    said = run("check", *arguments, "--session", "s")
    assert said.exit_code == 2
    assert "can't be read: File too large" in said.stderr


@pytest.mark.requirement("API-2")
def test_so_is_an_answer_on_standard_input() -> None:
    said = run("check", "-", "--session", "s", stdin=bytes(16_000_001))
    assert said.exit_code == 2
    assert "'-' can't be read: File too large" in said.stderr
