"""The list of breakages is in order, and a few of them are noticed; `make mutations` tries all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from scripts_room import script

ROOT = Path(__file__).resolve().parents[2]
MUTATIONS = script("mutations")


def test_every_breakage_applies_to_the_code_as_it_is_and_names_tests_that_there_are() -> None:
    """Whoever changes such a line changes it in scripts/mutations.toml too."""
    listed = MUTATIONS.mutations()
    assert MUTATIONS.faults(listed) == []
    assert len(listed) >= 25
    assert sum(mutation.fast for mutation in listed) >= 5


@pytest.mark.slow
def test_a_few_breakages_are_noticed() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "mutations.py"), "--fast", "--no-unbroken"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
