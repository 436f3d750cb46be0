"""What each answer is worth, and what a run is worth on the whole (EVAL-1); pure.

    recall@k            the share of the evidence that is needed which is among the first k
    all-evidence@k      1 if all of it is, else 0
    nDCG@10, MRR, AP    as in `metrics`, over all that was answered
    char-recall@5, char-precision@5, char-IoU@5      of reference characters in the first five chunks (grain `span`)
    documents           different ones among what an agent is shown
    duplicates          the share of what is shown whose text was shown before
    tokens              what showing it costs

A ranking of grain `document` has each document at its first block. An unanswered query is worth 0 in all of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from citewell.evaluation.metrics import average_precision, ndcg_at, reciprocal_rank
from citewell.evaluation.model import Answer, Dataset, Reference, Run
from citewell.evaluation.spans import characters
from citewell.evaluation.truth import Truth

Figures = Mapping[str, float]

RECALL_AT = (1, 5, 10, 20)
_ALL_AT, _SPAN_AT = (5, 10), 5
_NOTHING = Answer((), (), ())


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds from question to answer, over the answered queries; 0 where there is none.

    Attributes:
        p50: the median, without the embedding of the question.
        p95: 95 of 100 take at most this long.
        embedded_p50: the same with that embedding, as if nothing ran beside it; None if none of it is known.
        embedded_p95: as p95.
    """

    p50: float
    p95: float
    embedded_p50: float | None = None
    embedded_p95: float | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """A run and what it is worth.

    Attributes:
        run: what was judged.
        figures: by query id, ascending, then by measure.
        means: of each measure over all judged queries.
        latency: of the answers.
    """

    run: Run
    figures: Mapping[str, Figures]
    means: Figures
    latency: Latency = field(default_factory=lambda: Latency(0.0, 0.0))

    @property
    def unanswered(self) -> int:
        """Queries that found nothing, or were refused."""
        return sum(not self.run.answers.get(query, _NOTHING).keys for query in self.figures)

    @property
    def degraded(self) -> int:
        """Answers for which not all ran that should have."""
        return sum(bool(answer.degraded) for answer in self.run.answers.values())

    def values(self, measure: str) -> list[float]:
        """The figure of each query, ids ascending."""
        return [figures[measure] for figures in self.figures.values()]


def judge(run: Run, dataset: Dataset, truth: Truth, *, depth: int = 20) -> Judged:
    """Hold a run against the truth.

    Args:
        run: answers by query id.
        dataset: its questions and references.
        truth: the labels, in the names of the store that was asked.
        depth: how many chunks a query could get; recall deeper than that is not told.
    """
    figures = {
        query: _figures(query, run.answers.get(query, _NOTHING), dataset, truth, depth) for query in dataset.queries
    }
    means = {name: _mean([each[name] for each in figures.values()]) for name in next(iter(figures.values()), {})}
    return Judged(run, figures, means, latency(list(run.answers.values())))


def ranked(answer: Answer, dataset: Dataset) -> tuple[str, ...]:
    """The answer in the names that labels have: document ids at their first block, or evidence keys."""
    if dataset.grain != "document":
        return answer.keys
    return tuple(dict.fromkeys(name for name in answer.documents if name is not None))


def latency(answers: Sequence[Answer]) -> Latency:
    """Percentiles over these answers, interpolated between neighbours."""
    if not answers:
        return Latency(0.0, 0.0)
    plain = [answer.milliseconds for answer in answers]
    p50, p95 = percentile(plain, 50), percentile(plain, 95)
    if all(answer.embed_milliseconds is None for answer in answers):
        return Latency(p50, p95)
    whole = [answer.milliseconds + (answer.embed_milliseconds or 0.0) for answer in answers]
    return Latency(p50, p95, percentile(whole, 50), percentile(whole, 95))


def percentile(values: Sequence[float], percent: float) -> float:
    """The value below which so many of a hundred lie, interpolated between neighbours; of one value or more."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * percent / 100
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def _figures(query: str, answer: Answer, dataset: Dataset, truth: Truth, depth: int) -> dict[str, float]:
    order, pieces, gains = ranked(answer, dataset), truth.pieces[query], truth.qrels[query]
    shares = {k: _share(order[:k], pieces) for k in sorted({*RECALL_AT, *_ALL_AT})}
    return {
        **{f"recall@{k}": shares[k] for k in RECALL_AT if k <= depth},
        "nDCG@10": ndcg_at(10)(order, gains),
        "MRR": reciprocal_rank(order, gains),
        "AP": average_precision(order, gains),
        **{f"all-evidence@{k}": float(shares[k] == 1) for k in _ALL_AT if k <= depth},
        **_character_figures(answer, dataset.references.get(query, ())),
        **_shape(answer),
    }


def _share(first: Sequence[str], pieces: Sequence[frozenset[str]]) -> float:
    """How much of what is needed is here; 0 if nothing is needed."""
    here = frozenset(first)
    return sum(not here.isdisjoint(piece) for piece in pieces) / len(pieces) if pieces else 0.0


def _character_figures(answer: Answer, references: Sequence[Reference]) -> dict[str, float]:
    """Repeats are left out, as in the measures' source."""
    if not references:
        return {}
    placed = zip(answer.documents[:_SPAN_AT], answer.spans[:_SPAN_AT], strict=True)
    shown = [(name, span) for name, span in placed if name is not None and span is not None]
    wanted = [(part.doc_id, (part.start, part.end)) for part in references if not part.repeat]
    names = ("char-recall", "char-precision", "char-IoU")
    return {f"{name}@{_SPAN_AT}": value for name, value in zip(names, characters(shown, wanted), strict=True)}


def _shape(answer: Answer) -> dict[str, float]:
    """What an agent gets to see of it."""
    shown = len(answer.keys) if answer.shown is None else min(answer.shown, len(answer.keys))
    names = [name or key for name, key in zip(answer.documents[:shown], answer.keys[:shown], strict=True)]
    texts = answer.digests[:shown]
    return {
        "documents": float(len(set(names))),
        "duplicates": 1 - len(set(texts)) / len(texts) if texts else 0.0,
        "tokens": float(answer.tokens),
    }


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
