"""Keeps what a run counted or measured: one JSON file under bench/results, with script, commit and day.

`scripts/reliability.py` and `scripts/figures.py` make pages of them. It knows no figure.
"""

from __future__ import annotations

import datetime
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def record(file: Path | None, script: str, figures: Mapping[str, object]) -> None:
    """Write the figures, if a file was named.

    Args:
        file: such as `bench/results/kills.json`; None = nothing is written.
        script: how to run it again, such as `bench/kill_ingest.py --rounds 200`.
        figures: JSON values by name.
    """
    if file is None:
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    stamp = {"script": script, "commit": commit(), "date": f"{datetime.date.today()}"}
    text = json.dumps({**stamp, **figures}, indent=1, ensure_ascii=False)
    file.write_text(text + "\n", encoding="utf-8")


def commit() -> str:
    """The checkout's commit, shortened; `unknown` where there is no checkout."""
    command = ["git", "-C", str(ROOT), "rev-parse", "--short=7", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"
