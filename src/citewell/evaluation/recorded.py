"""What each path found for each query, deep, kept to try fusion and post-processing again without a store.

One lookup a query, without cap, under a floor that nothing reaches: then its trace names every candidate with its rank
in each path and its similarity, and what the lookup keeps all the same is what an identifier excepts from any floor
(SCORE-6). Texts are kept of those alone, for `postprocess.refine` reads no other.

It knows neither labels nor settings, and no store: whoever asks brings the function that looks up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from sys import intern
from typing import Final, Literal, TypedDict

from citewell.analysis import identifiers
from citewell.errors import InvalidRequest
from citewell.model import PATHS, Candidate, LookupOutcome

DEPTH: Final = 200
"""How many candidates each path is asked for."""


class Deep(TypedDict):
    """The arguments of a lookup that `record` can read."""

    mode: Literal["hybrid"]
    retrieve_k: int
    return_n: int
    max_chunks_per_document: int
    min_similarity: float


Ask = Callable[[str, Deep], LookupOutcome]
"""Looks up a query with these arguments."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What one query found.

    Attributes:
        rankings: evidence keys by path, best first, at most `depth` each; a path that found nothing is left out.
        similarity: by key; a key whose similarity is unknown is left out.
        identifiers: of the query.
        excepted: by key, the title, breadcrumb and text of each hit that no floor drops.
        scores: by path, the raw scores along its ranking.
    """

    rankings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    similarity: Mapping[str, float] = field(default_factory=dict)
    identifiers: tuple[str, ...] = ()
    excepted: Mapping[str, str] = field(default_factory=dict)
    scores: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Recording:
    """What all queries found.

    Attributes:
        depth: the width that each path was asked for.
        queries: by query id, ascending.
        chunks: by evidence key, every chunk that was found: its identity and place alone, no text, no score.
        degraded: causes for which a path did not answer, each once, in order of appearance.
    """

    depth: int
    queries: Mapping[str, Recorded]
    chunks: Mapping[str, Candidate]
    degraded: tuple[str, ...] = ()


def record(
    queries: Mapping[str, str], ask: Ask, *, depth: int = DEPTH, told: Callable[[int], None] | None = None
) -> Recording:
    """Look up every query once. One that a lookup refuses (too long is not, blank is) has found nothing.

    Args:
        queries: text by query id.
        ask: looks up.
        depth: the width asked of each path, >= 1.
        told: hears how many queries are done.
    """
    arguments = Deep(mode="hybrid", retrieve_k=depth, return_n=depth, max_chunks_per_document=0, min_similarity=1.0)
    found: dict[str, Recorded] = {}
    chunks: dict[str, Candidate] = {}
    causes: dict[str, None] = {}
    for done, query in enumerate(sorted(queries), start=1):
        try:
            outcome = ask(queries[query], arguments)
        except InvalidRequest:
            found[query] = Recorded()
        else:
            found[query] = read(outcome)
            causes |= dict.fromkeys(outcome.degraded)
            for candidate in outcome.trace.candidates:
                chunks.setdefault(intern(candidate.evidence_key), _place(candidate))
        if told is not None:
            told(done)
    return Recording(depth, found, chunks, tuple(causes))


def read(outcome: LookupOutcome) -> Recorded:
    """What a lookup with the arguments of `Deep` found."""
    candidates, kept = outcome.trace.candidates, set(outcome.trace.kept_identifiers)
    ranked = {path: found for path in PATHS if (found := _ranked(candidates, path))}
    return Recorded(
        rankings={path: tuple(key for key, _ in found) for path, found in ranked.items()},
        scores={path: tuple(score for _, score in found) for path, found in ranked.items()},
        similarity={intern(c.evidence_key): c.similarity for c in candidates if c.similarity is not None},
        identifiers=tuple(identifiers(outcome.query)),
        excepted={
            block.evidence_key: "\n".join((block.title, block.breadcrumb, block.text))
            for block in outcome.evidence
            if block.evidence_key in kept
        },
    )


def _ranked(candidates: tuple[Candidate, ...], path: str) -> list[tuple[str, float]]:
    """The keys that a path found and its raw scores of them, by its rank."""
    found = {reason.rank: (c, reason) for c in candidates for reason in c.reasons if reason.path == path}
    return [(intern(c.evidence_key), reason.score or 0.0) for _, (c, reason) in sorted(found.items())]


def _place(candidate: Candidate) -> Candidate:
    """Whose chunk it is, and where it stands; equal for every query that finds it."""
    return Candidate(
        evidence_key=candidate.evidence_key,
        doc_id=candidate.doc_id,
        chunk_index=candidate.chunk_index,
        source=candidate.source,
        span=candidate.span,
    )
