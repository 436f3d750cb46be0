"""Fuses rankings of evidence keys into one by reciprocal rank fusion (RRF-1..6); sees keys and ranks alone.

It never sees text, metadata or a path's raw scores, so that no score of one path can be compared with another's.
The method is that of Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion Outperforms Condorcet and Individual Rank
Learning Methods", SIGIR 2009; the weights are an addition.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from citewell.errors import InvalidRequest
from citewell.model import PATHS


@dataclass(frozen=True, slots=True)
class Fused:
    """One key of the fused ranking.

    Attributes:
        key: the evidence key.
        score: sum over paths of weight / (k + rank), >= 0.
        ranks: the best rank (from 1) in each path that found it, paths in the order of PATHS, further ones by name.
    """

    key: str
    score: float
    ranks: Mapping[str, int]


def fuse(
    rankings: Mapping[str, Sequence[str]],
    *,
    k: float = 60,
    weights: Mapping[str, float] | None = None,
    similarity: Mapping[str, float] | None = None,
) -> tuple[Fused, ...]:
    """Fuse rankings of evidence keys, best first, into one: score(key) = sum of weight / (k + rank).

    A rank is a key's place in its list as given, from 1. A key that stands twice in one list votes once, at its best
    rank; the place of its later occurrence stays taken, so that nothing below it moves up.

    A path without a weight weighs 1. Weight 0 silences a path's votes and hides nothing: a key that only such paths
    found stays, with score 0.0, after all others. Weights may name any of PATHS, whether it ran or not, and any
    further ranking that is given.

    The order is total, and the same whatever the order of the mappings or the hash seed: score, then best single
    rank, then dense similarity (unknown last), then evidence key.

    Args:
        rankings: by path; best key first.
        k: > 0; the larger, the less the first ranks stand out.
        weights: by path; finite, >= 0.
        similarity: of keys, for ties alone; NaN counts as unknown.

    Raises:
        InvalidRequest: k or a weight is out of range, a weight's path is unknown, a ranking is a bare string.
    """
    _check_k(k)
    weighed = dict(weights or {})
    _check_each(weighed, known={*PATHS, *rankings})
    paths = _in_order(rankings)
    _check_total([weighed.get(path, 1.0) for path in paths])
    ranks = _ranks_by_key(rankings, paths)
    fused = [Fused(key, _score(found, k, weighed), found) for key, found in ranks.items()]
    known = similarity or {}
    return tuple(sorted(fused, key=lambda entry: _place(entry, known.get(entry.key))))


def check_weights(weights: Mapping[str, float], *, paths: Sequence[str] = PATHS) -> None:
    """Refuse weights with which one path could outvote two that agree (RRF-5); for configuration.

    Of the paths that can run together (`paths`; one without a weight weighs 1) the heaviest must weigh less than the
    sum of the two lightest others: then a key at some rank in two of them always scores above a key at the same rank
    in one alone. Fewer than three paths can't break the rule. Weights of paths that can't run are only checked to be
    finite and >= 0.

    Raises:
        InvalidRequest: a weight is out of range, its path is unknown, or the rule is broken.
    """
    _check_each(weights, known={*PATHS, *paths})
    ranked = sorted((float(weights.get(path, 1.0)), path) for path in dict.fromkeys(paths))
    if len(ranked) < 3:
        return
    (lightest, first), (light, second), *_, (heaviest, third) = ranked
    if heaviest >= lightest + light:
        raise InvalidRequest(
            f"the weight of {third!r}, {heaviest:g}, reaches the sum of two others: "
            f"{first!r} ({lightest:g}) and {second!r} ({light:g})",
            way_out="Bring the weights closer together, or switch a path off instead of weighing it so low.",
        )


def _check_k(k: float) -> None:
    if isinstance(k, bool) or not math.isfinite(k) or k <= 0:
        raise InvalidRequest(f"the constant k of the fusion can't be {k!r}", way_out="Give a finite number > 0.")


def _check_each(weights: Mapping[str, float], known: Collection[str]) -> None:
    for path, weight in sorted(weights.items()):
        if path not in known:
            raise InvalidRequest(
                f"a weight is given for {path!r}, which is no path", way_out=f"Paths are: {', '.join(sorted(known))}."
            )
        if isinstance(weight, bool) or not math.isfinite(weight) or weight < 0:
            raise InvalidRequest(
                f"the weight of {path!r} can't be {weight!r}", way_out="Give a finite number >= 0; 1 is neutral."
            )


def _check_total(weights: Sequence[float]) -> None:
    if not math.isfinite(sum(weights)):
        raise InvalidRequest("the weights add up to infinity", way_out="Give smaller weights; only their ratio counts.")


def _in_order(rankings: Mapping[str, Sequence[str]]) -> list[str]:
    further = sorted(path for path in rankings if path not in PATHS)
    paths = [*(path for path in PATHS if path in rankings), *further]
    for path in paths:
        if isinstance(rankings[path], str):
            raise InvalidRequest(
                f"the ranking of {path!r} is a bare string", way_out="Give a sequence of evidence keys."
            )
    return paths


def _ranks_by_key(rankings: Mapping[str, Sequence[str]], paths: Sequence[str]) -> dict[str, dict[str, int]]:
    ranks: dict[str, dict[str, int]] = {}
    for path in paths:
        for rank, key in enumerate(rankings[path], start=1):
            ranks.setdefault(key, {}).setdefault(path, rank)
    return ranks


def _score(ranks: Mapping[str, int], k: float, weights: Mapping[str, float]) -> float:
    # fsum rounds once, so that the same votes give the same score in whatever order they are added.
    return math.fsum(weights.get(path, 1.0) / (k + rank) for path, rank in ranks.items())


def _place(entry: Fused, similarity: float | None) -> tuple[float, int, bool, float, str]:
    unknown = similarity is None or math.isnan(similarity)
    closeness = 0.0 if similarity is None or unknown else similarity
    return (-entry.score, min(entry.ranks.values()), unknown, -closeness, entry.key)
