"""Ingestions in a process of their own: the same reports and faults, whole documents whenever it ends."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from multiprocessing import Pipe
from pathlib import Path

import pytest
from embedder_server import EmbeddingServer, Reply

from citewell import Document, Knowledge, Settings
from citewell.errors import EmbedderUnavailable, IngestError
from citewell.ingest import Progress
from citewell.server.apart import Apart, Said, Work
from citewell.server.apart_process import NICE
from citewell.testing.fakes import HashEmbedder
from citewell.wiring import takes_processes

pytestmark = pytest.mark.requirement("API-4")


@pytest.fixture
def endpoint() -> Iterator[EmbeddingServer]:
    with EmbeddingServer().running() as server:
        yield server


@pytest.fixture
def knowledge(tmp_path: Path, endpoint: EmbeddingServer) -> Iterator[Knowledge]:
    named = {"embedder.url": endpoint.address, "embedder.name": "small", "retrieval.search.mode": "hybrid"}
    with Knowledge.open(tmp_path / "kb", settings=Settings.of(named)) as opened:
        yield opened


@pytest.fixture
def apart(knowledge: Knowledge) -> Iterator[Apart]:
    assert knowledge.elsewhere is not None
    ingesting = Apart(knowledge.elsewhere)
    yield ingesting
    ingesting.close()


def documents(*names: str) -> list[Document]:
    return [Document(name, f"# {name}\n\nThe wheel of {name} turns.") for name in names]


def quiet(_: Progress) -> None:
    """Hears nothing."""


def process_of(apart: Apart) -> int:
    assert apart._process is not None
    return apart._process.pid


def test_it_reports_as_the_library_does_and_what_it_stored_is_found_here(knowledge: Knowledge, apart: Apart) -> None:
    told: list[Progress] = []
    report = apart.ingest_documents(documents("a.md", "b.md"), progress=told.append)
    assert [(file.doc_id, file.status) for file in report.files] == [("a.md", "added"), ("b.md", "added")]
    assert told[-1].files_done == 2
    assert {block.doc_id for block in knowledge.lookup("wheel").evidence} == {"a.md", "b.md"}
    first = process_of(apart)
    assert first != os.getpid()
    assert os.getpriority(os.PRIO_PROCESS, first) == NICE
    again = apart.ingest_documents(documents("b.md", "c.md"), progress=quiet)
    assert [(file.doc_id, file.status) for file in again.files] == [("b.md", "unchanged"), ("c.md", "added")]
    assert process_of(apart) == first


def test_what_its_caller_raises_stops_it_with_whole_documents_and_the_next_job_goes_on(
    knowledge: Knowledge, apart: Apart, endpoint: EmbeddingServer
) -> None:
    endpoint.rule = lambda _: Reply(delay_s=0.7)

    def no_more(_: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        apart.ingest_documents(documents("a.md", "b.md"), progress=no_more)
    stored = knowledge.status().documents
    assert stored <= 2
    endpoint.rule = None
    report = apart.ingest_documents(documents("a.md", "b.md"), progress=quiet)
    assert report.count("added") == 2 - stored
    assert knowledge.verify().ok


@pytest.mark.slow
def test_faults_come_back_as_what_they_are(apart: Apart, endpoint: EmbeddingServer) -> None:
    endpoint.rule = lambda _: Reply(status=401)
    with pytest.raises(EmbedderUnavailable, match="401") as caught:
        apart.ingest_documents(documents("a.md"), progress=quiet)
    assert caught.value.way_out


def test_a_failure_that_nobody_foresaw_there_ends_the_job_at_once() -> None:
    ours, theirs = Pipe()
    apart = Apart(Settings.of({}))
    apart._line = ours

    def crashing() -> None:
        assert isinstance(theirs.recv(), Work)
        theirs.send(Said("taken"))
        theirs.send(Said("crashed"))

    process = threading.Thread(target=crashing)
    process.start()
    with theirs:
        with pytest.raises(RuntimeError, match="says 'crashed'; its own line in the log says why"):
            apart.ingest_documents(documents("a.md"), progress=quiet)
        process.join()
        assert not theirs.poll(0.1)  # it waits for another job, and is not told to stop one that has ended
    apart.close()


@pytest.mark.slow
def test_a_process_that_is_killed_ends_its_job_and_nothing_else(
    knowledge: Knowledge, apart: Apart, endpoint: EmbeddingServer
) -> None:
    endpoint.rule = lambda _: Reply(delay_s=2)

    def killed(_: Progress) -> None:
        os.kill(process_of(apart), signal.SIGKILL)

    with pytest.raises(IngestError, match=r"ended in the middle of it \(exit code -9\)"):
        apart.ingest_documents(documents("a.md"), progress=killed)
    endpoint.rule = None
    assert apart.ingest_documents(documents("a.md"), progress=quiet).count("added") == 1
    os.kill(process_of(apart), signal.SIGKILL)  # now between two jobs, as one that has gone to rest
    assert apart.ingest_documents(documents("a.md"), progress=quiet).count("unchanged") == 1
    assert knowledge.verify().ok


@pytest.mark.slow
def test_signals_are_the_servers_business_and_the_process_ends_with_it(apart: Apart) -> None:
    apart.ingest_documents(documents("a.md"), progress=quiet)
    process = apart._process
    assert process is not None
    for number in (signal.SIGINT, signal.SIGTERM):
        os.kill(process.pid, number)
    time.sleep(0.2)
    assert process.poll() is None
    apart.close()
    assert process.poll() == 0


@pytest.mark.parametrize("location", ["memory:", "kb"])
def test_a_store_or_an_embedder_that_is_this_processs_own_is_filled_in_it(tmp_path: Path, location: str) -> None:
    where = location if location == "memory:" else tmp_path / location
    with Knowledge.open(where, settings=Settings.of({}), embedder=HashEmbedder()) as knowledge:
        assert knowledge.elsewhere is None


@pytest.mark.parametrize(
    ("location", "shared"),
    [("kb", True), ("./a b/kb", True), ("memory:", False), ("milvus:kb.db", False), ("http://127.0.0.1:19530", False)],
)
def test_a_store_whose_new_documents_another_process_would_not_find_at_once_is_not_shared(
    location: str, *, shared: bool
) -> None:
    assert takes_processes(location) is shared


def test_where_a_store_was_named_by_argument_the_process_opens_the_same(tmp_path: Path) -> None:
    named = Settings.of({"embedder.url": "http://127.0.0.1:9", "store.location": "elsewhere"})
    with Knowledge.open(tmp_path / "kb", settings=named) as knowledge:
        assert knowledge.elsewhere == named.with_location(str(tmp_path / "kb"))
