"""What answers each question: gains by label (qrels), or parts of documents (references).

Ids are normalised as ingestion normalises them, so that a label and a stored document that mean the same are the same.
It knows neither questions nor documents, but for the ids of the questions that there are.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from pathlib import Path

from citewell.checks import shown
from citewell.errors import InvalidRequest
from citewell.evaluation.lines import Record, first_of, malformed, objects, rows
from citewell.evaluation.model import Reference
from citewell.identity import normalize_id, normalize_index

Qrels = dict[str, dict[str, float]]

QUERY_NAMES = ("query-id", "query_id", "queryId", "qid", "_id")
_LABEL_NAMES = ("corpus-id", "corpus_id", "doc-id", "doc_id", "docId", "evidence-key", "evidence_key", "document")
_SCORE_NAMES = ("score", "relevance", "rel", "gain")
_DOCUMENT_NAMES = ("doc_id", "docId", "doc-id", "document_id", "corpus_id", "corpus-id", "document", "path", "source")
_START_NAMES = ("start", "start_index", "start_char", "begin")
_END_NAMES = ("end", "end_index", "end_char", "stop")
_WORDS_NAMES = ("content", "text", "quote")


def variants(folder: Path) -> Mapping[str, Path]:
    """The files of labels by name, sorted: `qrels.tsv` is `qrels`, `qrels.desc.tsv` is `desc`, `qrels/test.tsv` `test`.

    Raises:
        InvalidRequest: two files have the same name.
    """
    found: dict[str, Path] = {}
    for path in sorted([*folder.glob("qrels*.tsv"), *folder.glob("qrels/*.tsv")]):
        name = path.stem.removeprefix("qrels").lstrip(".-_") or "qrels"
        if name in found:
            raise InvalidRequest(f"{found[name]} and {path} are both named {name!r}", way_out="Rename one of them.")
        found[name] = path
    return dict(sorted(found.items()))


def chosen(folder: Path, name: str | None) -> Path:
    """The file of labels of this name; without one `qrels.tsv`, else `qrels/test.tsv`, else the only one.

    Raises:
        InvalidRequest: there is no such file, or there are several and none is named; says which there are.
    """
    found = variants(folder)
    if not found:
        raise InvalidRequest(
            f"{folder} holds no labels", way_out="Give it a qrels.tsv, or a references.jsonl of spans."
        )
    usual = [one for one in ("qrels", "test") if one in found] or (list(found) if len(found) == 1 else [])
    wanted = name if name is not None else "".join(usual[:1])
    if wanted in found:
        return found[wanted]
    problem = "has several files of labels" if name is None else f"has no labels named {shown(name)}"
    raise InvalidRequest(f"{folder} {problem}", way_out=f"There are: {', '.join(found)}; choose one with --qrels.")


def read_qrels(path: Path, queries: Collection[str]) -> Qrels:
    """Gains by label for each query; the first line names the columns (query-id, corpus-id, score), in any order.

    Raises:
        InvalidRequest: a line can't be used, names a question that there isn't, or contradicts an earlier one.
    """
    lines = rows(path)
    number, header = next(lines, (1, []))
    places = [_column(header, names) for names in (QUERY_NAMES, _LABEL_NAMES, _SCORE_NAMES)]
    if None in places:
        raise malformed(path, number, "must name the columns query-id, corpus-id and score, parted by tabs", header)
    qrels: Qrels = {}
    for number, cells in lines:
        if len(cells) != len(header):
            raise malformed(path, number, f"has {len(cells)} columns instead of {len(header)}", cells)
        query, label, gain = (cells[place] for place in places if place is not None)
        name = _known(path, number, query, queries)
        gains, key = qrels.setdefault(name, {}), _id(path, number, label, "label")
        if gains.setdefault(key, worth := _gain(path, number, gain)) != worth:
            raise malformed(path, number, f"contradicts an earlier line, which says {gains[key]:g}", cells)
    return qrels


def read_references(path: Path, queries: Collection[str]) -> dict[str, tuple[Reference, ...]]:
    """The parts that answer each query: a JSON object a line, with a query's id, a document's id, `start` and `end`.

    Raises:
        InvalidRequest: a line can't be used, or names a question that there isn't.
    """
    found: dict[str, list[Reference]] = {}
    for number, record in objects(path):
        query = _known(path, number, first_of(record, QUERY_NAMES), queries)
        reference = _reference(path, number, record)
        parts = found.setdefault(query, [])
        if reference not in parts:
            parts.append(reference)
    return {query: tuple(parts) for query, parts in found.items()}


def _reference(path: Path, number: int, record: Record) -> Reference:
    start, end = (normalize_index(first_of(record, names)) for names in (_START_NAMES, _END_NAMES))
    if start is None or end is None or end <= start:
        raise malformed(path, number, "must have whole numbers `start` < `end`, counted in characters from 0", record)
    doc_id = _id(path, number, first_of(record, _DOCUMENT_NAMES), "document id (`doc_id`)")
    text = first_of(record, _WORDS_NAMES)
    words = text if isinstance(text, str) else ""
    return Reference(doc_id, start, end, repeat=record.get("repeat") is True, text=words)


def _column(header: list[str], names: tuple[str, ...]) -> int | None:
    return next((header.index(name) for name in names if name in header), None)


def _known(path: Path, number: int, value: object, queries: Collection[str]) -> str:
    query = _id(path, number, value, "query id")
    if query not in queries:
        raise malformed(path, number, "names a question that queries.jsonl does not hold", query)
    return query


def _id(path: Path, number: int, value: object, what: str) -> str:
    found = normalize_id(value)
    if found is None:
        raise malformed(path, number, f"has no {what}", value)
    return found


def _gain(path: Path, number: int, text: str) -> float:
    try:
        gain = float(text)
    except ValueError as error:
        raise malformed(path, number, "has a score that is no number", text) from error
    if not 0 <= gain < math.inf:
        raise malformed(path, number, "has a score that is no finite number >= 0", text)
    return gain
