"""A similarity floor from unlabelled text: what unrelated questions score, and what it would cost (SCORE-5); pure.

Two sets of best similarities are compared, one for each question: of questions that the store can't answer, and of
questions made of the store's own sentences. The floor is what rejects the wanted share of the former; it is proposed
if it keeps enough of the latter. It knows no store, no embedder and no question: whoever calls has asked them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from citewell.checks import check_number
from citewell.errors import InvalidRequest
from citewell.evaluation.tune_folds import bootstrap

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]

REJECT: Final = 0.95
KEEP: Final = 0.8
"""The share of the store's own questions that a floor has to keep. On five public sets, floors kept of people's
questions between .05 less and .17 more than of those (docs/tuning.md)."""

FEWEST: Final = 30
"""Fewer questions of either kind have no percentile to speak of."""

_PERCENTS: Final = (5, 25, 50, 75, 90, 95, 99, 100)
_SHARES: Final = (0.5, 0.75, 0.9, 0.95, 0.99)
_NEAREST: Final = 5
_ROUNDS: Final = 2_000


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and the best similarity that it reached; `language` is its ISO 639-1 code, or empty."""

    question: str
    similarity: float
    language: str = ""

    def to_dict(self) -> dict[str, object]:
        """JSON values, in the order of the fields."""
        return {"question": self.question, "similarity": self.similarity, "language": self.language}


@dataclass(frozen=True, slots=True)
class Language:
    """What unrelated questions of one language score.

    Attributes:
        median, high: of their best similarities; high = the 90th percentile.
        difference: their mean less that of all others.
        differs: whether that is more than chance (the bootstrap's interval, narrowed for the number of languages).
    """

    language: str
    questions: int
    median: float
    high: float
    difference: float
    differs: bool

    def to_dict(self) -> dict[str, object]:
        """JSON values, in the order of the fields."""
        return {
            "language": self.language,
            "questions": self.questions,
            "median": self.median,
            "p90": self.high,
            "difference": self.difference,
            "differs": self.differs,
        }


@dataclass(frozen=True, slots=True)
class Choice:
    """A floor, the share of unrelated questions that it rejects, and of the store's own that it keeps."""

    floor: float
    rejected: float
    kept: float

    def to_dict(self) -> dict[str, object]:
        """JSON values, in the order of the fields."""
        return {"floor": self.floor, "rejected": self.rejected, "kept": self.kept}


@dataclass(frozen=True, slots=True)
class Calibration:
    """All of it.

    Attributes:
        unrelated, known: best similarities by percentile; how many there are under `questions`.
        separation: how often one of the store's own questions scores above an unrelated one, ties counting half.
        choice: the floor for the wanted share, in hundredths, rounded up.
        interval: the bootstrap's of 95% for the floor.
        kept_interval: the same for the share that it keeps.
        choices: floors for other shares.
        languages: by code.
        nearest: the unrelated questions that score highest: one that the store answers after all should not count.
        proposed: whether the floor is.
        why: or why not.
    """

    unrelated: Mapping[str, float]
    known: Mapping[str, float]
    separation: float
    choice: Choice
    interval: tuple[float, float]
    kept_interval: tuple[float, float]
    choices: tuple[Choice, ...]
    languages: tuple[Language, ...]
    nearest: tuple[Asked, ...]
    proposed: bool
    why: str

    def to_dict(self) -> dict[str, object]:
        """JSON values, in the order of the fields."""
        return {
            "unrelated": dict(self.unrelated),
            "known": dict(self.known),
            "separation": self.separation,
            **self.choice.to_dict(),
            "interval": list(self.interval),
            "kept_interval": list(self.kept_interval),
            "choices": [choice.to_dict() for choice in self.choices],
            "languages": [language.to_dict() for language in self.languages],
            "nearest": [asked.to_dict() for asked in self.nearest],
            "proposed": self.proposed,
            "why": self.why,
        }


def calibrate(
    unrelated: Sequence[Asked], known: Sequence[float], *, reject: float = REJECT, keep: float = KEEP, seed: int
) -> Calibration:
    """Choose a floor.

    Args:
        unrelated: questions that the store can't answer, asked.
        known: best similarities of questions made of the store's own sentences.
        reject: the share of unrelated questions to reject, between 0 and 1.
        keep: the share of the others that has to stay, from 0 to 1.
        seed: of the bootstrap.

    Raises:
        InvalidRequest: fewer than `FEWEST` of either, or a share out of range.
    """
    share = check_number("the share to reject", reject, least=0.01, most=0.999, wanted="a share from 0.01 to 0.999")
    least = check_number("the share to keep", keep, least=0, most=1, wanted="a share from 0 to 1")
    for name, count in (("unrelated questions", len(unrelated)), ("sentences of the store to ask", len(known))):
        if count < FEWEST:
            raise InvalidRequest(
                f"{count} {name} are too few for a floor", way_out=f"{FEWEST} or more are needed of either kind."
            )
    off, on = np.array([each.similarity for each in unrelated]), np.array(known, dtype=np.float64)
    choice = _choice(off, on, share)
    kept = bootstrap((on >= choice.floor).astype(np.float64), seed=seed)
    proposed = choice.kept >= least
    return Calibration(
        unrelated=_spread(off),
        known=_spread(on),
        separation=_separation(off, on),
        choice=choice,
        interval=_interval(off, share, seed),
        kept_interval=kept,
        choices=tuple(_choice(off, on, each) for each in _SHARES),
        languages=_languages(unrelated, seed),
        nearest=tuple(sorted(unrelated, key=lambda each: (-each.similarity, each.question))[:_NEAREST]),
        proposed=proposed,
        why=_why(choice, least, proposed=proposed),
    )


def _choice(off: Values, on: Values, share: float) -> Choice:
    """Rounded up to hundredths, so that no fewer are rejected; and above what it is to reject, for a floor keeps >=."""
    floor = min(math.floor(float(np.quantile(off, share)) * 100 + 1) / 100, 1.0)
    return Choice(floor, float((off < floor).mean()), float((on >= floor).mean()))


def _why(choice: Choice, least: float, *, proposed: bool) -> str:
    rejected, kept = f"{choice.rejected:.0%} of the unrelated questions", f"{choice.kept:.0%} of the store's own"
    if proposed:
        return f"it rejects {rejected} and keeps {kept}"
    return (
        f"a floor that rejects {rejected} keeps only {kept}, below {least:.0%}: the two overlap too much for a floor to"
        " help"
    )


def _spread(values: Values) -> dict[str, float]:
    percentiles = {f"p{percent}": float(np.percentile(values, percent)) for percent in _PERCENTS}
    return {"questions": float(len(values)), "mean": float(values.mean()), **percentiles}


def _separation(off: Values, on: Values) -> float:
    """The area under the ROC curve, by ranks (Mann and Whitney, 1947)."""
    below = np.searchsorted(np.sort(off), on, side="left")
    ties = np.searchsorted(np.sort(off), on, side="right") - below
    return float((below + ties / 2).sum() / (len(off) * len(on)))


def _interval(off: Values, share: float, seed: int) -> tuple[float, float]:
    draw = np.random.Generator(np.random.PCG64(seed))
    floors = [float(np.quantile(off[draw.integers(0, len(off), len(off))], share)) for _ in range(_ROUNDS)]
    low, high = np.quantile(floors, [0.025, 0.975])
    return float(low), float(high)


def _languages(unrelated: Sequence[Asked], seed: int) -> tuple[Language, ...]:
    names = sorted({each.language for each in unrelated})
    if len(names) < 2:
        return ()
    return tuple(_language(name, unrelated, 0.05 / len(names), seed) for name in names)


def _language(name: str, unrelated: Sequence[Asked], chance: float, seed: int) -> Language:
    own = np.array([each.similarity for each in unrelated if each.language == name])
    others = float(np.mean([each.similarity for each in unrelated if each.language != name]))
    low, high = bootstrap(own - others, seed=seed, level=1 - chance)
    return Language(
        name,
        len(own),
        float(np.median(own)),
        float(np.percentile(own, 90)),
        float(own.mean()) - others,
        low > 0 or high < 0,
    )
