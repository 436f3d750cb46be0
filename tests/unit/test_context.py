"""Which chunks stand around a hit, and in which order they are shown with it (CONTEXT-1, CONTEXT-2)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.context import place, wanted
from citewell.identity import format_key
from citewell.model import EvidenceBlock, Role


def chunk(doc_id: str, index: int, role: Role = "neighbour") -> EvidenceBlock:
    return EvidenceBlock(evidence_key=format_key(doc_id, index), doc_id=doc_id, chunk_index=index, role=role)


def hits(*places: str) -> list[EvidenceBlock]:
    """`a3` is chunk 3 of the document a."""
    return [chunk(place[0], int(place[1:]), "hit") for place in places]


def beside(*places: str) -> dict[str, EvidenceBlock]:
    chunks = [chunk(place[0], int(place[1:])) for place in places]
    return {block.evidence_key: block for block in chunks}


def document(doc_id: str, length: int) -> dict[str, EvidenceBlock]:
    return beside(*(f"{doc_id}{index}" for index in range(length)))


def names(blocks: tuple[EvidenceBlock, ...]) -> str:
    """Hits in capitals: `a2 A3 a4`."""
    return " ".join(
        f"{str(block.doc_id).upper() if block.role == 'hit' else block.doc_id}{block.chunk_index}" for block in blocks
    )


@pytest.mark.requirement("CONTEXT-1")
def test_the_chunks_before_and_after_each_hit_are_wanted_once_and_hits_are_not() -> None:
    """Trial I130."""
    assert wanted(hits("a3", "b0", "a4"), 1) == ("a#chunk-2", "b#chunk-1", "a#chunk-5")
    assert wanted(hits("a1"), 3) == ("a#chunk-0", "a#chunk-2", "a#chunk-3", "a#chunk-4")
    assert wanted(hits("a3"), 0) == ()


@pytest.mark.requirement("CONTEXT-1")
def test_a_block_without_a_document_or_an_index_wants_nothing() -> None:
    loose = [
        EvidenceBlock(evidence_key="vector:7", doc_id="a"),
        EvidenceBlock(evidence_key="content:1", chunk_index=3),
    ]
    assert wanted(loose, 2) == ()
    assert place(loose, document("a", 9), 2) == tuple(loose)


@pytest.mark.requirement("CONTEXT-2")
def test_a_document_id_that_looks_like_another_key_wants_its_own_chunks() -> None:
    odd = chunk("a#chunk-1", 2, "hit")
    assert wanted([odd], 1) == ("a#chunk-1#chunk-1", "a#chunk-1#chunk-3")


@pytest.mark.requirement("CONTEXT-1", "CONTEXT-2")
@pytest.mark.parametrize(
    ("evidence", "neighbours", "expected"),
    [
        (hits("a3"), 0, "A3"),
        (hits("a3"), 1, "a2 A3 a4"),
        (hits("a0"), 2, "A0 a1 a2"),
        (hits("a9"), 2, "a7 a8 A9"),
        # Hits keep their order, whatever that of reading.
        (hits("a5", "a3"), 1, "a4 A5 a6 a2 A3"),
        (hits("a3", "a5"), 1, "a2 A3 a4 A5 a6"),
        (hits("a3", "b5", "a4"), 2, "a1 a2 A3 b3 b4 B5 b6 b7 A4 a5 a6"),
        # What two hits want comes once, beside the nearer, so that it stands next to what it goes on from.
        (hits("a3", "a6"), 2, "a1 a2 A3 a4 a5 A6 a7 a8"),
        (hits("a6", "a3"), 2, "a5 A6 a7 a8 a1 a2 A3 a4"),
        (hits("a2", "b0", "a6"), 2, "a0 a1 A2 a3 a4 B0 b1 b2 a5 A6 a7 a8"),
        (hits("a6", "b0", "a2"), 2, "a4 a5 A6 a7 a8 B0 b1 b2 a0 a1 A2 a3"),
        # Never beyond a hit: what is there is that one's.
        (hits("a3", "a4"), 2, "a1 a2 A3 A4 a5 a6"),
    ],
)
def test_neighbours_stand_around_their_hit_in_reading_order(
    evidence: list[EvidenceBlock], neighbours: int, expected: str
) -> None:
    assert names(place(evidence, {**document("a", 10), **document("b", 10)}, neighbours)) == expected


@pytest.mark.requirement("CONTEXT-2")
def test_nothing_is_taken_from_beyond_a_hole() -> None:
    """The chunk after the next doesn't go on from the hit."""
    assert names(place(hits("a3"), beside("a1", "a4", "a5"), 2)) == "A3 a4 a5"


@pytest.mark.requirement("CONTEXT-2")
def test_a_chunk_of_another_document_is_no_neighbour_though_it_was_fetched() -> None:
    assert names(place(hits("a3"), beside("b2", "b4", "a4"), 1)) == "A3 a4"


places = st.tuples(st.sampled_from("ab"), st.integers(0, 8))


@pytest.mark.requirement("CONTEXT-1", "CONTEXT-2")
@given(
    st.lists(places, min_size=1, max_size=6, unique=True),
    st.sets(places),
    st.integers(0, 4),
)
def test_whatever_the_hits_neighbours_keep_to_the_rules(
    found: list[tuple[str, int]], missing: set[tuple[str, int]], neighbours: int
) -> None:
    evidence = [chunk(*each, "hit") for each in found]
    asked = wanted(evidence, neighbours)
    stored = {key: block for key, block in {**document("a", 9), **document("b", 9)}.items() if key in asked}
    stored = {key: block for key, block in stored.items() if (block.doc_id, block.chunk_index) not in missing}
    placed = place(evidence, stored, neighbours)

    assert [block for block in placed if block.role == "hit"] == evidence
    assert len({block.evidence_key for block in placed}) == len(placed)
    position = {block.evidence_key: at for at, block in enumerate(placed)}
    for block in placed:
        if block.role == "hit":
            continue
        around = [hit for hit in evidence if hit.doc_id == block.doc_id]
        distances = {hit.evidence_key: abs(_index(hit) - _index(block)) for hit in around}
        assert min(distances.values()) <= neighbours
        # From it to one of its hits, the chunks between stand between, one after the other.
        assert any(
            _in_a_row(placed, position, block, hit) for hit in around if distances[hit.evidence_key] <= neighbours
        )
    if not missing:
        assert {block.evidence_key for block in placed} == {block.evidence_key for block in evidence} | set(stored)


def _index(block: EvidenceBlock) -> int:
    assert block.chunk_index is not None
    return block.chunk_index


def _in_a_row(
    placed: tuple[EvidenceBlock, ...], position: dict[str, int], block: EvidenceBlock, hit: EvidenceBlock
) -> bool:
    first, last = sorted((position[block.evidence_key], position[hit.evidence_key]))
    run = placed[first : last + 1]
    start = _index(run[0])
    return [(each.doc_id, each.chunk_index) for each in run] == [(hit.doc_id, start + at) for at in range(len(run))]
