"""What the inspector draws: rows, places, widths and pieces of text, worked out by hand."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.errors import InvalidRequest
from citewell.identity import format_key as key
from citewell.model import Budget, DocumentInfo
from citewell.server.callers import Caller
from citewell.server.web.forms import form_of
from citewell.server.web.logins import LASTS_S, Logins
from citewell.server.web.views.agent import agent_view
from citewell.server.web.views.compare import compare_view
from citewell.server.web.views.corpus import corpus_view
from citewell.server.web.views.document import document_view
from citewell.server.web.views.evaluation import evaluation_view
from citewell.server.web.views.jobs import job_view
from citewell.server.web.views.lookup import LookupView, lookup_view
from citewell.server.web.views.plots import bars, doubling_bins, lines
from citewell.server.web.views.ranking import NODE_WIDTH, paths_figure, rerank_figure
from citewell.server.web.views.text import columns, pieces, short_key, shortened, visible
from citewell.server.web.views.values import compact, counted, milliseconds

A, B, C, D = (key(f"{name}.md", 0) for name in "abcd")


def candidate(name: str, ranks: Mapping[str, int], fused: float | None, **scores: float) -> dict[str, Any]:
    return {
        "evidence_key": name,
        "similarity": scores.get("similarity"),
        "lexical_score": scores.get("lexical"),
        "fused_score": fused,
        "rerank_score": scores.get("rerank"),
        "reasons": [{"path": path, "rank": rank, "score": 10.0 / rank} for path, rank in ranks.items()],
    }


def report(path: str, status: str = "ran") -> dict[str, Any]:
    return {"path": path, "status": status, "hits": 2, "cut": False, "milliseconds": 1.5, "filter": "none", "cause": ""}


def result(
    candidates: Sequence[dict[str, Any]], kept: Sequence[str], dropped: Mapping[str, str], mode: str = "hybrid"
) -> dict[str, Any]:
    paths = [report("dense"), report("dense_filtered", "skipped"), report("lexical")]
    trace = {
        "mode": mode,
        "settings": {"return_n": {"value": 2, "origin": "call"}},
        "paths": paths if mode == "hybrid" else paths[:1],
        "weights": {"dense": 1.0, "lexical": 1.9},
        "candidates": list(candidates),
        "dropped": [{"evidence_key": name, "reason": why, "detail": "place 3 > 2"} for name, why in dropped.items()],
        "refill_paths": [],
        "distinct_documents": 2,
        "notes": [],
        "milliseconds": {"hints": 1.0, "search": 3.0, "embed": 0.5, "total": 4.25},
    }
    evidence = [{"evidence_key": name, "breadcrumb": "", "title": "T"} for name in kept]
    return {"query": "q", "status": "ok", "degraded": [], "evidence": evidence, "hints": [], "trace": trace}


HYBRID = result(
    [
        candidate(A, {"dense": 2, "lexical": 1}, 1 / 62 + 1.9 / 61, similarity=0.8, lexical=10.0),
        candidate(B, {"dense": 1}, 1 / 61, similarity=0.9),
        candidate(C, {"lexical": 2}, 1.9 / 62, lexical=5.0),
    ],
    kept=[A, B],
    dropped={C: "return_n"},
)


def view(given: Mapping[str, Any] = HYBRID, shown: Sequence[str] = (A,)) -> LookupView:
    return lookup_view(given, shown, 60)


@pytest.mark.requirement("API-5")
def test_each_candidate_has_its_ranks_its_shares_and_its_fate() -> None:
    first, second, third = view().rows
    assert (first.place, first.ranks, first.fate) == (1, {"dense": 2, "lexical": 1}, "shown")
    assert [(share.path, share.amount) for share in first.shares] == [("dense", 1 / 62), ("lexical", 1.9 / 61)]
    assert sum(share.amount for share in first.shares) == first.fused
    assert (second.fate, second.kept) == ("kept", True)
    assert (third.fate, third.detail, third.kept) == ("return_n", "place 3 > 2", False)


@pytest.mark.requirement("API-5")
def test_what_was_dropped_is_grouped_in_the_order_in_which_reasons_apply() -> None:
    names = {C: "return_n", D: "below_similarity", A: "return_n"}
    groups = view(result([], [], names)).dropped
    assert [(group.reason, [name for name, _ in group.entries]) for group in groups] == [
        ("below_similarity", [D]),
        ("return_n", [C, A]),
    ]


@pytest.mark.requirement("API-5")
def test_the_fused_order_stands_between_the_paths_with_a_line_to_each_place() -> None:
    drawing = paths_figure(view())
    assert [(column.name, [node.key for node in column.nodes]) for column in drawing.columns] == [
        ("dense", [B, A]),
        ("fused", [A, B, C]),
        ("lexical", [A, C]),
    ]
    assert sorted((line.path, line.key, line.kept) for line in drawing.lines) == [
        ("dense", A, True),
        ("dense", B, True),
        ("lexical", A, True),
        ("lexical", C, False),
    ]
    dense, fused, lexical = drawing.columns
    to_first = next(line for line in drawing.lines if (line.path, line.key) == ("dense", A))
    assert to_first.d.startswith(f"M{dense.x + NODE_WIDTH} 72C")  # the middle of the second place: 30 + 30 + 12
    assert to_first.d.endswith(f" {fused.x} 42")  # of the first
    from_first = next(line for line in drawing.lines if (line.path, line.key) == ("lexical", A))
    assert from_first.d.startswith(f"M{fused.x + NODE_WIDTH} 42C")
    assert from_first.d.endswith(f" {lexical.x} 42")
    assert [node.bar for node in lexical.nodes] == [1.0, 0.5]


@pytest.mark.requirement("API-5")
def test_a_drawing_has_no_more_ranks_than_asked_for_and_counts_the_others() -> None:
    drawing = paths_figure(view(), depth=1)
    assert [(len(column.nodes), column.more) for column in drawing.columns] == [(1, 1), (1, 2), (1, 1)]
    assert [(line.path, line.key) for line in drawing.lines] == [("lexical", A)]


@pytest.mark.requirement("API-5")
def test_dense_mode_draws_its_one_path_alone() -> None:
    found = result([candidate(A, {"dense": 1}, None, similarity=0.5)], [A], {}, mode="dense")
    drawing = paths_figure(view(found))
    assert ([column.name for column in drawing.columns], drawing.lines) == (["dense"], ())
    assert view(found).rows[0].shares == ()


@pytest.mark.requirement("API-5")
def test_what_a_further_request_found_is_marked_and_in_no_paths_ranking() -> None:
    rows = [*HYBRID["trace"]["candidates"], candidate(D, {"dense": 1}, 1 / 61)]
    seen = view(result(rows, [A, B, D], {}))
    assert [row.refilled for row in seen.rows] == [False, False, False, True]
    dense, fused, _ = paths_figure(seen).columns
    assert D not in [node.key for node in dense.nodes]
    assert D in [node.key for node in fused.nodes]


@pytest.mark.requirement("API-5")
def test_a_rerankers_order_stands_beside_the_fused_one() -> None:
    rows = [
        candidate(C, {"lexical": 2}, 1.9 / 62, rerank=0.9),
        candidate(A, {"dense": 2, "lexical": 1}, 1 / 62 + 1.9 / 61, rerank=0.8),
        candidate(B, {"dense": 1}, 1 / 61, rerank=0.1),
    ]
    seen = view(result(rows, [C, A], {}))
    before, after = rerank_figure(seen).columns
    assert seen.reranked
    assert [node.key for node in before.nodes] == [A, C, B]
    assert [node.key for node in after.nodes] == [C, A, B]


@pytest.mark.requirement("API-5")
def test_dense_beside_hybrid_says_what_moved_and_why_something_is_gone() -> None:
    rows = [candidate(B, {"dense": 1}, None), candidate(C, {"dense": 2}, None), candidate(D, {"dense": 3}, None)]
    dense = view(result(rows, [B, C], {D: "return_n"}, mode="dense"))
    compared = compare_view(dense, view())
    assert [(pair.key, pair.dense, pair.hybrid, pair.move) for pair in compared.pairs] == [
        (A, None, 1, None),
        (B, 1, 2, -1),
        (C, 2, None, None),
    ]
    assert (compared.both, compared.dense_only, compared.hybrid_only) == (1, 1, 1)
    assert (compared.pairs[0].dense_fate, compared.pairs[2].hybrid_fate) == ("not_found", "return_n")


@pytest.mark.requirement("API-5")
def test_a_wide_comparison_draws_the_first_fifty_and_tells_of_all() -> None:
    rows = [candidate(key(f"{number:04}.md", 0), {"dense": number}, None) for number in range(1, 3001)]
    names = [row["evidence_key"] for row in rows]
    wide = view(result(rows, names, {}, mode="dense"), names)
    compared = compare_view(wide, wide)
    assert [(len(column.nodes), column.more) for column in compared.figure.columns] == [(50, 2950), (50, 2950)]
    assert (compared.both, len(compared.pairs)) == (3000, 3000)


@pytest.mark.requirement("API-5")
def test_the_budget_counts_what_was_shown() -> None:
    item = {
        "document_id": A, "source": "s", "title": "T", "breadcrumb": "", "content": "four words are here",
        "similarity": 0.5, "why": [{"path": "dense", "rank": 3}], "truncated": True,
    }  # fmt: skip
    seen = {
        "evidence": [item, {**item, "role": "neighbour"}],
        "omitted": [{"document_id": B, "reason": "budget_chars"}],
        "omitted_count": 7,
    }
    drawn = agent_view(seen, Budget(max_items=4, max_chars=38, max_tokens=None), lambda text: len(text.split()))
    assert [(meter.used, meter.most, meter.share) for meter in drawn.meters] == [
        (2, 4, 0.5),
        (38, 38, 1.0),
        (8, None, 0.0),
    ]
    assert [each.marks for each in drawn.items] == [("cut short",), ("neighbour", "cut short")]
    assert (drawn.omitted, drawn.omitted_count) == (((B, "budget_chars"),), 7)


def chunk(index: int, span: tuple[int, int], role: str = "neighbour") -> dict[str, Any]:
    return {
        "evidence_key": key("a.md", index), "doc_id": "a.md", "chunk_index": index, "text": f"text {index}",
        "source": "a", "title": "A", "breadcrumb": "A", "category": None, "role": role, "span": list(span),
        "locator": {}, "metadata": {}, "digest": "d",
    }  # fmt: skip


@pytest.mark.requirement("API-5")
def test_a_document_shows_as_many_neighbours_as_asked_for_and_where_to_go_on() -> None:
    read = {
        "evidence": [
            chunk(2, (0, 10)),
            chunk(3, (10, 20)),
            chunk(4, (15, 30), "hit"),
            chunk(5, (30, 40)),
            chunk(6, (40, 50)),
        ]
    }
    drawn = document_view(read, width=1, marked=4)
    assert [(each.index, each.marked, each.repeats) for each in drawn.passages] == [
        (3, False, 0),
        (4, True, 5),
        (5, False, 0),
    ]
    assert (drawn.earlier, drawn.later) == (2, 6)
    whole = document_view(read, width=5, marked=None)
    assert (len(whole.passages), whole.earlier, whole.later, whole.marked) == (5, None, None, None)


def info(
    doc_id: str, chunks: int, characters: int, category: str | None = None, scope: tuple[str, ...] = ()
) -> DocumentInfo:
    return DocumentInfo(doc_id, "", "", category, scope or None, {}, chunks, characters, "", "")


@pytest.mark.requirement("API-5")
def test_the_corpus_is_counted_by_category_and_size() -> None:
    documents = [info("a", 1, 100, "ops", ("red", "blue")), info("b", 3, 900), info("c", 2, 90, "ops")]
    drawn = corpus_view(documents, None)
    assert (drawn.documents, drawn.chunks, drawn.characters) == (3, 6, 1090)
    assert [(bar.label, bar.amount, bar.share) for bar in drawn.categories] == [("(none)", 3, 1.0), ("ops", 3, 1.0)]
    assert [(each.low, each.high, each.count) for each in drawn.chunk_counts] == [(1, 2, 1), (2, 4, 2)]
    assert [(each.low, each.count) for each in drawn.sizes] == [(64, 2), (128, 0), (256, 0), (512, 1)]
    assert (drawn.names, drawn.labels) == (("ops",), ("blue", "red"))
    assert corpus_view(documents, ("red",)).labels == ("red",)
    assert drawn.largest[0].label == "b"


def test_the_smallest_amounts_become_one_bar() -> None:
    drawn = bars({"a": 5, "b": 3, "c": 2, "d": 1}, most=3)
    assert [(bar.label, bar.amount) for bar in drawn] == [("a", 5), ("b", 3), ("2 others", 3)]
    assert bars({}) == ()
    assert doubling_bins({}) == ()


@pytest.mark.requirement("API-5")
def test_a_curve_goes_through_its_points_with_k_in_doublings() -> None:
    drawn = lines({"x": [(4, 1.0), (1, 0.0), (2, 0.5)]})
    (curve,) = drawn.series
    assert curve.d == "M0 150L180 75L360 0"
    assert [tick.label for tick in drawn.x] == ["1", "2", "4"]
    assert lines({"x": []}).series == ()


@pytest.mark.requirement("API-5")
def test_a_run_file_gives_means_recall_by_k_and_differences_where_no_answer_counts_as_zero() -> None:
    content = {
        "dataset": "d",
        "runs": [
            {
                "name": "one",
                "queries": {"q1": {"recall@1": 0.0, "nDCG@10": 0.5}, "q2": {"recall@1": 1.0, "nDCG@10": 1.0}},
            },
            {
                "name": "two",
                "means": {"recall@1": 1, "recall@5": 1.0, "nDCG@10": 0.5},
                "queries": {"q1": {"nDCG@10": 1.0}},
            },
        ],
    }
    (drawn,) = evaluation_view(content)
    assert drawn.runs[0].means == {"recall@1": 0.5, "nDCG@10": 0.75}
    assert [len(curve.points) for curve in drawn.recall.series] == [1, 2]
    (differences,) = drawn.differences
    assert (differences.metric, differences.better, differences.worse, differences.equal) == ("nDCG@10", 1, 1, 0)
    assert [(each.query, each.gain, each.share) for each in differences.entries] == [
        ("q1", 0.5, 0.5),
        ("q2", -1.0, -1.0),
    ]


def test_means_of_several_sets_are_read_too() -> None:
    content = [
        {"set": "s1", "figures": {"dense": {"recall@5": 0.5}}},
        {"set": "s2", "figures": {"dense": {"recall@5": 0.7}}},
    ]
    assert [(each.name, each.runs[0].means) for each in evaluation_view(content)] == [
        ("s1", {"recall@5": 0.5}),
        ("s2", {"recall@5": 0.7}),
    ]


NAMES = st.sampled_from(["dataset", "runs", "name", "means", "queries", "figures", "set", "recall@5", "nDCG@10"])
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.just(10**400) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
)


@given(JSON)
def test_whatever_a_file_holds_it_is_drawn_or_refused(content: object) -> None:
    drawn = None
    with contextlib.suppress(InvalidRequest):
        drawn = evaluation_view(json.loads(json.dumps(content)))
    assert drawn is None or all(each.runs for each in drawn)


@pytest.mark.requirement("API-5")
def test_a_job_shows_what_went_wrong_first() -> None:
    outcomes = {"a": "added", "b": "failed", "c": "no_text"}
    files = [
        {"doc_id": name, "status": status, "chunks": 1, "embedded": 1, "detail": ""}
        for name, status in outcomes.items()
    ]
    told = {
        "job": "n", "state": "done", "progress": {"done": 3, "total": 3, "embedded": 2, "changed": 2}, "error": None,
        "report": {"summary": {"added": 1, "failed": 1, "no_text": 1, "deleted": 0}, "seconds": 1.5, "files": files},
    }  # fmt: skip
    drawn = job_view(told)
    assert [file["doc_id"] for file in drawn.files] == ["b", "c", "a"]
    assert [bar.label for bar in drawn.summary] == ["added", "failed", "no_text"]
    assert (drawn.share, drawn.ended) == (1.0, True)
    assert not job_view(
        {"job": "n", "state": "waiting", "progress": {"done": 0, "total": 0}, "report": None, "error": None}
    ).ended


@pytest.mark.requirement("API-5")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain <b>", "plain <b>"),
        ("a\u202eb", r"a\u202eb"),
        ("a\u200db", "a\u200db"),
        ("a\u200b\u200bb", r"a\u200b\u200bb"),
        ("a\x1b[2Jb", r"a\x1b[2Jb"),
        ("a\r\nb\tc", "a\nb\tc"),
        ("a\rb", r"a\x0db"),
        ("\ud800", r"\ud800"),
        ("\U000e0041\U000e0042", r"\U000e0041\U000e0042"),
        ("", ""),
    ],
)
def test_what_acts_or_hides_is_shown_by_its_code_point(text: str, shown: str) -> None:
    assert "".join(piece.text for piece in pieces(text)) == shown


@given(st.text())
def test_nothing_but_what_cannot_be_seen_is_taken_from_a_text(text: str) -> None:
    left, written = "".join(piece.text for piece in pieces(text) if not piece.hidden), iter(text)
    assert all(character in written for character in left)  # in its order
    assert [c for c in left if c.isprintable()] == [c for c in text if c.isprintable() and c in left]
    assert "\n" not in visible(text)


@pytest.mark.parametrize(
    ("given_key", "shown"),
    [
        (key("runbooks/etcd.md", 2), "etcd.md · 2"),
        (key("a-very-long-name-of-a-runbook.md", 12), "a-very-l…nbook.md · 12"),
        ("vector:17", "vector:17"),
        (key("漢字漢字漢字漢字漢字漢字.md", 0), "漢字漢字…漢字字.md · 0"),
    ],
)
def test_a_key_is_shortened_to_its_files_name_and_number(given_key: str, shown: str) -> None:
    label = short_key(given_key, 22)
    assert columns(label) <= 22
    assert label == shown or "漢" in shown


@given(st.text(), st.integers(1, 30))
def test_a_shortened_text_keeps_to_its_width(text: str, width: int) -> None:
    assert columns(shortened(text, width)) <= max(width, 1) or columns(text) <= width


def test_figures_are_written_for_eyes() -> None:
    assert [milliseconds(value) for value in (0.384, 12.44, 340.2, 2100.0)] == ["0.38 ms", "12.4 ms", "340 ms", "2.1 s"]
    assert counted(1234567) == "1\u202f234\u202f567"
    assert [compact(value) for value in (512, 2048, 1_500_000)] == ["512", "2k", "2M"]


@pytest.mark.requirement("API-5")
def test_a_form_becomes_arguments_and_an_address_again() -> None:
    pairs = [
        ("q", "a b"), ("mode", "hybrid"), ("category", " ops "), ("scope", "x"), ("scope", "y, z"), ("return_n", "3"),
        ("min_similarity", "0.5"), ("retrieve_k", "many"), ("depth", "25"), ("unknown", "1"),
    ]  # fmt: skip
    form = form_of(pairs)
    assert form.arguments() == {
        "mode": "hybrid", "category": "ops", "return_n": 3, "retrieve_k": "many", "min_similarity": 0.5,
    }  # fmt: skip
    assert form.scope == ("x", "y, z")
    assert form_of(form.pairs()) == form
    assert form_of(form.pairs(mode="dense")).mode == "dense"
    assert form_of([("mode", "compare")]).arguments() == {}


def test_a_log_in_ends_after_its_time_and_when_it_is_closed() -> None:
    now = [0.0]
    logins, caller = Logins(lambda: now[0]), Caller("ops")
    first, second = logins.open(caller), logins.open(caller)
    assert first != second
    assert logins.caller(first) == caller
    logins.close(first)
    assert logins.caller(first) is None
    now[0] = LASTS_S - 1
    assert logins.caller(second) == caller
    now[0] = LASTS_S
    assert logins.caller(second) is None
    assert logins.caller("never") is None


def test_of_too_many_log_ins_the_oldest_is_forgotten() -> None:
    logins, caller = Logins(), Caller("ops")
    names = [logins.open(caller) for _ in range(1001)]
    assert (logins.caller(names[0]), logins.caller(names[1])) == (None, caller)
