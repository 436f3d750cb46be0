"""Attached collections copied into a store: chunk indexes in order, vectors kept, and a killed run taken up again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from foreign_collections import LAYOUTS, MAPS, Passage, fill
from typer.testing import CliRunner

from citewell import Knowledge, Settings
from citewell.adapters.milvus.client import Client
from citewell.cli import app
from citewell.foreign import attach, reindex
from citewell.identity import format_key as key
from citewell.testing.fakes import HashEmbedder

pytestmark = pytest.mark.requirement("ENGINE-3")

EMBEDDER = HashEmbedder(64)
SETTINGS = Settings.of({"rag.max-chunks-per-document": 0})
TEXTS = {"etcd.md": ("zebra first", "apple second", "mango third"), "pay.md": ("salaries",)}

REMARKS = [
    ("langchain", "in the order in which the rows were inserted"),
    ("langchain-dynamic", ""),
    ("llama-index", "in the order of their places in the text"),
    ("haystack", ""),
    ("spring-ai", "the order of its chunks is not known"),
    ("plain", ""),
]
"""What each layout leaves to be said of the order of a document's chunks."""


def passages() -> Iterator[Passage]:
    for doc_id, texts in TEXTS.items():
        for index, text in enumerate(texts):
            start = sum(len(each) for each in texts[:index])
            metadata = {"lang": "en", "level": 1}
            yield Passage(doc_id, index, text, EMBEDDER.embed_query(text), "ops", ("a",), metadata, start=start)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    lite = Client(f"milvus:{tmp_path_factory.mktemp('theirs') / 'theirs.db'}", timeout_s=60)
    for name, _ in REMARKS:
        fill(lite, name.replace("-", "_"), LAYOUTS[name], list(passages()), 64)
    yield lite
    lite.close()


@pytest.mark.parametrize(("layout", "remark"), REMARKS)
def test_what_a_tool_wrote_becomes_documents_with_chunks_in_order(
    client: Client, tmp_path: Path, layout: str, remark: str
) -> None:
    kb, copy = tmp_path / "kb", tmp_path / "copy"
    name = layout.replace("-", "_")
    attach(client.location, name, kb, mapping=MAPS[layout], settings=SETTINGS, embedder=EMBEDDER)
    report = reindex(kb, copy, settings=SETTINGS, embedder=EMBEDDER)
    assert [(file.doc_id, file.status, file.chunks) for file in report.files] == [
        ("etcd.md", "added", 3), ("pay.md", "added", 1),
    ]  # fmt: skip
    assert report.embedded == 0
    assert remark in report.files[0].detail
    assert bool(remark) == bool(report.files[0].detail)
    with Knowledge.open(copy, settings=SETTINGS, embedder=EMBEDDER) as knowledge:
        found = knowledge.lookup("apple second", mode="hybrid")
        best = found.evidence[0]
        assert (best.evidence_key, best.text) == (key("etcd.md", 1), "apple second")
        assert best.similarity == pytest.approx(1.0, abs=1e-6)
        assert [knowledge.show(key("etcd.md", index)).text for index in range(3)] == list(TEXTS["etcd.md"])
        assert knowledge.lookup("apple", scope="nobody").status == "no_match"
        if any(role.startswith("scope=") for role in MAPS[layout]):
            assert knowledge.lookup("apple", scope="a").status == "ok"
        assert knowledge.verify().ok


def test_a_copy_goes_to_milvus_and_from_there_back(client: Client, tmp_path: Path) -> None:
    kb, lite, local = tmp_path / "kb", f"milvus:{tmp_path / 'copy.db'}", tmp_path / "local"
    attach(client.location, "haystack", kb, settings=SETTINGS, embedder=EMBEDDER)
    assert reindex(kb, lite, settings=SETTINGS, embedder=EMBEDDER).count("added") == 2
    assert reindex(kb, lite, settings=SETTINGS, embedder=EMBEDDER).count("unchanged") == 2
    report = reindex(lite, local, settings=SETTINGS, embedder=EMBEDDER)
    assert (report.count("added"), report.embedded) == (2, 0)
    assert _contents(lite, EMBEDDER) == _contents(local, EMBEDDER)


@pytest.mark.requirement("API-2")
def test_the_command_copies_reports_and_goes_on(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("app.knowledge", "foreign"):
        monkeypatch.setattr(f"citewell.{module}.open_embedder", lambda *_: EMBEDDER)
    kb, copy = str(tmp_path / "kb"), str(tmp_path / "copy")
    run = CliRunner().invoke
    assert run(app, ["attach", client.location, "haystack", "--kb", kb]).exit_code == 0
    first = run(app, ["reindex", "--kb", kb, "--to", copy, "--json"])
    assert first.exit_code == 0, first.output
    assert json.loads(first.stdout)["summary"]["added"] == 2
    second = run(app, ["reindex", kb, "--to", copy])
    assert second.exit_code == 0
    assert "2 unchanged" in second.stdout
    missing = run(app, ["reindex", kb])
    assert missing.exit_code == 2
    assert "--to" in missing.stderr


_CHILD = textwrap.dedent(
    """
    import sys, time
    from citewell import Settings
    from citewell.foreign import reindex
    from citewell.testing.fakes import HashEmbedder

    class Slow(HashEmbedder):
        def embed_passages(self, texts):
            time.sleep(0.02)
            return super().embed_passages(texts)

    def tell(progress):
        print(progress.changed, flush=True)

    import citewell.ingest.reindex
    citewell.ingest.reindex._BATCH_CHUNKS = 4
    reindex(sys.argv[1], sys.argv[2], settings=Settings(), embedder=Slow(64, name="new"), progress=tell)
    print("done", flush=True)
    """
)


@pytest.mark.slow
def test_a_copy_that_was_killed_holds_whole_documents_and_the_next_run_does_the_rest(tmp_path: Path) -> None:
    lite = Client(f"milvus:{tmp_path / 'theirs.db'}", timeout_s=60)
    rows = [
        Passage(f"doc-{n:03}", index, f"text {index} of document {n}", EMBEDDER.embed_query(f"text {n}"))
        for n in range(120)
        for index in range(2)
    ]
    fill(lite, "haystack", LAYOUTS["haystack"], rows, 64)
    kb, copy = tmp_path / "kb", tmp_path / "copy"
    attach(lite.location, "haystack", kb, settings=SETTINGS, embedder=EMBEDDER)
    lite.close()
    process = subprocess.Popen(
        [sys.executable, "-c", _CHILD, str(kb), str(copy)], stdout=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip().isdecimal() and int(line) >= 20:
            break
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    rest = HashEmbedder(64, name="new")
    with Knowledge.open(copy, settings=SETTINGS, embedder=rest) as knowledge:
        kept = list(knowledge.documents())
        assert 20 <= len(kept) < 120
        assert {info.chunks for info in kept} == {2}
    report = reindex(kb, copy, settings=SETTINGS, embedder=rest)
    assert (report.count("unchanged"), report.count("added")) == (len(kept), 120 - len(kept))
    assert len(rest.embedded) == 2 * (120 - len(kept))
    whole = reindex(kb, tmp_path / "whole", settings=SETTINGS, embedder=HashEmbedder(64, name="new"))
    assert whole.count("added") == 120
    assert _contents(copy, rest) == _contents(tmp_path / "whole", rest)


def _contents(folder: Path | str, embedder: HashEmbedder) -> dict[str, object]:
    """Every chunk with its similarity to a question, bit for bit."""
    with Knowledge.open(folder, settings=SETTINGS, embedder=embedder) as kb, kb._store.snapshot() as view:
        keys = [key(info.doc_id, index) for info in kb.documents() for index in range(info.chunks)]
        near = view.similarities(embedder.embed_query("text 1"), keys)
        return {name: (chunk, np.float32(near[name])) for name, chunk in view.fetch(keys).items()}


def test_more_rows_than_words_are_derived_for_can_be_copied_as_the_refusal_proposes(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("derived", "store"):
        monkeypatch.setattr(f"citewell.adapters.milvus.foreign.{module}.MOST_ROWS", 2)
    attach(client.location, "haystack", tmp_path / "theirs", settings=SETTINGS, embedder=EMBEDDER)
    report = reindex(tmp_path / "theirs", tmp_path / "own", settings=SETTINGS, embedder=EMBEDDER)
    assert {file.status for file in report.files} == {"added"}
    with Knowledge.open(tmp_path / "theirs", settings=SETTINGS, embedder=EMBEDDER) as kb:
        found = kb.lookup("apple second", mode="hybrid")
        assert found.evidence
        assert any("lexical" in cause and "at most" in cause for cause in found.degraded)
