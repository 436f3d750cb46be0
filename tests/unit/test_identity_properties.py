"""What holds of identities whatever the ids and the metadata are (ID-1..8)."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.identity import Identity, find_identity, format_key, identify, normalize_id, parse_key

_PIECES = st.sampled_from(
    ["#chunk-", "#chunk-1", "vector:", "content:", "doc:", "0123456789abcdef", "7", " ", "e\u0301", "数"]
)
_ANY_TEXT = st.text(st.characters(codec=None))
TEXTS = st.one_of(_ANY_TEXT, st.lists(st.one_of(_PIECES, _ANY_TEXT), max_size=6).map("".join))
DOC_IDS = TEXTS.map(normalize_id).filter(lambda text: text is not None).map(str)
INDEXES = st.integers(0, 2**63 - 1)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS, st.just(10**700))
NAMES = st.one_of(st.sampled_from(["docId", "doc_id", "chunkIndex", "chunk_index", "metadata"]), TEXTS)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=5)),
    max_leaves=12,
)
METADATA = st.one_of(st.none(), TEXTS, st.dictionaries(NAMES, JSON, max_size=6))


@pytest.mark.requirement("ID-8")
@given(DOC_IDS, INDEXES)
def test_reading_a_key_undoes_writing_it(doc_id: str, index: int) -> None:
    key = format_key(doc_id, index)
    assert parse_key(key) == Identity(doc_id, index, key)


@pytest.mark.requirement("ID-8")
@given(st.tuples(DOC_IDS, INDEXES), st.tuples(DOC_IDS, INDEXES))
def test_two_different_chunks_have_two_different_keys(one: tuple[str, int], other: tuple[str, int]) -> None:
    assert (format_key(*one) == format_key(*other)) == (one == other)


@pytest.mark.requirement("ID-4", "ID-5", "ID-8")
@given(DOC_IDS, INDEXES, DOC_IDS, TEXTS)
def test_no_chunk_has_the_key_of_a_vector_or_a_content(doc_id: str, index: int, vector_id: str, text: str) -> None:
    of_vector = identify(None, vector_id=vector_id).evidence_key
    of_content = identify(None, text=text).evidence_key
    assert len({format_key(doc_id, index), of_vector, of_content}) == 3
    assert find_identity(of_vector) == Identity(None, None, of_vector)
    assert find_identity(of_content) == Identity(None, None, of_content)


@pytest.mark.requirement("ID-8")
@given(DOC_IDS, DOC_IDS)
def test_two_different_vector_ids_have_two_different_keys(one: str, other: str) -> None:
    keys = {identify(None, vector_id=one).evidence_key, identify(None, vector_id=other).evidence_key}
    assert len(keys) == len({one, other})


@pytest.mark.requirement("ID-1", "ID-2")
@given(METADATA, SCALARS, TEXTS)
def test_every_metadata_yields_a_key_that_parses(
    metadata: dict[str, object] | str | None, vector: object, text: str
) -> None:
    found = identify(metadata, vector_id=vector, text=text)
    read = parse_key(found.evidence_key)
    assert read.evidence_key == found.evidence_key
    if read.doc_id is not None:
        assert read == found


@pytest.mark.requirement("ID-8")
@given(TEXTS)
def test_whatever_parses_is_in_its_normal_form(text: str) -> None:
    found = find_identity(text)
    if found is not None:
        assert find_identity(found.evidence_key) == found
        assert unicodedata.is_normalized("NFC", found.evidence_key)
        if found.doc_id is not None and found.chunk_index is not None:
            assert format_key(found.doc_id, found.chunk_index) == found.evidence_key
