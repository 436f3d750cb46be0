"""Rankings and gains as the text that trec_eval reads; pure.

Ids there end at white space: in ours, it and `%` are written as in addresses (`%20`), alike in both files. Scores
only say the order; they fall strictly, so that no tie is broken by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from citewell.evaluation.measures import ranked
from citewell.evaluation.metrics import Gains
from citewell.evaluation.model import Dataset, Run

_BREAKS = re.compile(r"[\s%]")


def run_text(run: Run, dataset: Dataset) -> str:
    """`query Q0 id rank score tag` a line, queries by id, ranks from 1; an unanswered query has no line."""
    return "".join(_run_lines(run, dataset))


def qrels_text(qrels: Mapping[str, Gains]) -> str:
    """`query 0 id gain` a line, queries and ids ascending. trec_eval itself takes whole numbers alone as gains."""
    return "".join(
        f"{word(query)} 0 {word(label)} {_number(gain)}\n"
        for query, gains in sorted(qrels.items())
        for label, gain in sorted(gains.items())
    )


def word(text: str) -> str:
    """An id, or a name, without white space."""
    return _BREAKS.sub(lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), text)


def _number(gain: float) -> str:
    return str(int(gain)) if gain == int(gain) else repr(gain)


def _run_lines(run: Run, dataset: Dataset) -> Iterator[str]:
    for query in dataset.queries:
        answer = run.answers.get(query)
        names = () if answer is None else ranked(answer, dataset)
        for rank, name in enumerate(names, start=1):
            yield f"{word(query)} Q0 {word(name)} {rank} {len(names) + 1 - rank} {word(run.name)}\n"
