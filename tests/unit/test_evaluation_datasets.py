"""Folders of labelled questions: what they may look like, what labels name, and lines that can't be used (EVAL-1)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from citewell.errors import InvalidRequest
from citewell.evaluation.datasets import first_questions, read_dataset
from citewell.evaluation.model import Reference
from citewell.identity import format_key

HEADER = "query-id\tcorpus-id\tscore\n"
PUBLIC = Path(__file__).resolve().parents[3] / "shared" / "data"


def folder(
    root: Path,
    *,
    queries: str = '{"_id": "q1", "text": "why slow"}\n{"_id": "q2", "text": "how to restart"}\n',
    qrels: str | None = f"{HEADER}q1\ta.md\t1\nq2\tb.md\t2\n",
    **files: str,
) -> Path:
    """A dataset; further files by name, `__` for a dot."""
    root.joinpath("queries.jsonl").write_text(queries, encoding="utf-8")
    if qrels is not None:
        root.joinpath("qrels.tsv").write_text(qrels, encoding="utf-8")
    for name, text in files.items():
        path = root / name.replace("__", ".").replace("--", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def corpus(*lines: dict[str, object]) -> str:
    return "".join(json.dumps(line) + "\n" for line in lines)


@pytest.mark.requirement("EVAL-1")
def test_files_in_docs_are_named_by_their_path(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    found = read_dataset(folder(tmp_path))
    assert (found.name, found.grain, found.labels) == (tmp_path.name, "document", "qrels.tsv")
    assert found.queries == {"q1": "why slow", "q2": "how to restart"}
    assert found.qrels == {"q1": {"a.md": 1.0}, "q2": {"b.md": 2.0}}
    assert (found.documents, found.folder) == ((), tmp_path / "docs")


@pytest.mark.requirement("EVAL-1")
def test_each_line_of_a_corpus_is_a_document_even_if_it_is_named_like_a_chunk(tmp_path: Path) -> None:
    key = format_key("a.md", 3)
    lines = corpus(
        {"_id": key, "title": "A", "text": "slow disks", "doc_id": "a.md"}, {"_id": 7, "title": "only a title"}
    )
    found = read_dataset(folder(tmp_path, qrels=f"{HEADER}q1\t{key}\t1\n", corpus__jsonl=lines))
    assert (found.grain, found.folder) == ("document", None)
    assert [(d.doc_id, d.title, d.text, d.source, d.format) for d in found.documents] == [
        (key, "A", "slow disks", "a.md", "text"),
        ("7", "only a title", "only a title", "", "text"),
    ]


@pytest.mark.requirement("EVAL-1")
def test_labels_that_all_look_like_evidence_keys_are_chunks_and_mixed_ones_need_a_word(tmp_path: Path) -> None:
    keys = f"{HEADER}q1\t{format_key('a.md', 0)}\t1\n"
    assert read_dataset(folder(tmp_path, qrels=keys)).grain == "chunk"
    mixed = folder(tmp_path, qrels=f"{keys}q2\tb.md\t1\n")
    with pytest.raises(InvalidRequest, match=r"1 of 2 labels look like evidence keys.*--grain document"):
        read_dataset(mixed)
    assert read_dataset(mixed, grain="document").grain == "document"
    with pytest.raises(InvalidRequest, match=r"no evidence keys, such as 'b.md'"):
        read_dataset(mixed, grain="chunk")


@pytest.mark.requirement("EVAL-1")
@pytest.mark.parametrize(
    "names",
    [
        ("query_id", "doc_id", "start", "end"),
        ("query-id", "document", "start_index", "end_index"),
        ("qid", "docId", "begin", "stop"),
        ("_id", "path", "start_char", "end_char"),
    ],
)
def test_references_are_spans_under_any_sensible_names(tmp_path: Path, names: tuple[str, ...]) -> None:
    line = dict(zip(names, ("q1", "a.md", 3, 9), strict=True))
    again = {**line, names[2]: 20, names[3]: 26, "content": "the same", "repeat": True}
    found = read_dataset(folder(tmp_path, references__jsonl=corpus(line, again)))
    assert (found.grain, found.labels, found.qrels) == ("span", "references.jsonl", {})
    assert found.references == {
        "q1": (Reference("a.md", 3, 9), Reference("a.md", 20, 26, repeat=True, text="the same"))
    }
    assert found.queries == {"q1": "why slow"}  # nobody judged q2
    assert read_dataset(tmp_path, qrels="qrels").grain == "document"  # whoever names labels means them


@pytest.mark.requirement("EVAL-1")
def test_several_files_of_labels_are_variants_and_a_missing_one_names_those_there_are(tmp_path: Path) -> None:
    root = folder(
        tmp_path, qrels=None, qrels__desc__tsv=f"{HEADER}q1\ta.md\t1\n", qrels__name__tsv=f"{HEADER}q2\tb.md\t1\n"
    )
    assert list(read_dataset(root, qrels="name").queries) == ["q2"]
    with pytest.raises(
        InvalidRequest, match=r"several files of labels.*There are: desc, name; choose one with --qrels"
    ):
        read_dataset(root)
    with pytest.raises(InvalidRequest, match=r"no labels named 'summ'.*There are: desc, name"):
        read_dataset(root, qrels="summ")
    folder(tmp_path)
    assert list(read_dataset(root).queries) == ["q1", "q2"]


@pytest.mark.requirement("EVAL-1")
def test_the_layout_of_beir_has_its_labels_in_a_folder(tmp_path: Path) -> None:
    root = folder(tmp_path, qrels=None)
    (root / "qrels").mkdir()
    for name, query in (("dev", "q1"), ("test", "q2")):
        (root / "qrels" / f"{name}.tsv").write_text(f"{HEADER}{query}\ta.md\t1\n", encoding="utf-8")
    assert (list(read_dataset(root).queries), read_dataset(root).labels) == (["q2"], "qrels/test.tsv")
    assert list(read_dataset(root, qrels="dev").queries) == ["q1"]


@pytest.mark.requirement("EVAL-1")
def test_columns_are_found_by_name_and_ids_are_normalised(tmp_path: Path) -> None:
    labels = "score\tquery-id\tcorpus-id\r\n1\tq1\tcafe\u0301.md\r\n\r\n0\tq2\tb.md\r\n"
    found = read_dataset(folder(tmp_path, qrels=labels))
    assert found.qrels == {"q1": {"caf\u00e9.md": 1.0}}


@pytest.mark.requirement("EVAL-1")
def test_questions_that_nothing_answers_are_kept_apart(tmp_path: Path) -> None:
    found = read_dataset(folder(tmp_path, qrels=f"{HEADER}q1\ta.md\t1\nq2\tb.md\t0\n"))
    assert (found.queries, found.unanswerable) == ({"q1": "why slow"}, {"q2": "how to restart"})


@pytest.mark.requirement("EVAL-1")
@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"queries": "{}\n"}, r"queries.jsonl, line 1, must have an `_id` and a `text`"),
        ({"queries": '{"_id": "q1", "text": "a"}\n[1]\n'}, r"queries.jsonl, line 2, is no JSON object: '\[1\]'"),
        ({"queries": '{"_id": "q1", "text": "a"}\n\n{"_id": '}, r"queries.jsonl, line 3, is no JSON"),
        ({"queries": '{"_id": "q1", "text": "a"}\n' * 2}, r"line 2, repeats the id of an earlier question: 'q1'"),
        ({"qrels": "q1\ta.md\t1\n"}, r"qrels.tsv, line 1, must name the columns query-id, corpus-id and score"),
        ({"qrels": f"{HEADER}q1\ta.md\n"}, r"qrels.tsv, line 2, has 2 columns instead of 3: \['q1', 'a.md'\]"),
        ({"qrels": f"{HEADER}q9\ta.md\t1\n"}, r"line 2, names a question that queries.jsonl does not hold: 'q9'"),
        ({"qrels": f"{HEADER}q1\t \t1\n"}, r"qrels.tsv, line 2, has no label"),
        ({"qrels": f"{HEADER}q1\ta.md\thigh\n"}, r"line 2, has a score that is no number: 'high'"),
        ({"qrels": f"{HEADER}q1\ta.md\t-1\n"}, r"line 2, has a score that is no finite number >= 0: '-1'"),
        ({"qrels": f"{HEADER}q1\ta.md\tnan\n"}, r"line 2, has a score that is no finite number >= 0"),
        ({"qrels": f"{HEADER}q1\ta\t1\nq1\ta\t2\n"}, r"line 3, contradicts an earlier line, which says 1"),
        ({"qrels": f"{HEADER}q1\ta\t0\n"}, r"says of no question what answers it"),
        ({"qrels": HEADER}, r"says of no question what answers it"),
        ({"corpus__jsonl": '{"_id": "a"}\n'}, r"corpus.jsonl, line 1, must have a `text`"),
        ({"corpus__jsonl": '{"text": "a"}\n'}, r"corpus.jsonl, line 1, has no usable `_id`"),
        ({"corpus__jsonl": '{"_id": "vector:1", "text": "a"}\n'}, r"corpus.jsonl, line 1, has no usable `_id`"),
        ({"corpus__jsonl": '{"_id": "a", "text": "a"}\n' * 2}, r"line 2, repeats the id of an earlier document: 'a'"),
        (
            {"references__jsonl": '{"query_id": "q1", "doc_id": "a", "start": 5, "end": 5}\n'},
            r"references.jsonl, line 1, must have whole numbers `start` < `end`",
        ),
        ({"references__jsonl": '{"query_id": "q1", "start": 5, "end": 9}\n'}, r"line 1, has no document id"),
    ],
)
def test_a_line_that_cannot_be_used_is_refused_by_file_and_number(
    tmp_path: Path, files: dict[str, str], message: str
) -> None:
    with pytest.raises(InvalidRequest, match=message):
        read_dataset(folder(tmp_path, **files))


@pytest.mark.requirement("EVAL-1")
def test_bytes_that_are_no_text_are_refused_by_line(tmp_path: Path) -> None:
    folder(tmp_path)
    (tmp_path / "queries.jsonl").write_bytes(b'{"_id": "q1", "text": "a"}\n{"_id": "q2", "text": "\xff"}\n')
    with pytest.raises(InvalidRequest, match=r"queries.jsonl, line 2, is no UTF-8"):
        read_dataset(tmp_path)


@pytest.mark.requirement("EVAL-1")
def test_a_folder_without_questions_or_labels_is_no_dataset(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match=r"is no dataset: it holds no queries.jsonl"):
        read_dataset(tmp_path)
    with pytest.raises(InvalidRequest, match=r"holds no labels. Give it a qrels.tsv, or a references.jsonl"):
        read_dataset(folder(tmp_path, qrels=None))


@pytest.mark.requirement("EVAL-1")
def test_the_first_questions_are_those_with_the_smallest_ids(tmp_path: Path) -> None:
    found = first_questions(read_dataset(folder(tmp_path)), 1)
    assert (list(found.queries), list(found.qrels)) == (["q1"], ["q1"])


@pytest.mark.requirement("EVAL-1")
@pytest.mark.skipif(not PUBLIC.is_dir(), reason="the public sets are not here")
@pytest.mark.parametrize(
    ("name", "grain", "questions", "documents"),
    [
        ("runbooks", "document", 328, 0),
        ("chunking-eval", "span", 472, 0),
        ("anthropic-docs", "document", 100, 232),
        ("xquad-en", "document", 1190, 240),
        ("cmrc2018-dev", "document", 3219, 848),
    ],
)
def test_the_public_sets_are_read_whole(name: str, grain: str, questions: int, documents: int) -> None:
    found = read_dataset(PUBLIC / name)
    assert (found.grain, len(found.queries), len(found.documents)) == (grain, questions, documents)
    assert (found.folder is not None) == (documents == 0)
