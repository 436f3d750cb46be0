"""A lookup's `to_dict` -> the table of its candidates, what became of each, and where the time went; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from citewell.server.web.views.values import Json, mapping, number, objects

MOST_ROWS = 100
"""Candidates in the table; the JSON has them all."""

REASONS = {
    "below_similarity": "Below the similarity floor",
    "duplicate": "The same evidence, ranked higher already",
    "document_cap": "Its document has enough chunks",
    "return_n": "Beyond the number of blocks to return",
}
"""What each reason means, in the order in which post-processing applies them."""

STATUSES = {
    "ok": "Evidence was found",
    "empty_store": "The knowledge base is empty",
    "no_match": "Nothing was found under these filters",
    "below_similarity": "Something was found, but nothing close enough to the query",
    "all_already_shown": "All that was found has been shown before",
}

_STAGES = ("hints", "search", "rerank", "refill", "context", "session")


@dataclass(frozen=True, slots=True)
class Share:
    """What one path's rank adds to a fused score."""

    path: str
    amount: float


@dataclass(frozen=True, slots=True)
class Row:
    """A candidate.

    Attributes:
        place: in the order that fusion or a reranker gave, from 1.
        ranks: by path.
        shares: of the fused score, by path; they add up to it.
        fate: `shown` to the agent, `kept` as evidence only, or why it was dropped; `other` if nothing says.
        detail: the numbers behind the fate.
        refilled: whether the further request brought it.
    """

    key: str
    place: int
    ranks: Mapping[str, int]
    scores: Mapping[str, float]
    similarity: float | None
    lexical: float | None
    fused: float | None
    rerank: float | None
    shares: tuple[Share, ...] = ()
    fate: str = "other"
    detail: str = ""
    refilled: bool = False

    @property
    def kept(self) -> bool:
        """Whether it is evidence."""
        return self.fate in ("shown", "kept")


@dataclass(frozen=True, slots=True)
class Dropped:
    """Those that were left out for one reason."""

    reason: str
    meaning: str
    entries: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class PathLine:
    """What one path did, and how long it took."""

    path: str
    status: str
    hits: int
    cut: bool
    milliseconds: float
    filter: str
    cause: str
    weight: float | None
    refill: bool = False


@dataclass(frozen=True, slots=True)
class LookupView:
    """What a page draws of a lookup.

    Attributes:
        paths: of both requests, if there was a further one.
        rows: every candidate, in order.
        dropped: by reason, in the order in which reasons are applied.
        stages: name and milliseconds, in the order in which they ran.
        embed: milliseconds of the query's embedding, which is part of the search; None if it was not embedded.
        settings: name, value and origin of each number in force.
    """

    query: str
    status: str
    meaning: str
    mode: str
    degraded: tuple[str, ...]
    notes: tuple[str, ...]
    hints: tuple[Json, ...]
    paths: tuple[PathLine, ...]
    rows: tuple[Row, ...]
    dropped: tuple[Dropped, ...]
    stages: tuple[tuple[str, float], ...]
    embed: float | None
    total: float
    documents: int
    evidence: int
    settings: tuple[tuple[str, object, str], ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def reranked(self) -> bool:
        """Whether a reranker had a say."""
        return any(row.rerank is not None for row in self.rows)

    @property
    def dropped_count(self) -> int:
        """How many were left out."""
        return sum(len(group.entries) for group in self.dropped)


def lookup_view(result: Json, shown: Sequence[str], rrf_k: float) -> LookupView:
    """What a page draws.

    Args:
        result: a lookup's `to_dict`.
        shown: the evidence keys that the agent saw.
        rrf_k: the constant of the fusion, for each path's share.
    """
    trace = mapping(result.get("trace"))
    times = {name: value for name, value in mapping(trace.get("milliseconds")).items() if number(value) is not None}
    evidence = objects(result.get("evidence"))
    status = str(result.get("status"))
    return LookupView(
        query=str(result.get("query")),
        status=status,
        meaning=STATUSES.get(status, status),
        mode=str(trace.get("mode")),
        degraded=tuple(result.get("degraded", ())),
        notes=tuple(trace.get("notes", ())),
        hints=tuple(objects(result.get("hints"))),
        paths=_paths(trace),
        rows=_rows(trace, [block["evidence_key"] for block in evidence], frozenset(shown), rrf_k),
        dropped=_dropped(trace),
        stages=tuple((name, times[name]) for name in _STAGES if name in times),
        embed=times.get("embed"),
        total=times.get("total", 0.0),
        documents=int(trace.get("distinct_documents", 0)),
        evidence=len(evidence),
        settings=tuple(
            (name, given["value"], given["origin"]) for name, given in mapping(trace.get("settings")).items()
        ),
        labels={block["evidence_key"]: block["breadcrumb"] or block["title"] for block in evidence},
    )


def _paths(trace: Json) -> tuple[PathLine, ...]:
    weights = mapping(trace.get("weights"))
    first = [_path(report, weights, refill=False) for report in objects(trace.get("paths"))]
    return (*first, *(_path(report, weights, refill=True) for report in objects(trace.get("refill_paths"))))


def _path(report: Json, weights: Json, *, refill: bool) -> PathLine:
    name = str(report["path"])
    return PathLine(
        path=name,
        status=str(report["status"]),
        hits=int(report["hits"]),
        cut=bool(report["cut"]),
        milliseconds=float(report["milliseconds"]),
        filter=str(report["filter"]),
        cause=str(report["cause"]),
        weight=number(weights.get(name)),
        refill=refill,
    )


def _rows(trace: Json, evidence: Sequence[str], shown: frozenset[str], rrf_k: float) -> tuple[Row, ...]:
    fates = {key: ("shown" if key in shown else "kept", "") for key in evidence}
    for drop in objects(trace.get("dropped")):
        fates.setdefault(drop["evidence_key"], (drop["reason"], drop["detail"]))
    weights = mapping(trace.get("weights"))
    taken: set[tuple[str, int]] = set()
    rows = []
    for place, candidate in enumerate(objects(trace.get("candidates")), start=1):
        reasons = objects(candidate.get("reasons"))
        places = {(reason["path"], reason["rank"]) for reason in reasons}
        rows.append(_row(place, candidate, reasons, weights, fates, rrf_k, refilled=not places.isdisjoint(taken)))
        taken |= places
    return tuple(rows)


def _row(
    place: int,
    candidate: Json,
    reasons: Sequence[Json],
    weights: Json,
    fates: Mapping[str, tuple[str, str]],
    rrf_k: float,
    *,
    refilled: bool,
) -> Row:
    """`refilled`: its rank on a path is one that a hit before it has, so that another request found it."""
    key, fused = str(candidate["evidence_key"]), number(candidate["fused_score"])
    fate, detail = fates.get(key, ("other", ""))
    shares = [
        Share(why["path"], (number(weights.get(why["path"], 1.0)) or 0.0) / (rrf_k + why["rank"])) for why in reasons
    ]
    return Row(
        key=key,
        place=place,
        ranks={why["path"]: why["rank"] for why in reasons},
        scores={why["path"]: why["score"] for why in reasons if number(why["score"]) is not None},
        similarity=number(candidate["similarity"]),
        lexical=number(candidate["lexical_score"]),
        fused=fused,
        rerank=number(candidate["rerank_score"]),
        shares=() if fused is None else tuple(shares),
        fate=fate,
        detail=detail,
        refilled=refilled,
    )


def _dropped(trace: Json) -> tuple[Dropped, ...]:
    groups: dict[str, list[tuple[str, str]]] = {reason: [] for reason in REASONS}
    for drop in objects(trace.get("dropped")):
        groups.setdefault(str(drop["reason"]), []).append((str(drop["evidence_key"]), str(drop["detail"])))
    return tuple(
        Dropped(reason, REASONS.get(reason, reason), tuple(entries)) for reason, entries in groups.items() if entries
    )
