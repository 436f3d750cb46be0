"""The command line through its own door: documents in, text and JSON out, exit codes as documented."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from citewell import Document, Knowledge, Settings
from citewell.adapters.embedders.models import cache_dir, installed
from citewell.cli import app
from citewell.testing.fakes import HashEmbedder
from citewell.wiring import open_embedder

ETCD = (
    "# Etcd is slow\n\n## Diagnosis\n\nLook at the disk latency of `etcd`: error code E1207 says that fsync is slow.\n"
)
PAYROLL = "# Payroll\n\nSalaries are paid on the last day of the month.\n"


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each test in a folder of its own, with an embedder that needs no model behind the default settings."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("CITEWELL_KB", "CITEWELL_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("citewell.app.knowledge.open_embedder", lambda *_: HashEmbedder())
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "etcd.md").write_text(ETCD, encoding="utf-8")
    (tmp_path / "docs" / "payroll.md").write_text(PAYROLL, encoding="utf-8")
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def run_json(*arguments: str) -> Any:  # noqa: ANN401 - whatever JSON holds
    result = run(*arguments, "--json")
    return json.loads(result.stdout)


@pytest.fixture
def filled() -> None:
    assert run("ingest", "docs").exit_code == 0


@pytest.mark.requirement("API-2", "INGEST-6")
def test_ingest_reports_what_became_of_each_file_and_a_second_run_does_nothing() -> None:
    first = run_json("ingest", "docs")
    assert first["summary"]["added"] == 2
    assert [file["doc_id"] for file in first["files"]] == ["etcd.md", "payroll.md"]
    second = run_json("ingest", "docs")
    assert (second["summary"]["unchanged"], second["embedded"]) == (2, 0)


@pytest.mark.requirement("API-2", "INGEST-6")
def test_a_file_that_can_not_be_read_is_named_and_the_exit_code_says_in_part(own_folder: Path) -> None:
    (own_folder / "docs" / "noise.md").write_bytes(bytes(range(256)) * 40)
    result = run("ingest", "docs")
    assert result.exit_code == 1
    assert "noise.md" in result.stdout
    assert "2 added" in result.stdout


@pytest.mark.requirement("API-2")
@pytest.mark.usefixtures("filled")
def test_lookup_prints_the_evidence_key_its_similarity_and_why() -> None:
    result = run("lookup", "what is E1207", "--mode", "hybrid")
    assert result.exit_code == 0
    assert "etcd.md#chunk-0" in result.stdout
    assert "lexical #1" in result.stdout


@pytest.mark.requirement("API-2", "POST-8")
@pytest.mark.usefixtures("filled")
def test_explain_shows_the_rankings_side_by_side_the_fused_order_and_the_drops() -> None:
    result = run("lookup", "etcd disk", "--mode", "hybrid", "--category", "ops", "--return-n", "1", "--explain")
    assert result.exit_code == 0
    for shown in ("dense", "dense_filtered", "lexical", "Rankings", "Fused order", "Dropped", "return_n"):
        assert shown in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


@pytest.mark.requirement("API-2", "PROJ-3")
@pytest.mark.usefixtures("filled")
def test_agent_with_json_is_the_projection_and_without_it_fenced_text() -> None:
    item = run_json("lookup", "etcd disk", "--mode", "hybrid", "--agent")["evidence"][0]
    assert item["document_id"] == "etcd.md#chunk-0"
    assert "score" not in item
    assert "etcd.md#chunk-0" in run("lookup", "etcd disk", "--agent").stdout


@pytest.mark.requirement("API-2")
@pytest.mark.usefixtures("filled")
def test_nothing_found_is_done() -> None:
    result = run("lookup", "zebra", "--min-similarity", "1")
    assert result.exit_code == 0
    assert "nothing reaches the similarity floor" in result.stdout


@pytest.mark.requirement("API-2", "SAFE-4", "PORT-3", "POST-5", "SCORE-5")
@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["lookup", "   "], "query"),
        (["lookup", "x", "--mode", "sparse"], "sparse"),
        (["lookup", "x", "--retrieve-k", "2", "--return-n", "4"], "4"),
        (["lookup", "x", "--min-similarity", "1.5"], "1.5"),
        (["lookup", "x", "--where", "team"], "team"),
        (["lookup", "x", "--nonsense"], "nonsense"),
        (["ingest", "nowhere"], "nowhere"),
        (["config", "--config", "nowhere.toml"], "nowhere.toml"),
    ],
)
@pytest.mark.usefixtures("filled")
def test_bad_usage_is_exit_code_2_and_names_the_value(arguments: list[str], named: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert named in result.stderr


@pytest.mark.requirement("API-2", "ENGINE-4")
def test_reading_from_no_store_says_how_to_make_one_and_makes_none(own_folder: Path) -> None:
    result = run("lookup", "etcd")
    assert result.exit_code == 3
    assert ".citewell" in result.stderr
    assert "ingest" in result.stderr
    assert not (own_folder / ".citewell").exists()


@pytest.mark.requirement("API-2")
@pytest.mark.usefixtures("filled")
def test_an_error_with_json_is_one_json_document() -> None:
    result = run("show", "etcd.md#chunk-99", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["error"]["code"] == "unknown_evidence"


@pytest.mark.requirement("API-2")
@pytest.mark.usefixtures("filled")
def test_show_list_status_and_delete_tell_of_the_same_store() -> None:
    assert run_json("show", "etcd.md#chunk-0")["doc_id"] == "etcd.md"
    assert [document["doc_id"] for document in run_json("list")] == ["etcd.md", "payroll.md"]
    assert run_json("status")["documents"] == 2
    assert run_json("delete", "payroll.md") == {"doc_id": "payroll.md", "chunks": 1}
    assert run_json("status")["documents"] == 1
    for command in (["show", "etcd.md#chunk-0"], ["list"], ["status"]):
        assert run(*command).exit_code == 0


@pytest.mark.requirement("API-7")
def test_config_shows_each_value_and_where_it_came_from(own_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (own_folder / "citewell.toml").write_text('[rag]\nreturn-n = 7\n[embedder]\napi-key = "sesame"\n', encoding="utf-8")
    monkeypatch.setenv("CITEWELL_RAG__RETRIEVE_K", "33")
    shown = run_json("config")
    assert shown["rag.return-n"] == {"value": 7, "origin": "citewell.toml"}
    assert shown["rag.retrieve-k"] == {"value": 33, "origin": "environment"}
    assert "sesame" not in json.dumps(shown)


@pytest.mark.requirement("API-7", "PORT-3")
def test_config_init_writes_a_file_that_is_taken_at_once_and_overwrites_none(own_folder: Path) -> None:
    said = run("config", "--init")
    assert said.exit_code == 0, said.stderr
    written = own_folder / "citewell.toml"
    assert "wrote citewell.toml" in said.stdout
    assert written.stat().st_mode & 0o777 == 0o600
    assert run_json("config")["retrieval.search.mode"] == {"value": "hybrid", "origin": "citewell.toml"}
    before = written.read_bytes()
    again = run("config", "--init", "--json")
    assert again.exit_code == 2
    assert "citewell.toml is there already" in json.loads(again.stdout)["error"]["message"]
    assert written.read_bytes() == before
    assert run_json("config", "--init", "other.toml") == {"path": "other.toml"}
    assert (own_folder / "other.toml").read_bytes() != before  # its tokens are its own


@pytest.mark.requirement("API-7")
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--init", "settings.yaml"], "'settings.yaml' is no name of a TOML file"),
        (["--init", "nowhere/settings.toml"], "can't be written: No such file or directory"),
        (["settings.toml"], "Add --init"),
    ],
)
def test_config_init_says_what_it_cannot_write(arguments: list[str], says: str) -> None:
    said = run("config", *arguments)
    assert said.exit_code == 2
    assert says in said.stderr


@pytest.mark.requirement("API-2", "SAFE-3")
def test_scope_and_where_reach_the_lookup(own_folder: Path) -> None:
    (own_folder / "docs" / "etcd.md").write_text(f"---\nteam: storage\nlevel: 3\n---\n{ETCD}", encoding="utf-8")
    run("ingest", "docs", "--scope", "t1")
    assert run_json("lookup", "etcd", "--scope", "t2")["evidence"] == []
    found = run_json(
        "lookup", "etcd", "--scope", "t1", "--scope", "t2", "--where", "level=3", "--where", "team=storage"
    )
    assert [block["evidence_key"] for block in found["evidence"]] == ["etcd.md#chunk-0"]


@pytest.mark.requirement("API-2")
def test_the_environment_names_the_store(own_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITEWELL_KB", str(own_folder / "elsewhere"))
    run("ingest", "docs")
    assert (own_folder / "elsewhere").is_dir()
    assert not (own_folder / ".citewell").exists()


@pytest.mark.requirement("INGEST-8")
@pytest.mark.usefixtures("filled")
def test_a_store_of_another_embedder_is_exit_code_3_and_names_both(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trial I133."""
    monkeypatch.setattr("citewell.app.knowledge.open_embedder", lambda *_: HashEmbedder(8, name="other"))
    result = run("lookup", "etcd")
    assert result.exit_code == 3
    assert "hash-words" in result.stderr
    assert "other" in result.stderr


@pytest.mark.requirement("API-1")
def test_an_embedder_that_is_not_known_is_refused_with_the_way_out() -> None:
    with pytest.raises(Exception, match=r"embedder\.url"):
        open_embedder(Settings.of({"embedder.name": "gte"}).embedder)


@pytest.mark.requirement("API-2")
def test_document_text_is_never_taken_for_markup(own_folder: Path) -> None:
    with Knowledge.open(own_folder / "kb", settings=Settings(), embedder=HashEmbedder()) as knowledge:
        knowledge.ingest_documents(
            [Document("m.md", "# [bold]x[/bold]\n\n:smile: [red]danger[/red] [link=http://x]y[/link]")]
        )
    shown = run("lookup", "danger", "--kb", "kb").stdout
    assert "[red]danger[/red]" in shown
    assert ":smile:" in shown


def _shell(command: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """The real command in a shell, on a store that the tests' embedder need not fill."""
    line = command.replace("citewell", f"{sys.executable} -m citewell")
    variables = {**os.environ, **environment}
    return subprocess.run(line, shell=True, cwd=folder, capture_output=True, text=True, env=variables, check=False)  # noqa: S602 - pipes are what is tested


@pytest.mark.requirement("API-2")
@pytest.mark.parametrize(
    "arguments", ["lookup --json", "lookup x --json --return-n abc", "lookup x --bogus --json", "bogus --json"]
)
def test_a_usage_error_with_json_is_one_json_document_and_exit_code_2(own_folder: Path, arguments: str) -> None:
    done = _shell(f"citewell {arguments}", own_folder)
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]["code"] == "usage"
    assert done.stderr


@pytest.mark.requirement("API-2")
def test_a_reader_that_goes_away_is_no_failure(own_folder: Path) -> None:
    done = _shell(
        "bash -c 'set -o pipefail; citewell config | head -1; echo ${PIPESTATUS[0]}'", own_folder, PYTHONUNBUFFERED="1"
    )
    assert done.stdout.splitlines()[-1] == "0"
    assert "Traceback" not in done.stderr


@pytest.mark.requirement("API-2")
def test_a_terminal_that_can_not_show_a_character_shows_its_number(own_folder: Path) -> None:
    done = _shell("citewell show 网关.md", own_folder, PYTHONIOENCODING="ascii")
    assert done.returncode == 3
    assert "Traceback" not in done.stderr


@pytest.mark.requirement("API-2", "PROJ-7")
@pytest.mark.parametrize("options", [[], ["--agent"], ["--explain"]], ids=["evidence", "agent", "explain"])
def test_no_control_of_a_document_reaches_the_terminal(own_folder: Path, options: list[str]) -> None:
    with Knowledge.open(own_folder / "kb", settings=Settings(), embedder=HashEmbedder()) as knowledge:
        knowledge.ingest_documents([Document("e\x1b[2J.md", "# T\x1b]0;owned\x07\n\nDanger \x1b[31mred\x9b2J.")])
    shown = run("lookup", "danger", "--kb", "kb", *options).stdout
    assert not {"\x1b", "\x9b", "\x07"} & set(shown)
    assert "\\x1b[31mred" in shown


@pytest.mark.requirement("API-2", "ENGINE-4")
@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "is missing"), (b"no model", "has 8 bytes instead of 71,794,489")],
    ids=["none", "other"],
)
def test_a_model_that_is_not_what_it_should_be_is_unreachable(
    own_folder: Path, content: bytes | None, said: str
) -> None:
    (own_folder / "citewell.toml").write_text('[embedder]\ncache-dir = "cache"\n', encoding="utf-8")
    if content is not None:
        (own_folder / "cache").mkdir()
        (own_folder / "cache" / "use-multilingual.onnx").write_bytes(content)
    result = run("model", "verify", "--json")
    assert (result.exit_code, json.loads(result.stdout)["error"]["code"]) == (3, "embedder_unavailable")
    assert said in result.stderr
    assert "citewell model pull" in result.stderr


@pytest.mark.requirement("API-2")
def test_the_installed_model_is_read_whole_and_named() -> None:
    path = installed(cache_dir())
    if path is None:
        pytest.skip("the default model is not installed")
    result = run("model", "verify")
    assert (result.exit_code, result.stdout) == (0, f"the default model at {path} is what it should be\n")
    assert run_json("model", "verify") == {"ok": True, "path": str(path)}
