"""Fuses rankings of evidence keys into one by reciprocal rank fusion (RRF-1..6); sees keys and ranks alone.

It never sees text, metadata or a path's raw scores, so that no score of one path can be compared with another's.
The method is that of Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion Outperforms Condorcet and Individual Rank
Learning Methods", SIGIR 2009; the weights are an addition.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from citewell.checks import all_floats, as_number, check_mapping, check_number, check_texts, is_number, refusal
from citewell.errors import InvalidRequest
from citewell.model import PATHS
from citewell.model.making import maker

_ABOVE_ZERO = math.nextafter(0.0, 1.0)


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


_make_fused = maker(Fused)


def fuse(
    rankings: Mapping[str, Sequence[str]],
    *,
    k: float = 60,
    weights: Mapping[str, float] | None = None,
    similarity: Mapping[str, float | None] | None = None,
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
        similarity: of keys, for ties alone; None and NaN count as unknown.

    Raises:
        InvalidRequest: k or a weight is out of range, a weight's path is unknown, a ranking is no list of texts.
    """
    constant = check_number("the constant k of the fusion", k, least=_ABOVE_ZERO, wanted="a finite number > 0")
    lists = _checked_rankings(rankings)
    weighed = _checked_weights({} if weights is None else weights, known={*PATHS, *lists})
    known = _checked_similarity({} if similarity is None else similarity)
    shares = {path: weighed.get(path, 1.0) for path in lists}
    _check_total(shares.values())
    ranks, scores = _ranks_and_scores(lists, constant, shares)
    order = sorted(
        [
            (-scores[key], min(found.values()), key not in known, -known.get(key, 0.0), key)
            for key, found in ranks.items()
        ]
    )
    return tuple([_make_fused(key, scores[key], ranks[key]) for *_, key in order])


def check_weights(weights: Mapping[str, float], *, paths: Sequence[str] = PATHS) -> None:
    """Refuse weights with which one path could outvote two that agree (RRF-5); for configuration.

    Of the paths that have a vote (those of `paths`, which can run together, whose weight is not 0; one without a
    weight weighs 1) the heaviest must weigh less than the sum of the two lightest others: then a key at some rank in
    two of them always scores above a key at the same rank in one alone. Weight 0 silences a path as if it didn't run,
    and fewer than three paths can't break the rule. Weights of paths that can't run are only checked to be finite and
    >= 0.

    Raises:
        InvalidRequest: a weight is out of range, its path is unknown, or the rule is broken.
    """
    running = check_texts("paths", paths, wanted="a list of paths")
    weighed = _checked_weights(weights, known={*PATHS, *running})
    voting = {path: weight for path in running if (weight := weighed.get(path, 1.0))}
    if len(voting) < 3:
        return
    (lightest, first), (light, second), *_, (heaviest, third) = sorted((voting[path], path) for path in voting)
    if heaviest >= lightest + light:
        raise InvalidRequest(
            f"the weight of {third!r}, {heaviest:g}, reaches the sum of two others: "
            f"{first!r} ({lightest:g}) and {second!r} ({light:g})",
            way_out="Bring the weights closer together, or give a path that should have no vote the weight 0.",
        )


def _checked_rankings(rankings: object) -> dict[str, list[str]]:
    """The rankings as lists, in the order of PATHS, further ones by name."""
    given = check_mapping("rankings", rankings, wanted="a list of evidence keys for each path")
    further = sorted(path for path in given if path not in PATHS)
    return {
        path: check_texts(f"the ranking of {path!r}", given[path], wanted="a list of evidence keys, best first")
        for path in (*PATHS, *further)
        if path in given
    }


def _checked_weights(weights: object, known: Collection[str]) -> dict[str, float]:
    given = check_mapping("weights", weights, wanted="a number for each path")
    for path in sorted(given):
        if path not in known:
            raise InvalidRequest(
                f"a weight is given for {path!r}, which is no path", way_out=f"Paths are: {', '.join(sorted(known))}."
            )
    wanted = "a finite number >= 0; 1 is neutral"
    return {
        path: check_number(f"the weight of {path!r}", given[path], least=0, wanted=wanted) for path in sorted(given)
    }


def _checked_similarity(similarity: object) -> dict[str, float]:
    """Those that are known; None and NaN are not."""
    given = check_mapping("similarity", similarity, wanted="a number for each evidence key")
    if all_floats(given.values()):
        return dict(given)
    known: dict[str, float] = {}
    for key, value in given.items():
        number = as_number(value)
        if number == number:
            known[key] = number
        elif value is not None and not is_number(value):
            raise refusal(f"the similarity of {key!r}", value, "a number, or None where it is unknown")
    return known


def _check_total(weights: Collection[float]) -> None:
    if not math.isfinite(sum(weights)):
        raise InvalidRequest("the weights add up to infinity", way_out="Give smaller weights; only their ratio counts.")


def _ranks_and_scores(
    rankings: Mapping[str, Sequence[str]], k: float, weights: Mapping[str, float]
) -> tuple[dict[str, dict[str, int]], dict[str, float]]:
    """By key: its best rank in each path that found it, and the sum of its votes."""
    ranks: dict[str, dict[str, int]] = {}
    votes: dict[str, list[float]] = {}
    for path, keys in rankings.items():
        weight = weights[path]
        for rank, key in enumerate(keys, start=1):
            found = ranks.get(key)
            if found is None:
                ranks[key], votes[key] = {path: rank}, [weight / (k + rank)]
            elif path not in found:
                found[path] = rank
                votes[key].append(weight / (k + rank))
    # fsum rounds once, so that the same votes give the same score in whatever order they are added.
    return ranks, {key: math.fsum(given) for key, given in votes.items()}
