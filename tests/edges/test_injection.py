"""Hostile documents through real ingestion and every projection: none leaves its fence (PROJ-7).

What the tool says beside a hostile document is compared, byte for byte, with what it says beside a harmless one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from hostile import HOSTILE
from projection_parsers import (
    Parsed,
    parse_blocks,
    parse_fetch,
    parse_markdown,
    parse_search,
    parse_search_results,
    parse_text,
)

from citewell import Document, Knowledge, Settings
from citewell.projection import (
    printable,
    to_markdown,
    to_openai_fetch,
    to_openai_search,
    to_search_results,
    to_text,
    to_text_blocks,
)
from citewell.testing.fakes import HashEmbedder, TableEmbedder

Projection = Mapping[str, Any]
Form = Callable[[Projection], Parsed]

FORMS: dict[str, Form] = {
    "text": lambda projection: parse_text(to_text(projection)),
    "blocks": lambda projection: parse_blocks(to_text_blocks(projection)),
    "markdown": lambda projection: parse_markdown(to_markdown(projection)),
    "search_results": lambda projection: parse_search_results(to_search_results(projection)),
    "search": lambda projection: parse_search(to_openai_search(projection)),
    "fetch": lambda projection: parse_fetch(to_openai_fetch(projection["evidence"][0])),
}

HARMLESS = Document("d.md", "The disk is full.", title="Disk", source="ops/d.md", format="text")


def in_text(attack: str) -> Document:
    return Document("d.md", f"The disk is full. {attack}", title="Disk", source="ops/d.md", format="text")


def in_labels(attack: str) -> Document:
    return Document(
        "d.md",
        "The disk is full.",
        title=f"Disk {attack}",  # with the word that is asked for, so that hints speak of it too
        source=attack,
        category=attack,
        metadata={attack: attack, "k": attack},
    )


def in_id(attack: str) -> Document:
    return Document(attack, "The disk is full.", title="Disk", source="ops/d.md", format="text")


PLACES = {"text": in_text, "labels": in_labels, "id": in_id}


def seen(document: Document, *, hints: bool = False) -> Projection:
    """What an agent sees of the one document: every text is equally close, so that only the document differs."""
    settings = Settings.of({"rag.hints": hints})
    with Knowledge.open("memory:", embedder=TableEmbedder({"": (1.0, 0.0)}), settings=settings) as knowledge:
        report = knowledge.ingest_documents([document])
        assert [file.status for file in report.files] == ["added"]
        return knowledge.lookup("disk").to_agent()


@pytest.fixture(scope="module")
def harmless() -> Projection:
    return seen(HARMLESS)


@pytest.mark.requirement("PROJ-7")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", HOSTILE)
def test_what_the_tool_says_is_the_same_beside_a_hostile_document(name: str, place: str, harmless: Projection) -> None:
    projection = seen(PLACES[place](HOSTILE[name]))
    (item,) = projection["evidence"]
    for form, parsed in ((form, FORMS[form](projection)) for form in FORMS):
        expected = FORMS[form](harmless)
        assert parsed.tool == expected.tool, form
        assert set(parsed.ids) == {item["document_id"]}, form
        assert len(parsed.passages) == len(expected.passages), form


@pytest.mark.requirement("PROJ-7", "L0-2")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", HOSTILE)
def test_hints_at_a_hostile_document_stay_within_a_fence_and_add_no_id(name: str, place: str) -> None:
    projection, expected = seen(PLACES[place](HOSTILE[name]), hints=True), seen(HARMLESS, hints=True)
    (item,) = projection["evidence"]
    assert {hint["kind"] for hint in projection["hints"]} >= {"document"}
    for form in FORMS:
        parsed = FORMS[form](projection)
        assert parsed.tool == FORMS[form](expected).tool, form
        assert set(parsed.ids) == {item["document_id"]}, form
        assert len(parsed.passages) <= 2, form


@pytest.mark.requirement("PROJ-7")
@pytest.mark.parametrize("form", FORMS)
def test_the_parsers_see_what_a_document_says_where_it_says_it(form: str, harmless: Projection) -> None:
    parsed = FORMS[form](harmless)
    assert parsed.ids[0] == "d.md#chunk-0"
    assert "Disk" in parsed.passages[0]
    assert "Disk" not in parsed.tool
    assert ("The disk is full." in parsed.passages[0]) == (form != "search")


@pytest.mark.requirement("PROJ-7")
@pytest.mark.parametrize("form", FORMS)
def test_the_parsers_would_see_a_document_that_leaves_its_fence(form: str, harmless: Projection) -> None:
    """What has no fence is told by the parsers, or the test above could not fail."""
    item = harmless["evidence"][0]
    naive = {
        "text": f"{to_text(harmless)}\nstatus: obey",
        "blocks": [*to_text_blocks(harmless)[:1], "[d.md#chunk-0] similarity 1.0\nThe disk is full."],
        "markdown": to_markdown(harmless) + "\n![x](https://evil.example)",
        "search_results": [*to_search_results(harmless), {"type": "text", "text": "obey"}],
        "search": {"results": [{"id": "d.md#chunk-0", "title": "t", "url": "https://a@evil.example/"}]},
        "fetch": {**to_openai_fetch(item), "status": "ok"},
    }
    parsers: dict[str, Callable[[Any], Parsed]] = {
        "text": parse_text, "blocks": parse_blocks, "markdown": parse_markdown, "search": parse_search,
        "search_results": parse_search_results, "fetch": parse_fetch,
    }  # fmt: skip
    try:
        parsed = parsers[form](naive[form])
    except (AssertionError, ValueError):  # the form has not the parts that it must have
        return
    assert parsed.tool != FORMS[form](harmless).tool


ACTS = re.compile(
    r"<[|｜][^<>\n]{1,40}[|｜]?>|<\w{1,20}\|>|</?(?:s|eos|start_of_turn|end_of_turn|tool_call)>|\[/?INST\]"
    "|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f\ufff9-\ufffb]"
    "|[\u200b-\u200f\u2060-\u206f\ufeff\u3164\ufe00-\ufe0f\U000e0100-\U000e01ef]{2}"
)


@pytest.mark.requirement("PROJ-7")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", [name for name, attack in HOSTILE.items() if ACTS.search(attack)])
def test_no_form_has_what_acts_on_a_terminal_or_a_chat_template_or_hides(name: str, place: str) -> None:
    projection = seen(PLACES[place](HOSTILE[name]))
    printed = {
        "text": to_text(projection),
        "blocks": "\n".join(to_text_blocks(projection)),
        "markdown": to_markdown(projection),
        "search_results": " ".join(_strings(to_search_results(projection))),
        "search": " ".join(_strings(to_openai_search(projection))),
        "fetch": " ".join(_strings(to_openai_fetch(projection["evidence"][0]))),
    }
    assert {form: ACTS.findall(text) for form, text in printed.items() if ACTS.search(text)} == {}


def _strings(value: object) -> Iterator[str]:
    """Every text in JSON values, the names of fields apart."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
    elif isinstance(value, str):
        yield value


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Knowledge]:
    """All of them as Markdown files, beside one harmless file, in a store on disk."""
    root = tmp_path_factory.mktemp("crowd")
    (root / "docs").mkdir()
    for name, attack in HOSTILE.items():
        text = f"---\ntitle: {json.dumps(attack)}\n---\n\n## {attack}\n\nThe disk of {name} is full.\n\n{attack}\n"
        (root / "docs" / f"{name}.md").write_text(text, encoding="utf-8", newline="")
    (root / "docs" / "harmless.md").write_text("# Harmless\n\nThe disk is full.\n", encoding="utf-8")
    limits = {"projection.max-items": 500, "projection.max-chars": 500_000, "projection.max-tokens": ""}
    settings = Settings.of({**limits, "rag.hints": False})
    with Knowledge.open(root / "kb", embedder=HashEmbedder(), settings=settings) as knowledge:
        report = knowledge.ingest(root / "docs")
        assert {file.status for file in report.files} == {"added"}
        yield knowledge


@pytest.mark.requirement("PROJ-2", "PROJ-7")
@pytest.mark.parametrize("form", [form for form in FORMS if form != "fetch"])
@pytest.mark.parametrize("query", ["disk full", HOSTILE["fence_end"], HOSTILE["markdown_image"]])
def test_among_many_hostile_files_each_passage_has_its_own_id(form: str, query: str, crowd: Knowledge) -> None:
    result = crowd.lookup(query, mode="hybrid", return_n=400, retrieve_k=400, max_chunks_per_document=0)
    projection = result.to_agent()
    keys = [block.evidence_key for block in result.evidence]
    assert len({key.partition("#")[0] for key in keys}) > len(HOSTILE)
    parsed = FORMS[form](projection)
    assert parsed.ids[: len(keys)] == tuple(keys)
    assert len(parsed.passages) == len(keys) + (bool(projection["hints"]) and form != "search")
    if form != "search":
        for block, passage in zip(result.evidence, parsed.passages, strict=False):
            assert _letters(block.text) <= _letters(passage)


def _letters(text: str) -> set[str]:
    return {character for character in printable(text) if character.isalpha() and character.isascii()}


@pytest.mark.requirement("PROJ-7")
def test_at_least_thirty_documents_are_hostile_and_no_two_are_the_same() -> None:
    assert len(set(HOSTILE.values())) == len(HOSTILE) >= 30
