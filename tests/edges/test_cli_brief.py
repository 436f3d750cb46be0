"""Commands that answer once and end: a process that leaves early says all it has to say, with its exit code."""

from __future__ import annotations

import subprocess
import sys

import pytest

from citewell import Document, Knowledge
from citewell.testing.fakes import HashEmbedder

PROGRAM = """
import sys
from citewell.testing.fakes import HashEmbedder
import citewell.wiring
citewell.wiring.open_embedder = lambda *_: HashEmbedder()
citewell.wiring.begin_embedder = lambda _: None
import atexit
atexit.register(print, "as usual", file=sys.stderr)
from citewell.cli import main
main()
"""


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("brief") / "kb"
    with Knowledge.open(folder, embedder=HashEmbedder()) as knowledge:
        knowledge.ingest_documents([Document(f"{name}.md", f"# {name}\n\nText of {name}.") for name in "abc"])
    return str(folder)


def run(*arguments: str, stdout: int | None = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM, *arguments]
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)


@pytest.mark.requirement("API-2")
@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["lookup", "text of b"], 0, "b.md#chunk-0"),
        (["show", "b.md#chunk-0"], 0, "Text of b."),
        (["list"], 0, "c.md"),
        (["--help"], 0, "lookup"),
        (["lookup", " "], 2, ""),
        (["show", "d.md#chunk-0"], 1, ""),
    ],
    ids=["lookup", "show", "list", "help", "blank", "unknown"],
)
def test_all_is_said_and_the_code_is_the_documented_one_though_the_process_takes_nothing_apart(
    kb: str, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, said: str
) -> None:
    monkeypatch.setenv("CITEWELL_KB", kb)
    done = run(*arguments)
    assert (done.returncode, said in done.stdout) == (code, True)
    assert "as usual" not in done.stderr
    assert code == 0 or "citewell: " in done.stderr


@pytest.mark.requirement("API-2")
def test_other_commands_end_as_usual(kb: str) -> None:
    done = run("verify", "--kb", kb)
    assert (done.returncode, "as usual" in done.stderr) == (0, True)
