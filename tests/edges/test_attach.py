"""Attached collections through the library and the command line: right keys, scores, filters, and nothing written."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from foreign_collections import LAYOUTS, MAPS, Fields, Layout, Passage, fill
from numpy.typing import NDArray
from pymilvus import DataType
from typer.testing import CliRunner, Result

from citewell import Knowledge, Settings
from citewell.adapters.milvus.client import Client
from citewell.adapters.milvus.foreign.collection import Collection
from citewell.cli import app
from citewell.errors import EmbedderMismatch, InvalidRequest, StoreError, StoreUnreachable, StoreVersion
from citewell.foreign import Attached, attach
from citewell.identity import format_key as key
from citewell.model import Filters, Mode
from citewell.scores import normalize_ip, normalize_l2
from citewell.testing.fakes import HashEmbedder
from citewell.testing.search_base import MODES

pytestmark = pytest.mark.requirement("ENGINE-3")

EMBEDDER = HashEmbedder(64)
SETTINGS = Settings.of({"rag.max-chunks-per-document": 0, "rag.hints": False})
TEXTS = {
    "etcd.md": (
        "etcd loses its leader when the disk is slow",
        "restart etcd one node at a time",
        "error E1207 of etcd",
    ),
    "kafka.md": ("a kafka broker leaves the cluster", "restart the broker with its old identity"),
    "pay.md": ("salaries are paid on the last day",),
}
CATEGORIES = {"etcd.md": "ops", "kafka.md": "ops", "pay.md": "hr"}
SCOPES = {"etcd.md": ("team-a", "team-b"), "kafka.md": ("team-b",), "pay.md": None}


def passages(scale: Callable[[int], float] = lambda _: 1.0) -> list[Passage]:
    """Six of three documents, in order; each vector as long as its number says."""
    found: list[Passage] = []
    for doc_id, texts in TEXTS.items():
        start = 0
        for index, text in enumerate(texts):
            vector = EMBEDDER.embed_query(text) * np.float32(scale(len(found)))
            metadata = {"lang": "en" if index else "de", "level": index}
            found.append(
                Passage(doc_id, index, text, vector, CATEGORIES[doc_id], SCOPES[doc_id], metadata, start=start)
            )
            start += len(text)
    return found


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A Milvus Lite with the same passages in every layout, which no test writes to."""
    lite = Client(f"milvus:{tmp_path_factory.mktemp('theirs') / 'theirs.db'}", timeout_s=60)
    for name, layout in LAYOUTS.items():
        fill(lite, _collection(name), layout, passages(), 64)
    yield lite
    lite.close()


def _collection(layout: str) -> str:
    return layout.replace("-", "_")


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Client]:
    """A Milvus Lite of the test's own."""
    lite = Client(f"milvus:{tmp_path / 'own.db'}", timeout_s=60)
    yield lite
    lite.close()


def attached(
    client: Client, layout: str, folder: Path, *, settings: Settings = SETTINGS, embedder: HashEmbedder = EMBEDDER
) -> Attached:
    name, mapping = _collection(layout), MAPS[layout]
    return attach(client.location, name, folder, mapping=mapping, settings=settings, embedder=embedder)


def opened(folder: Path, embedder: HashEmbedder = EMBEDDER) -> Knowledge:
    return Knowledge.open(folder, settings=SETTINGS, embedder=embedder)


def _expected_keys(client: Client, layout: str) -> dict[str, str]:
    """Text -> evidence key, by what each tool leaves of a chunk's identity."""
    rows = {text: (doc, index) for doc, texts in TEXTS.items() for index, text in enumerate(texts)}
    numbers = {text: number for number, text in enumerate(rows)}
    if layout in ("haystack", "langchain-dynamic"):
        return {text: key(doc, index) for text, (doc, index) in rows.items()}
    if layout == "spring-ai":
        return {text: f"vector:00000000-0000-0000-0000-{numbers[text]:012}" for text in rows}
    if layout == "llama-index":
        return {text: f"vector:node-{numbers[text]}" for text in rows}
    said = client.call("query", _collection(layout), filter="pk >= 0", output_fields=["pk", "text"])
    return {row["text"]: f"vector:{row['pk']}" for row in said}


PRESETS = {
    "spring-ai": "spring-ai",
    "langchain": "langchain",
    "langchain-dynamic": "langchain",
    "llama-index": "llama-index",
    "haystack": "haystack",
}


@pytest.mark.requirement("ID-3", "ID-4", "SCORE-2", "SCORE-3")
@pytest.mark.parametrize("layout", PRESETS)
def test_what_a_tool_wrote_is_known_by_its_fields_and_answers_with_right_keys_and_scores(
    client: Client, tmp_path: Path, layout: str
) -> None:
    found = attached(client, layout, tmp_path / "kb")
    assert (found.preset, found.rows, found.unit) == (PRESETS[layout], 6, True)
    assert any(PRESETS[layout] in note for note in found.notes)
    question = "etcd leader disk slow"
    query = EMBEDDER.embed_query(question)
    expected = sorted(
        ((-float(np.dot(query, p.vector)), _expected_keys(client, layout)[p.text], p.text) for p in passages()),
    )
    with opened(tmp_path / "kb") as kb:
        dense = kb.lookup(question, return_n=6)
        hybrid = kb.lookup(question, return_n=6, mode="hybrid")
    similarity = {block.text: block.similarity for block in dense.evidence}
    assert similarity == {text: pytest.approx(-score, abs=1e-6) for score, _, text in expected}
    assert {block.text: block.evidence_key for block in dense.evidence} == {text: name for _, name, text in expected}
    assert {block.text: block.similarity for block in hybrid.evidence} == similarity
    best = hybrid.evidence[0]
    assert (best.text, best.doc_id) == (TEXTS["etcd.md"][0], "etcd.md")
    assert [reason.path for reason in best.reasons] == ["dense", "lexical"]
    assert hybrid.degraded == ()


@pytest.mark.requirement("SAFE-1")
@pytest.mark.parametrize("layout", PRESETS)
@pytest.mark.parametrize("mode", MODES)
def test_filters_hold_on_every_path(client: Client, tmp_path: Path, layout: str, mode: Mode) -> None:
    attached(client, layout, tmp_path / "kb")
    with opened(tmp_path / "kb") as kb:
        hr = kb.lookup("restart etcd salaries", mode=mode, category="hr", return_n=6)
        assert {block.doc_id for block in hr.evidence} >= {"pay.md"}
        if mode == "dense":
            assert {block.doc_id for block in hr.evidence} == {"pay.md"}
        if layout in ("spring-ai", "langchain-dynamic"):
            level = kb.lookup("restart etcd salaries", mode=mode, where={"level": 1}, return_n=6)
            assert {block.text for block in level.evidence} == {TEXTS["etcd.md"][1], TEXTS["kafka.md"][1]}
            one = kb.lookup("restart etcd salaries", mode=mode, scope="team-a", return_n=6)
            assert {block.doc_id for block in one.evidence} == {"etcd.md"}


@pytest.mark.requirement("SAFE-3")
@pytest.mark.parametrize("mode", MODES)
def test_where_no_field_holds_labels_whoever_gives_a_scope_sees_nothing(
    client: Client, tmp_path: Path, mode: Mode
) -> None:
    found = attached(client, "llama-index", tmp_path / "kb")
    assert "scope is not mapped: whoever gives a scope finds nothing" in found.notes
    with opened(tmp_path / "kb") as kb:
        assert kb.lookup("etcd", mode=mode, scope="team-a").status == "no_match"
        assert kb.lookup("etcd", mode=mode).status == "ok"


@pytest.mark.parametrize(
    ("layout", "mapping", "named", "there"),
    [
        ("langchain", ("docId=metadata.source",), "'metadata'", "source (VARCHAR)"),
        ("langchain", ("text=page_content",), "'page_content'", "text (VARCHAR)"),
        ("langchain", ("text=pk",), "text=pk is INT64", "text (VARCHAR)"),
        ("langchain", ("vector=text",), "'text'", "vector (FLOAT_VECTOR)"),
        ("langchain", ("vector=dense",), "'dense'", "vector (FLOAT_VECTOR)"),
        ("langchain", ("sparse=vector",), "sparse=vector", "words are derived"),
        ("spring-ai", ("docId=metadata.file",), "docId=metadata.file", "metadata.source"),
        ("spring-ai", ("docId=metadata.source.path",), "metadata.source.path", "metadata.source"),
        ("llama-index", ("title=_node_content.titel",), "title=_node_content.titel", "_node_content.start_char_idx"),
        ("langchain-dynamic", ("docId=file",), "docId=file", "source"),
        ("plain", (), "text", "body (VARCHAR)"),
    ],
)
def test_a_wrong_mapping_is_refused_with_the_field_and_those_that_there_are(
    client: Client, tmp_path: Path, layout: str, mapping: tuple[str, ...], named: str, there: str
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        attach(
            client.location,
            _collection(layout),
            tmp_path / "kb",
            mapping=mapping,
            settings=SETTINGS,
            embedder=EMBEDDER,
        )
    assert named in refused.value.message
    assert there in refused.value.way_out
    assert not (tmp_path / "kb").exists()


def test_a_collection_that_is_not_there_is_refused_with_those_that_are(client: Client, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="'nothing'") as refused:
        attach(client.location, "nothing", tmp_path / "kb", settings=SETTINGS, embedder=EMBEDDER)
    assert "llama_index" in refused.value.way_out


@pytest.mark.requirement("ENGINE-4")
def test_a_database_that_is_not_there_is_not_made(own: Client, tmp_path: Path) -> None:
    missing = tmp_path / "missing.db"
    with pytest.raises(StoreUnreachable, match=r"missing\.db"):
        attach(f"milvus:{missing}", "theirs", tmp_path / "kb", settings=SETTINGS, embedder=EMBEDDER)
    fill(own, "spring_ai", LAYOUTS["spring-ai"], passages(), 64)
    attached(own, "spring-ai", tmp_path / "kb")
    file = tmp_path / "kb" / "attachment.toml"
    file.write_text(file.read_text("utf-8").replace("own.db", "missing.db"), "utf-8")
    with pytest.raises(StoreUnreachable, match=r"missing\.db"):
        opened(tmp_path / "kb")
    assert not missing.exists()


@pytest.mark.requirement("INGEST-8")
def test_an_embedder_of_another_length_is_refused_and_so_is_another_one_later(client: Client, tmp_path: Path) -> None:
    with pytest.raises(EmbedderMismatch, match=r"64 dimensions.*hash-words makes such of 32"):
        attached(client, "spring-ai", tmp_path / "kb", embedder=HashEmbedder(32))
    attached(client, "spring-ai", tmp_path / "kb")
    with pytest.raises(EmbedderMismatch, match="fingerprint 2") as refused:
        opened(tmp_path / "kb", HashEmbedder(64, fingerprint="2"))
    assert "citewell reindex" in refused.value.way_out


def test_vectors_that_the_embedder_cannot_have_made_raise_a_doubt(client: Client, tmp_path: Path) -> None:
    class Other(HashEmbedder):
        def embed_query(self, text: str) -> NDArray[np.float32]:
            return super().embed_query(text[::-1])

    found = attached(client, "spring-ai", tmp_path / "kb", embedder=Other(64, name="other"))
    assert any("don't look like those of other" in note for note in found.notes)
    assert not any("look like" in note for note in attached(client, "spring-ai", tmp_path / "kb").notes)


def test_what_would_write_is_refused_with_the_way_out(client: Client, tmp_path: Path) -> None:
    attached(client, "spring-ai", tmp_path / "kb")
    (tmp_path / "new.md").write_text("# New\n\nText.\n", "utf-8")
    with opened(tmp_path / "kb") as kb:
        for write in (lambda: kb.ingest(tmp_path / "new.md"), lambda: kb.delete("etcd.md")):
            with pytest.raises(StoreError, match="read only") as refused:
                write()
            assert "citewell reindex" in refused.value.way_out
        assert kb.status().chunks == 6


def test_the_catalogue_groups_rows_by_document(client: Client, tmp_path: Path) -> None:
    attached(client, "spring-ai", tmp_path / "kb")
    with opened(tmp_path / "kb") as kb:
        infos = {info.doc_id: info for info in kb.documents()}
        assert {name: info.chunks for name, info in infos.items()} == {"etcd.md": 3, "kafka.md": 2, "pay.md": 1}
        assert infos["kafka.md"].metadata == {"source": "kafka.md", "category": "ops", "labels": ["team-b"]}
        assert infos["etcd.md"].scope == ("team-a", "team-b")
        status = kb.status()
        assert (status.documents, status.chunks, status.engine) == (3, 6, "milvus (attached)")
        assert dict(status.details)["derived"] == "up to date by the number of rows"
        shown = kb.show("vector:00000000-0000-0000-0000-000000000003")
        assert (shown.text, shown.doc_id) == (TEXTS["kafka.md"][0], "kafka.md")
        assert kb.verify().ok


@pytest.mark.requirement("SCORE-2")
@pytest.mark.parametrize("metric", ["L2", "IP", "COSINE"])
def test_vectors_of_any_length_are_compared_by_the_collections_metric(own: Client, tmp_path: Path, metric: str) -> None:
    layout = replace(LAYOUTS["spring-ai"], vector=("embedding", metric))
    rows = passages(lambda number: 0.5 + number)
    fill(own, "spring_ai", layout, rows, 64)
    found = attached(own, "spring-ai", tmp_path / "kb")
    assert (found.metric, found.unit) == (metric, False)
    question = "restart the etcd broker"
    query = EMBEDDER.embed_query(question).astype(np.float64)

    def similarity(vector: NDArray[np.float32]) -> float:
        stored = vector.astype(np.float64)
        if metric == "L2":
            return normalize_l2(float(np.square(query - stored).sum()), unit=False)
        product = float((query * stored).sum())
        return normalize_ip(product, unit=False) if metric == "IP" else product / float(np.linalg.norm(stored))

    expected = {row.text: pytest.approx(similarity(row.vector), abs=1e-6) for row in rows}
    with opened(tmp_path / "kb") as kb:
        for mode in MODES:
            result = kb.lookup(question, mode=mode, return_n=6)
            assert {block.text: block.similarity for block in result.evidence} == expected


def test_rows_that_come_and_go_are_noticed_by_their_number_and_replaced_ones_by_verify(
    own: Client, tmp_path: Path
) -> None:
    layout = LAYOUTS["spring-ai"]
    fill(own, "spring_ai", layout, passages(), 64)
    attached(own, "spring-ai", tmp_path / "kb")
    extra = replace(passages()[0], doc_id="new.md", text="the walrus sings at dawn")
    with opened(tmp_path / "kb") as kb:
        assert kb.lookup("walrus", mode="hybrid").trace.paths[-1].hits == 0
        own.call("insert", "spring_ai", [layout.row(extra, 99)])
        own.call("flush", "spring_ai")
        assert dict(kb.status().details)["derived"] == "stale: made of 6 rows, 7 are there"
        (found,) = [block for block in kb.lookup("walrus", mode="hybrid").evidence if block.lexical_score]
        assert (found.text, found.doc_id) == (extra.text, "new.md")
        own.call("upsert", "spring_ai", [layout.row(replace(extra, text="the otter sleeps at noon"), 99)])
        own.call("flush", "spring_ai")
        assert kb.lookup("otter", mode="hybrid").trace.paths[-1].hits == 0
        (finding,) = kb.verify().findings
        assert (finding.kind, finding.evidence_key) == ("stale", found.evidence_key)
        assert kb.verify(repair=True).ok
        assert kb.lookup("otter", mode="hybrid").trace.paths[-1].hits == 1
        own.call("delete", "spring_ai", filter=f'doc_id == "{found.evidence_key.removeprefix("vector:")}"')
        assert kb.lookup("otter", mode="hybrid").trace.paths[-1].hits == 0
        assert len(list(kb.documents())) == 3


def test_rows_that_share_a_key_are_one_chunk_and_verify_names_them(own: Client, tmp_path: Path) -> None:
    twice = [*passages(), replace(passages()[0], text="etcd loses its leader, says a second row")]
    fill(own, "haystack", LAYOUTS["haystack"], twice, 64)
    attached(own, "haystack", tmp_path / "kb")
    with opened(tmp_path / "kb") as kb:
        for mode in MODES:
            result = kb.lookup("etcd leader", mode=mode, return_n=10)
            names = [block.evidence_key for block in result.evidence]
            assert len(set(names)) == len(names) == 6
        (finding,) = kb.verify(repair=True).findings
        assert (finding.kind, finding.evidence_key, finding.detail) == (
            "damaged", key("etcd.md", 0), "2 rows have this key",
        )  # fmt: skip
        assert dict(kb.status().details)["rows_that_share_a_key"] == 1


def test_a_filter_that_the_engine_cannot_apply_is_never_silently_short(
    own: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    near = [replace(p, doc_id=f"{p.doc_id}-{n}", category="crowd", title="T") for n in range(8) for p in passages()]
    far = replace(passages()[5], doc_id="far.md", category="rare")
    fill(own, "json_text", LAYOUTS["json-text"], [*near, far], 64)
    attached(own, "json-text", tmp_path / "kb")
    monkeypatch.setattr("citewell.adapters.milvus.foreign.snapshot.MAX_WIDTH", 20)
    with opened(tmp_path / "kb") as kb:
        result = kb.lookup("etcd leader disk", category="rare", retrieve_k=5)
        assert [block.doc_id for block in result.evidence] == ["far.md"]
        expected = float(np.dot(EMBEDDER.embed_query("etcd leader disk"), far.vector))
        assert result.evidence[0].similarity == pytest.approx(expected, abs=1e-6)
        assert len(kb.lookup("etcd leader disk", category="crowd", retrieve_k=48, return_n=48).evidence) == 48


def test_equal_scores_are_ordered_by_key_at_the_cut_too(own: Client, tmp_path: Path) -> None:
    alike = [replace(passages()[0], doc_id=f"doc-{n:03}") for n in range(60, 0, -1)]
    fill(own, "haystack", LAYOUTS["haystack"], alike, 64)
    attached(own, "haystack", tmp_path / "kb")
    with opened(tmp_path / "kb") as kb:
        for mode in MODES:
            result = kb.lookup("etcd leader", mode=mode, retrieve_k=5, return_n=5)
            assert [block.doc_id for block in result.evidence] == [f"doc-{n:03}" for n in range(1, 6)]


@pytest.mark.parametrize("odd", [0.0, float("nan")])
def test_a_vector_that_can_not_be_compared_does_not_hide_a_tie_at_the_cut(
    own: Client, tmp_path: Path, odd: float
) -> None:
    """An engine may rank it before the rows that tie, and it says nothing of those behind it."""
    layout = replace(LAYOUTS["json"], vector=(LAYOUTS["json"].vector[0], "COSINE"))
    query = np.eye(1, 64, dtype=np.float32)[0]
    across = np.eye(1, 64, 1, dtype=np.float32)[0]
    rows = [Passage("odd.md", 0, "odd", np.full(64, odd, dtype=np.float32))]
    rows += [Passage(f"{n:02}.md", 0, "like all others", across) for n in reversed(range(60))]
    fill(own, "theirs", layout, rows, 64)
    attach(own.location, "theirs", tmp_path / "kb", mapping=MAPS["json"][:2], settings=SETTINGS, embedder=EMBEDDER)
    with opened(tmp_path / "kb") as kb, kb._store.snapshot() as view:
        assert [hit.key for hit in view.dense(query, 5, Filters())] == [key(f"{n:02}.md", 0) for n in range(5)]


def test_too_many_rows_for_derived_words_degrade_the_answer_and_say_so(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("derived", "store"):
        monkeypatch.setattr(f"citewell.adapters.milvus.foreign.{module}.MOST_ROWS", 3)
    found = attached(client, "spring-ai", tmp_path / "kb")
    assert any("more than 3 rows" in note for note in found.notes)
    with opened(tmp_path / "kb") as kb:
        result = kb.lookup("etcd leader", mode="hybrid")
        assert result.status == "ok"
        assert any("6 rows" in cause and "lexical" in cause for cause in result.degraded)
        assert dict(kb.status().details)["derived"] == "not made: more than 3 rows"
        with pytest.raises(StoreError, match="6 rows") as refused:
            list(kb.documents())
        assert "citewell reindex" in refused.value.way_out


@pytest.mark.requirement("LEX-2")
def test_bm25_of_the_engine_is_used_where_it_is_made_of_the_text(client: Client, tmp_path: Path) -> None:
    found = attached(client, "bm25", tmp_path / "kb")
    assert found.lexical == "the engine's BM25 over body (sparse)"
    with opened(tmp_path / "kb") as kb:
        result = kb.lookup("E1207", mode="hybrid")
        (best,) = [block for block in result.evidence if block.lexical_score]
        assert best.evidence_key == key("etcd.md", 2)
        assert best.lexical_score is not None
        assert best.lexical_score > 0


def test_sparse_vectors_of_an_encoder_that_is_not_here_are_left_alone_and_named(own: Client, tmp_path: Path) -> None:
    plain = LAYOUTS["haystack"]

    def add_fields(schema: Fields, dimensions: int) -> None:
        plain.add_fields(schema, dimensions)
        schema.add_field("splade", DataType.SPARSE_FLOAT_VECTOR)

    def row(passage: Passage, number: int) -> dict[str, object]:
        return plain.row(passage, number) | {"splade": {1: 0.5}}

    indexes = Layout(add_fields, row, plain.vector, dynamic=True, sparse_ip="splade")
    fill(own, "haystack", indexes, passages(), 64)
    found = attached(own, "haystack", tmp_path / "kb")
    assert found.lexical == "derived words; splade holds vectors of an encoder that Citewell has not"
    with opened(tmp_path / "kb") as kb:
        (best,) = [block for block in kb.lookup("E1207", mode="hybrid").evidence if block.lexical_score]
        assert best.evidence_key == key("etcd.md", 2)


@pytest.mark.requirement("PROJ-6")
def test_an_empty_collection_is_an_empty_store(own: Client, tmp_path: Path) -> None:
    fill(own, "spring_ai", LAYOUTS["spring-ai"], [], 64)
    found = attached(own, "spring-ai", tmp_path / "kb")
    assert "the collection is empty, so the mapping could not be tried" in found.notes
    with opened(tmp_path / "kb") as kb:
        assert kb.lookup("etcd", mode="hybrid").status == "empty_store"


@pytest.mark.requirement("ENGINE-4")
def test_a_collection_that_was_made_anew_otherwise_is_refused(own: Client, tmp_path: Path) -> None:
    fill(own, "spring_ai", LAYOUTS["spring-ai"], passages(), 64)
    attached(own, "spring-ai", tmp_path / "kb")
    own.call("drop_collection", "spring_ai")
    fill(own, "spring_ai", replace(LAYOUTS["spring-ai"], vector=("embedding", "COSINE")), passages(), 64)
    with pytest.raises(StoreVersion, match=r"was L2 .* is COSINE"):
        opened(tmp_path / "kb")
    own.call("drop_collection", "spring_ai")
    with pytest.raises(InvalidRequest, match="'spring_ai'"):
        opened(tmp_path / "kb")


def test_the_token_is_not_recorded(client: Client, tmp_path: Path) -> None:
    secret = Settings.of({"store.token": "root:hunter2", "rag.max-chunks-per-document": 0})
    attached(client, "spring-ai", tmp_path / "kb", settings=secret)
    assert all(b"hunter2" not in file.read_bytes() for file in (tmp_path / "kb").iterdir())


@pytest.mark.requirement("SESSION-2")
def test_sessions_are_kept_beside_the_attachment(client: Client, tmp_path: Path) -> None:
    attached(client, "spring-ai", tmp_path / "kb")
    with opened(tmp_path / "kb") as kb:
        kb.lookup("etcd leader", session="s").to_agent()
    with opened(tmp_path / "kb") as kb:
        assert kb.lookup("etcd leader", session="s").status == "all_already_shown"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture
def own_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    for module in ("app.knowledge", "foreign"):
        monkeypatch.setattr(f"citewell.{module}.open_embedder", lambda *_: EMBEDDER)


@pytest.mark.requirement("API-2")
@pytest.mark.usefixtures("own_embedder")
def test_the_commands_attach_look_up_and_refuse(client: Client, tmp_path: Path) -> None:
    kb = str(tmp_path / "kb")
    said = run("attach", client.location, "spring_ai", "--map", "scope=metadata.labels", "--kb", kb)
    assert said.exit_code == 0, said.output
    assert "6 rows, 64 dimensions, L2, of length 1" in said.stdout
    assert f"--kb {kb}" in said.stdout.replace("\n", "")
    again = json.loads(run("attach", client.location, "spring_ai", "--kb", kb, "--no-index", "--json").stdout)
    assert (again["preset"], again["rows"]) == ("spring-ai", 6)
    found = json.loads(run("lookup", "etcd leader", "--mode", "hybrid", "--kb", kb, "--json").stdout)
    assert found["evidence"][0]["doc_id"] == "etcd.md"
    assert run("list", "--kb", kb).exit_code == 0
    assert run("delete", "etcd.md", "--kb", kb).exit_code == 3
    wrong = run("attach", client.location, "spring_ai", "--map", "docId=metadata.file", "--kb", str(tmp_path / "no"))
    assert wrong.exit_code == 2
    assert "metadata.file" in wrong.stderr
    assert run("attach", client.location, "spring_ai", "--preset", "nonsense", "--kb", kb).exit_code == 2


def test_a_lookup_does_not_wait_for_the_scan_of_a_large_collection(
    own: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(own, "spring_ai", LAYOUTS["spring-ai"], passages(), 64)
    attached(own, "spring-ai", tmp_path / "kb")
    monkeypatch.setattr("citewell.adapters.milvus.foreign.store.WAITED_FOR", 3)
    with opened(tmp_path / "kb") as kb:
        new = replace(passages()[0], text="the walrus sings at dawn")
        own.call("insert", "spring_ai", [LAYOUTS["spring-ai"].row(new, 99)])
        own.call("flush", "spring_ai")
        scanning = threading.Event()
        scan = Collection.scan

        def late(collection: Collection, *, vectors: bool = False) -> Iterator[list[Any]]:
            scanning.wait(60)
            return scan(collection, vectors=vectors)

        monkeypatch.setattr(Collection, "scan", late)
        assert kb.lookup("walrus", mode="hybrid").trace.paths[-1].hits == 0
        assert dict(kb.status().details)["derived"] == "stale: made of 6 rows, 7 are there"
        assert kb.lookup("etcd leader", mode="hybrid").trace.paths[-1].hits > 0
        scanning.set()
        thread = kb._store._behind._thread  # type: ignore[attr-defined]  # it is an attached one
        thread.join(60)
        assert kb.lookup("walrus", mode="hybrid").trace.paths[-1].hits == 1


def test_closing_stops_a_scan_and_leaves_what_was_derived(
    own: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(own, "spring_ai", LAYOUTS["spring-ai"], passages(), 64)
    attached(own, "spring-ai", tmp_path / "kb")
    monkeypatch.setattr("citewell.adapters.milvus.foreign.store.WAITED_FOR", 3)
    own.call("insert", "spring_ai", [LAYOUTS["spring-ai"].row(passages()[0], 99)])
    own.call("flush", "spring_ai")
    going, closing = threading.Event(), threading.Event()
    scan = Collection.scan

    def held(collection: Collection, *, vectors: bool = False) -> Iterator[list[Any]]:
        going.set()
        closing.wait(60)
        return scan(collection, vectors=vectors)

    kb = opened(tmp_path / "kb")
    monkeypatch.setattr(Collection, "scan", held)
    kb.lookup("etcd", mode="hybrid")
    assert going.wait(60)
    behind = kb._store._behind  # type: ignore[attr-defined]  # it is an attached one
    behind._closed.set()
    closing.set()
    kb.close()
    assert not behind._thread.is_alive()
    monkeypatch.undo()
    with opened(tmp_path / "kb") as again:
        assert dict(again.status().details)["derived"] == "stale: made of 6 rows, 7 are there"


@pytest.mark.requirement("SAFE-2")
def test_primary_keys_of_any_kind_are_scanned_read_and_shown(
    own: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ['x" or id >= 0 or "x', "it's", "back\\slash", "中文", "🦊", "a", "B", "line\nbreak", "z" * 300, "10", "9"]
    rows = [replace(passages()[0], doc_id=name, text=f"walrus {number}") for number, name in enumerate(names)]
    layout = replace(LAYOUTS["spring-ai"], row=lambda p, n: LAYOUTS["spring-ai"].row(p, n) | {"doc_id": names[n]})
    fill(own, "spring_ai", layout, rows, 64)
    monkeypatch.setattr("citewell.adapters.milvus.foreign.collection._PAGE", 3)
    attached(own, "spring-ai", tmp_path / "kb")
    with opened(tmp_path / "kb") as kb:
        for mode in MODES:
            found = kb.lookup("walrus", mode=mode, return_n=20)
            assert {block.evidence_key for block in found.evidence} == {f"vector:{name}" for name in names}
        assert {kb.show(f"vector:{name}").text for name in names} == {row.text for row in rows}
        assert kb.verify().ok
        assert len(list(kb.documents())) == len(names)


def test_keys_that_the_engine_counts_are_scanned_page_by_page(
    own: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [replace(passages()[0], doc_id=f"doc-{n}", text=f"walrus {n}") for n in range(25)]
    fill(own, "langchain", LAYOUTS["langchain"], rows, 64)
    monkeypatch.setattr("citewell.adapters.milvus.foreign.collection._PAGE", 7)
    attached(own, "langchain", tmp_path / "kb")
    with opened(tmp_path / "kb") as kb:
        assert len(list(kb.documents())) == 25
        assert kb.verify().ok


@pytest.mark.requirement("ENGINE-4")
def test_a_first_scan_that_another_process_is_making_is_named(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attach(client.location, "spring_ai", tmp_path / "kb", index=False, settings=SETTINGS, embedder=EMBEDDER)
    monkeypatch.setattr("citewell.adapters.milvus.foreign.derived._PATIENCE_S", 0.0)
    with opened(tmp_path / "kb") as kb:
        assert kb.lookup("etcd").status == "ok"
        kb._store._derived.known()  # type: ignore[attr-defined]  # it is an attached one
        with closing(sqlite3.connect(tmp_path / "kb" / "derived.db", isolation_level=None)) as other:
            other.execute("CREATE TABLE held (x)")
            other.execute("BEGIN IMMEDIATE")
            result = kb.lookup("etcd leader", mode="hybrid")
            assert result.status == "ok"
            assert any("another process has scanned" in cause for cause in result.degraded)
            other.execute("ROLLBACK")
        assert kb.lookup("etcd leader", mode="hybrid").degraded == ()


@pytest.mark.slow
@pytest.mark.parametrize("index", ["HNSW", "IVF_FLAT"])
def test_no_filter_hides_rows_from_an_index_that_is_not_exact(milvus_uri: str, tmp_path: Path, index: str) -> None:
    server = Client(milvus_uri, timeout_s=60)
    chance = np.random.default_rng(7)
    vectors = chance.standard_normal((4_000, 64)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = [
        Passage(f"doc-{n}", 0, f"text {n}", vectors[n], metadata={"tenth": n % 10, "rare": n % 400})
        for n in range(4_000)
    ]
    layout, name = replace(LAYOUTS["json"], index=index), f"theirs_{index.lower()}_{os.getpid()}"
    fill(server, name, layout, rows, 64)
    attach(server.location, name, tmp_path / "kb", mapping=MAPS["json"][:2], settings=SETTINGS, embedder=EMBEDDER)
    found = wanted = 0
    with opened(tmp_path / "kb") as kb, kb._store.snapshot() as view:
        for query in vectors[:20]:
            for where in ((), (("tenth", 3),), (("rare", 33),)):
                allowed = [n for n in range(4_000) if all(rows[n].metadata[field] == value for field, value in where)]
                best = sorted(allowed, key=lambda n: -float(np.dot(query, vectors[n])))[:20]
                hits = view.dense(query, 20, Filters(where=where))
                assert len(hits) == len(best)
                found += len({hit.key for hit in hits} & {key(f"doc-{n}", 0) for n in best})
                wanted += len(best)
    server.call("drop_collection", name)
    server.close()
    assert found / wanted >= 0.99


@pytest.mark.slow
def test_rows_that_were_inserted_twice_are_found_on_a_server_that_keeps_both(milvus_uri: str, tmp_path: Path) -> None:
    """Milvus 2.3 gives a search no vectors then, and says that its result is incomplete."""
    server, name, layout = Client(milvus_uri, timeout_s=60), f"twice_{os.getpid()}", LAYOUTS["spring-ai"]
    rows = passages()
    fill(server, name, layout, rows, 64)
    server.call("insert", name, [layout.row(rows[0], 0), layout.row(rows[1], 1)])
    attach(server.location, name, tmp_path / "kb", mapping=MAPS["spring-ai"], settings=SETTINGS, embedder=EMBEDDER)
    with opened(tmp_path / "kb") as kb:
        found = kb.lookup(rows[0].text, mode="hybrid")
        assert found.degraded == ()
        assert found.evidence[0].text == rows[0].text
        assert found.evidence[0].similarity == pytest.approx(1.0, abs=1e-6)
        assert len({each.evidence_key for each in found.evidence}) == len(found.evidence) == 5
    server.call("drop_collection", name)
    server.close()


@pytest.mark.requirement("ENGINE-4")
def test_the_time_that_a_call_may_take_is_that_of_the_settings(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patience: list[float] = []
    made = Client.__init__

    def noted(self: Client, location: str, *, token: str | None = None, timeout_s: float = 10.0) -> None:
        patience.append(timeout_s)
        made(self, location, token=token, timeout_s=timeout_s)

    monkeypatch.setattr(Client, "__init__", noted)
    settings = Settings.of({"store.timeout": 55, "rag.hints": False})
    attached(client, "plain", tmp_path / "kb", settings=settings)
    Knowledge.open(tmp_path / "kb", settings=settings, embedder=EMBEDDER).close()
    assert patience
    assert set(patience) == {55.0}
