"""The store contract on sessions: kept with the documents, but neither held up by their writer nor lost with them."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from citewell.errors import StoreError
from citewell.ports import SessionStore, Store
from citewell.testing.requirement import requirement
from citewell.testing.samples import change
from citewell.testing.sessions import SessionContract, entry, keys, names, record
from citewell.testing.store_base import PATIENCE_S, StoreSuite, key, put, write


class StoreSessions(StoreSuite, SessionContract):
    """`Store.sessions()` keeps `SessionContract`, and lives as long as the store does."""

    @pytest.fixture
    def sessions(self, store: Store) -> Iterator[SessionStore]:
        """Those of a fresh store."""
        yield store.sessions()  # noqa: PT022 - the fixture that it overrides is a generator

    @requirement("SESSION-2")
    def test_a_store_gives_the_same_sessions_each_time(self, store: Store) -> None:
        assert store.sessions() is store.sessions()

    @requirement("SESSION-2")
    def test_what_sessions_were_shown_survives_closing_and_opening_again(self, store: Store) -> None:
        put(store, "a.md", ["text"])
        record(store.sessions(), "s", entry(key("a.md"), 1.5, chars=80), scope=("x",))
        opened = self.reopen(store)
        if opened is None:
            pytest.skip("the engine keeps nothing")
        try:
            shown = opened.sessions().shown("s", ("x",), since=0.0)
            assert shown == {key("a.md"): entry(key("a.md"), 1.5, chars=80)}
            record(opened.sessions(), "s", entry("b"), scope=("x",))
            assert keys(opened.sessions(), "s", ("x",)) == [key("a.md"), "b"]
        finally:
            opened.close()

    @requirement("SESSION-2")
    def test_sessions_of_a_closed_store_refuse(self, store: Store) -> None:
        sessions = store.sessions()
        record(sessions, "s", entry("a"))
        store.close()
        with pytest.raises(StoreError):
            record(sessions, "s", entry("b"))
        with pytest.raises(StoreError):
            sessions.shown("s", None, since=0.0)
        with pytest.raises(StoreError):
            list(sessions.sessions())

    @requirement("SESSION-2")
    def test_a_session_remembers_a_chunk_that_is_deleted_since(self, store: Store) -> None:
        """The guard needs it: what was shown and is gone is not the same as what never was (GUARD-1)."""
        put(store, "a.md", ["text"])
        record(store.sessions(), "s", entry(key("a.md")))
        store.delete(["a.md"])
        assert keys(store.sessions(), "s") == [key("a.md")]

    @requirement("SESSION-2")
    def test_sessions_are_no_documents(self, store: Store) -> None:
        record(store.sessions(), "s", entry(key("a.md")))
        assert list(store.documents()) == []
        assert store.status().chunks == 0
        assert store.verify().ok

    @requirement("INGEST-7", "SESSION-2")
    def test_recording_goes_on_beside_a_writer_of_documents(self, store: Store) -> None:
        write(store)
        sessions, stop = store.sessions(), threading.Event()

        def ingest() -> int:
            batch = 0
            while not stop.is_set() or batch == 0:
                store.apply([change(f"{batch}-{number}", ["shared"] * 3) for number in range(20)])
                batch += 1
            return batch

        writer = threading.Thread(target=ingest, daemon=True)
        writer.start()
        try:
            for number in range(20):
                record(sessions, "s", entry(f"{number}"))
                assert len(keys(sessions, "s")) == number + 1
        finally:
            stop.set()
            writer.join(PATIENCE_S)
        assert not writer.is_alive()
        assert names(sessions) == [("s", None)]
