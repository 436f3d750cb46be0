"""Killed at any moment, the store opens, holds only whole documents, and the next run finishes the work."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
K8S_DOCS = ROOT.parent / "shared" / "data" / "k8s-docs"


def _rounds(data: Path, rounds: int, *options: str) -> str:
    script = [sys.executable, str(ROOT / "bench" / "kill_ingest.py"), "--data", str(data), "--rounds", str(rounds)]
    done = subprocess.run([*script, *options], capture_output=True, text=True, env=dict(os.environ), check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.requirement("INGEST-7", "INGEST-5")
def test_three_kills_of_a_small_ingestion_lose_nothing() -> None:
    with resources.as_file(resources.files("citewell.demo").joinpath("corpus")) as corpus:
        assert "equals one filled in one go: True" in _rounds(corpus, 3, "--seed", "3")


@pytest.mark.slow
@pytest.mark.requirement("INGEST-7", "INGEST-5")
def test_eight_kills_of_an_ingestion_of_real_documentation_lose_nothing() -> None:
    if not K8S_DOCS.is_dir():
        pytest.skip(f"no documents at {K8S_DOCS}")
    assert "equals one filled in one go: True" in _rounds(K8S_DOCS, 8)
