"""One row of a foreign collection becomes the chunk that it is, by ID-2..5; what is of no use is no error."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.adapters.milvus.foreign.mapping import FieldMap, parse_assignments
from citewell.adapters.milvus.foreign.rows import Row, RowReader
from citewell.identity import format_key, normalize_id, parse_key
from citewell.model import Locator

pytestmark = pytest.mark.requirement("ENGINE-3")


def _read(entity: Mapping[str, object], *assignments: str, absent: tuple[str, ...] = ()) -> Row:
    fields = parse_assignments(["text=text", "vector=vector", *assignments])
    return RowReader(fields, primary="pk", vectors=("vector",), absent=absent).read(
        {"pk": 7, "text": "a text", "vector": [1.0], **entity}
    )


@pytest.mark.requirement("ID-2", "ID-3")
@pytest.mark.parametrize(
    "metadata",
    [
        {"docId": "a", "chunkIndex": 3},
        {"doc_id": "a", "chunk_index": "3"},
        {"docId": "a", "doc_id": "b", "chunkIndex": 3.0, "chunk_index": 4},
        {"docId": " ", "doc_id": "a", "chunkIndex": -1, "chunk_index": 3},
        {"metadata": {"docId": "a", "chunkIndex": 3}},
    ],
)
@pytest.mark.parametrize("as_text", [False, True])
def test_metadata_that_names_document_and_index_needs_no_mapping(metadata: dict[str, object], as_text: bool) -> None:
    held = json.dumps(metadata) if as_text else metadata
    assert _read({"meta": held}, "metadata=meta").chunk.evidence_key == format_key("a", 3)


@pytest.mark.requirement("ID-3", "ID-4")
def test_what_is_mapped_wins_and_what_is_unusable_gives_way() -> None:
    row = {"file": "mapped.md", "place": 5, "meta": {"docId": "own.md", "chunkIndex": 1}}
    maps = ("docId=file", "chunkIndex=place", "metadata=meta")
    assert _read(row, *maps).chunk.evidence_key == format_key("mapped.md", 5)
    assert _read({**row, "file": None, "place": "x"}, *maps).chunk.evidence_key == format_key("own.md", 1)
    assert _read({**row, "file": " ", "meta": {}}, *maps).chunk.evidence_key == "vector:7"
    assert _read({**row, "place": None, "meta": {}}, *maps).chunk.doc_id == "mapped.md"


@pytest.mark.requirement("ID-4")
@pytest.mark.parametrize(("pk", "key"), [(7, "vector:7"), ("node-1", "vector:node-1"), (-3, "vector:-3")])
def test_without_a_chunk_index_a_row_is_known_by_its_primary_key(pk: int | str, key: str) -> None:
    chunk = _read({"pk": pk, "source": "etcd.md"}, "docId=source").chunk
    assert (chunk.evidence_key, chunk.doc_id, chunk.chunk_index) == (key, "etcd.md", None)


@pytest.mark.requirement("ID-8")
@given(st.one_of(st.integers(), st.text(min_size=1)), st.text(), st.integers(0, 99))
def test_no_document_of_a_row_can_take_the_key_of_another_row(pk: int | str, doc_id: str, index: int) -> None:
    by_pk = _read({"pk": pk}).chunk.evidence_key
    by_document = _read({"pk": 0, "d": f"vector:{doc_id}", "i": index}, "docId=d", "chunkIndex=i").chunk.evidence_key
    assert by_pk != by_document
    named = parse_key(by_document)
    assert (named.doc_id, named.chunk_index) == (normalize_id(f"vector:{doc_id}"), index)


@pytest.mark.requirement("ID-7")
def test_a_text_that_means_none_is_no_document() -> None:
    row = {"doc_id": "None", "ref": "real"}
    assert _read(row, "docId=doc_id", absent=("None",)).chunk.doc_id is None
    assert _read(row, "docId=doc_id", "docId=ref", absent=("None",)).chunk.doc_id == "real"
    assert _read(row, "docId=doc_id").chunk.doc_id == "None"


@pytest.mark.requirement("SAFE-3")
@pytest.mark.parametrize(
    ("held", "labels"),
    [
        ("t1", ("t1",)),
        (["t2", "t1", "t2"], ("t1", "t2")),
        (7, ("7",)),
        ([], None),
        ("", None),
        (None, None),
        ({"t1": True}, None),
        (1.5, None),
        ([None, "t1", 2.5], ("t1",)),
    ],
)
def test_labels_are_a_text_or_a_list_of_texts_and_anything_else_is_none(
    held: object, labels: tuple[str, ...] | None
) -> None:
    assert _read({"labels": held}, "scope=labels").chunk.scope == labels
    assert _read({"labels": held}).chunk.scope is None


def test_metadata_is_all_that_the_row_says_but_its_text_and_vectors() -> None:
    row = {"lang": "en", "meta": {"lang": "de", "tags": ["a"]}, "_node": "{}", "more": [1, 2]}
    fields = parse_assignments(["text=text", "vector=vector", "metadata=meta"])
    reader = RowReader(FieldMap(fields.paths, ("_node",)), primary="pk", vectors=("vector", "sparse"))
    chunk = reader.read({"pk": 1, "text": "t", "vector": [1.0], "sparse": {1: 0.5}, **row}).chunk
    assert chunk.metadata == {"lang": "de", "tags": ["a"], "more": [1, 2]}


def test_places_and_labels_are_read_and_what_is_no_number_is_left_out() -> None:
    row = {"p": "3", "l": 0, "u": "http://x", "s": 10, "e": 16, "h": ["Top", "Sub"], "t": None}
    maps = ("page=p", "line=l", "url=u", "start=s", "end=e", "breadcrumb=h", "title=t")
    chunk = _read(row, *maps).chunk
    assert (chunk.locator, chunk.span) == (Locator(3, None, "http://x"), (10, 16))
    assert (chunk.breadcrumb, chunk.title) == ("Top > Sub", "")
    assert _read({"s": 4}, "start=s").chunk.span == (4, 10)
    assert _read({"s": 4, "e": 2}, "start=s", "end=e").chunk.span is None


@given(st.dictionaries(st.text(), st.recursive(st.none() | st.floats() | st.text(), st.lists, max_leaves=4)))
def test_no_value_of_a_row_is_an_error(values: dict[str, object]) -> None:
    roles = ("docId", "chunkIndex", "source", "title", "breadcrumb", "category", "scope", "page", "start", "url")
    names = list(values) or ["none"]
    maps = [f"{role}=field{number % len(names)}" for number, role in enumerate(roles)]
    entity = {f"field{number}": values.get(name) for number, name in enumerate(names)}
    chunk = _read({**entity, "text": None}, *maps).chunk
    assert chunk.evidence_key
    assert chunk.text == ""


def test_half_a_character_in_the_text_of_json_is_marked_and_never_stored() -> None:
    r"""JSON may say `\ud800` alone, which no store takes; a pair of halves is one character."""
    said = '{"source": "a\\ud800.md", "title": "\\ud83d\\ude00", "deep": [{"\\udfff": 1}]}'
    row = _read(
        {"pk": 1, "text": "t", "metadata": said},
        "metadata=metadata", "docId=metadata.source", "title=metadata.title",
    )  # fmt: skip
    assert row.chunk.doc_id == "a\ufffd.md"
    assert row.chunk.title == "\U0001f600"
    assert row.chunk.metadata["deep"] == [{"\ufffd": 1}]
