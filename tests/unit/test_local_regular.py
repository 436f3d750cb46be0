"""A pipe, a folder or a device in place of a file of the store: named at once, and waited for by nobody (ENGINE-4)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from citewell.adapters.local import LocalStore
from citewell.errors import CitewellError, StoreUnreachable
from citewell.model import SessionPolicy, Shown
from citewell.testing.store_base import key, look, put

WAY_OUT = "Move it away; if it took the place of a file, put that back."


def a_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


KINDS: dict[str, Callable[[Path], None]] = {"a pipe": os.mkfifo, "a folder": Path.mkdir, "a device": a_device}
each_kind = pytest.mark.parametrize("kind", list(KINDS))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed store with one document and one session."""
    store = LocalStore.open(tmp_path / "store")
    put(store, "a.md", ["shared text"])
    remember(store)
    store.close()
    return tmp_path / "store"


def remember(store: LocalStore) -> None:
    store.sessions().record("s", None, [Shown(key("a.md"), "0" * 64, 1.0, 5)], policy=SessionPolicy())


def replaced(file: Path, kind: str) -> Path:
    file.unlink(missing_ok=True)
    KINDS[kind](file)
    return file


def assert_names(refusal: CitewellError, file: Path, kind: str) -> None:
    assert refusal.message == f"{file} is {kind}, and the store keeps a file of that name"
    assert refusal.way_out == WAY_OUT


@pytest.mark.requirement("ENGINE-4")
@each_kind
@pytest.mark.parametrize("name", ["citewell.db", "citewell.db-wal", "citewell.db-shm"])
def test_a_store_is_not_opened_where_something_else_has_the_name_of_its_database(
    path: Path, name: str, kind: str
) -> None:
    file = replaced(path / name, kind)
    with pytest.raises(StoreUnreachable) as refusal:
        LocalStore.open(path)
    assert_names(refusal.value, file, kind)


@pytest.mark.requirement("ENGINE-4", "INGEST-7")
@each_kind
def test_without_a_lock_file_that_can_be_one_a_store_is_read_and_not_written(path: Path, kind: str) -> None:
    file = replaced(path / "citewell.lock", kind)
    store = LocalStore.open(path)
    assert look(store, "shared").everywhere == [key("a.md")]
    with pytest.raises(StoreUnreachable) as refusal:
        put(store, "b.md", ["shared text"])
    assert_names(refusal.value, file, kind)
    store.close()


@pytest.mark.requirement("ENGINE-4", "SESSION-2")
@each_kind
@pytest.mark.parametrize("name", ["sessions.db", "sessions.db-wal", "sessions.db-shm"])
def test_sessions_name_what_has_the_name_of_their_file_and_documents_are_found(
    path: Path, name: str, kind: str
) -> None:
    file = replaced(path / name, kind)
    store = LocalStore.open(path)
    with pytest.raises(StoreUnreachable) as refusal:
        list(store.sessions().sessions())
    assert_names(refusal.value, file, kind)
    assert look(store, "shared").everywhere == [key("a.md")]
    store.close()


@pytest.mark.requirement("ENGINE-4", "SESSION-2")
def test_sessions_are_not_begun_where_a_pipe_has_the_name_of_their_lock(tmp_path: Path) -> None:
    store = LocalStore.open(tmp_path / "store")
    file = replaced(store.path / "sessions.lock", "a pipe")
    with pytest.raises(StoreUnreachable) as refusal:
        remember(store)
    assert_names(refusal.value, file, "a pipe")
    store.close()


@pytest.mark.requirement("ENGINE-4")
@each_kind
@pytest.mark.parametrize("pattern", ["segments.json", "*.seg"])
def test_a_file_of_the_index_that_is_none_is_taken_as_gone(tmp_path: Path, pattern: str, kind: str) -> None:
    store = LocalStore.open(tmp_path / "store")
    put(store, "a.md", ["shared text"] * 200)
    store.compact()
    store.close()
    (file,) = (store.path / "index").glob(pattern)
    replaced(file, kind)
    store = LocalStore.open(store.path)
    assert len(look(store, "shared").everywhere) == 200
    store.close()
