"""What holds of a projection whatever the texts and the budgets are (PROJ-4, PROJ-5), and of the token bound."""

from __future__ import annotations

from typing import Any

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from citewell.model import Budget, EvidenceBlock, LookupOutcome, Trace
from citewell.projection import project, token_bound
from citewell.projection.cuts import grapheme_ends
from citewell.projection.tokens import _cost, _Costs, bound_fitting

SCRAPS = st.sampled_from(
    ["👩‍👩‍👧", "🇨🇭", "👍🏽", "❤️", "e\u0301", "数据库", "连接池耗尽。", "重启网关", "각", "\u1112\u1161\u11ab", "नि",
     "\ufffd", "word ", "KB-4471 ", "end. ", "\r\n", "\n", " ", "x" * 40, "\u0301" * 5]
)  # fmt: skip
TEXTS = st.lists(st.one_of(SCRAPS, st.text(max_size=5)), max_size=40).map("".join)
LIMITS = st.one_of(st.none(), st.integers(0, 200))
BUDGETS = st.builds(Budget, st.one_of(st.none(), st.integers(0, 5)), LIMITS, LIMITS, LIMITS)
BLOCKS = st.lists(
    st.builds(
        lambda key, text, role: EvidenceBlock(evidence_key=f"d#chunk-{key}", text=text, role=role),
        st.integers(0, 5),
        TEXTS,
        st.sampled_from(["hit", "hit", "neighbour"]),
    ),
    max_size=6,
)


def projected(blocks: list[EvidenceBlock], budget: Budget, **options: Any) -> dict[str, Any]:  # noqa: ANN401
    return project(LookupOutcome("q", "ok", (), tuple(blocks), Trace(mode="hybrid")), budget, **options)


@pytest.mark.requirement("PROJ-4")
@given(BLOCKS, BUDGETS)
def test_no_limit_is_ever_exceeded(blocks: list[EvidenceBlock], budget: Budget) -> None:
    """Trials I120, I122, I123: budgets 0 to 200."""
    contents = [item["content"] for item in projected(blocks, budget)["evidence"]]
    unlimited = 10**9
    assert len(contents) <= max(1, unlimited if budget.max_items is None else budget.max_items)
    assert max(map(len, contents), default=0) <= (
        unlimited if budget.max_chars_per_item is None else budget.max_chars_per_item
    )
    assert sum(map(len, contents)) <= (unlimited if budget.max_chars is None else budget.max_chars)
    assert sum(map(token_bound, contents)) <= (unlimited if budget.max_tokens is None else budget.max_tokens)


@pytest.mark.requirement("PROJ-4")
@given(BLOCKS, BUDGETS)
def test_content_is_a_beginning_of_the_text_cut_between_graphemes(blocks: list[EvidenceBlock], budget: Budget) -> None:
    """Trial I120: no half of a character, and nothing added."""
    texts: dict[str, str] = {}
    for block in blocks:
        texts.setdefault(block.evidence_key, block.text)
    for item in projected(blocks, budget)["evidence"]:
        text, content = texts[item["document_id"]], item["content"]
        assert text.startswith(content)
        assert item["truncated"] is (content != text)
        assert regex.findall(r"\X", text)[: len(regex.findall(r"\X", content))] == regex.findall(r"\X", content)
        content.encode("utf-8")


@pytest.mark.requirement("PROJ-1", "PROJ-4", "PROJ-5")
@given(BLOCKS, BUDGETS)
def test_every_key_is_either_shown_or_named_once_and_one_is_always_shown(
    blocks: list[EvidenceBlock], budget: Budget
) -> None:
    projection = projected(blocks, budget)
    shown = [item["document_id"] for item in projection["evidence"]]
    omitted = [entry["document_id"] for entry in projection["omitted"]]
    keys = list(dict.fromkeys(block.evidence_key for block in blocks))
    assert sorted(shown + omitted) == sorted(keys)
    assert [key for key in keys if key in shown] == shown
    assert projection["omitted_count"] == len(omitted)
    assert bool(shown) is bool(keys)


@pytest.mark.requirement("PROJ-4")
@given(TEXTS, st.integers(0, 200))
def test_a_single_text_gets_at_least_two_thirds_of_the_clusters_that_fit(text: str, chars: int) -> None:
    block = EvidenceBlock(evidence_key="d#chunk-0", text=text)
    (item,) = projected([block], Budget(None, None, chars, None))["evidence"]
    fitting = 0
    for cluster in regex.finditer(r"\X", text):
        if cluster.end() <= chars:
            fitting = cluster.end()
    assert len(item["content"]) >= fitting - fitting // 3
    if len(text) <= chars:
        assert item["content"] == text


@pytest.mark.requirement("CONTEXT-1", "PROJ-4")
@given(BLOCKS, BUDGETS)
def test_neighbours_take_nothing_from_hits(blocks: list[EvidenceBlock], budget: Budget) -> None:
    unique = list({block.evidence_key: block for block in reversed(blocks)}.values())[::-1]
    hits = [block for block in unique if block.role == "hit"]
    alone = projected(hits, budget)["evidence"]
    together = [item for item in projected(unique, budget)["evidence"] if "role" not in item]
    if hits:
        assert together == alone


@pytest.mark.requirement("PROJ-4")
@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("one two", 3),  # 1 + 1/4 + 1, rounded up
        ("Kubernetes", 4),  # ten letters: (2 * 10 - 6) / 4 = 3.5
        ("etcd", 2),  # four letters: 5/4
        ("ERRORS", 4),  # 6 * 5/8 = 3.75
        ("4471", 4),  # a digit each
        ("KB-4471", 7),  # 5/4 + 1 + 4
        ("max_conn", 4),  # 1 + 1 + 5/4
        ("x" * 31, 14),  # 56/4: still a word
        ("x" * 32, 32),  # now a blob
        ("eyJhbGciOiJIUzI1", 16),  # sixteen with digits and capitals, and no lower-case word: encoded
        ("eyJhbGciOiJIUzI", 8),  # fifteen are words and capitals: ey Jhb Gci Oi z I are 1 each, JIU 2
        ("a-B_9" * 4, 20),
        ("7f9c-2ba4-e88f-48", 16),  # no capital: pieces of 1 each, ba together
        ("persistentVolume1", 7),  # words of ten and six, and a digit: 14/4 + 7/4 + 1 = 6.25
        ("node 12", 5),  # 5/4 + 2 + 1 = 4.25
        ("    ", 2),  # 6/4
        ("\n\n", 2),
        ("é", 2),  # 6/4
        ("ЖЖЖЖ", 3),
        ("αβγδ", 5),
        ("数据库连接池", 9),
        ("数据库，连接。", 11),  # 7 * 3/2 = 10.5
        ("ひらカナ각", 8),  # 5 * 3/2 = 7.5
        ("🚀", 4),
        ("हि", 6),
        ("\ud800", 3),
    ],
)
def test_the_bound_is_a_sum_over_pieces_by_script(text: str, tokens: int) -> None:
    assert token_bound(text) == tokens


@pytest.mark.requirement("PROJ-4")
@given(st.text(st.characters(min_codepoint=0x3400, max_codepoint=0x9FFF)))
def test_chinese_is_never_counted_as_less_than_half_of_its_bytes(text: str) -> None:
    assert 2 * token_bound(text) >= len(text.encode("utf-8"))


@pytest.mark.requirement("PROJ-4")
@given(st.text() | st.text("abXY19_-/ ", max_size=50), st.text(max_size=8) | st.text("aB3_ ", max_size=8))
def test_appending_never_lowers_the_count(text: str, more: str) -> None:
    assert token_bound(text) <= token_bound(text + more)


@pytest.mark.requirement("PROJ-4")
@given(
    st.one_of(TEXTS, st.text("aB3/ 字。Ж\n", max_size=80), st.text("aB3-bC", max_size=60)),
    st.integers(0, 120),
    st.integers(1, 3),
)
def test_as_many_beginnings_fit_as_counting_each_one_says(text: str, tokens: int, step: int) -> None:
    ends = list(range(step, len(text) + 1, step))
    fitting = bound_fitting(text, ends, tokens)
    assert [token_bound(text[:end]) <= tokens for end in ends] == [True] * fitting + [False] * (len(ends) - fitting)


@pytest.mark.requirement("PROJ-4")
@given(st.one_of(TEXTS, st.text("ab 字。\n각é", max_size=80)), st.integers(0, 90))
def test_clusters_end_where_the_whole_text_says(text: str, most: int) -> None:
    whole = [cluster.end() for cluster in regex.finditer(r"\X", text)]
    assert list(grapheme_ends(text, most)) == [end for end in whole if end <= most]


@pytest.mark.requirement("PROJ-4")
def test_what_is_taken_for_a_cluster_by_itself_joins_nothing_beside_it() -> None:
    lonely = [chr(code) for code in range(0x20000) if isinstance(grapheme_ends(chr(code), 1), range)]
    assert {"a", "\n", "é", "Ж", "字", "。", "각", "，"} <= set(lonely)
    assert not {"\r", "\u0301", "\u200d", "\u1112", "\u3099", "\u00ad", "🚀"} & set(lonely)
    for one in lonely:
        beside = f"a{one}a{one}{one}字{one}각{one}"
        assert regex.findall(r"\X", beside) == list(beside), one


@pytest.mark.requirement("PROJ-4")
def test_what_is_remembered_of_pieces_is_bounded_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = _Costs()
    monkeypatch.setattr(_Costs, "_most", 100)
    pieces = [*(chr(0x1F300 + n) for n in range(300)), *("a" * n for n in range(1, 30))]
    assert [costs[piece] for piece in pieces] == [_cost(piece) for piece in pieces]
    assert 0 < len(costs) <= 100
    assert max(map(len, costs)) <= 16
