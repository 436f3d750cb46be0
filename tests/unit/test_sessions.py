"""What a session remembers, by a clock of the test's own: repeats, changed texts, texts cut short, age, scopes."""

from __future__ import annotations

import pytest

from citewell.adapters.memory_sessions import MemorySessions
from citewell.model import EvidenceBlock, SessionPolicy, Shown
from citewell.sessions import Seen, SessionMemory


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def memory(clock: Clock, **policy: float) -> SessionMemory:
    return SessionMemory(MemorySessions(), SessionPolicy(**policy), clock=clock)  # type: ignore[arg-type]


def block(key: str, text: str = "text", *, digest: str | None = None) -> EvidenceBlock:
    return EvidenceBlock(evidence_key=key, text=text, digest=f"digest of {text}" if digest is None else digest)


def repeats(held: SessionMemory, *blocks: EvidenceBlock, scope: tuple[str, ...] | None = None) -> set[str]:
    return set(held.seen("s", scope, blocks).whole)


@pytest.mark.requirement("SESSION-1")
def test_what_was_shown_is_a_repeat_and_nothing_else_is(clock: Clock) -> None:
    held = memory(clock)
    assert repeats(held, block("a"), block("b")) == set()
    held.record("s", None, [block("a")])
    assert repeats(held, block("a"), block("b")) == {"a"}
    assert held.seen("t", None, [block("a")]) == Seen()
    assert held.shown("s", None) == {"a": Shown("a", "digest of text", 1_000.0)}


@pytest.mark.requirement("SESSION-1")
def test_a_text_that_has_changed_is_new_and_then_a_repeat_itself(clock: Clock) -> None:
    held = memory(clock)
    held.record("s", None, [block("a", "old")])
    assert repeats(held, block("a", "new")) == set()
    held.record("s", None, [block("a", "new")])
    assert repeats(held, block("a", "new")) == {"a"}
    assert repeats(held, block("a", "old")) == set()


@pytest.mark.requirement("SESSION-1")
def test_a_text_that_was_cut_short_is_known_by_its_id_and_no_repeat(clock: Clock) -> None:
    held = memory(clock)
    held.record("s", None, [block("a"), block("b"), block("c")], {"a": 3, "c": 0})
    assert held.seen("s", None, [block("a"), block("b"), block("c")]) == Seen(frozenset({"b"}), {"a": 3})
    assert {key: shown.chars for key, shown in held.shown("s", None).items()} == {"a": 3, "b": None, "c": 0}
    held.record("s", None, [block("a")])
    assert held.seen("s", None, [block("a")]) == Seen(frozenset({"a"}))


@pytest.mark.requirement("SESSION-1")
def test_of_a_text_cut_short_several_times_the_longest_beginning_counts_until_it_changes(clock: Clock) -> None:
    held = memory(clock)
    for chars in (2, 3, 0, 1):
        held.record("s", None, [block("a")], {"a": chars})
    assert held.seen("s", None, [block("a")]).partly == {"a": 3}
    held.record("s", None, [block("a", "new")], {"a": 1})
    assert held.seen("s", None, [block("a", "new")]).partly == {"a": 1}
    assert held.seen("s", None, [block("a")]) == Seen()


@pytest.mark.requirement("SESSION-1")
def test_a_text_shown_whole_and_later_cut_short_stays_known_whole_unless_it_has_changed(clock: Clock) -> None:
    held = memory(clock)
    held.record("s", None, [block("a", "old"), block("b", "same")])
    held.record("s", None, [block("a", "new"), block("b", "same")], {"a": 1, "b": 1})
    assert repeats(held, block("a", "new"), block("b", "same")) == {"b"}


@pytest.mark.requirement("SESSION-1")
def test_texts_of_a_port_that_gives_no_digest_are_told_apart_by_themselves(clock: Clock) -> None:
    held = memory(clock)
    held.record("s", None, [block("a", "old", digest="")])
    assert repeats(held, block("a", "old", digest="")) == {"a"}
    assert repeats(held, block("a", "new", digest="")) == set()


@pytest.mark.requirement("SESSION-2")
def test_the_same_session_id_within_another_scope_knows_nothing(clock: Clock) -> None:
    held = memory(clock)
    held.record("s", ("team-a",), [block("a")])
    assert repeats(held, block("a"), scope=("team-a",)) == {"a"}
    for scope in (None, (), ("team-b",), ("team-a", "team-b")):
        assert repeats(held, block("a"), scope=scope) == set()
        assert held.shown("s", scope) == {}


@pytest.mark.requirement("SESSION-2")
def test_what_is_older_than_the_age_is_forgotten_though_nothing_was_recorded_since(clock: Clock) -> None:
    held = memory(clock, max_age_s=60.0)
    held.record("s", None, [block("a")])
    clock.now += 60
    assert repeats(held, block("a")) == {"a"}
    clock.now += 1
    assert repeats(held, block("a")) == set()


@pytest.mark.requirement("SESSION-2")
def test_what_is_shown_again_is_remembered_from_then_on(clock: Clock) -> None:
    held = memory(clock, max_age_s=60.0)
    held.record("s", None, [block("a"), block("b")])
    clock.now += 40
    held.record("s", None, [block("a")])
    clock.now += 40
    assert repeats(held, block("a"), block("b")) == {"a"}


@pytest.mark.requirement("SESSION-2")
def test_the_policy_bounds_entries_and_sessions(clock: Clock) -> None:
    held = memory(clock, max_items=2, max_sessions=2)
    for session in ("s", "t", "u"):
        for key in "abc":
            held.record(session, None, [block(key)])
            clock.now += 1
    assert [sorted(held.shown(session, None)) for session in ("s", "t", "u")] == [[], ["b", "c"], ["b", "c"]]


@pytest.mark.requirement("SESSION-1")
def test_showing_nothing_records_nothing(clock: Clock) -> None:
    store = MemorySessions()
    SessionMemory(store, clock=clock).record("s", None, [])
    assert list(store.sessions()) == []
