"""`citewell export`: all that a store holds, for other programs to read, within a scope where one is given."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from citewell import Document, Knowledge, LookupResult, Settings
from citewell.cli import app
from citewell.errors import StoreCorrupt
from citewell.identity import format_key as key
from citewell.testing.fakes import HashEmbedder

pytestmark = pytest.mark.requirement("API-2")

TWO_PARTS = "\n\n".join(f"## Part {part}\n\n{f'Turn wheel {part} slowly. ' * 60}" for part in (1, 2))


@pytest.fixture(autouse=True)
def kb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("citewell.app.knowledge.open_embedder", lambda *_: HashEmbedder())
    with Knowledge.open(tmp_path / "kb", settings=Settings.of({}), embedder=HashEmbedder()) as knowledge:
        knowledge.ingest_documents(
            [
                Document("b.md", f"# Wheels\n\n{TWO_PARTS}", scope=["red", "blue"], metadata={"year": 2026}),
                Document("a.md", "键 # \u2028 no line of its own", scope="red"),
                Document("c.md", "Nobody's."),
            ]
        )
    return tmp_path / "kb"


def exported(*arguments: str) -> str:
    said = CliRunner().invoke(app, ["export", "--kb", "kb", *arguments])
    assert said.exit_code == 0, said.output
    return said.stdout


def test_each_document_is_a_line_with_its_chunks_in_reading_order() -> None:
    lines = [json.loads(line) for line in exported().removesuffix("\n").split("\n")]
    assert [line["doc_id"] for line in lines] == ["a.md", "b.md", "c.md"]
    assert [(line["scope"], line["metadata"]) for line in lines] == [
        (["red"], {}), (["blue", "red"], {"year": 2026}), (None, {}),
    ]  # fmt: skip
    chunks = lines[1]["chunks"]
    assert len(chunks) > 1
    assert [chunk["evidence_key"] for chunk in chunks] == [key("b.md", at) for at in range(len(chunks))]
    assert lines[0]["chunks"][0]["text"] == "键 # \u2028 no line of its own"
    assert exported("--json") == json.dumps(lines, ensure_ascii=False, indent=2) + "\n"


@pytest.mark.requirement("SAFE-3")
@pytest.mark.parametrize(("labels", "seen"), [(["blue"], ["b.md"]), (["red"], ["a.md", "b.md"]), (["green"], [])])
def test_within_a_scope_it_is_what_a_lookup_may_see(labels: list[str], seen: list[str]) -> None:
    arguments = [part for label in labels for part in ("--scope", label)]
    found = json.loads(exported("--json", *arguments))
    assert [document["doc_id"] for document in found] == seen
    assert exported(*arguments).count("\n") == len(seen)
    assert seen or exported("--json", *arguments) == "[]\n"


def test_a_list_that_no_memory_should_hold_waits_in_a_file_and_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    short = exported("--json")
    monkeypatch.setattr("citewell.cli.export._HELD_IN_MEMORY", 100)
    assert exported("--json") == short


def test_an_error_on_the_way_is_the_one_json_document(monkeypatch: pytest.MonkeyPatch) -> None:
    read = Knowledge.read_document

    def damaged(self: Knowledge, doc_id: str, *, scope: list[str] | None = None) -> LookupResult:
        if doc_id == "b.md":
            raise StoreCorrupt("b.md is damaged")
        return read(self, doc_id, scope=scope)

    monkeypatch.setattr(Knowledge, "read_document", damaged)
    said = CliRunner().invoke(app, ["export", "--kb", "kb", "--json"])
    assert said.exit_code == 3
    assert json.loads(said.stdout)["error"]["message"] == "b.md is damaged"


def test_where_there_is_no_store_it_says_so() -> None:
    said = CliRunner().invoke(app, ["export", "--kb", "nowhere"])
    assert (said.exit_code, said.stdout) == (3, "")
    assert "there is no store at nowhere" in said.stderr
