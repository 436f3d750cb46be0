"""The whole pipeline - files in, evidence out, synchronised, cited - is the same on every engine (ENGINE-2)."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from citewell import Knowledge, Settings
from citewell.errors import EmbedderMismatch, UnknownEvidence
from citewell.testing.fakes import HashEmbedder

FILES = {
    "ops/etcd.md": "# etcd\n\n## Slow disk\n\nWhen etcd is slow, check the disk latency with `etcdctl check perf`.\n\n"
    "## Leader lost\n\nA lost leader shows as KB-4471 in the log; restart the member.\n",
    "ops/redis.md": "# Redis\n\n连接池耗尽时先扩容，再重启网关。\n",
    "hr/leave.md": "---\ncategory: hr\nteam: people\n---\n# Leave\n\nAsk for leave a week ahead.\n",
}
SETTINGS = {"retrieval.search.mode": "hybrid"}


class Engine:
    """A place where a store is, and the settings to open it."""

    def __init__(self, location: str, settings: dict[str, object], folder: Path) -> None:
        self.location, self.folder = location, folder
        self.settings = Settings.of(settings)

    def open(self, **options: object) -> Knowledge:
        """Open it, as a new process would."""
        embedder = options.pop("embedder", None) or HashEmbedder()
        return Knowledge.open(self.location, settings=self.settings, embedder=embedder, **options)  # type: ignore[arg-type]

    def write(self, **files: str) -> None:
        """Put files into the folder; a blank text removes one."""
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8") if text else path.unlink()


@pytest.fixture(params=["local", "lite", pytest.param("server", marks=pytest.mark.slow)])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    folder = tmp_path / "docs"
    settings: dict[str, object] = dict(SETTINGS)
    if request.param == "server":
        location = request.getfixturevalue("milvus_uri")
        settings |= {"store.collection": f"pipeline_{uuid.uuid4().hex}", "store.timeout": 30}
    else:
        location = str(tmp_path / "kb") if request.param == "local" else f"milvus:{tmp_path}/kb.db"
    made = Engine(location, settings, folder)
    made.write(**FILES)
    yield made
    if request.param == "server":
        from milvus_server import drop  # noqa: PLC0415 - few tests need it

        drop(location, str(settings["store.collection"]))


def keys(knowledge: Knowledge, query: str, **options: object) -> list[str]:
    return [block.evidence_key for block in knowledge.lookup(query, **options).evidence]  # type: ignore[arg-type]


def items(projection: dict[str, Any]) -> list[dict[str, Any]]:
    """What an agent is shown."""
    shown: list[dict[str, Any]] = projection["evidence"]
    return shown


@pytest.mark.requirement("ENGINE-2", "PORT-5", "SAFE-1")
def test_what_is_ingested_is_found_filtered_and_cited_the_same_on_every_engine(engine: Engine) -> None:
    with engine.open() as knowledge:
        report = knowledge.ingest(engine.folder)
        assert report.ok
        assert report.count("added") == 3
        assert keys(knowledge, "KB-4471")[0] == "ops/etcd.md#chunk-0"
        assert keys(knowledge, "连接池耗尽")[0] == "ops/redis.md#chunk-0"
        assert keys(knowledge, "leave", mode="dense", category="hr") == ["hr/leave.md#chunk-0"]
        assert keys(knowledge, "leave", where={"team": "people"}) == ["hr/leave.md#chunk-0"]
        assert keys(knowledge, "leave", where={"team": "nobody"}) == []
        result = knowledge.lookup("slow disk", session="s1")
        assert result.degraded == ()
        assert {report.path: report.status for report in result.trace.paths} == {
            "dense": "ran", "dense_filtered": "skipped", "lexical": "ran",
        }  # fmt: skip
        shown = items(result.to_agent())
        assert shown
        assert knowledge.check(f"It is the disk [{shown[0]['document_id']}].", session="s1").ok
        assert not knowledge.check("It is the disk [nothing.md#chunk-0].", session="s1").ok


@pytest.mark.requirement("ENGINE-2", "INGEST-5", "INGEST-7")
def test_an_ingestion_is_a_synchronisation_on_every_engine_and_outlives_the_process(engine: Engine) -> None:
    with engine.open() as knowledge:
        knowledge.ingest(engine.folder)
    with engine.open(create=False) as knowledge:
        assert knowledge.ingest(engine.folder).count("unchanged") == 3
        engine.write(**{"ops/etcd.md": "# etcd\n\nWhen etcd is slow, buy a disk.\n", "hr/leave.md": ""})
        report = knowledge.ingest(engine.folder, prune=True)
        assert (report.count("updated"), report.count("deleted"), report.count("unchanged")) == (1, 1, 1)
        assert [info.doc_id for info in knowledge.documents()] == ["ops/etcd.md", "ops/redis.md"]
        assert keys(knowledge, "KB-4471 leader", mode="hybrid", where=None)[0] == "ops/etcd.md#chunk-0"
        assert "buy a disk" in knowledge.show("ops/etcd.md#chunk-0").text
        with pytest.raises(UnknownEvidence):
            knowledge.show("ops/etcd.md#chunk-1")
        assert knowledge.delete("ops/redis.md") == 1
        assert knowledge.status().documents == 1
        assert knowledge.verify().ok
        assert knowledge.verify().findings == ()


@pytest.mark.requirement("ENGINE-2", "INGEST-8")
def test_another_embedder_is_refused_on_every_engine_with_both_named(engine: Engine) -> None:
    with engine.open() as knowledge:
        knowledge.ingest(engine.folder)
    with pytest.raises(EmbedderMismatch, match="another-model"):
        engine.open(embedder=HashEmbedder(name="another-model"))


@pytest.mark.requirement("ENGINE-2", "SESSION-1", "SESSION-2")
def test_a_session_is_remembered_after_reopening_on_every_engine(engine: Engine) -> None:
    with engine.open() as knowledge:
        knowledge.ingest(engine.folder)
        knowledge.lookup("slow disk", session="s1").to_agent()
    with engine.open() as knowledge:
        again = knowledge.lookup("slow disk", session="s1").to_agent()
        assert any(item.get("already_shown") for item in items(again))
