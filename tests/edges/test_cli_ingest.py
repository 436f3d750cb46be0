"""`citewell ingest` through its own door: what is left out, what is said of each file, watching, Ctrl-C."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from rich.console import Console
from typer.testing import CliRunner, Result

from citewell import Knowledge, Settings
from citewell.adapters.local import LocalStore
from citewell.cli import app, reports
from citewell.errors import StoreLocked
from citewell.ingest import Progress, watch
from citewell.model import DocumentInfo, FileReport, IngestReport
from citewell.testing.fakes import HashEmbedder


@pytest.fixture(autouse=True)
def docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of three files, in the working folder, with an embedder that needs no model."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("CITEWELL_KB", "CITEWELL_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("citewell.app.knowledge.open_embedder", lambda *_, **__: HashEmbedder())
    folder = tmp_path / "docs"
    for name in ("a.md", "b.md", "api/x.txt"):
        write(folder / name, f"# Title of {name}\n\nText of {name}.\n")
    return folder


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def run_json(*arguments: str) -> Any:  # noqa: ANN401 - whatever JSON holds
    return json.loads(run(*arguments, "--json").stdout)


def listed() -> list[str]:
    return [document["doc_id"] for document in run_json("list")]


# What is taken


@pytest.mark.requirement("API-2", "INGEST-6")
def test_include_and_exclude_may_be_repeated_and_what_they_leave_out_is_counted() -> None:
    report = run_json("ingest", "docs", "--include", "*.md", "--include", "api/", "--exclude", "b.md")
    assert [file["doc_id"] for file in report["files"]] == ["a.md", "api/x.txt"]
    assert (report["summary"]["added"], report["summary"]["ignored"]) == (2, 1)
    assert ", 2 ignored;" in run("ingest", "docs", "--exclude", "api/", "--exclude", "b.md").stdout.splitlines()[-1]


@pytest.mark.requirement("API-2", "INGEST-6")
def test_ignore_files_are_respected_unless_told_otherwise(docs: Path) -> None:
    write(docs / ".gitignore", "api/\n")
    write(docs / ".citewellignore", "b.md\n")
    assert run("ingest", "docs").exit_code == 0
    assert listed() == ["a.md"]
    run("ingest", "docs", "--no-gitignore")
    assert listed() == ["a.md", "api/x.txt"]


@pytest.mark.requirement("API-2")
def test_a_glob_that_matches_nothing_is_bad_usage() -> None:
    result = run("ingest", "docs", "--exclude", "  ")
    assert (result.exit_code, "exclude can't be '  '" in result.stderr) == (2, True)


# What is said


@pytest.mark.requirement("API-2", "INGEST-6")
def test_a_line_for_each_file_that_was_not_plainly_fine_and_one_for_all(docs: Path) -> None:
    run("ingest", "docs")
    (docs / "a.md").rename(docs / "a-better-name-that-is-so-long-that-no-line-of-eighty-columns-holds-it-all.md")
    (docs / "b.md").unlink()
    write(docs / "empty.md", "")
    write(docs / "odd.xyz", "x")
    (docs / "noise.md").write_bytes(b"\x89PNG")
    result = run("ingest", "docs", "--prune")
    lines = result.stdout.splitlines()
    assert [line.split(":")[0].split() for line in lines[:-1]] == [
        ["added", "a-better-name-that-is-so-long-that-no-line-of-eighty-columns-holds-it-all.md"],
        ["deleted", "a.md"],
        ["deleted", "b.md"],
        ["no_text", "empty.md"],
        ["failed", "noise.md"],
        ["skipped", "odd.xyz"],
    ]
    assert lines[0].endswith("moved from 'a.md'")
    assert lines[-1].startswith("1 added, 1 unchanged, 2 deleted, 1 skipped, 1 failed, 1 no text; 2 chunks, 0 embedded")
    assert result.exit_code == 1


@pytest.mark.requirement("API-2")
def test_the_bar_says_files_chunks_their_rate_and_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Console(stderr=True, force_terminal=True, width=100)
    with terminal.capture() as shown:
        monkeypatch.setattr(reports, "console", lambda **_: terminal)
        with reports.progress_bar() as tell:
            assert tell is not None
            tell(Progress(12, 40, 1_234, "a.md"))
    text = shown.get()
    assert "12/40" in text
    assert "1,234 chunks, " in text
    assert "/s" in text


@pytest.mark.requirement("API-2")
def test_where_no_terminal_looks_there_is_no_bar() -> None:
    with reports.progress_bar() as tell:
        assert tell is None
    assert run("ingest", "docs").stderr == ""


# Watching


@pytest.fixture
def waves(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], object]]:
    """Deeds, each of which is a wave of changes of everything; the last one should be Ctrl-C."""
    deeds: list[Callable[[], object]] = []

    def watch_paths(paths: Sequence[Path], stop: object) -> Iterator[frozenset[str]]:
        while deeds:
            deeds.pop(0)()
            yield frozenset(str(path.absolute()) for path in paths)

    monkeypatch.setattr("citewell.app.filling.watch_paths", watch_paths)
    return deeds


def ctrl_c() -> None:
    raise KeyboardInterrupt


@pytest.mark.requirement("API-2", "INGEST-5")
def test_watch_tells_the_first_run_whole_and_then_only_what_changed(
    docs: Path, waves: list[Callable[[], object]]
) -> None:
    write(docs / "odd.xyz", "x")
    waves += [
        lambda: write(docs / "a.md", "# New\n\nAnother text."),
        lambda: None,
        lambda: (docs / "a.md").rename(docs / "c.md"),
        ctrl_c,
    ]
    result = run("ingest", "docs", "--watch", "--prune")
    assert result.stdout.splitlines()[1].startswith("3 added, 1 skipped;")
    assert result.stdout.splitlines()[2:] == [
        "updated   a.md (1 chunks, 1 embedded)",
        "deleted   a.md: moved to 'c.md'",
        "added     c.md: moved from 'a.md' (1 chunks, 0 embedded)",
    ]
    assert result.stderr.splitlines() == ["citewell: watching docs; Ctrl-C ends it", "citewell: stopped watching"]
    assert result.exit_code == 0


@pytest.mark.requirement("API-2", "INGEST-6")
def test_watch_goes_on_after_a_broken_file_and_says_so_once(docs: Path, waves: list[Callable[[], object]]) -> None:
    waves += [
        lambda: (docs / "b.md").write_bytes(b"\x89PNG"),
        lambda: write(docs / "a.md", "# New\n\nAnother text."),
        ctrl_c,
    ]
    result = run("ingest", "docs", "--watch")
    assert [line.split()[:2] for line in result.stdout.splitlines()[1:]] == [["failed", "b.md:"], ["updated", "a.md"]]
    assert result.exit_code == 0


@pytest.mark.requirement("API-2", "INGEST-6")
def test_watch_shows_what_is_wrong_with_the_store_and_tries_again(
    docs: Path, waves: list[Callable[[], object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = [StoreLocked("another writer holds it", way_out="Wait for it.")]
    real = LocalStore.documents

    def documents(store: LocalStore) -> Iterator[DocumentInfo]:
        if failures and store.status().documents:
            raise failures.pop()
        return real(store)

    monkeypatch.setattr(LocalStore, "documents", documents)
    monkeypatch.setattr(watch, "FIRST_PAUSE_S", 0.01)
    waves += [lambda: write(docs / "a.md", "# New\n\nAnother text."), ctrl_c]
    result = run("ingest", "docs", "--watch")
    assert "citewell: another writer holds it. Wait for it. Trying again in 0 s.\n" in result.stderr
    assert result.stdout.splitlines()[1:] == ["updated   a.md (1 chunks, 1 embedded)"]
    assert result.exit_code == 0


@pytest.mark.requirement("API-2")
def test_watch_with_json_is_one_document_a_line(docs: Path, waves: list[Callable[[], object]]) -> None:
    waves += [lambda: write(docs / "a.md", "# New\n\nAnother text."), lambda: None, ctrl_c]
    documents = [json.loads(line) for line in run("ingest", "docs", "--watch", "--json").stdout.splitlines()]
    assert [[file["doc_id"] for file in document["files"]] for document in documents] == [
        ["a.md", "api/x.txt", "b.md"],
        ["a.md"],
    ]
    assert documents[1]["summary"]["unchanged"] == 2


@pytest.mark.requirement("API-2", "INGEST-7")
def test_ctrl_c_in_the_middle_of_a_watched_run_says_how_to_go_on(
    docs: Path, waves: list[Callable[[], object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted(HashEmbedder):
        def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
            raise KeyboardInterrupt

    monkeypatch.setattr("citewell.app.knowledge.open_embedder", lambda *_, **__: Interrupted())
    result = run("ingest", "docs", "--watch")
    assert (result.exit_code, "goes on from there" in result.stderr) == (130, True)


# What a call names


@pytest.mark.requirement("API-2", "INGEST-6")
@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("", "a path can't be ''"),
        ("n" * 300, "File name too long"),
        ("nowhere", "there is no file or folder 'nowhere'"),
    ],
)
@pytest.mark.parametrize("more", [(), ("--watch",), ("--json",)])
def test_a_path_that_cannot_be_taken_is_bad_usage_and_ingests_nothing(
    docs: Path, path: str, said: str, more: tuple[str, ...]
) -> None:
    """An empty path comes from an unset variable of a shell; it is not the working folder."""
    result = run("ingest", "docs", path, *more)
    assert (result.exit_code, said in result.stderr) == (2, True)
    with Knowledge.open(".citewell", settings=Settings(), embedder=HashEmbedder()) as knowledge:
        assert list(knowledge.documents()) == []


@pytest.mark.requirement("API-2", "INGEST-6")
def test_a_name_with_a_line_break_makes_no_line_of_its_own(docs: Path) -> None:
    write(docs / "new\nfailed    other.md", "# A\n\nText of a.")
    assert "\nfailed" not in run("ingest", "docs").stdout
    write(docs / "copy.md", (docs / "new\nfailed    other.md").read_text(encoding="utf-8"))
    (docs / "new\nfailed    other.md").unlink()
    lines = run("ingest", "docs", "--prune").stdout.splitlines()
    assert "deleted   new\\x0afailed    other.md: moved to 'copy.md'" in lines


# Ctrl-C


PROGRAM = """
import sys, time
import citewell.app.knowledge
from citewell.cli import main
from citewell.testing.fakes import HashEmbedder

class Slow(HashEmbedder):
    def embed_passages(self, texts):
        if any("slow" in text for text in texts):
            print(len(texts), flush=True)
            time.sleep(0.3)
        return super().embed_passages(texts)

citewell.app.knowledge.open_embedder = lambda *_, **__: Slow()
main()
"""


@pytest.mark.requirement("API-2", "INGEST-7")
def test_ctrl_c_leaves_a_usable_store_and_the_same_command_goes_on(docs: Path) -> None:
    sections = "\n\n".join(f"## Part {number}\n\n{'slow words of text. ' * 40}" for number in range(300))
    for name in ("m1.md", "m2.md", "m3.md", "m4.md"):
        write(docs / name, f"# {name}\n\n{sections}\n")
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "ingest", "docs"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    begun = 0
    while begun <= 2 * 310:  # the first two batches are embedded with their titles, so that the first one is written
        begun += int(process.stdout.readline())
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    match = re.fullmatch(
        r"citewell: stopped after (\d) of 7 files, with (\d) documents? brought up to date; what was stored stays,"
        r" and the same command goes on from there\n",
        said,
    )
    assert match is not None
    with Knowledge.open(".citewell", settings=Settings(), embedder=HashEmbedder()) as knowledge:
        held = {info.doc_id for info in knowledge.documents()}
        assert knowledge.verify().ok
    assert "a.md" in held
    assert "m4.md" not in held
    assert [int(number) for number in match.groups()] == [len(held), len(held)]
    report = run_json("ingest", "docs")
    assert report["summary"]["added"] == 7 - len(held)
    assert report["summary"]["unchanged"] == len(held)


@pytest.mark.slow
@pytest.mark.requirement("API-2", "INGEST-5")
def test_ctrl_c_ends_a_real_watch_with_exit_code_0(docs: Path) -> None:
    pytest.importorskip("watchfiles")
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "ingest", "docs", "--watch"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline().startswith("3 added;")
    assert process.stderr.readline() == "citewell: watching docs; Ctrl-C ends it\n"
    write(docs / "a.md", "# New\n\nAnother text.")
    assert process.stdout.readline() == "updated   a.md (1 chunks, 1 embedded)\n"
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (0, "citewell: stopped watching\n")


# The parts


@pytest.mark.requirement("INGEST-6")
def test_a_further_run_tells_news_alone() -> None:
    old, new = FileReport("a", "failed", detail="x"), FileReport("a", "failed", detail="y")
    added, same = FileReport("b", "added"), FileReport("c", "unchanged")
    before = IngestReport((old, added, same))
    assert reports.changes(IngestReport((old, same)), before) == []
    assert reports.changes(IngestReport((new, added, same)), before) == [new, added]


@pytest.mark.requirement("API-2")
def test_how_far_a_run_came_is_empty_before_its_first_file() -> None:
    latest = reports.Latest()
    assert (str(latest), latest.at_work) == ("", False)
    latest(Progress(3, 1_000, 0, "a.md"))
    assert (str(latest), latest.at_work) == (" after 3 of 1,000 files, with 0 documents brought up to date", True)
    latest(Progress(4, None, 9, "a.md", changed=1))
    assert str(latest) == " after 4 files, with 1 document brought up to date"
    latest(Progress(1_000, 1_000, 0))
    assert latest.at_work is False
