"""Hostile documents and the guard: whatever one says or is called, it changes no verdict on what an agent cites.

The same answer is checked beside a hostile document and beside a harmless one, against what `to_agent` showed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hostile import HOSTILE

from citewell import Document, Knowledge, Settings
from citewell.guard import check
from citewell.model import KnownChunk
from citewell.projection import printable_id
from citewell.testing.fakes import TableEmbedder

SHOWN = Document("d.md", "The disk is full.", title="Disk", format="text")
BESIDE = Document("e.md", "The disk is full, too.", title="Disk", format="text")
ANSWER = (
    "The disk is full [d.md#chunk-0], as it was before 【d.md#chunk-0】. Its key is elsewhere [secret.md#chunk-3]"
    " (secret.md#chunk-4); the next chunk says more [d.md#chunk-1], and another document too [other.md#chunk-0]."
    ' "The disk is full." [d.md#chunk-0]\n'
)
VERDICTS = [
    ("d.md#chunk-0", "shown"),
    ("d.md#chunk-0", "shown"),
    ("secret.md#chunk-3", "unknown"),
    ("secret.md#chunk-4", "unknown"),
    ("d.md#chunk-1", "unknown"),
    ("other.md#chunk-0", "unknown"),
    ("d.md#chunk-0", "shown"),
]


def in_text(attack: str) -> Document:
    return Document("e.md", f"The disk is full, too. {attack}", title="Disk", format="text")


def in_labels(attack: str) -> Document:
    return Document(
        "e.md", "The disk is full, too.", title=attack, source=attack, category=attack, metadata={"k": attack}
    )


def in_id(attack: str) -> Document:
    return Document(attack, "The disk is full, too.", title="Disk", format="text")


PLACES = {"text": in_text, "labels": in_labels, "id": in_id}


def seen(beside: Document) -> tuple[Mapping[str, Any], Mapping[str, KnownChunk]]:
    """What an agent sees of two documents, and what exists."""
    with Knowledge.open("memory:", embedder=TableEmbedder({"": (1.0, 0.0)}), settings=Settings.of({})) as knowledge:
        knowledge.ingest_documents([SHOWN, beside])
        result = knowledge.lookup("disk")
        assert len(result.evidence) == 2
        return result.to_agent(), {b.evidence_key: KnownChunk(b.digest, b.text) for b in result.evidence}


@pytest.mark.requirement("GUARD-1", "GUARD-2", "PROJ-7")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", HOSTILE)
def test_no_hostile_document_changes_a_verdict(name: str, place: str) -> None:
    shown, known = seen(PLACES[place](HOSTILE[name]))
    for exists in (None, known):
        report = check(ANSWER, shown, known=exists)
        assert [(citation.raw, citation.verdict) for citation in report.citations] == VERDICTS
        assert not report.ok
        assert not check(ANSWER, shown, known=exists, strict=True).ok


@pytest.mark.requirement("GUARD-1")
def test_beside_a_harmless_document_the_verdicts_are_the_same() -> None:
    shown, known = seen(BESIDE)
    report = check(ANSWER, shown, known=known)
    assert [(citation.raw, citation.verdict) for citation in report.citations] == VERDICTS


@pytest.mark.requirement("GUARD-1", "PROJ-7")
@pytest.mark.parametrize("name", HOSTILE)
def test_an_answer_that_repeats_a_hostile_text_gets_none_of_its_ids_accepted(name: str) -> None:
    attack = HOSTILE[name]
    shown, known = seen(in_text(attack))
    report = check(f"It says: {attack}\n\nThe disk is full [d.md#chunk-0].", shown, known=known)
    accepted = {citation.evidence_key for citation in report.citations if citation.verdict == "shown"}
    assert accepted <= {"d.md#chunk-0"}


@pytest.mark.requirement("GUARD-1", "PROJ-2")
@pytest.mark.parametrize("name", HOSTILE)
def test_a_document_with_a_hostile_id_can_be_cited_as_its_id_is_printed_and_by_that_alone(name: str) -> None:
    shown, known = seen(in_id(HOSTILE[name]))
    (key,) = (item["document_id"] for item in shown["evidence"] if item["document_id"] != "d.md#chunk-0")
    printed = printable_id(key)
    report = check(f"The disk is full, too [{printed}].", shown, known=known)
    assert [(citation.evidence_key, citation.verdict) for citation in report.citations] == [(key, "shown")]
    listed = check([printed], shown, known=known)
    assert [(citation.evidence_key, citation.verdict) for citation in listed.citations] == [(key, "shown")]
