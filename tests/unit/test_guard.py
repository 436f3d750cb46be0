"""What the guard says beside a verdict: why, what may have been meant, whether a quote is one, and what is left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from citewell.errors import InvalidRequest
from citewell.guard import DISCLAIMER, check
from citewell.lookup import LookupResult
from citewell.model import Budget, Citation, EvidenceBlock, GuardReport, KnownChunk, Trace

TEXT = (
    "The disk is slow, because fsync takes 40 ms.\nRestart the ｇａｔｅｗａｙ within 5 minutes; never after 15.\n"
    "数据库连接池耗尽时先扩容再重启网关"
)
KNOWN = {
    "docA#chunk-1": KnownChunk("d", TEXT),
    "docA#chunk-2": KnownChunk("d", "Something else."),
    "docA#chunk-10": KnownChunk("d", "Something else."),
    "docB#chunk-0": KnownChunk("d", "Not shown."),
}
SHOWN = {"docA#chunk-10": "d", "docA#chunk-2": "d", "docA#chunk-1": "d"}


def only(report: GuardReport) -> Citation:
    (citation,) = report.citations
    return citation


def detail(answer: str, shown: Any = SHOWN, known: Any = KNOWN) -> str:  # noqa: ANN401 - whatever a caller gives
    return only(check(answer, shown, known=known)).detail


# Details


@pytest.mark.requirement("GUARD-1")
def test_an_ambiguous_citation_lists_the_shown_chunks_of_the_document_in_the_order_of_the_document() -> None:
    assert detail("[docA]") == "it is a document, and was shown in chunks: docA#chunk-1, docA#chunk-2, docA#chunk-10"


@pytest.mark.requirement("GUARD-1")
def test_a_document_of_which_nothing_was_shown_is_ambiguous_too_and_one_that_does_not_exist_no_citation() -> None:
    assert detail("[docB]") == "it is a document, and nothing of it was shown here"
    for answer in ("[docC]", "[sic]", "docB", "(docB)", "[docB](https://example.com)"):
        assert check(answer, SHOWN, known=KNOWN).citations == ()


@pytest.mark.requirement("GUARD-1")
def test_a_document_shown_in_many_chunks_is_listed_in_ten_and_the_rest_counted() -> None:
    shown = [f"docA#chunk-{index}" for index in range(25)]
    assert detail("[docA]", shown, None).endswith("docA#chunk-9 and 15 more")


@pytest.mark.requirement("GUARD-1")
@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("[DOCA#chunk-2]", "docA#chunk-2"),
        ("[docA＃chunk－２]", "docA#chunk-2"),
        ("[docA#chunk-02]", "docA#chunk-2"),
        ("[docA#chunk_2]", "docA#chunk-2"),
        ("[docA#chunk-2.0]", "docA#chunk-2"),
        ("[docA#chunk-3]", "docA#chunk-2"),
        ("[docA#chunk-99]", "docA#chunk-10"),
        ("[docA chunk 2]", "docA#chunk-2"),
        ("[dcoA#chunk-2]", "docA#chunk-2"),
        ("[x](docA%23chunk-77)", "docA#chunk-10"),
        ("docA%23chunk-2", "docA#chunk-2"),
        ("[docA# chunk:2]", "docA#chunk-2"),
        ("[docA#chunks-2]", "docA#chunk-2"),
    ],
)
def test_a_near_miss_is_unknown_and_the_shown_id_that_was_perhaps_meant_is_named(written: str, meant: str) -> None:
    assert detail(written) == f"there is no such evidence; did you mean {meant}?"


@pytest.mark.requirement("GUARD-1")
def test_an_id_with_a_mark_that_is_like_no_other_text_is_told_by_its_document_and_number() -> None:
    assert detail("z# chunks -**2", ["z#chunk-2"], None) == "there is no such evidence; did you mean z#chunk-2?"


@pytest.mark.requirement("GUARD-1")
def test_a_number_beside_an_id_is_unknown_and_names_the_chunk_that_was_perhaps_meant() -> None:
    first, second = check("[docA#chunk-1, 2]", SHOWN, known=KNOWN).citations
    assert (first.verdict, second.verdict, second.raw) == ("shown", "unknown", "2")
    assert second.detail == "there is no such evidence; did you mean docA#chunk-2?"


@pytest.mark.requirement("GUARD-1")
def test_what_is_like_nothing_that_was_shown_gets_no_suggestion() -> None:
    assert detail("[payroll/2031.md#chunk-7]") == "there is no such evidence"


@pytest.mark.requirement("GUARD-1")
def test_an_id_outside_the_scope_reads_to_the_letter_as_one_that_does_not_exist() -> None:
    """`docB#chunk-0` exists for another scope; here neither it nor `docC#chunk-0` does."""
    known = {key: chunk for key, chunk in KNOWN.items() if key != "docB#chunk-0"}
    hidden, invented = (only(check(f"[{key}]", SHOWN, known=known)) for key in ("docB#chunk-0", "docC#chunk-0"))
    assert (hidden.verdict, hidden.evidence_key) == (invented.verdict, invented.evidence_key) == ("unknown", None)
    assert hidden.detail == invented.detail


@pytest.mark.requirement("GUARD-1")
def test_no_suggestion_and_no_list_names_what_was_shown_but_is_out_of_reach_now() -> None:
    known = {"docA#chunk-10": KnownChunk("d", "")}
    assert detail("[docA]", known=known) == "it is a document, and was shown in chunks: docA#chunk-10"
    assert "docA#chunk-2" not in detail("[DOCA#chunk-2]", known=known)
    assert only(check("[docA]", SHOWN, known={})).verdict == "unknown"


@pytest.mark.requirement("GUARD-1")
def test_two_shown_ids_that_read_alike_are_ambiguous_unless_one_is_written_exactly() -> None:
    shown = ["a&amp;b#chunk-1", "a&#38;b#chunk-1"]
    assert only(check("[a&amp;b#chunk-1]", shown)).evidence_key == "a&amp;b#chunk-1"
    assert only(check(r"[a\&b#chunk-1]", shown)).verdict == "ambiguous"


@pytest.mark.requirement("GUARD-1")
def test_a_changed_chunk_is_stale_and_one_whose_old_text_is_not_known_is_not() -> None:
    changed = {"docA#chunk-1": KnownChunk("new", TEXT)}
    assert only(check("[docA#chunk-1]", {"docA#chunk-1": "old"}, known=changed)).verdict == "stale"
    for unsaid in ({"docA#chunk-1": ""}, ["docA#chunk-1"]):
        assert only(check("[docA#chunk-1]", unsaid, known=changed)).verdict == "shown"
    assert (
        only(check("[docA#chunk-1]", {"docA#chunk-1": "old"}, known={"docA#chunk-1": KnownChunk()})).verdict == "shown"
    )


@pytest.mark.requirement("GUARD-1")
def test_a_document_id_that_is_an_address_itself_is_not_cited_by_what_the_address_would_name() -> None:
    shown = ["citewell:///x.md#chunk-0"]
    assert only(check("[citewell:///x.md#chunk-0]", shown)).evidence_key == shown[0]
    assert only(check("[x.md#chunk-0]", shown)).verdict == "unknown"
    assert only(check("[citewell:///x.md%23chunk-0]", [*shown, "x.md#chunk-0"])).evidence_key == "x.md#chunk-0"


# What was shown, and what exists


def block(key: str, text: str, digest: str = "d") -> EvidenceBlock:
    return EvidenceBlock(evidence_key=key, text=text, digest=digest)


def result(*blocks: EvidenceBlock, items: int) -> LookupResult:
    return LookupResult("q", "ok", (), blocks, Trace("dense"), budget=Budget(max_items=items))


@pytest.mark.requirement("GUARD-1")
def test_of_a_lookups_result_that_counts_as_shown_which_its_projection_shows_and_no_more() -> None:
    found = result(block("docA#chunk-1", TEXT), block("docA#chunk-2", "x"), items=1)
    report = check("[docA#chunk-1] [docA#chunk-2]", found, known=KNOWN)
    assert [citation.verdict for citation in report.citations] == ["shown", "not_shown"]
    projected = check("[docA#chunk-1] [docA#chunk-2]", found.to_agent(), known=KNOWN)
    assert [citation.verdict for citation in projected.citations] == ["shown", "not_shown"]


@pytest.mark.requirement("GUARD-1")
def test_to_check_against_a_result_records_nothing_as_shown() -> None:
    recorded: list[object] = []
    found = LookupResult(
        "q", "ok", (), (block("docA#chunk-1", TEXT),), Trace("dense"), on_shown=lambda *shown: recorded.append(shown)
    )
    assert check("[docA#chunk-1]", found).ok
    assert recorded == []


@pytest.mark.requirement("GUARD-1")
@pytest.mark.parametrize("shown", [list(SHOWN), tuple(SHOWN), set(SHOWN), iter(SHOWN), dict.fromkeys(SHOWN, "d")])
def test_what_was_shown_may_be_any_collection_of_keys(shown: Any) -> None:  # noqa: ANN401 - that is the point
    assert check("[docA#chunk-1] [docA#chunk-10]", shown).ok


@pytest.mark.requirement("GUARD-1")
def test_each_key_is_asked_for_once_and_a_function_tells_the_same_as_a_mapping() -> None:
    asked: list[str] = []

    def known(keys: Sequence[str]) -> Mapping[str, KnownChunk]:
        asked.extend(keys)
        return {key: KNOWN[key] for key in keys if key in KNOWN}

    answer = "[docA#chunk-1] [docA#chunk-1] [docB#chunk-0] [docC#chunk-0, docC#chunk-0] see docA#chunk-2 [docA]"
    assert check(answer, SHOWN, known=known) == check(answer, SHOWN, known=KNOWN)
    assert len(asked) == len(set(asked))


@pytest.mark.requirement("GUARD-1")
@pytest.mark.parametrize("known", [["docA#chunk-1", "docB#chunk-0"], {"docA#chunk-1", "docB#chunk-0"}])
def test_what_exists_may_be_a_list_of_keys(known: Any) -> None:  # noqa: ANN401 - that is the point
    report = check("[docA#chunk-1] [docB#chunk-0] [docC#chunk-0]", SHOWN, known=known)
    assert [citation.verdict for citation in report.citations] == ["shown", "not_shown", "unknown"]


@pytest.mark.requirement("GUARD-1")
@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"answer": 7}, "an answer can't be 7"),
        ({"answer": [7]}, "an answer can't hold 7"),
        ({"answer": b"[docA#chunk-1]"}, "an answer can't be b'"),
        ({"shown": "docA#chunk-1"}, "shown can't be 'docA#chunk-1'"),
        ({"shown": ["docA"]}, "'docA' is no evidence key"),
        ({"shown": [7]}, "an entry of shown can't be 7"),
        ({"shown": {"docA#chunk-1": 7}}, "a digest in shown can't be 7"),
        ({"shown": {"evidence": [{"id": 1}]}}, "an item of shown evidence can't be"),
        ({"shown": None}, "shown can't be None"),
        ({"known": 7}, "known can't be 7"),
        ({"known": "docA#chunk-1"}, "known can't be 'docA#chunk-1'"),
        ({"known": ["docA"]}, "'docA' is no evidence key"),
        ({"known": lambda keys: list(keys)}, "what known returned can't be"),
        ({"known": {"docA#chunk-1": "text"}}, "a known chunk can't be 'text'"),
    ],
)
def test_an_argument_that_cannot_be_used_is_named(arguments: dict[str, Any], named: str) -> None:
    given = {"answer": "[docA#chunk-1]", "shown": ["docA#chunk-1"], **arguments}
    with pytest.raises(InvalidRequest) as caught:
        check(given.pop("answer"), given.pop("shown"), **given)
    assert caught.value.message.startswith(named)
    assert caught.value.way_out


# A list of ids


@pytest.mark.requirement("GUARD-1")
def test_a_list_of_ids_is_checked_id_by_id_and_nothing_is_searched_within_one() -> None:
    ids = ["docA#chunk-1", " [docA#chunk-2]. ", "evidence: docA#chunk-10", "docB#chunk-0", "x docA#chunk-1", "docA", ""]
    report = check(ids, SHOWN, known=KNOWN)
    assert [(c.raw, c.verdict) for c in report.citations] == [
        ("docA#chunk-1", "shown"),
        ("docA#chunk-2", "shown"),
        ("docA#chunk-10", "shown"),
        ("docB#chunk-0", "not_shown"),
        ("x docA#chunk-1", "unknown"),
        ("docA", "ambiguous"),
        ("", "unknown"),
    ]
    assert {(c.place, c.span) for c in report.citations} == {("list", None)}
    assert report.cleaned == "docA#chunk-1\ndocA#chunk-2\ndocA#chunk-10"


@pytest.mark.requirement("GUARD-1")
@pytest.mark.parametrize(
    "item", ["- docA#chunk-1", "* docA#chunk-1", "• [docA#chunk-1]", "2. docA#chunk-1", "1) docA#chunk-1\n"]
)
def test_an_id_of_a_list_may_stand_behind_a_bullet_and_is_told_without_it(item: str) -> None:
    citation = only(check([item], SHOWN, known=KNOWN))
    assert (citation.raw, citation.verdict) == ("docA#chunk-1", "shown")


# Quotes


def quoted(answer: str) -> tuple[str, str, float | None] | None:
    quote = only(check(answer, SHOWN, known=KNOWN)).quote
    return None if quote is None else (quote.text, quote.verdict, quote.ratio)


@pytest.mark.requirement("GUARD-3")
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("“The disk is slow” [docA#chunk-1].", "The disk is slow"),
        ('It says "fsync takes 40 ms." (docA#chunk-1)', "fsync takes 40 ms."),
        ("[docA#chunk-1]: “Restart the gateway within 5 minutes”", "Restart the gateway within 5 minutes"),
        ("As docA#chunk-1, “the   disk\u00a0is slow”", None),
        ("「先扩容再重启网关」【docA#chunk-1】", "先扩容再重启网关"),
        ("『数据库连接池耗尽时』（docA#chunk-1）", "数据库连接池耗尽时"),
        ("«because fsync takes 40 ms» [docA#chunk-1]", "because fsync takes 40 ms"),
        (
            "> The disk is slow,\n> because fsync takes 40 ms.\n\n[docA#chunk-1]",
            "The disk is slow,\nbecause fsync takes 40 ms.",
        ),
        (
            "> The disk is slow, because fsync takes 40 ms. — [docA#chunk-1]",
            "The disk is slow, because fsync takes 40 ms.",
        ),
        ("[docA#chunk-1]:\n\n> never after 15.\n\nSo hurry.", "never after 15."),
        ("“The disk is slow … within 5 minutes” [docA#chunk-1]", "The disk is slow … within 5 minutes"),
        ("“The disk is slow”[^1]\n\n[^1]: docA#chunk-1", "The disk is slow"),
        ("“The disk is slow” ([runbook](docA#chunk-1))", "The disk is slow"),
        ("[“The disk is slow”](docA#chunk-1)", "The disk is slow"),
        ('[**"The disk is slow"**](docA#chunk-1)', "The disk is slow"),
        ('| "The disk is slow" | docA#chunk-1 |', "The disk is slow"),
        ('| docA#chunk-1 | "The disk is slow" | yes |', "The disk is slow"),
        ("“The disk is slow” (see [docA#chunk-1])", "The disk is slow"),
        ("“The disk is slow”, according to docA#chunk-1.", "The disk is slow"),
        ("“先扩容再重启网关”，详见docA#chunk-1", "先扩容再重启网关"),
        ("docA#chunk-1 says: “The disk is slow”", "The disk is slow"),
        ("[docA#chunk-1]指出，“先扩容再重启网关”", "先扩容再重启网关"),
    ],
)
def test_words_quoted_beside_a_citation_that_its_chunk_says_are_exact(answer: str, words: str | None) -> None:
    found = quoted(answer)
    if words is None:
        assert found is not None
        assert found[1] == "near"  # but for a capital letter
    else:
        assert found == (words, "exact", 1.0)


@pytest.mark.requirement("GUARD-3")
def test_a_quote_that_changes_a_word_is_near_and_the_ratio_is_said() -> None:
    found = quoted("“The disk is so slow, because fsync takes 40 ms” [docA#chunk-1]")
    assert found is not None
    assert found[1] == "near"
    assert found[2] is not None
    assert 0.9 <= found[2] < 1
    assert (
        "the quote is near what it says"
        in only(check("“The disk is so slow, because fsync takes 40 ms” [docA#chunk-1]", SHOWN, known=KNOWN)).detail
    )


@pytest.mark.requirement("GUARD-3")
@pytest.mark.parametrize(
    "words",
    [
        "The network is slow, because nobody paid",
        "Restart the gateway within 6 minutes",
        "Restart the gateway within 15 minutes",
        "5 ms",
        "0 ms",
        "5 minutes … The disk is slow",
        "sk",
        "Do not restart the gateway within 5 minutes",
        "Restart the gateway never within 5 minutes",
        "数据库连接池耗尽时先扩容不再重启网关",
        "fsync takes -40 ms. Restart the gateway",
        "The disk is slow, because " * 200,
    ],
)
def test_a_quote_that_says_something_else_or_another_number_is_not_found(words: str) -> None:
    report = check(f"“{words}” [docA#chunk-1]", SHOWN, known=KNOWN)
    citation = only(report)
    assert citation.quote is not None
    expected = "near" if words.startswith("5 minutes") else "not_found"
    assert citation.quote.verdict == expected
    assert citation.verdict == "shown"
    assert report.ok


@pytest.mark.requirement("GUARD-3")
def test_a_quote_belongs_to_the_citation_that_it_stands_beside_and_to_no_other() -> None:
    answer = "“The disk is slow” [docA#chunk-1] “Something else” [docA#chunk-2] and [docA#chunk-10] too"
    report = check(answer, SHOWN, known=KNOWN)
    quotes = [citation.quote.text if citation.quote else None for citation in report.citations]
    assert quotes == ["The disk is slow", "Something else", None]


@pytest.mark.requirement("GUARD-3")
def test_a_quote_before_a_citation_is_not_that_of_the_one_before_it() -> None:
    for between in (" “Something else” ", "\n| “Something else” | ", ", “Something else”, see "):
        first, second = check(f"[docA#chunk-1]{between}[docA#chunk-2]", SHOWN, known=KNOWN).citations
        assert first.quote is None
        assert second.quote is not None
        assert second.quote.verdict == "exact"


@pytest.mark.requirement("GUARD-3")
def test_an_id_in_quotation_marks_is_no_quote_in_a_link_either() -> None:
    report = check("[“docA#chunk-1”](docA#chunk-1) and [the “leader”](docA#chunk-2)", SHOWN, known=KNOWN)
    assert [citation.quote for citation in report.citations] == [None, None, None]


@pytest.mark.requirement("GUARD-3")
def test_links_side_by_side_have_their_own_words() -> None:
    report = check("[“The disk is slow”](docA#chunk-1) [“Something else”](docA#chunk-2)", SHOWN, known=KNOWN)
    assert [citation.quote.verdict for citation in report.citations if citation.quote] == ["exact", "exact"]


@pytest.mark.requirement("GUARD-3", "GUARD-5")
def test_a_quote_is_checked_however_long_it_is() -> None:
    said = "The disk is slow because of fsync. " * 300
    known = {"docA#chunk-1": KnownChunk("d", said)}
    typo, other = said.replace("fsync", "fsinc"), said.replace("slow because of fsync", "fast for no reason")
    for words, verdict in ((said, "exact"), (typo, "near"), (other, "not_found")):
        for answer in (f"“{words}” [docA#chunk-1]", f"[docA#chunk-1]: “{words}”", f"> {words}\n\n[docA#chunk-1]"):
            report = check(answer, ["docA#chunk-1"], known=known, strict=True)
            assert [each.quote.verdict for each in report.citations if each.quote] == [verdict]
            assert report.ok == (verdict != "not_found")


@pytest.mark.requirement("GUARD-3")
def test_a_near_quote_keeps_the_sign_of_a_number_however_it_is_written() -> None:
    known = {"docA#chunk-1": KnownChunk("d", "At \u22125 degrees the sensor stops, and at 12-14 it starts.")}
    found = [
        only(check(f"“at {sign}5 degrees the sensor stops” [docA#chunk-1]", ["docA#chunk-1"], known=known)).quote
        for sign in ("-", "\u2212", "")
    ]
    assert [quote.verdict for quote in found if quote] == ["near", "near", "not_found"]
    between = "“the sensor stops, and at 12 - 14 it starts” [docA#chunk-1]"  # a dash between numbers is no sign
    quote = only(check(between, ["docA#chunk-1"], known=known)).quote
    assert quote is not None
    assert quote.verdict == "near"


@pytest.mark.requirement("GUARD-3")
def test_citations_side_by_side_share_the_quote_and_each_is_checked() -> None:
    report = check("“The disk is slow” [docA#chunk-1][docA#chunk-2]", SHOWN, known=KNOWN)
    assert [citation.quote.verdict for citation in report.citations if citation.quote] == ["exact", "not_found"]


@pytest.mark.requirement("GUARD-3")
def test_words_in_quotation_marks_elsewhere_are_no_quote() -> None:
    for answer in (
        "The “leader” is slow [docA#chunk-1]",
        "“Hurry”, he said.\n\n[docA#chunk-1]\n\nThen “rest”.",
        '{"id": "docA#chunk-1"}',
        "See [docA#chunk-1] for the rest of “it”.",
    ):
        assert quoted(answer) is None


@pytest.mark.requirement("GUARD-3")
def test_a_quote_of_a_chunk_whose_text_is_not_known_is_unchecked() -> None:
    citation = only(check("“The disk is slow” [docA#chunk-1]", SHOWN))
    assert citation.quote is not None
    assert (citation.quote.verdict, citation.quote.ratio) == ("unchecked", None)


# Strict, and the disclaimer


@pytest.mark.requirement("GUARD-5")
def test_one_bad_citation_fails_an_answer_and_strict_mode_hands_nothing_back() -> None:
    answer = "Slow [docA#chunk-1]. Full [docB#chunk-0]."
    lenient, strict = check(answer, SHOWN, known=KNOWN), check(answer, SHOWN, known=KNOWN, strict=True)
    assert (lenient.ok, lenient.cleaned) == (False, "Slow [docA#chunk-1]. Full.")
    assert (strict.ok, strict.cleaned) == (False, "")
    assert lenient.citations == strict.citations


@pytest.mark.requirement("GUARD-3", "GUARD-5")
def test_a_false_quote_fails_an_answer_in_strict_mode_alone() -> None:
    answer = "“The disk is fast” [docA#chunk-1]"
    assert check(answer, SHOWN, known=KNOWN).ok
    assert not check(answer, SHOWN, known=KNOWN, strict=True).ok
    assert check("“The disk is slow” [docA#chunk-1]", SHOWN, known=KNOWN, strict=True).ok


@pytest.mark.requirement("GUARD-4")
def test_a_true_id_beside_a_false_claim_passes_and_the_report_says_that_the_claim_was_not_checked() -> None:
    report = check("The disk is fast [docA#chunk-1].", SHOWN, known=KNOWN)
    assert report.ok
    assert report.disclaimer == DISCLAIMER
    assert "Not checked is that what the answer claims follows from the evidence" in report.disclaimer


@pytest.mark.requirement("GUARD-1")
def test_the_report_as_json_values_has_every_field() -> None:
    report = check("“x” [docA#chunk-1] `docB#chunk-0`", SHOWN, known=KNOWN)
    found = report.to_dict()
    assert list(found) == ["ok", "citations", "in_code", "cleaned", "disclaimer", "strict"]
    assert found["citations"] == [
        {
            "raw": "docA#chunk-1",
            "evidence_key": "docA#chunk-1",
            "verdict": "shown",
            "detail": "it doesn't say what is quoted",
            "place": "text",
            "span": [5, 17],
            "quote": {"text": "x", "verdict": "not_found", "ratio": 0.0},
        }
    ]


# Cleaning


@pytest.mark.requirement("GUARD-5")
@pytest.mark.parametrize(
    ("answer", "cleaned"),
    [
        ("The disk is slow [docA#chunk-9].", "The disk is slow."),
        ("The disk is slow (docA#chunk-9), and full.", "The disk is slow, and full."),
        ("Slow [docA#chunk-1, docA#chunk-9].", "Slow [docA#chunk-1]."),
        ("Slow [docA#chunk-9, docA#chunk-1].", "Slow [docA#chunk-1]."),
        ("Slow [docA#chunk-9; docB#chunk-9].", "Slow."),
        ("Slow [evidence: docA#chunk-9].", "Slow."),
        ("Slow (see also docA#chunk-9).", "Slow."),
        ("Slow ([docA#chunk-9]).", "Slow."),
        ("Slow **[docA#chunk-9]**!", "Slow!"),
        ("Slow [`docA#chunk-9`].", "Slow."),
        ("Slow [docA#chunk-1 and docA#chunk-9].", "Slow [docA#chunk-1]."),
        ("磁盘很慢【docA#chunk-9】。", "磁盘很慢。"),
        ("磁盘【docA#chunk-1、docA#chunk-9】很慢", "磁盘【docA#chunk-1】很慢"),
        ("- docA#chunk-9\n- docA#chunk-1\n", "- docA#chunk-1\n"),
        ("Slow.\n\nSource: docA#chunk-9\n", "Slow.\n\n"),
        ("| disk | docA#chunk-9 |\n", "| disk | |\n"),
        ("See [the runbook](docA#chunk-9) now.", "See the runbook now."),
        ("See ![a chart](docA#chunk-9) now.", "See a chart now."),
        ("See [the runbook][r] now.\n\n[r]: docA#chunk-9\n", "See the runbook now.\n\n"),
        ("Slow.[^1] Full.[^2]\n\n[^1]: docA#chunk-9\n[^2]: docA#chunk-1\n", "Slow. Full.[^2]\n\n[^2]: docA#chunk-1\n"),
        ("Slow.[^1]\n\n[^1]: The team says so; docA#chunk-9.\n", "Slow.[^1]\n\n[^1]: The team says so.\n"),
        ("Slow [1]. Full [2].\n\n[1] docA#chunk-9\n[2] docA#chunk-1\n", "Slow. Full [2].\n\n[2] docA#chunk-1\n"),
        ("Call f() and g( ) [docA#chunk-9], twice  .", "Call f() and g( ), twice  ."),
        ("```\ndocA#chunk-9\n```\nSlow [docA#chunk-9].", "```\ndocA#chunk-9\n```\nSlow."),
        ("[docA] Slow.", "Slow."),
        ("a docA#chunk-[docB#chunk-9]1 b", "a docA#chunk-1 b"),
        ("See docA#chunk-9 and docA#chunk-1.", "See docA#chunk-1."),
        ("磁盘【docA#chunk-9和docA#chunk-1】很慢", "磁盘【docA#chunk-1】很慢"),
        ("docA#chunk-9: the disk", "the disk"),
        ("See [docA#chunk-9] and [docA#chunk-1].", "See [docA#chunk-1]."),
        ("See [docA#chunk-1] and **docA#chunk-9**.", "See [docA#chunk-1]."),
        ("[docA#chunk-1] and docA#chunk-9 and [docA#chunk-2]", "[docA#chunk-1] and [docA#chunk-2]"),
        ("[docA#chunk-9] and docA#chunk-8", ""),
        ("The disk [docA#chunk-9] and (so) the net.", "The disk and (so) the net."),
        ("See [docA#chunk-9](https://example.com/page) now.", "See now."),
        ("See [docA#chunk-9](docA#chunk-1) now.", "See (docA#chunk-1) now."),
        ("See [docA#chunk-1](docA#chunk-9) now.", "See [docA#chunk-1] now."),
        ("Slow [docA#chunk-1, 9].", "Slow [docA#chunk-1]."),
        ("Slow [docA#chunk-1, 8 and 9].", "Slow [docA#chunk-1]."),
        ("Slow [docA#chunk-9, 8].", "Slow."),
        ("Slow [docA#chunk-1 - 9].", "Slow [docA#chunk-1]."),
        ("磁盘【docA#chunk-1和9】很慢", "磁盘【docA#chunk-1】很慢"),
        ("Slow [^docA#chunk-9].", "Slow."),
        ("Slow <citewell:///docA%23chunk-9>.", "Slow."),
        ("Slow [docB].", "Slow."),
    ],
)
def test_bad_citations_go_with_what_would_be_left_empty_and_nothing_else_changes(answer: str, cleaned: str) -> None:
    assert check(answer, SHOWN, known=KNOWN).cleaned == cleaned


@pytest.mark.requirement("GUARD-5")
def test_what_becomes_an_id_when_another_goes_is_checked_too() -> None:
    report = check("a docA#chunk-[docB#chunk-9]7 b", SHOWN, known=KNOWN)
    assert report.cleaned == "a b"


@pytest.mark.requirement("GUARD-1", "L0-2")
def test_a_hint_of_a_projection_is_nothing_that_was_shown() -> None:
    seen = {
        "evidence": [{"document_id": "a.md#chunk-0"}],
        "hints": [{"kind": "document", "value": "h.md", "title": "H", "why": "title"}],
    }
    report = check("[a.md#chunk-0] [h.md#chunk-0]", seen, known=["a.md#chunk-0", "h.md#chunk-0"])
    assert [citation.verdict for citation in report.citations] == ["shown", "not_shown"]
