"""An answer checked against a store: what a session was shown, within a scope, in the state of now."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from citewell import Document, Knowledge, Settings
from citewell.errors import InvalidRequest, ScopeDenied
from citewell.model import Budget, GuardReport
from citewell.testing.fakes import HashEmbedder

HYBRID = {"retrieval.search.mode": "hybrid"}
ALPHA = (
    "# Keys\n\nRotate the signing key.\n\n## Then\n\n"
    + "Tell the team at once. " * 60
    + "\n\n## Last\n\nRevoke the old key."
)


@pytest.fixture(params=["local", "memory"])
def knowledge(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Knowledge]:
    location = tmp_path / "kb" if request.param == "local" else "memory:"
    with Knowledge.open(location, settings=Settings.of(HYBRID), embedder=HashEmbedder()) as opened:
        opened.ingest_documents(
            [
                Document("alpha", ALPHA, scope="t1"),
                Document("beta", "# Pay\n\nThe signing bonus.", scope=["t1", "t2"]),
                Document("secret", "# Signing\n\nNobody knows.", scope="t3"),
            ]
        )
        yield opened


def verdicts(report: GuardReport) -> dict[str, str]:
    return {citation.raw: citation.verdict for citation in report.citations}


@pytest.mark.requirement("GUARD-1")
def test_what_to_agent_showed_a_session_is_shown_and_what_was_only_found_is_not(knowledge: Knowledge) -> None:
    found = knowledge.lookup("signing key", session="s", scope="t1", return_n=5)
    keys = [block.evidence_key for block in found.evidence]
    assert len(keys) >= 2
    answer = " ".join(f"[{key}]" for key in keys)
    before = knowledge.check(answer, session="s", scope="t1")
    assert set(verdicts(before).values()) == {"not_shown"}
    found.to_agent(Budget(max_items=1))
    after = knowledge.check(answer, session="s", scope="t1")
    assert verdicts(after) == {keys[0]: "shown", **dict.fromkeys(keys[1:], "not_shown")}


@pytest.mark.requirement("GUARD-1", "GUARD-2")
def test_an_invented_chunk_is_rejected_and_the_shown_one_accepted_and_in_another_session_neither(
    knowledge: Knowledge,
) -> None:
    knowledge.lookup("rotate the signing key", session="s", scope="t1").to_agent()
    answer = "Rotate it [alpha#chunk-99], as [alpha#chunk-0] says."
    report = knowledge.check(answer, session="s", scope="t1")
    assert verdicts(report) == {"alpha#chunk-99": "unknown", "alpha#chunk-0": "shown"}
    assert report.cleaned == "Rotate it, as [alpha#chunk-0] says."
    other = knowledge.check(answer, session="other", scope="t1")
    assert verdicts(other) == {"alpha#chunk-99": "unknown", "alpha#chunk-0": "not_shown"}


@pytest.mark.requirement("GUARD-1", "SAFE-1", "SESSION-2")
def test_outside_the_scope_an_id_reads_as_one_that_does_not_exist_whoever_was_shown_it(knowledge: Knowledge) -> None:
    knowledge.lookup("signing", session="s", scope="t1").to_agent()
    result = knowledge.lookup("signing", scope="t1")
    for report in (
        knowledge.check("[alpha#chunk-0] [secret#chunk-0] [nothing#chunk-0]", session="s", scope="t2"),
        knowledge.check("[alpha#chunk-0] [secret#chunk-0] [nothing#chunk-0]", shown=result, scope="t2"),
    ):
        assert {citation.verdict for citation in report.citations} == {"unknown"}
        assert {citation.evidence_key for citation in report.citations} == {None}
    details = {
        citation.detail
        for citation in knowledge.check("[secret#chunk-0] [nothing#chunk-0]", shown=[], scope="t2").citations
    }
    assert details == {"there is no such evidence"}
    assert knowledge.check("[alpha#chunk-0]", session="s", scope=[]).citations[0].verdict == "unknown"


@pytest.mark.requirement("GUARD-1")
def test_a_text_that_changed_since_it_was_shown_is_stale_and_one_that_is_gone_unknown(knowledge: Knowledge) -> None:
    result = knowledge.lookup("signing", session="s", scope="t1")
    result.to_agent()
    knowledge.ingest_documents([Document("alpha", "# Keys\n\nRotate no key.", scope="t1")])
    knowledge.delete("beta")
    for report in (
        knowledge.check("[alpha#chunk-0] [beta#chunk-0]", session="s", scope="t1"),
        knowledge.check("[alpha#chunk-0] [beta#chunk-0]", shown=result, scope="t1"),
    ):
        assert verdicts(report) == {"alpha#chunk-0": "stale", "beta#chunk-0": "unknown"}
    result = knowledge.lookup("rotate no key", session="s", scope="t1")
    result.to_agent()
    assert knowledge.check("[alpha#chunk-0]", session="s", scope="t1").ok


@pytest.mark.requirement("GUARD-3")
def test_quotes_are_checked_against_the_stored_text(knowledge: Knowledge) -> None:
    knowledge.lookup("signing", session="s", scope="t1").to_agent()
    report = knowledge.check(
        "“Rotate the signing key.” [alpha#chunk-0] “Sell the signing key.” [alpha#chunk-0]", session="s", scope="t1"
    )
    assert [citation.quote.verdict for citation in report.citations if citation.quote] == ["exact", "not_found"]


@pytest.mark.requirement("GUARD-1", "API-1")
def test_a_list_of_ids_a_list_of_shown_keys_and_a_projection_will_do(knowledge: Knowledge) -> None:
    result = knowledge.lookup("signing bonus", scope="t2")
    assert knowledge.check(["beta#chunk-0"], shown=result, scope="t2").ok
    assert knowledge.check("[beta#chunk-0]", shown=result.to_agent(), scope="t2").ok
    assert knowledge.check("[beta#chunk-0]", shown=["beta#chunk-0"], scope="t2").ok
    assert not knowledge.check("[beta#chunk-0]", shown=[], scope="t2").ok


@pytest.mark.requirement("GUARD-5", "API-1")
def test_strict_mode_fails_the_whole_answer(knowledge: Knowledge) -> None:
    report = knowledge.check("[beta#chunk-0] [beta#chunk-7]", shown=["beta#chunk-0"], strict=True)
    assert (report.ok, report.cleaned, report.strict) == (False, "", True)


@pytest.mark.requirement("API-1", "GUARD-1")
def test_a_check_needs_a_session_or_what_was_shown_and_not_both(knowledge: Knowledge) -> None:
    with pytest.raises(InvalidRequest, match="neither a session nor what was shown"):
        knowledge.check("[beta#chunk-0]")
    with pytest.raises(InvalidRequest, match="neither a session nor what was shown"):
        knowledge.check("[beta#chunk-0]", session="  ")
    with pytest.raises(InvalidRequest, match="both a session and what was shown"):
        knowledge.check("[beta#chunk-0]", session="s", shown=[])
    with pytest.raises(InvalidRequest, match="a session id can't be"):
        knowledge.check("[beta#chunk-0]", session="\x00")


@pytest.mark.requirement("SAFE-3")
def test_a_store_that_demands_a_scope_checks_nothing_without_one() -> None:
    settings = Settings.of({**HYBRID, "store.require-scope": True})
    with (
        Knowledge.open("memory:", settings=settings, embedder=HashEmbedder()) as knowledge,
        pytest.raises(ScopeDenied),
    ):
        knowledge.check("[beta#chunk-0]", shown=[])


@pytest.mark.requirement("GUARD-1", "SESSION-2")
def test_what_a_session_was_shown_is_still_known_when_the_store_is_opened_again(tmp_path: Path) -> None:
    for attempt in range(2):
        with Knowledge.open(tmp_path / "kb", settings=Settings.of(HYBRID), embedder=HashEmbedder()) as knowledge:
            if not attempt:
                knowledge.ingest_documents([Document("alpha", ALPHA)])
                knowledge.lookup("signing key", session="s").to_agent()
            assert knowledge.check("[alpha#chunk-0]", session="s").ok


@pytest.mark.requirement("GUARD-1", "L0-2")
def test_a_document_that_was_only_hinted_at_cannot_be_cited_and_outside_the_scope_it_reads_as_a_word(
    knowledge: Knowledge,
) -> None:
    found = knowledge.lookup("rotate the signing key", session="s", scope="t1", return_n=1)
    found.to_agent()
    assert {hint.value for hint in found.hints} >= {"beta"}
    key = found.evidence[0].evidence_key
    answer = f"Rotate it [{key}]. Pay it [beta], say it [secret], see it [nothing]."
    report = knowledge.check(answer, session="s", scope="t1")
    assert verdicts(report) == {key: "shown", "beta": "ambiguous"}
    assert not report.ok
    assert report.cleaned == f"Rotate it [{key}]. Pay it, say it [secret], see it [nothing]."
    assert verdicts(knowledge.check(["secret", "nothing", "beta"], session="s", scope="t1")) == {
        "secret": "unknown",
        "nothing": "unknown",
        "beta": "ambiguous",
    }
