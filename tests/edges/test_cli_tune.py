"""`citewell tune` and `citewell calibrate`: what they print, write and refuse, and that the fragment is read back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from citewell import Settings
from citewell.cli import app
from citewell.testing.fakes import HashEmbedder

SUBJECTS = [f"{part}{place}" for place in range(8) for part in ("alpha", "beta", "gamma", "delta")]


@pytest.fixture(autouse=True)
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("CITEWELL_KB", raising=False)
    monkeypatch.setattr("citewell.app.knowledge.open_embedder", lambda *_: HashEmbedder(256))
    dataset(tmp_path / "set", len(SUBJECTS))


def dataset(root: Path, count: int, *, labelled: str = "{subject}.md") -> None:
    """One document for each subject; its question uses its name and a word of every other document."""
    (root / "docs").mkdir(parents=True)
    for subject in SUBJECTS:
        text = f"# {subject}\n\nThe service {subject} answers slowly whenever its pool of connections is full.\n"
        (root / "docs" / f"{subject}.md").write_text(text, encoding="utf-8")
    questions = [json.dumps({"_id": name, "text": f"why is {name} slow"}) for name in SUBJECTS[:count]]
    labels = [f"{name}\t{labelled.format(subject=name)}\t1" for name in SUBJECTS[:count]]
    (root / "queries.jsonl").write_text("\n".join(questions), encoding="utf-8")
    (root / "qrels.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *labels]), encoding="utf-8")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def read(result: Result) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def timeless(document: dict[str, Any]) -> dict[str, Any]:
    """Without what differs from run to run."""
    return {**document, "latency": None}


@pytest.mark.slow
@pytest.mark.requirement("EVAL-2", "API-2")
def test_tune_says_what_it_looked_at_and_twice_the_same() -> None:
    first = run("tune", "set", "--mode", "hybrid", "--json")
    assert first.exit_code == 0, first.output
    found = read(first)
    assert (found["dataset"], found["queries"], found["grain"], found["folds"]) == ("set", 32, "document", 5)
    assert found["verdict"] == "keep"
    assert [step["keys"] for step in found["steps"]] == [
        ["retrieval.search.mode"],
        ["retrieval.search.weights", "retrieval.search.rrf-k"],
        ["rag.retrieve-k"],
    ]
    assert len(found["looks"]) > 60
    assert set(found["alone"]) == {"dense", "lexical"}
    assert timeless(read(run("tune", "set", "--mode", "hybrid", "--json"))) == timeless(found)


@pytest.mark.requirement("EVAL-2", "API-2", "API-7")
def test_tune_writes_what_it_proposes_so_that_the_settings_read_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # An embedder to which all texts are alike finds by chance; words find each subject.
    monkeypatch.setattr("citewell.app.knowledge.open_embedder", lambda *_: HashEmbedder(2))
    result = run("tune", "set", "--out", "tuned.toml")
    assert result.exit_code == 0, result.output
    assert "A change is proposed" in result.stdout
    assert "retrieval.search.mode dense -> hybrid" in result.stdout
    assert "32 of 32 questions got the first ten that were worked out" in " ".join(result.stdout.split())
    assert "wrote tuned.toml" in result.stdout
    assert Settings.load(tmp_path / "tuned.toml", environment={}).search.mode == "hybrid"
    assert run("lookup", "x", "--config", "tuned.toml", "--kb", "none").exit_code == 3  # the file itself is fine


@pytest.mark.requirement("EVAL-2", "API-2")
def test_too_few_questions_are_no_failure_and_nothing_is_proposed(tmp_path: Path) -> None:
    dataset(tmp_path / "few", 29)
    result = run("tune", "few", "--out", "tuned.toml")
    assert result.exit_code == 0
    assert "Nothing can be said: 29 judged questions" in result.stdout.replace("queries", "questions")
    assert all(line.startswith("#") for line in (tmp_path / "tuned.toml").read_text("utf-8").splitlines())
    assert read(run("tune", "few", "--json"))["proposed"] == {}
    assert read(run("tune", "set", "--limit", "20", "--json"))["verdict"] == "too_few"


@pytest.mark.requirement("EVAL-2", "API-2")
def test_labels_that_match_nothing_are_an_error(tmp_path: Path) -> None:
    dataset(tmp_path / "other", 32, labelled="elsewhere/{subject}.md")
    result = run("tune", "other", "--json")
    assert result.exit_code == 2
    assert "fits the store" in read(result)["error"]["message"]


@pytest.mark.requirement("EVAL-2", "API-2")
def test_nothing_is_learned_from_paths_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("ingest", "set/docs", "--kb", "kb").exit_code == 0
    monkeypatch.setattr(HashEmbedder, "embed_query", lambda *_: [float("nan")] * 256)
    result = run("tune", "set", "--kb", "kb", "--json")
    assert result.exit_code == 3
    assert "not every path answered every question: dense" in read(result)["error"]["message"]


@pytest.mark.requirement("EVAL-2", "API-2")
@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("tune", "nowhere"), "nowhere"),
        (("tune", "set", "--metric", "luck"), "luck"),
        (("tune", "set", "--qrels", "other"), "other"),
        (("tune", "set", "--grain", "page"), "page"),
        (("tune", "set", "--mode", "both"), "both"),
        (("tune", "set", "--out", "no/such/folder.toml"), "no/such/folder.toml"),
        (("calibrate", "--out", "."), "."),
        (("calibrate", "--questions", "nowhere.txt"), "nowhere.txt"),
    ],
)
def test_what_can_not_be_used_is_refused_by_name(arguments: tuple[str, ...], named: str) -> None:
    result = run(*arguments, "--json")
    assert result.exit_code == 2
    assert named in read(result)["error"]["message"]


@pytest.mark.requirement("EVAL-2", "API-2")
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_file_that_takes_nothing_after_all_is_named_and_what_it_would_hold_is_not_lost() -> None:
    dataset(Path("few"), 3)
    result = run("tune", "few", "--out", "/dev/full", "--json")
    assert result.exit_code == 2
    said = read(result)["error"]["message"]
    assert said.startswith(
        "/dev/full can't be written to: No space left on device; it would hold:\n# From `citewell tune`"
    )


@pytest.mark.requirement("EVAL-2", "API-2", "API-7")
def test_calibrate_proposes_a_floor_that_the_settings_read(tmp_path: Path) -> None:
    assert run("ingest", "set/docs", "--kb", "kb").exit_code == 0
    result = run("calibrate", "--kb", "kb", "--sample", "30", "--out", "floor.toml", "--json")
    assert result.exit_code == 0, result.output
    found = read(result)
    assert found["embedder"] == "hash-words"
    assert found["proposed"]
    assert found["rejected"] >= 0.95
    assert found["unrelated"]["questions"] == 120
    assert Settings.load(tmp_path / "floor.toml", environment={}).lookup.min_similarity == found["floor"]
    shown = run("calibrate", "--kb", "kb", "--sample", "30").stdout
    assert f"min-similarity = {found['floor']:g}" in shown
    assert found["nearest"][0]["question"] in shown


@pytest.mark.requirement("EVAL-2", "API-2")
def test_calibrate_takes_questions_of_ones_own_and_says_where_no_floor_helps(tmp_path: Path) -> None:
    assert run("ingest", "set/docs", "--kb", "kb").exit_code == 0
    questions = [f"The service {name} answers slowly whenever its pool is full" for name in SUBJECTS]
    (tmp_path / "own.txt").write_text("\n".join([*questions, "", questions[0]]), encoding="utf-8")
    result = run("calibrate", "--kb", "kb", "--sample", "30", "--questions", "own.txt")
    assert result.exit_code == 0, result.output
    assert "overlap too much for a floor to help" in " ".join(result.stdout.split())
    assert "min-similarity" not in result.stdout


@pytest.mark.requirement("EVAL-2", "API-2")
def test_calibrate_needs_a_store_with_sentences_in_it(tmp_path: Path) -> None:
    (tmp_path / "one.md").write_text("# One\n\nWord.\n", encoding="utf-8")
    assert run("ingest", "one.md", "--kb", "kb").exit_code == 0
    result = run("calibrate", "--kb", "kb", "--json")
    assert result.exit_code == 2
    assert "0 sentences of the store" in read(result)["error"]["message"]
    assert run("delete", "one.md", "--kb", "kb").exit_code == 0
    assert "the store is empty" in run("calibrate", "--kb", "kb").output
    assert run("calibrate", "--kb", "nowhere").exit_code == 3
