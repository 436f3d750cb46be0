"""What is derived may be lost or damaged at any time; damage to the truth is named, never hidden (ENGINE-4)."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from citewell.adapters.local import LocalStore
from citewell.errors import StoreCorrupt, StoreError, StoreUnreachable
from citewell.identity import parse_key
from citewell.model import Filters, Scored
from citewell.testing.samples import change, terms_of
from citewell.testing.store_base import EMBEDDER, key, look, put, size_of, write

Answers = tuple[tuple[Scored, ...], tuple[Scored, ...]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed store of 400 chunks whose index lies in one file."""
    path = tmp_path_factory.mktemp("made") / "store"
    with_store = LocalStore.open(path)
    write(with_store, *(change(f"{at}.md", [f"shared word{at}", f"shared other{at % 7}"]) for at in range(200)))
    put(with_store, "0.md", ["shared again"])
    with_store.compact()
    with_store.close()
    assert len(list((path / "index").glob("*.seg"))) == 1
    return path


@pytest.fixture
def path(made: Path, tmp_path: Path) -> Path:
    """A copy of it, to be damaged."""
    return shutil.copytree(made, tmp_path / "store")


def answers(store: LocalStore) -> Answers:
    with store.snapshot() as view:
        dense = view.dense(EMBEDDER.embed_query("shared other3"), 30, Filters())
        return dense, view.lexical(terms_of("shared other3 again"), 30, Filters())


@pytest.fixture
def expected(path: Path) -> Answers:
    store = LocalStore.open(path)
    found = answers(store)
    store.close()
    assert len(found[0]) == len(found[1]) == 30
    return found


def segment_of(path: Path) -> Path:
    (file,) = (path / "index").glob("*.seg")
    return file


def flip(file: Path, at: float) -> None:
    content = bytearray(file.read_bytes())
    content[int(at * (len(content) - 1))] ^= 0x40
    file.write_bytes(content)


def replaced_by_another(path: Path) -> None:
    """The index of another store with the same rows, as after a careless copy."""
    other = LocalStore.open(path.parent / "other")
    write(other, *(change(f"{at}.md", [f"elsewhere {at}", "shared"]) for at in range(200)))
    put(other, "0.md", ["shared again"])
    other.compact()
    other.close()
    shutil.rmtree(path / "index")
    shutil.copytree(path.parent / "other" / "index", path / "index")


def emptied(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()


def turned_into_a_file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("x")


def cut(file: Path, length: int) -> None:
    file.write_bytes(file.read_bytes()[:length])


def flipped_at(place: float) -> Callable[[Path], None]:
    return lambda path: flip(segment_of(path), place)


def list_of(path: Path) -> Path:
    return path / "index" / "segments.json"


DAMAGES: dict[str, Callable[[Path], object]] = {
    "folder deleted": lambda path: shutil.rmtree(path / "index"),
    "folder emptied": lambda path: emptied(path / "index"),
    "folder is a file": lambda path: turned_into_a_file(path / "index"),
    "list deleted": lambda path: list_of(path).unlink(),
    "list garbled": lambda path: list_of(path).write_text('{"files": 3'),
    "list of another format": lambda path: list_of(path).write_text('{"format": 99, "files": []}'),
    "segment deleted": lambda path: segment_of(path).unlink(),
    "segment emptied": lambda path: cut(segment_of(path), 0),
    "segment cut off": lambda path: cut(segment_of(path), -1),
    "segment halved": lambda path: cut(segment_of(path), 1 << 14),
    "first byte flipped": flipped_at(0),
    "a byte of the vectors flipped": flipped_at(0.3),
    "a byte of the postings flipped": flipped_at(0.9),
    "a byte of the header flipped": flipped_at(0.995),
    "last byte flipped": flipped_at(1),
    "index of another store": replaced_by_another,
}


@pytest.mark.requirement("ENGINE-4", "ENGINE-1")
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_lost_or_damaged_index_is_made_anew_and_answers_as_before(
    path: Path, expected: Answers, damage: Callable[[Path], object]
) -> None:
    damage(path)
    store = LocalStore.open(path)
    assert answers(store) == expected
    assert store.verify(repair=True).ok
    put(store, "new.md", ["shared new"])
    store.close()
    store = LocalStore.open(path)
    store.delete(["new.md"])
    assert answers(store) == expected
    assert store.verify().ok
    store.close()


@pytest.mark.requirement("ENGINE-4")
def test_what_was_made_anew_is_said_and_kept(path: Path, expected: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("citewell.adapters.local.loading.OPEN_UP_TO", 100)
    flip(segment_of(path), 0.5)
    store = LocalStore.open(path)
    assert answers(store) == expected
    details = store.status().details
    assert any(name == "note" and "checksum" in str(value) for name, value in details)
    store.close()
    again = LocalStore.open(path)
    assert answers(again) == expected
    assert not any(name == "note" for name, _ in again.status().details)
    again.close()


@pytest.mark.requirement("ENGINE-4")
def test_verify_names_a_damaged_segment_and_repairs_it(path: Path) -> None:
    flip(segment_of(path), 0.3)
    store = LocalStore.open(path)
    (found,) = store.verify().findings
    assert (found.kind, found.repaired) == ("damaged", False)
    assert found.where.startswith("index/")
    (repaired,) = store.verify(repair=True).findings
    assert repaired.repaired
    assert store.verify().findings == ()
    store.close()


@pytest.mark.requirement("ENGINE-4")
def test_verify_names_every_chunk_that_an_index_has_otherwise(path: Path) -> None:
    replaced_by_another(path)
    store = LocalStore.open(path)
    findings = store.verify().findings
    assert {found.kind for found in findings} == {"stale"}
    assert {key("7.md"), key("7.md", 1)} <= {found.evidence_key for found in findings}
    store.close()


@pytest.mark.requirement("ENGINE-4")
def test_verify_names_a_chunk_of_which_only_the_terms_are_others_in_an_index(path: Path) -> None:
    """As many terms, the same vector: what is found by them is another chunk."""
    store = LocalStore.open(path)
    assert look(store, "shared").lexical
    index = store._core().index
    view = index._view
    assert view is not None
    first = view.segments[0]
    terms = first.postings.terms.copy()
    terms[0] = terms.max() + 1
    forged = replace(first, postings=replace(first.postings, terms=terms))
    index._view = replace(view, segments=(forged, *view.segments[1:]))
    findings = store.verify().findings
    assert findings
    assert {(found.kind, found.where) for found in findings} == {("stale", "index in memory")}
    assert store.verify(repair=True).ok
    assert store.verify().findings == ()
    store.close()


def tampered(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path / "citewell.db")
    connection.execute(statement)
    connection.commit()
    connection.close()


TAMPERED = {
    "a text changed": ("UPDATE chunks SET text = 'forged' WHERE row = 9", key("4.md"), "digest"),
    "a chunk gone": ("DELETE FROM chunks WHERE row = 9", key("4.md"), "missing in chunks"),
    "a vector gone": ("DELETE FROM features WHERE row = 9", key("4.md"), "missing in features"),
    "a vector forged": (
        "UPDATE features SET vector = zeroblob(length(vector)) WHERE row = 9",
        key("4.md"),
        "not those that were written",
    ),
    "a place changed": ("UPDATE chunks SET chunk_index = 5 WHERE row = 9", key("4.md"), "says that it is chunk 5"),
    "a span backwards": ("UPDATE chunks SET span_end = -5 WHERE row = 9", key("4.md"), "does not follow"),
    "a span out of order": ("UPDATE chunks SET span_end = 1 WHERE row = 10", key("4.md", 1), "does not follow"),
    "a title changed": (
        "UPDATE documents SET title = 'Forged' WHERE doc_id = '4.md'",
        key("4.md"),
        "its title, source",
    ),
    "a source changed": ("UPDATE documents SET source = 'x' WHERE doc_id = '4.md'", key("4.md"), "its title, source"),
    "a heading changed": ("UPDATE documents SET headings = '[\"x\"]' WHERE doc_id = '4.md'", key("4.md"), "its title"),
    "a list in the metadata changed": (
        """UPDATE documents SET metadata = '{"x": {"y": 1}}' WHERE doc_id = '4.md'""",
        key("4.md"),
        "metadata, breadcrumbs",
    ),
    "a breadcrumb changed": ("UPDATE chunks SET breadcrumb = 'x' WHERE row = 9", key("4.md"), "breadcrumbs or places"),
    "a page changed": ("UPDATE chunks SET page = 7 WHERE row = 10", key("4.md"), "breadcrumbs or places"),
    "a link changed": ("UPDATE chunks SET url = 'http://x' WHERE row = 10", key("4.md"), "breadcrumbs or places"),
    "a span moved": ("UPDATE chunks SET span_end = span_end + 1 WHERE row = 10", key("4.md"), "breadcrumbs or places"),
    "a seal changed": (
        "UPDATE marks SET mark = zeroblob(24) WHERE length(mark) = 24 AND document = 5",
        key("4.md"),
        "are not those that were written",
    ),
    "a mark too many": (
        "INSERT INTO marks SELECT x'00', document FROM chunks WHERE row = 9",
        key("4.md"),
        "its marks are not those",
    ),
}


@pytest.mark.requirement("ENGINE-4")
@pytest.mark.parametrize(("statement", "named", "why"), TAMPERED.values(), ids=TAMPERED)
def test_verify_names_what_is_wrong_with_the_truth_and_repairs_none_of_it(
    path: Path, statement: str, named: str, why: str
) -> None:
    tampered(path, statement)
    store = LocalStore.open(path)
    for report in (store.verify(), store.verify(repair=True)):
        (found,) = report.findings
        assert (found.kind, found.where, found.evidence_key, found.repaired) == ("damaged", "citewell.db", named, False)
        assert why in found.detail
        assert not report.ok
    store.close()


@pytest.mark.requirement("ENGINE-4")
def test_a_document_without_a_seal_is_one_that_an_earlier_version_wrote(path: Path) -> None:
    tampered(path, "DELETE FROM marks WHERE length(mark) = 24")
    store = LocalStore.open(path)
    assert store.verify().ok
    put(store, "4.md", ["shared anew"])
    store.close()
    tampered(path, "UPDATE documents SET title = title || 'x'")
    store = LocalStore.open(path)
    assert [found.evidence_key for found in store.verify().findings] == [key("4.md")]
    store.close()


@pytest.mark.requirement("ENGINE-4", "INGEST-5")
@pytest.mark.parametrize("statement", [statement for statement, _, _ in TAMPERED.values()], ids=TAMPERED)
def test_a_document_that_verify_was_to_repair_bears_another_fingerprint_and_no_vector_to_reuse(
    path: Path, statement: str
) -> None:
    tampered(path, statement)
    store = LocalStore.open(path)
    before = {info.doc_id: info.fingerprint for info in store.documents()}
    for _ in range(2):
        store.verify(repair=True)
    after = {info.doc_id: info.fingerprint for info in store.documents()}
    assert after["4.md"].lstrip("!") == before["4.md"].lstrip("!")
    assert after["4.md"].startswith("!")
    assert {name: mark for name, mark in after.items() if name != "4.md"} == {
        name: mark for name, mark in before.items() if name != "4.md"
    }
    stored = store.stored("4.md")
    assert stored is not None
    assert set(stored.context_digests) == {""}
    store.close()


@pytest.mark.requirement("INGEST-5")
def test_digests_of_a_document_that_lacks_a_row_stay_in_their_places(path: Path) -> None:
    """A Reuse names a vector by its place; moved up, a chunk would get its neighbour's."""
    whole = LocalStore.open(path)
    put(whole, "0.md", ["shared one", "shared two", "shared three"])
    before = whole.stored("0.md")
    whole.close()
    assert before is not None
    tampered(path, "DELETE FROM chunks WHERE row = (SELECT first_row + 1 FROM documents WHERE doc_id = '0.md')")
    store = LocalStore.open(path)
    after = store.stored("0.md")
    assert after is not None
    assert after.context_digests == (before.context_digests[0], "", before.context_digests[2])
    store.close()


@pytest.mark.requirement("INGEST-5")
@pytest.mark.parametrize(
    "statement",
    ["UPDATE chunks SET row = 99999 WHERE row = 9", "UPDATE features SET row = 99999 WHERE row = 9"],
    ids=["chunk", "vector"],
)
def test_a_missing_row_shows_in_the_catalogue_though_a_row_of_no_document_makes_up_the_number(
    path: Path, statement: str
) -> None:
    whole = LocalStore.open(path)
    before = {info.doc_id: info for info in whole.documents()}
    whole.close()
    tampered(path, statement)
    store = LocalStore.open(path)
    after = {info.doc_id: info for info in store.documents()}
    assert {name for name, info in after.items() if info != before[name]} == {"4.md"}
    assert after["4.md"].fingerprint == f"!{before['4.md'].fingerprint}"
    store.close()


@pytest.mark.requirement("API-1")
def test_chunks_and_documents_have_metadata_of_their_own_whatever_it_looks_like(tmp_path: Path) -> None:
    """They are parsed together."""
    odd: list[dict[str, object]] = [{}, {"a": "],[{"}, {"a": [1, {"b": None}]}, {"a": "],[{"}, {"é\n": '"'}]
    store = LocalStore.open(tmp_path / "odd")
    for at, metadata in enumerate(odd):
        put(store, f"{at}.md", ["shared", "shared too"], metadata=metadata)
    assert [info.metadata for info in store.documents()] == odd
    with store.snapshot() as view:
        fetched = view.fetch([key(f"{at}.md", index) for at in (3, 0, 1, 4, 2) for index in (1, 0)])
    assert [chunk.metadata for chunk in fetched.values()] == [odd[at] for at in (3, 0, 1, 4, 2) for _ in range(2)]
    assert [chunk.evidence_key for chunk in fetched.values()] == list(fetched)
    store.close()


@pytest.mark.requirement("ENGINE-4")
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE documents SET first_row = first_row - 1 WHERE doc_id = '4.md'",
        "UPDATE documents SET chunks = chunks + 1 WHERE doc_id = '4.md'",
    ],
    ids=["from below", "to above"],
)
def test_two_documents_that_claim_one_row_are_both_damaged(path: Path, statement: str) -> None:
    """Whichever is written anew takes the row along."""
    tampered(path, statement)
    store = LocalStore.open(path)
    claims = [found for found in store.verify(repair=True).findings if "claims" in found.detail]
    assert len(claims) == 2
    assert key("4.md") in {found.evidence_key for found in claims}
    marked = {info.doc_id for info in store.documents() if info.fingerprint.startswith("!")}
    assert {parse_key(found.evidence_key).doc_id for found in claims} <= marked
    store.close()


@pytest.mark.requirement("ENGINE-4")
def test_a_dictionary_that_lacks_terms_is_damage_and_its_numbers_are_asked_for_again(path: Path) -> None:
    """What is searched is numbers; a query's words would have none."""
    store = LocalStore.open(path)
    with store._core().writing() as connection:
        connection.execute("DELETE FROM terms WHERE term = CAST('shared' AS BLOB)")
    report = store.verify(repair=True)
    assert {found.detail for found in report.findings if found.evidence_key == key("4.md")} == {
        "2 of its terms are missing in the dictionary"
    }
    assert not look(store, "shared").lexical
    put(store, "4.md", ["shared anew"])
    assert look(store, "shared").lexical
    store.close()


@pytest.mark.requirement("ENGINE-4", "INGEST-7")
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE documents SET metadata = '[' WHERE doc_id = '4.md'",
        "UPDATE documents SET metadata = '[]' WHERE doc_id = '4.md'",
        "UPDATE documents SET scope = '3' WHERE doc_id = '4.md'",
    ],
)
def test_a_document_whose_properties_are_damaged_is_in_the_catalogue_as_one_to_be_written_anew(
    path: Path, statement: str
) -> None:
    """Else no ingestion could renew it, for each begins with the catalogue."""
    whole = LocalStore.open(path)
    before = {info.doc_id: info for info in whole.documents()}
    whole.close()
    tampered(path, statement)
    store = LocalStore.open(path)
    after = {info.doc_id: info for info in store.documents()}
    assert after.pop("4.md").fingerprint == f"!{before.pop('4.md').fingerprint}"
    assert after == before
    stored = store.stored("4.md")
    assert stored is not None
    assert stored.record.fingerprint.startswith("!")
    with pytest.raises(StoreCorrupt), store.snapshot() as view:
        view.fetch([key("4.md")])
    store.close()


@pytest.mark.requirement("ENGINE-4")
@pytest.mark.parametrize(
    "statement", ["DELETE FROM meta WHERE name = 'sequence'", "UPDATE meta SET value = 7 WHERE name = 'dimensions'"]
)
def test_what_verify_cannot_compare_is_a_finding_and_no_error_of_verify(path: Path, statement: str) -> None:
    tampered(path, statement)
    store = LocalStore.open(path)
    for repair in (False, True):
        (found,) = store.verify(repair=repair).findings
        assert (found.kind, found.where, found.evidence_key, found.repaired) == ("damaged", "citewell.db", "", False)
    store.close()


LEFT = {
    "a chunk": "INSERT INTO chunks VALUES (99999, 7, 0, 'x', '', 0, 1, NULL, NULL, NULL, '', '')",
    "a vector": "INSERT INTO features VALUES (99999, x'', x'', x'')",
    "both": "DELETE FROM documents WHERE doc_id = '4.md'",
}


@pytest.mark.requirement("ENGINE-4")
@pytest.mark.parametrize("statement", LEFT.values(), ids=LEFT)
def test_rows_of_no_document_are_named_and_deleted_with_repair_from_every_view(path: Path, statement: str) -> None:
    reader = LocalStore.open(path)
    assert look(reader, "shared", k=500).everywhere
    tampered(path, statement)
    store = LocalStore.open(path)
    assert {found.kind for found in store.verify().findings} == {"orphaned"}
    repaired = store.verify(repair=True)
    assert repaired.ok
    assert {found.repaired for found in repaired.findings} == {True}
    assert store.verify().findings == ()
    expected = look(store, "shared", k=500).everywhere
    assert look(reader, "shared", k=500).everywhere == expected
    assert len(expected) == size_of(store)
    reader.close()
    store.close()


@pytest.mark.requirement("ENGINE-4")
def test_what_an_open_store_still_searches_of_a_document_that_went_behind_its_back_is_no_hit(path: Path) -> None:
    store = LocalStore.open(path)
    with store.snapshot() as view:  # makes the view and asks for no name
        view.similarities(EMBEDDER.embed_query("shared"), ())
    tampered(path, "DELETE FROM documents WHERE doc_id = '4.md'")
    expected = sorted(key(f"{number}.md", at) for number in range(200) for at in range(2) if number not in (0, 4))
    assert look(store, "shared", k=500).everywhere == sorted([*expected, key("0.md")])
    store.close()


def cut_off(file: Path) -> None:
    os.truncate(file, 0)


def halved(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def zeroed(file: Path) -> None:
    with file.open("r+b") as written:
        written.write(bytes(file.stat().st_size))
    os.utime(file, (1, 1))  # another time, however coarse the clock of files is


@pytest.mark.requirement("ENGINE-4")
@pytest.mark.parametrize("damage", [cut_off, halved, zeroed, Path.unlink])
def test_an_index_that_is_damaged_under_an_open_store_is_made_anew(
    path: Path, expected: Answers, damage: Callable[[Path], None]
) -> None:
    """Its files are mapped: what was cut off would end the process, what was overwritten be nonsense."""
    store = LocalStore.open(path)
    assert answers(store) == expected
    damage(segment_of(path))
    assert answers(store) == expected
    put(store, "new.md", ["shared new"])
    assert key("new.md") in look(store, "shared", k=500).everywhere
    assert store.verify(repair=True).ok
    assert store.verify().findings == ()
    store.close()


@pytest.mark.requirement("ENGINE-4")
def test_what_was_read_before_a_file_was_overwritten_is_not_answered_from_memory(path: Path) -> None:
    store = LocalStore.open(path)
    assert look(store, "shared", k=500).everywhere
    file = path / "citewell.db"
    file.write_bytes(bytes(file.stat().st_size))
    os.utime(file, (1, 1))  # another time, however coarse the clock of files is
    for _ in range(3):
        with pytest.raises(StoreCorrupt, match="is damaged"):
            look(store, "shared", k=500)
    store.close()


@pytest.mark.requirement("ENGINE-4")
def test_a_file_that_was_only_written_goes_on_to_be_read_by_connections_of_its_own(path: Path) -> None:
    store = LocalStore.open(path)
    before = look(store, "shared", k=500).everywhere
    os.utime(path / "citewell.db", (1, 1))
    for _ in range(3):
        assert look(store, "shared", k=500).everywhere == before
    assert len(store._core().connections._idle) == 1
    put(store, "new.md", ["shared new"])
    assert key("new.md") in look(store, "shared", k=500).everywhere
    store.close()


@pytest.mark.requirement("ENGINE-4")
def test_nobody_gets_a_connection_of_before_while_another_reader_opens_the_file_anew(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = LocalStore.open(path)
    look(store, "shared")
    connections = store._core().connections
    (before,), opened = connections._idle, connections._connected
    os.utime(path / "citewell.db", (1, 1))
    meanwhile = []

    def opened_while_another_reads() -> sqlite3.Connection:
        monkeypatch.setattr(connections, "_connected", opened)
        with connections.reading() as connection:
            meanwhile.append(connection)
        return opened()

    monkeypatch.setattr(connections, "_connected", opened_while_another_reads)
    assert look(store, "shared").everywhere
    assert before not in [*meanwhile, *connections._idle]
    assert len(connections._idle) == 2
    store.close()


@pytest.mark.requirement("ENGINE-4", "INGEST-7")
def test_writing_goes_on_where_another_document_lacks_rows_and_searching_says_so(path: Path) -> None:
    tampered(path, "DELETE FROM features WHERE row = 9")
    shutil.rmtree(path / "index")
    store = LocalStore.open(path)
    put(store, "new.md", ["shared new"])
    store.compact()
    with pytest.raises(StoreCorrupt, match="lacks 1 chunk"):
        answers(store)
    assert store.delete(["4.md"]) == 2
    assert key("new.md") in look(store, "new", k=5).lexical
    assert store.verify().findings == ()
    store.close()


@pytest.mark.requirement("ENGINE-4")
def test_a_search_over_lost_features_is_an_error_not_an_empty_answer(path: Path) -> None:
    tampered(path, "DELETE FROM features WHERE row = 9")
    shutil.rmtree(path / "index")
    store = LocalStore.open(path)
    with pytest.raises(StoreCorrupt, match="lacks 1 chunk"):
        answers(store)
    store.close()


@pytest.fixture
def broken(path: Path) -> Path:
    """The database's path, with its log folded in."""
    assert (path / "citewell.db-wal").stat().st_size == 0
    return path / "citewell.db"


@pytest.mark.requirement("ENGINE-4")
def test_a_destroyed_header_is_corruption_with_a_way_out_that_loses_nothing(broken: Path) -> None:
    content = bytearray(broken.read_bytes())
    content[:100] = bytes(100)
    broken.write_bytes(content)
    with pytest.raises(StoreCorrupt) as refusal:
        LocalStore.open(broken.parent)
    assert str(broken) in refusal.value.message
    assert "backup" in refusal.value.way_out
    assert "delete" not in refusal.value.way_out.lower()


@pytest.mark.requirement("ENGINE-4")
def test_damage_further_inside_is_found_by_verify_and_never_read_as_nothing_found(broken: Path) -> None:
    content = bytearray(broken.read_bytes())
    for page in range(3, len(content) // 8192):
        content[page * 8192 : page * 8192 + 64] = b"\xff" * 64
    broken.write_bytes(content)
    shutil.rmtree(broken.parent / "index")
    with pytest.raises(StoreError):
        answers(LocalStore.open(broken.parent))
    store = LocalStore.open(broken.parent)
    with suppress(StoreCorrupt):  # where nothing could be read at all
        assert not store.verify().ok
    store.close()


@pytest.mark.requirement("ENGINE-4", "INGEST-7")
def test_a_full_disk_is_said_and_leaves_every_document_as_it_was(path: Path, expected: Answers) -> None:
    store = LocalStore.open(path)
    with store._core().writing() as writer:
        pages = writer.execute("PRAGMA page_count").fetchone()[0]
        writer.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(StoreUnreachable, match="no space") as refusal:
        put(store, "large.md", ["word " * 4_000] * 20)
    assert "space" in refusal.value.way_out
    assert answers(store) == expected
    with store._core().writing() as writer:
        writer.execute("PRAGMA max_page_count = 1000000")
    put(store, "large.md", ["shared " * 4_000] * 20)
    assert store.verify().ok
    assert store.stored("large.md") is not None
    store.close()


GARBLED = {
    "metadata": ("UPDATE documents SET metadata = '{' WHERE doc_id = '4.md'", key("4.md")),
    "labels": ("UPDATE documents SET scope = '3' WHERE doc_id = '4.md'", key("4.md")),
    "headings": ("UPDATE documents SET headings = '' WHERE doc_id = '4.md'", key("4.md")),
    "a vector cut short": ("UPDATE features SET vector = substr(vector, 1, 128) WHERE row = 9", key("4.md")),
    "terms cut short": ("UPDATE features SET terms = substr(terms, 1, 3) WHERE row = 9", key("4.md")),
    "counts gone": ("UPDATE features SET counts = x'' WHERE row = 9", key("4.md")),
    "a figure gone": ("DELETE FROM meta WHERE name = 'dimensions'", ""),
    "a figure garbled": ("UPDATE meta SET value = 'x' WHERE name = 'dimensions'", ""),
    "the binding": ("UPDATE meta SET value = '{}' WHERE name = 'binding'", ""),
    "where a document lies": ("UPDATE documents SET first_row = 'x' WHERE doc_id = '4.md'", key("4.md")),
    "a text": ("UPDATE chunks SET text = CAST(x'ff' AS TEXT) WHERE row = 9", ""),
}


@pytest.mark.requirement("ENGINE-4")
@pytest.mark.parametrize(("statement", "named"), GARBLED.values(), ids=GARBLED)
def test_values_without_a_meaning_are_named_by_verify_and_never_a_raw_error(
    path: Path, statement: str, named: str
) -> None:
    tampered(path, statement)
    shutil.rmtree(path / "index")
    store = LocalStore.open(path)

    def fetched() -> None:
        with store.snapshot() as view:
            view.fetch([key("4.md"), key("5.md")])

    asked: list[Callable[[], object]] = [
        lambda: answers(store),
        fetched,
        lambda: list(store.documents()),
        lambda: store.stored("4.md"),
        lambda: store.vectors("4.md"),
        store.binding,
        store.status,
        lambda: put(store, "4.md", ["shared anew"]),
        lambda: put(store, "new.md", ["shared new"]),
    ]
    if named:
        assert named in {found.evidence_key for found in store.verify().findings}
    refusals: list[StoreError] = []
    for ask in asked:
        try:
            ask()
        except StoreError as refusal:
            refusals.append(refusal)
    # Headings are shown in the catalogue alone, which goes on without them.
    assert {type(refusal) for refusal in refusals} == (set() if "headings" in statement else {StoreCorrupt})
    store.close()


@pytest.mark.requirement("ENGINE-4")
def test_a_log_that_goes_while_its_size_is_asked_is_no_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite removes it whenever the last connection of another process closes."""
    store = LocalStore.open(path)
    before = dict(store.status().details)["database_bytes"]
    stat = Path.stat

    def vanished(self: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        if self.name.endswith(("-wal", "-shm")):
            raise FileNotFoundError(errno.ENOENT, "gone", str(self))
        return stat(self, follow_symlinks=follow_symlinks)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "stat", vanished)
        assert 0 < int(dict(store.status().details)["database_bytes"]) <= int(before)
    store.close()


@pytest.mark.requirement("ENGINE-4")
@pytest.mark.parametrize("act", ["status", "documents", "stored", "snapshot", "write", "verify"])
def test_what_the_system_refuses_is_an_error_of_the_store_in_every_call(
    path: Path, act: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(self: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        raise PermissionError(errno.EACCES, "refused", str(self))

    def snapshot() -> None:
        with store.snapshot() as view:
            view.fetch([key("4.md")])

    store = LocalStore.open(path)
    store.documents()
    calls: dict[str, Callable[[], object]] = {
        "status": store.status,
        "documents": store.documents,
        "stored": lambda: store.stored("4.md"),
        "snapshot": snapshot,
        "write": lambda: put(store, "new.md", ["shared new"]),
        "verify": store.verify,
    }
    with monkeypatch.context() as patched:
        patched.setattr(Path, "stat", refused)
        with pytest.raises(StoreUnreachable):
            calls[act]()
    calls[act]()
    store.close()


@pytest.mark.requirement("ENGINE-4")
@pytest.mark.parametrize(
    "failure", [StoreCorrupt("damaged"), sqlite3.DatabaseError("damaged"), OSError(errno.EIO, "no"), ValueError("no")]
)
def test_a_lookup_that_has_its_answer_does_not_fail_when_the_index_can_not_be_kept(
    path: Path, expected: Answers, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    def fail(*_: object) -> None:
        raise failure

    monkeypatch.setattr("citewell.adapters.local.loading.OPEN_UP_TO", 100)
    shutil.rmtree(path / "index")
    store = LocalStore.open(path)
    with monkeypatch.context() as patched:
        patched.setattr("citewell.adapters.local.shelf.Shelf.keep", fail)
        assert answers(store) == expected
        assert str(failure) in str(store.status().details)
        put(store, "new.md", ["shared new"])  # it is committed, and says so
    store.delete(["new.md"])
    store.compact()
    assert answers(store) == expected
    assert len(list(path.glob("index/*.seg"))) == 1
    assert not any(name == "note" for name, _ in store.status().details)
    store.close()


@pytest.mark.requirement("ENGINE-4")
def test_a_lookup_leaves_the_keeping_to_whoever_writes_at_the_moment(
    path: Path, expected: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citewell.adapters.local.loading.OPEN_UP_TO", 100)
    shutil.rmtree(path / "index")
    store, other = LocalStore.open(path), LocalStore.open(path)
    with other._core().writing():
        assert answers(store) == expected
        assert not (path / "index").exists()
    assert answers(store) == expected
    assert list(path.glob("index/*.seg"))
    store.close()
    other.close()


@pytest.mark.requirement("ENGINE-4")
def test_vectors_whose_bytes_add_up_but_lie_in_the_wrong_rows_are_damage(path: Path) -> None:
    tampered(
        path,
        "UPDATE features SET vector = CASE row WHEN 9 THEN substr(vector, 1, 128) ELSE zeroblob(384) END"
        " WHERE row IN (9, 10)",
    )
    shutil.rmtree(path / "index")
    store = LocalStore.open(path)
    with pytest.raises(StoreCorrupt, match="64 dimensions"):
        answers(store)
    store.close()


@pytest.mark.requirement("ENGINE-4", "INGEST-7")
def test_a_write_that_is_committed_is_no_failure_when_the_index_fails_after_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise StoreCorrupt("damaged")

    store = LocalStore.open(path)
    with monkeypatch.context() as patched:
        patched.setattr("citewell.adapters.local.index.Index.settle", fail)
        put(store, "new.md", ["shared new"])
        assert store.delete(["0.md"]) == 1
        with pytest.raises(StoreCorrupt):
            store.compact()
    assert store.stored("new.md") is not None
    with store.snapshot() as view:
        assert [hit.key for hit in view.lexical(["new"], 5, Filters())] == [key("new.md")]
    assert store.verify().findings == ()
    store.close()


@pytest.mark.requirement("ENGINE-4", "GUARD-1")
def test_a_text_that_is_not_the_one_that_was_written_is_never_shown(path: Path) -> None:
    """One flipped bit of the file is enough; the other documents are read as before."""
    content = bytearray((path / "citewell.db").read_bytes())
    at = content.index(b"shared word57")
    content[at + 1] ^= 1
    (path / "citewell.db").write_bytes(content)
    store = LocalStore.open(path)
    with store.snapshot() as view:
        with pytest.raises(StoreCorrupt, match=r"57\.md#chunk-0 is not the text that was written") as refusal:
            view.fetch([key("5.md"), key("57.md")])
        assert "verify" in refusal.value.way_out
        assert view.fetch([key("5.md")])[key("5.md")].text == "shared word5"
    store.close()


@pytest.mark.requirement("ENGINE-4", "LEX-2")
def test_verify_names_a_word_that_is_not_found_any_more_because_an_index_of_sqlite_has_it_otherwise(path: Path) -> None:
    content = bytearray((path / "citewell.db").read_bytes())
    places = [at for at in range(len(content)) if content.startswith(b"word57", at)]
    found = False
    for at in places:
        (path / "citewell.db").write_bytes(content[:at] + b"x" + content[at + 1 :])
        store = LocalStore.open(path)
        with store.snapshot() as view:
            hits = view.lexical(["word57"], 5, Filters())
        if not hits:
            found = True
            assert not store.verify().ok
        store.close()
    assert found
