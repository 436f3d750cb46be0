"""Everything that an evaluation found, and its one document: the form that the inspector's Evaluations page reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from citewell.errors import InvalidRequest
from citewell.evaluation.compare import Change, Comparison, compare
from citewell.evaluation.measures import Judged, Latency
from citewell.evaluation.model import Dataset
from citewell.evaluation.truth import Truth

_EXAMPLES = 10


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Runs on one dataset, the baseline first.

    Attributes:
        dataset: what was asked.
        truth: what was right.
        judged: of each run.
        comparisons: of each further run with the first.
        store: what was asked: documents, chunks, embedder.
    """

    dataset: Dataset
    truth: Truth
    judged: tuple[Judged, ...]
    comparisons: tuple[Comparison, ...]
    store: Mapping[str, object] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The dataset's name, with that of its labels where they aren't the usual ones: `runbooks-desc`."""
        stem = self.dataset.labels.rpartition("/")[2].rpartition(".")[0]
        variant = "" if stem in ("qrels", "test", "references") else stem.removeprefix("qrels").lstrip(".-_")
        return f"{self.dataset.name}-{variant}" if variant else self.dataset.name

    def to_dict(self) -> dict[str, object]:
        """JSON values. The same runs give the same document, but for `latency` and what the store calls itself."""
        return {
            "dataset": self.title,
            "labels": self.dataset.labels,
            "grain": self.dataset.grain,
            "questions": len(self.dataset.queries),
            "unanswerable": len(self.dataset.unanswerable),
            "not_stored": {
                "labels": len(self.truth.missing),
                "of": self.truth.labels,
                "first": list(self.truth.missing[:_EXAMPLES]),
            },
            "misplaced": len(self.truth.misplaced),
            "store": dict(self.store),
            "runs": [_run(each) for each in self.judged],
            "baseline": self.judged[0].run.name,
            "comparisons": [_comparison(each) for each in self.comparisons],
        }


def evaluate(
    dataset: Dataset,
    truth: Truth,
    judged: Sequence[Judged],
    *,
    baseline: str | None = None,
    store: Mapping[str, object] | None = None,
) -> Evaluation:
    """Compare the runs with the one of this name, the first without one.

    Raises:
        InvalidRequest: no run has that name.
    """
    names = [each.run.name for each in judged]
    check_baseline(baseline, names)
    first = judged[0 if baseline is None else names.index(baseline)]
    others = [each for each in judged if each is not first]
    return Evaluation(dataset, truth, (first, *others), compare(first, others, dataset.queries), dict(store or {}))


def check_baseline(baseline: str | None, names: Sequence[str]) -> None:
    """Refuse a baseline that is no run.

    Raises:
        InvalidRequest: names the runs that there are.
    """
    if baseline is not None and baseline not in names:
        raise InvalidRequest(f"there is no run {baseline!r} to compare with", way_out=f"Choose of {', '.join(names)}.")


def _run(judged: Judged) -> dict[str, object]:
    return {
        "name": judged.run.name,
        "settings": dict(judged.run.settings),
        "means": _rounded(judged.means),
        "unanswered": judged.unanswered,
        "degraded": judged.degraded,
        "refused": dict(judged.run.refused),
        "latency": _latency(judged.latency),
        "queries": {query: _rounded(figures) for query, figures in judged.figures.items()},
    }


def _latency(latency: Latency) -> dict[str, float | None]:
    """Milliseconds."""
    return {
        "p50": round(latency.p50, 3),
        "p95": round(latency.p95, 3),
        "p50_with_embedding": None if latency.embedded_p50 is None else round(latency.embedded_p50, 3),
        "p95_with_embedding": None if latency.embedded_p95 is None else round(latency.embedded_p95, 3),
    }


def _comparison(comparison: Comparison) -> dict[str, object]:
    return {
        "run": comparison.run,
        "measure": comparison.measure,
        "before": round(comparison.before, 9),
        "after": round(comparison.after, 9),
        "p": round(comparison.p, 6),
        "p_holm": round(comparison.p_holm, 6),
        "better": comparison.better,
        "equal": comparison.equal,
        "worse": comparison.worse,
        "gained": [_change(change) for change in comparison.gained],
        "lost": [_change(change) for change in comparison.lost],
    }


def _change(change: Change) -> dict[str, object]:
    return {
        "query": change.query,
        "text": change.text,
        "before": round(change.before, 9),
        "after": round(change.after, 9),
    }


def _rounded(figures: Mapping[str, float]) -> dict[str, float]:
    """Beyond what any measure tells, and short enough to be read."""
    return {name: round(value, 12) for name, value in figures.items()}
