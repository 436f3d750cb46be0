"""The examples for each framework run, offline, and the guard accepts what they answer (API-6)."""

from __future__ import annotations

import importlib
import re

import pytest

from citewell.testing.fakes import HashEmbedder


@pytest.mark.requirement("API-6")
@pytest.mark.parametrize("name", ["langchain_chain", "llamaindex_engine", "haystack_pipeline"])
def test_an_example_answers_with_citations_that_were_shown(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("citewell.app.knowledge.open_embedder", lambda *_: HashEmbedder())
    example = importlib.import_module(name)
    assert example.main("What does PAY-4471 mean?") == 0
    assert re.search(r"payments/(error-codes|capture-failures)\.md#chunk-\d", capsys.readouterr().out)


@pytest.mark.requirement("API-6")
def test_an_example_says_so_when_a_citation_was_not_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("citewell.app.knowledge.open_embedder", lambda *_: HashEmbedder())
    example = importlib.import_module("langchain_chain")
    monkeypatch.setattr(example, "tool_answer", lambda *_: "Somewhere [nowhere.md#chunk-0].")
    assert example.main("What does PAY-4471 mean?") == 4
    assert "rejected: Somewhere" in capsys.readouterr().out
