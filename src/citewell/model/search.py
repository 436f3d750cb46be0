"""What crosses KnowledgeSearchPort: a SearchRequest goes in, a SearchResponse of Hits comes out.

No vendor's type appears here, and nothing here knows how a path finds its candidates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from citewell.model.documents import Locator
from citewell.model.evidence import Candidate, EvidenceBlock, Role

Mode = Literal["dense", "hybrid"]
Path = Literal["dense", "dense_filtered", "lexical"]
PathStatus = Literal["ran", "skipped", "failed"]
Scalar = str | int | float | bool

PATHS: tuple[Path, ...] = ("dense", "dense_filtered", "lexical")
"""Every path, in the order in which they are reported."""


@dataclass(frozen=True, slots=True)
class Filters:
    """What a path's search must hold to; applied inside the search, never after it.

    Attributes:
        category: the document's category equals it; None = any.
        scope: the document bears at least one of these labels; None = everything, () = nothing. A document
            without labels matches only None (SAFE-3).
        where: metadata fields and the value each must equal, sorted by field; a metadata list matches if it holds
            the value. A number equals a number of the same value; True and 1 differ.
        exclude_documents: doc_ids to leave out.
    """

    category: str | None = None
    scope: tuple[str, ...] | None = None
    where: tuple[tuple[str, Scalar], ...] = ()
    exclude_documents: tuple[str, ...] = ()

    def describe(self) -> str:
        """The effective filter as one readable line, for reports: `category = "ops" and scope in ["a"]`."""
        parts = []
        if self.category is not None:
            parts.append(f"category = {self.category!r}")
        if self.scope is not None:
            parts.append(f"scope in {list(self.scope)!r}")
        parts += [f"{name} = {value!r}" for name, value in self.where]
        if self.exclude_documents:
            parts.append(f"document not in {list(self.exclude_documents)!r}")
        return " and ".join(parts) or "none"


@dataclass(frozen=True, slots=True)
class Scored:
    """One entry of a path's ranking: an evidence key and the raw score there, higher is better."""

    key: str
    score: float


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk with what its document gives it, as a store's `fetch` returns it."""

    evidence_key: str
    doc_id: str | None
    chunk_index: int | None
    text: str
    source: str = ""
    title: str = ""
    breadcrumb: str = ""
    category: str | None = None
    scope: tuple[str, ...] | None = None
    span: tuple[int, int] | None = None
    locator: Locator = field(default_factory=Locator)
    metadata: Mapping[str, object] = field(default_factory=dict)
    digest: str = ""

    def as_block(self, role: Role = "hit") -> EvidenceBlock:
        """As evidence that no search found: without scores, reasons and the labels that the document bears."""
        return EvidenceBlock(
            evidence_key=self.evidence_key,
            doc_id=self.doc_id,
            chunk_index=self.chunk_index,
            text=self.text,
            source=self.source,
            title=self.title,
            breadcrumb=self.breadcrumb,
            category=self.category,
            role=role,
            span=self.span,
            locator=self.locator,
            metadata=self.metadata,
            digest=self.digest,
        )


@dataclass(frozen=True, slots=True)
class SearchPolicy:
    """How hybrid search fuses; the `retrieval.search.*` settings.

    Attributes:
        mode: used when a request names none.
        rrf_k: the constant of reciprocal rank fusion, > 0.
        weights: of each path, the same for every query; a path not named weighs 1. None = each query's own, from how
            sharply each path's scores fall (`citewell.weighing`).
        paths: those that may run in hybrid mode.
        timeout_s: how long a path, the query's embedding and the reading of chunks are waited for, each.
    """

    mode: Mode = "dense"
    rrf_k: float = 60
    weights: Mapping[str, float] | None = None
    paths: tuple[Path, ...] = PATHS
    timeout_s: float = 20.0


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What a lookup asks of a search port (PORT-2).

    Attributes:
        query: admitted text, not blank.
        retrieve_k: the width asked of each path, >= 1.
        mode: `dense`: one dense search; `hybrid`: up to three paths, fused.
        category: soft; None = unknown.
        scope, where, exclude_documents: hard; see Filters.
    """

    query: str
    retrieve_k: int
    mode: Mode = "dense"
    category: str | None = None
    scope: tuple[str, ...] | None = None
    where: tuple[tuple[str, Scalar], ...] = ()
    exclude_documents: tuple[str, ...] = ()

    def filters(self, *, category: str | None = None) -> Filters:
        """The hard filters of this request, plus a category if one is given."""
        return Filters(category, self.scope, self.where, self.exclude_documents)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit(Candidate):
    """What a search port returns: a candidate, and the labels that its document bears."""

    scope: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class PathReport:
    """What one path did.

    Attributes:
        status: ran, skipped (cause says why it had nothing to do) or failed (cause says what broke).
        hits: how many it returned.
        cut: whether it was cut off at retrieve-k, so that there may be more.
        milliseconds: wall time of the search, without the query's embedding.
        filter: the effective filter (`Filters.describe`).
    """

    path: str
    status: PathStatus
    hits: int = 0
    cut: bool = False
    milliseconds: float = 0.0
    filter: str = "none"
    cause: str = ""

    def to_dict(self) -> dict[str, object]:
        """JSON values, in the order of the fields."""
        return {
            "path": self.path,
            "status": self.status,
            "hits": self.hits,
            "cut": self.cut,
            "milliseconds": round(self.milliseconds, 3),
            "filter": self.filter,
            "cause": self.cause,
        }


@dataclass(frozen=True, slots=True)
class SearchResponse:
    """What a search port answers.

    Attributes:
        hits: best first (RRF-3 in hybrid mode, similarity then key in dense mode); each evidence key once.
        paths: one report per path that the mode knows, in the order of PATHS.
        degraded: a cause for each path that should have run and did not; empty if all did.
        store_empty: the store holds no chunk at all.
        embed_milliseconds: what the query's embedding took; None if it was not embedded.
        weights: the weight of each path in the fusion; empty in dense mode.
    """

    hits: tuple[Hit, ...]
    paths: tuple[PathReport, ...]
    degraded: tuple[str, ...] = ()
    store_empty: bool = False
    embed_milliseconds: float | None = None
    weights: Mapping[str, float] = field(default_factory=dict)
