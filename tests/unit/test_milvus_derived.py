"""The lexical index in memory beside Milvus: what a snapshot sees is found, however far a commit has come."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from citewell.adapters.milvus.derived import Derived
from citewell.adapters.milvus.state import Head, State
from citewell.adapters.milvus.terms import words
from citewell.model import Filters


class Rows:
    """The collection and the catalogue, of one document `a.md` in versions of one chunk each."""

    def __init__(self) -> None:
        self.versions_held: list[int] = []
        self.committed: list[int] = []

    def put(self, version: int) -> None:
        """What a commit writes, all but its head."""
        self.versions_held.append(version)
        self.committed = [version]

    def versions(self, kind: str) -> list[int]:
        assert kind == "document"
        return list(self.committed)

    def rows(self, chosen: str, fields: list[str]) -> Iterator[dict[str, Any]]:
        numbers = [int(number) for number in re.findall(r"\d+", chosen)]
        wanted = range(numbers[0] + 1, numbers[1] + 1) if "<=" in chosen else numbers
        for version in self.versions_held:
            if version in wanted:
                yield {
                    "id": f"a.md#chunk-0@{version}", "version": version, "document": "a.md", "category": "",
                    "labels": [], "marks": [], "terms": words(["shared", f"v{version}"]),
                }  # fmt: skip

    def with_ids(self, ids: list[str]) -> list[Any]:
        return []


def found(derived: Derived, head: Head, term: str) -> list[str]:
    return [hit.key for hit in derived.best(head, [term], 10, Filters())]


@pytest.mark.requirement("INGEST-5", "INGEST-7")
def test_a_commit_that_this_process_has_not_heard_of_hides_nothing_from_an_open_snapshot() -> None:
    rows, state = Rows(), State()
    derived = Derived(rows, rows, state)  # type: ignore[arg-type]  # the few calls that it makes
    rows.put(1)
    state.moved(Head(1, 1, 1))
    first = state.pin()
    assert found(derived, first, "v1") == ["a.md#chunk-0"]
    rows.put(2)
    state.moved(Head(2, 1, 1, retired=(1,)))
    second = state.pin()
    rows.put(3)  # the catalogue says so already; the head that retires version 2 has not been read
    assert found(derived, second, "v2") == ["a.md#chunk-0"]
    assert found(derived, first, "v1") == ["a.md#chunk-0"]
    state.moved(Head(3, 1, 1, retired=(1, 2)))
    assert found(derived, second, "v2") == ["a.md#chunk-0"]
    assert found(derived, first, "v1") == ["a.md#chunk-0"]
    assert found(derived, state.pin(), "v3") == ["a.md#chunk-0"]


@pytest.mark.requirement("INGEST-5", "INGEST-7")
def test_what_was_indexed_stays_while_a_later_version_is_on_its_way() -> None:
    rows, state = Rows(), State()
    derived = Derived(rows, rows, state)  # type: ignore[arg-type]  # as above
    rows.put(1)
    state.moved(Head(1, 1, 1))
    assert found(derived, state.pin(), "v1") == ["a.md#chunk-0"]
    state.moved(Head(2, 1, 1))  # of another document, say
    second = state.pin()
    rows.put(3)
    assert found(derived, second, "v1") == ["a.md#chunk-0"]
    state.moved(Head(3, 1, 1, retired=(1,)))
    assert found(derived, second, "v1") == ["a.md#chunk-0"]
    assert found(derived, state.pin(), "v1") == []
