"""`citewell eval`: a store of its own or one that is there, runs side by side, tables, JSON, files, exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from inspector_room import inspector
from typer.testing import CliRunner, Result

from citewell.cli import app
from citewell.cli.evaluation_text import bar
from citewell.cli.judging import Remembered, only_for_depth
from citewell.errors import EmbedderUnavailable
from citewell.hints import CatalogueHints
from citewell.identity import format_key
from citewell.lookup import LookupResult
from citewell.model import EvidenceBlock, Trace
from citewell.server.web.gate import HOME
from citewell.testing.fakes import HashEmbedder

DOCS = {
    "etcd.md": "# etcd slow\n\nSlow disks make etcd slow. Error ETCD-503.\n",
    "pool.md": "# Connection pool\n\nThe pool is exhausted; restart the gateway.\n",
    "dns.md": "# Cluster DNS\n\nNames don't resolve in the cluster.\n",
}
QUESTIONS = {"q1": "why is etcd slow", "q2": "connection pool exhausted", "q3": "names don't resolve"}
LABELS = {"q1": "etcd.md", "q2": "pool.md", "q3": "dns.md"}


class Counting(HashEmbedder):
    """Counts the questions that it embeds."""

    def __init__(self) -> None:
        super().__init__()
        self.questions: list[str] = []

    def embed_query(self, text: str) -> Any:  # noqa: ANN401 - an array, as its base says
        if text in QUESTIONS.values():
            self.questions.append(text)
        return super().embed_query(text)


@pytest.fixture(autouse=True)
def embedder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Counting:
    counting = Counting()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("CITEWELL_KB", raising=False)
    monkeypatch.setattr("citewell.app.knowledge.open_embedder", lambda *_: counting)
    monkeypatch.setitem(CatalogueHints.__init__.__kwdefaults__, "patience_s", 60.0)  # type: ignore[arg-type]
    dataset(tmp_path / "set")
    return counting


def dataset(root: Path, *, labels: dict[str, str] | None = None, questions: dict[str, str] | None = None) -> None:
    (root / "docs").mkdir(parents=True)
    for name, text in DOCS.items():
        (root / "docs" / name).write_text(text, encoding="utf-8")
    lines = [json.dumps({"_id": name, "text": text}) for name, text in (questions or QUESTIONS).items()]
    (root / "queries.jsonl").write_text("\n".join(lines), encoding="utf-8")
    rows = [f"{query}\t{label}\t1" for query, label in (labels or LABELS).items()]
    (root / "qrels.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *rows]), encoding="utf-8")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def as_json(*arguments: str, code: int = 0) -> Any:  # noqa: ANN401 - JSON
    result = run("eval", "set", "--json", *arguments)
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


def refused(*arguments: str) -> str:
    result = run("eval", "set", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    return result.stderr


@pytest.mark.requirement("EVAL-1", "API-2")
def test_the_modes_stand_side_by_side_on_a_store_that_is_gone_afterwards(tmp_path: Path) -> None:
    found = as_json()
    assert [each["name"] for each in found["runs"]] == ["dense", "lexical", "hybrid"]
    assert (found["dataset"], found["grain"], found["questions"]) == ("set", "document", 3)
    assert found["store"] == {"documents": 3, "chunks": 3, "embedder": "hash-words", "failed": {}}
    lexical = found["runs"][1]
    assert lexical["settings"] == {"retrieval.search.mode": "hybrid", "retrieval.search.paths": ["lexical"]}
    assert {name: lexical["means"][name] for name in ("recall@1", "nDCG@10", "MRR", "AP", "all-evidence@5")} == {
        "recall@1": 1.0, "nDCG@10": 1.0, "MRR": 1.0, "AP": 1.0, "all-evidence@5": 1.0,
    }  # fmt: skip
    assert 0 < lexical["latency"]["p50"] <= lexical["latency"]["p50_with_embedding"]
    assert [(each["run"], each["measure"]) for each in found["comparisons"]] == [
        (name, measure) for name in ("lexical", "hybrid") for measure in ("nDCG@10", "recall@5")
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["set"]


@pytest.mark.requirement("EVAL-1")
def test_each_question_is_embedded_once_whatever_the_number_of_runs(embedder: Counting) -> None:
    as_json()
    assert sorted(embedder.questions) == sorted(QUESTIONS.values())


@pytest.mark.requirement("EVAL-1")
def test_people_see_measures_bars_and_how_sure_the_differences_are() -> None:
    result = run("eval", "set", "--mode", "lexical", "--mode", "hybrid", "--limit", "2")
    assert result.exit_code == 0
    shown = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert "set: 2 questions, labels by document (qrels.tsv); 3 documents, 3 chunks, hash-words" in shown
    assert "recall@1 1.000 1.000" in shown
    assert f"recall@1 lexical {'█' * 24} 1.000" in shown
    assert "hybrid nDCG@10 +0.000 1.000 1.000 0/2/0" in shown
    assert any("2 comparisons: by Holm's p" in line for line in shown)
    assert "3 added; 3 chunks, 3 embedded" in result.stderr


@pytest.mark.requirement("EVAL-1")
def test_gains_and_losses_are_shown_with_their_questions() -> None:
    one = ("--run", "one:rag.min-similarity=1", "--run", "all:retrieval.search.mode=hybrid", "--baseline", "one")
    result = run("eval", "set", *one, "--differences", "1")
    assert "all gained (nDCG@10)\n0.00 -> 1.00  q1: why is etcd slow\n" in result.stdout
    assert "q2: connection" not in result.stdout
    assert "gained" not in run("eval", "set", *one, "--differences", "0").stdout


@pytest.mark.requirement("EVAL-1", "API-7")
def test_runs_have_settings_of_their_own_and_share_what_is_set() -> None:
    found = as_json(
        "--run", "narrow:retrieval.search.mode=hybrid,retrieval.search.paths=lexical,dense,rag.retrieve-k=2",
        "--run", "wide:retrieval.search.weights.lexical=1.5",
        "--set", "rag.return-n=2", "--cap", "1",
    )  # fmt: skip
    narrow, wide = found["runs"]
    shared = {"rag.return-n": "2", "rag.max-chunks-per-document": 1}
    assert narrow["settings"] == {
        **shared,
        "retrieval.search.mode": "hybrid",
        "retrieval.search.paths": "lexical,dense",
        "rag.retrieve-k": "2",
    }
    assert wide["settings"] == {**shared, "retrieval.search.weights.lexical": "1.5"}
    assert "recall@5" not in narrow["means"]  # two blocks can't tell
    assert narrow["means"]["documents"] <= 2


@pytest.mark.requirement("EVAL-1")
def test_a_store_that_is_there_is_judged_as_it_is() -> None:
    assert run("ingest", "set/docs/etcd.md", "set/docs/pool.md", "--kb", "kb").exit_code == 0
    found = as_json("--kb", "kb", "--mode", "lexical")
    assert found["store"]["documents"] == 2
    assert found["not_stored"] == {"labels": 1, "of": 3, "first": ["dns.md"]}
    assert found["runs"][0]["means"]["recall@5"] == pytest.approx(2 / 3)
    shown = run("eval", "set", "--kb", "kb", "--mode", "lexical").stdout
    assert "1 of 3 labels are not in the store and can't be found, such as 'dns.md'" in shown
    missing = run("eval", "set", "--kb", "nowhere")
    assert (missing.exit_code, missing.stdout) == (3, "")


@pytest.mark.requirement("EVAL-1")
def test_a_store_of_other_documents_does_not_read_as_all_zero(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# Other\n\nText.\n", encoding="utf-8")
    assert run("ingest", "other.md", "--kb", "kb").exit_code == 0
    assert "no label of set fits the store: they name 'dns.md'" in refused("--kb", "kb")
    found = json.loads(run("eval", "set", "--kb", "kb", "--json").stdout)
    assert found["error"]["code"] == "invalid_request"


@pytest.mark.requirement("EVAL-1")
def test_chunks_and_spans_are_labels_too(tmp_path: Path) -> None:
    dataset(tmp_path / "chunks", labels={"q1": format_key("etcd.md", 0), "q2": format_key("pool.md", 7)})
    found = json.loads(run("eval", "chunks", "--mode", "lexical", "--json").stdout)
    assert (found["grain"], found["not_stored"]["first"]) == ("chunk", [format_key("pool.md", 7)])
    assert found["runs"][0]["means"]["recall@1"] == 0.5
    text = DOCS["etcd.md"]
    start = text.index("Slow disks")
    part = {"query_id": "q1", "doc_id": "etcd.md", "start": start, "end": start + len("Slow disks")}
    (tmp_path / "set" / "references.jsonl").write_text(json.dumps(part), encoding="utf-8")
    spans = as_json("--mode", "lexical")
    assert (spans["grain"], spans["questions"]) == ("span", 1)
    assert (spans["runs"][0]["means"]["recall@1"], spans["runs"][0]["means"]["char-recall@5"]) == (1.0, 1.0)


@pytest.mark.requirement("EVAL-1", "API-5")
def test_what_is_written_is_the_same_each_time_but_for_latencies(tmp_path: Path) -> None:
    assert run("eval", "set", "--out", "one").exit_code == 0
    told = run("eval", "set", "--out", "two").stdout
    assert f"wrote {Path('two') / 'set.json'}" in told
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == ["set.dense.run", "set.hybrid.run", "set.json", "set.lexical.run", "set.qrels"]
    for name in names:
        first, again = ((tmp_path / folder / name).read_text("utf-8") for folder in ("one", "two"))
        assert _timeless(first) == _timeless(again) if name.endswith(".json") else first == again


@pytest.mark.requirement("EVAL-1", "API-5")
def test_the_inspector_shows_what_was_written(tmp_path: Path) -> None:
    assert run("eval", "set", "--out", "runs").exit_code == 0
    with inspector(evaluations=str(tmp_path / "runs")) as pages:
        assert "set.json" in pages.get(f"{HOME}/evaluations").text
        page = pages.get(f"{HOME}/evaluation", params={"name": "set.json"})
    assert page.status_code == 200
    for shown in ("lexical", "hybrid", "recall@1", "nDCG@10", "all-evidence@5", "tokens"):
        assert shown in page.text


@pytest.mark.requirement("EVAL-1", "API-2")
def test_a_stopped_evaluation_says_that_nothing_of_it_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("citewell.cli.judging.as_answer", stop)
    result = run("eval", "set", "--out", "runs")
    assert result.exit_code == 130
    assert result.stderr.rstrip().endswith("citewell: stopped; nothing was written")
    assert not Path("runs").exists()


def _timeless(text: str) -> Any:  # noqa: ANN401 - JSON
    document = json.loads(text)
    for each in document["runs"]:
        assert each.pop("latency")
    return document


@pytest.mark.requirement("EVAL-1", "API-2")
def test_a_question_or_a_document_that_cannot_be_used_is_named_and_the_exit_code_says_so(tmp_path: Path) -> None:
    dataset(tmp_path / "odd", questions={**QUESTIONS, "q3": "???"})
    result = run("eval", "odd", "--mode", "lexical")
    assert result.exit_code == 1
    assert "lexical refused 'q3', which counts as zero: the query '???' holds nothing to search for" in result.stdout
    (tmp_path / "set" / "docs" / "bad.md").write_bytes(b"\xff\xfe\x00\xd8 \x00")
    failed = run("eval", "set", "--mode", "lexical")
    assert (failed.exit_code, "failed" in failed.stderr, "bad.md" in failed.stderr) == (1, True, True)
    assert list(as_json("--mode", "lexical", code=1)["store"]["failed"]) == ["bad.md"]


@pytest.mark.requirement("EVAL-1", "API-2")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--mode", "sparse"), "--mode can't be 'sparse'. Give one of dense, lexical, hybrid"),
        (("--run", "rag.retrieve-k=9"), "has no NAME: in front"),
        (("--run", "a:", "--mode", "dense"), "--run a '' is no KEY=VALUE"),
        (("--run", "dense:rag.retrieve-k=9", "--mode", "dense"), "names a run that there is already"),
        (("--run", "a:rag.retrieve-k"), "--run a 'rag.retrieve-k' is no KEY=VALUE"),
        (("--run", "a:rag.retreive-k=9"), "Did you mean 'rag.retrieve-k'?"),
        (("--run", "a:embedder.name=b"), "embedder.name can't differ between runs, which share a store"),
        (("--set", "rag.retrieve-k"), "--set 'rag.retrieve-k' is no KEY=VALUE"),
        (("--baseline", "sparse"), "there is no run 'sparse' to compare with. Choose of dense, lexical, hybrid"),
        (("--grain", "word"), "--grain can't be 'word'. Give one of document, chunk, span"),
        (("--qrels", "desc"), "has no labels named 'desc'. There are: qrels"),
        (("--out", "set/queries.jsonl/runs"), "set/queries.jsonl/runs can't be written to"),
        (("--plots",), "--plots needs a folder. Name it with --out"),
    ],
)
def test_what_cannot_be_asked_for_is_refused_before_any_work(
    embedder: Counting, arguments: tuple[str, ...], message: str
) -> None:
    assert message in " ".join(refused(*arguments).split())
    assert embedder.embedded == []


@pytest.mark.requirement("EVAL-1")
def test_a_dataset_of_questions_alone_needs_a_store(tmp_path: Path) -> None:
    for path in (tmp_path / "set" / "docs").iterdir():
        path.unlink()
    (tmp_path / "set" / "docs").rmdir()
    assert "set has questions alone, no documents. Name the store to judge with --kb" in refused()


@pytest.mark.requirement("EVAL-1")
def test_degraded_answers_are_counted_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("ingest", "set/docs", "--kb", "kb").exit_code == 0

    def down(_: Counting, text: str) -> None:
        raise EmbedderUnavailable("the model is gone")

    monkeypatch.setattr(Counting, "embed_query", down)
    result = run("eval", "set", "--kb", "kb", "--mode", "hybrid")
    assert result.exit_code == 0
    assert "3 answers of hybrid are degraded: " in result.stdout
    assert run("eval", "set", "--kb", "kb", "--mode", "dense").exit_code == 3


def test_an_embedder_that_remembers_hands_out_copies() -> None:
    remembered = Remembered(HashEmbedder())
    assert remembered.prepare("etcd slow") is not None
    first = remembered.embed_query("etcd slow")
    first += 1
    assert remembered.embed_query("etcd slow").tolist() == HashEmbedder().embed_query("etcd slow").tolist()
    assert remembered.asked == 2


@pytest.mark.parametrize(
    ("refill", "shown", "spared"), [(None, 1, 0.0), (("c",), 2, 7.5), (("c",), 3, 0.0), ((), 3, 7.5)]
)
def test_a_refill_that_only_the_depth_asked_for_is_no_part_of_the_latency(
    refill: tuple[str, ...] | None, shown: int, spared: float
) -> None:
    evidence = tuple(EvidenceBlock(evidence_key=name) for name in "abc")
    trace = Trace("hybrid", refill=refill, milliseconds={"search": 3.0, "refill": 7.5})
    assert only_for_depth(LookupResult("q", "ok", (), evidence, trace), shown) == spared


def test_bars_are_as_long_as_their_value() -> None:
    assert [bar(value) for value in (0.0, 1 / 24, 1 / 48, 1.0)] == ["", "█", "▌", "█" * 24]
    assert bar(0.5, ascii_only=True) == "#" * 12
