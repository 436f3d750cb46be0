"""What tuning found, frozen: what it looked at, what each fold chose, what that is worth on the fold held out.

It says nothing of how any of it is worked out, and prints nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

FLOOR: Final = "rag.min-similarity"

Verdict = Literal["propose", "keep", "too_few"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One measure, each query judged in the fold that its setting was not chosen on.

    Attributes:
        measure: such as `nDCG@10`.
        current: the mean under the settings in force.
        tuned: the mean under what the other folds chose.
        p: of the paired randomisation test.
        low, high: the bootstrap's interval of 95% for the gain.
    """

    measure: str
    current: float
    tuned: float
    p: float
    low: float
    high: float

    @property
    def gain(self) -> float:
        """Tuned less current."""
        return self.tuned - self.current

    def to_dict(self) -> dict[str, object]:
        """JSON values, in the order of the fields."""
        return {
            "measure": self.measure,
            "current": self.current,
            "tuned": self.tuned,
            "gain": self.gain,
            "p": self.p,
            "interval": [self.low, self.high],
        }


@dataclass(frozen=True, slots=True)
class Fold:
    """What a stage chose without one fold, and what that gains there.

    Attributes:
        queries: held out.
        changes: by configuration key, from and to.
        gain: of the metric's mean, on the queries held out.
    """

    queries: int
    changes: Mapping[str, tuple[object, object]]
    gain: float

    def to_dict(self) -> dict[str, object]:
        """JSON values, in the order of the fields."""
        return {"queries": self.queries, "changes": changes_to_dict(self.changes), "gain": self.gain}


@dataclass(frozen=True, slots=True)
class Look:
    """A setting that was tried on all queries: what it changes, and its mean."""

    changes: Mapping[str, tuple[object, object]]
    mean: float

    def to_dict(self) -> dict[str, object]:
        """JSON values, in the order of the fields."""
        return {"changes": changes_to_dict(self.changes), "mean": self.mean}


@dataclass(frozen=True, slots=True)
class Step:
    """What one stage of the search chose, and what that is worth beside what the stages before it were kept for.

    Attributes:
        keys: configuration keys that it varied.
        changes: what it chose on all queries: by configuration key, from and to.
        comparisons: with and without it, held out: the metric first, then the measures that may not fall.
        by_fold: what it chose without each fold.
        agreeing: how many folds chose exactly what all queries choose.
        kept: whether it is proposed.
        why: or why not.
    """

    keys: tuple[str, ...]
    changes: Mapping[str, tuple[object, object]]
    comparisons: tuple[Comparison, ...]
    by_fold: tuple[Fold, ...]
    agreeing: int
    kept: bool
    why: str

    def to_dict(self) -> dict[str, object]:
        """JSON values, in the order of the fields."""
        return {
            "keys": list(self.keys),
            "changes": changes_to_dict(self.changes),
            "comparisons": [comparison.to_dict() for comparison in self.comparisons],
            "by_fold": [fold.to_dict() for fold in self.by_fold],
            "agreeing": self.agreeing,
            "kept": self.kept,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class Floor:
    """A similarity floor that costs next to nothing on questions that have an answer.

    Attributes:
        value: the lowest of those that the folds chose; None if even the lowest tried costs too much.
        current: the floor in force; None = off.
        by_fold: what each chose.
        losses: by measure, what the folds' floors cost on the queries held out, below 0 if they gain.
        rejected: the share of the blocks that were returned without a floor and are not with `value`.
        silenced: queries that get nothing with `value`, and something without.
        unanswerable: how many questions that nothing answers get nothing with `value`, of how many.
        verdict: `propose` if it costs no guarded measure anything, `offer` if it costs no more than the tolerance
            (which is for people to weigh), else `none`.
        why: in a sentence.
    """

    value: float | None
    current: float | None
    by_fold: tuple[float | None, ...]
    losses: Mapping[str, float]
    rejected: float
    silenced: int
    unanswerable: tuple[int, int]
    verdict: Literal["propose", "offer", "none"]
    why: str

    def to_dict(self) -> dict[str, object]:
        """JSON values, in the order of the fields."""
        rejected, judged = self.unanswerable
        return {
            "value": self.value,
            "current": self.current,
            "by_fold": list(self.by_fold),
            "losses": dict(self.losses),
            "rejected": self.rejected,
            "silenced": self.silenced,
            "unanswerable": {"rejected": rejected, "judged": judged},
            "verdict": self.verdict,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class Tuning:
    """All of it.

    Attributes:
        queries: judged.
        metric: that the choice goes by.
        folds, seed: of the cross-validation.
        verdict: whether a change is proposed, none is, or nothing can be said; the floor has a verdict of its own.
        why: in a sentence.
        changes: what is proposed: by configuration key, from and to; the floor apart.
        comparisons: all of it and nothing of it, held out: the metric first, then the measures that may not fall.
        steps: what each stage chose, in order.
        looks: what was tried on all queries, best first, equal ones the simplest first.
        alone: the metric's mean of each path by itself.
        floor: for the settings with the changes; None if it was not looked for.
    """

    queries: int
    metric: str
    folds: int
    seed: int
    verdict: Verdict
    why: str
    changes: Mapping[str, tuple[object, object]] = field(default_factory=dict)
    comparisons: tuple[Comparison, ...] = ()
    steps: tuple[Step, ...] = ()
    looks: tuple[Look, ...] = ()
    alone: Mapping[str, float] = field(default_factory=dict)
    floor: Floor | None = None

    @property
    def proposed(self) -> Mapping[str, object]:
        """The configuration to write: value by key; empty if nothing is proposed."""
        values = {key: value for key, (_, value) in self.changes.items()}
        floor = self.floor
        return {**values, FLOOR: floor.value} if floor is not None and floor.verdict == "propose" else values

    def to_dict(self) -> dict[str, object]:
        """JSON values, in the order of the fields, and what is proposed."""
        return {
            "queries": self.queries,
            "metric": self.metric,
            "folds": self.folds,
            "seed": self.seed,
            "verdict": self.verdict,
            "why": self.why,
            "changes": changes_to_dict(self.changes),
            "comparisons": [comparison.to_dict() for comparison in self.comparisons],
            "steps": [step.to_dict() for step in self.steps],
            "looks": [look.to_dict() for look in self.looks],
            "alone": dict(self.alone),
            "floor": None if self.floor is None else self.floor.to_dict(),
            "proposed": dict(self.proposed),
        }


@dataclass(frozen=True, slots=True)
class Latencies:
    """What real lookups under both settings took, one after the other, and whether they answered as was worked out.

    Attributes:
        queries: looked up under each.
        current, tuned: median milliseconds, without the embedding of the question.
        agreeing: queries of which, under both, the first ten labels found are those worked out from the recording.
    """

    queries: int
    current: float
    tuned: float
    agreeing: int

    def to_dict(self) -> dict[str, object]:
        """JSON values, in the order of the fields."""
        return {
            "queries": self.queries,
            "current_p50_ms": round(self.current, 3),
            "tuned_p50_ms": round(self.tuned, 3),
            "agreeing": self.agreeing,
        }


def changes_to_dict(changes: Mapping[str, tuple[object, object]]) -> dict[str, object]:
    """JSON values: `{key: {"from": ..., "to": ...}}`."""
    return {key: {"from": before, "to": after} for key, (before, after) in changes.items()}
