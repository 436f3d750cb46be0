"""Reads a folder of labelled questions: the layout of BEIR, document or chunk labels, or character spans (EVAL-1).

    queries.jsonl          {"_id", "text"} a line
    qrels.tsv, qrels.NAME.tsv or qrels/NAME.tsv      query-id, corpus-id, score, with a header line
    references.jsonl       {"query_id", "doc_id", "start", "end"} a line: spans instead of labels
    corpus.jsonl           {"_id", "title", "text"} a line, each a document of its own
    docs/                  files, whose documents are named by their path in it

The source of the layout is BEIR (Thakur et al., NeurIPS 2021). Nothing is stored or looked up here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from citewell.errors import InvalidRequest
from citewell.evaluation.labels import Qrels, chosen, read_qrels, read_references
from citewell.evaluation.lines import Record, first_of, malformed, objects
from citewell.evaluation.model import Dataset, Grain
from citewell.identity import check_doc_id, find_identity, normalize_id
from citewell.model import Document

_ID_NAMES = ("_id", "id", "query_id", "query-id", "qid")
_QUESTION_NAMES = ("text", "query", "question")
_CORPUS_ID_NAMES = ("_id", "id", "corpus_id", "corpus-id", "doc_id", "docId")
_TEXT_NAMES = ("text", "contents", "content", "body")
_REFERENCES, _CORPUS, _FILES = "references.jsonl", "corpus.jsonl", "docs"


def read_dataset(folder: Path | str, *, qrels: str | None = None, grain: Grain | None = None) -> Dataset:
    """The labelled questions of a folder, and where the documents are that they ask about.

    Without a grain, a `references.jsonl` means spans, unless a file of labels is chosen; labels on a `corpus.jsonl`
    are documents, for a line is one; other labels are chunks if all of them look like evidence keys, and documents if
    none does. Documents are the files of `docs/`, unless labels name the lines of a `corpus.jsonl`.

    Args:
        folder: with the files that the module's docstring lists.
        qrels: which of several files of labels; None = `qrels.tsv`, else `qrels/test.tsv`, else the only one.
        grain: what labels name, where the folder leaves it open.

    Raises:
        InvalidRequest: a file is missing or can't be read, a line of one can't be used (by file and number), or the
            choice is not there (what there is, is named).
    """
    root = Path(folder)
    if not (root / "queries.jsonl").is_file():
        raise InvalidRequest(f"{root} is no dataset: it holds no queries.jsonl", way_out="Name a folder that does.")
    texts = _read_queries(root / "queries.jsonl")
    if grain == "span" or (grain is None and qrels is None and (root / _REFERENCES).is_file()):
        return _of_spans(root, texts)
    path = chosen(root, qrels)
    labels = read_qrels(path, texts)
    kind = grain or _grain(root, labels)
    return _of_labels(root, path, texts, _as_keys(path, labels) if kind == "chunk" else labels, kind)


def _of_spans(root: Path, texts: Mapping[str, str]) -> Dataset:
    references = read_references(root / _REFERENCES, texts)
    _check_judged(root / _REFERENCES, references)
    documents, files = _documents(root, files_first=True)
    return Dataset(
        name=root.resolve().name,
        grain="span",
        queries={query: texts[query] for query in sorted(references)},
        references={query: references[query] for query in sorted(references)},
        documents=documents,
        folder=files,
        labels=_REFERENCES,
    )


def _of_labels(root: Path, path: Path, texts: Mapping[str, str], labels: Qrels, grain: Grain) -> Dataset:
    answerable = {query: labels[query] for query in sorted(labels) if any(labels[query].values())}
    _check_judged(path, answerable)
    documents, files = _documents(root, files_first=grain == "chunk")
    return Dataset(
        name=root.resolve().name,
        grain=grain,
        queries={query: texts[query] for query in answerable},
        qrels=answerable,
        documents=documents,
        folder=files,
        labels=path.relative_to(root).as_posix(),
        unanswerable={query: texts[query] for query in sorted(labels) if query not in answerable},
    )


def _check_judged(path: Path, judged: Mapping[str, object]) -> None:
    if not judged:
        raise InvalidRequest(
            f"{path} says of no question what answers it", way_out="Give one line or more with a gain."
        )


def _read_queries(path: Path) -> dict[str, str]:
    """Text by query id, in the file's order."""
    texts: dict[str, str] = {}
    for number, record in objects(path):
        query, text = normalize_id(first_of(record, _ID_NAMES)), first_of(record, _QUESTION_NAMES)
        if query is None or not isinstance(text, str) or not text.strip():
            raise malformed(path, number, "must have an `_id` and a `text`", dict(record))
        if query in texts:
            raise malformed(path, number, "repeats the id of an earlier question", query)
        texts[query] = text
    return texts


def _grain(root: Path, labels: Qrels) -> Grain:
    """What the labels name, where nobody said."""
    if (root / _CORPUS).is_file():
        return "document"
    keys = [_is_chunk(label) for gains in labels.values() for label in gains]
    if any(keys) and not all(keys):
        raise InvalidRequest(
            f"{sum(keys)} of {len(keys)} labels look like evidence keys, the others do not",
            way_out="Say what labels name: --grain document or --grain chunk.",
        )
    return "chunk" if any(keys) else "document"


def _is_chunk(label: str) -> bool:
    return find_identity(label) is not None


def _as_keys(path: Path, labels: Qrels) -> Qrels:
    """The labels as evidence keys are written; a wrong one would be found by no answer."""
    wrong = sorted({label for gains in labels.values() for label in gains if not _is_chunk(label)})
    if wrong:
        raise InvalidRequest(
            f"{path.name} has labels that are no evidence keys, such as {wrong[0]!r}",
            way_out="Write keys, such as 'etcd.md#chunk-2', or say --grain document.",
        )
    return {query: {_key(label): gain for label, gain in gains.items()} for query, gains in labels.items()}


def _key(label: str) -> str:
    identity = find_identity(label)
    return label if identity is None else identity.evidence_key


def _documents(root: Path, *, files_first: bool) -> tuple[tuple[Document, ...], Path | None]:
    """The lines of the corpus, or the folder of files; neither, if the folder holds questions and labels alone."""
    corpus, files = root / _CORPUS, root / _FILES
    if files.is_dir() and (files_first or not corpus.is_file()):
        return (), files
    return (tuple(_read_corpus(corpus)) if corpus.is_file() else ()), None


def _read_corpus(path: Path) -> Iterator[Document]:
    seen: set[str] = set()
    for number, record in objects(path):
        document = _document(path, number, record)
        if document.doc_id in seen:
            raise malformed(path, number, "repeats the id of an earlier document", document.doc_id)
        seen.add(document.doc_id)
        yield document


def _document(path: Path, number: int, record: Record) -> Document:
    """A line of the corpus; one that has a title alone is its title."""
    title, text = record.get("title") or "", first_of(record, _TEXT_NAMES) or ""
    if not isinstance(title, str) or not isinstance(text, str) or not (title + text).strip():
        raise malformed(path, number, "must have a `text`, and may have a `title`", dict(record))
    try:
        doc_id = check_doc_id(first_of(record, _CORPUS_ID_NAMES))
    except InvalidRequest as error:
        raise malformed(path, number, f"has no usable `_id` ({error.message})", dict(record)) from error
    source = normalize_id(record.get("doc_id")) or ""
    return Document(doc_id, text if text.strip() else title, title=title, source=source, format="text")


def first_questions(dataset: Dataset, count: int) -> Dataset:
    """The same dataset with its first questions, by id."""
    kept = list(dataset.queries)[:count]
    return replace(
        dataset,
        queries={query: dataset.queries[query] for query in kept},
        qrels={query: dataset.qrels[query] for query in kept if query in dataset.qrels},
        references={query: dataset.references[query] for query in kept if query in dataset.references},
    )
