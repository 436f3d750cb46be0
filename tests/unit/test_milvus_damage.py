"""A store on Milvus of which something is gone says so, keeps the rest and writes nothing over it."""

from __future__ import annotations

from pathlib import Path

import pytest

from citewell.adapters.milvus import MilvusStore
from citewell.adapters.milvus.catalogue import BINDING, HEAD, Row, part_id
from citewell.adapters.milvus.client import Client
from citewell.errors import StoreCorrupt
from citewell.testing.samples import binding_of
from citewell.testing.store_base import EMBEDDER, key, look, put, texts_of

pytestmark = pytest.mark.requirement("ENGINE-4")

LONG = "x" * 70_000


@pytest.fixture
def location(tmp_path: Path) -> str:
    return f"milvus:{tmp_path}/kb.db"


@pytest.fixture
def filled(location: str) -> str:
    """A store with one document, closed."""
    store = MilvusStore.open(location)
    put(store, "a.md", ["shared one", "shared two"])
    store.close()
    return location


def damage(location: str, call: str, collection: str, **options: object) -> None:
    client = Client(location)
    client.load(collection)
    client.call(call, collection, **options)
    client.close()


@pytest.mark.parametrize(
    ("call", "collection", "options"),
    [
        ("delete", "citewell_catalogue", {"filter": f'id == "{BINDING}"'}),
        ("delete", "citewell_catalogue", {"filter": f'id == "{HEAD}"'}),
        ("delete", "citewell_catalogue", {"filter": 'id >= ""'}),
        ("drop_collection", "citewell_catalogue", {}),
        ("drop_collection", "citewell", {}),
    ],
)
def test_a_store_that_lost_its_catalogue_or_chunks_is_damaged_and_none_is_made_over_it(
    filled: str, call: str, collection: str, options: dict[str, object]
) -> None:
    damage(filled, call, collection, **options)
    with pytest.raises(StoreCorrupt) as refusal:
        MilvusStore.open(filled)
    assert filled in refusal.value.message
    assert "delet" not in str(refusal.value)
    client = Client(filled)
    assert client.has("citewell") or client.has("citewell_catalogue")
    client.close()


@pytest.mark.parametrize("name", [BINDING, HEAD])
@pytest.mark.parametrize("body", ["", "no JSON", "[1, 2]", '{"schema": 1}', '"text"'])
def test_what_can_not_be_read_of_a_catalogue_is_damage(filled: str, name: str, body: str) -> None:
    store = MilvusStore.open(filled)
    bound = store._found()
    assert bound is not None
    bound.catalogue.put([Row(name, "meta", body=body)])
    store.close()
    with pytest.raises(StoreCorrupt, match="can't be read"):
        MilvusStore.open(filled)


def test_a_document_whose_long_text_lost_its_end_is_named_by_verify_and_written_again(location: str) -> None:
    store = MilvusStore.open(location)
    put(store, "a.md", ["shared " + LONG, "shared two"])
    put(store, "b.md", ["shared b"])
    bound = store._found()
    assert bound is not None
    bound.catalogue.remove('kind == "part"')
    store.close()
    store = MilvusStore.open(location)
    with pytest.raises(StoreCorrupt, match=r"a\.md"):
        texts_of(store, [key("a.md")])
    assert texts_of(store, [key("b.md")]) == {key("b.md"): "shared b"}
    assert [finding.kind for finding in store.verify(repair=True).findings] == ["missing"]
    held = store.stored("a.md")
    assert held is not None
    assert held.record.fingerprint == ""
    put(store, "a.md", ["shared " + LONG, "shared two"])
    assert store.verify().findings == ()
    assert len(texts_of(store, [key("a.md")])[key("a.md")]) == 70_007
    store.close()


def test_a_document_whose_long_record_lost_its_end_is_damage_by_name(location: str) -> None:
    store = MilvusStore.open(location)
    put(store, "a.md", ["shared"], metadata={"notes": LONG})
    bound = store._found()
    assert bound is not None
    bound.catalogue.remove_ids([part_id(row.id, row.version, 1) for row in bound.catalogue.of_kind("document")])
    with pytest.raises(StoreCorrupt, match=r"a\.md"):
        list(store.documents())
    store.close()


def test_a_store_that_was_being_made_when_its_process_ended_is_made(location: str) -> None:
    store = MilvusStore.open(location)
    store.bind(binding_of(EMBEDDER))
    store.close()
    damage(location, "delete", "citewell_catalogue", filter='id >= ""')
    store = MilvusStore.open(location)
    assert store.binding() is None
    put(store, "a.md", ["shared"])
    assert look(store, "shared").everywhere == [key("a.md")]
    store.close()
