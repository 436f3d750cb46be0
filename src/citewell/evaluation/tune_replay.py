"""A setting, tried on what was recorded: fused, refined and refilled by the product's own rules, without a store; pure.

The order of the steps is that of `lookup`; a test holds the answers of both equal. It knows no label, and not which
settings are worth trying.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from citewell.evaluation.model import Answer
from citewell.evaluation.recorded import Recorded
from citewell.fusion import fuse
from citewell.model import Candidate, LookupPolicy, Mode, Refined, SearchPolicy
from citewell.postprocess import full_documents, refine
from citewell.weighing import weigh

_HEAD: Final = 3
"""So many times return-n candidates are looked at first: what is kept of them doesn't depend on those below."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Everything that tuning varies.

    Attributes:
        mode, rrf_k: of the search.
        weights: by path, in the order of PATHS; None = each query's own (`citewell.weighing`).
        retrieve_k, max_chunks_per_document, min_similarity: of the lookup.
    """

    mode: Mode
    weights: tuple[tuple[str, float], ...] | None
    rrf_k: float
    retrieve_k: int
    max_chunks_per_document: int
    min_similarity: float | None = None

    @classmethod
    def of(cls, search: SearchPolicy, lookup: LookupPolicy) -> Setting:
        """Those in force."""
        return cls(
            search.mode,
            None if search.weights is None else tuple(search.weights.items()),
            search.rrf_k,
            lookup.retrieve_k,
            lookup.max_chunks_per_document,
            lookup.min_similarity,
        )


@dataclass(frozen=True, slots=True)
class Rules:
    """What tuning leaves as it is: the `rag.*` settings of these names."""

    return_n: int
    keep_identifiers: bool = True
    refill: bool = True


def replay(setting: Setting, rules: Rules, recorded: Recorded, chunks: Mapping[str, Candidate]) -> Answer:
    """What the query would have got under a setting, if no wider than what was recorded.

    A refill (POST-7) asks for more than was recorded only where a path's documents were full that deep; it then gets
    what there is.
    """
    keys = _answered(setting, rules, recorded, chunks)
    places = [chunks[key] for key in keys]
    return Answer(keys, tuple(place.doc_id for place in places), tuple(place.span for place in places))


def _answered(setting: Setting, rules: Rules, recorded: Recorded, chunks: Mapping[str, Candidate]) -> tuple[str, ...]:
    rankings = _cut(setting, recorded.rankings, (), chunks)
    lexical = set(rankings.get("lexical", ()))
    fused = _fused(setting, rankings, recorded)
    refined = _refined(setting, rules, recorded, fused[: _HEAD * rules.return_n], lexical, chunks)
    if len(refined.kept) < rules.return_n:
        refined = _refined(setting, rules, recorded, fused, lexical, chunks)
    full = _to_leave_out(setting, rules, rankings, refined)
    if full:
        further = _cut(setting, recorded.rankings, full, chunks)
        fused = list(dict.fromkeys([*fused, *_fused(setting, further, recorded)]))
        lexical.update(further.get("lexical", ()))
        refined = _refined(setting, rules, recorded, fused, lexical, chunks)
    return tuple(candidate.evidence_key for candidate in refined.kept)


def _cut(
    setting: Setting, rankings: Mapping[str, Sequence[str]], leave_out: Collection[str], chunks: Mapping[str, Candidate]
) -> dict[str, list[str]]:
    """What each path that runs in this mode returns when asked for retrieve-k."""
    paths = [path for path in rankings if setting.mode == "hybrid" or path == "dense"]
    if not leave_out:
        return {path: list(rankings[path][: setting.retrieve_k]) for path in paths}
    return {
        path: [key for key in rankings[path] if chunks[key].doc_id not in leave_out][: setting.retrieve_k]
        for path in paths
    }


def _fused(setting: Setting, rankings: Mapping[str, Sequence[str]], recorded: Recorded) -> list[str]:
    weights = _weighed(setting, recorded) if setting.mode == "hybrid" else None
    known = recorded.similarity
    similarity = {key: known[key] for ranking in rankings.values() for key in ranking if key in known}
    fused = fuse(rankings, k=setting.rrf_k, weights=weights, similarity=similarity)
    return [entry.key for entry in fused]


def _weighed(setting: Setting, recorded: Recorded) -> dict[str, float]:
    """As the search weighs; by what the query found first, for a refill keeps the weights."""
    if setting.weights is not None:
        return dict(setting.weights)
    scores = {path: found[: setting.retrieve_k] for path, found in recorded.scores.items()}
    return weigh(scores, k=setting.rrf_k)


def _refined(
    setting: Setting,
    rules: Rules,
    recorded: Recorded,
    keys: Sequence[str],
    lexical: Collection[str],
    chunks: Mapping[str, Candidate],
) -> Refined:
    floor = setting.min_similarity
    return refine(
        [chunks[key] if floor is None else _candidate(recorded, chunks[key], key in lexical) for key in keys],
        return_n=rules.return_n,
        max_chunks_per_document=setting.max_chunks_per_document,
        min_similarity=floor,
        keep_identifiers=rules.keep_identifiers,
        query_identifiers=recorded.identifiers,
    )


def _candidate(recorded: Recorded, place: Candidate, lexical: bool) -> Candidate:
    """With what a floor looks at: the similarity; and whether the lexical path found it, and what it then holds."""
    key = place.evidence_key
    return Candidate(
        evidence_key=key,
        doc_id=place.doc_id,
        source=place.source,
        text=recorded.excepted.get(key, "") if lexical else "",
        similarity=recorded.similarity.get(key),
        lexical_score=1.0 if lexical else None,
    )


def _to_leave_out(
    setting: Setting, rules: Rules, rankings: Mapping[str, Sequence[str]], refined: Refined
) -> tuple[str, ...]:
    """The documents that a refill leaves out; none if there is no refill."""
    wanted = rules.refill and setting.mode == "hybrid" and len(refined.kept) < rules.return_n
    if not wanted or not any(len(ranking) >= setting.retrieve_k for ranking in rankings.values()):
        return ()
    return full_documents(refined.kept, setting.max_chunks_per_document)
