"""The contract that every session store keeps: subclass, override one fixture, run pytest (PORT-6).

    from citewell.testing import SessionContract

    class TestMySessions(SessionContract):
        @pytest.fixture
        def sessions(self, tmp_path): ...

A store that passes `StoreContract` runs it on its own `sessions()`. It brings clock and policy, and knows no document.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citewell.model import SessionInfo, SessionPolicy, Shown
from citewell.ports import SessionStore
from citewell.testing.requirement import requirement
from citewell.testing.store_base import key
from citewell.testing.store_concurrency import together

Scope = tuple[str, ...] | None

EVER = 0.0
"""A `since` before everything that these tests record."""

ROOMY = SessionPolicy(max_items=1_000, max_age_s=1e9, max_sessions=1_000)
"""A policy under which nothing is forgotten."""

_HOSTILE = (
    "'; DROP TABLE shown; --", '"quoted"', "a\\b", "%_*?[a-z]", "{}[]", "null", "None", " ", "\t\n", "\x01\x1f\x7f",
    "é", "e\u0301", "文档一", "😀👩‍👩‍👧", "\u202eabc", "\ufeff", "\U0010ffff", key("a"), f"{key('a')}0", "A", "a", "a ",
    "x" * 10_000, "文" * 5_000,
)  # fmt: skip
_TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=30)


def entry(key: str, at: float = 1.0, *, digest: str = "d1", chars: int | None = None) -> Shown:
    """Something that was shown."""
    return Shown(key, digest, at, chars)


def record(
    sessions: SessionStore, session: str, *entries: Shown, scope: Scope = None, policy: SessionPolicy = ROOMY
) -> None:
    """Record these entries."""
    sessions.record(session, scope, entries, policy=policy)


def known(sessions: SessionStore, session: str, scope: Scope = None, since: float = EVER) -> Mapping[str, Shown]:
    """What the session remembers."""
    return sessions.shown(session, scope, since=since)


def keys(sessions: SessionStore, session: str, scope: Scope = None, since: float = EVER) -> list[str]:
    """The keys that the session remembers, sorted; fails the test if an entry stands under another key."""
    found = known(sessions, session, scope, since)
    assert all(key == shown.evidence_key for key, shown in found.items())
    return sorted(found)


def names(sessions: SessionStore) -> list[tuple[str, Scope]]:
    """The sessions that there are, in their order."""
    return [(info.session, info.scope) for info in sessions.sessions()]


class SessionContract:
    """Every sentence of `citewell.ports.SessionStore`, as tests. Override the fixture `sessions`."""

    @pytest.fixture
    def sessions(self) -> Iterator[SessionStore]:
        """A fresh session store that remembers nothing."""
        raise NotImplementedError("override the fixture `sessions` and yield a fresh session store")

    @requirement("SESSION-1")
    def test_a_session_remembers_what_it_was_shown(self, sessions: SessionStore) -> None:
        first, second = entry(key("a"), 5.25), entry(key("b", 3), 6.5, digest="d2", chars=812)
        record(sessions, "s", first, second)
        assert known(sessions, "s") == {key("a"): first, key("b", 3): second}

    @requirement("SESSION-1")
    def test_an_unknown_session_remembers_nothing(self, sessions: SessionStore) -> None:
        assert known(sessions, "s") == {}
        assert names(sessions) == []
        assert sessions.forget("s") == 0
        record(sessions, "s", entry(key("a")))
        assert known(sessions, "t") == {}

    @requirement("SESSION-1")
    def test_what_is_shown_again_takes_the_place_of_what_was_known(self, sessions: SessionStore) -> None:
        record(sessions, "s", entry(key("a"), 1.0), entry(key("b"), 1.0))
        again = entry(key("a"), 2.0, digest="d2", chars=0)
        record(sessions, "s", again)
        assert known(sessions, "s") == {key("a"): again, key("b"): entry(key("b"), 1.0)}

    @requirement("SESSION-1")
    def test_of_two_entries_with_one_key_the_later_counts(self, sessions: SessionStore) -> None:
        record(sessions, "s", entry("a", 3.0), entry("a", 2.0, digest="d2"))
        assert known(sessions, "s") == {"a": entry("a", 2.0, digest="d2")}

    @requirement("SESSION-1")
    def test_recording_nothing_makes_no_session(self, sessions: SessionStore) -> None:
        record(sessions, "s")
        assert names(sessions) == []

    @requirement("SESSION-2")
    def test_only_what_was_shown_since_then_is_told(self, sessions: SessionStore) -> None:
        record(sessions, "s", entry("a", 1.0), entry("b", 2.0), entry("c", 3.0))
        assert keys(sessions, "s", since=2.0) == ["b", "c"]
        assert keys(sessions, "s", since=3.5) == []

    @requirement("SESSION-2")
    def test_the_same_id_within_another_scope_is_another_session(self, sessions: SessionStore) -> None:
        scopes: list[Scope] = [None, (), ("a",), ("b",), ("a", "b"), ('a", "b',), ("null",)]
        for number, scope in enumerate(scopes):
            record(sessions, "s", entry(f"{number}"), scope=scope)
        assert [keys(sessions, "s", scope) for scope in scopes] == [[f"{number}"] for number in range(len(scopes))]
        assert len(names(sessions)) == len(scopes)

    @requirement("SESSION-2")
    def test_sessions_are_listed_in_order_with_their_figures(self, sessions: SessionStore) -> None:
        record(sessions, "b", entry("x", 1.0), entry("y", 4.0))
        record(sessions, "a", entry("x", 9.0), scope=("t",))
        record(sessions, "a", entry("x", 2.0), scope=("t", "u"))
        record(sessions, "a", entry("x", 3.0), scope=())
        record(sessions, "a", entry("x", 5.0))
        assert list(sessions.sessions()) == [
            SessionInfo("a", None, 1, 5.0),
            SessionInfo("a", (), 1, 3.0),
            SessionInfo("a", ("t",), 1, 9.0),
            SessionInfo("a", ("t", "u"), 1, 2.0),
            SessionInfo("b", None, 2, 4.0),
        ]

    @requirement("SESSION-2")
    def test_a_forgotten_session_is_gone_in_every_scope_and_the_others_stay(self, sessions: SessionStore) -> None:
        record(sessions, "s", entry("a"), entry("b"))
        record(sessions, "s", entry("a"), scope=("x",))
        record(sessions, "t", entry("a"))
        assert sessions.forget("s") == 3
        assert names(sessions) == [("t", None)]
        assert keys(sessions, "s") == keys(sessions, "s", ("x",)) == []
        assert sessions.forget("s") == 0

    @requirement("SESSION-2")
    def test_the_latest_entries_of_a_session_stay(self, sessions: SessionStore) -> None:
        three = replace(ROOMY, max_items=3)
        record(sessions, "s", entry("a", 1.0), entry("b", 2.0), policy=three)
        record(sessions, "s", entry("c", 3.0), entry("d", 4.0), policy=three)
        assert keys(sessions, "s") == ["b", "c", "d"]
        record(sessions, "s", entry("b", 5.0), entry("e", 6.0), policy=three)
        assert keys(sessions, "s") == ["b", "d", "e"]

    @requirement("SESSION-2")
    def test_of_entries_of_one_time_those_whose_keys_come_first_stay(self, sessions: SessionStore) -> None:
        record(sessions, "s", *(entry(key) for key in ("文", "b", "B", "é", "a")), policy=replace(ROOMY, max_items=3))
        assert keys(sessions, "s") == ["B", "a", "b"]

    @requirement("SESSION-2")
    def test_the_most_entries_bound_each_session_alone(self, sessions: SessionStore) -> None:
        two = replace(ROOMY, max_items=2)
        record(sessions, "s", entry("a", 1.0), entry("b", 1.0), policy=two)
        record(sessions, "s", entry("c", 2.0), entry("d", 2.0), scope=("x",), policy=two)
        assert (keys(sessions, "s"), keys(sessions, "s", ("x",))) == (["a", "b"], ["c", "d"])

    @requirement("SESSION-2")
    def test_entries_older_than_the_age_are_forgotten_in_every_session(self, sessions: SessionStore) -> None:
        record(sessions, "s", entry("a", 10.0), entry("b", 20.0))
        record(sessions, "t", entry("a", 9.0), scope=("x",))
        record(sessions, "u", entry("c", 30.0), policy=replace(ROOMY, max_age_s=15.0))
        assert keys(sessions, "s") == ["b"]
        assert names(sessions) == [("s", None), ("u", None)]
        record(sessions, "u", entry("d", 35.0), policy=replace(ROOMY, max_age_s=15.0))
        assert keys(sessions, "s") == ["b"], "15 seconds old is not older than 15 seconds"

    @requirement("SESSION-2")
    def test_the_sessions_used_latest_stay(self, sessions: SessionStore) -> None:
        two = replace(ROOMY, max_sessions=2)
        for at, session in enumerate("abc", start=1):
            record(sessions, session, entry("x", float(at)), policy=two)
        assert names(sessions) == [("b", None), ("c", None)]
        record(sessions, "b", entry("y", 4.0), policy=two)
        record(sessions, "d", entry("x", 5.0), policy=two)
        assert names(sessions) == [("b", None), ("d", None)]
        assert keys(sessions, "b") == ["x", "y"]

    @requirement("SESSION-2")
    def test_of_sessions_used_at_one_time_those_that_come_first_stay(self, sessions: SessionStore) -> None:
        for session, scope in [("b", None), ("a", ("t", "u")), ("a", ("t",)), ("a", ()), ("a", None)]:
            record(sessions, session, entry("x"), scope=scope)
        record(sessions, "c", entry("x", 2.0), policy=replace(ROOMY, max_sessions=4))
        assert names(sessions) == [("a", None), ("a", ()), ("a", ("t",)), ("c", None)]

    @requirement("SESSION-2")
    def test_what_was_forgotten_can_be_shown_and_remembered_again(self, sessions: SessionStore) -> None:
        record(sessions, "s", entry("a", 1.0), entry("b", 2.0), policy=replace(ROOMY, max_items=1))
        record(sessions, "s", entry("a", 3.0))
        assert keys(sessions, "s") == ["a", "b"]

    @requirement("SAFE-2", "SESSION-2")
    @pytest.mark.parametrize("text", _HOSTILE, ids=lambda text: ascii(text[:12]))
    def test_hostile_names_labels_and_keys_come_back_as_they_were(self, sessions: SessionStore, text: str) -> None:
        record(sessions, text, entry(text, digest=text), scope=(text,))
        record(sessions, "plain", entry("a"), scope=("plain",))
        assert known(sessions, text, (text,)) == {text: entry(text, digest=text)}
        assert known(sessions, text) == known(sessions, "plain", (text,)) == {}
        assert (text, (text,)) in names(sessions)
        assert sessions.forget(text) == 1
        assert names(sessions) == [("plain", ("plain",))]

    @requirement("SAFE-2", "SESSION-2")
    def test_any_texts_are_kept_apart_and_come_back(self, sessions: SessionStore) -> None:
        labels = st.none() | st.lists(_TEXTS, max_size=2, unique=True).map(lambda texts: tuple(sorted(texts)))

        @settings(max_examples=40, deadline=None)
        @given(st.lists(st.tuples(_TEXTS, labels, _TEXTS), max_size=6))
        def check(shown: Sequence[tuple[str, Scope, str]]) -> None:
            expected: dict[tuple[str, Scope], set[str]] = {}
            for session, scope, name in shown:
                record(sessions, session, entry(name), scope=scope)
                expected.setdefault((session, scope), set()).add(name)
            assert {name: set(keys(sessions, *name)) for name in names(sessions)} == expected
            for session in {session for session, _ in expected}:
                sessions.forget(session)
            assert names(sessions) == []

        check()

    @requirement("SESSION-2")
    def test_many_long_keys_in_one_call_are_kept(self, sessions: SessionStore) -> None:
        many = [entry(key(f"{'folder/' * 50}{number}", number), float(number)) for number in range(500)]
        record(sessions, "s", *many)
        assert known(sessions, "s") == {shown.evidence_key: shown for shown in many}

    @requirement("SESSION-2")
    def test_threads_that_record_in_one_session_lose_nothing(self, sessions: SessionStore) -> None:
        def recorder(name: str) -> None:
            for turn in range(10):
                record(sessions, "s", entry(f"{name}{turn}"), entry(f"{name}{turn}'"))

        together(*(lambda name=name: recorder(name) for name in "abc"))
        assert len(keys(sessions, "s")) == 60

    @requirement("SESSION-2")
    def test_a_reader_beside_a_recorder_sees_whole_records_only(self, sessions: SessionStore) -> None:
        """A record of three entries with one time is seen whole or not at all."""
        record(sessions, "s", *(entry(key, 0.0) for key in "abc"))

        def recorder() -> None:
            for turn in range(1, 15):
                record(sessions, "s", *(entry(key, float(turn)) for key in "abc"))

        def reader() -> list[set[float]]:
            return [{shown.at for shown in known(sessions, "s").values()} for _ in range(30)]

        _, seen = together(recorder, reader)
        assert all(len(times) == 1 for times in seen)
