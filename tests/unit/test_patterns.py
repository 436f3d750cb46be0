"""Patterns that are made when they are first used."""

from __future__ import annotations

import re

import pytest

from citewell.patterns import late


@pytest.mark.requirement("API-1")
def test_a_late_pattern_is_made_once_at_its_first_use_and_says_what_the_pattern_says() -> None:
    made: list[str] = []

    def make() -> re.Pattern[str]:
        made.append("made")
        return re.compile("b+")

    pattern = late(make)
    assert made == []
    assert pattern.findall("abbab") == ["bb", "b"]
    assert pattern.sub("-", "abbab") == "a-a-"
    assert (pattern.pattern, made) == ("b+", ["made"])


@pytest.mark.requirement("API-1")
def test_nothing_private_is_asked_of_a_pattern() -> None:
    with pytest.raises(AttributeError, match="_secret"):
        late(lambda: re.compile("a"))._secret  # type: ignore[attr-defined]  # noqa: B018 - the access is what is tested
