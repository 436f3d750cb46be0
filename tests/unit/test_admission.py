"""Every raw argument of a lookup is admitted, normalised or refused by name, before anything is searched."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

from citewell.admission import (
    MAX_COUNT,
    MAX_QUERY_CHARACTERS,
    LookupRequest,
    admit,
    admit_scope,
    check_category,
    check_labels,
    check_names,
)
from citewell.analysis import analyze_query
from citewell.errors import InvalidRequest, ScopeDenied
from citewell.model import Candidate, LookupPolicy, SearchPolicy
from citewell.postprocess import refine

SETTINGS = LookupPolicy(retrieve_k=50, return_n=5, max_chunks_per_document=2, min_similarity=0.4)
SURROGATE = "\ud800"


def ask(query: object = "why is etcd slow", *, require_scope: bool = False, **arguments: object) -> LookupRequest:
    search = SearchPolicy(mode="hybrid")
    return admit(query, policy=SETTINGS, search=search, require_scope=require_scope, **arguments)


def refusal(query: object = "why", **arguments: object) -> str:
    with pytest.raises(InvalidRequest) as refused:
        admit(query, policy=SETTINGS, search=SearchPolicy(), **arguments)  # type: ignore[arg-type]  # raw on purpose
    assert refused.value.way_out
    return str(refused.value)


@pytest.mark.requirement("PORT-2", "API-7")
def test_a_call_that_gives_nothing_takes_everything_from_the_settings() -> None:
    request = ask()
    assert request.query == "why is etcd slow"
    assert request.policy == SETTINGS
    assert (request.mode, request.category, request.scope, request.where) == ("hybrid", None, None, ())
    assert set(request.origins.values()) == {"settings"}
    assert sorted(request.origins) == ["max_chunks_per_document", "min_similarity", "retrieve_k", "return_n"]
    assert request.notes == ()


@pytest.mark.requirement("POST-5", "SCORE-5")
def test_numbers_of_the_call_win_and_say_so() -> None:
    """I41: the value used, and its origin."""
    request = ask(retrieve_k=7, return_n=6, max_chunks_per_document=0, min_similarity=0)
    assert request.policy == LookupPolicy(retrieve_k=7, return_n=6, max_chunks_per_document=0, min_similarity=0.0)
    assert set(request.origins.values()) == {"call"}
    assert ask(return_n=6).origins["return_n"] == "call"
    assert ask(return_n=6).origins["retrieve_k"] == "settings"


def test_what_no_argument_names_stays_as_configured() -> None:
    configured = LookupPolicy(keep_identifiers=False, refill=False)
    policy = admit("x", return_n=1, policy=configured, search=SearchPolicy()).policy
    assert (policy.keep_identifiers, policy.refill) == (False, False)


def test_a_request_is_a_value_that_can_be_compared_and_copied() -> None:
    request = ask(where={"year": 2024}, scope=["a"])
    assert request == ask(where={"year": 2024}, scope=["a"])
    assert pickle.loads(pickle.dumps(request)) == request  # noqa: S301 - our own bytes


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize(
    "query",
    [
        "", "   ", "？？", "\u200b", "\u200b ?!", "…", "\x00", SURROGATE, "\u3164\u2800\n", "\ufe0f", "()[]{}",
        "\u0301", "===", "```", "|", "~", "$", "^", "+", "<>", "€ ₿", "`~^¨", "→ ⇒", "<!-- -->", "|---|---|",
        "$ > #", "│ ┌ █ ◇", "° ⌘", "\U0001f3fd",
    ],
)  # fmt: skip
def test_a_query_without_anything_to_search_for_is_refused(query: str) -> None:
    """I119; symbols of mathematics, money and markup are punctuation, as are frames, arrows and shapes."""
    assert "nothing to search for" in refusal(query=query)


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize("query", ["c", "5", "网", "é", "½", "②", "ⅳ", "℃ 5", "C++", "$PATH", "=a="])
def test_one_letter_or_number_is_enough(query: str) -> None:
    assert ask(query).query == query


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize("query", ["🔥", "⚠️", "✔", "👍🏽", "🇨🇭", "👨\u200d👩\u200d👧", "?! 🚀"])
def test_an_emoji_is_a_query(query: str) -> None:
    """Documents are marked with emoji, and the analysis has a term for each."""
    assert ask(query).query == query
    assert analyze_query(query)


@pytest.mark.parametrize("query", [None, 5, b"etcd", ["etcd"], {"query": "etcd"}])
def test_a_query_that_is_no_text_is_refused(query: object) -> None:
    assert "a query must be a text" in refusal(query=query)


@pytest.mark.requirement("INGEST-2")
def test_a_query_loses_its_edges_and_what_no_engine_can_take_and_nothing_else() -> None:
    request = ask(f"  e\u0301tcd \x00Ｒｅｄｉｓ{SURROGATE} slow\n")
    assert request.query == "e\u0301tcd Ｒｅｄｉｓ slow"
    assert request.notes == ("NUL characters and lone surrogates were left out of the query",)


@pytest.mark.requirement("SAFE-4")
def test_a_long_query_is_clamped_between_words_and_the_note_says_what_was_kept() -> None:
    request = ask("four " * 1_000)  # word 800 ends at character 3,999, the 801st would not fit
    assert request.query == ("four " * 800).rstrip()
    assert request.notes == ("the query was too long: its first 3999 of 4999 characters were kept",)


@pytest.mark.requirement("SAFE-4")
def test_a_query_of_the_greatest_length_stays_whole() -> None:
    query = "x" * MAX_QUERY_CHARACTERS
    assert ask(query).query == query
    assert ask(query).notes == ()
    assert ask(f"{query} y").query == query


@pytest.mark.requirement("SAFE-4")
def test_a_long_query_without_spaces_is_cut_between_characters() -> None:
    assert ask("网" * 9_000).query == "网" * MAX_QUERY_CHARACTERS
    family = "👨\u200d👩\u200d👧"  # five code points, one character
    assert ask(family * 1_000).query == family * (MAX_QUERY_CHARACTERS // 5)
    assert ask("x" + family * 1_000).query == "x" + family * 799  # 1 + 5 * 799 = 3,996


@pytest.mark.requirement("SAFE-4")
def test_a_long_query_that_begins_with_nothing_but_punctuation_is_kept_from_its_first_word_on() -> None:
    request = ask("？" * 5_000 + " hello")
    assert request.query == "hello"
    assert request.notes == ("the query was too long: characters 5002 to 5006 of 5006 were kept",)
    longer = ask("=" * 4_000 + "four " * 1_000)
    assert longer.query == ("four " * 800).rstrip()
    assert longer.notes == ("the query was too long: characters 4001 to 7999 of 8999 were kept",)
    assert "nothing to search for" in refusal(query="？" * 5_000 + " =")


@pytest.mark.requirement("SAFE-4")
def test_a_long_query_keeps_its_beginning_if_that_holds_anything() -> None:
    request = ask("？" * 3_998 + "ab cd")
    assert request.query == "？" * 3_998 + "ab"
    assert request.notes == ("the query was too long: its first 4000 of 4003 characters were kept",)


@pytest.mark.requirement("PORT-3")
def test_a_mode_is_taken_from_the_call_or_refused_naming_the_allowed_ones() -> None:
    assert ask(mode="dense").mode == "dense"
    for mode in ("lexical", "Dense", "", 1, ["dense"]):
        assert "dense, hybrid" in refusal(mode=mode)


@pytest.mark.requirement("POST-5")
@pytest.mark.parametrize("name", ["retrieve_k", "return_n"])
@pytest.mark.parametrize("value", [0, -1, True, False, 5.0, "5", math.nan, MAX_COUNT + 1, [5]])
def test_a_count_that_is_no_integer_in_range_is_refused_by_name(name: str, value: object) -> None:
    assert refusal(**{name: value}).startswith(f"{name} can't be ")


@pytest.mark.requirement("POST-4")
def test_a_cap_may_be_0_but_not_less() -> None:
    assert ask(max_chunks_per_document=0).policy.max_chunks_per_document == 0
    for value in (-1, True, 1.5):
        assert "max_chunks_per_document" in refusal(max_chunks_per_document=value)


def test_integers_of_numpy_are_integers() -> None:
    request = ask(retrieve_k=np.int64(9), return_n=np.uint8(3), where={"year": np.int32(2024)})
    assert (request.policy.retrieve_k, request.policy.return_n, request.where) == (9, 3, (("year", 2024),))
    assert type(request.policy.retrieve_k) is int
    assert type(request.where[0][1]) is int
    assert ask(min_similarity=np.float32(0.5)).policy.min_similarity == 0.5


@pytest.mark.requirement("POST-5")
def test_finding_fewer_than_are_returned_is_refused_with_both_values_and_their_origins() -> None:
    assert refusal(retrieve_k=3).startswith("retrieve_k 3 (from the call) is less than return_n 5 (from the settings)")
    assert refusal(return_n=51).startswith("retrieve_k 50 (from the settings) is less than return_n 51 (from the call)")
    assert ask(retrieve_k=5).policy.retrieve_k == 5


@pytest.mark.requirement("SCORE-5")
def test_a_floor_of_0_is_a_floor_and_nothing_means_the_setting() -> None:
    """I25."""
    assert ask(min_similarity=0).policy.min_similarity == 0.0
    assert ask(min_similarity=None).policy.min_similarity == 0.4
    assert ask(min_similarity=None).origins["min_similarity"] == "settings"


@pytest.mark.requirement("SCORE-5")
def test_minus_one_is_a_floor_like_any_other_in_the_call_and_in_the_settings() -> None:
    """A hit without a similarity is below it; only "not set" and "off" are off."""
    unknown = Candidate(evidence_key="a#chunk-0")
    configured = admit("x", policy=LookupPolicy(min_similarity=-1), search=SearchPolicy()).policy
    for policy in (ask(min_similarity=-1).policy, configured):
        assert policy.min_similarity == -1.0
        assert refine([unknown], return_n=1, min_similarity=policy.min_similarity).kept == ()
    assert ask(min_similarity=-1).notes == ()


@pytest.mark.requirement("SCORE-5")
def test_off_switches_a_configured_floor_off_for_one_call() -> None:
    request = ask(min_similarity="off")
    assert request.policy.min_similarity is None
    assert request.origins["min_similarity"] == "call"
    assert request.notes == ("min_similarity off: no floor for this call",)
    for name in ("retrieve_k", "return_n", "max_chunks_per_document"):
        assert f"{name} can't be 'off'" in refusal(**{name: "off"})


@pytest.mark.requirement("SCORE-5")
@pytest.mark.parametrize(
    "value", [1.0001, -1.5, math.nan, True, "0.5", "OFF", "", 10**400, [0.5], np.array(["off"] * 2)]
)
def test_a_floor_outside_its_range_is_refused(value: object) -> None:
    """I40."""
    assert "min_similarity can't be" in refusal(min_similarity=value)


@pytest.mark.requirement("SAFE-3")
@pytest.mark.parametrize("category", ["", "  ", "\n", [], (), [""], [None]])
def test_a_blank_category_counts_as_absent_and_is_noted(category: object) -> None:
    """I76."""
    request = ask(category=category)
    assert request.category is None
    assert request.notes == ("a blank category counts as none",)


@pytest.mark.requirement("SAFE-2", "SAFE-3")
def test_a_category_is_normalised_and_a_list_of_one_is_that_one() -> None:
    assert ask(category="  cafe\u0301 ").category == "café"
    assert ask(category=["ops"]).category == "ops"
    assert check_category(("ops",)) == "ops"
    assert check_category('x" or id >= 0 or "x') == 'x" or id >= 0 or "x'
    assert check_category(None) is None


@pytest.mark.parametrize("category", [5, True, ["a", "b"], {"a": 1}, {"a"}, b"ops", f"a{SURROGATE}", [["a"]], [[]]])
def test_a_category_of_another_shape_is_refused(category: object) -> None:
    assert "a category can't be" in refusal(category=category)


@pytest.mark.requirement("SAFE-3")
def test_a_scope_is_absent_or_empty_or_sorted_labels() -> None:
    """I76: three states, each with a rule."""
    assert ask(scope=None).scope is None
    assert ask(scope=[]).scope == ()
    assert ask(scope="tenant-1").scope == ("tenant-1",)
    assert ask(scope=["b", "a", "b"]).scope == ("a", "b")
    assert check_labels(frozenset({"b", "a"})) == ("a", "b")
    assert check_labels({"a": 1}.keys()) == ("a",)


@pytest.mark.requirement("SAFE-2", "SAFE-3")
def test_labels_are_kept_exactly() -> None:
    labels = (" a ", "a", "A", "e\u0301", "é", 'x" or 1==1', "C:\\new", "租户", "\x00")
    assert check_labels(labels) == tuple(sorted(labels))


@pytest.mark.requirement("SAFE-3")
@pytest.mark.parametrize(
    "scope", ["", "  ", [""], ["a", " "], ["a", None], [1], [["a"]], 5, True, b"a", {"a": 1}, iter("a"), SURROGATE]
)
def test_a_scope_with_anything_but_labels_is_refused(scope: object) -> None:
    assert "a scope can't " in refusal(scope=scope)


@pytest.mark.requirement("SAFE-3")
def test_a_store_that_demands_a_scope_denies_a_call_without_one() -> None:
    with pytest.raises(ScopeDenied, match="within a scope only"):
        ask(require_scope=True)
    assert ask(require_scope=True, scope=[]).scope == ()
    assert ask(require_scope=True, scope="a").scope == ("a",)
    assert admit_scope(None) is None
    with pytest.raises(ScopeDenied):
        admit_scope(None, require_scope=True)


@pytest.mark.requirement("SAFE-2")
def test_filters_are_sorted_by_field_and_keep_their_types() -> None:
    where = {"year": 2024, "draft": False, "team.name": "ops", "ratio": 0.5, "_x-1": Fraction(1, 4)}
    admitted = ask(where=where).where
    assert admitted == (("_x-1", 0.25), ("draft", False), ("ratio", 0.5), ("team.name", "ops"), ("year", 2024))
    assert [type(value) for _, value in admitted] == [float, bool, float, str, int]
    assert ask(where={}).where == ()
    assert ask(where={"a": 2**63 - 1, "b": -(2**63)}).where == (("a", 2**63 - 1), ("b", -(2**63)))


@pytest.mark.requirement("SAFE-2")
@pytest.mark.parametrize("name", ["标签", "année", "e\u0301tat", "дата", "タグ", "_x-1.y", "état.é", "x²", "हिन्दी"])
def test_a_field_may_be_named_in_any_script_and_is_compared_as_written(name: str) -> None:
    assert ask(where={name: "a"}).where == ((name, "a"),)


@pytest.mark.requirement("SAFE-2")
@pytest.mark.parametrize(
    "name",
    [
        "x or 1==1",
        "",
        "1st",
        "a b",
        'a"',
        "a'",
        "a]",
        "a\n",
        "é\x00",
        "标 签",
        "标\u200b签",
        "\u0301a",
        "-a",
        "标签；",
        1,
        None,
    ],
)
def test_a_field_name_that_could_be_syntax_is_refused(name: object) -> None:
    """I71."""
    assert "where can't have a field" in refusal(where={name: "a"})


@pytest.mark.requirement("SAFE-2")
@pytest.mark.parametrize(
    "value", [{"$gt": 1}, ["a"], None, math.nan, math.inf, 2**63, -(2**63) - 1, b"a", SURROGATE, object()]
)
def test_a_filter_value_that_is_no_scalar_is_refused_by_field(value: object) -> None:
    """I71."""
    assert "where can't compare 'field' with" in refusal(where={"field": value})


def test_filters_that_are_no_mapping_are_refused() -> None:
    for where in ("year = 2024", [("year", 2024)], 5):
        assert "where can't be" in refusal(where=where)


@pytest.mark.requirement("API-8")
def test_unknown_arguments_are_refused_by_name_with_the_known_ones() -> None:
    """I79."""
    check_names(["query", "category"], ["query", "category", "scope"])
    with pytest.raises(InvalidRequest, match=r"unknown argument 'filter', 'top_k'\. Known are: query, scope\."):
        check_names(["query", "top_k", "filter"], ["query", "scope"])


@pytest.mark.requirement("API-8")
def test_argument_names_that_are_no_texts_are_unknown_too() -> None:
    with pytest.raises(InvalidRequest, match=r"unknown argument 'a', 5, \['b'\]"):
        check_names([5, "a", ["b"], "q"], {"q"})  # type: ignore[list-item]  # raw on purpose
    with pytest.raises(InvalidRequest, match="the names of arguments can't be 'query'"):
        check_names("query", ["query"])


def test_a_message_shows_no_more_than_a_line_of_a_value() -> None:
    assert len(refusal(category=["x" * 100_000, "y"])) < 300
    assert len(refusal(mode="x" * 100_000)) < 300
    assert len(refusal(query="\u200b" * 100_000)) < 300


@pytest.mark.parametrize("digits", [100, 6_000], ids=str)
def test_integers_too_long_to_write_out_are_refused_like_any_other(digits: int) -> None:
    huge = 10**digits
    for arguments in ({"return_n": huge}, {"where": {"a": huge}}, {"min_similarity": -huge}, {"category": [huge, 1]}):
        assert len(refusal(**arguments)) < 300
    assert "bits" in refusal(query={"deep": [huge]})
