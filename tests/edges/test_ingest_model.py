"""A store and a plain dict say the same after any history of edits, deletions, renames and kills (INGEST-5, 7)."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from injected_room import assert_as_filled_in_one_go, opened, rows, statuses, whole, write

from citewell import Knowledge

ROOT = Path(__file__).resolve().parents[2]


def bench(script: str, *arguments: str) -> str:
    """Run a script of bench/; its output, which on failure names the seed and the operations before it."""
    command = [sys.executable, str(ROOT / "bench" / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ), check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.requirement("INGEST-5", "INGEST-7")
def test_sixty_random_operations_leave_what_the_model_holds_on_every_path_after_each() -> None:
    assert "equal after each" in bench("model_ops.py", "--operations", "60", "--seed", "7")


@pytest.mark.slow
@pytest.mark.requirement("INGEST-5", "INGEST-7")
@pytest.mark.parametrize("seed", [1, 2])
def test_five_hundred_random_operations_leave_what_the_model_holds_on_every_path_after_each(seed: int) -> None:
    assert "equal after each" in bench("model_ops.py", "--operations", "500", "--seed", str(seed))


def marks(location: Path) -> int:
    """Rows of what filters compare with."""
    connection = sqlite3.connect(location / "citewell.db")
    found: int = connection.execute("SELECT count(*) FROM marks").fetchone()[0]
    connection.close()
    return found


def gone(knowledge: Knowledge) -> int:
    """Rows that the derived index still holds of versions that were replaced."""
    return int(dict(knowledge.status().details)["index_rows_gone"])


@pytest.mark.requirement("INGEST-5", "LEX-2")
def test_fifty_edits_of_one_document_leave_as_many_rows_as_it_has_chunks(tmp_path: Path) -> None:
    """Trial I93, fifty times: one section to eight, some of them old, under another category each time."""
    docs, location = tmp_path / "docs", tmp_path / "kb"
    write(docs, "b.md", "wbone", "wbtwo")
    with opened(location) as knowledge, opened(location) as reader:
        for turn in range(50):
            words = [f"w{turn if part % 3 else 0}n{part}" for part in range(1 + turn * 5 % 8)]
            write(docs, "a.md", *words)
            report = knowledge.ingest(docs, category="odd" if turn % 2 else "even")
            assert statuses(report)["a.md"] == ("updated" if turn else "added")
            for each in (knowledge, reader):
                assert whole(each) == {"a.md": words, "b.md": ["wbone", "wbtwo"]}
            assert rows(location) == (2, len(words) + 2, len(words) + 2)
            assert marks(location) == 4  # a category and a seal each
            assert gone(knowledge) < 150
    with opened(location) as knowledge:
        knowledge.ingest(docs)
        assert_as_filled_in_one_go(knowledge, docs, tmp_path / "fresh")
        assert gone(knowledge) < 10


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_small_files() -> None:
    assert "held" in bench("memory.py", "--files", "8000")
