"""In which order the rows of a foreign document are, what is said when it can't be known, and what it is called."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.adapters.milvus.foreign.export import _common_scope, _in_order, _Member, _Names, _without_repeats
from citewell.adapters.milvus.foreign.rows import PrimaryKey, Row
from citewell.identity import identify
from citewell.model import Locator, StoredChunk

pytestmark = pytest.mark.requirement("ENGINE-3")


def member(
    pk: PrimaryKey,
    text: str,
    *,
    index: int | None = None,
    start: int | None = None,
    page: int | None = None,
    scope: tuple[str, ...] | None = None,
) -> _Member:
    who = identify({"docId": "d", "chunkIndex": index}, vector_id=pk)
    span = None if start is None else (start, start + len(text))
    chunk = StoredChunk(
        who.evidence_key, who.doc_id, who.chunk_index, text, span=span, locator=Locator(page), scope=scope, digest=text
    )
    return _Member(Row(pk, chunk), np.zeros(2, dtype=np.float32))


def order(*members: _Member, counts_up: bool = False) -> tuple[str, str]:
    """The texts in the order found, whatever order they came in, and the remark."""
    results = set()
    for seed in range(5):
        mixed = list(members)
        random.Random(seed).shuffle(mixed)
        ordered, remark = _in_order(mixed, counts_up=counts_up)
        results.add(("".join(each.row.chunk.text for each in ordered), remark))
    (result,) = results
    return result


@pytest.mark.parametrize(
    ("members", "counts_up", "texts", "remark"),
    [
        ([member("x", "b", index=1), member("y", "a", index=0)], True, "ab", ""),
        ([member("x", "b", index=9), member("y", "a", index=2)], False, "ab", "had gaps; they are counted anew from 0"),
        (
            [member("x", "c", start=5, page=2), member("y", "b", start=9, page=1), member("z", "a", start=0, page=1)],
            False,
            "abc",
            "in the order of their places in the text",
        ),
        (
            [member(12, "b", start=0), member(7, "a", start=0)],
            True,
            "ab",
            "in the order in which the rows were inserted",
        ),
        ([member(10, "b"), member(9, "a")], True, "ab", "in the order in which the rows were inserted"),
        ([member("x", "a", page=1), member("b", "b", page=3)], False, "ab", "in the order of their pages"),
        (
            [member("x", "b", page=1), member("b", "a", page=1)],
            False,
            "ab",
            "the order within a page is not known",
        ),
        ([member("x", "b"), member("b", "a")], False, "ab", "the order of its chunks is not known"),
        ([member("x", "b", index=1), member("b", "a")], False, "ab", "the order of its chunks is not known"),
        ([member("x", "a")], False, "a", "it is the only one"),
    ],
)
def test_the_best_order_that_is_known_is_taken_and_named(
    members: list[_Member], counts_up: bool, texts: str, remark: str
) -> None:
    found, said = order(*members, counts_up=counts_up)
    assert found == texts
    assert remark in said
    assert bool(remark) == bool(said)


@given(st.permutations(range(12)), st.booleans())
def test_indexes_decide_whatever_the_keys_are(indexes: list[int], counts_up: bool) -> None:
    members = [member(pk, chr(97 + index), index=index) for pk, index in enumerate(indexes)]
    assert _in_order(members, counts_up=counts_up)[1] == ""
    assert order(*members, counts_up=counts_up)[0] == "abcdefghijkl"


def test_of_rows_that_repeat_a_chunk_one_stays_and_of_those_that_differ_all() -> None:
    same = [member(2, "a", index=0), member(1, "a", index=0), member(3, "other", index=0), member(4, "a", index=1)]
    kept, repeats = _without_repeats(same)
    assert (sorted(str(each.row.pk) for each in kept), repeats) == (["1", "3", "4"], 1)


@pytest.mark.requirement("SAFE-3")
@pytest.mark.parametrize(
    ("scopes", "common"),
    [
        ([("a", "b"), ("b", "c")], ("b",)),
        ([("a",), ("b",)], None),
        ([("a",), None], None),
        ([("a",), ("a",)], ("a",)),
        ([None, None], None),
    ],
)
def test_a_document_bears_the_labels_that_all_its_chunks_bear(
    scopes: list[tuple[str, ...] | None], common: tuple[str, ...] | None
) -> None:
    found, remark = _common_scope([member(n, "t", scope=scope) for n, scope in enumerate(scopes)])
    assert found == common
    assert bool(remark) == (len(set(scopes)) > 1)


def test_a_row_without_a_document_is_one_by_its_primary_key_and_no_id_looks_like_a_fallback_key() -> None:
    names = _Names("theirs", ["etcd.md", "vector:7", None])
    assert names.give("etcd.md", member(1, "t")) == ("etcd.md", "")
    assert names.give(None, member(7, "t")) == ("theirs/7", "it has no document id and is a document by itself")
    name, remark = names.give("vector:7", member(1, "t"))
    assert name == "theirs/vector:7"
    assert "'vector:7'" in remark


def test_no_two_documents_get_one_id() -> None:
    names = _Names("theirs", ["theirs/1", "theirs/theirs/1", "vector:2", None])
    given = [names.give(doc_id, member(pk, "t"))[0] for doc_id, pk in (("theirs/1", 9), ("vector:2", 8))]
    given += [names.give(None, member(pk, "t"))[0] for pk in (1, "vector:2")]
    assert given == ["theirs/1", "theirs/vector:2", "theirs/theirs/theirs/1", "theirs/theirs/vector:2"]
