"""What a lookup returns: Candidates become EvidenceBlocks, and a Trace says what happened to the others.

These values don't know how candidates were found, nor how an agent will see them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Literal

from citewell.model.documents import Locator
from citewell.model.making import maker_in_order

if TYPE_CHECKING:
    from citewell.model.search import PathReport

Role = Literal["hit", "neighbour"]
DropReason = Literal["below_similarity", "duplicate", "document_cap", "return_n"]
LookupStatus = Literal["ok", "empty_store", "no_match", "below_similarity", "all_already_shown"]
HintKind = Literal["document", "category"]


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a candidate was found: the path, its rank there (from 1) and the raw score there."""

    path: str
    rank: int
    score: float | None

    def to_dict(self) -> dict[str, object]:
        """JSON values, in the order of the fields."""
        return {"path": self.path, "rank": self.rank, "score": self.score}


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A chunk with its identity on its way through post-processing.

    Four numbers that are never copied into one another (SCORE-1):

    Attributes:
        similarity: dense, higher is closer, the cosine in [-1, 1] for unit vectors; None if unknown.
        lexical_score: BM25, > 0; None if the lexical path did not find it.
        fused_score: reciprocal rank fusion; None in dense mode.
        rerank_score: of a Reranker; None without one.
    """

    evidence_key: str
    doc_id: str | None = None
    chunk_index: int | None = None
    text: str = ""
    source: str = ""
    title: str = ""
    breadcrumb: str = ""
    category: str | None = None
    similarity: float | None = None
    lexical_score: float | None = None
    fused_score: float | None = None
    rerank_score: float | None = None
    reasons: tuple[Reason, ...] = ()
    span: tuple[int, int] | None = None
    locator: Locator = field(default_factory=Locator)
    metadata: Mapping[str, object] = field(default_factory=dict)
    digest: str = ""

    def without_text(self) -> Candidate:
        """For the trace. Spelt out, in the order of the fields: a lookup does this to a hundred, and it takes half."""
        return _make_candidate(
            self.evidence_key,
            self.doc_id,
            self.chunk_index,
            "",
            self.source,
            self.title,
            self.breadcrumb,
            self.category,
            self.similarity,
            self.lexical_score,
            self.fused_score,
            self.rerank_score,
            self.reasons,
            self.span,
            self.locator,
            self.metadata,
            self.digest,
        )

    def as_block(self) -> EvidenceBlock:
        """As evidence, without what only the search needed: the labels that the document bears."""
        return _make_block(*_values(self), "hit")


_values = attrgetter(*[part.name for part in fields(Candidate)])
_make_candidate = maker_in_order(Candidate)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceBlock(Candidate):
    """A candidate that post-processing kept (`hit`), or a chunk beside one (`neighbour`)."""

    role: Role = "hit"

    def to_dict(self) -> dict[str, object]:
        """JSON values, in the order of the fields."""
        return {
            "evidence_key": self.evidence_key,
            "doc_id": self.doc_id,
            "chunk_index": self.chunk_index,
            "text": self.text,
            "source": self.source,
            "title": self.title,
            "breadcrumb": self.breadcrumb,
            "category": self.category,
            "similarity": self.similarity,
            "lexical_score": self.lexical_score,
            "fused_score": self.fused_score,
            "rerank_score": self.rerank_score,
            "reasons": [reason.to_dict() for reason in self.reasons],
            "role": self.role,
            "span": None if self.span is None else list(self.span),
            "locator": self.locator.to_dict(),
            "metadata": dict(self.metadata),
            "digest": self.digest,
        }


_make_block = maker_in_order(EvidenceBlock)


@dataclass(frozen=True, slots=True)
class Dropped:
    """A candidate that was left out, and why; `detail` has the numbers, such as `0.31 < 0.45`."""

    evidence_key: str
    reason: DropReason
    detail: str = ""

    def to_dict(self) -> dict[str, object]:
        """JSON values, in the order of the fields."""
        return {"evidence_key": self.evidence_key, "reason": self.reason, "detail": self.detail}


@dataclass(frozen=True, slots=True)
class Refined:
    """What post-processing made of a list of candidates.

    Attributes:
        kept: in the order of the input.
        dropped: in the order of the input.
        kept_identifiers: keys below the floor that stayed by SCORE-6.
    """

    kept: tuple[Candidate, ...]
    dropped: tuple[Dropped, ...]
    kept_identifiers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hint:
    """Where the answer may be: a pointer into the catalogue, never evidence and never citable (L0-1, L0-2).

    Attributes:
        kind: `document` or `category`.
        value: a docId, or a category.
        title: of the document, or empty.
        why: in a few words, such as `title: pool, exhausted`.
    """

    kind: HintKind
    value: str
    title: str = ""
    why: str = ""

    def to_dict(self) -> dict[str, object]:
        """JSON values, in the order of the fields."""
        return {"kind": self.kind, "value": self.value, "title": self.title, "why": self.why}


@dataclass(frozen=True, slots=True)
class LookupPolicy:
    """How wide to look and what to keep; the `rag.*` settings.

    Attributes:
        retrieve_k: the width asked of each path.
        return_n: the most blocks returned.
        max_chunks_per_document: 0 = no cap.
        min_similarity: None = off; 0 is a threshold.
        keep_identifiers: SCORE-6.
        refill: POST-7.
        hints: whether to look for hints (L0-1).
        hints_filter: whether the best hinted category stands in for one that the caller didn't give (L0-2).
        rerank_k: how many of the best candidates a reranker is asked about; None = retrieve_k.
    """

    retrieve_k: int = 50
    return_n: int = 5
    max_chunks_per_document: int = 2
    min_similarity: float | None = None
    keep_identifiers: bool = True
    refill: bool = True
    hints: bool = True
    hints_filter: bool = False
    rerank_k: int | None = None


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that an agent is shown (PROJ-4); None = no limit. Budgets count an item's `content`."""

    max_items: int | None = 10
    max_chars_per_item: int | None = 4_000
    max_chars: int | None = 16_000
    max_tokens: int | None = 6_000


@dataclass(frozen=True, slots=True)
class Trace:
    """What happened in a lookup, from values that the stages returned.

    Attributes:
        mode: of the search.
        settings: each number in force and where it came from: `{"return_n": (5, "default")}`.
        paths: one report per path.
        weights: of the paths in the fusion.
        candidates: every candidate in fused order, or in a reranker's, without its text; ranks per path in its reasons.
        dropped: what was left out, with its reason, in fused order.
        kept_identifiers: keys below the floor that stayed by SCORE-6.
        out_of_scope: how many hits a path leaked and the lookup dropped; never named (POST-8).
        refill: keys that the one refill request brought, None if none was made.
        refill_paths: one report per path of that request.
        distinct_documents: in the evidence.
        notes: what was done to the arguments (query clamped, blank category).
        milliseconds: by stage.
    """

    mode: str
    settings: Mapping[str, tuple[object, str]] = field(default_factory=dict)
    paths: tuple[PathReport, ...] = ()
    weights: Mapping[str, float] = field(default_factory=dict)
    candidates: tuple[Candidate, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    kept_identifiers: tuple[str, ...] = ()
    out_of_scope: int = 0
    refill: tuple[str, ...] | None = None
    refill_paths: tuple[PathReport, ...] = ()
    distinct_documents: int = 0
    notes: tuple[str, ...] = ()
    milliseconds: Mapping[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, object]:
        """JSON values, in the order of the fields; candidates without text."""
        return {
            "mode": self.mode,
            "settings": {name: {"value": value, "origin": origin} for name, (value, origin) in self.settings.items()},
            "paths": [report.to_dict() for report in self.paths],
            "weights": dict(self.weights),
            "candidates": [_candidate_line(candidate) for candidate in self.candidates],
            "dropped": [dropped.to_dict() for dropped in self.dropped],
            "kept_identifiers": list(self.kept_identifiers),
            "out_of_scope": self.out_of_scope,
            "refill": None if self.refill is None else list(self.refill),
            "refill_paths": [report.to_dict() for report in self.refill_paths],
            "distinct_documents": self.distinct_documents,
            "notes": list(self.notes),
            "milliseconds": {stage: round(value, 3) for stage, value in self.milliseconds.items()},
        }


def _candidate_line(candidate: Candidate) -> dict[str, object]:
    return {
        "evidence_key": candidate.evidence_key,
        "similarity": candidate.similarity,
        "lexical_score": candidate.lexical_score,
        "fused_score": candidate.fused_score,
        "rerank_score": candidate.rerank_score,
        "reasons": [reason.to_dict() for reason in candidate.reasons],
    }


@dataclass(frozen=True, slots=True)
class LookupOutcome:
    """Everything that a lookup found; what a projection shows an agent is made of this alone.

    Attributes:
        query: as searched.
        status: PROJ-6.
        degraded: causes; empty if everything that should run did.
        evidence: best first; neighbours stand beside their hit (CONTEXT-2).
        trace: how it came about.
        hints: where else to look (L0-1), best first.
        already_shown: keys of evidence that the session was shown with this text before, whole (SESSION-1).
        partly_shown: how many characters of this text it was shown before, of evidence that was cut short.
    """

    query: str
    status: LookupStatus
    degraded: tuple[str, ...]
    evidence: tuple[EvidenceBlock, ...]
    trace: Trace
    hints: tuple[Hint, ...] = ()
    already_shown: frozenset[str] = frozenset()
    partly_shown: Mapping[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, object]:
        """JSON values, in the order of the fields."""
        return {
            "query": self.query,
            "status": self.status,
            "degraded": list(self.degraded),
            "evidence": [block.to_dict() for block in self.evidence],
            "hints": [hint.to_dict() for hint in self.hints],
            "already_shown": sorted(self.already_shown),
            "partly_shown": dict(self.partly_shown),
            "trace": self.trace.to_dict(),
        }
