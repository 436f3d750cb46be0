"""Bad values wherever one enters: an answer, or an error of Citewell's that names it in a line, and no harm (SAFE-2).

The values and the places are in tests/support/hostile_values.py; `bench/bad_inputs.py` counts them. The long texts, and
the places that write, are slow; so is the embedded engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hostile_values import LONG_TEXTS, VALUES, calls, harm, room, rules, tried

from citewell import Knowledge
from citewell.config import KEYS

RULES = rules()
READS = ("lookup", "show", "read", "check", "a document", "forget")


@pytest.fixture(scope="module")
def knowledge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Knowledge]:
    with pytest.MonkeyPatch.context() as patch, room() as opened:
        patch.chdir(tmp_path_factory.mktemp("nothing"))  # names of files among the values are looked for here
        yield opened
        assert harm(opened) == []


def wrong(place: str, knowledge: Knowledge, *, long: bool) -> list[str]:
    """What went wrong with each value at this place."""
    act = RULES.get(place) or calls(knowledge)[place]
    values = {name: value for name, value in VALUES.items() if (name in LONG_TEXTS) is long}
    return [f"{name}: {said}" for name, value in values.items() if (said := tried(act, value))]


def test_there_are_thousands_of_them(knowledge: Knowledge) -> None:
    places = {*RULES, *calls(knowledge)}
    assert {f"setting {key.name}" for key in KEYS} <= places
    assert len(places) * len(VALUES) > 10_000


@pytest.mark.requirement("SAFE-2", "SAFE-4", "API-7", "ID-7")
def test_no_rule_reader_or_setting_breaks_over_a_bad_value(knowledge: Knowledge) -> None:
    assert {place: said for place in RULES if (said := wrong(place, knowledge, long=False))} == {}


@pytest.mark.requirement("SAFE-2", "SAFE-4", "GUARD-1", "SESSION-2")
def test_no_call_that_reads_breaks_over_a_bad_value(knowledge: Knowledge) -> None:
    reading = [place for place in calls(knowledge) if place.startswith(READS)]
    assert len(reading) > 20
    assert {place: said for place in reading if (said := wrong(place, knowledge, long=False))} == {}


@pytest.mark.slow
@pytest.mark.requirement("SAFE-2", "INGEST-6")
@pytest.mark.parametrize("engine", ["memory", "local"])
@pytest.mark.parametrize("long", [False, True])
def test_no_call_breaks_over_a_bad_value_and_the_store_is_unharmed(
    engine: str, long: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with room("memory:" if engine == "memory" else str(tmp_path / "kb")) as knowledge:
        assert {place: said for place in calls(knowledge) if (said := wrong(place, knowledge, long=long))} == {}
        assert harm(knowledge) == []


@pytest.mark.slow
@pytest.mark.requirement("SAFE-2", "INGEST-1")
def test_no_rule_reader_or_setting_takes_long_over_a_long_text(knowledge: Knowledge) -> None:
    assert {place: said for place in RULES if (said := wrong(place, knowledge, long=True))} == {}
