"""What answers are worth, worked out by hand: pieces of evidence, characters, what is shown, latency (EVAL-1)."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.errors import InvalidRequest
from citewell.evaluation.measures import judge, latency, percentile
from citewell.evaluation.metrics import per_query, recall_at
from citewell.evaluation.model import Answer, Dataset, Reference, Run
from citewell.evaluation.run import ask_all
from citewell.evaluation.spans import characters, covering
from citewell.evaluation.truth import Truth, hold_against
from citewell.identity import format_key as key

PAGE = Path(__file__).resolve().parents[2] / "docs" / "evaluation.md"


def answer(*blocks: tuple[str, int], **more: object) -> Answer:
    """Chunks by document and index, each ten characters long."""
    return Answer(
        keys=tuple(key(name, index) for name, index in blocks),
        documents=tuple(name for name, _ in blocks),
        spans=tuple((10 * index, 10 * index + 10) for _, index in blocks),
        **more,  # type: ignore[arg-type]
    )


def labelled(qrels: dict[str, dict[str, float]], grain: str = "document") -> Dataset:
    return Dataset("set", grain, {query: f"text of {query}" for query in qrels}, qrels=qrels)  # type: ignore[arg-type]


def no_chunks(doc_id: str) -> dict[str, tuple[int, int]]:
    raise AssertionError(f"nobody asks for the spans of {doc_id}")


@pytest.mark.requirement("EVAL-1")
def test_a_document_counts_at_its_first_block() -> None:
    dataset = labelled({"q": {"b": 1.0, "c": 1.0}})
    truth = hold_against(dataset, {"a": 2, "b": 3, "c": 1}, no_chunks)
    run = Run("r", {"q": answer(("a", 1), ("a", 0), ("b", 2), ("b", 0), ("c", 0))})
    figures = judge(run, dataset, truth).figures["q"]
    # The ranking is a, b, c: the second and the third are right.
    assert figures["MRR"] == 1 / 2
    assert figures["AP"] == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert figures["nDCG@10"] == pytest.approx((1 / math.log2(3) + 1 / 2) / (1 + 1 / math.log2(3)))
    assert [figures[f"recall@{k}"] for k in (1, 5)] == [0.0, 1.0]
    assert [figures[f"all-evidence@{k}"] for k in (5, 10)] == [1.0, 1.0]


@pytest.mark.requirement("EVAL-1")
def test_a_chunk_label_asks_for_that_very_chunk() -> None:
    dataset = labelled({"q": {key("a", 1): 1.0, key("a", 12): 1.0}}, "chunk")
    truth = hold_against(dataset, {"a": 13}, no_chunks)
    figures = judge(Run("r", {"q": answer(("a", 12), ("a", 0))}), dataset, truth).figures["q"]
    assert (figures["recall@1"], figures["recall@5"], figures["all-evidence@5"]) == (0.5, 0.5, 0.0)


@pytest.mark.requirement("EVAL-1")
def test_an_unanswered_query_is_worth_nothing_and_counts_in_every_mean() -> None:
    dataset = labelled({"q1": {"a": 1.0}, "q2": {"a": 1.0}})
    truth = hold_against(dataset, {"a": 1}, no_chunks)
    found = judge(Run("r", {"q1": answer(("a", 0))}), dataset, truth)
    assert (found.means["recall@1"], found.means["nDCG@10"], found.means["documents"]) == (0.5, 0.5, 0.5)
    assert set(found.figures["q2"].values()) == {0.0}
    assert found.unanswered == 1


@pytest.mark.requirement("EVAL-1")
def test_recall_deeper_than_was_asked_is_not_told() -> None:
    dataset = labelled({"q": {"a": 1.0}})
    truth = hold_against(dataset, {"a": 1}, no_chunks)
    names = judge(Run("r", {}), dataset, truth, depth=5).means
    assert [name for name in names if "@" in name] == ["recall@1", "recall@5", "nDCG@10", "all-evidence@5"]


@pytest.mark.requirement("EVAL-1")
def test_what_an_agent_is_shown_is_told_apart_from_what_is_judged() -> None:
    dataset = labelled({"q": {"a": 1.0}})
    truth = hold_against(dataset, {"a": 1}, no_chunks)
    blocks = [("a", 0), ("a", 1), ("b", 0), ("c", 0)]
    one = answer(*blocks, digests=("x", "y", "x", "z"), shown=3, tokens=120)
    figures = judge(Run("r", {"q": one}), dataset, truth).figures["q"]
    assert (figures["documents"], figures["tokens"]) == (2.0, 120.0)
    assert figures["duplicates"] == pytest.approx(1 / 3)  # b's text was shown as a's


@pytest.mark.requirement("EVAL-1")
def test_a_chunk_answers_for_a_reference_that_it_holds_half_of() -> None:
    chunks = {"first": (0, 10), "second": (10, 20), "third": (20, 30)}
    assert covering(Reference("d", 12, 18), chunks) == {"second"}
    assert covering(Reference("d", 5, 15), chunks) == {"first", "second"}  # half in each
    assert covering(Reference("d", 7, 28), chunks) == {"second"}  # cut in three: the largest part
    assert covering(Reference("d", 30, 40), chunks) == frozenset()


@pytest.mark.requirement("EVAL-1")
def test_spans_are_judged_by_pieces_of_evidence_and_a_repeat_is_another_place_for_the_same() -> None:
    parts = (
        Reference("d", 2, 8, text="words"),
        Reference("d", 21, 29),
        Reference("d", 42, 48, repeat=True, text="words"),
    )
    dataset = Dataset("set", "span", {"q": "?"}, references={"q": parts})
    spans = {key("d", n): (10 * n, 10 * n + 10) for n in range(5)}
    truth = hold_against(dataset, {"d": 5}, {"d": spans}.__getitem__)
    assert truth.pieces["q"] == (frozenset([key("d", 0), key("d", 4)]), frozenset([key("d", 2)]))
    assert truth.qrels["q"] == {key("d", 0): 1.0, key("d", 2): 1.0, key("d", 4): 1.0}
    found = judge(Run("r", {"q": answer(("d", 4), ("d", 1), ("d", 2))}), dataset, truth)
    assert (found.means["recall@1"], found.means["recall@5"], found.means["all-evidence@5"]) == (0.5, 1.0, 1.0)
    # Of the 14 wanted characters (repeats left out) the 8 of chunk 2 are shown, among 30.
    assert found.means["char-recall@5"] == pytest.approx(8 / 14)
    assert found.means["char-precision@5"] == pytest.approx(8 / 30)
    assert found.means["char-IoU@5"] == pytest.approx(8 / (14 + 30 - 8))


@pytest.mark.requirement("EVAL-1")
def test_a_character_counts_once_however_many_spans_hold_it() -> None:
    shown, wanted = [("d", (0, 10)), ("d", (5, 15)), ("e", (0, 5))], [("d", (5, 20)), ("d", (5, 20))]
    assert characters(shown, wanted) == pytest.approx((10 / 15, 10 / 20, 10 / 25))
    assert characters([], [("d", (0, 5))]) == (0.0, 0.0, 0.0)
    assert characters([], []) == (0.0, 0.0, 0.0)


@pytest.mark.requirement("EVAL-1")
def test_labels_that_nothing_bears_are_named_and_still_count() -> None:
    dataset = labelled({"q": {"a": 1.0, "gone": 1.0, "worthless": 0.0}})
    truth = hold_against(dataset, {"a": 1}, no_chunks)
    assert (truth.missing, truth.labels) == (("gone",), 2)
    assert judge(Run("r", {"q": answer(("a", 0))}), dataset, truth).means["recall@5"] == 0.5


@pytest.mark.requirement("EVAL-1")
@pytest.mark.parametrize(
    ("label", "stored", "missing"),
    [
        (key("a", 1), {"a": 2}, False),
        (key("a", 2), {"a": 2}, True),
        (key("b", 0), {"a": 2}, True),
        (key("a", 9), {"a": 0}, False),  # an attached collection doesn't count its chunks
        ("vector:7", {}, False),  # nor does any catalogue list them
    ],
)
def test_a_chunk_label_is_looked_for_in_the_catalogue(label: str, stored: dict[str, int], missing: bool) -> None:
    dataset = labelled({"q": {label: 1.0, "vector:other": 1.0}}, "chunk")
    assert hold_against(dataset, stored, no_chunks).missing == ((label,) if missing else ())


@pytest.mark.requirement("EVAL-1")
def test_a_set_of_which_no_label_fits_the_store_is_refused() -> None:
    dataset = labelled({"q": {"b": 1.0, "c": 1.0, "d": 1.0}})
    with pytest.raises(InvalidRequest, match=r"no label of set fits the store: they name 'b', 'c' and 1 more; .*'x'"):
        hold_against(dataset, {"x": 1}, no_chunks)
    with pytest.raises(InvalidRequest, match="the store is empty"):
        hold_against(dataset, {}, no_chunks)
    spans = Dataset("set", "span", {"q": "?"}, references={"q": (Reference("d", 5, 9),)})
    with pytest.raises(InvalidRequest, match=r"they name 'd\[5:9\]'"):
        hold_against(spans, {"x": 1}, no_chunks)


@pytest.mark.requirement("EVAL-1")
def test_references_whose_words_stand_elsewhere_are_named_and_refused_if_all_do() -> None:
    spans, texts = {"one": (0, 10), "two": (10, 20)}, {"one": "Slow\ndisks", "two": "are a pity"}
    parts = (
        Reference("d", 0, 9, text="Slow  disks"),
        Reference("d", 1, 5, text="Fast"),
        Reference("d", 5, 15, text="is cut, so not looked at"),
        Reference("d", 11, 12),
    )
    dataset = Dataset("set", "span", {"q": "?"}, references={"q": parts})
    truth = hold_against(dataset, {"d": 2}, lambda _: spans, texts=lambda _: texts)
    assert truth.misplaced == ("d[1:5]",)
    assert hold_against(dataset, {"d": 2}, lambda _: spans).misplaced == ()
    wrong = Dataset("set", "span", {"q": "?"}, references={"q": parts[1:]})
    with pytest.raises(InvalidRequest, match=r"no reference stands where it says, such as d\[1:5\]: 'Fast'"):
        hold_against(wrong, {"d": 2}, lambda _: spans, texts=lambda _: texts)


@pytest.mark.requirement("EVAL-1")
@given(
    st.lists(st.sampled_from("abcdef"), max_size=8),
    st.dictionaries(st.sampled_from("abcdef"), st.sampled_from([0.0, 1.0, 2.0]), min_size=1),
)
def test_recall_by_pieces_is_recall_by_labels(ranked: list[str], gains: dict[str, float]) -> None:
    dataset = labelled({"q": gains})
    truth = Truth({"q": gains}, {"q": tuple(frozenset([name]) for name in gains if gains[name] > 0)}, (), 1)
    run = Run("r", {"q": answer(*((name, 0) for name in ranked))})
    ours, order = judge(run, dataset, truth).figures["q"], list(dict.fromkeys(ranked))
    for k in (1, 5, 10, 20):
        assert ours[f"recall@{k}"] == per_query(recall_at(k), {"q": order}, {"q": gains})["q"]


@pytest.mark.requirement("EVAL-1")
def test_percentiles_lie_between_neighbours() -> None:
    assert [percentile([30.0, 10.0, 20.0], share) for share in (0, 50, 75, 100)] == [10.0, 20.0, 25.0, 30.0]
    assert percentile([4.0], 95) == 4.0
    told = latency([answer(milliseconds=1.0, embed_milliseconds=4.0), answer(milliseconds=3.0, embed_milliseconds=6.0)])
    assert (told.p50, told.embedded_p50) == (2.0, 7.0)
    assert latency([answer(milliseconds=1.0)]).embedded_p50 is None
    assert latency([]).p95 == 0.0


@pytest.mark.requirement("EVAL-1")
def test_any_callable_can_be_asked_and_a_question_that_it_refuses_is_unanswered() -> None:
    dataset = labelled({"q1": {"a": 1.0}, "q2": {"a": 1.0}})
    told: list[tuple[str, int]] = []

    def ask(text: str) -> Answer:
        if text.endswith("q1"):
            raise InvalidRequest("it holds nothing to search for")
        return answer(("a", 0))

    run = ask_all("mine", ask, dataset, settings={"rag.retrieve-k": 9}, told=lambda *each: told.append(each))
    assert (list(run.answers), run.refused) == (["q2"], {"q1": "it holds nothing to search for"})
    assert (run.settings, told) == ({"rag.retrieve-k": 9}, [("mine", 1), ("mine", 2)])


@pytest.mark.requirement("EVAL-1")
def test_an_error_of_the_system_ends_the_run() -> None:
    def ask(_: str) -> Answer:
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        ask_all("mine", ask, labelled({"q1": {"a": 1.0}}))


@pytest.mark.requirement("EVAL-1", "API-1")
def test_the_program_on_the_page_of_evaluation_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my-questions").mkdir()
    (tmp_path / "my-questions" / "queries.jsonl").write_text('{"_id": "q1", "text": "why slow"}', encoding="utf-8")
    labels = "query-id\tcorpus-id\tscore\nq1\tetcd.md\t1\n"
    (tmp_path / "my-questions" / "qrels.tsv").write_text(labels, encoding="utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    names: dict[str, Any] = {"my_search": lambda _: answer(("etcd.md", 0))}
    exec(compile(program, PAGE.name, "exec"), names)  # noqa: S102 - our own page is the program
    assert names["means"]["recall@1"] == 1.0
