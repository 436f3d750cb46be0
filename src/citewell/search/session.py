"""One snapshot of the store, and the searches made on it: embed, run the paths, fuse, fetch.

terms; the lexical path starts -> the query is embedded -> the dense paths start -> fuse -> fetch -> SearchResponse
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from citewell.analysis import analyze_query
from citewell.attempts import attempt
from citewell.errors import EmbedderError, EmbedderUnavailable, StoreError
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
from citewell.ports import Embedder, KnowledgeSearchPort, Snapshot, Store, check_embedder, embedder_identity
from citewell.search.hits import Rankings, hit, similarities
from citewell.search.outcome import (
    Embedded,
    Outcome,
    checked_vector,
    failed,
    nothing_stored,
    raise_if_all_failed,
    skipped,
)
from citewell.search.plan import Plan, plan

Find = Callable[[int, Filters], tuple[Scored, ...]]
"""A path's search on a snapshot: (how many, filters) -> ranking."""


@dataclass(frozen=True, slots=True)
class _Parts:
    """What every search of a StoreSearch shares."""

    embedder: Embedder
    policy: SearchPolicy
    analyze: Callable[[str], Sequence[str]]
    clock: Callable[[], float]
    workers: ThreadPoolExecutor


class StoreSearch:
    """Searches one store with one embedder; safe to call from several threads.

    Args:
        store: where the chunks are.
        embedder: the one that filled the store (INGEST-8).
        policy: constant, weights and paths of the fusion.
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
            ThreadPoolExecutor(max_workers=8, thread_name_prefix="citewell-path"),
        )
        self._matched = False

    def close(self) -> None:
        """Release the threads. Idempotent."""
        self._parts.workers.shutdown(wait=True, cancel_futures=True)

    def search(self, request: SearchRequest) -> SearchResponse:
        """See KnowledgeSearchPort.search."""
        with self.session() as session:
            return session.search(request)

    @contextmanager
    def session(self) -> Iterator[KnowledgeSearchPort]:
        """Searches made within it see one snapshot of the store, and embed a query once (for a refill)."""
        with self._store.snapshot() as view:
            if view.size:
                self._check_embedder()
            yield _Session(self._parts, view)

    def _check_embedder(self) -> None:
        """The store must have been filled by this embedder; asked once, for a binding never changes.

        An endpoint that does not answer can't say who it is; embedding the query will say so, path by path.
        """
        if self._matched:
            return
        binding = self._store.binding()
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

    def __init__(self, parts: _Parts, view: Snapshot) -> None:
        self._parts, self._view = parts, view
        self._embedded: dict[str, Embedded] = {}

    def search(self, request: SearchRequest) -> SearchResponse:
        """See KnowledgeSearchPort.search."""
        terms = self._parts.analyze(request.query) if request.mode == "hybrid" else []
        planned = plan(request, terms, self._parts.policy)
        if self._view.size == 0:
            return nothing_stored(planned)
        outcomes, embedded = self._run(request, planned, terms)
        raise_if_all_failed(outcomes, planned)
        return self._respond(request, outcomes, embedded)

    def fetch(self, keys: Sequence[str]) -> Mapping[str, StoredChunk]:
        """See KnowledgeSearchPort."""
        return self._view.fetch(keys)

    def _run(self, request: SearchRequest, planned: Plan, terms: Sequence[str]) -> tuple[dict[Path, Outcome], Embedded]:
        """The lexical path starts, the query is embedded meanwhile, then the dense paths run, the last one here."""
        running: dict[Path, Future[Outcome]] = {}
        if "lexical" in planned.run:
            running["lexical"] = self._start(
                partial(self._search, "lexical", partial(self._view.lexical, terms), request, planned)
            )
        embedded = self._embed(request.query)
        outcomes: dict[Path, Outcome] = {path: skipped(path, cause) for path, cause in planned.skipped.items()}
        if embedded.vector is None:
            outcomes |= {path: failed(path, planned.run[path], embedded.error) for path in planned.dense}
        else:
            here = [
                (path, partial(self._search, path, partial(self._view.dense, embedded.vector), request, planned))
                for path in planned.dense
            ]
            running |= {path: self._start(search) for path, search in here[:-1]}
            outcomes |= {path: search() for path, search in here[-1:]}
        return outcomes | {path: future.result() for path, future in running.items()}, embedded

    def _search(self, path: Path, find: Find, request: SearchRequest, planned: Plan) -> Outcome:
        filters, started = planned.run[path], self._parts.clock()
        ranking, error = attempt(lambda: find(request.retrieve_k, filters), StoreError, f"the {path} path failed")
        spent = (self._parts.clock() - started) * 1000
        if ranking is None:
            return failed(path, filters, error, spent)
        cut = len(ranking) >= request.retrieve_k
        return Outcome(PathReport(path, "ran", len(ranking), cut, spent, filters.describe()), ranking)

    def _start(self, search: Callable[[], Outcome]) -> Future[Outcome]:
        try:
            return self._parts.workers.submit(search)
        except RuntimeError as error:
            raise StoreError("the store was closed during the search", way_out="Open it again.") from error

    def _embed(self, query: str) -> Embedded:
        if query not in self._embedded:
            started, embedder = self._parts.clock(), self._parts.embedder
            vector, error = attempt(
                lambda: checked_vector(embedder.embed_query(query), embedder),
                EmbedderError,
                "the query could not be embedded",
            )
            self._embedded[query] = Embedded(vector, (self._parts.clock() - started) * 1000, error)
        return self._embedded[query]

    def _respond(self, request: SearchRequest, outcomes: Mapping[Path, Outcome], embedded: Embedded) -> SearchResponse:
        reports = [outcomes[path].report for path in PATHS if path in outcomes]
        rankings = {path: outcomes[path].ranking for path in PATHS if path in outcomes and outcomes[path].ranking}
        similarity, missing = similarities(rankings, embedded, self._view)
        hybrid = request.mode == "hybrid"
        fused = self._fuse(rankings, similarity, hybrid=hybrid)
        chunks = self._view.fetch([entry.key for entry in fused])
        causes = [report.cause for report in reports if report.status == "failed"]
        return SearchResponse(
            hits=tuple(
                hit(entry, chunks[entry.key], rankings, similarity, fused=hybrid)
                for entry in fused
                if entry.key in chunks
            ),
            paths=tuple(reports),
            degraded=tuple(causes if causes or not missing else [f"similarity: {missing.message}"]),
            embed_milliseconds=embedded.milliseconds,
            weights={path: self._parts.policy.weights.get(path, 1.0) for path in rankings} if hybrid else {},
        )

    def _fuse(self, rankings: Rankings, similarity: Mapping[str, float], *, hybrid: bool) -> tuple[Fused, ...]:
        keys: dict[str, Sequence[str]] = {path: [each.key for each in ranking] for path, ranking in rankings.items()}
        policy = self._parts.policy
        return fuse(keys, k=policy.rrf_k, weights=policy.weights if hybrid else None, similarity=similarity)
