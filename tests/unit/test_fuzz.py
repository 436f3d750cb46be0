"""A few damaged and invented inputs for each target of `bench/fuzz.py`, which tries as many as there is time for."""

from __future__ import annotations

from pathlib import Path

import pytest
from fuzz_targets import TARGETS, broke, corpus

TIMES = 6


@pytest.mark.requirement("INGEST-1", "INGEST-4", "GUARD-1", "PROJ-4", "ID-8", "LEX-1", "API-7", "SAFE-4")
@pytest.mark.parametrize("name", TARGETS)
def test_no_input_breaks_a_target(name: str) -> None:
    held = corpus(Path("none"))
    cases = (f"{name} 0 {number}" for number in range(TIMES))
    assert [said for case in cases if (said := broke(TARGETS[name], case, held))] == []
