"""What a session was shown before comes without its text, what its neighbours repeat comes once (SESSION, CONTEXT)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.model import Budget, Dropped, EvidenceBlock, LookupOutcome, Role, Trace
from citewell.projection import project, to_text, token_bound
from citewell.projection.overlap import without_overlap

UNLIMITED = Budget(max_items=None, max_chars_per_item=None, max_chars=None, max_tokens=None)


def chunk(
    index: int, text: str = "Some text.", role: Role = "hit", *, doc_id: str = "a", span: tuple[int, int] | None = None
) -> EvidenceBlock:
    key = f"{doc_id}#chunk-{index}"
    return EvidenceBlock(
        evidence_key=key, doc_id=doc_id, chunk_index=index, text=text, role=role, span=span, source="a"
    )


def projected(
    *blocks: EvidenceBlock,
    shown: set[str] | None = None,
    partly: dict[str, int] | None = None,
    budget: Budget = UNLIMITED,
) -> dict[str, Any]:
    all_shown = bool(shown) and {block.evidence_key for block in blocks} <= (shown or set())
    outcome = LookupOutcome(
        "q",
        "all_already_shown" if all_shown else "ok",
        (),
        blocks,
        Trace(mode="hybrid"),
        already_shown=frozenset(shown or ()),
        partly_shown=partly or {},
    )
    return project(outcome, budget)


def items(
    *blocks: EvidenceBlock,
    shown: set[str] | None = None,
    partly: dict[str, int] | None = None,
    budget: Budget = UNLIMITED,
) -> list[dict[str, Any]]:
    evidence = projected(*blocks, shown=shown, partly=partly, budget=budget)["evidence"]
    assert isinstance(evidence, list)
    return evidence


def limits(**given: int) -> Budget:
    names = ("max_items", "max_chars_per_item", "max_chars", "max_tokens")
    return Budget(**{name: given.get(name.removeprefix("max_")) for name in names})


def keys(found: list[dict[str, Any]]) -> list[str]:
    return [item["document_id"] for item in found]


# Repeats


@pytest.mark.requirement("SESSION-1", "PROJ-3")
def test_a_repeat_has_the_keys_of_an_item_no_text_and_says_what_it_is() -> None:
    """Trial I129."""
    first, second = items(chunk(0), chunk(3), shown={"a#chunk-0"})
    assert first == {
        "document_id": "a#chunk-0",
        "source": "a",
        "title": "",
        "breadcrumb": "",
        "content": "",
        "similarity": None,
        "why": [],
        "truncated": False,
        "already_shown": True,
    }
    assert second["content"] == "Some text."
    assert "already_shown" not in second


@pytest.mark.requirement("SESSION-1")
def test_repeats_keep_their_place_in_the_order() -> None:
    found = items(chunk(0), chunk(3), chunk(6), shown={"a#chunk-3"})
    assert [(item["document_id"], bool(item["content"])) for item in found] == [
        ("a#chunk-0", True),
        ("a#chunk-3", False),
        ("a#chunk-6", True),
    ]


@pytest.mark.requirement("SESSION-1", "PROJ-4")
def test_a_repeat_costs_none_of_the_characters_and_tokens() -> None:
    found = items(chunk(0, "x" * 500), chunk(3, "y" * 90), shown={"a#chunk-0"}, budget=limits(chars=90))
    assert [item["content"] for item in found] == ["", "y" * 90]
    assert not any(item["truncated"] for item in found)
    tokens = token_bound("word " * 40)
    found = items(chunk(0, "word " * 40), chunk(3, "word " * 40), shown={"a#chunk-0"}, budget=limits(tokens=tokens))
    assert [item["content"] for item in found] == ["", "word " * 40]


@pytest.mark.requirement("SESSION-1", "PROJ-4", "PROJ-5")
def test_a_repeat_takes_no_place_of_a_hit_with_text_and_is_named_where_there_is_none_left() -> None:
    blocks = [chunk(0), chunk(3), chunk(6), chunk(9)]
    projection = projected(*blocks, shown={"a#chunk-0", "a#chunk-3"}, budget=limits(items=3))
    assert keys(projection["evidence"]) == ["a#chunk-0", "a#chunk-6", "a#chunk-9"]
    assert projection["omitted"] == [{"document_id": "a#chunk-3", "reason": "budget_items"}]


@pytest.mark.requirement("SESSION-1", "PROJ-4")
@pytest.mark.parametrize("budget", [limits(items=0), limits(items=1), limits(chars=0)])
def test_if_all_are_repeats_at_least_one_id_is_shown(budget: Budget) -> None:
    (first, *_) = items(chunk(0), chunk(3), shown={"a#chunk-0", "a#chunk-3"}, budget=budget)
    assert (first["document_id"], first["already_shown"], first["truncated"]) == ("a#chunk-0", True, False)


@pytest.mark.requirement("SESSION-1", "PROJ-6")
def test_all_shown_before_is_told_apart_from_nothing_found() -> None:
    everything = projected(chunk(0), shown={"a#chunk-0"})
    nothing = project(LookupOutcome("q", "no_match", (), (), Trace(mode="hybrid")))
    assert (everything["status"], keys(everything["evidence"])) == ("all_already_shown", ["a#chunk-0"])
    assert (nothing["status"], nothing["evidence"]) == ("no_match", [])
    assert "has been shown in this session before" in to_text(everything)


@pytest.mark.requirement("SESSION-1", "CONTEXT-1")
def test_a_neighbour_that_was_shown_before_is_a_reference_too() -> None:
    found = items(chunk(2, role="neighbour"), chunk(3), chunk(4, role="neighbour"), shown={"a#chunk-2"})
    assert [(item["document_id"], item.get("role"), item.get("already_shown"), item["content"]) for item in found] == [
        ("a#chunk-2", "neighbour", True, ""),
        ("a#chunk-3", None, None, "Some text."),
        ("a#chunk-4", "neighbour", None, "Some text."),
    ]


@pytest.mark.requirement("SESSION-1", "CONTEXT-1")
def test_new_neighbours_of_a_repeat_are_shown() -> None:
    found = items(chunk(2, role="neighbour"), chunk(3), shown={"a#chunk-3"})
    assert [item["content"] for item in found] == ["Some text.", ""]


@pytest.mark.requirement("SESSION-1", "CONTEXT-1", "PROJ-4")
def test_references_to_neighbours_give_way_to_everything_else() -> None:
    blocks = [chunk(2, role="neighbour"), chunk(3), chunk(4, role="neighbour"), chunk(9)]
    assert keys(items(*blocks, shown={"a#chunk-2", "a#chunk-9"}, budget=limits(items=3))) == [
        "a#chunk-3",
        "a#chunk-4",
        "a#chunk-9",
    ]


@pytest.mark.requirement("SESSION-1", "PROJ-4")
@pytest.mark.parametrize(
    ("known", "content", "repeat"), [(0, "x" * 50, False), (49, "x" * 50, False), (50, "", True), (80, "", True)]
)
def test_a_text_that_is_cut_short_again_comes_only_if_more_of_it_does(known: int, content: str, repeat: bool) -> None:
    partly = {"a#chunk-0": known} if known else {}
    (item,) = items(chunk(0, "x" * 100), partly=partly, budget=limits(chars=50))
    assert (item["content"], item["truncated"], item.get("already_shown", False)) == (content, True, repeat)


@pytest.mark.requirement("SESSION-1", "PROJ-4")
def test_a_text_of_which_a_beginning_was_shown_comes_whole_where_there_is_room() -> None:
    (item,) = items(chunk(0, "x" * 100), partly={"a#chunk-0": 99}, budget=limits(chars=100))
    assert (item["content"], item["truncated"], "already_shown" in item) == ("x" * 100, False, False)


@pytest.mark.requirement("SESSION-1", "PROJ-4")
def test_what_a_repeated_beginning_frees_goes_to_the_others() -> None:
    first, second = items(chunk(0, "x" * 400), chunk(3, "y" * 300), partly={"a#chunk-0": 350}, budget=limits(chars=300))
    assert (first["content"], second["content"]) == ("", "y" * 300)


@pytest.mark.requirement("SESSION-1", "PROJ-6")
def test_if_no_more_of_anything_can_be_shown_all_is_said_to_be_shown() -> None:
    blocks, budget = [chunk(0, "x" * 100), chunk(3, "y" * 100)], limits(chars_per_item=50)
    assert projected(*blocks, partly={"a#chunk-0": 50, "a#chunk-3": 50}, budget=budget)["status"] == "all_already_shown"
    assert projected(*blocks, partly={"a#chunk-0": 50}, budget=budget)["status"] == "ok"
    assert projected(*blocks, shown={"a#chunk-0"}, partly={"a#chunk-3": 50}, budget=budget)["status"] == (
        "all_already_shown"
    )
    one = projected(*blocks, partly={"a#chunk-0": 50}, budget=limits(items=1, chars=50))
    assert (one["status"], keys(one["evidence"])) == ("ok", ["a#chunk-3"]), "what is new takes the place"
    blocks.append(chunk(6, "z" * 60, role="neighbour"))
    wide = projected(*blocks, partly={"a#chunk-0": 50, "a#chunk-3": 50}, budget=budget)
    assert (wide["status"], wide["omitted"]) == ("ok", [{"document_id": "a#chunk-6", "reason": "budget_chars"}])


TEXTS = st.text("ab 字。", max_size=60)
BLOCKS = st.lists(
    st.builds(chunk, st.integers(0, 9), TEXTS, st.sampled_from(["hit", "hit", "neighbour"])),
    max_size=7,
    unique_by=lambda block: block.evidence_key,
)
LIMITS = st.none() | st.integers(0, 120)
BUDGETS = st.builds(Budget, st.none() | st.integers(0, 6), LIMITS, LIMITS, LIMITS)


@pytest.mark.requirement("SESSION-1", "PROJ-4", "PROJ-5")
@given(BLOCKS, st.sets(st.integers(0, 9).map("a#chunk-{}".format)), BUDGETS)
def test_whatever_was_shown_before_budgets_hold_and_the_new_is_shown_as_if_it_were_alone(
    blocks: list[EvidenceBlock], shown: set[str], budget: Budget
) -> None:
    projection = projected(*blocks, shown=shown, budget=budget)
    found = projection["evidence"]
    assert len(found) <= max(1, 10**9 if budget.max_items is None else budget.max_items)
    assert sum(len(item["content"]) for item in found) <= (10**9 if budget.max_chars is None else budget.max_chars)
    assert sorted(keys(found) + [each["document_id"] for each in projection["omitted"]]) == sorted(
        block.evidence_key for block in blocks
    )
    assert bool(found) is bool(blocks)
    for item in found:
        assert bool(item.get("already_shown")) is (item["document_id"] in shown)
        assert not (item["document_id"] in shown and (item["content"] or item["truncated"]))
    new = [block for block in blocks if block.evidence_key not in shown]
    if any(block.role == "hit" for block in new):
        hits = [block for block in new if block.role == "hit"]
        assert [item for item in found if "role" not in item and "already_shown" not in item] == items(
            *hits, budget=budget
        )


# Neighbours when room is short


def run(length: int, hit: int, text: str = "n" * 50) -> list[EvidenceBlock]:
    return [chunk(index, text, "hit" if index == hit else "neighbour") for index in range(length)]


@pytest.mark.requirement("CONTEXT-1", "PROJ-4")
@pytest.mark.parametrize(
    ("chars", "expected"),
    [(50, [3]), (99, [3]), (100, [2, 3]), (150, [2, 3, 4]), (200, [1, 2, 3, 4]), (250, [1, 2, 3, 4, 5])],
)
def test_the_nearest_neighbours_are_shown_first_and_of_two_the_one_before(chars: int, expected: list[int]) -> None:
    assert keys(items(*run(7, 3), budget=limits(chars=chars))) == [f"a#chunk-{index}" for index in expected]


@pytest.mark.requirement("CONTEXT-1", "CONTEXT-2", "PROJ-5")
def test_no_neighbour_is_shown_beyond_one_that_is_left_out() -> None:
    """The farther one is short enough, but would read as if it followed."""
    blocks = [chunk(1, "far"), chunk(2, "x" * 100), chunk(3, "hit"), chunk(4, "next")]
    blocks = [
        chunk(block.chunk_index or 0, block.text, "neighbour" if block.text != "hit" else "hit") for block in blocks
    ]
    projection = projected(*blocks, budget=limits(chars=50))
    assert keys(projection["evidence"]) == ["a#chunk-3", "a#chunk-4"]
    assert projection["omitted"] == [
        {"document_id": "a#chunk-1", "reason": "budget_chars"},
        {"document_id": "a#chunk-2", "reason": "budget_chars"},
    ]


@pytest.mark.requirement("CONTEXT-1")
def test_the_best_hit_gets_its_neighbours_first_and_every_hit_its_nearest_before_one_gets_its_second() -> None:
    first = [chunk(index, "n" * 50, "hit" if index == 2 else "neighbour") for index in range(5)]
    second = [chunk(index, "n" * 50, "hit" if index == 2 else "neighbour", doc_id="b") for index in range(5)]

    def shown(chars: int) -> list[str]:
        return [key.replace("#chunk-", "") for key in keys(items(*first, *second, budget=limits(chars=chars)))]

    assert shown(100) == ["a2", "b2"]
    assert shown(200) == ["a1", "a2", "a3", "b2"]
    assert shown(300) == ["a1", "a2", "a3", "b1", "b2", "b3"]
    assert shown(350) == ["a0", "a1", "a2", "a3", "b1", "b2", "b3"]


@pytest.mark.requirement("CONTEXT-1")
def test_a_neighbour_between_two_hits_is_as_near_as_to_the_nearer_of_them() -> None:
    between = [chunk(index, "n" * 50, "hit" if index in (0, 3) else "neighbour") for index in range(4)]
    assert keys(items(*between, budget=limits(chars=150))) == ["a#chunk-0", "a#chunk-1", "a#chunk-3"]


@pytest.mark.requirement("CONTEXT-1")
def test_a_neighbour_that_is_in_no_row_with_a_hit_is_shown_if_it_fits() -> None:
    """Lookups place none such; a projection makes the best of what it is given."""
    blocks = [chunk(0, "hit"), chunk(2, "x" * 100, "neighbour"), chunk(3, "far", "neighbour")]
    assert keys(items(*blocks, budget=limits(chars=50))) == ["a#chunk-0", "a#chunk-3"]


@pytest.mark.requirement("CONTEXT-1", "PROJ-4")
def test_neighbours_count_among_the_items() -> None:
    assert keys(items(*run(5, 2), budget=limits(items=2))) == ["a#chunk-1", "a#chunk-2"]


@pytest.mark.requirement("CONTEXT-1", "PROJ-5")
def test_neighbours_that_are_left_out_are_named_after_every_hit_that_is() -> None:
    blocks = [chunk(1, role="neighbour"), chunk(2), chunk(3, role="neighbour"), chunk(8)]
    drops = (Dropped("b#chunk-0", "document_cap"), Dropped("a#chunk-1", "document_cap"))
    outcome = LookupOutcome("q", "ok", (), tuple(blocks), Trace(mode="hybrid", dropped=drops))
    assert project(outcome, limits(items=1))["omitted"] == [
        {"document_id": "a#chunk-8", "reason": "budget_items"},
        {"document_id": "b#chunk-0", "reason": "document_cap"},
        {"document_id": "a#chunk-1", "reason": "budget_items"},
        {"document_id": "a#chunk-3", "reason": "budget_items"},
    ]


# Overlap


@pytest.mark.requirement("CONTEXT-2")
def test_what_spans_say_to_overlap_is_cut_from_the_later_one() -> None:
    whole = "The pool is full. Grow the pool. Restart the gateway."
    first, second = chunk(0, whole[:32], span=(0, 32)), chunk(1, whole[18:], "neighbour", span=(18, len(whole)))
    found = items(first, second)
    assert [item["content"] for item in found] == ["The pool is full. Grow the pool.", " Restart the gateway."]
    assert found[1]["continues"] == "a#chunk-0"
    assert not found[1]["truncated"]
    assert "continues" not in found[0]


@pytest.mark.requirement("CONTEXT-2")
def test_the_hit_itself_is_cut_where_the_neighbour_before_it_is_shown_and_whole_where_it_is_not() -> None:
    first, second = chunk(0, "x" * 40 + "common", "neighbour", span=(0, 46)), chunk(1, "common end", span=(40, 50))
    assert [item["content"] for item in items(first, second)] == ["x" * 40 + "common", " end"]
    assert [item["content"] for item in items(first, second, budget=limits(chars=50))] == ["common end"]


@pytest.mark.requirement("CONTEXT-2")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (chunk(0, "one common", span=(0, 10)), chunk(2, "common two", span=(4, 14))),
        (chunk(0, "one common", span=(0, 10)), chunk(1, "common two", doc_id="b", span=(4, 14))),
        (chunk(1, "one common", span=(0, 10)), chunk(0, "common two", span=(4, 14))),
        (chunk(0, "one common", span=(0, 10)), chunk(1, "common two", span=(10, 20))),
        (chunk(0, "one common", span=(0, 10)), chunk(1, "Common two", span=(4, 14))),
        (chunk(0, "one common", span=(0, 10)), chunk(1, "common", span=(4, 10))),
    ],
    ids=["not the next", "another document", "read the other way", "spans apart", "other text", "nothing left"],
)
def test_nothing_is_cut_from_texts_that_do_not_overlap(first: EvidenceBlock, second: EvidenceBlock) -> None:
    assert [item["content"] for item in items(first, second)] == [first.text, second.text]


@pytest.mark.requirement("CONTEXT-2", "SESSION-1")
def test_nothing_is_cut_against_a_text_that_is_not_right_above() -> None:
    first, second = chunk(0, "one common", span=(0, 10)), chunk(1, "common two", span=(4, 14))
    assert items(first, chunk(7), second)[2]["content"] == "common two"
    assert items(first, second, shown={"a#chunk-0"})[1]["content"] == "common two"


@pytest.mark.requirement("CONTEXT-2")
def test_a_header_row_before_an_overlap_stays() -> None:
    head = "| a | b |\n|---|---|\n"
    rows = [f"| {n} | {n} |\n" for n in range(6)]  # 10 characters each
    first = chunk(0, head + "".join(rows[:4]), span=(0, len(head) + 40))
    second = chunk(1, head + "".join(rows[2:]), "neighbour", span=(len(head) + 20, len(head) + 60))
    assert [item["content"] for item in items(first, second)] == [first.text, head + "".join(rows[4:])]


@pytest.mark.requirement("CONTEXT-2")
def test_an_overlap_before_a_closing_fence_is_found() -> None:
    first = chunk(0, "```sh\none\ntwo\n```", span=(0, 13))
    second = chunk(1, "```sh\ntwo\nthree\n```", "neighbour", span=(10, 19))
    assert [item["content"] for item in items(first, second)] == [first.text, "```sh\n\nthree\n```"]


@pytest.mark.requirement("CONTEXT-2")
def test_a_header_row_that_is_repeated_is_no_overlap() -> None:
    head = "| a | b |\n|---|---|\n"
    first = chunk(0, head + "| 1 | 2 |\n", span=(0, len(head) + 10))
    second = chunk(1, head + "| 3 | 4 |\n", "neighbour", span=(len(head) + 10, len(head) + 20))
    assert [item["content"] for item in items(first, second)] == [first.text, second.text]


@pytest.mark.requirement("CONTEXT-2")
@pytest.mark.parametrize(
    ("before", "after", "rest"),
    [
        ("Start. A sentence in both of them.", "A sentence in both of them. The end.", " The end."),
        (
            "开头。连接池耗尽时先扩容再重启网关，然后看延迟。",
            "连接池耗尽时先扩容再重启网关，然后看延迟。结尾。",
            "结尾。",
        ),
        ("Start. Nineteen in common", "Nineteen in common, and more", None),
        (f"Start\n{'-' * 40}", f"{'-' * 40}\nEnd", None),
        ("Start. A sentence in both of them.", "A sentence in both of them.", None),
        ("Start.", "End.", None),
        ("", "End.", None),
    ],
    ids=["English", "Chinese", "too short to be sure", "a rule", "nothing left", "nothing common", "empty"],
)
def test_without_spans_a_long_common_end_and_beginning_is_overlap(before: str, after: str, rest: str | None) -> None:
    """Chunks of foreign stores, which know no spans."""
    assert without_overlap(chunk(0, before), chunk(1, after)) == (after if rest is None else rest)


@pytest.mark.requirement("CONTEXT-2")
@given(st.text("ab 字。\n", min_size=30, max_size=120), st.data())
def test_overlapping_pieces_joined_are_the_text_again(text: str, data: st.DataObject) -> None:
    """Whatever the spans of neighbouring chunks: nothing twice, nothing lost."""
    ends = [*sorted(data.draw(st.sets(st.integers(5, len(text) - 1), max_size=4))), len(text)]
    starts = [0]
    for end in ends[:-1]:
        starts.append(max(starts[-1], end - data.draw(st.integers(0, 6))))
    spans = list(zip(starts, ends, strict=True))
    blocks = [
        chunk(index, text[start:end], "hit" if index == 0 else "neighbour", span=(start, end))
        for index, (start, end) in enumerate(spans)
    ]
    found = items(*blocks)
    joined = ""
    for number, ((start, end), item) in enumerate(zip(spans, found, strict=True)):
        common = spans[number - 1][1] - start if number else 0
        says, rest = any(map(str.isalnum, text[start : start + common])), text[start + common : end].strip()
        cut = common > 0 and says and bool(rest)
        assert item["content"] == text[start + (common if cut else 0) : end]
        assert item.get("continues") == (f"a#chunk-{number - 1}" if cut else None)
        joined += text[start + common : end]
    assert joined == text
