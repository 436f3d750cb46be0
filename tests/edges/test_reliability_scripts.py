"""The long runs behind docs/reliability.md, short: damage to every file of a store, readers beside a writer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


def ran(tmp_path: Path, script: str, *arguments: str) -> dict[str, Any]:
    """Run a script of bench/; what it recorded."""
    command = [sys.executable, str(ROOT / "bench" / script), *arguments, "--json", str(tmp_path / "told.json")]
    done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ), check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    told: dict[str, Any] = json.loads((tmp_path / "told.json").read_text("utf-8"))
    return told


@pytest.mark.requirement("ENGINE-4")
def test_a_dozen_damaged_files_never_make_an_answer_wrong(tmp_path: Path) -> None:
    told = ran(tmp_path, "faults.py", "--sample", "12")
    assert (told["faults"], told["wrong"]) == (12, 0)


@pytest.mark.slow
@pytest.mark.requirement("ENGINE-4")
def test_two_hundred_damaged_files_never_make_an_answer_wrong(tmp_path: Path) -> None:
    told = ran(tmp_path, "faults.py", "--sample", "200", "--seed", "6")
    assert (told["faults"], told["wrong"]) == (200, 0)


@pytest.mark.slow
@pytest.mark.requirement("INGEST-5", "INGEST-7", "SAFE-1")
def test_readers_beside_a_writer_see_no_mixture_and_no_leak(tmp_path: Path) -> None:
    told = ran(tmp_path, "readers.py", "--readers", "4", "--minutes", "0.5")
    assert told["answers"] > 50
    assert [told[name] for name in ("errors", "mixtures", "leaks", "acknowledged_lost")] == [0, 0, 0, 0]
