"""Standard streams that are closed, full, or without a reader, and Ctrl-C at any moment: what is said, and the code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from citewell import Document, Knowledge
from citewell.testing.fakes import HashEmbedder

FAKE = """
import sys
from citewell.testing.fakes import HashEmbedder
import citewell.wiring
citewell.wiring.open_embedder = lambda *_: HashEmbedder()
citewell.wiring.begin_embedder = lambda _: None
from citewell.cli import main
"""
PROGRAM = FAKE + "main()\n"
FULL = Path("/dev/full")

on_posix = pytest.mark.skipif(os.name != "posix", reason="only there a process is started without a stream")
COMMANDS = [
    ["lookup", "text of b", "--retrieve-k", "400", "--return-n", "400", "--json"],
    ["export"],
    ["lookup", "--help"],
]


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store of which an export is longer than what a pipe holds."""
    folder = tmp_path_factory.mktemp("streams") / "kb"
    documents = [Document(f"{name}.md", f"# {name}\n\nText of {name}.\n\n{'Words. ' * 40}") for name in range(300)]
    with Knowledge.open(folder, embedder=HashEmbedder()) as knowledge:
        knowledge.ingest_documents(documents)
    return str(folder)


def command(arguments: list[str], kb: str, program: str = PROGRAM) -> tuple[list[str], dict[str, str]]:
    return [sys.executable, "-c", program, *arguments], {**os.environ, "CITEWELL_KB": kb}


@pytest.mark.requirement("API-2")
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_reader_that_goes_away_early_is_no_failure_and_nothing_is_said_of_it(arguments: list[str], kb: str) -> None:
    words, environment = command(arguments, kb)
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(words, env=environment, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.requirement("API-2")
@pytest.mark.skipif(not FULL.exists(), reason="there is no device that is always full")
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_what_can_not_be_printed_is_no_success_and_is_said_in_one_line(arguments: list[str], kb: str) -> None:
    words, environment = command(arguments, kb)
    with FULL.open("w") as full:
        done = subprocess.run(words, env=environment, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "citewell: not all could be printed: No space left on device\n"


@on_posix
@pytest.mark.requirement("API-2")
@pytest.mark.parametrize("closed", ["2>&-", "<&- >&- 2>&-"])
def test_a_command_does_its_work_without_a_stream(closed: str, kb: str) -> None:
    words, environment = command(["lookup", "text of b"], kb)
    shell = ["sh", "-c", f'exec "$@" {closed}', "sh", *words]
    done = subprocess.run(shell, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert bool(done.stdout) == (" >&-" not in f" {closed}")


@on_posix
@pytest.mark.requirement("API-2")
def test_no_file_takes_the_number_of_a_closed_stream(kb: str, tmp_path: Path) -> None:
    program = FAKE + (
        "from citewell.cli import streams\n"
        "streams.ready()\n"
        f"found = open({str(tmp_path / 'mine')!r}, 'w')\n"
        "print(found.fileno() > 2, file=found, flush=True)\n"
    )
    words, environment = command([], kb, program)
    subprocess.run(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *words], env=environment, check=True)
    assert (tmp_path / "mine").read_text() == "True\n"


@pytest.mark.requirement("API-2")
@pytest.mark.parametrize("moment", ["citewell.cli.read", "citewell.app"])
def test_ctrl_c_while_a_command_loads_is_told_as_later_on(moment: str, kb: str) -> None:
    stop = f"""
class Stop:
    def find_spec(self, name, *_):
        if name == {moment!r}:
            raise KeyboardInterrupt
sys.modules.pop({moment!r}, None)
sys.meta_path.insert(0, Stop())
main()
"""
    words, environment = command(["lookup", "text of b", "--json"], kb, FAKE + stop)
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert json.loads(done.stdout)["error"]["code"] == "interrupted"
    assert done.stderr.startswith("citewell: stopped")
    assert "Traceback" not in done.stderr


@pytest.mark.requirement("API-2")
def test_ctrl_c_while_typer_makes_the_command_is_told_too(kb: str) -> None:
    stop = """
import typer.core
def invoke(*_):
    raise KeyboardInterrupt
typer.core.TyperGroup.invoke = invoke
main()
"""
    words, environment = command(["lookup", "text of b", "--json"], kb, FAKE + stop)
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "citewell: stopped\n")
    assert json.loads(done.stdout)["error"]["code"] == "interrupted"
