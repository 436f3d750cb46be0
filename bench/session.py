"""What a session's memory saves: thirty questions on six incidents, as an agent asks them, with and without memory.

    python bench/session.py

The demo corpus with the default model, hybrid, default budgets, no hints. The questions are those of
tests/golden/conversation.txt: several wordings for each incident, the last paragraph back to the earlier ones. After
half of them the store is closed and opened again. Printed per incident and in all: how many passages came with text
and how many as references, and the tokens (Citewell's own bound) of what the agent is given as text, beside the same
questions without a session. Exit code 1 if the session shows a text twice, or is worth less than a third of the tokens.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from importlib import resources
from pathlib import Path
from typing import Any

from citewell import Knowledge, Settings
from citewell.projection import to_text, token_bound
from dataset_store import PATIENT

CONVERSATION = Path(__file__).resolve().parent.parent / "tests" / "golden" / "conversation.txt"
SETTINGS = Settings.of({**PATIENT, "retrieval.search.mode": "hybrid", "rag.hints": False})
_LEAST_SAVED = 1 / 3


def incidents() -> list[list[str]]:
    """The questions, by paragraph."""
    return [paragraph.splitlines() for paragraph in CONVERSATION.read_text("utf-8").strip().split("\n\n")]


def converse(location: Path, session: str | None) -> list[list[dict[str, Any]]]:
    """What the agent is shown, by incident; each half in a store opened anew."""
    asked = incidents()
    half = len(asked) // 2
    answers: list[list[dict[str, Any]]] = []
    for part in (asked[:half], asked[half:]):
        with Knowledge.open(location, settings=SETTINGS) as knowledge:
            answers += [
                [knowledge.lookup(question, session=session).to_agent() for question in questions] for questions in part
            ]
    return answers


def texts(answers: list[list[dict[str, Any]]]) -> list[str]:
    """Every content that was shown, in order."""
    items = [item for answered in answers for seen in answered for item in seen["evidence"]]
    return [item["content"] for item in items if item["content"]]


def tokens(answered: list[dict[str, Any]]) -> int:
    """Of what an agent is given, ids, labels and the tool's own words included."""
    return sum(token_bound(to_text(seen)) for seen in answered)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        location = Path(folder) / "kb"
        corpus = resources.files("citewell.demo").joinpath("corpus")
        with resources.as_file(corpus) as path, Knowledge.open(location, settings=SETTINGS) as knowledge:
            knowledge.ingest(path)
        without, within = converse(location, None), converse(location, "bench")
    print("| first question | texts | references | tokens | tokens without memory |\n|---|---|---|---|---|")
    for questions, answered, plain in zip(incidents(), within, without, strict=True):
        items = [item for seen in answered for item in seen["evidence"]]
        shown = sum(bool(item["content"]) for item in items)
        row = (questions[0], shown, len(items) - shown, f"{tokens(answered):,}", f"{tokens(plain):,}")
        print("| " + " | ".join(map(str, row)) + " |")
    spent, plain_spent = sum(map(tokens, within)), sum(map(tokens, without))
    twice = len(texts(within)) - len(set(texts(within)))
    again = len(texts(without)) - len(set(texts(without)))
    print(f"\n{spent:,} tokens within the session, {plain_spent:,} without: {1 - spent / plain_spent:.0%} saved")
    plain_texts, held = sum(map(token_bound, texts(without))), sum(map(token_bound, texts(within)))
    print(
        f"of which in texts: {held:,} within the session, {plain_texts:,} without: {1 - held / plain_texts:.0%} saved"
    )
    print(f"texts shown more than once: {twice} within the session, {again} without")
    if arguments.json:
        figures = {
            "without a session": {"tokens": plain_spent, "texts": plain_texts, "repeats": again},
            "within one": {"tokens": spent, "texts": held, "repeats": twice},
        }
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0 if twice == 0 and spent <= (1 - _LEAST_SAVED) * plain_spent else 1


if __name__ == "__main__":
    sys.exit(main())
