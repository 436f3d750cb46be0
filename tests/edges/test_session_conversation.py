"""A session of thirty questions on the demo's runbooks, each incident in several wordings, with a restart half-way."""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from citewell import Knowledge, Settings
from citewell.projection import to_text, token_bound
from citewell.testing.fakes import HashEmbedder

SETTINGS = Settings.of({"retrieval.search.mode": "hybrid", "rag.hints": False})
CONVERSATION = Path(__file__).resolve().parents[1] / "golden" / "conversation.txt"
QUESTIONS = [line for line in CONVERSATION.read_text("utf-8").splitlines() if line]

Embedding = Callable[[], HashEmbedder | None]


def opened(location: Path, embedding: Embedding) -> Knowledge:
    return Knowledge.open(location, settings=SETTINGS, embedder=embedding())


def converse(location: Path, embedding: Embedding, **options: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    """What an agent is shown, question by question; each half of them in a store opened anew."""
    seen: list[dict[str, Any]] = []
    for part in (QUESTIONS[:15], QUESTIONS[15:]):
        with opened(location, embedding) as knowledge:
            seen += [knowledge.lookup(question, **options).to_agent() for question in part]
    return seen


def items(answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [item for seen in answers for item in seen["evidence"]]


@pytest.mark.requirement("SESSION-1", "SESSION-2")
@pytest.mark.parametrize(
    "embedding",
    [
        pytest.param(lambda: HashEmbedder(256), id="hashed words"),
        pytest.param(lambda: None, id="default model", marks=pytest.mark.slow),
    ],
)
def test_in_thirty_lookups_no_text_is_shown_twice_unless_it_is_asked_for(tmp_path: Path, embedding: Embedding) -> None:
    """Trial I129."""
    assert len(QUESTIONS) == 30
    location = tmp_path / "kb"
    corpus = resources.files("citewell.demo").joinpath("corpus")
    with resources.as_file(corpus) as folder, opened(location, embedding) as knowledge:
        assert knowledge.ingest(folder).ok
    plain = converse(location, embedding)
    within = converse(location, embedding, session="s1")

    texts = [item["content"] for item in items(within) if item["content"]]
    assert len(texts) == len(set(texts))
    assert len(items(plain)) - len({item["document_id"] for item in items(plain)}) >= 40, "without memory, many are"

    shown: dict[str, str] = {}
    for item, whole in zip(items(within), items(plain), strict=True):
        assert item["document_id"] == whole["document_id"], "memory changes neither what is found nor its order"
        assert not item["truncated"]
        if item.get("already_shown"):
            assert item["content"] == ""
            assert shown[item["document_id"]] == whole["content"]
        else:
            shown[item["document_id"]] = item["content"]
            assert item["content"] == whole["content"]
    assert set(shown) == {item["document_id"] for item in items(plain)}

    spent, plain_spent = (sum(token_bound(to_text(seen)) for seen in answers) for answers in (within, plain))
    assert spent < 0.75 * plain_spent

    with opened(location, embedding) as knowledge:
        again = knowledge.lookup(QUESTIONS[0], session="s1", repeat=True).to_agent()
        assert again["evidence"] == plain[0]["evidence"]
        assert knowledge.lookup(QUESTIONS[0], session="s1").status == "all_already_shown"
        assert knowledge.lookup(QUESTIONS[0], session="s2").to_agent()["evidence"] == plain[0]["evidence"]
