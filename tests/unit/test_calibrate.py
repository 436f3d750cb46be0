"""A similarity floor from what unrelated questions score, worked out by hand (EVAL-2)."""

from __future__ import annotations

import numpy as np
import pytest

from citewell.errors import InvalidRequest
from citewell.evaluation.calibrate import Asked, Calibration, calibrate
from citewell.evaluation.calibrate_questions import everyday, question_of


def asked(values: list[float], language: str = "") -> list[Asked]:
    return [Asked(f"question {language}{place}", value, language) for place, value in enumerate(values)]


def spread(start: float, count: int = 100) -> list[float]:
    """`count` values from `start` on, .001 apart."""
    return [start + place / 1000 for place in range(count)]


def found(off: list[float], on: list[float], **options: float) -> Calibration:
    return calibrate(asked(off), on, seed=1, **options)


@pytest.mark.requirement("EVAL-2", "SCORE-5")
def test_the_floor_rejects_the_wanted_share_and_says_what_it_keeps() -> None:
    # .100 to .199: the 95th percentile is .19405, in hundredths above it .20. Of .150 to .349, .200 to .349 stay.
    result = found(spread(0.1), spread(0.15, 200), keep=0.75)
    assert result.choice.floor == 0.2
    assert (result.choice.rejected, result.choice.kept) == (1.0, 0.75)
    assert result.proposed
    assert result.why == "it rejects 100% of the unrelated questions and keeps 75% of the store's own"
    assert result.unrelated["p50"] == pytest.approx(0.1495)
    assert result.known["questions"] == 200


@pytest.mark.requirement("EVAL-2")
def test_a_floor_at_a_value_that_all_have_lies_above_it() -> None:
    result = found([0.3] * 40, [0.5] * 40)
    assert result.choice.floor == 0.31
    assert (result.choice.rejected, result.choice.kept) == (1.0, 1.0)
    assert result.interval == (0.3, 0.3)
    assert result.kept_interval == (1.0, 1.0)


@pytest.mark.requirement("EVAL-2")
def test_where_the_two_overlap_too_much_no_floor_is_proposed_and_that_is_said() -> None:
    result = found(spread(0.1), spread(0.12))
    assert not result.proposed
    assert "overlap too much for a floor to help" in result.why


@pytest.mark.requirement("EVAL-2")
def test_separation_is_the_share_of_pairs_in_order_ties_counting_half() -> None:
    # Of .1 and .3, .2 is above one and .3 above one and equal to one: (1 + 1.5) / 4.
    result = found([0.1, 0.3] * 20, [0.2, 0.3] * 20)
    assert result.separation == pytest.approx(2.5 / 4)


@pytest.mark.requirement("EVAL-2")
def test_a_higher_share_to_reject_never_lowers_the_floor() -> None:
    floors = [choice.floor for choice in found(spread(0.1), spread(0.2)).choices]
    assert floors == sorted(floors)
    assert found(spread(0.1), spread(0.2), reject=0.5).choice.floor == 0.15


@pytest.mark.requirement("EVAL-2")
def test_a_language_that_scores_differently_is_said_and_one_that_does_not_is_not() -> None:
    off = asked(spread(0.1, 40), "en") + asked(spread(0.1, 40), "de") + asked(spread(0.3, 40), "zh")
    languages = {each.language: each for each in calibrate(off, spread(0.5), seed=1).languages}
    # zh: .3195 beside .1195; en: .1195 beside the mean of .1195 and .3195.
    assert languages["zh"].difference == pytest.approx(0.2)
    assert languages["zh"].differs
    assert languages["en"].difference == pytest.approx(-0.1)
    alike = asked(spread(0.1, 40), "en") + asked(spread(0.1, 40), "de")
    assert [each.differs for each in calibrate(alike, spread(0.5), seed=1).languages] == [False, False]
    assert calibrate(asked(spread(0.1)), spread(0.5), seed=1).languages == ()


@pytest.mark.requirement("EVAL-2")
def test_the_unrelated_questions_that_come_closest_are_named() -> None:
    assert [each.similarity for each in found(spread(0.1), spread(0.5)).nearest] == pytest.approx(
        [0.199, 0.198, 0.197, 0.196, 0.195]
    )


@pytest.mark.requirement("EVAL-2")
def test_too_few_questions_of_either_kind_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="29 unrelated questions are too few"):
        found(spread(0.1, 29), spread(0.5))
    with pytest.raises(InvalidRequest, match="29 sentences of the store to ask are too few"):
        found(spread(0.1), spread(0.5, 29))


@pytest.mark.requirement("EVAL-2")
@pytest.mark.parametrize(("name", "value"), [("reject", 0), ("reject", 1), ("reject", "x"), ("keep", 1.1)])
def test_shares_out_of_range_are_refused(name: str, value: float) -> None:
    with pytest.raises(InvalidRequest, match=f"the share to {name}"):
        found(spread(0.1), spread(0.5), **{name: value})


@pytest.mark.requirement("EVAL-2")
def test_a_question_is_three_of_five_words_of_a_sentence_in_their_order() -> None:
    words = "the gateway answers slowly whenever its pool of connections is full"
    question = question_of(f"# Heading\n\n- a list\n\n{words}.", np.random.default_rng(1))
    assert question is not None
    kept = question.rstrip(".").split()
    assert len(kept) == 7  # of 11: 6.6, rounded up
    places = [words.split().index(word) for word in kept]
    assert places == sorted(places)
    assert question_of(f"{words}.", np.random.default_rng(1)) == question_of(f"{words}.", np.random.default_rng(1))


@pytest.mark.requirement("EVAL-2")
def test_a_question_in_a_script_without_spaces_is_three_of_five_characters() -> None:
    question = question_of("数据库连接池耗尽时先扩容再重启网关。", np.random.default_rng(1))
    assert question is not None
    assert len(question) == 11  # of 18: 10.8, rounded up


@pytest.mark.requirement("EVAL-2")
@pytest.mark.parametrize(
    "passage",
    [
        "",
        "Too short.",
        "kubectl get pods -n kube-system --field-selector=status.phase=Running.",
        "| a | b |\n| 1 | 2 |",
    ],
)
def test_what_is_no_prose_makes_no_question(passage: str) -> None:
    assert question_of(passage, np.random.default_rng(1)) is None


@pytest.mark.requirement("EVAL-2")
def test_everyday_questions_are_of_several_languages_and_none_comes_twice() -> None:
    questions = [question for texts in everyday().values() for question in texts]
    assert len(everyday()) >= 8
    assert len(questions) == len(set(questions)) >= 100
    assert all(len(texts) >= 10 for texts in everyday().values())
