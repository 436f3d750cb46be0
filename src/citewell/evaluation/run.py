"""Asks a system all questions of a dataset, one after the other. A system is any callable from a text to an Answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from citewell.errors import InvalidRequest
from citewell.evaluation.model import Answer, Dataset, Run

Ask = Callable[[str], Answer]
Told = Callable[[str, int], None]


def ask_all(
    name: str, ask: Ask, dataset: Dataset, *, settings: Mapping[str, object] | None = None, told: Told | None = None
) -> Run:
    """The answers to all questions, in the order of their ids.

    A question that the system refuses (blank, punctuation alone) is unanswered and named; any other error ends the run.

    Args:
        name: of the run.
        ask: the system.
        dataset: whose questions.
        settings: what sets the run apart, to be told with it.
        told: called after each question with the run's name and how many were asked.
    """
    answers: dict[str, Answer] = {}
    refused: dict[str, str] = {}
    for number, (query, text) in enumerate(dataset.queries.items(), start=1):
        try:
            answers[query] = ask(text)
        except InvalidRequest as error:
            refused[query] = error.message
        if told is not None:
            told(name, number)
    return Run(name, answers, refused, dict(settings or {}))
