"""A labelled set's two rankings, worked out again in memory, so that a variant of one or of their fusion takes seconds.

Chunks, vectors and questions are those of a case of bench/peers, ranked as `stack_citewell` has them ranked: the
analysis, the weighing and the fusion are the product's own; BM25 is written here once more, for its parameters can't
be set there. A ranking is 200 deep. It knows no measure and no judgements.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from citewell.analysis import Analyzer
from citewell.fusion import fuse
from citewell.weighing import weigh
from peers_case import Case

DEPTH, RETRIEVE_K, K, SHOWN = 200, 50, 60, 20
"""Of a ranking; of what votes, by default; of the fusion; of what is judged."""
Rows = NDArray[np.int64]
Scores = NDArray[np.float64]


@dataclass(frozen=True)
class Bm25:
    """The formula: Robertson's by default; `plus` and `longer` are the deltas of BM25+ and BM25L (Lv and Zhai 2011)."""

    k1: float = 1.2
    b: float = 0.75
    plus: float = 0.0
    longer: float | None = None

    def part(self, counts: Scores, lengths: Scores) -> Scores:
        """What a term's count adds, without its idf; `lengths` in means."""
        norm = 1 - self.b + self.b * lengths
        if self.longer is not None:
            shifted = counts / norm + self.longer
            return shifted * (self.k1 + 1) / (self.k1 + shifted)
        return counts * (self.k1 + 1) / (counts + self.k1 * norm) + self.plus


@dataclass(frozen=True)
class Ranked:
    """Rows of chunks, best first, and their scores."""

    rows: Rows
    scores: Scores

    def first(self, count: int) -> Ranked:
        """Its beginning."""
        return Ranked(self.rows[:count], self.scores[:count])


class Field:
    """The terms of one text of every chunk."""

    def __init__(self, terms: Sequence[Sequence[str]]) -> None:
        held: dict[str, tuple[list[int], list[int]]] = {}
        for row, found in enumerate(terms):
            for term, count in Counter(found).items():
                rows, counts = held.setdefault(term, ([], []))
                rows.append(row)
                counts.append(count)
        self.terms = terms
        self.holders = {term: (np.array(rows), np.array(counts, float)) for term, (rows, counts) in held.items()}
        lengths = np.array([len(found) for found in terms], float)
        self.lengths = lengths / max(lengths.mean(), 1e-9)

    def idf(self, term: str) -> float:
        """As the engine's; of a term that no chunk holds, too."""
        holders = len(self.holders[term][0]) if term in self.holders else 0
        return math.log(1 + (len(self.terms) - holders + 0.5) / (holders + 0.5))

    def scores(self, asked: Sequence[str], formula: Bm25, heavier: Mapping[str, float]) -> Scores:
        """Of every chunk, 0 where it holds no term; `heavier`: factors of some terms."""
        total = np.zeros(len(self.terms))
        for term in asked:
            if term in self.holders:
                rows, counts = self.holders[term]
                total[rows] += self.idf(term) * heavier.get(term, 1.0) * formula.part(counts, self.lengths[rows])
        return total


class Replay:
    """A case with its rankings, by the place of a question in it; `folder` is where the case lies."""

    def __init__(self, case: Case, folder: Path) -> None:
        self.case, self.folder = case, folder
        self.names = [hashlib.sha256(each.key.encode()).hexdigest() for each in case.chunks]
        self.keys = {name: each.key for name, each in zip(self.names, case.chunks, strict=True)}
        self.place = np.argsort(np.argsort(np.array(self.names)))
        self.vectors, self.questions = case.vectors.astype(float), case.asked.astype(float)
        self.similarity = self.questions @ self.vectors.T
        self.analyzer = Analyzer()

    @cached_property
    def field(self) -> Field:
        """The chunks' texts under the default analysis."""
        return Field([self.analyzer.analyze(each.text) for each in self.case.chunks])

    @cached_property
    def asked(self) -> list[list[str]]:
        """The questions' terms."""
        return [self.analyzer.analyze_query(each.text) for each in self.case.queries]

    @cached_property
    def dense(self) -> list[Ranked]:
        """By similarity."""
        return self.by_vectors(self.questions)

    @cached_property
    def lexical(self) -> list[Ranked]:
        """By BM25."""
        return self.by_terms(self.field, self.asked)

    def by_vectors(self, questions: Scores, vectors: Scores | None = None) -> list[Ranked]:
        """Each question's ranking by these vectors; None = the chunks' own."""
        return [self.top(row) for row in questions @ (self.vectors if vectors is None else vectors).T]

    def by_terms(
        self,
        field: Field,
        asked: Sequence[Sequence[str]],
        formula: Bm25 | None = None,
        heavier: Sequence[Mapping[str, float]] = (),
    ) -> list[Ranked]:
        """Each question's ranking by a field."""
        formula = formula or Bm25()
        factors: Sequence[Mapping[str, float]] = heavier or [{}] * len(asked)
        return [
            self.top(field.scores(terms, formula, each), above=0.0) for terms, each in zip(asked, factors, strict=True)
        ]

    def top(self, scores: Scores, above: float = -math.inf) -> Ranked:
        """The best chunks; ties by key."""
        rows = np.flatnonzero(scores > above)
        if rows.size > DEPTH:
            found = scores[rows]
            rows = rows[found >= np.partition(found, rows.size - DEPTH)[rows.size - DEPTH]]
        rows = rows[np.lexsort((self.place[rows], -scores[rows]))][:DEPTH]
        return Ranked(rows, scores[rows])

    def fused(self, at: int, rankings: Mapping[str, Rows], weights: Mapping[str, float], k: float = K) -> list[int]:
        """The fused order of question `at`, by the product's fusion."""
        named = {path: [self.names[row] for row in rows] for path, rows in rankings.items()}
        rows = {self.names[row]: int(row) for found in rankings.values() for row in found}
        similarity = {name: float(self.similarity[at, row]) for name, row in rows.items()}
        return [rows[each.key] for each in fuse(named, k=k, weights=weights, similarity=similarity)]


Order = Callable[[Replay, int], list[int]]
"""The rows that answer a question of a replay, best first."""


def weight(dense: Ranked, lexical: Ranked, k: float = K) -> float:
    """Of the lexical path, by the product's weighing."""
    return weigh({"dense": dense.scores.tolist(), "lexical": lexical.scores.tolist()}, k=k)["lexical"]


def in_force(replay: Replay, at: int) -> list[int]:
    """What the product does by default."""
    return both(replay, at, replay.dense[at], replay.lexical[at])


def both(replay: Replay, at: int, dense: Ranked, lexical: Ranked, k: float = K, depth: int = RETRIEVE_K) -> list[int]:
    """Two rankings, weighed and fused."""
    dense, lexical = dense.first(depth), lexical.first(depth)
    weights = {"lexical": weight(dense, lexical, k)}
    return replay.fused(at, {"dense": dense.rows, "lexical": lexical.rows}, weights, k)
