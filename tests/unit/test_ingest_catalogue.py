"""A run asks the store for what it touches: its cost doesn't grow with documents that it has nothing to do with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from ingest_room import HookedStore, Room, statuses

from citewell.adapters.local import LocalStore
from citewell.ingest.catalogue import Catalogue
from citewell.model import Document, DocumentInfo, StoredDocument


class AskedStore(HookedStore):
    """Counts what is asked of it."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: Counter[str] = Counter()

    def documents(self) -> Iterator[DocumentInfo]:
        self.asked["documents"] += 1
        return super().documents()

    def stored(self, doc_id: str) -> StoredDocument | None:
        self.asked["stored"] += 1
        return super().stored(doc_id)

    def holders(self, content_digest: str) -> list[str]:
        self.asked["holders"] += 1
        return super().holders(content_digest)


class PlainStore(AskedStore):
    """Can't say which documents hold a text."""

    def __getattribute__(self, name: str) -> object:
        if name == "holders":
            raise AttributeError(name)
        return super().__getattribute__(name)


def documents(count: int, text: str = "Text") -> list[Document]:
    return [Document(f"d{number}", f"{text} {number}.") for number in range(count)]


@pytest.fixture
def store() -> AskedStore:
    return AskedStore()


@pytest.fixture
def room(store: AskedStore, tmp_path: Path) -> Room:
    room = Room(tmp_path / "docs", store)
    room.ingestion.documents(documents(100))
    store.asked.clear()
    return room


@pytest.mark.requirement("INGEST-5")
def test_one_document_is_asked_for_alone(room: Room, store: AskedStore) -> None:
    assert statuses(room.ingestion.documents([Document("d7", "Text 7.")])) == {"d7": "unchanged"}
    assert store.asked == {"stored": 1}


@pytest.mark.requirement("INGEST-5", "INGEST-6")
def test_a_changed_document_is_compared_with_its_version_and_its_text_with_others_and_no_catalogue_is_read(
    room: Room, store: AskedStore
) -> None:
    (file,) = room.ingestion.documents([Document("d7", "Text 9.")]).files
    assert (file.status, file.embedded, file.detail) == ("updated", 0, "same text as 'd9'")
    assert store.asked == {"stored": 2, "holders": 1}


@pytest.mark.requirement("INGEST-5")
def test_a_single_file_that_is_named_reads_no_catalogue(room: Room, store: AskedStore) -> None:
    room.write(one="Text of one file.")
    assert statuses(room.ingest(room.folder / "one.md", prune=True)) == {"one.md": "added"}
    assert store.asked["documents"] == 0


@pytest.mark.requirement("INGEST-5")
def test_many_documents_read_the_catalogue_once(room: Room, store: AskedStore) -> None:
    report = room.ingestion.documents(documents(100))
    assert report.count("unchanged") == 100
    assert store.asked == {"stored": 64, "documents": 1}


@pytest.mark.requirement("INGEST-5", "INGEST-6")
@pytest.mark.parametrize("kind", [AskedStore, PlainStore])
def test_however_the_store_is_asked_the_outcome_is_the_same(kind: type[AskedStore], tmp_path: Path) -> None:
    room = Room(tmp_path / "docs", kind())
    room.ingestion.documents(documents(70))
    report = room.ingestion.documents([*documents(70, "Other"), Document("e", "Text 3."), Document("f", "Other 5.")])
    assert report.count("updated") == 70
    assert [(file.doc_id, file.embedded, file.detail) for file in report.files if file.status == "added"] == [
        ("e", 0, ""),
        ("f", 1, "same text as 'd5'"),
    ]


@pytest.mark.requirement("INGEST-7")
def test_a_document_that_lacks_a_row_is_not_taken_for_unchanged_when_it_is_asked_for_alone(tmp_path: Path) -> None:
    store = LocalStore.open(tmp_path / "kb")
    room = Room(tmp_path / "docs", store)
    room.ingestion.documents(documents(3))
    with store._core().writing() as connection:
        connection.execute("DELETE FROM features WHERE row = 2")
    assert [Catalogue(store).head(f"d{number}").fingerprint == "" for number in range(3)] == [False, True, False]  # type: ignore[union-attr]  # all three are there
    assert statuses(room.ingestion.documents(documents(3)))["d1"] == "updated"
    store.close()


@pytest.mark.requirement("INGEST-6")
def test_the_embedded_store_names_the_documents_that_hold_a_text(tmp_path: Path) -> None:
    store = LocalStore.open(tmp_path / "kb")
    Room(tmp_path / "docs", store).ingestion.documents([Document(name, "One text.") for name in ("b", "a", "c")])
    content = next(store.documents()).content_digest
    assert (store.holders(content), store.holders("none")) == (["a", "b", "c"], [])
    with store._core().reading() as connection:
        plan = connection.execute(
            "EXPLAIN QUERY PLAN SELECT doc_id FROM documents WHERE content_digest = ? ORDER BY doc_id", (content,)
        ).fetchall()
    assert "USING COVERING INDEX documents_by_content" in plan[0][-1]
    assert len(plan) == 1
    store.close()
