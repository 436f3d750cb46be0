"""What an evaluation is made of, frozen: labelled questions, and what a system answered; knows no file and no metric.

A label says what answers a question, in one of three grains:

    document   a document id; an answer counts at the first block of that document
    chunk      an evidence key
    span       a part of a document's text, by characters [start, end); a chunk counts for what it covers
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from citewell.model import Document

Grain = Literal["document", "chunk", "span"]


@dataclass(frozen=True, slots=True)
class Reference:
    """A part of a document's text that answers a question: characters [start, end).

    Attributes:
        doc_id: whose text.
        start: from 0.
        end: exclusive.
        repeat: the same words as another reference of the question; either of them will do.
        text: its words, where the file has them.
    """

    doc_id: str
    start: int
    end: int
    repeat: bool = False
    text: str = ""


@dataclass(frozen=True, slots=True)
class Dataset:
    """Labelled questions, and where the documents are that they ask about.

    Attributes:
        name: the folder's name.
        grain: what labels name.
        queries: text by query id, ids ascending; those alone that something answers.
        qrels: gains by label, for each query; gains are finite and >= 0. Empty for grain `span`.
        references: for grain `span`: the parts that answer each query.
        documents: those of a `corpus.jsonl`, one line = one document; empty if there is a folder.
        folder: a folder of files (`docs/`), or None.
        labels: the file that they were read from, such as `qrels.tsv`.
        unanswerable: text by query id of the questions that are judged and that nothing answers; no measure has them.
    """

    name: str
    grain: Grain
    queries: Mapping[str, str]
    qrels: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    references: Mapping[str, tuple[Reference, ...]] = field(default_factory=dict)
    documents: tuple[Document, ...] = ()
    folder: Path | None = None
    labels: str = ""
    unanswerable: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """What one query got.

    Attributes:
        keys: evidence keys, best first.
        documents: the document of each key, None where it has none; as long as `keys`.
        spans: characters [start, end) of each key in its document, or None; as long as `keys`.
        digests: equal for equal texts; as long as `keys`, or empty where they aren't known.
        shown: how many of the keys an agent gets to see; None = all. The others are there to be judged.
        tokens: what the agent's projection of it would cost.
        milliseconds: from question to answer, without the embedding of the question.
        embed_milliseconds: of that embedding; None if there was none.
        degraded: what should have run and did not; empty if all did.
    """

    keys: tuple[str, ...]
    documents: tuple[str | None, ...]
    spans: tuple[tuple[int, int] | None, ...]
    digests: tuple[str, ...] = ()
    shown: int | None = None
    tokens: int = 0
    milliseconds: float = 0.0
    embed_milliseconds: float | None = None
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """One system's (a mode's, a setting's) answers to all judged queries, by query id.

    Attributes:
        name: told apart from other runs by it.
        answers: by query id; one that is not there got no answer, which counts as zero.
        refused: why, for each query that was refused as no question.
        settings: what sets it apart, by dotted key.
    """

    name: str
    answers: Mapping[str, Answer]
    refused: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)
