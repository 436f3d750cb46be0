"""The guard against a table of answers: every citation, in order, as written, with its verdict and its key.

Guards that know less than ours must fail on many rows, so that no row is right by luck.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from guard_answers import KNOWN, ROWS, SHOWN, Cited

from citewell.guard import check
from citewell.model import Citation

Guard = Callable[[str], list[Cited]]


def _cited(citations: tuple[Citation, ...]) -> tuple[Cited, ...]:
    return tuple(Cited(citation.raw, citation.verdict, citation.evidence_key) for citation in citations)


@pytest.mark.requirement("GUARD-1", "GUARD-2")
@pytest.mark.parametrize("name", ROWS)
def test_every_citation_of_an_answer_gets_its_verdict(name: str) -> None:
    row = ROWS[name]
    report = check(row.answer, SHOWN, known=KNOWN)
    assert _cited(report.citations) == row.cited
    assert _cited(report.in_code) == row.in_code
    assert report.ok == all(cited.verdict == "shown" for cited in row.cited)


@pytest.mark.requirement("GUARD-1")
@pytest.mark.parametrize("name", ROWS)
def test_what_is_reported_stands_where_the_report_says(name: str) -> None:
    answer = ROWS[name].answer
    report = check(answer, SHOWN, known=KNOWN)
    for citation in (*report.citations, *report.in_code):
        assert citation.span is not None
        assert answer[slice(*citation.span)] == citation.raw


@pytest.mark.requirement("GUARD-5")
@pytest.mark.parametrize("name", ROWS)
def test_the_cleaned_answer_keeps_the_good_citations_and_has_no_bad_one(name: str) -> None:
    row = ROWS[name]
    report = check(row.answer, SHOWN, known=KNOWN)
    again = check(report.cleaned, SHOWN, known=KNOWN)
    assert again.ok
    assert again.cleaned == report.cleaned
    good = [cited.raw for cited in row.cited if cited.verdict == "shown"]
    assert [citation.raw for citation in again.citations] == good
    if report.ok:
        assert report.cleaned == row.answer


@pytest.mark.requirement("GUARD-1")
@pytest.mark.parametrize("verdict", ["not_shown", "stale", "unknown"])
def test_without_knowing_what_exists_only_what_was_shown_is_known(verdict: str) -> None:
    rows = [row for row in ROWS.values() if row.cited and all(cited.verdict == verdict for cited in row.cited)]
    assert rows
    expected = {"not_shown": {"unknown"}, "unknown": {"unknown", "shown"}, "stale": {"shown"}}[verdict]
    for row in rows:
        report = check(row.answer, SHOWN)
        assert {citation.verdict for citation in report.citations} <= expected


def _constant(verdict: str) -> Guard:
    def guard(answer: str) -> list[Cited]:
        """Ours, but for the verdict."""
        found = check(answer, SHOWN, known=KNOWN).citations
        return [Cited(citation.raw, verdict, citation.raw) for citation in found]

    return guard


def _substring(answer: str) -> list[Cited]:
    """Whatever shown key is somewhere in the answer is shown."""
    return [Cited(key, "shown", key) for key in SHOWN if key in answer]


def _brackets(answer: str) -> list[Cited]:
    """Whatever stands in square brackets is compared as a whole."""
    found = re.findall(r"\[([^\[\]]+)\]", answer)
    return [Cited(raw, "shown" if raw in SHOWN else "unknown", raw if raw in SHOWN else None) for raw in found]


def _pattern(answer: str) -> list[Cited]:
    """What most guards do: a pattern for words with a mark, compared with what was shown and what exists."""
    found = re.findall(r"[\w./-]+#chunk-\d+", answer)
    return [
        Cited(
            raw, "shown" if raw in SHOWN else "not_shown" if raw in KNOWN else "unknown", raw if raw in KNOWN else None
        )
        for raw in found
    ]


NAIVE: dict[str, tuple[Guard, int]] = {
    "always shown": (_constant("shown"), 40),
    "always unknown": (_constant("unknown"), 90),
    "always not shown": (_constant("not_shown"), 90),
    "always ambiguous": (_constant("ambiguous"), 90),
    "always stale": (_constant("stale"), 90),
    "substring search": (_substring, 60),
    "whole brackets": (_brackets, 70),
    "a pattern": (_pattern, 50),
}


@pytest.mark.requirement("GUARD-2")
@pytest.mark.parametrize("name", NAIVE)
def test_no_row_is_right_by_luck_for_guards_that_know_less_fail_on_many(name: str) -> None:
    guard, least = NAIVE[name]
    wrong = [row for row in ROWS.values() if tuple(guard(row.answer)) != row.cited]
    assert len(wrong) >= least


def test_the_table_has_at_least_eighty_answers_of_every_verdict() -> None:
    assert len(ROWS) >= 80
    assert len({row.answer for row in ROWS.values()}) == len(ROWS)
    verdicts = [cited.verdict for row in ROWS.values() for cited in row.cited]
    assert {verdict: verdicts.count(verdict) >= 1 for verdict in set(verdicts)} == dict.fromkeys(
        ("shown", "not_shown", "unknown", "ambiguous", "stale"), True
    )
