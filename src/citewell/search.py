"""KnowledgeSearchPort over a Store and an Embedder: the paths, run concurrently, fused, and fetched (PORT-1..5).

It decides which paths run, and says of each what became of it. It does not know what a lookup keeps of the hits, how
an engine finds them, or what an agent will see.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from citewell.analysis import analyze_query
from citewell.errors import CitewellError, EmbedderError, EmbedderUnavailable, StoreError
from citewell.fusion import Fused, fuse
from citewell.model import (
    PATHS,
    Filters,
    Hit,
    Path,
    PathReport,
    Reason,
    Scored,
    SearchPolicy,
    SearchRequest,
    SearchResponse,
    StoredChunk,
)
from citewell.ports import Embedder, Snapshot, Store, check_embedder, embedder_identity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

_T = TypeVar("_T")
_log = logging.getLogger("citewell.search")


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What became of one path: its ranking and report, and the error if it failed."""

    report: PathReport
    ranking: tuple[Scored, ...] = ()
    error: CitewellError | None = None


@dataclass(frozen=True, slots=True)
class _Embedded:
    """What became of the query's embedding."""

    vector: Vector | None
    milliseconds: float
    error: CitewellError | None = None


@dataclass(frozen=True, slots=True)
class _Plan:
    """Which paths run, each with its filters, and why the others don't."""

    run: Mapping[Path, Filters]
    skipped: Mapping[Path, str] = field(default_factory=dict)


class StoreSearch:
    """Searches one store with one embedder; safe to call from several threads.

    Args:
        store: where the chunks are.
        embedder: the one that filled the store (INGEST-8).
        policy: constant, weights and paths of the fusion.
        analyze: the query side of the analysis that the store's terms were made with.
        clock: seconds; for the reports only.
    """

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        policy: SearchPolicy | None = None,
        *,
        analyze: Callable[[str], Sequence[str]] = analyze_query,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._policy = policy or SearchPolicy()
        self._analyze = analyze
        self._clock = clock
        self._workers = ThreadPoolExecutor(max_workers=8, thread_name_prefix="citewell-path")
        self._matched = False

    def close(self) -> None:
        """Release the threads. Idempotent."""
        self._workers.shutdown(wait=True, cancel_futures=True)

    def search(self, request: SearchRequest) -> SearchResponse:
        """See KnowledgeSearchPort.search."""
        with self._store.snapshot() as view:
            terms = self._analyze(request.query) if request.mode == "hybrid" else []
            plan = self._plan(request, terms)
            if view.size == 0:
                return _nothing_stored(request, plan)
            self._check_embedder()
            outcomes, embedded = self._run(request, plan, terms, view)
            _raise_if_all_failed(outcomes, plan)
            return self._respond(request, outcomes, embedded, view)

    def _plan(self, request: SearchRequest, terms: Sequence[str]) -> _Plan:
        if request.mode == "dense":
            return _Plan({"dense": request.filters(category=request.category)})
        run: dict[Path, Filters] = {}
        skipped: dict[Path, str] = {}
        for path in PATHS:
            cause = self._why_skip(path, request, terms)
            if cause:
                skipped[path] = cause
            else:
                run[path] = request.filters(category=request.category if path == "dense_filtered" else None)
        return _Plan(run, skipped)

    def _why_skip(self, path: Path, request: SearchRequest, terms: Sequence[str]) -> str:
        if path not in self._policy.paths:
            return "switched off by retrieval.search.paths"
        if path == "dense_filtered" and request.category is None:
            return "no category"
        if path == "lexical" and not terms:
            return "the query holds no term"
        return ""

    def _check_embedder(self) -> None:
        """The store must have been filled by this embedder; asked once, for a binding never changes.

        An endpoint that does not answer can't say who it is; embedding the query will say so, path by path.
        """
        if self._matched:
            return
        binding = self._store.binding()
        try:
            own = embedder_identity(self._embedder)
        except EmbedderUnavailable:
            return
        if binding is not None:
            check_embedder(binding.embedder, own)
        self._matched = True

    def _run(
        self, request: SearchRequest, plan: _Plan, terms: Sequence[str], view: Snapshot
    ) -> tuple[dict[Path, _Outcome], _Embedded | None]:
        """Start the lexical path, embed the query meanwhile, then start the dense paths; gather all."""
        running: dict[Path, Future[_Outcome]] = {}
        if "lexical" in plan.run:
            running["lexical"] = self._start("lexical", request, plan, partial(view.lexical, terms))
        dense = [path for path in plan.run if path != "lexical"]
        embedded = self._embed(request.query) if dense else None
        outcomes: dict[Path, _Outcome] = {path: _skip(path, cause) for path, cause in plan.skipped.items()}
        for path in dense:
            if embedded is None or embedded.vector is None:
                outcomes[path] = _failed(path, plan.run[path], embedded.error if embedded else None)
            else:
                running[path] = self._start(path, request, plan, partial(view.dense, embedded.vector))
        outcomes.update({path: future.result() for path, future in running.items()})
        return outcomes, embedded

    def _start(
        self,
        path: Path,
        request: SearchRequest,
        plan: _Plan,
        search: Callable[[int, Filters], tuple[Scored, ...]],
    ) -> Future[_Outcome]:
        def run() -> _Outcome:
            filters, started = plan.run[path], self._clock()
            ranking, error = _attempt(
                lambda: search(request.retrieve_k, filters), StoreError, f"the {path} path failed"
            )
            spent = (self._clock() - started) * 1000
            if ranking is None:
                return _failed(path, filters, error, spent)
            cut = len(ranking) >= request.retrieve_k
            report = PathReport(path, "ran", len(ranking), cut, spent, filters.describe())
            return _Outcome(report, ranking)

        return self._workers.submit(run)

    def _embed(self, query: str) -> _Embedded:
        started = self._clock()
        vector, error = _attempt(
            lambda: self._embedder.embed_query(query), EmbedderError, "the query could not be embedded"
        )
        return _Embedded(vector, (self._clock() - started) * 1000, error)

    def _respond(
        self, request: SearchRequest, outcomes: Mapping[Path, _Outcome], embedded: _Embedded | None, view: Snapshot
    ) -> SearchResponse:
        reported = [path for path in PATHS if path in outcomes]
        rankings = {path: outcomes[path].ranking for path in reported if outcomes[path].ranking}
        similarity = _similarities(rankings, embedded.vector if embedded else None, view)
        fused = self._fuse(request, rankings, similarity)
        chunks = view.fetch([entry.key for entry in fused])
        return SearchResponse(
            hits=tuple(
                _hit(entry, chunks[entry.key], rankings, similarity, fused=request.mode == "hybrid")
                for entry in fused
                if entry.key in chunks
            ),
            paths=tuple(outcomes[path].report for path in reported),
            degraded=tuple(
                outcomes[path].report.cause for path in reported if outcomes[path].report.status == "failed"
            ),
            embed_milliseconds=embedded.milliseconds if embedded else None,
            weights={} if request.mode == "dense" else {path: self._policy.weights.get(path, 1.0) for path in rankings},
        )

    def _fuse(
        self, request: SearchRequest, rankings: Mapping[Path, Sequence[Scored]], similarity: Mapping[str, float]
    ) -> tuple[Fused, ...]:
        keys: dict[str, Sequence[str]] = {
            path: [scored.key for scored in ranking] for path, ranking in rankings.items()
        }
        weights = self._policy.weights if request.mode == "hybrid" else None
        return fuse(keys, k=self._policy.rrf_k, weights=weights, similarity=similarity)


def _attempt(
    act: Callable[[], _T], wrap: type[CitewellError], what: str
) -> tuple[_T, None] | tuple[None, CitewellError]:
    """The edge of a path: whatever breaks inside becomes a named cause, so that the other paths still answer."""
    try:
        return act(), None
    except CitewellError as error:
        _log.warning("%s: %s", what, error)
        return None, error
    except Exception as error:  # noqa: BLE001 - a store or embedder of a third party may raise anything
        _log.warning("%s", what, exc_info=True)
        wrapped = wrap(f"{what}: {type(error).__name__}: {error}", way_out="See the log for the traceback.")
        wrapped.__cause__ = error
        return None, wrapped


def _skip(path: Path, cause: str) -> _Outcome:
    return _Outcome(PathReport(path, "skipped", cause=cause))


def _failed(path: Path, filters: Filters, error: CitewellError | None, milliseconds: float = 0.0) -> _Outcome:
    cause = f"{path}: {error.message}" if error else path
    report = PathReport(path, "failed", milliseconds=milliseconds, filter=filters.describe(), cause=cause)
    return _Outcome(report, error=error)


def _nothing_stored(request: SearchRequest, plan: _Plan) -> SearchResponse:
    causes = {**dict.fromkeys(plan.run, "the store is empty"), **plan.skipped}
    return SearchResponse(
        (), tuple(_skip(path, causes[path]).report for path in PATHS if path in causes), store_empty=True
    )


def _raise_if_all_failed(outcomes: Mapping[Path, _Outcome], plan: _Plan) -> None:
    """One path that failed degrades the answer; all of them is an error, for "nothing found" would be a lie."""
    errors = [outcomes[path].error for path in PATHS if path in plan.run]
    first = errors[0] if errors else None
    if first is not None and all(errors):
        raise first


def _similarities(rankings: Mapping[Path, Sequence[Scored]], vector: Vector | None, view: Snapshot) -> dict[str, float]:
    """Each candidate's similarity: as the dense paths scored it, and for the others in one further call (SCORE-4)."""
    known = {scored.key: scored.score for path in rankings if path != "lexical" for scored in rankings[path]}
    unknown = [scored.key for scored in rankings.get("lexical", ()) if scored.key not in known]
    if vector is None or not unknown:
        return known
    further, _error = _attempt(
        lambda: view.similarities(vector, unknown), StoreError, "similarities of lexical hits could not be had"
    )
    return {**known, **(further or {})}


def _hit(
    entry: Fused,
    chunk: StoredChunk,
    rankings: Mapping[Path, Sequence[Scored]],
    similarity: Mapping[str, float],
    *,
    fused: bool,
) -> Hit:
    reasons = tuple(
        Reason(path, entry.ranks[path], rankings[path][entry.ranks[path] - 1].score)
        for path in PATHS
        if path in entry.ranks
    )
    lexical = next((reason.score for reason in reasons if reason.path == "lexical"), None)
    return Hit(
        evidence_key=chunk.evidence_key,
        doc_id=chunk.doc_id,
        chunk_index=chunk.chunk_index,
        text=chunk.text,
        source=chunk.source,
        title=chunk.title,
        breadcrumb=chunk.breadcrumb,
        category=chunk.category,
        similarity=similarity.get(entry.key),
        lexical_score=lexical,
        fused_score=entry.score if fused else None,
        reasons=reasons,
        span=chunk.span,
        locator=chunk.locator,
        metadata=chunk.metadata,
        digest=chunk.digest,
        scope=chunk.scope,
    )
