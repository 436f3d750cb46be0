"""Fused keys and fetched chunks become Hits, each with its true similarity and the paths that found it.

RRF-4, SCORE-1..4. Knows no order of steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from citewell.attempts import attempt
from citewell.errors import CitewellError, StoreError
from citewell.fusion import Fused
from citewell.model import Hit, Path, Reason, Scored, StoredChunk
from citewell.model.making import maker
from citewell.search.embedding import Embedded
from citewell.search.honest import checked_similarities
from citewell.search.on_snapshot import OnSnapshot

Rankings = Mapping[Path, Sequence[Scored]]

_make_hit, _make_reason = maker(Hit), maker(Reason)


def similarities(
    rankings: Rankings, embedded: Embedded, calls: OnSnapshot
) -> tuple[dict[str, float], CitewellError | None]:
    """Each candidate's similarity: as the dense paths scored it, and for the others in one further call (SCORE-4).

    Where it can't be had, the error that says why.
    """
    known = {scored.key: scored.score for path in rankings if path != "lexical" for scored in rankings[path]}
    unknown = [scored.key for scored in rankings.get("lexical", ()) if scored.key not in known]
    vector = embedded.vector
    if vector is None or not unknown:
        return known, embedded.error if unknown else None

    def asked() -> dict[str, float]:
        return checked_similarities(calls.view.similarities(vector, unknown), unknown)

    further, error = attempt(
        lambda: calls.run("similarities", "reading similarities", asked),
        StoreError,
        "similarities of lexical hits could not be had",
    )
    return {**known, **(further or {})}, error


def hit(
    entry: Fused,
    chunk: StoredChunk,
    rankings: Rankings,
    similarity: Mapping[str, float],
    *,
    fused: bool,
) -> Hit:
    """One hit; reasons in the order of the rankings, `fused` = whether the fused score means anything (hybrid mode)."""
    ranks = entry.ranks
    scores = {path: found[ranks[path] - 1].score for path, found in rankings.items() if path in ranks}
    return _make_hit(
        evidence_key=chunk.evidence_key,
        doc_id=chunk.doc_id,
        chunk_index=chunk.chunk_index,
        text=chunk.text,
        source=chunk.source,
        title=chunk.title,
        breadcrumb=chunk.breadcrumb,
        category=chunk.category,
        similarity=similarity.get(entry.key),
        lexical_score=scores.get("lexical"),
        fused_score=entry.score if fused else None,
        reasons=tuple([_make_reason(path, ranks[path], score) for path, score in scores.items()]),
        span=chunk.span,
        locator=chunk.locator,
        metadata=chunk.metadata,
        digest=chunk.digest,
        scope=chunk.scope,
    )
