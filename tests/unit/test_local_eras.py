"""What was read of documents is remembered until somebody commits, and never longer (ENGINE-1, ENGINE-4)."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from citewell.adapters.local import LocalStore, reading, snapshot
from citewell.adapters.local.eras import Era, Eras
from citewell.adapters.local.reading import Described
from citewell.errors import StoreCorrupt
from citewell.model import StoredChunk
from citewell.testing.samples import change
from citewell.testing.store_base import key, look, write


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LocalStore]:
    """Documents a.md, b.md and c.md of two chunks each."""
    made = LocalStore.open(tmp_path / "store")
    write(made, *(change(f"{name}.md", [f"{name} one", f"{name} two"], title=name.upper()) for name in "abc"))
    yield made
    made.close()


def fetched(store: LocalStore, *keys: str) -> list[StoredChunk]:
    with store.snapshot() as view:
        return list(view.fetch(keys).values())


def tamper(store: LocalStore, statement: str) -> None:
    with closing(sqlite3.connect(store.path / "citewell.db")) as connection, connection:
        connection.execute(statement)


@pytest.mark.requirement("ENGINE-1")
def test_a_title_that_another_process_writes_is_seen_by_the_next_snapshot_and_not_by_the_one_before(
    store: LocalStore,
) -> None:
    other = LocalStore.open(store.path)
    with store.snapshot() as before:
        assert [chunk.title for chunk in before.fetch([key("a.md")]).values()] == ["A"]
        write(other, change("a.md", ["a one", "a two"], title="New", expected_version=1))
        assert [chunk.title for chunk in fetched(store, key("a.md"))] == ["New"]
        assert [chunk.title for chunk in before.fetch([key("a.md", 1)]).values()] == ["A"]
    assert [chunk.title for chunk in fetched(store, key("a.md"), key("a.md", 1))] == ["New", "New"]
    other.close()


@pytest.mark.requirement("ENGINE-4")
def test_damage_to_a_document_that_was_read_before_is_noticed_by_the_next_snapshot(store: LocalStore) -> None:
    assert len(fetched(store, key("a.md"), key("b.md"))) == 2
    tamper(store, "UPDATE documents SET title = 'forged' WHERE doc_id = 'b.md'")
    assert [chunk.title for chunk in fetched(store, key("a.md"), key("b.md"))] == ["A", "forged"]
    for damage in ("SET metadata = '{'", "SET metadata = '[]'", "SET scope = '3'"):
        tamper(store, "UPDATE documents " + damage + " WHERE doc_id = 'b.md'")
        with pytest.raises(StoreCorrupt, match="a chunk that can't be read"):
            fetched(store, key("a.md"), key("b.md"))
        tamper(store, "UPDATE documents SET metadata = '{}', scope = NULL WHERE doc_id = 'b.md'")
        assert len(fetched(store, key("a.md"), key("b.md"))) == 2


@pytest.mark.requirement("ENGINE-4")
@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM documents WHERE doc_id = 'b.md'",
        "UPDATE chunks SET document = 99 WHERE row = 3",
        "UPDATE chunks SET document = 'x' WHERE row = 3",
        "UPDATE chunks SET document = x'ff' WHERE row = 3",
    ],
)
def test_chunks_of_no_document_are_left_out_also_where_it_was_read_before(store: LocalStore, damage: str) -> None:
    assert len(fetched(store, key("a.md"), key("b.md"), key("c.md"))) == 3
    tamper(store, damage)
    assert [chunk.title for chunk in fetched(store, key("a.md"), key("b.md"), key("c.md"))] == ["A", "C"]


@pytest.mark.requirement("ENGINE-1")
def test_each_chunk_has_a_metadata_mapping_of_its_own(store: LocalStore) -> None:
    one, two = fetched(store, key("a.md"), key("a.md", 1))
    assert isinstance(one.metadata, dict)
    one.metadata["mine"] = 1
    assert two.metadata == {}
    assert fetched(store, key("a.md"))[0].metadata == {}


@pytest.mark.requirement("ENGINE-1")
def test_more_documents_than_are_remembered_are_read_all_the_same(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_MOST_DESCRIBED", 1)
    for names in ("a", "ab", "bc", "abc", "c"):
        assert [chunk.title for chunk in fetched(store, *(key(f"{name}.md") for name in names))] == list(names.upper())


@pytest.mark.requirement("ENGINE-1")
def test_a_document_with_a_long_text_in_its_metadata_is_read_each_time_and_takes_no_memory(store: LocalStore) -> None:
    write(store, change("long.md", ["text"], metadata={"abstract": "x" * 2_000}))
    known: dict[int, Described] = {}
    for _ in range(2):
        with closing(sqlite3.connect(store.path / "citewell.db")) as connection:
            chunks = reading.read_chunks(connection, {1: key("a.md"), 7: key("long.md")}, known)
        assert [chunk.doc_id for chunk in chunks.values()] == ["a.md", "long.md"]
        assert [document[0] for document in known.values()] == ["a.md"]


class ReadByAnother(dict[int, Described]):
    """What is known of documents, where another thread reads each of them as soon as it was found missing."""

    def get(self, number: int, default: None = None) -> Described | None:  # type: ignore[override]
        found = super().get(number, default)
        self[number] = (f"{number}.md", "", "by another", None, None, "{}")
        return found


@pytest.mark.requirement("ENGINE-1")
def test_no_chunk_is_missing_where_another_reader_reads_its_document_at_the_same_time(store: LocalStore) -> None:
    with closing(sqlite3.connect(store.path / "citewell.db")) as connection:
        chunks = reading.read_chunks(connection, {1: key("a.md"), 3: key("b.md")}, ReadByAnother())
    assert [chunk.doc_id for chunk in chunks.values()] == ["a.md", "b.md"]


@pytest.mark.requirement("ENGINE-1")
def test_documents_whose_names_are_not_remembered_are_named_all_the_same(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "_MOST_NAMES", 1)
    for words, names in (("a", "a"), ("b c", "bc"), ("a", "a"), ("a b c", "abc"), ("c", "c")):
        everywhere = {key(f"{name}.md", index) for name in names for index in (0, 1)}
        assert set(look(store, words).lexical) == everywhere


@pytest.fixture
def one() -> Iterator[sqlite3.Connection]:
    """A connection that only has to be one."""
    with closing(sqlite3.connect(":memory:")) as connection:
        yield connection


@pytest.fixture
def two() -> Iterator[sqlite3.Connection]:
    """Another one."""
    with closing(sqlite3.connect(":memory:")) as connection:
        yield connection


def begun(eras: Eras, connection: sqlite3.Connection, version: int, before: Era | None = None) -> Era:
    eras.begin(connection, version, before or eras.latest)
    return eras.of(connection)


@pytest.mark.requirement("ENGINE-1")
def test_readers_share_an_era_until_one_sees_a_commit(one: sqlite3.Connection, two: sqlite3.Connection) -> None:
    eras = Eras()
    begun(eras, one, 1)
    first = begun(eras, two, 7)
    assert begun(eras, one, 1) is first
    assert begun(eras, two, 7) is first
    second = begun(eras, one, 2)
    assert second is not first
    assert begun(eras, one, 2) is second


@pytest.mark.requirement("ENGINE-1")
def test_a_reader_that_began_before_another_saw_a_commit_shares_with_none(
    one: sqlite3.Connection, two: sqlite3.Connection
) -> None:
    eras = Eras()
    begun(eras, one, 1)
    before = begun(eras, two, 7)
    latest = begun(eras, one, 2)
    alone = begun(eras, two, 7, before)
    assert alone not in (before, latest)
    assert eras.latest is latest
    # Its version is that of a state which no era of the others is known to have.
    assert begun(eras, two, 7) not in (before, latest, alone)


@pytest.mark.requirement("ENGINE-1")
def test_a_connection_that_was_closed_begins_anew(one: sqlite3.Connection) -> None:
    eras = Eras()
    first = begun(eras, one, 1)
    eras.end(one)
    assert begun(eras, one, 1) is first
    eras.forget(one)
    assert begun(eras, one, 1) is not first
