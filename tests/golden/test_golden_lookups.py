"""The same lookups give the same bytes in every process, whatever the hash seed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def _lookups(folder: Path, seed: int) -> bytes:
    environment = {**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, str(HERE / "lookups.py"), str(folder)]
    return subprocess.run(command, env=environment, capture_output=True, check=True).stdout


@pytest.mark.requirement("RRF-3", "POST-6", "API-1")
def test_golden_lookups_are_byte_equal_under_three_hash_seeds(tmp_path: Path) -> None:
    """Trial I19."""
    runs = [_lookups(tmp_path / str(seed), seed) for seed in (0, 1, 4242)]
    assert runs[0].count(b"\n") == 90
    assert runs[1] == runs[0]
    assert runs[2] == runs[0]
