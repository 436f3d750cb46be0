"""Fused keys and fetched chunks become Hits, each with its true similarity and the paths that found it.

RRF-4, SCORE-1..4. Knows no order of steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from citewell.attempts import attempt
from citewell.errors import CitewellError, StoreError
from citewell.fusion import Fused
from citewell.model import Hit, Path, Reason, Scored, StoredChunk
from citewell.model.making import maker, maker_in_order
from citewell.search.embedding import Embedded
from citewell.search.honest import checked_similarities
from citewell.search.on_snapshot import OnSnapshot

Rankings = Mapping[Path, Sequence[Scored]]

_make_hit, _make_reason = maker_in_order(Hit), maker(Reason)


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


def reasons(rankings: Rankings) -> dict[str, list[Reason]]:
    """Why each key was found: a reason per path that found it, in the order of the rankings."""
    found: dict[str, list[Reason]] = {}
    for path, ranking in rankings.items():
        for rank, scored in enumerate(ranking, start=1):
            found.setdefault(scored.key, []).append(_make_reason(path, rank, scored.score))
    return found


def hit(entry: Fused, chunk: StoredChunk, found: Sequence[Reason], similarity: float | None, *, fused: bool) -> Hit:
    """One hit; `found` = why, in the order of PATHS; `fused` = whether that score means anything (hybrid mode)."""
    last = found[-1]
    return _make_hit(  # in the order of the fields of a Hit
        chunk.evidence_key,
        chunk.doc_id,
        chunk.chunk_index,
        chunk.text,
        chunk.source,
        chunk.title,
        chunk.breadcrumb,
        chunk.category,
        similarity,
        last.score if last.path == "lexical" else None,
        entry.score if fused else None,
        None,  # no reranker was asked yet
        tuple(found),
        chunk.span,
        chunk.locator,
        chunk.metadata,
        chunk.digest,
        chunk.scope,
    )
