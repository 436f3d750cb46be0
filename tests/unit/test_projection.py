"""What an agent sees: items, budgets, cuts, and what was left out (PROJ-1..7, CONTEXT-1)."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np
import pytest

from citewell.errors import InvalidRequest
from citewell.model import Budget, Dropped, DropReason, EvidenceBlock, LookupOutcome, LookupStatus, Reason, Trace
from citewell.projection import NOTICE, project, token_bound

UNLIMITED = Budget(max_items=None, max_chars_per_item=None, max_chars=None, max_tokens=None)


def block(key: str, text: str = "Some text.", **fields: Any) -> EvidenceBlock:  # noqa: ANN401 - any field of a block
    return EvidenceBlock(evidence_key=key, doc_id=key.partition("#")[0], text=text, **fields)


def outcome(
    *evidence: EvidenceBlock,
    status: LookupStatus = "ok",
    degraded: tuple[str, ...] = (),
    dropped: tuple[tuple[str, DropReason], ...] = (),
) -> LookupOutcome:
    trace = Trace(mode="hybrid", dropped=tuple(Dropped(key, reason) for key, reason in dropped))
    return LookupOutcome(query="why is etcd slow", status=status, degraded=degraded, evidence=evidence, trace=trace)


def budget(**limits: int) -> Budget:
    names = ("max_items", "max_chars_per_item", "max_chars", "max_tokens")
    return Budget(**{name: limits.get(name.removeprefix("max_")) for name in names})


def shown(result: LookupOutcome, limits: Budget | None = None, **options: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    evidence = project(result, limits, **options)["evidence"]
    assert isinstance(evidence, list)
    return evidence


def contents(result: LookupOutcome, limits: Budget | None = None, **options: Any) -> list[str]:  # noqa: ANN401
    return [item["content"] for item in shown(result, limits, **options)]


def left_out(result: LookupOutcome, limits: Budget | None = None) -> list[tuple[str, str]]:
    omitted = project(result, limits)["omitted"]
    assert isinstance(omitted, list)
    return [(entry["document_id"], entry["reason"]) for entry in omitted]


def one_cut(text: str, chars: int) -> str:
    (content,) = contents(outcome(block("a#chunk-0", text)), budget(chars=chars))
    return content


@pytest.mark.requirement("PROJ-2", "PROJ-3")
def test_an_item_says_what_it_is_where_it_comes_from_and_why_it_was_found() -> None:
    reasons = (Reason("dense", 2, 0.71), Reason("lexical", 1, 9.3))
    found = block(
        "ops/etcd.md#chunk-2", "Check the disk.", source="ops/etcd.md", title="Etcd", breadcrumb="Etcd > Disk",
        similarity=0.712345, lexical_score=9.3, fused_score=0.0325, rerank_score=0.9, reasons=reasons,
    )  # fmt: skip
    assert project(outcome(found, degraded=("lexical: timed out",))) == {
        "status": "ok",
        "degraded": ["lexical: timed out"],
        "query": "why is etcd slow",
        "notice": NOTICE,
        "evidence": [
            {
                "document_id": "ops/etcd.md#chunk-2",
                "source": "ops/etcd.md",
                "title": "Etcd",
                "breadcrumb": "Etcd > Disk",
                "content": "Check the disk.",
                "similarity": 0.7123,
                "why": [{"path": "dense", "rank": 2}, {"path": "lexical", "rank": 1}],
                "truncated": False,
            }
        ],
        "omitted": [],
        "omitted_count": 0,
        "hints": [],
    }


@pytest.mark.requirement("PROJ-3", "SCORE-1")
@pytest.mark.parametrize(("similarity", "said"), [(None, None), (0.0, 0.0), (-0.25, -0.25), (math.nan, None)])
def test_no_number_is_called_a_score_and_an_unknown_similarity_stays_unknown(
    similarity: float | None, said: float | None
) -> None:
    """Trial I45."""
    found = block(
        "a#chunk-0", similarity=similarity, lexical_score=3.0, fused_score=0.03, reasons=(Reason("lexical", 1, 3.0),)
    )
    projection = project(outcome(found))
    assert "score" not in json.dumps(projection)
    assert shown(outcome(found))[0]["similarity"] == said


@pytest.mark.requirement("PROJ-3")
def test_a_similarity_of_numpy_becomes_a_plain_number() -> None:
    similarity: Any = np.float32(0.5)
    assert json.loads(json.dumps(project(outcome(block("a#chunk-0", similarity=similarity)))))["evidence"]


@pytest.mark.requirement("PROJ-1", "PROJ-2")
def test_two_chunks_of_one_source_are_two_items_with_two_ids() -> None:
    """Trial I17."""
    first = block("alpha.md#chunk-0", "One.", source="alpha.md", title="Alpha", breadcrumb="Keys")
    second = block("alpha.md#chunk-1", "One.", source="alpha.md", title="Alpha", breadcrumb="Keys > Rotation")
    items = shown(outcome(first, second))
    assert [item["document_id"] for item in items] == ["alpha.md#chunk-0", "alpha.md#chunk-1"]
    assert [item["breadcrumb"] for item in items] == ["Keys", "Keys > Rotation"]


@pytest.mark.requirement("PROJ-1")
def test_an_evidence_key_is_shown_once() -> None:
    result = outcome(block("a#chunk-0", "first"), block("b#chunk-0"), block("a#chunk-0", "second"))
    assert [(item["document_id"], item["content"]) for item in shown(result)] == [
        ("a#chunk-0", "first"),
        ("b#chunk-0", "Some text."),
    ]
    assert left_out(result) == []


@pytest.mark.requirement("PROJ-4")
def test_within_the_budget_everything_is_shown_whole() -> None:
    texts = ["x" * 900, "", "数据库" * 100]
    result = outcome(*(block(f"d{n}#chunk-0", text) for n, text in enumerate(texts)))
    for limits in (None, UNLIMITED, budget(items=3, chars_per_item=900, chars=1200, tokens=2000)):
        items = shown(result, limits)
        assert [item["content"] for item in items] == texts
        assert not any(item["truncated"] for item in items)


@pytest.mark.requirement("PROJ-4", "PROJ-5")
def test_items_beyond_the_budget_are_named() -> None:
    result = outcome(*(block(f"d{n}#chunk-0") for n in range(4)))
    assert len(shown(result, budget(items=2))) == 2
    assert left_out(result, budget(items=2)) == [("d2#chunk-0", "budget_items"), ("d3#chunk-0", "budget_items")]
    assert project(result, budget(items=2))["omitted_count"] == 2


@pytest.mark.requirement("PROJ-4")
def test_ten_hits_of_twenty_kilobytes_come_within_the_budget_each_with_a_preview() -> None:
    """Trial I122."""
    text = "The gateway restarts after the pool is drained. " * 420
    result = outcome(*(block(f"d{n}#chunk-0", text) for n in range(10)))
    items = shown(result)
    sizes = [len(item["content"]) for item in items]
    assert len(items) == 10
    assert sizes[0] > 3_900
    assert min(sizes) >= 130
    assert max(sizes) <= 4_000
    assert sum(sizes) <= 16_000
    assert sum(token_bound(item["content"]) for item in items) <= 6_000
    assert all(item["truncated"] for item in items)
    assert len(project(result)["notice"]) < 200  # type: ignore[arg-type]  # a string


@pytest.mark.requirement("PROJ-4")
def test_the_best_hits_get_what_the_previews_of_the_others_leave() -> None:
    texts = [letter * 1000 for letter in "abc"]
    result = outcome(*(block(f"d{n}#chunk-0", text) for n, text in enumerate(texts)))
    # 200 characters are kept back for each later hit: 1500 - 400 leaves room for all of the first.
    assert [len(content) for content in contents(result, budget(chars=1500))] == [1000, 300, 200]
    assert [len(content) for content in contents(result, budget(chars=900))] == [500, 200, 200]
    assert [len(content) for content in contents(result, budget(chars=1500, chars_per_item=600))] == [600, 600, 300]


@pytest.mark.requirement("PROJ-4", "PROJ-5")
def test_a_hit_without_room_for_a_preview_is_named_instead() -> None:
    result = outcome(*(block(f"d{n}#chunk-0", "x" * 1000) for n in range(4)))
    assert [len(content) for content in contents(result, budget(chars=450))] == [250, 200]
    assert left_out(result, budget(chars=450)) == [("d2#chunk-0", "budget_chars"), ("d3#chunk-0", "budget_chars")]
    # 1000 letters in a run count 1000 tokens, so that a preview takes 200.
    assert [len(content) for content in contents(result, budget(tokens=450))] == [250, 200]
    assert left_out(result, budget(tokens=450, items=3)) == [
        ("d2#chunk-0", "budget_tokens"),
        ("d3#chunk-0", "budget_items"),
    ]


@pytest.mark.requirement("PROJ-4", "PROJ-5")
@pytest.mark.parametrize("name", ["items", "chars", "chars_per_item", "tokens"])
def test_one_id_is_always_shown_even_if_nothing_fits(name: str) -> None:
    """Trial I123: still one id, truncated, and the others are counted."""
    result = outcome(block("a#chunk-0", "数据库连接池耗尽"), block("b#chunk-0", "x" * 300))
    limits = budget(**{name: 0})
    first, *others = shown(result, limits)
    assert (first["document_id"], first["content"], first["truncated"]) == ("a#chunk-0", "", True)
    assert len(others) + len(left_out(result, limits)) == 1
    assert all(item["content"] == "" for item in others)


@pytest.mark.requirement("PROJ-4")
def test_a_budget_of_one_shows_an_id_and_at_most_one_character() -> None:
    result = outcome(block("a#chunk-0", "数据库"))
    assert contents(result, budget(chars=1)) == ["数"]
    assert contents(result, budget(tokens=1)) == [""]
    assert contents(result, budget(tokens=2)) == ["数"]
    assert contents(outcome(block("a#chunk-0", "👩‍👩‍👧")), budget(chars=1)) == [""]


@pytest.mark.requirement("PROJ-4")
def test_a_chunk_without_text_is_not_called_truncated() -> None:
    (item,) = shown(outcome(block("a#chunk-0", "")), budget(chars=0))
    assert (item["content"], item["truncated"]) == ("", False)


@pytest.mark.requirement("PROJ-4")
@pytest.mark.parametrize(
    ("text", "chars", "expected"),
    [
        ("One is done. Two is done. Three is not done.", 33, "One is done. Two is done."),
        ('He said "stop." Then it all went on and on', 20, 'He said "stop."'),
        ("Stop! Go? Now we wait here for long", 13, "Stop! Go?"),
        ("数据库连接池耗尽。先扩容再重启网关，然后检查", 12, "数据库连接池耗尽。"),
        ("他说：「停！」然后再重启网关", 9, "他说：「停！」"),
        ("line one of it\nline two goes on and on", 20, "line one of it"),
        ("line one of it\r\nline two goes on and on", 20, "line one of it"),
    ],
)
def test_a_cut_falls_after_the_last_sentence_of_the_last_third(text: str, chars: int, expected: str) -> None:
    assert one_cut(text, chars) == expected


@pytest.mark.requirement("PROJ-4")
@pytest.mark.parametrize(
    ("text", "chars", "expected"),
    [
        ("Short. And then a very long sentence follows", 30, "Short. And then a very long"),
        ("raise the limit of max_conn_age first", 25, "raise the limit of"),
        ("raise limits and see KB-4471 for more", 25, "raise limits and see"),
        ("upgrade it to version 1.24.3 soon", 25, "upgrade it to version"),
        ("数据库连接池耗尽时先扩容再重启网关", 8, "数据库连接池耗尽"),
        ("数据库连接池耗尽时看 E1207 再说", 13, "数据库连接池耗尽时看"),
        ("na\u00efvet\u00e9 and na\u00efvet\u00e9", 15, "na\u00efvet\u00e9 and"),
        ("x" * 50, 20, "x" * 20),
    ],
)
def test_without_a_sentence_end_near_it_a_cut_spares_words_and_identifiers(
    text: str, chars: int, expected: str
) -> None:
    assert one_cut(text, chars) == expected


@pytest.mark.requirement("PROJ-4")
@pytest.mark.parametrize(
    ("text", "chars", "expected"),
    [
        ("ab👩‍👩‍👧cd", 4, "ab"),
        ("ab🇨🇭cd", 3, "ab"),
        ("ab👍🏽cd", 3, "ab"),
        ("abe\u0301cd", 3, "ab"),
        ("数据库❤️网关", 4, "数据库"),
        ("각각\u1112\u1161\u11ab", 3, "각각"),
        ("ab\r\ncd", 3, "ab"),
        ("a\ufffdb👍🏽", 4, "a\ufffdb"),
    ],
)
def test_a_cut_never_splits_what_a_reader_sees_as_one_character(text: str, chars: int, expected: str) -> None:
    """Trial I120; a replacement character of the source is kept."""
    assert one_cut(text, chars) == expected


@pytest.mark.requirement("PROJ-4")
def test_a_token_counter_can_be_plugged_in() -> None:
    def words(text: str) -> int:
        return len(text.split())

    result = outcome(block("a#chunk-0", "one two three four five six"), block("b#chunk-0", "seven eight"))
    assert contents(result, budget(tokens=8), count_tokens=words) == ["one two three four five six", "seven eight"]
    assert contents(result, budget(tokens=5), count_tokens=words) == ["one two three four five"]
    assert contents(result, budget(tokens=5)) == ["one two three"]


@pytest.mark.requirement("PROJ-4")
@pytest.mark.parametrize("tokens", range(0, 30, 3))
def test_a_counter_that_grows_by_fits_and_starts_is_never_exceeded(tokens: int) -> None:
    def moody(text: str) -> int:
        return len(text) // 3 + (7 if text.endswith("a") else 0) + 2

    result = outcome(block("a#chunk-0", "banana. " * 20), block("b#chunk-0", "papaya and more"))
    items = contents(result, budget(tokens=tokens), count_tokens=moody)
    assert sum(moody(content) for content in items if content) <= tokens


@pytest.mark.requirement("PROJ-4")
def test_nothing_is_counted_without_a_limit_on_tokens() -> None:
    def refuse(text: str) -> int:
        raise AssertionError(text)

    assert contents(outcome(block("a#chunk-0", "x" * 50)), budget(chars=20), count_tokens=refuse) == ["x" * 20]


@pytest.mark.requirement("PROJ-4")
@pytest.mark.parametrize("name", ["max_items", "max_chars_per_item", "max_chars", "max_tokens"])
@pytest.mark.parametrize("limit", ["5", 2.5, True, [5], math.nan])
def test_a_limit_that_is_no_count_is_refused_by_name_and_value(name: str, limit: Any) -> None:  # noqa: ANN401 - raw
    with pytest.raises(InvalidRequest, match=re.escape(f"{name} can't be {limit!r}")) as caught:
        project(outcome(block("a#chunk-0")), Budget(**{name: limit}))
    assert caught.value.way_out
    of_numpy: Any = np.int64(1)
    assert shown(outcome(block("a#chunk-0", "ab")), Budget(**{name: of_numpy}))


@pytest.mark.requirement("PROJ-4")
@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"result": None}, "a result can't be None"),
        ({"result": {"query": "q"}}, "a result can't be {'query': 'q'}"),
        ({"budget": {"max_items": 5}}, "budget can't be {'max_items': 5}"),
        ({"budget": 5}, "budget can't be 5"),
        ({"budget": {}}, "budget can't be {}"),
        ({"count_tokens": "cl100k"}, "count_tokens can't be 'cl100k'"),
        ({"count_tokens": lambda text: [1, 2]}, "what count_tokens gives can't be [1, 2]"),
        ({"count_tokens": lambda text: None}, "what count_tokens gives can't be None"),
        ({"count_tokens": lambda text: -1}, "what count_tokens gives can't be -1"),
        ({"count_tokens": lambda text: math.nan}, "what count_tokens gives can't be nan"),
    ],
)
def test_an_argument_of_another_kind_is_refused_by_name_and_value(arguments: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidRequest, match=re.escape(named)) as caught:
        project(**{"result": outcome(block("a#chunk-0")), **arguments})
    assert caught.value.way_out


@pytest.mark.requirement("PROJ-4")
def test_what_is_no_text_has_no_tokens() -> None:
    for value in (None, 5, b"abc", ["abc"]):
        with pytest.raises(InvalidRequest, match="the text to count can't be "):
            token_bound(value)  # type: ignore[arg-type]  # raw on purpose


@pytest.mark.requirement("PROJ-4")
@pytest.mark.parametrize("name", ["items", "chars", "chars_per_item", "tokens"])
def test_a_negative_limit_is_refused_by_name(name: str) -> None:
    with pytest.raises(InvalidRequest, match=f"max_{name} can't be -1") as caught:
        project(outcome(), budget(**{name: -1}))
    assert caught.value.way_out


@pytest.mark.requirement("CONTEXT-1")
def test_neighbours_are_marked_and_stay_beside_their_hit() -> None:
    """Trial I130."""
    result = outcome(
        block("a#chunk-2", role="neighbour"),
        block("a#chunk-3"),
        block("a#chunk-4", role="neighbour"),
        block("b#chunk-0"),
    )
    items = shown(result)
    assert [(item["document_id"], item.get("role")) for item in items] == [
        ("a#chunk-2", "neighbour"),
        ("a#chunk-3", None),
        ("a#chunk-4", "neighbour"),
        ("b#chunk-0", None),
    ]


@pytest.mark.requirement("CONTEXT-1", "PROJ-5")
@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (budget(items=2), "budget_items"),
        (budget(chars=250), "budget_chars"),
        (budget(chars=200), "budget_chars"),
        (budget(chars_per_item=99), "budget_chars"),
        (budget(tokens=250), "budget_tokens"),
    ],
)
def test_neighbours_are_dropped_before_any_hit_loses_text(limits: Budget, reason: str) -> None:
    result = outcome(
        block("a#chunk-2", "n" * 100, role="neighbour"), block("a#chunk-3", "x" * 100), block("b#chunk-0", "y" * 100)
    )
    assert [item["document_id"] for item in shown(result, limits)] == ["a#chunk-3", "b#chunk-0"]
    assert left_out(result, limits) == [("a#chunk-2", reason)]


@pytest.mark.requirement("CONTEXT-1")
def test_a_neighbour_that_fits_is_shown_whole_where_a_longer_one_is_not() -> None:
    result = outcome(
        block("a#chunk-0", "x" * 100),
        block("a#chunk-1", "n" * 60, role="neighbour"),
        block("a#chunk-2", "m" * 40, role="neighbour"),
    )
    assert contents(result, budget(chars=145)) == ["x" * 100, "m" * 40]


@pytest.mark.requirement("CONTEXT-1")
def test_beside_a_hit_that_is_cut_short_there_is_no_neighbour_even_where_there_is_room() -> None:
    result = outcome(block("a#chunk-0", "x" * 500), block("a#chunk-1", "n" * 60, role="neighbour"))
    assert contents(result, budget(chars=1_000, chars_per_item=100)) == ["x" * 100]


@pytest.mark.requirement("PROJ-5", "POST-8")
def test_what_post_processing_left_out_is_named_so_that_the_agent_can_ask_for_it() -> None:
    result = outcome(
        block("a#chunk-0"),
        block("b#chunk-0"),
        dropped=(
            ("a#chunk-0", "duplicate"),
            ("a#chunk-2", "document_cap"),
            ("z#chunk-0", "below_similarity"),
            ("c#chunk-0", "return_n"),
            ("c#chunk-0", "return_n"),
            ("b#chunk-0", "return_n"),
        ),
    )
    expected = [("b#chunk-0", "budget_items"), ("a#chunk-2", "document_cap"), ("c#chunk-0", "return_n")]
    assert left_out(result, budget(items=1)) == expected
    assert project(result, budget(items=1))["omitted_count"] == 3


@pytest.mark.requirement("PROJ-5")
def test_at_most_ten_are_named_and_all_are_counted() -> None:
    drops: tuple[tuple[str, DropReason], ...] = tuple((f"d{n}#chunk-0", "return_n") for n in range(45))
    result = outcome(block("a#chunk-0"), block("b#chunk-0"), dropped=drops)
    named = left_out(result, budget(items=1))
    assert len(named) == 10
    assert named[0] == ("b#chunk-0", "budget_items")
    assert named[-1] == ("d8#chunk-0", "return_n")
    assert project(result, budget(items=1))["omitted_count"] == 46
    crowded = outcome(*(block(f"d{n}#chunk-0") for n in range(30)), dropped=(("x#chunk-0", "document_cap"),))
    assert left_out(crowded, budget(items=1)) == [(f"d{n}#chunk-0", "budget_items") for n in range(1, 11)]
    assert project(crowded, budget(items=1))["omitted_count"] == 30


@pytest.mark.requirement("PROJ-5")
def test_an_id_as_long_as_a_page_is_counted_and_not_named() -> None:
    longest, longer = "d" * 292 + "#chunk-0", "d" * 293 + "#chunk-0"  # 300 and 301 characters
    result = outcome(block("a#chunk-0"), block(longer), dropped=((longest, "return_n"), ("x" * 9_000, "return_n")))
    assert left_out(result, budget(items=1)) == [(longest, "return_n")]
    assert project(result, budget(items=1))["omitted_count"] == 3


@pytest.mark.requirement("PROJ-5", "PROJ-6")
def test_hits_below_the_floor_are_named_only_if_nothing_else_was_found() -> None:
    """Trials I39, I47: an honest empty answer."""
    drops: tuple[tuple[str, DropReason], ...] = (("z#chunk-0", "below_similarity"), ("z#chunk-0", "duplicate"))
    projection = project(outcome(status="below_similarity", dropped=drops))
    assert (projection["status"], projection["evidence"]) == ("below_similarity", [])
    assert left_out(outcome(status="below_similarity", dropped=drops)) == [("z#chunk-0", "below_similarity")]
    assert left_out(outcome(block("a#chunk-0"), dropped=drops)) == []


@pytest.mark.requirement("PROJ-6")
@pytest.mark.parametrize("status", ["ok", "empty_store", "no_match", "below_similarity", "all_already_shown"])
def test_the_status_and_what_degraded_the_answer_are_said_side_by_side(status: LookupStatus) -> None:
    projection = project(outcome(status=status, degraded=("dense: no answer", "lexical: locked")))
    assert projection["status"] == status
    assert projection["degraded"] == ["dense: no answer", "lexical: locked"]


@pytest.mark.requirement("PROJ-3")
def test_labels_as_long_as_a_page_are_cut_and_ids_never() -> None:
    key = "d" * 2000 + "#chunk-0"
    (item,) = shown(outcome(block(key, source="s" * 300, title="数" * 301, breadcrumb="e\u0301" * 200)))
    assert item["document_id"] == key
    assert item["source"] == "s" * 300
    assert item["title"] == "数" * 299 + "…"
    assert item["breadcrumb"] == "e\u0301" * 149 + "…"


@pytest.mark.requirement("PROJ-7")
def test_the_agent_is_told_that_retrieved_text_is_data() -> None:
    assert "data" in NOTICE
    assert "never instructions" in NOTICE
    assert project(outcome())["notice"] == NOTICE


@pytest.mark.requirement("PROJ-3")
def test_a_projection_is_json_and_leaves_the_result_alone() -> None:
    result = outcome(
        block("a#chunk-0", "x" * 500, reasons=(Reason("dense", 1, 0.5),)), dropped=(("b#chunk-0", "return_n"),)
    )
    before = json.dumps(result.to_dict())
    first = project(result, budget(chars=100))
    assert json.loads(json.dumps(first)) == first
    assert json.dumps(project(result, budget(chars=100))) == json.dumps(first)
    assert json.dumps(result.to_dict()) == before
