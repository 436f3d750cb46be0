"""Several writers, kills and Ctrl-C: whoever ends how, the store holds whole versions and the next run goes on."""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from injected_room import assert_as_filled_in_one_go, opened, page, rows, similarities, statuses, whole, write

from citewell import Document
from citewell.model import FileReport
from citewell.testing.fakes import HashEmbedder

INGEST = """
import json, sys
import citewell.ingest.run
from citewell import Knowledge, Settings
from citewell.testing.fakes import HashEmbedder
location, chunks, *folders = sys.argv[1:]
citewell.ingest.run._BATCH_CHUNKS = int(chunks)  # many small transactions: more moments that differ
print("ready", flush=True)
sys.stdin.readline()
with Knowledge.open(location, settings=Settings(), embedder=HashEmbedder()) as knowledge:
    print(json.dumps(knowledge.ingest(folders).to_dict()), flush=True)
"""
COMMAND_LINE = """
import sys, time
import citewell.app.knowledge
from citewell.cli import main
from citewell.testing.fakes import HashEmbedder
class Slow(HashEmbedder):
    def embed_passages(self, texts):
        print("embedding", len(texts), file=sys.stderr, flush=True)
        time.sleep(0.3)
        return super().embed_passages(texts)
citewell.app.knowledge.open_embedder = lambda *_: Slow()
main()
"""

INTERRUPTED = """
import signal, sys, threading, time
import citewell.ingest.run
from citewell import Document, Knowledge, Settings
from citewell.testing.fakes import HashEmbedder
class Slow(HashEmbedder):
    def embed_passages(self, texts):
        time.sleep(0.002)
        return super().embed_passages(texts)
citewell.ingest.run._BATCH_CHUNKS = 1
signal.signal(signal.SIGINT, signal.default_int_handler)
Condition = threading.Condition  # what every event and every future is made of
between = {Condition.__enter__.__code__, Condition._release_save.__code__}
def run(moment):
    left = moment
    def ends(frame, event, argument):
        nonlocal left
        if event == "return":
            left -= 1
            if left == 0:
                signal.raise_signal(signal.SIGINT)
        return ends
    with Knowledge.open("memory:", settings=Settings(), embedder=Slow()) as knowledge:
        sys.settrace(lambda frame, event, argument: ends if frame.f_code in between else None)
        try:
            knowledge.ingest_documents(Document(f"{number}", "words") for number in range(4))
        finally:
            sys.settrace(None)
    return left <= 0
moment = 1
while True:
    try:
        if not run(moment):
            break
        raise SystemExit(f"nothing was raised at moment {moment}")
    except KeyboardInterrupt:
        moment += 1
print(moment)
"""


@contextmanager
def running(program: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """A process of this Python that runs the program; killed at the end if it still runs."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", program, *map(str, arguments)]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def ingesting(location: Path, *folders: Path, chunks: int = 8) -> Iterator[subprocess.Popen[str]]:
    """A process that will ingest the folders as soon as it is told to go, so many chunks in a transaction."""
    with running(INGEST, location, chunks, *folders) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


# Two writers.


def assert_ended_well(process: subprocess.Popen[str]) -> None:
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    summary = json.loads(out)["summary"]
    assert summary["failed"] == 0, out


@pytest.mark.requirement("INGEST-5", "INGEST-7")
def test_two_processes_that_ingest_overlapping_folders_at_once_leave_what_one_run_would_leave(tmp_path: Path) -> None:
    """The first round makes the store, the second renews every document; the middle folder is both processes'."""
    folders = [tmp_path / name for name in ("left", "middle", "right")]
    for turn in range(2):
        for folder in folders:
            for number in range(10):
                words = (f"w{turn}{folder.name}{number}n{part}" for part in range(1 + (number + turn) % 4))
                write(folder, f"{folder.name}{number}.md", *words)
        with (
            ingesting(tmp_path / "kb", *folders[:2]) as one,
            ingesting(tmp_path / "kb", *folders[1:]) as other,
        ):
            for process in (one, other):
                go(process)
            for process in (one, other):
                assert_ended_well(process)
        with opened(tmp_path / "kb") as knowledge, opened(tmp_path / f"fresh{turn}") as fresh:
            fresh.ingest(folders)
            assert whole(knowledge) == whole(fresh)
            assert similarities(knowledge) == similarities(fresh)
            assert knowledge.verify().findings == ()
            assert rows(tmp_path / "kb") == rows(tmp_path / f"fresh{turn}")


# Eight threads.


def words_of(number: int) -> list[str]:
    return [f"w{number}n{part}" for part in range(number + 1)]


@pytest.mark.requirement("INGEST-5", "INGEST-7")
@pytest.mark.parametrize("shared", [True, False], ids=["through one store", "each through its own"])
def test_eight_threads_that_ingest_versions_of_one_document_leave_one_of_them_whole(
    tmp_path: Path, shared: bool
) -> None:
    """Versions have one to eight chunks, so that a leftover of a longer one would show."""
    own = opened(tmp_path / "kb")
    stores = [own if shared else opened(tmp_path / "kb") for _ in range(8)]
    for _ in range(4):
        start = threading.Barrier(8)

        def ingest(number: int, start: threading.Barrier = start) -> FileReport:
            start.wait()
            (report,) = stores[number].ingest_documents([Document("a.md", page(*words_of(number)))]).files
            return report

        with ThreadPoolExecutor(8) as pool:
            reports = list(pool.map(ingest, range(8)))
        held = whole(own)["a.md"]
        winner = len(held) - 1
        assert held == words_of(winner)
        assert {report.status for report in reports} <= {"added", "updated", "unchanged"}
        assert own.verify().findings == ()
        assert rows(tmp_path / "kb") == (1, len(held), len(held))
        with opened(tmp_path / f"fresh{winner}") as fresh:
            fresh.ingest_documents([Document("a.md", page(*held))])
            assert similarities(own) == similarities(fresh)
    for store in {id(store): store for store in [own, *stores]}.values():
        store.close()


# Kills.


def kill_rounds(tmp_path: Path, rounds: int, *, files: int) -> int:
    """Kill ingestions of edited files at random moments; how many documents were caught at different versions.

    After each kill every document is its old or its new version on every path; at the end one run equals a fresh one.
    """
    chance = random.Random(rounds)
    docs, location, torn = tmp_path / "docs", tmp_path / "kb", 0
    held: dict[str, list[str]] = {}
    wanted = {f"{number}.md": [f"w{number}"] for number in range(files)}
    longest = timed(tmp_path, docs, wanted)
    for turn in range(rounds):
        for name in chance.sample(sorted(wanted), files // 2):
            wanted[name] = [f"w{turn}t{name[:-3]}n{part}" for part in range(chance.randint(1, 4))]
            write(docs, name, *wanted[name])
        with ingesting(location, docs) as process:
            go(process)
            time.sleep(chance.uniform(0, longest))
            process.send_signal(signal.SIGKILL)
        assert process.returncode in (0, -signal.SIGKILL), "it failed by itself"
        with opened(location) as knowledge:
            now = whole(knowledge)
            assert knowledge.verify().findings == ()
        new = {name for name in wanted if now.get(name) == wanted[name]}
        assert {name: now.get(name) for name in wanted if name not in new} == {
            name: held.get(name) for name in wanted if name not in new
        }
        torn += 0 < len(new) < files
        held = now
    with opened(location) as knowledge:
        assert knowledge.ingest(docs).ok
        assert_as_filled_in_one_go(knowledge, docs, tmp_path / "fresh")
    return torn


def timed(tmp_path: Path, docs: Path, wanted: dict[str, list[str]]) -> float:
    """Seconds that a process takes for half of the files, from the word to its end."""
    for name, words in wanted.items():
        write(docs, name, *words)
    with ingesting(tmp_path / "timed", docs) as process:
        begun = time.perf_counter()
        go(process)
        assert_ended_well(process)
        return time.perf_counter() - begun


@pytest.mark.requirement("INGEST-5", "INGEST-7")
def test_three_kills_at_random_moments_leave_old_or_new_versions_on_every_path(tmp_path: Path) -> None:
    kill_rounds(tmp_path, 3, files=40)


@pytest.mark.slow
@pytest.mark.requirement("INGEST-5", "INGEST-7")
def test_fifty_kills_at_random_moments_leave_old_or_new_versions_on_every_path(tmp_path: Path) -> None:
    """Many of them must have come between two transactions of a run, or the moments were ill chosen."""
    assert kill_rounds(tmp_path, 50, files=80) >= 10


# Ctrl-C.


def interrupted(arguments: Sequence[str], *, after: int, times: int = 1) -> tuple[int, str, str]:
    """Start the command, send it SIGINT when it embeds more than so many texts; exit code, stdout, stderr."""
    with running(COMMAND_LINE, *arguments) as process:
        assert process.stderr is not None
        begun = 0
        while begun <= after:
            begun += int(process.stderr.readline().removeprefix("embedding "))
        for _ in range(times):
            process.send_signal(signal.SIGINT)
            time.sleep(0.1)
        out, err = process.communicate(timeout=30)
    return process.returncode, out, re.sub("embedding \\d+\n", "", err)


@pytest.mark.requirement("INGEST-7", "API-2")
@pytest.mark.parametrize("times", [1, pytest.param(2, marks=pytest.mark.slow)], ids=["once", "twice"])
def test_ctrl_c_ends_with_130_says_how_to_go_on_and_leaves_a_usable_store(tmp_path: Path, times: int) -> None:
    docs, location = tmp_path / "docs", tmp_path / "kb"
    for number in range(300):
        write(docs, f"{number}.md", f"w{number}one", f"w{number}two")
    arguments = ["ingest", str(docs), "--kb", str(location)]
    code, out, err = interrupted(arguments, after=257 * times, times=times)  # a batch and its title
    assert (code, out) == (130, "")
    (said,) = err.strip().splitlines()
    stored = re.match(r"citewell: stopped after (\d+) of 300 files, with (\d+) documents? brought up to date; ", said)
    assert stored is not None
    assert said.endswith("what was stored stays, and the same command goes on from there")
    with opened(location) as knowledge:
        held = whole(knowledge)
        assert 0 < len(held) < 300
        told = [int(number) for number in stored.groups()]
        # Whoever presses Ctrl-C twice doesn't wait for a write that is under way, and isn't told of it.
        assert told == [len(held)] * 2 if times == 1 else 0 < told[0] <= len(held)
        assert knowledge.verify().findings == ()
        report = knowledge.ingest(docs)
        assert {
            name: status for name, status in statuses(report).items() if status == "unchanged"
        }.keys() == held.keys()
        assert_as_filled_in_one_go(knowledge, docs, tmp_path / "fresh")
        assert isinstance(knowledge.embedder, HashEmbedder)


@pytest.mark.requirement("INGEST-7", "API-2")
def test_ctrl_c_as_a_lock_is_taken_or_given_back_leaves_no_thread_waiting_for_it_for_ever(tmp_path: Path) -> None:
    """At each such moment of the main thread, one run each: Python would raise it there, and the lock stays taken."""
    with running(INTERRUPTED) as process:
        out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert int(out) > 20
