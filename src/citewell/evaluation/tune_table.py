"""The figures of every setting that was tried, one per query, each worked out once; pure.

It knows no fold and makes no choice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from citewell.evaluation.measures import Judged
from citewell.evaluation.model import Answer, Run
from citewell.evaluation.recorded import Recording
from citewell.evaluation.tune_replay import Rules, Setting, replay

if TYPE_CHECKING:
    from collections.abc import Mapping

    from citewell.evaluation.tune_folds import Figures

Judge = Callable[[Run], Judged]
"""What the answers to all judged queries are worth."""


class Table:
    """Figures by setting and measure.

    Args:
        recording: of the judged queries.
        rules: what no setting changes.
        judge: of all answers.
        measures: those to keep; the figures of each are those of the queries, ids ascending.
    """

    def __init__(self, recording: Recording, rules: Rules, judge: Judge, measures: Iterable[str]) -> None:
        self._recording, self._rules, self._judge = recording, rules, judge
        self.measures = tuple(measures)
        self._known: dict[Setting, Mapping[str, Figures]] = {}

    @property
    def queries(self) -> list[str]:
        """Ids, in the order of every row of figures."""
        return list(self._recording.queries)

    def answers(self, setting: Setting) -> list[Answer]:
        """What each query gets."""
        chunks = self._recording.chunks
        return [replay(setting, self._rules, recorded, chunks) for recorded in self._recording.queries.values()]

    def figures(self, setting: Setting, measure: str) -> Figures:
        """The measure of each query."""
        if setting not in self._known:
            judged = self._judge(Run("", dict(zip(self.queries, self.answers(setting), strict=True))))
            self._known[setting] = {name: np.array(judged.values(name), dtype=np.float64) for name in self.measures}
        return self._known[setting][measure]

    def tried(self) -> list[Setting]:
        """Every setting that was asked for, in that order."""
        return list(self._known)
