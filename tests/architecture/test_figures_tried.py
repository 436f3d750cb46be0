"""What was tried and not adopted: the replay's BM25 and its table, worked out by hand."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest
from scripts_room import script

BENCH = Path(__file__).resolve().parents[2] / "bench"


def measured(difference: float, p: float) -> dict[str, dict[str, float]]:
    return {"nDCG@10": {"difference": difference, "p": p}, "recall@5": {"difference": 0.0, "p": 1.0}}


def test_a_difference_is_bold_with_its_p_where_chance_does_not_explain_it_and_zero_where_there_is_none() -> None:
    rows = [
        {"variant": "k 20 (60)", "sets": {"one": measured(0.0060051, 0.0057), "two": measured(-0.0051, 0.36)}},
        {"variant": "no stems", "sets": {"one": measured(-0.02, 0.049), "two": measured(0.0004, 0.5)}},
    ]
    assert script("figure_tried").tried(rows).splitlines() == [
        "| nDCG@10 / recall@5 | one | two |",
        "|---|---|---|",
        "| k 20 (60) | **+.006 (p 0.006)** / 0 | -.005 / 0 |",
        "| no stems | **-.020 (p 0.049)** / 0 | 0 / 0 |",
    ]


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        # Lengths 1 and 3, their mean 2; the rare term is held by the second alone: idf ln(1 + 1.5 / 1.5) = ln 2.
        # norm = .25 + .75 * 3/2 = 1.375; 2 * 2.2 / (2 + 1.2 * 1.375) = 4.4 / 3.65
        ({}, math.log(2) * 4.4 / 3.65),
        ({"plus": 2.2}, math.log(2) * (4.4 / 3.65 + 2.2)),
        # 2 / 1.375 + .5 = 1.9545...; 2.2 c / (1.2 + c)
        ({"longer": 0.5}, math.log(2) * 2.2 * (2 / 1.375 + 0.5) / (1.2 + 2 / 1.375 + 0.5)),
    ],
)
def test_the_formulas_of_the_replay_give_what_a_hand_gives(
    monkeypatch: pytest.MonkeyPatch, formula: dict[str, float], expected: float
) -> None:
    monkeypatch.syspath_prepend(str(BENCH / "peers"))
    monkeypatch.syspath_prepend(str(BENCH))
    import replay  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415 - bench/ is no package

    field = replay.Field([["plain"], ["rare", "plain", "rare"]])
    scores = field.scores(["rare", "unknown"], replay.Bm25(**formula), {})
    assert scores[0] == 0
    assert scores[1] == pytest.approx(expected)
    sys.modules.pop("replay")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Ab. Cd. Ef.",
            ["Ab.", "Cd.", "Ef."],
        ),  # 11 characters, 2.75 windows of 4: ends wanted at 3.7 and 7.3, found at 4 and 8
        ("ab cdefgh", ["ab", "cdefgh"]),  # no sentence ends: at the space, 1.5 characters from the middle
        ("abcdefgh", ["abcd", "efgh"]),
        ("Ab.", ["Ab."]),
        ("", [""]),
    ],
)
def test_windows_are_about_equally_long_and_end_with_a_sentence_or_a_word_if_one_ends_nearby(
    monkeypatch: pytest.MonkeyPatch, text: str, expected: list[str]
) -> None:
    monkeypatch.syspath_prepend(str(BENCH / "peers"))
    monkeypatch.syspath_prepend(str(BENCH))
    import windows  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415 - bench/ is no package

    assert windows.cut(text, 4) == expected
    sys.modules.pop("windows")
