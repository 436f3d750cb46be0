"""`citewell verify`: 0 when sound or made so, 1 when something is left, the findings for people and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from injected_room import opened, tamper, whole, write
from typer.testing import CliRunner, Result

from citewell.cli import app
from citewell.testing.fakes import HashEmbedder

GONE = "DELETE FROM chunks WHERE row = @ROW"


@pytest.fixture
def location(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A closed store of 150 chunks, with an index on the disk."""
    monkeypatch.setattr("citewell.app.knowledge.open_embedder", lambda *_: HashEmbedder())
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("CITEWELL_KB", "CITEWELL_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    write(tmp_path / "docs", "a.md", "wone", "wtwo", "wthree")
    for number in range(49):
        write(tmp_path / "docs", f"{number}.md", *(f"w{number}n{part}" for part in range(3)))
    with opened(tmp_path / "kb") as knowledge:
        assert knowledge.ingest(tmp_path / "docs").ok
    return tmp_path / "kb"


def run(location: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["verify", "--kb", str(location), *arguments])


def run_json(location: Path, *arguments: str) -> tuple[int, Any]:
    result = run(location, *arguments, "--json")
    return result.exit_code, json.loads(result.stdout)


@pytest.mark.requirement("API-2", "ENGINE-4")
def test_a_sound_store_is_exit_code_0_and_says_so(location: Path) -> None:
    assert run_json(location) == (0, {"ok": True, "chunks": 150, "findings": []})
    result = run(location)
    assert (result.exit_code, result.stdout) == (0, "150 chunks checked: sound\n")
    assert run(location, "--repair").exit_code == 0


@pytest.mark.requirement("API-2", "ENGINE-4")
def test_a_damaged_index_is_exit_code_1_and_0_once_it_was_repaired(location: Path) -> None:
    (segment,) = (location / "index").glob("*.seg")
    content = bytearray(segment.read_bytes())
    content[len(content) // 3] ^= 1
    segment.write_bytes(content)
    code, said = run_json(location)
    assert (code, said["ok"], said["chunks"]) == (1, False, 150)
    (found,) = said["findings"]
    assert found == {**found, "kind": "damaged", "where": f"index/{segment.name}", "repaired": False}
    shown = run(location)
    assert shown.exit_code == 1
    assert "1 of 1 findings left" in shown.stdout
    assert "--repair" in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 80
    repaired = run(location, "--repair")
    assert repaired.exit_code == 0
    assert "sound; 1 repaired" in repaired.stdout
    assert run_json(location) == (0, {"ok": True, "chunks": 150, "findings": []})


@pytest.mark.requirement("API-2", "ENGINE-4", "INGEST-5")
def test_damage_to_the_truth_stays_exit_code_1_until_its_document_is_ingested_again(
    location: Path, tmp_path: Path
) -> None:
    tamper(location, GONE)
    for arguments in ([], ["--repair"]):
        code, said = run_json(location, *arguments)
        assert code == 1
        assert [(found["evidence_key"], found["repaired"]) for found in said["findings"]] == [("a.md#chunk-0", False)]
    shown = run(location, "--repair")
    assert shown.exit_code == 1
    assert "a.md#chunk-0" in shown.stdout
    assert "ingest their sources again" in shown.stdout
    ingested = CliRunner().invoke(app, ["ingest", str(tmp_path / "docs"), "--kb", str(location)])
    assert ingested.exit_code == 0
    assert "1 updated" in ingested.stdout
    assert run(location).exit_code == 0
    with opened(location) as knowledge:
        assert whole(knowledge)["a.md"] == ["wone", "wtwo", "wthree"]


@pytest.mark.requirement("API-2")
def test_more_findings_than_fit_a_screen_are_counted(location: Path) -> None:
    tamper(location, "UPDATE chunks SET text = 'forged'")
    shown = run(location)
    assert shown.exit_code == 1
    assert "... and 110 more" in shown.stdout
    assert len(run_json(location)[1]["findings"]) == 150


@pytest.mark.requirement("API-2", "ENGINE-4")
def test_verifying_no_store_makes_none(tmp_path: Path, location: Path) -> None:
    assert run(tmp_path / "nowhere").exit_code == 3
    assert not (tmp_path / "nowhere").exists()
