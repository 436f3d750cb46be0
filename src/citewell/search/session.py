"""One snapshot of the store, and the searches made on it: embed, run the paths, fuse, fetch.

terms; the embedding begins -> the lexical path starts -> the vector is there -> the dense paths start -> fuse -> fetch

What starts runs beside the caller, if the store must be asked over a network; a store at hand answers the caller at
once, path by path, and only the embedding runs beside it (`on_snapshot` says why). Each call on the snapshot has its
limit of time there, and its answer is checked before it is believed.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

from citewell.analysis import analyze_query
from citewell.attempts import attempt, insist
from citewell.errors import EmbedderUnavailable, StoreError
from citewell.fusion import Fused, fuse
from citewell.model import (
    PATHS,
    Filters,
    Path,
    PathReport,
    Scored,
    SearchPolicy,
    SearchRequest,
    SearchResponse,
    StoredChunk,
)
from citewell.patience import Patience
from citewell.ports import Embedder, KnowledgeSearchPort, Store, check_embedder, embedder_identity
from citewell.search.embedding import Embedded, begin_embedding
from citewell.search.hits import Rankings, hit, reasons, similarities
from citewell.search.honest import believable, checked_ranking
from citewell.search.on_snapshot import OnSnapshot
from citewell.search.outcome import Outcome, failed, nothing_stored, raise_if_all_failed, skipped
from citewell.search.plan import Plan, plan
from citewell.weighing import WEIGHTS, weigh

Find = Callable[[int, Filters], tuple[Scored, ...]]
"""A path's search on a snapshot: (how many, filters) -> ranking."""

_log = logging.getLogger("citewell.search")


@dataclass(frozen=True, slots=True)
class _Parts:
    """What every search of a StoreSearch shares."""

    embedder: Embedder
    policy: SearchPolicy
    analyze: Callable[[str], Sequence[str]]
    clock: Callable[[], float]
    patience: Patience
    doubt: Callable[[], str]


class StoreSearch:
    """Searches one store with one embedder; safe to call from several threads.

    Args:
        store: where the chunks are.
        embedder: the one that filled the store (INGEST-8).
        policy: constant, weights and paths of the fusion, and how long a call on the store is waited for.
        analyze: the query side of the analysis that the store's terms were made with; None = what the store says
            (`query_terms`), else Citewell's own.
        clock: seconds; for the reports only.
    """

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        policy: SearchPolicy | None = None,
        *,
        analyze: Callable[[str], Sequence[str]] | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._store = store
        own: Callable[[str], Sequence[str]] = getattr(store, "query_terms", analyze_query)
        self._parts = _Parts(
            embedder,
            policy or SearchPolicy(),
            analyze or own,
            clock,
            Patience("citewell-path"),
            getattr(store, "doubt", str),
        )
        self._matched = False

    def close(self) -> None:
        """Release the threads, having waited a while for those that are busy. Idempotent."""
        left = self._parts.patience.close()
        if left:
            _log.warning("%d calls of the store still run; they end with the process", left)

    def search(self, request: SearchRequest) -> SearchResponse:
        """See KnowledgeSearchPort.search."""
        with self.session() as session:
            return session.search(request)

    @contextmanager
    def session(self) -> Iterator[KnowledgeSearchPort]:
        """Searches made within it see one snapshot of the store, and embed a query once (for a refill)."""
        parts, at_hand = self._parts, bool(getattr(self._store, "at_hand", False))
        snapshot = insist(self._store.snapshot, StoreError, "the store could not be read")
        with OnSnapshot(parts.patience, parts.policy.timeout_s, snapshot, at_hand=at_hand) as calls:
            if calls.size:
                self._check_embedder()
            yield _Session(parts, calls)

    def _check_embedder(self) -> None:
        """The store must have been filled by this embedder; asked once, for a binding never changes.

        An endpoint that does not answer can't say who it is; embedding the query will say so, path by path.
        """
        if self._matched:
            return
        binding = insist(self._store.binding, StoreError, "the store could not say who filled it")
        own, _error = attempt(
            lambda: embedder_identity(self._parts.embedder), EmbedderUnavailable, "the embedder can't be named"
        )
        if own is None:
            return
        if binding is not None:
            check_embedder(binding.embedder, own)
        self._matched = True


class _Session:
    """One snapshot, and what was embedded while it is open."""

    def __init__(self, parts: _Parts, calls: OnSnapshot) -> None:
        self._parts, self._calls, self._view = parts, calls, calls.view
        self._embedded: dict[str, Embedded] = {}
        self._weighed: dict[str, dict[str, float]] = {}

    def search(self, request: SearchRequest) -> SearchResponse:
        """See KnowledgeSearchPort.search."""
        terms = self._terms(request.query) if request.mode == "hybrid" else []
        planned = plan(request, terms, self._parts.policy)
        if self._calls.size == 0:
            return self._doubted(nothing_stored(planned))
        outcomes, embedded = self._run(request, planned, terms)
        raise_if_all_failed(outcomes, planned)
        return self._doubted(self._respond(request, outcomes, embedded))

    def _doubted(self, response: SearchResponse) -> SearchResponse:
        """With what the store says of itself, if its contents may not be all that was acknowledged."""
        said, error = attempt(self._parts.doubt, StoreError, "it could not say whether it is whole")
        doubt = error.message if error else said
        return replace(response, degraded=(*response.degraded, f"store: {doubt}")) if doubt else response

    def _terms(self, query: str) -> Sequence[str]:
        return insist(lambda: self._parts.analyze(query), StoreError, "the question's terms could not be had")

    def fetch(self, keys: Sequence[str]) -> Mapping[str, StoredChunk]:
        """See KnowledgeSearchPort."""
        fetched = partial(self._calls.run, "fetch", "reading the chunks", lambda: self._view.fetch(keys))
        return insist(fetched, StoreError, "the chunks could not be read")

    def _run(self, request: SearchRequest, planned: Plan, terms: Sequence[str]) -> tuple[dict[Path, Outcome], Embedded]:
        """The lexical path runs beside the embedding, the dense paths when the vector is there."""
        running: dict[Path, Callable[[], Outcome]] = {}
        embedding = self._embedding(request.query)
        if "lexical" in planned.run:
            running["lexical"] = self._start("lexical", partial(self._view.lexical, terms), request, planned)
        self._embedded[request.query] = embedded = embedding()
        outcomes: dict[Path, Outcome] = {path: skipped(path, cause) for path, cause in planned.skipped.items()}
        if embedded.vector is None:
            outcomes |= {path: failed(path, planned.run[path], embedded.error) for path in planned.dense}
        else:
            find = partial(self._view.dense, embedded.vector)
            running |= {path: self._start(path, find, request, planned) for path in planned.dense}
        return outcomes | {path: outcome() for path, outcome in running.items()}, embedded

    def _start(self, path: Path, find: Find, request: SearchRequest, planned: Plan) -> Callable[[], Outcome]:
        """Begin a path's search; what is returned waits for what becomes of it."""
        filters, width, clock = planned.run[path], request.retrieve_k, self._parts.clock
        started = clock()

        def search() -> tuple[tuple[Scored, ...], float]:
            return checked_ranking(find(width, filters), path, width), (clock() - started) * 1000

        found = self._calls.start(path, "the search", search)

        def outcome() -> Outcome:
            done, error = attempt(found, StoreError, f"the {path} path failed")
            if done is None:
                return failed(path, filters, error, (clock() - started) * 1000)
            ranking, spent = done
            return Outcome(
                PathReport(path, "ran", len(ranking), len(ranking) >= width, spent, filters.describe()), ranking
            )

        return outcome

    def _embedding(self, query: str) -> Callable[[], Embedded]:
        """Begin to embed the query, if that was not done in this session; what is returned waits for it."""
        known = self._embedded.get(query)
        return begin_embedding(self._parts.embedder, query, self._parts.clock) if known is None else lambda: known

    def _respond(self, request: SearchRequest, outcomes: Mapping[Path, Outcome], embedded: Embedded) -> SearchResponse:
        reports = [outcomes[path].report for path in PATHS if path in outcomes]
        rankings = {path: outcomes[path].ranking for path in PATHS if path in outcomes and outcomes[path].ranking}
        similarity, missing = similarities(rankings, embedded, self._calls)
        hybrid = request.mode == "hybrid"
        weights = self._weights(request.query, rankings) if hybrid else {}
        fused = self._fuse(rankings, weights, similarity)
        chunks, doubts = believable(self.fetch([entry.key for entry in fused]), rankings, request)
        found = reasons(rankings)
        causes = [report.cause for report in reports if report.status == "failed"] + doubts
        return SearchResponse(
            hits=tuple(
                [
                    hit(entry, chunks[entry.key], found[entry.key], similarity.get(entry.key), fused=hybrid)
                    for entry in fused
                    if entry.key in chunks
                ]
            ),
            paths=tuple(reports),
            degraded=tuple(causes if causes or not missing else [f"similarity: {missing.message}"]),
            embed_milliseconds=embedded.milliseconds,
            weights=weights,
        )

    def _weights(self, query: str, rankings: Rankings) -> dict[str, float]:
        """Of the paths that found something; a refill asks again about the same query and keeps its weights."""
        policy = self._parts.policy
        if policy.weights is not None:
            return {path: policy.weights.get(path, 1.0) for path in rankings}
        if query not in self._weighed:
            scores: dict[str, list[float]] = {path: [each.score for each in found] for path, found in rankings.items()}
            self._weighed[query] = weigh(scores, k=policy.rrf_k)
        return {path: self._weighed[query].get(path, WEIGHTS[path]) for path in rankings}

    def _fuse(
        self, rankings: Rankings, weights: Mapping[str, float], similarity: Mapping[str, float]
    ) -> tuple[Fused, ...]:
        keys: dict[str, Sequence[str]] = {path: [each.key for each in ranking] for path, ranking in rankings.items()}
        return fuse(keys, k=self._parts.policy.rrf_k, weights=weights, similarity=similarity)
