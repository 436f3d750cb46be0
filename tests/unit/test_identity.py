"""Identity is decided once, by tables of what counts and what does not (ID-1..9)."""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from citewell.errors import InvalidRequest
from citewell.identity import (
    Identity,
    check_doc_id,
    find_fallbacks,
    find_identity,
    find_marks,
    format_key,
    identify,
    normalize_id,
    normalize_index,
    parse_key,
)


def content_key(*parts: str) -> str:
    return "content:" + hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:16]


@pytest.mark.requirement("ID-6")
@pytest.mark.parametrize(
    "value",
    [3, "3", " 3 ", 3.0, "3.0", "3.00", "\t3\n", "03", Fraction(6, 2), np.int64(3), np.int8(3), np.float32(3)],
)
def test_a_whole_number_in_any_spelling_is_that_index(value: object) -> None:
    """Trial I138: integers come back from stores as floats and texts."""
    assert normalize_index(value) == 3
    assert identify({"docId": "alpha", "chunkIndex": value}).evidence_key == "alpha#chunk-3"


@pytest.mark.requirement("ID-6")
@pytest.mark.parametrize("value", [0, "0", 0.0, "0.0", " 0 ", -0.0])
def test_zero_is_an_index_and_not_missing(value: object) -> None:
    assert identify({"docId": "alpha", "chunkIndex": value}, vector_id=9) == Identity("alpha", 0, "alpha#chunk-0")


@pytest.mark.requirement("ID-6", "ID-4")
@pytest.mark.parametrize(
    "value",
    [
        True, False, -1, "-1", -1.0, "-0", 3.5, "3.5", "abc", "", "  ", None, float("nan"), float("inf"), float("-inf"),
        "nan", "inf", "1e2", "+3", "3.", ".0", "٣", "³", "1_000", [3], {"n": 3}, b"3", 2**63, str(2**63), 2.0**63,
        np.float32(2.0**63), 10**400, -(10**400), Fraction(10**400, 3), "9" * 5000, np.bool_(True), complex(3, 0),
    ],
    ids=lambda value: f"{type(value).__name__}-{str(value)[:12]}",
)  # fmt: skip
def test_whatever_else_is_a_missing_index(value: object) -> None:
    assert normalize_index(value) is None
    identity = identify({"docId": "alpha", "chunkIndex": value}, vector_id="v7")
    assert identity == Identity("alpha", None, "vector:v7")


@pytest.mark.requirement("ID-6")
def test_the_largest_index_fits_63_bits() -> None:
    assert normalize_index(2**63 - 1) == 2**63 - 1
    assert normalize_index(str(2**63 - 1)) == 2**63 - 1


@pytest.mark.requirement("ID-7", "ID-8")
@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("etcd.md", "etcd.md"),
        ("  etcd.md\n", "etcd.md"),
        (7, "7"),
        (-7, "-7"),
        (0, "0"),
        (np.int64(7), "7"),
        ("cafe\u0301", "caf\u00e9"),
        ("\u3000数据库\u3000", "数据库"),
        ("None", "None"),
        ("a#chunk-3", "a#chunk-3"),
    ],
)
def test_a_string_or_an_integer_is_an_id(value: object, name: str) -> None:
    assert normalize_id(value) == name


@pytest.mark.requirement("ID-7")
@pytest.mark.parametrize("value", [None, "", "   ", "\u3000", True, False, 7.0, float("nan"), [], ["a"], {}, b"a"])
def test_whatever_else_is_a_missing_id(value: object) -> None:
    assert normalize_id(value) is None
    identity = identify({"docId": value, "chunkIndex": 0}, vector_id=5)
    assert identity == Identity(None, 0, "vector:5")
    assert "None" not in identity.evidence_key


@pytest.mark.requirement("ID-8")
def test_ids_that_normalise_alike_are_the_same_id() -> None:
    composed, decomposed = {"docId": "caf\u00e9", "chunkIndex": 1}, {"docId": " cafe\u0301 ", "chunkIndex": "1"}
    assert identify(composed) == identify(decomposed)
    assert find_identity("cafe\u0301#chunk-1") == find_identity("caf\u00e9#chunk-1")


@pytest.mark.requirement("ID-1", "ID-3")
def test_document_and_index_make_the_key() -> None:
    found = identify({"docId": "etcd.md", "chunkIndex": 2}, vector_id=9, source="s", title="t", text="x")
    assert found == Identity("etcd.md", 2, "etcd.md#chunk-2")


@pytest.mark.requirement("ID-1", "ID-4")
def test_without_document_or_index_the_vector_id_makes_the_key() -> None:
    """Trial I14: a hit with no chunk number never becomes `doc#chunk-None`, and never chunk 0."""
    assert identify({"docId": "doc"}, vector_id=7) == Identity("doc", None, "vector:7")
    assert identify({"chunkIndex": 2}, vector_id="7") == Identity(None, 2, "vector:7")
    assert identify({}, vector_id=0).evidence_key == "vector:0"
    assert identify({}, vector_id=" cafe\u0301 ").evidence_key == "vector:caf\u00e9"


@pytest.mark.requirement("ID-1", "ID-5")
@pytest.mark.parametrize("vector_id", [None, "", " ", True, 1.5])
def test_without_a_vector_id_the_content_makes_the_key(vector_id: object) -> None:
    found = identify({"docId": "doc"}, vector_id=vector_id, source="s", title="t", breadcrumb="b", text="x")
    assert found == Identity("doc", None, content_key("s", "t", "b", "x"))
    assert identify(None).evidence_key == content_key("", "", "", "")


@pytest.mark.requirement("ID-5")
def test_each_of_the_four_texts_tells_contents_apart() -> None:
    keys = [
        identify({}).evidence_key,
        identify({}, source="x").evidence_key,
        identify({}, title="x").evidence_key,
        identify({}, breadcrumb="x").evidence_key,
        identify({}, text="x").evidence_key,
        identify({}, text="\ud800").evidence_key,
        identify({}, text="\ud801").evidence_key,
    ]
    assert len(set(keys)) == len(keys)


@pytest.mark.requirement("ID-2")
@pytest.mark.parametrize(
    "metadata",
    [
        {"docId": "a", "chunkIndex": 2},
        {"doc_id": "a", "chunk_index": 2},
        {"docId": "a", "chunk_index": 2},
        {"docId": "a", "doc_id": "b", "chunkIndex": 2, "chunk_index": 99},
        {"docId": " ", "doc_id": "a", "chunkIndex": True, "chunk_index": "2"},
        {"docId": "a", "doc_id": None, "chunkIndex": 2, "chunk_index": -1},
        {"metadata": {"docId": "a", "chunkIndex": 2}},
        {"metadata": {"metadata": {"doc_id": "a", "chunk_index": "2"}}},
        {"docId": "a", "metadata": {"chunkIndex": 2}},
        {"docId": "a", "chunkIndex": 2, "metadata": {"docId": "b", "chunk_index": 99}},
        {"docId": "a", "chunkIndex": None, "metadata": json.dumps({"chunkIndex": 2})},
        {"metadata": json.dumps({"docId": "a", "chunkIndex": 2.0})},
        json.dumps({"docId": "a", "chunkIndex": 2}),
        json.dumps({"metadata": json.dumps({"doc_id": "a", "chunk_index": 2})}),
    ],
)
def test_one_chunk_has_one_key_however_its_metadata_is_laid_out(metadata: dict[str, object] | str) -> None:
    """Trial I140: names drift apart, and a user's own `chunk_index: 99` changes nothing."""
    assert identify(metadata, vector_id=5) == Identity("a", 2, "a#chunk-2")


@pytest.mark.requirement("ID-2", "ID-4")
@pytest.mark.parametrize(
    "metadata",
    [
        None, "", "no json", "[1, 2]", '"docId"', "null", "{", "[" * 100_000, '{"docId": ' + "1" * 5000 + "}", {},
        {"metadata": None}, {"metadata": "{"}, {"metadata": [{"docId": "a"}]}, {"document": "a", "source": "b"},
    ],
    ids=range(14),
)  # fmt: skip
def test_metadata_that_says_nothing_falls_back(metadata: dict[str, object] | str | None) -> None:
    """Trial I140: a row with none of the names is known by its vector id."""
    assert identify(metadata, vector_id=5) == Identity(None, None, "vector:5")


@pytest.mark.requirement("ID-3", "ID-8")
@pytest.mark.parametrize(
    ("doc_id", "index", "key"),
    [
        ("etcd.md", 2, "etcd.md#chunk-2"),
        ("a#chunk-1", 12, "a#chunk-1#chunk-12"),
        ("a#chunk-", 0, "a#chunk-#chunk-0"),
        (7, 0, "7#chunk-0"),
        ("vector:7", 2, "doc:vector:7#chunk-2"),
        ("content:7", 2, "doc:content:7#chunk-2"),
        ("doc:vector:7", 2, "doc:doc:vector:7#chunk-2"),
        ("doc:", 2, "doc:#chunk-2"),
        ("doc:other", 2, "doc:other#chunk-2"),
        ("vectors:7", 2, "vectors:7#chunk-2"),
        ("Vector:7", 2, "Vector:7#chunk-2"),
    ],
)
def test_a_key_is_written_and_read_back(doc_id: str | int, index: int, key: str) -> None:
    assert format_key(doc_id, index) == key
    assert parse_key(key) == Identity(str(doc_id), index, key)


@pytest.mark.requirement("ID-8")
def test_a_document_called_like_a_fallback_key_is_no_fallback_key() -> None:
    of_document = identify({"docId": "vector:7", "chunkIndex": 2}).evidence_key
    of_vector = identify({}, vector_id="7#chunk-2").evidence_key
    assert of_document == "doc:vector:7#chunk-2"
    assert of_vector == "vector:7#chunk-2"
    assert parse_key(of_vector) == Identity(None, None, of_vector)


@pytest.mark.requirement("ID-8")
@pytest.mark.parametrize(
    "text",
    [
        "", "  ", "etcd.md", "etcd.md#chunk-", "#chunk-1", "  #chunk-1", "a#chunk--1", "a#chunk--00", "a#chunk-00",
        "a#chunk-01", "a#chunk--01", "a#chunk--1.0", "a#chunk-1.0", "a#chunk-1x", "a#chunk-１", "a#chunk- 1",
        "a#Chunk-1", "a#chunk-None", "a#chunk-9223372036854775808", "vector:", "content:", "content:encoded",
        "content:0123456789ABCDEF", "content:0123456789abcdef0",
    ],
)  # fmt: skip
def test_what_is_no_key_does_not_parse(text: str) -> None:
    assert find_identity(text) is None
    with pytest.raises(InvalidRequest, match="is no evidence key") as caught:
        parse_key(text)
    assert caught.value.way_out


@pytest.mark.requirement("ID-8")
def test_blanks_around_a_key_and_its_document_do_not_matter() -> None:
    assert parse_key("  etcd.md #chunk-2\n") == Identity("etcd.md", 2, "etcd.md#chunk-2")
    assert parse_key("content:0123456789abcdef").evidence_key == "content:0123456789abcdef"
    assert parse_key("vector:a\nb").evidence_key == "vector:a\nb"


@pytest.mark.requirement("ID-6", "ID-7")
@pytest.mark.parametrize(
    ("doc_id", "index", "named"),
    [
        ("", 0, "''"),
        (" ", 0, "' '"),
        (True, 0, "True"),
        ("a", -1, "-1"),
        ("a", True, "True"),
    ],
)
def test_a_key_is_not_made_of_what_is_missing(doc_id: str | int, index: int, named: str) -> None:
    with pytest.raises(InvalidRequest, match=named):
        format_key(doc_id, index)


@pytest.mark.requirement("ID-7")
def test_an_integer_that_python_will_not_write_out_is_missing_everywhere() -> None:
    huge = 10**5000
    assert normalize_id(huge) is None
    assert identify({"docId": huge, "chunkIndex": huge}, vector_id=huge, text="x").evidence_key == content_key(
        "", "", "", "x"
    )
    for value in (huge, [huge], {"a": huge}):
        with pytest.raises(InvalidRequest, match=r"a document id can't be .* bits"):
            format_key(value, 0)  # type: ignore[arg-type]  # raw on purpose
        with pytest.raises(InvalidRequest, match=r"a chunk index can't be .* bits"):
            format_key("a", value)  # type: ignore[arg-type]  # raw on purpose
        with pytest.raises(InvalidRequest, match=r"bits.* is no evidence key"):
            parse_key(value)  # type: ignore[arg-type]  # raw on purpose
        with pytest.raises(InvalidRequest, match=r"a document id can't be .* bits"):
            check_doc_id(value)


@pytest.mark.requirement("ID-5")
@pytest.mark.parametrize("name", ["source", "title", "breadcrumb", "text"])
def test_a_label_that_a_store_does_not_know_counts_as_blank_and_one_of_another_kind_is_refused(name: str) -> None:
    assert identify({}, **{name: None}) == identify({}, **{name: ""})
    for value in (5, b"a", ["a"]):
        with pytest.raises(InvalidRequest, match=f"{name} can't be ") as caught:
            identify({}, **{name: value})  # type: ignore[arg-type]  # raw on purpose
        assert caught.value.way_out


@pytest.mark.requirement("ID-8")
@pytest.mark.parametrize(
    "value", ["vector:7", "content:x", " vector:7", "doc:vector:7", "doc:doc:content:", "", None, 1.5]
)
def test_ingestion_refuses_an_id_that_could_be_taken_for_a_fallback_key(value: object) -> None:
    with pytest.raises(InvalidRequest) as caught:
        check_doc_id(value)
    assert caught.value.way_out


@pytest.mark.requirement("ID-7", "ID-8")
@pytest.mark.parametrize(
    ("value", "name"), [(" cafe\u0301 ", "caf\u00e9"), (7, "7"), ("docs/vector:7", "docs/vector:7")]
)
def test_ingestion_takes_every_other_id_in_its_normal_form(value: object, name: str) -> None:
    assert check_doc_id(value) == name


@pytest.mark.requirement("ID-9")
def test_no_other_module_spells_out_how_a_key_looks() -> None:
    package = Path(__file__).parents[2] / "src" / "citewell"
    code = [path for path in sorted(package.rglob("*.py")) if path.name != "identity.py"]
    # In docstrings and comments a key may stand as an example; an f-string or a split on the mark may not.
    makers = [
        f"{path.name}: {line.strip()}"
        for path in code
        for line in path.read_text(encoding="utf-8").splitlines()
        if ('f"' in line or "split(" in line or "partition(" in line) and "#chunk-" in line
    ]
    assert makers == []


@pytest.mark.requirement("ID-9")
def test_marks_are_found_as_keys_have_them_and_as_they_are_copied_badly() -> None:
    text = "docA#chunk-2, docA#Chunk_02, docA＃ｃｈｕｎｋ－３, docA#chunk--1, docA# chunks:1, docA%23chunk-**9**; "
    text += "no: #chunk- #chunk one chunk-1"
    assert [text[slice(*span)] for span in find_marks(text)] == [
        "#chunk-2",
        "#Chunk_02",
        "＃ｃｈｕｎｋ－３",
        "#chunk--1",
        "# chunks:1",
        "%23chunk-**9",
    ]


@pytest.mark.requirement("ID-9")
def test_fallback_keys_are_found_where_they_begin_and_words_and_escapes_are_not() -> None:
    digest = "0123456789abcdef"
    keys = f"vector:7 content:{digest} CONTENT:{digest.upper()}"
    text = f"{keys} vector: x content:{digest}0 content:12 doc:vector:7#chunk-2"
    found = [text[start:].split(" ")[0] for start in find_fallbacks(text)]
    assert found == keys.split(" ")
