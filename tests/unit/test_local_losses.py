"""A log that is lost or damaged takes commits along; SQLite can't tell, and the store says so until it is accepted."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from citewell import Document, Knowledge, Settings
from citewell.adapters.local import LocalStore
from citewell.adapters.local.tally import note, noted
from citewell.errors import StoreLocked
from citewell.model import Filters
from citewell.testing.fakes import HashEmbedder
from citewell.testing.samples import change
from citewell.testing.store_base import key, look, put, write

SAID = "the store's last 2 writes are missing: ingest the sources, then run `citewell verify --repair`"


def opened(path: Path) -> Knowledge:
    return Knowledge.open(path, settings=Settings(), embedder=HashEmbedder())


def with_a_log(folder: Path) -> Path:
    """A copy, taken while the store is open, of one whose last two writes lie in the log alone."""
    with opened(folder / "kb") as knowledge:
        knowledge.ingest_documents([Document("a.md", "# A\n\nThe first signing key.")])
    with opened(folder / "kb") as knowledge:
        knowledge.ingest_documents([Document("b.md", "# B\n\nThe second signing key.")])
        knowledge.ingest_documents([Document("a.md", "# A\n\nThe renewed signing key.")])
        shutil.copytree(folder / "kb", folder / "copy")
    return folder / "copy"


def flip_first(log: Path) -> None:
    content = bytearray(log.read_bytes())
    content[3] ^= 1
    log.write_bytes(content)


@pytest.mark.requirement("ENGINE-4", "PROJ-6")
@pytest.mark.parametrize("damage", [Path.unlink, flip_first, lambda log: log.write_bytes(b"")], ids=range(3))
def test_every_answer_says_that_writes_are_missing_until_the_store_is_accepted_as_it_is(
    tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    path = with_a_log(tmp_path)
    damage(path / "citewell.db-wal")
    with opened(path) as knowledge:
        result = knowledge.lookup("signing key")
        assert [block.text for block in result.evidence] == ["# A\n\nThe first signing key."]
        assert result.degraded == (f"store: {SAID}",)
        assert ("note", SAID) in knowledge.status().details
    with opened(path) as knowledge:
        knowledge.ingest_documents([Document("b.md", "# B\n\nThe second signing key.")])
        assert knowledge.lookup("signing key").degraded == (f"store: {SAID}",)
        (found,) = knowledge.verify().findings
        assert (found.kind, found.where, found.detail) == ("damaged", "citewell.db-wal", SAID)
        assert not knowledge.verify(repair=True).ok
        assert knowledge.verify().ok
        assert knowledge.lookup("signing key").degraded == ()
    with opened(path) as knowledge:
        assert knowledge.lookup("signing key").degraded == ()


@pytest.mark.requirement("ENGINE-4")
def test_a_copy_with_its_log_lacks_nothing(tmp_path: Path) -> None:
    with opened(with_a_log(tmp_path)) as knowledge:
        assert knowledge.lookup("signing key").degraded == ()
        assert knowledge.verify().findings == ()


@pytest.mark.requirement("ENGINE-4", "PROJ-6")
def test_a_store_that_lost_all_its_writes_is_not_simply_empty(tmp_path: Path) -> None:
    with opened(tmp_path / "kb") as knowledge:
        knowledge.ingest_documents([Document("a.md", "# A\n\nThe first signing key.")])
        shutil.copytree(tmp_path / "kb", tmp_path / "copy")
    (tmp_path / "copy" / "citewell.db-wal").unlink()
    with opened(tmp_path / "copy") as knowledge:
        result = knowledge.lookup("signing key")
        assert result.status == "empty_store"
        assert result.degraded == (
            "store: the store's last write is missing: ingest the sources, then run `citewell verify --repair`",
        )


@pytest.mark.requirement("ENGINE-4")
@pytest.mark.parametrize("content", [b"", b"x" * 480, b" " * 400 + b'{"sequence": 9000, "check": 1}', b"[" * 9000])
def test_a_note_that_is_lost_or_damaged_says_nothing(tmp_path: Path, content: bytes) -> None:
    store = LocalStore.open(tmp_path / "kb")
    put(store, "a.md", ["text"])
    store.close()
    (tmp_path / "kb" / "citewell.lock").write_bytes(content)
    store = LocalStore.open(tmp_path / "kb")
    assert store.doubt() == ""
    put(store, "a.md", ["another"])
    assert noted(tmp_path / "kb" / "citewell.lock") == store.status().sequence == 2
    store.close()


@pytest.mark.requirement("ENGINE-4")
def test_a_note_outlives_the_names_of_those_who_hold_the_lock(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    lock.write_bytes(b"")
    note(lock, 10**9)
    note(lock, 7)
    assert noted(lock) == 7
    assert noted(tmp_path / "none") == 0


def copied(source: Path, target: Path) -> None:
    """Copy a database into the file of another, as SQLite does it for a backup and for putting one back."""
    with closing(sqlite3.connect(source)) as one, closing(sqlite3.connect(target)) as other:
        one.backup(other)


@pytest.fixture
def put_back(tmp_path: Path) -> Iterator[LocalStore]:
    """An open store that showed c.md, whose file then was put back to when there were a.md and b.md."""
    store = LocalStore.open(tmp_path / "kb")
    for name in "ab":
        write(store, change(f"{name}.md", [f"shared {name}"], scope="old"))
    copied(tmp_path / "kb" / "citewell.db", tmp_path / "copy.db")
    write(store, change("c.md", ["shared c"], scope="old"))
    assert set(look(store, "shared").lexical) == {key("a.md"), key("b.md"), key("c.md")}
    copied(tmp_path / "copy.db", tmp_path / "kb" / "citewell.db")
    yield store
    store.close()


@pytest.mark.requirement("ENGINE-4")
def test_a_database_put_back_to_an_earlier_state_under_an_open_store_is_noticed_and_read_anew(
    put_back: LocalStore,
) -> None:
    with pytest.raises(StoreLocked, match="put back to an earlier state"), put_back.snapshot():
        pytest.fail("what is remembered is of another state")
    assert set(look(put_back, "shared").lexical) == {key("a.md"), key("b.md")}
    assert put_back.doubt().startswith("the store's last write is missing")


@pytest.mark.requirement("ENGINE-4", "SAFE-1")
def test_what_is_written_after_a_database_was_put_back_is_not_taken_for_what_was_there_before(
    put_back: LocalStore,
) -> None:
    new = change("d.md", ["shared d"], scope="new")
    with pytest.raises(StoreLocked, match="put back to an earlier state"):
        write(put_back, new)
    write(put_back, new)
    assert set(look(put_back, "shared").lexical) == {key("a.md"), key("b.md"), key("d.md")}
    with put_back.snapshot() as view:
        hits = view.lexical(["shared"], 9, Filters(scope=("old",)))
        assert {hit.key for hit in hits} == {key("a.md"), key("b.md")}
