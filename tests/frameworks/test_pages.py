"""The programs on the pages of the frameworks run, as they stand (API-6)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from frameworks_room import SETTINGS, SMALL

from citewell import Knowledge
from citewell.testing.fakes import HashEmbedder

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.requirement("API-6")
@pytest.mark.parametrize("page", ["langchain", "llamaindex", "haystack"])
def test_the_programs_on_a_page_run_and_show_evidence(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("citewell.app.knowledge.open_embedder", lambda *_: HashEmbedder())
    with Knowledge.open("./kb", settings=SETTINGS) as kb:
        kb.ingest_documents(SMALL)
    programs = re.findall(r"```python\n(.*?)```", (DOCS / f"{page}.md").read_text("utf-8"), re.DOTALL)
    assert programs
    names: dict[str, object] = {}
    for program in programs:
        exec(compile(program, f"{page}.md", "exec"), names)  # noqa: S102 - our own pages are the programs
    opened = names.get("kb")
    assert isinstance(opened, Knowledge)
    opened.close()
    pipeline = names.get("pipeline")
    if pipeline is not None:
        pipeline.close()  # type: ignore[attr-defined]
    assert "etcd.md#chunk-0" in capsys.readouterr().out
