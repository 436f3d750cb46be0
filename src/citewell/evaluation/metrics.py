"""Measures of a ranking against judged gains, their mean over queries, and a paired test (EVAL-1); pure.

A ranking is a sequence of keys, best first; what a key stands for (a chunk, a document) is the caller's affair. Gains
say how good each judged key is; one that is not judged gains 0, and only gains above 0 are relevant. A key that a
ranking repeats counts at its first place alone; later ones gain nothing and still take their place. A ranking that is
no list of texts, or gains that are no finite numbers by key, are refused (InvalidRequest).

No clock and no chance: the paired test draws its signs from a small generator of its own, so that the same figures
give the same p-value everywhere, whatever the version of the standard library's generator.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from operator import getitem

from citewell.checks import check_count, check_list, check_mapping, check_number, check_texts, refusal
from citewell.errors import InvalidRequest

Gains = Mapping[str, float]
Metric = Callable[[Sequence[str], Gains], float]

_EXACT_BELOW = 17
_BITS = 64
_WORD = (1 << _BITS) - 1


def ndcg_at(k: int) -> Metric:
    """Normalised discounted cumulative gain of the first k ranks: linear gain, discount log2(rank + 1).

    1 for a ranking as good as the best of all judged keys, 0 if nothing relevant is among the first k. From Jaervelin
    and Kekaelaeinen, "Cumulated gain-based evaluation of IR techniques", ACM TOIS 2002.

    Raises:
        InvalidRequest: k is no integer >= 1.
    """
    depth = check_count("k", k)

    def ndcg(ranked: Sequence[str], gains: Gains) -> float:
        best = _discounted(sorted(_relevant(gains).values(), reverse=True)[:depth])
        return _discounted(_found(ranked, gains)[:depth]) / best if best else 0.0

    return ndcg


def recall_at(k: int) -> Metric:
    """The share of all relevant keys that is among the first k; 0 if none is relevant.

    Raises:
        InvalidRequest: k is no integer >= 1.
    """
    depth = check_count("k", k)

    def recall(ranked: Sequence[str], gains: Gains) -> float:
        relevant = len(_relevant(gains))
        return sum(gain > 0 for gain in _found(ranked, gains)[:depth]) / relevant if relevant else 0.0

    return recall


def reciprocal_rank(ranked: Sequence[str], gains: Gains) -> float:
    """1 / rank of the first relevant key; 0 if there is none."""
    return next((1.0 / rank for rank, gain in enumerate(_found(ranked, gains), start=1) if gain > 0), 0.0)


def average_precision(ranked: Sequence[str], gains: Gains) -> float:
    """The mean over all relevant keys of the precision at their rank, 0 for those not found; 0 if none is relevant."""
    relevant = len(_relevant(gains))
    ranks = [rank for rank, gain in enumerate(_found(ranked, gains), start=1) if gain > 0]
    return math.fsum(hits / rank for hits, rank in enumerate(ranks, start=1)) / relevant if relevant else 0.0


def per_query(metric: Metric, run: Mapping[str, Sequence[str]], qrels: Mapping[str, Gains]) -> dict[str, float]:
    """The metric of each judged query, by query id in ascending order.

    A query that the run does not answer scores as an empty ranking: 0. One that is not judged is left out.
    """
    if not callable(metric):
        raise refusal("a metric", metric, "a function such as `ndcg_at(10)` or `reciprocal_rank`")
    judged = check_mapping("qrels", qrels, wanted="gains by key for each query")
    answers = check_mapping("a run", run, wanted="a ranking for each query")
    figures = {query: metric(answers.get(query, ()), judged[query]) for query in sorted(judged)}
    return {query: check_number(f"the figure of {query!r}", figure) for query, figure in figures.items()}


def mean(metric: Metric, run: Mapping[str, Sequence[str]], qrels: Mapping[str, Gains]) -> float:
    """The mean of `per_query` over all judged queries, so that silence counts as 0.

    A judged query without any relevant key counts as 0 too; leave out of the qrels what has no answer.

    Raises:
        InvalidRequest: no query is judged.
    """
    figures = per_query(metric, run, qrels)
    if not figures:
        raise InvalidRequest("there is no judged query to take a mean of", way_out="Check the labels of the dataset.")
    return math.fsum(figures.values()) / len(figures)


def paired_randomisation_test(
    a: Sequence[float], b: Sequence[float], *, rounds: int = 10_000, seed: int = 20_090_719
) -> float:
    """The two-sided p-value of Fisher's randomisation test on paired figures, such as two systems' nDCG per query.

    If both systems were alike, each pair could as well stand the other way round. p is the share of sign flips whose
    mean difference is at least as large as the one observed: of all flips where fewer than 17 pairs differ, else of
    `rounds` flips drawn from the seed, the observed one counted among them, so that p is never 0. Symmetric in a
    and b up to rounding; 1.0 if no pair differs. See Smucker, Allan and Carterette, "A comparison of statistical
    significance tests for information retrieval evaluation", CIKM 2007.

    Args:
        a: finite figures, one per query.
        b: the same of the other system, in the same order.
        rounds: >= 1.
        seed: an integer of 64 bits.

    Raises:
        InvalidRequest: the lengths differ, a figure is no finite number, rounds no integer >= 1, or the seed none.
    """
    drawn_rounds, start = check_count("rounds", rounds), check_count("seed", seed, least=-_WORD, most=_WORD)
    differences = [x - y for x, y in _pairs(a, b) if x != y]
    if not differences:
        return 1.0
    observed = abs(math.fsum(differences))
    # Sums of the same numbers differ by rounding with their order; a tie must not depend on it.
    bar = observed - 1e-12 * math.fsum(map(abs, differences))
    if len(differences) < _EXACT_BELOW:
        flips = 1 << len(differences)
        return sum(abs(total) >= bar for total in _all_sums(differences)) / flips
    tables = _sums_by_byte(differences)
    drawn = islice(_signs(start, len(tables)), drawn_rounds)
    reached = sum(abs(sum(map(getitem, tables, signs))) >= bar for signs in drawn)
    return (1 + reached) / (1 + drawn_rounds)


def _relevant(gains: object) -> dict[str, float]:
    judged = check_mapping("gains", gains, wanted="a number for each judged key")
    numbers = {key: check_number(f"the gain of {key!r}", gain) for key, gain in judged.items()}
    return {key: gain for key, gain in numbers.items() if gain > 0}


def _found(ranked: object, gains: object) -> list[float]:
    """The gain at each rank; 0 where a key is irrelevant or repeated."""
    left = _relevant(gains)
    return [left.pop(key, 0.0) for key in check_texts("a ranking", ranked, wanted="a list of keys, best first")]


def _discounted(gains: Sequence[float]) -> float:
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def _pairs(a: object, b: object) -> list[tuple[float, float]]:
    one, other = ([check_number("a figure", figure) for figure in check_list("figures", side)] for side in (a, b))
    if len(one) != len(other):
        raise InvalidRequest(
            f"{len(one)} figures can't be paired with {len(other)}",
            way_out="Give one figure per query, in the same order; 0 for an unanswered one.",
        )
    return list(zip(one, other, strict=True))


def _all_sums(numbers: Sequence[float]) -> list[float]:
    """The sums of the numbers under every choice of signs, 2^n of them."""
    sums = [0.0]
    for number in numbers:
        sums = [total + signed for total in sums for signed in (number, -number)]
    return sums


def _sums_by_byte(numbers: Sequence[float]) -> list[list[float]]:
    """For each eight numbers, their 256 sums; so a random byte picks the signs of eight pairs in one step."""
    padded = [*numbers, *[0.0] * (-len(numbers) % 8)]
    return [_all_sums(padded[start : start + 8]) for start in range(0, len(padded), 8)]


def _signs(seed: int, length: int) -> Iterator[bytes]:
    """Endless rows of `length` random bytes, by SplitMix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    words = _split_mix(seed)
    while True:
        row = b"".join(next(words).to_bytes(8, "little") for _ in range(-(-length // 8)))
        yield row[:length]


def _split_mix(state: int) -> Iterator[int]:
    while True:
        state = (state + 0x9E3779B97F4A7C15) & _WORD
        mixed = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _WORD
        yield mixed ^ (mixed >> 31)
