"""The page on projections: its programs run in order, and what they print is what the page says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

from citewell.testing.fakes import HashEmbedder

PAGE = Path(__file__).resolve().parents[2] / "docs" / "projections.md"
PROGRAM = re.compile(r"```python\n(.*?)```\n\n(`{3,})text\n(.*?)\2\n", re.DOTALL)


@pytest.mark.requirement("PROJ-2", "PROJ-7")
def test_every_program_on_the_page_prints_what_the_page_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("citewell.app.open_embedder", lambda *_: HashEmbedder())
    page = PAGE.read_text("utf-8")
    programs = PROGRAM.findall(page)
    assert len(programs) == page.count("```python\n") == 7
    names: dict[str, object] = {}
    for program, _, said in programs:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(program, "projections.md", "exec"), names)  # noqa: S102 - our own page is the program
        assert printed.getvalue().rstrip() + "\n" == said
