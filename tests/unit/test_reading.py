"""Reading by name: a chunk with its neighbours, a whole document; shown, remembered and hidden as found evidence is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from citewell import Document, Knowledge
from citewell.errors import InvalidRequest, UnknownEvidence
from citewell.identity import format_key as key
from citewell.testing.fakes import HashEmbedder

SECTIONS = "\n\n".join(f"## Step {number}\n\n{f'Do thing {number} slowly. ' * 60}" for number in range(4))


@pytest.fixture
def knowledge() -> Iterator[Knowledge]:
    with Knowledge.open("memory:", embedder=HashEmbedder()) as opened:
        opened.ingest_documents(
            [Document("a.md", SECTIONS, scope="red"), Document("b.md", "Blue things only.", scope="blue")]
        )
        yield opened


def ids(seen: dict[str, Any]) -> list[str]:
    return [item["document_id"] for item in seen["evidence"]]


@pytest.mark.requirement("CONTEXT-1", "CONTEXT-2")
def test_a_chunk_is_read_with_those_around_it_in_reading_order(knowledge: Knowledge) -> None:
    seen = knowledge.read(key("a.md", 1), neighbours=1).to_agent()
    assert ids(seen) == [key("a.md", 0), key("a.md", 1), key("a.md", 2)]
    assert [item.get("role") for item in seen["evidence"]] == ["neighbour", None, "neighbour"]  # type: ignore[attr-defined]


@pytest.mark.requirement("GUARD-1", "SESSION-1")
def test_what_is_read_in_a_session_counts_as_shown_there_and_is_shown_again_when_read_again(
    knowledge: Knowledge,
) -> None:
    first = knowledge.read(key("b.md", 0), session="s").to_agent()
    again = knowledge.read(key("b.md", 0), session="s").to_agent()
    assert first["evidence"] == again["evidence"]
    verdicts = {c.raw: c.verdict for c in knowledge.check([key("b.md", 0), key("a.md", 0)], session="s").citations}
    assert verdicts == {key("b.md", 0): "shown", key("a.md", 0): "not_shown"}


@pytest.mark.requirement("SAFE-1")
def test_outside_the_scope_a_chunk_and_a_document_read_as_if_there_were_none(knowledge: Knowledge) -> None:
    for name, read in ((key("a.md", 0), knowledge.read), ("a.md", knowledge.read_document)):
        missing = name.replace("a.md", "z.md")
        with pytest.raises(UnknownEvidence) as hidden:
            read(name, scope="blue")
        with pytest.raises(UnknownEvidence) as absent:
            read(missing, scope="blue")
        assert str(hidden.value).replace(name, missing) == str(absent.value)
        assert read(name, scope="red").status == "ok"


def test_a_document_is_read_whole_and_in_order(knowledge: Knowledge) -> None:
    chunks = next(info.chunks for info in knowledge.documents() if info.doc_id == "a.md")
    assert chunks >= 4
    seen = knowledge.read_document("a.md", session="s").to_agent()
    assert ids(seen) == [key("a.md", index) for index in range(chunks)]
    assert not any(item["truncated"] for item in seen["evidence"])  # type: ignore[attr-defined]
    assert knowledge.check([key("a.md", chunks - 1)], session="s").ok


@pytest.mark.parametrize("neighbours", [-1, True, 51, "2"])
def test_a_number_of_neighbours_that_is_none_is_refused_by_name(knowledge: Knowledge, neighbours: Any) -> None:  # noqa: ANN401 - bad on purpose
    with pytest.raises(InvalidRequest, match="neighbours can't be"):
        knowledge.read(key("a.md", 1), neighbours=neighbours)


def test_a_document_of_a_store_that_counts_no_chunks_is_read_as_well(
    knowledge: Knowledge, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = ids(knowledge.read_document("a.md").to_agent())
    stored = knowledge._store.stored("a.md")
    assert stored is not None
    uncounted = replace(stored, context_digests=())
    monkeypatch.setattr(knowledge._store, "stored", lambda _: uncounted)
    assert ids(knowledge.read_document("a.md").to_agent()) == whole


@pytest.mark.requirement("SAFE-1")
def test_a_long_document_outside_the_scope_is_no_more_work_than_one_that_is_not_there(
    knowledge: Knowledge, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(knowledge._store, "stored", asked.append)
    for name in ("a.md", "z.md"):
        with pytest.raises(UnknownEvidence):
            knowledge.read_document(name, scope="blue")
    assert asked == ["z.md"]  # whose absence is known at once; of a.md no chunk but the first was looked at
