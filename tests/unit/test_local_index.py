"""The view of a process: kept in step with the store, tidied by the writer, and what is remembered of filters."""

from __future__ import annotations

from pathlib import Path

import pytest

from citewell.adapters.local import LocalStore, filters, index, loading, writing
from citewell.adapters.local.view import View
from citewell.model import Filters
from citewell.testing.samples import change
from citewell.testing.store_base import EMBEDDER, key, keys_of, look, put, size_of, write


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a store will be whose segments are sealed from 5 rows on."""
    for module in (index, loading):
        monkeypatch.setattr(module, "OPEN_UP_TO", 4)
    monkeypatch.setattr(index, "_READERS_WAIT_UP_TO", 8)
    return tmp_path / "store"


def view_of(store: LocalStore) -> View:
    view = store._core().index._view
    assert view is not None
    return view


def sizes(store: LocalStore) -> list[int]:
    return [segment.size for segment in view_of(store).segments]


def files(path: Path) -> int:
    return len(list((path / "index").glob("*.seg")))


def fill(store: LocalStore, prefix: str, count: int, *, labels: str = "") -> None:
    write(store, *(change(f"{prefix}{at}.md", ["shared"], scope=labels or None) for at in range(count)))


@pytest.mark.requirement("ENGINE-1")
def test_small_writes_stay_in_memory_and_a_row_too_many_seals_them_into_a_file(path: Path) -> None:
    store = LocalStore.open(path)
    for at in range(4):
        put(store, f"{at}.md", ["shared"])
    assert (sizes(store), files(path)) == ([4], 0)
    put(store, "4.md", ["shared"])
    assert (sizes(store), files(path)) == ([5], 1)
    assert [segment.name != "" for segment in view_of(store).segments] == [True]
    put(store, "5.md", ["shared"])
    assert sizes(store) == [5, 1]
    store.close()


@pytest.mark.requirement("ENGINE-1")
def test_a_view_that_moves_on_knows_how_many_terms_its_live_rows_have(path: Path) -> None:
    store, reader = LocalStore.open(path), LocalStore.open(path, read_only=True)
    steps = [("a.md", [3, 1]), ("b.md", [2]), ("c.md", [5, 5, 1]), ("b.md", []), ("a.md", [7]), ("d.md", [4])]
    steps += [("b.md", [6, 2]), ("c.md", [1]), ("e.md", [9]), ("e.md", []), ("d.md", [])]
    held: dict[str, list[int]] = {}
    for doc_id, lengths in steps:
        texts = [" ".join(["shared"] * length) for length in lengths]
        put(store, doc_id, texts) if texts else store.delete([doc_id])
        held[doc_id] = lengths
        for each in (store, reader):
            look(each, "shared")
            assert view_of(each).length == sum(map(sum, held.values()))
    assert view_of(store).length == 7 + 6 + 2 + 1
    store.close()
    reader.close()


@pytest.mark.requirement("ENGINE-1")
def test_files_that_were_joined_into_another_are_removed(path: Path) -> None:
    store = LocalStore.open(path)
    for at in range(6):
        fill(store, f"{at}-", 5)
    assert sum(sizes(store)) == 30
    assert files(path) == len(sizes(store)) <= 3
    store.close()


@pytest.mark.requirement("LEX-2", "ENGINE-1")
def test_rows_that_have_gone_are_dropped_once_they_are_many(path: Path) -> None:
    store = LocalStore.open(path)
    fill(store, "a", 20)
    store.delete([f"a{at}.md" for at in range(5)])
    assert (sizes(store), size_of(store)) == ([20], 15)
    store.delete([f"a{at}.md" for at in range(5, 8)])
    assert (sizes(store), size_of(store)) == ([12], 12)
    assert look(store, "shared").everywhere == sorted(key(f"a{at}.md") for at in range(8, 20))
    store.close()


@pytest.mark.requirement("ENGINE-1")
def test_compacting_drops_what_has_gone_earlier_and_changes_no_answer(path: Path) -> None:
    store = LocalStore.open(path)
    fill(store, "a", 20)
    fill(store, "b", 6)
    store.delete(["a3.md", "a4.md", "a5.md"])
    before = look(store, "shared", k=30)
    store.compact()
    assert sizes(store) == [23]
    assert look(store, "shared", k=30) == before
    edition = store._core().shelf.edition()
    store.compact()
    assert store._core().shelf.edition() == edition
    store.close()


@pytest.mark.requirement("ENGINE-1", "INGEST-7")
def test_a_reader_far_behind_takes_over_the_writers_files(path: Path) -> None:
    reader, writer = LocalStore.open(path), LocalStore.open(path)
    fill(writer, "a", 3)
    assert len(look(reader, "shared").everywhere) == 3
    fill(writer, "b", 12)
    assert len(look(reader, "shared").everywhere) == 15
    assert [segment.name for segment in view_of(reader).segments] == [
        segment.name for segment in view_of(writer).segments
    ]
    reader.close()
    writer.close()


@pytest.mark.requirement("ENGINE-1", "INGEST-7")
def test_a_reader_far_behind_seals_for_itself_where_there_are_no_files(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, writer = LocalStore.open(path), LocalStore.open(path)
    fill(writer, "a", 3)
    assert len(look(reader, "shared").everywhere) == 3
    monkeypatch.setattr("citewell.adapters.local.index.Index.settle", lambda *_, **__: None)
    fill(writer, "b", 12)
    assert len(look(reader, "shared").everywhere) == 15
    assert [segment.is_sealed for segment in view_of(reader).segments] == [True]
    reader.close()
    writer.close()


@pytest.mark.requirement("INGEST-7")
def test_a_reader_from_before_the_oldest_remembered_removal_loads_anew(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "_REMOVED_KEPT", 2)
    reader, writer = LocalStore.open(path), LocalStore.open(path)
    fill(writer, "a", 12)
    assert len(look(reader, "shared").everywhere) == 12
    for at in range(5):
        writer.delete([f"a{at}.md"])
    put(writer, "a7.md", ["shared again", "shared twice"])
    expected = look(writer, "shared").everywhere
    assert look(reader, "shared").everywhere == expected
    assert len(expected) == 8
    assert reader.verify().findings == ()
    reader.close()
    writer.close()


@pytest.mark.requirement("INGEST-7")
def test_a_snapshot_older_than_the_view_still_shows_its_own_state(path: Path) -> None:
    """Its first search comes after another thread has moved the process's view on and rows have been dropped."""
    store, writer = LocalStore.open(path), LocalStore.open(path)
    fill(writer, "a", 12)
    with store.snapshot() as old:
        writer.delete([f"a{at}.md" for at in range(1, 11)])
        assert len(look(store, "shared").everywhere) == 2
        found = keys_of(old.lexical(("shared",), 50, Filters()))
        assert len(found) == old.size == 12
        assert len(old.similarities(EMBEDDER.embed_query("shared"), [key(f"a{at}.md") for at in range(12)])) == 12
    assert size_of(store) == 2
    store.close()
    writer.close()


@pytest.mark.requirement("ENGINE-1")
def test_an_index_that_cannot_be_kept_costs_nothing_but_time(path: Path) -> None:
    store = LocalStore.open(path)
    (path / "index").write_text("in the way")
    fill(store, "a", 12)
    assert len(look(store, "shared").everywhere) == 12
    assert "could not be kept" in str(dict(store.status().details)["note"])
    (path / "index").unlink()
    fill(store, "b", 6)
    assert "note" not in dict(store.status().details)
    assert files(path) >= 1
    store.close()


@pytest.mark.requirement("SAFE-1", "SAFE-3")
@pytest.mark.parametrize("updated_up_to", [0, 1_000], ids=["asked again", "brought up to date"])
def test_what_is_remembered_of_a_filter_follows_every_write(
    path: Path, monkeypatch: pytest.MonkeyPatch, updated_up_to: int
) -> None:
    monkeypatch.setattr(filters, "_UPDATED_UP_TO", updated_up_to)
    store = LocalStore.open(path)

    def bearing(label: str) -> list[str]:
        return look(store, "shared", Filters(scope=(label,))).everywhere

    fill(store, "a", 3, labels="x")
    assert (len(bearing("x")), len(bearing("y"))) == (3, 0)
    put(store, "a1.md", ["shared"], scope="y")
    put(store, "b.md", ["shared"], scope=["x", "y"])
    assert bearing("x") == [key("a0.md"), key("a2.md"), key("b.md")]
    assert bearing("y") == [key("a1.md"), key("b.md")]
    store.delete(["b.md"])
    put(store, "c.md", ["shared"])
    assert (len(bearing("x")), bearing("y")) == (2, [key("a1.md")])
    store.close()


@pytest.mark.requirement("SAFE-1")
def test_remembering_many_filters_is_bounded(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filters, "_REMEMBERED", 10)
    store = LocalStore.open(path)
    write(store, *(change(f"{at}.md", ["shared"], scope=[f"l{at}", "all"]) for at in range(12)))
    for _ in range(2):
        assert [len(look(store, "shared", Filters(scope=(f"l{at}",))).everywhere) for at in range(12)] == [1] * 12
    bearers = store._core()._bearers
    assert sum(found.size for _, found in bearers._known.values()) == bearers._remembered <= 10
    assert len(look(store, "shared", Filters(scope=("all",))).everywhere) == 12
    store.close()


@pytest.mark.requirement("SAFE-1")
def test_filters_that_python_calls_equal_are_kept_apart_within_a_snapshot(path: Path) -> None:
    """True == 1, and both may be asked of one snapshot."""
    store = LocalStore.open(path)
    write(
        store, change("yes.md", ["shared"], metadata={"flag": True}), change("one.md", ["shared"], metadata={"flag": 1})
    )
    with store.snapshot() as view:
        for value, doc_id in ((True, "yes.md"), (1, "one.md"), (1.0, "one.md"), (True, "yes.md")):
            assert keys_of(view.lexical(("shared",), 5, Filters(where=(("flag", value),)))) == (key(doc_id),)
    store.close()
