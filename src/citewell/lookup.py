"""The read path, top to bottom: an admitted request in, evidence and its trace out.

    LookupRequest -> hints -> search -> scope check -> rerank -> refine (-> one refill -> refine)
                  -> neighbours -> what the session knows already -> status -> LookupResult

This is the one file in which that order is written. It does not know how candidates are found (KnowledgeSearchPort
does), how they are fused, what a session store or a reranker is made of, or what an agent will see of the evidence
(projection does). Only the search itself can fail a lookup; whatever else fails is said in `degraded`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial

from citewell import context, projection
from citewell.admission import LookupRequest
from citewell.analysis import identifiers
from citewell.attempts import attempt
from citewell.errors import StoreError
from citewell.fetched import fetched
from citewell.hints.asking import begin_hints
from citewell.laps import Laps
from citewell.model import (
    Budget,
    EvidenceBlock,
    Hit,
    LookupOutcome,
    LookupStatus,
    Refined,
    SearchRequest,
    SearchResponse,
    StoredChunk,
    Trace,
)
from citewell.model.catalogue import Hinted
from citewell.ports import HintSource, KnowledgeSearchPort, Reranker
from citewell.postprocess import full_documents, refine
from citewell.rerank import Reranked, rerank
from citewell.scope import is_visible
from citewell.sessions import OnShown, Seen, SessionMemory

_log = logging.getLogger("citewell.lookup")


@dataclass(frozen=True, slots=True)
class LookupResult(LookupOutcome):
    """What `Knowledge.lookup` returns: everything that was found, and how to show it to an agent."""

    budget: Budget = field(default_factory=Budget, repr=False)
    on_shown: OnShown | None = field(default=None, repr=False, compare=False)
    count_tokens: Callable[[str], float] | None = field(default=None, repr=False, compare=False)

    def to_agent(self, budget: Budget | None = None) -> dict[str, object]:
        """What the agent sees: `{status, degraded, query, evidence: [item], omitted, hints}` within the budget.

        Within a session, what it shows is recorded as shown (GUARD-1): what it shows whole comes as a reference next
        time, and what it cuts short comes again. Where that can't be recorded, `degraded` says so.
        """
        seen = projection.project(self, self.budget if budget is None else budget, count_tokens=self.count_tokens)
        record = self.on_shown
        if record is None:
            return seen
        shown, cut = self.projected(seen), _cut_short(seen)
        _, error = attempt(lambda: record(shown, cut), StoreError, "what was shown could not be remembered")
        causes = self.degraded if error is None else (*self.degraded, f"session: {error.message}")
        return {**seen, "degraded": list(dict.fromkeys(causes))}

    def would_show(self) -> tuple[EvidenceBlock, ...]:
        """The evidence that `to_agent` shows within the result's own budget; records nothing."""
        return self.projected(projection.project(self, self.budget, count_tokens=self.count_tokens))

    def projected(self, seen: Mapping[str, object]) -> tuple[EvidenceBlock, ...]:
        """The evidence that a projection of this result shows, in its order; not what the projection left out."""
        keys = {item["document_id"] for item in _items(seen)}
        return tuple(block for block in self.evidence if block.evidence_key in keys)


def _cut_short(seen: Mapping[str, object]) -> dict[str, int]:
    """How many characters are shown of each text that is not shown whole."""
    return {str(item["document_id"]): len(str(item["content"])) for item in _items(seen) if item["truncated"]}


def _items(seen: Mapping[str, object]) -> list[Mapping[str, object]]:
    items = seen["evidence"]
    return items if isinstance(items, list) else []


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
        count_tokens: what it counts tokens with; None = a bound by script.
        hints: where hints come from; None = there are none.
        reranker: asked between fusion and post-processing; None = the fused order stays.
        memory: of sessions; None = sessions remember nothing.
        clock: seconds; for the trace only.
    """

    def __init__(
        self,
        port: KnowledgeSearchPort,
        *,
        budget: Budget | None = None,
        count_tokens: Callable[[str], float] | None = None,
        hints: HintSource | None = None,
        reranker: Reranker | None = None,
        memory: SessionMemory | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._port = port
        self._budget, self._count_tokens = budget or Budget(), count_tokens
        self._hints, self._reranker, self._memory, self._clock = hints, reranker, memory, clock

    def run(self, request: LookupRequest) -> LookupResult:
        """Look up evidence.

        Raises:
            StoreError, EmbedderError: every path failed. Nothing found is a status, never an error.
        """
        with _session(self._port) as port:
            return self._run(request, port)

    def _run(self, request: LookupRequest, port: KnowledgeSearchPort) -> LookupResult:
        laps = Laps(self._clock)
        wanted = request.policy.hints or request.policy.hints_filter
        hints = begin_hints(self._hints if wanted else None, _search_request(request))
        told = hints() if _may_filter(request) else None
        request = _with_hinted_category(request, told[0]) if told else request
        laps.mark("hints")

        response = port.search(_search_request(request))
        visible = _within_scope(response, request)
        laps.mark("search")

        hinted, no_hints = told or hints()
        laps.mark("hints")

        ranked = self._rerank(visible.hits, request)
        refined = _refine(ranked.hits, request)
        laps.mark("rerank")

        further = _refill(request, response, refined, port)
        if further is not None:
            extra = _within_scope(further, request)
            ranked = _appended(ranked, extra.hits)
            visible = _Visible(visible.hits + extra.hits, visible.leaked + extra.leaked)
            refined = _refine(ranked.hits, request)
        laps.mark("refill")

        kept = tuple(candidate.as_block() for candidate in refined.kept)
        evidence, no_neighbours = _widened(kept, request, port)
        laps.mark("context")

        seen, no_memory = self._seen(request, evidence)
        laps.mark("session")

        return LookupResult(
            query=request.query,
            status=_status(response, visible, evidence, seen.whole),
            degraded=_causes(response, further, no_hints, ranked.cause, no_neighbours, no_memory),
            evidence=evidence,
            hints=hinted.hints if request.policy.hints else (),
            already_shown=seen.whole,
            partly_shown=seen.partly,
            trace=Trace(
                mode=request.mode,
                settings=_settings(request),
                paths=response.paths,
                weights=response.weights,
                candidates=tuple([hit.without_text() for hit in ranked.hits]),
                dropped=refined.dropped,
                kept_identifiers=refined.kept_identifiers,
                out_of_scope=visible.leaked,
                refill=None if further is None else _brought(kept, response),
                refill_paths=() if further is None else further.paths,
                distinct_documents=len({block.doc_id or block.source or block.evidence_key for block in kept}),
                notes=(*request.notes, *filter(None, [hinted.note])),
                milliseconds=laps.milliseconds(response.embed_milliseconds),
            ),
            budget=self._budget,
            count_tokens=self._count_tokens,
            on_shown=self._recorder(request),
        )

    def _rerank(self, hits: tuple[Hit, ...], request: LookupRequest) -> Reranked:
        if self._reranker is None:
            return Reranked(hits)
        return rerank(request.query, hits, self._reranker, request.policy.rerank_k or request.policy.retrieve_k)

    def _seen(self, request: LookupRequest, evidence: tuple[EvidenceBlock, ...]) -> tuple[Seen, str]:
        """What of this evidence the session was shown before; and why that isn't known."""
        memory, session = self._memory, request.session
        if memory is None or session is None or request.repeat:
            return Seen(), ""
        seen, error = attempt(
            lambda: memory.seen(session, request.scope, evidence), StoreError, "the session could not be read"
        )
        return seen or Seen(), f"session: {error.message}" if error else ""

    def _recorder(self, request: LookupRequest) -> OnShown | None:
        memory, session = self._memory, request.session
        return None if memory is None or session is None else partial(memory.record, session, request.scope)


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


def _brought(kept: tuple[EvidenceBlock, ...], response: SearchResponse) -> tuple[str, ...]:
    """The keys of evidence that the first search didn't find."""
    first = {hit.evidence_key for hit in response.hits}
    return tuple(block.evidence_key for block in kept if block.evidence_key not in first)


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
    leaked = [hit.evidence_key for hit in response.hits if not is_visible(hit.scope, request.scope)]
    if not leaked:
        return _Visible(tuple(response.hits), 0)
    _log.error("a path returned %d hits outside the caller's scope; they were dropped: %s", len(leaked), leaked)
    return _Visible(tuple(hit for hit in response.hits if is_visible(hit.scope, request.scope)), len(leaked))


def _refine(hits: tuple[Hit, ...], request: LookupRequest) -> Refined:
    policy = request.policy
    return refine(
        hits,
        return_n=policy.return_n,
        max_chunks_per_document=policy.max_chunks_per_document,
        min_similarity=policy.min_similarity,
        keep_identifiers=policy.keep_identifiers,
        query_identifiers=() if policy.min_similarity is None else identifiers(request.query),
    )


def _appended(ranked: Reranked, further: tuple[Hit, ...]) -> Reranked:
    """Refilled hits come after the others (POST-7), in their own order."""
    seen = {hit.evidence_key for hit in ranked.hits}
    return replace(ranked, hits=ranked.hits + tuple(hit for hit in further if hit.evidence_key not in seen))


def _widened(
    kept: tuple[EvidenceBlock, ...], request: LookupRequest, port: KnowledgeSearchPort
) -> tuple[tuple[EvidenceBlock, ...], str]:
    """The evidence with its neighbours, and why there are none if that is a failure (CONTEXT-1)."""
    keys = context.wanted(kept, request.neighbours) if request.neighbours else ()
    if not keys:
        return kept, ""
    fetch: Callable[[tuple[str, ...]], Mapping[str, StoredChunk]] | None = getattr(port, "fetch", None)
    if fetch is None:
        return kept, "neighbours: this search port can't fetch a chunk by its key"
    chunks, error = attempt(lambda: fetched(fetch(keys)), StoreError, "neighbours could not be fetched")
    visible = {key: chunk for key, chunk in (chunks or {}).items() if is_visible(chunk.scope, request.scope)}
    beside = {key: chunk.as_block("neighbour") for key, chunk in visible.items()}
    return context.place(kept, beside, request.neighbours), f"neighbours: {error.message}" if error else ""


def _may_filter(request: LookupRequest) -> bool:
    """Whether a hinted category may be searched within: the caller gave none, and hybrid search is to use it (L0-2)."""
    return request.category is None and request.mode == "hybrid" and request.policy.hints_filter


def _with_hinted_category(request: LookupRequest, hinted: Hinted) -> LookupRequest:
    """The request with the category that the hints agree on, if they do."""
    notes = (f"category {hinted.category!r} comes from the hints",) if hinted.category is not None else ()
    return replace(request, category=hinted.category, notes=request.notes + notes)


def _status(
    response: SearchResponse, visible: _Visible, evidence: tuple[EvidenceBlock, ...], repeats: frozenset[str]
) -> LookupStatus:
    """A neighbour that wasn't shown before is something new, too."""
    if evidence:
        return "all_already_shown" if all(block.evidence_key in repeats for block in evidence) else "ok"
    if response.store_empty:
        return "empty_store"
    return "below_similarity" if visible.hits else "no_match"


def _causes(response: SearchResponse, further: SearchResponse | None, *others: str) -> tuple[str, ...]:
    causes = response.degraded + (further.degraded if further else ()) + others
    return tuple(dict.fromkeys(cause for cause in causes if cause))


def _settings(request: LookupRequest) -> dict[str, tuple[object, str]]:
    policy = request.policy
    values: dict[str, object] = {
        "retrieve_k": policy.retrieve_k,
        "return_n": policy.return_n,
        "max_chunks_per_document": policy.max_chunks_per_document,
        "min_similarity": policy.min_similarity,
        "keep_identifiers": policy.keep_identifiers,
        "refill": policy.refill,
        "hints_filter": policy.hints_filter,
        "rerank_k": policy.rerank_k,
        "neighbours": request.neighbours,
    }
    return {name: (value, request.origins.get(name, "settings")) for name, value in values.items()}
