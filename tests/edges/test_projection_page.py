"""The pages on projections and sessions: their programs run in order and print what the page says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

from citewell.testing.fakes import HashEmbedder

DOCS = Path(__file__).resolve().parents[2] / "docs"
PROGRAM = re.compile(r"```python\n(.*?)```\n\n(`{3,})text\n(.*?)\2\n", re.DOTALL)


@pytest.mark.requirement("PROJ-2", "PROJ-7", "SESSION-1", "CONTEXT-1", "GUARD-1")
@pytest.mark.parametrize(("name", "count"), [("projections.md", 7), ("sessions.md", 3), ("guard.md", 1)])
def test_every_program_on_the_page_prints_what_the_page_says(
    monkeypatch: pytest.MonkeyPatch, name: str, count: int
) -> None:
    monkeypatch.setattr("citewell.app.knowledge.open_embedder", lambda *_: HashEmbedder())
    page = (DOCS / name).read_text("utf-8")
    programs = PROGRAM.findall(page)
    assert len(programs) == page.count("```python\n") == count
    names: dict[str, object] = {}
    for program, _, said in programs:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(program, name, "exec"), names)  # noqa: S102 - our own page is the program
        assert printed.getvalue().rstrip() + "\n" == said
