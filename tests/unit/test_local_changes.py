"""The catalogue of the embedded engine, change by change: what a reader that keeps a copy of it is told."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from citewell.adapters.local import LocalStore
from citewell.adapters.local import changes as portions
from citewell.model.catalogue import CatalogueChanges
from citewell.testing.fakes import HashEmbedder
from citewell.testing.samples import binding_of, change


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LocalStore]:
    opened = LocalStore.open(tmp_path / "kb")
    opened.bind(binding_of(HashEmbedder()))
    yield opened
    opened.close()


def names(told: CatalogueChanges) -> list[str]:
    return [row.info.doc_id for row in told.documents]


@pytest.mark.requirement("L0-1")
def test_what_was_written_after_a_mark_is_told_with_its_headings_and_the_mean_of_its_vectors(store: LocalStore) -> None:
    one, other = np.eye(64, dtype=np.float32)[:2]
    store.apply([change("old.md", ["x"])])
    before = store.mark()
    store.apply([change("a.md", ["x", "y", "z"], title="T", breadcrumb="H", vectors=[one, other, one])])
    told = store.changes(before)
    assert names(told) == ["a.md"]
    assert told.documents[0].info == next(info for info in store.documents() if info.doc_id == "a.md")
    assert told.documents[0].info.headings == ("T", "H")
    centre = told.documents[0].centre
    assert centre is not None
    assert centre[:3] == pytest.approx([2 / 3, 1 / 3, 0])
    assert (told.mark, told.count, told.complete) == (store.mark(), 2, True)


@pytest.mark.requirement("L0-1")
def test_nothing_written_leaves_the_mark_as_it_was_and_a_deletion_moves_it(store: LocalStore) -> None:
    store.apply([change("a.md", ["x"]), change("b.md", ["y"])])
    mark = store.mark()
    assert store.mark() == mark
    assert store.changes(mark).documents == ()
    store.delete(["a.md"])
    assert store.mark() != mark
    told = store.changes(mark)
    assert (told.documents, told.count, told.complete) == ((), 1, True)


@pytest.mark.requirement("L0-1")
def test_many_changes_come_in_portions_of_whole_commits_each_document_once(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(portions, "_PORTION", 2)
    for commit in (["a.md"], ["b.md", "c.md", "d.md"], ["e.md"]):
        store.apply([change(name, ["x"]) for name in commit])
    first = store.changes(None)
    assert (names(first), first.complete) == (["a.md", "b.md", "c.md", "d.md"], False)
    second = store.changes(first.mark)
    assert (names(second), second.complete) == (["e.md"], True)
    assert second.mark == store.mark()


@pytest.mark.requirement("L0-1")
def test_another_database_under_the_same_name_begins_anew(store: LocalStore, tmp_path: Path) -> None:
    store.apply([change("a.md", ["x"])])
    mark = store.mark()
    with_other = LocalStore.open(tmp_path / "other")
    with_other.bind(binding_of(HashEmbedder()))
    with_other.apply([change("b.md", ["y"])])
    with_other.close()
    shutil.rmtree(tmp_path / "kb")
    (tmp_path / "other").rename(tmp_path / "kb")
    assert store.mark() != mark
    assert store.mark().sequence == mark.sequence
    assert names(store.changes(mark)) == ["b.md"]
