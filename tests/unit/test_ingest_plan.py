"""What is embedded, what is reused, and against which version (INGEST-5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.ingest.fingerprint import fingerprint, root_of
from citewell.ingest.plan import diff
from citewell.model import Chunk, DocumentRecord, Locator, Reuse, StoredDocument

RECORD = DocumentRecord("a.md", title="A", fingerprint="1")


def chunks(*digests: str) -> list[Chunk]:
    return [
        Chunk(index, digest, "", (index, index + 1), Locator(), digest, digest, ())
        for index, digest in enumerate(digests)
    ]


def stored(*digests: str, record: DocumentRecord = RECORD, version: int = 3) -> StoredDocument:
    return StoredDocument(record, version, digests)


@pytest.mark.requirement("INGEST-5")
def test_a_document_that_is_not_stored_is_added_with_every_chunk_embedded() -> None:
    plan = diff(None, RECORD, chunks("x", "y"))
    assert (plan.kind, plan.fresh, plan.sources, plan.expected_version) == ("added", (0, 1), (0, 1), 0)


@pytest.mark.requirement("INGEST-5")
def test_an_equal_document_needs_nothing() -> None:
    plan = diff(stored("x", "y"), RECORD, chunks("x", "y"))
    assert (plan.kind, plan.fresh, plan.expected_version) == ("unchanged", (), 3)


@pytest.mark.requirement("INGEST-5")
def test_a_new_title_over_the_same_vectors_embeds_nothing_and_is_still_written() -> None:
    plan = diff(stored("x", "y"), replace(RECORD, category="ops"), chunks("x", "y"))
    assert (plan.kind, plan.fresh, plan.sources) == ("metadata", (), (Reuse(0), Reuse(1)))


@pytest.mark.requirement("INGEST-5")
def test_a_chunk_keeps_its_vector_wherever_it_moved_and_the_rest_is_embedded() -> None:
    plan = diff(stored("x", "y", "z"), RECORD, chunks("new", "z", "x"))
    assert (plan.kind, plan.fresh, plan.sources) == ("updated", (0,), (0, Reuse(2), Reuse(0)))


@pytest.mark.requirement("INGEST-5")
def test_a_shorter_version_is_an_update_that_embeds_nothing() -> None:
    """Trial I93."""
    plan = diff(stored("x", "y", "z"), RECORD, chunks("x"))
    assert (plan.kind, plan.fresh, len(plan.change([]).chunks)) == ("updated", (), 1)


@pytest.mark.requirement("INGEST-5")
def test_a_paragraph_that_stands_twice_is_embedded_once_and_stored_twice() -> None:
    """Trial I16."""
    vector = np.array([1, 0], np.float32)
    change = diff(None, RECORD, chunks("x", "x")).change([vector])
    assert [chunk.chunk_index for chunk in change.chunks] == [0, 1]
    assert [each is vector for each in change.vectors] == [True, True]


@pytest.mark.requirement("INGEST-5")
def test_of_equal_stored_chunks_the_first_gives_its_vector() -> None:
    assert diff(stored("x", "x"), RECORD, chunks("y", "x")).sources == (0, Reuse(0))


@pytest.mark.requirement("INGEST-5")
@given(st.lists(st.sampled_from("abcde"), max_size=8), st.lists(st.sampled_from("abcde"), min_size=1, max_size=8))
def test_every_chunk_gets_the_vector_of_its_own_digest(old: Sequence[str], new: Sequence[str]) -> None:
    plan = diff(stored(*old) if old else None, RECORD, chunks(*new))
    made = [np.array([ord(new[index])], np.float32) for index in plan.fresh]
    taken = [
        old[each.chunk_index] if isinstance(each, Reuse) else chr(int(each[0])) for each in plan.change(made).vectors
    ]
    assert taken == list(new)
    assert len({new[index] for index in plan.fresh}) == len(plan.fresh)
    assert {new[index] for index in plan.fresh}.isdisjoint(old)


@pytest.mark.requirement("INGEST-5")
def test_a_fingerprint_depends_on_bytes_and_facts_and_not_on_the_order_of_facts() -> None:
    one = fingerprint(b"x", {"a": 1, "b": [None, "é"]})
    assert one == fingerprint(b"x", {"b": [None, "é"], "a": 1})
    assert len({one, fingerprint(b"y", {"a": 1, "b": [None, "é"]}), fingerprint(b"x", {"a": 2, "b": [None, "é"]})}) == 3


@pytest.mark.requirement("INGEST-5")
def test_a_fingerprint_names_the_root_of_a_file() -> None:
    assert root_of(fingerprint(b"x", {}, root="/srv/docs@home")) == "/srv/docs@home"
    assert root_of(fingerprint(b"x", {})) == ""
