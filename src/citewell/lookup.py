"""The read path, top to bottom: an admitted request in, evidence and its trace out.

    LookupRequest -> search -> scope check -> refine (-> one refill -> refine) -> status -> LookupResult

This is the one file in which that order is written. It does not know how candidates are found (KnowledgeSearchPort
does), how they are fused, or what an agent will see of them (projection does).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, fields, replace

from citewell.admission import LookupRequest
from citewell.analysis import identifiers
from citewell.model import (
    Budget,
    Candidate,
    EvidenceBlock,
    Hit,
    LookupOutcome,
    LookupStatus,
    Refined,
    SearchRequest,
    SearchResponse,
    Trace,
)
from citewell.ports import KnowledgeSearchPort
from citewell.postprocess import full_documents, refine
from citewell.projection import project
from citewell.scope import is_visible

_log = logging.getLogger("citewell.lookup")


@dataclass(frozen=True, slots=True)
class LookupResult(LookupOutcome):
    """What `Knowledge.lookup` returns: everything that was found, and how to show it to an agent."""

    budget: Budget = field(default_factory=Budget, repr=False)

    def to_agent(self, budget: Budget | None = None) -> dict[str, object]:
        """What the agent sees: `{status, degraded, query, evidence: [item], omitted, hints}` within the budget."""
        return project(self, self.budget if budget is None else budget)


@dataclass(frozen=True, slots=True)
class _Visible:
    """The hits of a response that the caller may see, and how many it may not."""

    hits: tuple[Hit, ...]
    leaked: int


class Lookup:
    """The read path over one search port; safe to call from several threads.

    Args:
        port: where candidates come from.
        budget: what `to_agent` keeps to unless told otherwise.
        clock: seconds; for the trace only.
    """

    def __init__(
        self,
        port: KnowledgeSearchPort,
        *,
        budget: Budget | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._port = port
        self._budget = budget or Budget()
        self._clock = clock

    def run(self, request: LookupRequest) -> LookupResult:
        """Look up evidence.

        Raises:
            StoreError, EmbedderError: every path failed. Nothing found is a status, never an error.
        """
        with _session(self._port) as port:
            return self._run(request, port)

    def _run(self, request: LookupRequest, port: KnowledgeSearchPort) -> LookupResult:
        started = self._clock()
        response = port.search(_search_request(request))
        visible = _within_scope(response, request)
        refined = _refine(visible.hits, request)
        searched = self._clock()

        further = _refill(request, response, refined, port)
        if further is not None:
            extra = _within_scope(further, request)
            seen = {hit.evidence_key for hit in visible.hits}
            hits = visible.hits + tuple(hit for hit in extra.hits if hit.evidence_key not in seen)
            visible = _Visible(hits, visible.leaked + extra.leaked)
            refined = _refine(visible.hits, request)
        finished = self._clock()

        first = {hit.evidence_key for hit in response.hits}
        refilled = tuple(block.evidence_key for block in refined.kept if block.evidence_key not in first)
        evidence = tuple(_block(candidate) for candidate in refined.kept)
        return LookupResult(
            query=request.query,
            status=_status(response, visible, refined),
            degraded=_causes(response, further),
            evidence=evidence,
            trace=Trace(
                mode=request.mode,
                settings=_settings(request),
                paths=response.paths,
                weights=response.weights,
                candidates=tuple(replace(hit, text="") for hit in visible.hits),
                dropped=refined.dropped,
                kept_identifiers=refined.kept_identifiers,
                out_of_scope=visible.leaked,
                refill=None if further is None else refilled,
                refill_paths=() if further is None else further.paths,
                distinct_documents=len({block.doc_id or block.source or block.evidence_key for block in evidence}),
                notes=request.notes,
                milliseconds=_milliseconds(response, started, searched, finished),
            ),
            budget=self._budget,
        )


def _session(port: KnowledgeSearchPort) -> AbstractContextManager[KnowledgeSearchPort]:
    """Both searches of a lookup should see one state of the store; a port that can promise that has a `session`."""
    session = getattr(port, "session", None)
    return session() if callable(session) else nullcontext(port)


def _refill(
    request: LookupRequest, response: SearchResponse, refined: Refined, port: KnowledgeSearchPort
) -> SearchResponse | None:
    """One further request that leaves out the documents that are full, if that can bring more (POST-7)."""
    policy = request.policy
    wanted = policy.refill and request.mode == "hybrid" and len(refined.kept) < policy.return_n
    if not wanted or not any(report.cut for report in response.paths):
        return None
    full = full_documents(refined.kept, policy.max_chunks_per_document)
    if not full:
        return None
    return port.search(replace(_search_request(request), exclude_documents=tuple(sorted(full))))


def _search_request(request: LookupRequest) -> SearchRequest:
    return SearchRequest(
        query=request.query,
        retrieve_k=request.policy.retrieve_k,
        mode=request.mode,
        category=request.category,
        scope=request.scope,
        where=request.where,
    )


def _within_scope(response: SearchResponse, request: LookupRequest) -> _Visible:
    """Scope is the search's business; this second look keeps one forgotten filter from becoming a leak (SAFE-1)."""
    visible = tuple(hit for hit in response.hits if is_visible(hit.scope, request.scope))
    leaked = [hit.evidence_key for hit in response.hits if not is_visible(hit.scope, request.scope)]
    if leaked:
        _log.error("a path returned %d hits outside the caller's scope; they were dropped: %s", len(leaked), leaked)
    return _Visible(visible, len(leaked))


def _refine(hits: tuple[Hit, ...], request: LookupRequest) -> Refined:
    policy = request.policy
    return refine(
        hits,
        return_n=policy.return_n,
        max_chunks_per_document=policy.max_chunks_per_document,
        min_similarity=policy.min_similarity,
        keep_identifiers=policy.keep_identifiers,
        query_identifiers=identifiers(request.query),
    )


def _status(response: SearchResponse, visible: _Visible, refined: Refined) -> LookupStatus:
    if refined.kept:
        return "ok"
    if response.store_empty:
        return "empty_store"
    return "below_similarity" if visible.hits else "no_match"


def _causes(response: SearchResponse, further: SearchResponse | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(response.degraded + (further.degraded if further else ())))


def _block(candidate: Candidate) -> EvidenceBlock:
    """Without what only the search needed: the labels that the document bears."""
    names = (item.name for item in fields(Candidate))
    return EvidenceBlock(**{name: getattr(candidate, name) for name in names})


def _settings(request: LookupRequest) -> dict[str, tuple[object, str]]:
    policy = request.policy
    values: dict[str, object] = {
        "retrieve_k": policy.retrieve_k,
        "return_n": policy.return_n,
        "max_chunks_per_document": policy.max_chunks_per_document,
        "min_similarity": policy.min_similarity,
        "keep_identifiers": policy.keep_identifiers,
        "refill": policy.refill,
    }
    return {name: (value, request.origins.get(name, "settings")) for name, value in values.items()}


def _milliseconds(response: SearchResponse, started: float, searched: float, finished: float) -> dict[str, float]:
    spent = {"search": (searched - started) * 1000, "refill": (finished - searched) * 1000}
    if response.embed_milliseconds is not None:
        spent["embed"] = response.embed_milliseconds
    return {**spent, "total": (finished - started) * 1000}
