"""What holds of the guard for any ids and any prose: the cited one alone counts, and cleaning comes to rest."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.guard import check
from citewell.identity import find_identity, format_key, normalize_id
from citewell.model import KnownChunk

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()), min_size=1, max_size=12)
NASTY = st.text(st.sampled_from("ab#-1chunk[]()`_*\\&;amp\"'.,: \n/【】文"), min_size=1, max_size=12)
NAMES = (ANY_TEXT | NASTY | st.sampled_from(["docA", "docA#chunk-1", "my notes.md", "手册", "`a`"])).filter(
    lambda text: normalize_id(text) is not None
)
CHUNK_KEYS = st.builds(format_key, NAMES, st.integers(0, 120))
VECTOR_KEYS = NAMES.map(lambda name: f"vector:{normalize_id(name)}")
CONTENT_KEYS = st.text("0123456789abcdef", min_size=16, max_size=16).map(lambda digits: f"content:{digits}")


def _is_canonical(key: str) -> bool:
    identity = find_identity(key)
    return identity is not None and identity.evidence_key == key


KEYS = (CHUNK_KEYS | VECTOR_KEYS | CONTENT_KEYS).filter(_is_canonical)
# Words of prose hold no bracket, quotation mark or backtick, so that they can't be part of what is cited.
PROSE = st.lists(
    st.sampled_from(["the", "disk", "is", "slow.", "Restart", "it,", "twice!", "磁盘很慢。", "(maybe)", "42", "docs"]),
    max_size=8,
).map(" ".join)


@pytest.mark.requirement("GUARD-1", "GUARD-2")
@given(st.lists(KEYS, min_size=1, max_size=6, unique=True), st.data())
def test_of_any_shown_ids_the_one_in_brackets_is_shown_and_nothing_else_is_cited(
    keys: list[str], data: st.DataObject
) -> None:
    cited = data.draw(st.sampled_from(keys))
    report = check(f"[{cited}]", keys)
    assert [(c.evidence_key, c.verdict) for c in report.citations] == [(cited, "shown")]
    assert report.in_code == ()
    assert report.ok


@pytest.mark.requirement("GUARD-1")
@given(st.lists(KEYS, min_size=2, max_size=6, unique=True), st.data())
def test_an_id_that_exists_but_was_not_shown_is_not_shown_however_like_the_others_it_is(
    keys: list[str], data: st.DataObject
) -> None:
    cited = data.draw(st.sampled_from(keys))
    known = {key: KnownChunk() for key in keys}
    report = check([cited], [key for key in keys if key != cited], known=known)
    assert [(c.evidence_key, c.verdict) for c in report.citations] == [(cited, "not_shown")]


@pytest.mark.requirement("GUARD-1", "GUARD-2")
@given(st.lists(KEYS, min_size=1, max_size=6, unique=True), PROSE, PROSE, st.data())
def test_prose_before_and_after_changes_no_verdict(
    keys: list[str], before: str, after: str, data: st.DataObject
) -> None:
    cited = data.draw(st.sampled_from(keys))
    shown = data.draw(st.lists(st.sampled_from(keys), unique=True))
    known = {key: KnownChunk() for key in keys}
    alone = check(f"[{cited}]", shown, known=known)
    report = check(f"{before} [{cited}] {after}", shown, known=known)
    assert [(c.raw, c.evidence_key, c.verdict) for c in report.citations] == [
        (c.raw, c.evidence_key, c.verdict) for c in alone.citations
    ]


ORDINARY = st.sampled_from(["docA", "docB", "my notes.md", "a/b.md", "手册", "x#chunk-1"])
SHOWN_KEYS = st.lists(st.builds(format_key, ORDINARY, st.integers(0, 12)), min_size=1, max_size=5, unique=True)
PIECES = st.one_of(
    st.builds(format_key, ORDINARY, st.integers(0, 12)),
    st.sampled_from(
        [
            "[",
            "]",
            "(",
            ")",
            "【",
            "】",
            ",",
            ";",
            "、",
            ".",
            ":",
            "/",
            "-",
            "_",
            "**",
            "`",
            "```",
            "\n",
            "\n\n",
            ">",
            "|",
            "#",
            "\\",
            "“",
            "”",
            '"',
            "[^1]",
            "[^1]:",
            "[1]:",
            "](",
            "see",
            "docA",
            "vector:7",
            "&amp;",
            "<",
            ">",
        ]
    ),
    st.sampled_from([" ", " ", " ", "\n", "The disk is slow"]),
)
ANSWERS = st.lists(PIECES, max_size=25).map("".join)


@pytest.mark.requirement("GUARD-5")
@given(ANSWERS, SHOWN_KEYS)
def test_cleaning_leaves_no_bad_citation_and_comes_to_rest(answer: str, shown: list[str]) -> None:
    report = check(answer, shown)
    again = check(report.cleaned, shown)
    assert again.ok
    assert again.cleaned == report.cleaned
    if report.ok:
        assert report.cleaned == answer


@pytest.mark.requirement("GUARD-1")
@given(ANSWERS, SHOWN_KEYS)
def test_citations_are_in_reading_order_never_overlap_and_stand_where_they_say(answer: str, shown: list[str]) -> None:
    report = check(answer, shown)
    found = sorted((*report.citations, *report.in_code), key=lambda citation: citation.span or (0, 0))
    spans = [citation.span for citation in found if citation.span is not None]
    assert len(spans) == len(found)
    assert [answer[start:end] for start, end in spans] == [citation.raw for citation in found]
    assert all(first[1] <= second[0] for first, second in pairwise(spans))
    ordered = [citation.span for citation in report.citations]
    assert ordered == sorted(ordered, key=lambda span: span or (0, 0))


@pytest.mark.requirement("GUARD-1")
@given(ANSWERS, SHOWN_KEYS, st.randoms(use_true_random=False))
def test_the_order_in_which_things_were_shown_changes_nothing_but_suggestions(
    answer: str, shown: list[str], chance: Random
) -> None:
    other = list(shown)
    chance.shuffle(other)
    verdicts = [[(c.raw, c.evidence_key, c.verdict) for c in check(answer, keys).citations] for keys in (shown, other)]
    assert verdicts[0] == verdicts[1]


@pytest.mark.requirement("GUARD-1")
@given(st.text(max_size=200), SHOWN_KEYS)
def test_any_text_at_all_can_be_checked(answer: str, shown: list[str]) -> None:
    assert check(answer, shown) == check(answer, dict.fromkeys(shown, ""))
    assert check([answer], shown).citations
