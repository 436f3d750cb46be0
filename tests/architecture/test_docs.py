"""The docs can't drift: generated pages are current, links lead somewhere, the README's program runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from citewell import LookupResult
from citewell.cli import app
from citewell.identity import format_key as key
from citewell.testing.fakes import HashEmbedder

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.requirement("API-2", "API-7")
@pytest.mark.parametrize("script", ["docs.py", "figures.py", "reliability.py"])
def test_the_generated_pages_and_tables_are_current(script: str) -> None:
    command = [sys.executable, str(ROOT / "scripts" / script), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}run `python scripts/{script}`"


@pytest.mark.requirement("API-2")
def test_every_command_is_on_the_page_of_commands() -> None:
    page = (ROOT / "docs" / "cli.md").read_text("utf-8")
    names = [command.name or command.callback.__name__ for command in app.registered_commands if command.callback]
    assert [name for name in names if f"## `citewell {name}`" not in page] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_to_a_file_leads_to_one(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text("utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.requirement("API-1")
def test_the_program_in_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("citewell.app.knowledge.open_embedder", lambda *_: HashEmbedder())
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "etcd.md").write_text("# Etcd\n\nSlow disks make it slow.\n", encoding="utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(program, "README.md", "exec"), names)  # noqa: S102 - our own README is the program
    result = names["result"]
    assert isinstance(result, LookupResult)
    assert [block.evidence_key for block in result.evidence] == [key("etcd.md", 0)]
