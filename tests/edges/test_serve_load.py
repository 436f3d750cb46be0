"""A server under load: the benchmark, shortened; bounds in milliseconds are the benchmark's, not a shared machine's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench" / "serve_load.py"


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.requirement("API-4")
def test_lookups_during_an_ingestion_have_no_error(tmp_path: Path) -> None:
    for number in range(40):
        steps = "\n\n".join(f"## Step {step}\n\n{f'Turn wheel {number} at gate {step}. ' * 40}" for step in range(10))
        (tmp_path / f"{number}.md").write_text(f"# Manual {number}\n\n{steps}\n")
    options = ["--data", str(tmp_path), "--seconds", "6", "--idle-seconds", "2", "--clients", "6", "--think", "0.2"]
    said = subprocess.run(
        [sys.executable, str(BENCH), *options, "--report-only"], capture_output=True, text=True, check=False
    )
    assert said.returncode == 0, said.stdout + said.stderr
    assert "during an ingestion" in said.stdout
    assert "0 errors" in said.stdout
    assert "the ingestion is" in said.stdout
