"""The library's front door: what one Knowledge does from open to close."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from citewell import Document, Knowledge, Settings
from citewell.errors import (
    ConfigError,
    EmbedderMismatch,
    EmbedderUnavailable,
    InvalidRequest,
    ScopeDenied,
    StoreError,
    StoreVersion,
    UnknownEvidence,
)
from citewell.testing.fakes import HashEmbedder

HYBRID = Settings.of({"retrieval.search.mode": "hybrid"})


@pytest.fixture(params=["local", "memory"])
def knowledge(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Knowledge]:
    location = tmp_path / "kb" if request.param == "local" else "memory:"
    with Knowledge.open(location, settings=HYBRID, embedder=HashEmbedder()) as opened:
        yield opened


def fill(knowledge: Knowledge) -> None:
    knowledge.ingest_documents(
        [
            Document(
                "a.md", "# Keys\n\nRotate the signing key.", category="ops", scope="t1", metadata={"team": "core"}
            ),
            Document("b.md", "# Pay\n\nThe signing bonus.", category="hr", scope=["t2"]),
        ]
    )


@pytest.mark.requirement("API-1", "ID-1")
def test_what_is_ingested_is_found_in_the_next_line_and_carries_its_identity(knowledge: Knowledge) -> None:
    fill(knowledge)
    block = knowledge.lookup("rotate the signing key").evidence[0]
    assert (block.evidence_key, block.doc_id, block.chunk_index) == ("a.md#chunk-0", "a.md", 0)
    assert (block.title, block.category, block.metadata["team"]) == ("Keys", "ops", "core")
    assert "Rotate the signing key." in block.text
    assert block.digest


@pytest.mark.requirement("API-1")
def test_the_asynchronous_lookup_gives_the_same_evidence(knowledge: Knowledge) -> None:
    fill(knowledge)
    found = asyncio.run(knowledge.alookup("signing", return_n=2))
    assert found.evidence == knowledge.lookup("signing", return_n=2).evidence


@pytest.mark.requirement("API-1", "SAFE-1", "SAFE-3")
def test_show_finds_a_chunk_by_its_key_and_outside_the_scope_it_reads_as_unknown(knowledge: Knowledge) -> None:
    fill(knowledge)
    assert knowledge.show("a.md#chunk-0", scope="t1").doc_id == "a.md"
    assert knowledge.show("a.md#chunk-0").span is not None
    messages = []
    for key, scope in (("a.md#chunk-0", "t2"), ("a.md#chunk-7", None), ("nothing.md#chunk-0", "t1")):
        with pytest.raises(UnknownEvidence) as caught:
            knowledge.show(key, scope=scope)
        messages.append(caught.value.message.replace(repr(key), "KEY"))
    assert set(messages) == {"there is no evidence KEY"}
    with pytest.raises(InvalidRequest, match="no evidence key"):
        knowledge.show("a.md")


@pytest.mark.requirement("SAFE-3")
def test_scope_absent_is_everything_empty_is_nothing_and_a_label_is_what_bears_it(knowledge: Knowledge) -> None:
    fill(knowledge)

    def seen(scope: object) -> list[str]:
        return sorted(block.doc_id or "" for block in knowledge.lookup("signing", scope=scope).evidence)  # type: ignore[arg-type]  # free-form

    assert seen(None) == ["a.md", "b.md"]
    assert seen([]) == []
    assert seen("t1") == ["a.md"]
    assert seen(["t1", "t2"]) == ["a.md", "b.md"]


@pytest.mark.requirement("SAFE-3")
def test_a_store_that_requires_a_scope_refuses_lookups_and_show_without_one() -> None:
    strict = Settings.of({"store.require-scope": True})
    with Knowledge.open("memory:", settings=strict, embedder=HashEmbedder()) as knowledge:
        fill(knowledge)
        with pytest.raises(ScopeDenied):
            knowledge.lookup("signing")
        with pytest.raises(ScopeDenied):
            knowledge.show("a.md#chunk-0")
        assert knowledge.lookup("signing", scope="t1").status == "ok"


@pytest.mark.requirement("INGEST-5", "API-1")
def test_delete_documents_and_status_tell_of_the_same_store(knowledge: Knowledge) -> None:
    fill(knowledge)
    assert [info.doc_id for info in knowledge.documents()] == ["a.md", "b.md"]
    assert knowledge.status().chunks == 2
    assert knowledge.delete("a.md") == 1
    assert knowledge.delete("a.md") == 0
    assert knowledge.status().documents == 1
    assert knowledge.verify().ok


@pytest.mark.requirement("ID-7", "ID-8")
def test_delete_takes_an_id_as_ingestion_does(knowledge: Knowledge) -> None:
    knowledge.ingest_documents([Document("\u00e9", "One."), Document("7", "Two.")])
    assert knowledge.delete(" e\u0301 ") == 1
    assert knowledge.delete(7) == 1  # type: ignore[arg-type]  # an integer is an id too
    with pytest.raises(InvalidRequest, match="' '"):
        knowledge.delete(" ")


@pytest.mark.requirement("API-1")
def test_closing_leaves_the_callers_own_embedder_alone() -> None:
    class Closing(HashEmbedder):
        closed = False

        def close(self) -> None:
            self.closed = True

    embedder = Closing()
    Knowledge.open("memory:", settings=HYBRID, embedder=embedder).close()
    assert not embedder.closed


@pytest.mark.requirement("API-1", "API-7")
def test_prefixes_are_refused_for_a_model_that_takes_none() -> None:
    """Trial I79."""
    with pytest.raises(ConfigError, match="query-prefix"):
        Knowledge.open("memory:", settings=Settings.of({"embedder.query-prefix": "query: "}))


@pytest.mark.requirement("API-1", "PORT-2")
def test_a_lookup_after_close_is_a_store_error(tmp_path: Path) -> None:
    knowledge = Knowledge.open(tmp_path, settings=HYBRID, embedder=HashEmbedder())
    fill(knowledge)
    knowledge.close()
    with pytest.raises(StoreError):
        knowledge.lookup("signing")


@pytest.mark.requirement("INGEST-8")
def test_a_store_remembers_its_embedder_and_refuses_another(tmp_path: Path) -> None:
    """Trial I133."""
    with Knowledge.open(tmp_path, settings=HYBRID, embedder=HashEmbedder()) as knowledge:
        fill(knowledge)
    for other in (HashEmbedder(8), HashEmbedder(name="other"), HashEmbedder(fingerprint="2")):
        with pytest.raises(EmbedderMismatch, match="hash-words"):
            Knowledge.open(tmp_path, settings=HYBRID, embedder=other)
    with Knowledge.open(tmp_path, settings=HYBRID, embedder=HashEmbedder()) as knowledge:
        assert knowledge.lookup("rotate the signing key").status == "ok"


@pytest.mark.requirement("INGEST-8")
def test_a_store_of_another_analyser_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Knowledge.open(tmp_path, settings=HYBRID, embedder=HashEmbedder()) as knowledge:
        fill(knowledge)
    monkeypatch.setattr("citewell.app.filling.ANALYZER_VERSION", "another")
    with pytest.raises(StoreVersion, match="another"):
        Knowledge.open(tmp_path, settings=HYBRID, embedder=HashEmbedder())


@pytest.mark.requirement("INGEST-8", "PORT-2")
def test_a_store_opens_and_answers_lexically_while_its_endpoint_is_down(tmp_path: Path) -> None:
    class Gone(HashEmbedder):
        @property
        def fingerprint(self) -> str:
            raise EmbedderUnavailable("no answer")

        @fingerprint.setter
        def fingerprint(self, value: str) -> None:
            pass

        def embed_query(self, text: str) -> NDArray[np.float32]:
            raise EmbedderUnavailable("no answer")

    with Knowledge.open(tmp_path, settings=HYBRID, embedder=HashEmbedder()) as knowledge:
        fill(knowledge)
    with Knowledge.open(tmp_path, settings=HYBRID, embedder=Gone()) as knowledge:
        result = knowledge.lookup("rotate the signing key")
    assert result.evidence[0].evidence_key == "a.md#chunk-0"
    assert result.degraded == ("dense: no answer",)


@pytest.mark.requirement("API-1")
def test_an_unknown_embedder_is_a_configuration_error_with_the_way_out() -> None:
    with pytest.raises(ConfigError, match=r"embedder\.url"):
        Knowledge.open("memory:", settings=Settings.of({"embedder.name": "gte"}))


@pytest.mark.requirement("PROJ-2", "API-1")
def test_what_an_agent_sees_names_the_evidence_key_and_keeps_to_the_settings_budget() -> None:
    settings = Settings.of({"projection.max-chars-per-item": 12, "retrieval.search.mode": "hybrid"})
    with Knowledge.open("memory:", settings=settings, embedder=HashEmbedder()) as knowledge:
        fill(knowledge)
        seen = knowledge.lookup("rotate the signing key").to_agent()
    items = seen["evidence"]
    assert isinstance(items, list)
    assert items[0]["document_id"] == "a.md#chunk-0"
    assert all(len(item["content"]) <= 12 for item in items)


@pytest.mark.requirement("LEX-3", "LEX-1")
@pytest.mark.parametrize("query", ["连接池", "连接池耗尽", "重启网关", "网关", "Redis连接超时", "Redis 超时"])
def test_chinese_is_found_by_the_lexical_path_alone(knowledge: Knowledge, query: str) -> None:
    """Trial I81."""
    sentences = "数据库连接池耗尽时先扩容再重启网关。遇到Ｒｅｄｉｓ连接超时就检查哨兵。"
    knowledge.ingest_documents([Document("zh.md", sentences, format="text"), Document("en.md", "The pool is full.")])
    lexical = Settings.of({"retrieval.search.mode": "hybrid", "retrieval.search.paths": ["lexical"]})
    only = Knowledge(knowledge._store, knowledge.embedder, lexical)
    assert [block.doc_id for block in only.lookup(query).evidence] == ["zh.md"]
    only._search.close()


@pytest.mark.requirement("LEX-1", "LEX-2")
@pytest.mark.parametrize(
    "query", ["KB-4471", "4471", "CVE-2031-0042", "0042", "max_conn", "conn", "fetchTableRow", "table", 'KB -4471 OR "']
)
def test_identifiers_are_found_whole_and_in_parts_and_a_query_is_never_syntax(knowledge: Knowledge, query: str) -> None:
    """Trial I83."""
    knowledge.ingest_documents(
        [
            Document("ids.md", "See KB-4471 and CVE-2031-0042; raise max_conn, call fetchTableRow."),
            Document("en.md", "Nothing of the kind here."),
        ]
    )
    lexical = Settings.of({"retrieval.search.mode": "hybrid", "retrieval.search.paths": ["lexical"]})
    only = Knowledge(knowledge._store, knowledge.embedder, lexical)
    assert [block.doc_id for block in only.lookup(query).evidence] == ["ids.md"]
    only._search.close()


@pytest.mark.requirement("SCORE-5")
def test_a_configured_floor_can_be_switched_off_for_one_call() -> None:
    floored = Settings.of({"rag.min-similarity": 1.0, "retrieval.search.mode": "hybrid"})
    with Knowledge.open("memory:", settings=floored, embedder=HashEmbedder()) as knowledge:
        fill(knowledge)
        assert knowledge.lookup("bonus").status == "below_similarity"
        assert knowledge.lookup("bonus", min_similarity="off").status == "ok"
