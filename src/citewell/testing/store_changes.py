"""The store contract on telling changes: what who keeps a copy of the catalogue is told, where an engine tells it.

`mark` and `changes` are optional; an engine without them skips these tests.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from citewell.model.catalogue import CatalogueChanges, Catalogued, Mark
from citewell.ports import Store
from citewell.testing.requirement import requirement
from citewell.testing.store_base import StoreSuite, put, random_units


def mark_of(store: Store) -> Mark:
    """The store's mark; skips the test if it has none."""
    mark = getattr(store, "mark", None)
    if mark is None:
        pytest.skip("the store tells no changes")
    found = mark()
    assert isinstance(found, Mark)
    return found


def told(store: Store, since: Mark | None) -> tuple[list[Catalogued], CatalogueChanges]:
    """All portions after the mark, and the last of them."""
    rows: list[Catalogued] = []
    while True:
        part: CatalogueChanges = store.changes(since)  # type: ignore[attr-defined]  # optional, asked for by mark_of
        rows += part.documents
        if part.complete:
            return rows, part
        assert part.mark != since, "a portion that doesn't move the mark never ends"
        since = part.mark


class Changes(StoreSuite):
    """A copy that follows the changes equals the catalogue."""

    @requirement("L0-1", "PORT-6")
    def test_an_empty_store_has_a_mark_and_nothing_to_tell(self, store: Store) -> None:
        mark_of(store)
        rows, last = told(store, None)
        assert (rows, last.count, last.complete) == ([], 0, True)

    @requirement("L0-1", "PORT-6")
    def test_every_write_moves_the_mark_and_reading_does_not(self, store: Store) -> None:
        marks = [mark_of(store)]
        put(store, "a.md", ["one"])
        marks.append(mark_of(store))
        put(store, "a.md", ["two"])
        marks.append(mark_of(store))
        store.delete(["a.md"])
        marks.append(mark_of(store))
        assert all(later != earlier for earlier, later in pairwise(marks))
        list(store.documents())
        assert mark_of(store) == marks[-1]

    @requirement("L0-1", "PORT-6")
    def test_from_the_beginning_the_whole_catalogue_is_told_with_the_middle_of_each_documents_vectors(
        self, store: Store
    ) -> None:
        mark_of(store)
        vectors = random_units(5, seed=11)
        put(store, "a.md", ["one", "two", "three"], vectors=list(vectors[:3]), title="T", scope=["s"], category="c")
        put(store, "b.md", ["four", "five"], vectors=list(vectors[3:]), metadata={"page": 3, "draft": False})
        rows, last = told(store, None)
        rows.sort(key=lambda row: row.info.doc_id)
        assert [row.info for row in rows] == list(store.documents())
        assert (last.mark, last.count) == (mark_of(store), 2)
        for row, held in zip(rows, (vectors[:3], vectors[3:]), strict=True):
            if row.centre is not None:  # an engine may not know it
                middle = held.mean(axis=0)
                cosine = row.centre @ middle / np.linalg.norm(row.centre) / np.linalg.norm(middle)
                assert cosine == pytest.approx(1, abs=1e-5)

    @requirement("L0-1", "PORT-6")
    def test_after_a_mark_only_what_was_written_since_is_told_and_the_count_shows_what_is_gone(
        self, store: Store
    ) -> None:
        mark_of(store)
        for name in ("a.md", "b.md", "c.md"):
            put(store, name, ["text"])
        before = mark_of(store)
        put(store, "b.md", ["text"], scope=["new"])
        put(store, "d.md", ["text"])
        store.delete(["a.md"])
        rows, last = told(store, before)
        assert {row.info.doc_id: row.info.scope for row in rows} == {"b.md": ("new",), "d.md": None}
        assert (last.mark, last.count) == (mark_of(store), 3)
        assert told(store, last.mark)[0] == []
        doc_ids = getattr(store, "doc_ids", None)
        if doc_ids is not None:
            assert doc_ids() == {"b.md", "c.md", "d.md"}
