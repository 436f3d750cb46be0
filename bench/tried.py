"""What was tried to better the hybrid search, each variant against what is in force, on the chunks that peers get.

    python bench/tried.py [--data ../shared/data] [--sets ...] [--variants ...] [--cache FOLDER] [--json FILE]

A variant earns its place if it wins with p < .05 on some set and loses with p < .05 on none, in nDCG@10 and recall@5
(the paired randomisation test of `citewell.evaluation`). Of some 25 variants on five sets a few do so by chance. The
cases are those of bench/peers, which are made if they aren't in the cache. Where a rule has a constant of its own,
that for a set is chosen on the other sets; the others are as they stand in the literature or nearest to hand, and
were chosen on no set.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent / "peers"))

import numpy as np

import windows as window_vectors
from citewell.analysis import Analyzer, identifiers
from citewell.evaluation.metrics import Metric, ndcg_at, paired_randomisation_test, per_query, recall_at
from peers_case import load
from peers_sets import NAMES, Labelled, labelled, make
from replay import RETRIEVE_K, SHOWN, Bm25, Field, K, Order, Ranked, Replay, both, in_force, weight
from side_by_side import CACHE

LONGEST = 120
"""Characters of a first line that counts as a heading."""
METRICS: Mapping[str, Metric] = {"nDCG@10": ndcg_at(10), "recall@5": recall_at(5)}
Figures = Mapping[str, Sequence[float]]
Rankings = Callable[[Replay], list[Ranked]]


def lexical_by(formula: Bm25) -> Order:
    """Another BM25."""
    return _instead(lambda replay: replay.by_terms(replay.field, replay.asked, formula))


def analysed_by(stemmer: str | None) -> Order:
    """Another stemmer, of questions and chunks."""
    analyzer = Analyzer(stemmer)

    def ranked(replay: Replay) -> list[Ranked]:
        field = Field([analyzer.analyze(each.text) for each in replay.case.chunks])
        return replay.by_terms(field, [analyzer.analyze_query(each.text) for each in replay.case.queries])

    return _instead(ranked)


def identifiers_times(factor: float) -> Order:
    """The identifiers of a question count more."""

    def ranked(replay: Replay) -> list[Ranked]:
        heavier = [dict.fromkeys(identifiers(each.text), factor) for each in replay.case.queries]
        return replay.by_terms(replay.field, replay.asked, heavier=heavier)

    return _instead(ranked)


def _instead(lexical: Rankings) -> Order:
    found = cache(lexical)
    return lambda replay, at: both(replay, at, replay.dense[at], found(replay)[at])


def deep(depth: int = RETRIEVE_K, k: float = K) -> Order:
    """Lists of another depth, or another k."""
    return lambda replay, at: both(replay, at, replay.dense[at], replay.lexical[at], k, depth)


def pooled(replay: Replay, at: int) -> list[int]:
    """Every candidate has its dense rank: hits of the lexical path alone follow the dense list by their similarity."""
    dense, lexical = replay.dense[at].first(RETRIEVE_K), replay.lexical[at].first(RETRIEVE_K)
    left = np.setdiff1d(lexical.rows, dense.rows)
    left = left[np.argsort(-replay.similarity[at, left], kind="stable")]
    ranked = {"dense": np.concatenate([dense.rows, left]), "lexical": lexical.rows}
    return replay.fused(at, ranked, {"lexical": weight(dense, lexical)})


def further(ranking: Rankings, share: float, *, of_lexical: bool, most: float = math.inf) -> Order:
    """One more ranking, whose weight is a share of the lexical path's (`most`: of that) or the dense path's."""
    found = cache(ranking)

    def order(replay: Replay, at: int) -> list[int]:
        dense, lexical = replay.dense[at].first(RETRIEVE_K), replay.lexical[at].first(RETRIEVE_K)
        heavy = min(weight(dense, lexical), most)
        weights = {"lexical": heavy, "further": share * (heavy if of_lexical else 1.0)}
        rows = {"dense": dense.rows, "lexical": lexical.rows, "further": found(replay)[at].first(RETRIEVE_K).rows}
        return replay.fused(at, rows, weights)

    return order


def pairs(replay: Replay) -> list[Ranked]:
    """By the question's neighbouring terms that stand side by side in the chunk."""
    joined = Field([_side_by_side(terms) for terms in replay.field.terms])
    return replay.by_terms(joined, [_side_by_side(terms) for terms in replay.asked], Bm25(b=0.0))


def _side_by_side(terms: Sequence[str]) -> list[str]:
    return [f"{first} {second}" for first, second in pairwise(terms)]


def headings(replay: Replay) -> list[Ranked]:
    """By the first line alone, where it is a short one with more below it: a title or heading, on two of the sets."""
    lines = [each.text.strip().partition("\n") for each in replay.case.chunks]
    above = [line if below.strip() and len(line) <= LONGEST else "" for line, _, below in lines]
    return replay.by_terms(Field([replay.analyzer.analyze(line) for line in above]), replay.asked)


def matched(replay: Replay) -> list[Ranked]:
    """By the idf of the question's terms that the chunk holds, however often and however long it is."""
    once = Field([list(dict.fromkeys(terms)) for terms in replay.field.terms])
    return replay.by_terms(once, replay.asked, Bm25(b=0.0))


def neighbours(replay: Replay) -> list[Ranked]:
    """By the direction of a chunk's vector and half of those of the chunks beside it in its document."""
    documents = [each.key.rpartition("#")[0] for each in replay.case.chunks]
    beside = np.array([a == b for a, b in pairwise(documents)])[:, None]
    wide = replay.vectors.copy()
    wide[1:] += 0.5 * beside * replay.vectors[:-1]
    wide[:-1] += 0.5 * beside * replay.vectors[1:]
    return replay.by_vectors(replay.questions, wide / np.linalg.norm(wide, axis=1, keepdims=True))


def windows(replay: Replay) -> list[Ranked]:
    """By the best of a chunk's windows of 400 characters."""
    begin, vectors = window_vectors.of_case(replay.case, replay.folder)
    return [replay.top(np.maximum.reduceat(row, begin)) for row in replay.questions @ vectors.T]


def feedback(replay: Replay) -> list[Ranked]:
    """By the question's vector and half the direction of the first three lexical hits'."""
    moved = replay.questions.copy()
    for at, ranked in enumerate(replay.lexical):
        if ranked.rows.size:
            middle = replay.vectors[ranked.rows[:3]].mean(axis=0)
            moved[at] += 0.5 * middle / np.linalg.norm(middle)
    return replay.by_vectors(moved)


def without_near_duplicates(replay: Replay, at: int) -> list[int]:
    """A hit is left out if it shares nine tenths of its terms (Jaccard) with one of the ten before it."""
    kept: list[int] = []
    for row in in_force(replay, at)[: 2 * SHOWN]:
        terms = set(replay.field.terms[row])
        if all(_alike(terms, set(replay.field.terms[other])) < 0.9 for other in kept[-10:]):
            kept.append(row)
    return kept


def _alike(one: set[str], other: set[str]) -> float:
    return len(one & other) / max(len(one | other), 1)


def agreement(replay: Replay, at: int) -> float:
    """What share of the two top tens is the same."""
    return len(np.intersect1d(replay.dense[at].rows[:10], replay.lexical[at].rows[:10])) / 10


def coverage(replay: Replay, at: int) -> float:
    """What share of the idf of the question's terms the first lexical hit holds."""
    asked, found = replay.asked[at], replay.lexical[at].rows[:1]
    total = sum(map(replay.field.idf, asked))
    held = set(replay.field.terms[int(found[0])]) if found.size else set()
    return sum(replay.field.idf(term) for term in asked if term in held) / total if total else 0.0


def known(replay: Replay, at: int) -> float:
    """What share of the idf of the question's terms stands anywhere in the store."""
    asked = replay.asked[at]
    total = sum(map(replay.field.idf, asked))
    return sum(replay.field.idf(term) for term in asked if term in replay.field.holders) / total if total else 0.0


def seen_by_dense(replay: Replay, at: int) -> float:
    """One over the dense rank of the first lexical hit, 0 beyond 200."""
    first = replay.lexical[at].rows[:1]
    place = np.flatnonzero(replay.dense[at].rows == first) if first.size else first
    return 1 / (1 + int(place[0])) if place.size else 0.0


def held(replay: Replay, at: int) -> float:
    """What share of the first ten lexical hits the dense list holds."""
    first = replay.lexical[at].rows[:10]
    return len(np.intersect1d(first, replay.dense[at].rows[:RETRIEVE_K])) / max(first.size, 1)


def weighed_by(feature: Callable[[Replay, int], float], base: float, slope: float) -> Order:
    """The weight times e^(base + slope x feature), between 1/4 and k; its logarithm in steps of a quarter."""

    def order(replay: Replay, at: int) -> list[int]:
        heavy = weight(replay.dense[at].first(RETRIEVE_K), replay.lexical[at].first(RETRIEVE_K))
        power = math.log(heavy) + base + slope * feature(replay, at)
        return _at_power(replay, at, round(4 * min(max(power, math.log(0.25)), math.log(K))))

    return order


@cache
def _at_power(replay: Replay, at: int, quarters: int) -> list[int]:
    rows = {"dense": replay.dense[at].rows[:RETRIEVE_K], "lexical": replay.lexical[at].rows[:RETRIEVE_K]}
    return replay.fused(at, rows, {"lexical": math.exp(quarters / 4)})[:SHOWN]


FIXED: Mapping[str, Order] = {
    "lists 100 deep (50)": deep(100),
    "k 20 (60)": deep(k=20),
    "dense rank of every candidate": pooled,
    "BM25 k1 .9, b .4 (1.2, .75)": lexical_by(Bm25(0.9, 0.4)),
    "BM25 k1 2": lexical_by(Bm25(2.0)),
    "BM25+ (delta 1)": lexical_by(Bm25(plus=2.2)),
    "BM25L (delta .5)": lexical_by(Bm25(longer=0.5)),
    "stems by Porter (Snowball's English)": analysed_by("porter"),
    "no stems": analysed_by(None),
    "identifiers of the question twice": identifiers_times(2.0),
    "pairs of terms side by side, a quarter of the lexical weight": further(pairs, 0.25, of_lexical=True),
    "idf matched, a quarter of the lexical weight": further(matched, 0.25, of_lexical=True),
    "headings as a lexical ranking, a quarter of the lexical weight": further(headings, 0.25, of_lexical=True),
    "vectors with their neighbours', as heavy as dense": further(neighbours, 1.0, of_lexical=False),
    "vector moved to the first lexical hits, as heavy as dense": further(feedback, 1.0, of_lexical=False),
    "windows of 400 characters, as heavy as dense": further(windows, 1.0, of_lexical=False),
    "the same, with the lexical weight at most 1.9": further(windows, 1.0, of_lexical=False, most=1.9),
    "near-duplicates left out": without_near_duplicates,
}
CHOSEN: Mapping[str, Callable[[Replay, int], float]] = {
    "weight by agreement of the top tens": agreement,
    "weight by idf that the first lexical hit holds": coverage,
    "weight by idf that the store holds": known,
    "weight by the dense rank of the first lexical hit": seen_by_dense,
    "weight by the share of ten lexical hits that the dense list holds": held,
}
GRID = [(0.0, 0.0), (1.0, 0.0), (-1.0, 0.0), *((-0.5 * s, s) for s in (-4.0, -2.0, 2.0, 4.0)), (-2.0, 4.0), (0.0, 2.0)]


class Judged:
    """A set: its replay and its judgements."""

    def __init__(self, replay: Replay, truth: Labelled) -> None:
        self.replay, self.truth = replay, truth

    def figures(self, order: Order) -> Figures:
        """Of every question, by measure."""
        keys = [each.key for each in self.replay.case.chunks]
        run = {
            query.key: self.truth.judged([keys[row] for row in order(self.replay, at)[:SHOWN]])
            for at, query in enumerate(self.replay.case.queries)
        }
        return {name: list(per_query(metric, run, self.truth.qrels).values()) for name, metric in METRICS.items()}


def compared(own: Figures, base: Figures) -> dict[str, Any]:
    """Difference of the means and p, by measure."""
    return {
        name: {
            "difference": _mean(own[name]) - _mean(base[name]),
            "p": paired_randomisation_test(own[name], base[name]),
        }
        for name in METRICS
    }


def _mean(figures: Sequence[float]) -> float:
    return math.fsum(figures) / len(figures)


def rows(sets: Mapping[str, Judged], variants: Sequence[str]) -> Iterator[dict[str, Any]]:
    """One variant after the other."""
    base = {name: each.figures(in_force) for name, each in sets.items()}
    for variant, order in ((name, order) for name, order in FIXED.items() if name in variants):
        yield row(variant, {name: each.figures(order) for name, each in sets.items()}, base)
    for variant, feature in ((name, feature) for name, feature in CHOSEN.items() if name in variants):
        tried = [{name: each.figures(weighed_by(feature, *at)) for name, each in sets.items()} for at in GRID]
        yield row(variant, {name: best_without(name, tried)[name] for name in sets}, base)


def best_without(name: str, tried: Sequence[Mapping[str, Figures]]) -> Mapping[str, Figures]:
    """Those figures whose mean over the other sets is the highest; the first of equals."""
    return max(tried, key=lambda each: sum(_mean(each[other]["nDCG@10"]) for other in each if other != name))


def row(variant: str, own: Mapping[str, Figures], base: Mapping[str, Figures]) -> dict[str, Any]:
    """A variant's differences, and whether it earns its place."""
    found = {name: compared(own[name], base[name]) for name in base}
    sure = [each["difference"] for one in found.values() for each in one.values() if each["p"] < 0.05]
    return {"variant": variant, "sets": found, "earns its place": any(d > 0 for d in sure) and all(d > 0 for d in sure)}


def main() -> int:
    """Replay, try, and print a line for each variant."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--sets", nargs="+", choices=NAMES, default=list(NAMES))
    parser.add_argument("--variants", nargs="+", choices=[*FIXED, *CHOSEN], default=[*FIXED, *CHOSEN], metavar="NAME")
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    sets = {}
    for name in arguments.sets:
        folder = arguments.cache / "cases" / name
        make(arguments.data, name, folder)
        sets[name] = Judged(Replay(load(folder), folder), labelled(arguments.data, name))
    found = []
    for each in rows(sets, arguments.variants):
        found.append(each)
        print(json.dumps(each), flush=True)
        if arguments.json:
            arguments.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
