"""A session through the whole read path: what `to_agent` showed once comes as a reference the next time (SESSION)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citewell import Document, Knowledge, LookupResult, Settings
from citewell.adapters.memory_sessions import MemorySessions
from citewell.errors import InvalidRequest, StoreUnreachable
from citewell.model import Budget, SessionPolicy, Shown
from citewell.testing.fakes import HashEmbedder

HYBRID = Settings.of({"retrieval.search.mode": "hybrid", "rag.hints": False})
QUESTION, PARAPHRASE = "why is the pool exhausted", "the pool is exhausted again, what now"
ALL = Budget(max_items=None, max_chars_per_item=None, max_chars=None, max_tokens=None)


def document(doc_id: str, text: str, scope: Any = None) -> Document:  # noqa: ANN401 - as a caller may give it
    return Document(doc_id, text, scope=scope, format="text")


def fill(knowledge: Knowledge) -> None:
    knowledge.ingest_documents(
        [
            document("pool.md", "The pool is exhausted when clients keep connections. " + "Close idle ones. " * 20),
            document("gateway.md", "Restart the gateway after the pool has grown."),
            document("badges.md", "Badges are printed at the desk."),
        ]
    )


@pytest.fixture(params=["local", "memory"])
def knowledge(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Knowledge]:
    location = tmp_path / "kb" if request.param == "local" else "memory:"
    with Knowledge.open(location, settings=HYBRID, embedder=HashEmbedder()) as opened:
        fill(opened)
        yield opened


def items(seen: Mapping[str, Any]) -> dict[str, str]:
    """Content by document, `-` for a reference."""
    return {
        item["document_id"].partition("#")[0]: "-" if item.get("already_shown") else item["content"]
        for item in seen["evidence"]
    }


def remembered(knowledge: Knowledge, session: str = "s", scope: tuple[str, ...] | None = None) -> dict[str, int | None]:
    """How many characters of each document were shown, None = all, by its name."""
    shown = knowledge._store.sessions().shown(session, scope, since=0.0)
    return {key.partition("#")[0]: entry.chars for key, entry in sorted(shown.items())}


@pytest.mark.requirement("SESSION-1", "PROJ-6")
def test_what_was_shown_comes_as_a_reference_and_a_new_session_gets_it_whole(knowledge: Knowledge) -> None:
    """Trial I129."""
    first = knowledge.lookup(QUESTION, session="s", return_n=2).to_agent()
    assert all(text != "-" for text in items(first).values())
    again = knowledge.lookup(PARAPHRASE, session="s", return_n=2).to_agent()
    assert again["status"] == "all_already_shown"
    assert items(again) == dict.fromkeys(items(first), "-")
    for other in (knowledge.lookup(QUESTION, session="t", return_n=2), knowledge.lookup(QUESTION, return_n=2)):
        assert other.to_agent() == first
        assert other.status == "ok"


@pytest.mark.requirement("SESSION-1")
def test_what_is_new_comes_whole_beside_references(knowledge: Knowledge) -> None:
    knowledge.lookup(QUESTION, session="s", return_n=1).to_agent()
    seen = knowledge.lookup(PARAPHRASE, session="s", return_n=2).to_agent()
    assert seen["status"] == "ok"
    assert items(seen) == {"pool.md": "-", "gateway.md": "Restart the gateway after the pool has grown."}
    assert remembered(knowledge) == {"gateway.md": None, "pool.md": None}


@pytest.mark.requirement("SESSION-1", "GUARD-1")
def test_only_what_is_shown_to_the_agent_is_recorded(knowledge: Knowledge) -> None:
    """Found is not shown: neither a lookup by itself nor what the budget left out counts."""
    result = knowledge.lookup(QUESTION, session="s", return_n=2)
    assert result.already_shown == frozenset()
    assert remembered(knowledge) == {}
    result.to_agent(Budget(max_items=1))
    assert remembered(knowledge) == {"pool.md": None}
    assert items(knowledge.lookup(QUESTION, session="s", return_n=2).to_agent())["gateway.md"] != "-"


@pytest.mark.requirement("SESSION-1", "GUARD-1")
@pytest.mark.parametrize("budget", [Budget(max_chars=80), Budget(max_items=0)])
def test_a_text_that_was_cut_short_is_remembered_by_its_id_and_shown_again(
    knowledge: Knowledge, budget: Budget
) -> None:
    result = knowledge.lookup(QUESTION, session="s", return_n=1)
    seen: Any = result.to_agent(budget)
    assert seen["evidence"][0]["truncated"]
    assert remembered(knowledge) == {"pool.md": len(seen["evidence"][0]["content"])}
    again: Any = knowledge.lookup(PARAPHRASE, session="s", return_n=1).to_agent()
    assert (again["status"], again["evidence"][0]["content"]) == ("ok", result.evidence[0].text)
    assert remembered(knowledge) == {"pool.md": None}


@pytest.mark.requirement("SESSION-1", "PROJ-6")
def test_a_text_of_which_no_more_can_be_shown_than_before_is_a_reference_that_says_there_is_more() -> None:
    """Else a limit per item below the size of chunks would make a session forget everything."""
    chosen = Settings.of({"retrieval.search.mode": "hybrid", "rag.hints": False, "projection.max-chars-per-item": 60})
    with Knowledge.open("memory:", settings=chosen, embedder=HashEmbedder()) as knowledge:
        fill(knowledge)
        first: Any = knowledge.lookup(QUESTION, session="s", return_n=1).to_agent()
        again = knowledge.lookup(PARAPHRASE, session="s", return_n=1)
        assert (again.already_shown, dict(again.partly_shown)) == (frozenset(), {"pool.md#chunk-0": 52})
        seen: Any = again.to_agent()
        assert first["evidence"][0]["content"] == "The pool is exhausted when clients keep connections."
        assert seen["status"] == "all_already_shown"
        assert (seen["evidence"][0]["content"], seen["evidence"][0]["truncated"]) == ("", True)
        assert seen["evidence"][0]["already_shown"]
        longer: Any = knowledge.lookup(QUESTION, session="s", return_n=1).to_agent(Budget(max_chars_per_item=200))
        assert (longer["status"], 60 < len(longer["evidence"][0]["content"]) <= 200) == ("ok", True)


@pytest.mark.requirement("SESSION-1")
def test_a_text_that_has_changed_is_shown_in_full_again(knowledge: Knowledge) -> None:
    knowledge.lookup(QUESTION, session="s", return_n=2).to_agent()
    knowledge.ingest_documents([document("gateway.md", "Restart the gateway before the pool grows.")])
    seen = knowledge.lookup(QUESTION, session="s", return_n=2).to_agent()
    assert items(seen) == {"pool.md": "-", "gateway.md": "Restart the gateway before the pool grows."}


@pytest.mark.requirement("SESSION-1")
def test_what_is_asked_for_again_is_shown_again(knowledge: Knowledge) -> None:
    first = knowledge.lookup(QUESTION, session="s", return_n=2).to_agent()
    again = knowledge.lookup(QUESTION, session="s", return_n=2, repeat=True)
    assert again.status == "ok"
    assert again.to_agent() == first
    assert knowledge.lookup(QUESTION, session="s", return_n=2).status == "all_already_shown"


@pytest.mark.requirement("SESSION-1")
def test_one_result_projected_twice_shows_the_same_twice(knowledge: Knowledge) -> None:
    result = knowledge.lookup(QUESTION, session="s")
    assert result.to_agent() == result.to_agent()


@pytest.mark.requirement("SESSION-1", "PROJ-6")
def test_nothing_found_within_a_session_is_nothing_found_and_nothing_remembered(knowledge: Knowledge) -> None:
    seen = knowledge.lookup(QUESTION, session="s", scope=[]).to_agent()
    assert (seen["status"], seen["evidence"]) == ("no_match", [])
    assert list(knowledge.sessions()) == []


@pytest.mark.requirement("SESSION-2", "SAFE-3")
def test_a_session_is_never_shared_between_scopes(knowledge: Knowledge) -> None:
    knowledge.ingest_documents([document("shared.md", "The shared pool is exhausted.", scope=["t1", "t2"])])
    first = knowledge.lookup(QUESTION, session="s", scope="t1", return_n=1).to_agent()
    assert items(first) == {"shared.md": "The shared pool is exhausted."}
    for scope in ("t2", ["t1", "t2"], None):
        result = knowledge.lookup("the shared pool", session="s", scope=scope, return_n=1)
        assert (result.status, result.already_shown) == ("ok", frozenset())
    assert knowledge.lookup(QUESTION, session="s", scope=["t1"], return_n=1).status == "all_already_shown"


@pytest.mark.requirement("SESSION-2")
def test_a_session_id_is_one_id_however_it_is_written(knowledge: Knowledge) -> None:
    knowledge.lookup(QUESTION, session="caf\u00e9", return_n=1).to_agent()
    assert knowledge.lookup(QUESTION, session=" cafe\u0301 ", return_n=1).status == "all_already_shown"
    assert knowledge.lookup(QUESTION, session="   ", return_n=1).on_shown is None


@pytest.mark.requirement("SESSION-2")
def test_a_session_is_restored_after_a_restart(tmp_path: Path) -> None:
    with Knowledge.open(tmp_path / "kb", settings=HYBRID, embedder=HashEmbedder()) as knowledge:
        fill(knowledge)
        knowledge.lookup(QUESTION, session="s", return_n=2).to_agent()
    with Knowledge.open(tmp_path / "kb", settings=HYBRID, embedder=HashEmbedder()) as knowledge:
        assert knowledge.lookup(PARAPHRASE, session="s", return_n=2).status == "all_already_shown"


@pytest.mark.requirement("SESSION-2", "API-7")
def test_the_settings_bound_what_is_remembered() -> None:
    chosen = Settings.of({"retrieval.search.mode": "hybrid", "session.max-items": 1, "session.max-sessions": 1})
    with Knowledge.open("memory:", settings=chosen, embedder=HashEmbedder()) as knowledge:
        fill(knowledge)
        for session in ("s", "t"):
            knowledge.lookup(QUESTION, session=session, return_n=2).to_agent()
        assert [(info.session, info.shown) for info in knowledge.sessions()] == [("t", 1)]


@pytest.mark.requirement("SESSION-2", "API-1")
def test_sessions_are_listed_and_forgotten_by_their_id(knowledge: Knowledge) -> None:
    knowledge.lookup(QUESTION, session="s", return_n=2).to_agent()
    knowledge.lookup(QUESTION, session="t", return_n=1).to_agent()
    assert [(info.session, info.scope, info.shown) for info in knowledge.sessions()] == [("s", None, 2), ("t", None, 1)]
    assert knowledge.forget_session(" s ") == 2
    assert knowledge.forget_session("s") == 0
    assert [info.session for info in knowledge.sessions()] == ["t"]
    assert knowledge.lookup(QUESTION, session="s", return_n=2).status == "ok"
    for odd in ("", "  ", "x" * 201, "a\0b"):
        with pytest.raises(InvalidRequest, match="a session id can't be"):
            knowledge.forget_session(odd)


@pytest.mark.requirement("SESSION-1", "API-1")
def test_the_whole_result_names_what_was_shown_before(knowledge: Knowledge) -> None:
    knowledge.lookup(QUESTION, session="s", return_n=1).to_agent()
    result = knowledge.lookup(QUESTION, session="s", return_n=2)
    assert result.to_dict()["already_shown"] == ["pool.md#chunk-0"]
    assert all(block.text for block in result.evidence), "the caller has every text; only the agent's view is short"


@pytest.mark.requirement("SESSION-1", "CONTEXT-1")
def test_neighbours_that_were_shown_are_references_the_next_time(knowledge: Knowledge) -> None:
    paragraphs = [f"Step {number} of the evacuation: {'walk on ' * 90}" for number in range(5)]
    knowledge.ingest_documents([document("long.md", "\n\n".join(paragraphs))])
    question = "step 2 of the evacuation"
    first = _by_key(knowledge.lookup(question, session="s", return_n=1, neighbours=1).to_agent(ALL))
    assert len(first) == 3
    again = knowledge.lookup(question, session="s", return_n=1, neighbours=1)
    assert (again.status, set(again.already_shown)) == ("all_already_shown", set(first))
    wider = knowledge.lookup(question, session="s", return_n=1, neighbours=2)
    assert wider.status == "ok", "a neighbour that is new is something new"
    seen = _by_key(wider.to_agent(ALL))
    assert {key for key, content in seen.items() if content} == set(seen) - set(first)


def _by_key(seen: Mapping[str, Any]) -> dict[str, str]:
    return {item["document_id"]: item["content"] for item in seen["evidence"]}


LIMITS = st.none() | st.integers(0, 700)
STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.sampled_from([QUESTION, PARAPHRASE, "restart the gateway", "badges at the desk"]),
            st.builds(Budget, st.none() | st.integers(0, 4), LIMITS, LIMITS, LIMITS),
            st.integers(1, 3),
            st.integers(0, 2),
        ),
        st.sampled_from(["pool.md", "gateway.md"]),
    ),
    max_size=8,
)


@pytest.mark.requirement("SESSION-1")
@settings(max_examples=25)
@given(STEPS)
def test_whatever_is_asked_within_whatever_budget_a_text_comes_only_if_more_of_it_is_shown_than_before(
    steps: list[tuple[str, Budget, int, int] | str],
) -> None:
    with Knowledge.open("memory:", settings=HYBRID, embedder=HashEmbedder()) as knowledge:
        fill(knowledge)
        texts = {"long.md": "\n\n".join(f"The pool, part {n}. {'Close idle ones. ' * 45}" for n in range(4))}
        knowledge.ingest_documents([document("long.md", texts["long.md"])])
        most: dict[tuple[str, str], int] = {}
        for number, step in enumerate(steps):
            if isinstance(step, str):
                knowledge.ingest_documents([document(step, f"The pool is exhausted, version {number}. " * 9)])
                continue
            question, budget, return_n, neighbours = step
            result = knowledge.lookup(question, session="s", return_n=return_n, neighbours=neighbours)
            present = {block.evidence_key: block for block in result.evidence}
            for item in _items_of(result.to_agent(budget)):
                block = present[item["document_id"]]
                name = (block.evidence_key, block.digest)
                if item.get("already_shown"):
                    assert item["content"] == ""
                    assert most[name] > 0
                    assert item["truncated"] is (most[name] < len(block.text))
                else:
                    assert item["content"] == "" or len(item["content"]) > most.get(name, 0)
                    most[name] = max(most.get(name, 0), len(item["content"]))


def _items_of(seen: Mapping[str, Any]) -> list[dict[str, Any]]:
    return list(seen["evidence"])


class BrokenSessions(MemorySessions):
    """Fails to read, to write, or both, as a full disk or a damaged file would."""

    def __init__(self, *failing: str) -> None:
        super().__init__()
        self.failing = failing

    def shown(self, session: str, scope: tuple[str, ...] | None, *, since: float) -> Mapping[str, Shown]:
        if "shown" in self.failing:
            raise StoreUnreachable("sessions.db can't be read", way_out="Check the disk.")
        return super().shown(session, scope, since=since)

    def record(
        self, session: str, scope: tuple[str, ...] | None, shown: Sequence[Shown], *, policy: SessionPolicy
    ) -> None:
        if "record" in self.failing:
            raise StoreUnreachable("there is no space left to write sessions.db", way_out="Free some space.")
        super().record(session, scope, shown, policy=policy)


def looked_up(sessions: BrokenSessions, **arguments: Any) -> LookupResult:  # noqa: ANN401 - any argument of a lookup
    knowledge = Knowledge.open("memory:", settings=HYBRID, embedder=HashEmbedder())
    fill(knowledge)
    knowledge._memory._store = sessions
    return knowledge.lookup(QUESTION, **arguments)


@pytest.mark.requirement("SESSION-1", "PROJ-6")
def test_a_session_that_can_not_be_read_degrades_the_answer_and_loses_nothing() -> None:
    result = looked_up(BrokenSessions("shown"), session="s")
    assert (result.status, result.already_shown) == ("ok", frozenset())
    assert result.degraded == ("session: sessions.db can't be read",)
    assert "-" not in items(result.to_agent()).values()


@pytest.mark.requirement("SESSION-1", "PROJ-6")
def test_what_can_not_be_remembered_is_shown_all_the_same_and_said() -> None:
    result = looked_up(BrokenSessions("record"), session="s")
    assert result.degraded == ()
    seen = result.to_agent()
    assert seen["degraded"] == ["session: there is no space left to write sessions.db"]
    assert items(seen) == items(looked_up(BrokenSessions()).to_agent())


@pytest.mark.requirement("SESSION-1")
def test_without_a_session_no_session_store_is_asked() -> None:
    result = looked_up(BrokenSessions("shown", "record"))
    assert result.degraded == ()
    assert result.to_agent()["degraded"] == []
