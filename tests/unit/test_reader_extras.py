"""Readers that come as extras stand behind the same port (INGEST-1)."""

from __future__ import annotations

import importlib

import pytest

from citewell import Knowledge
from citewell.adapters.readers import FileReader
from citewell.model import Text
from citewell.ports import Reader
from citewell.testing.fakes import HashEmbedder

STORY = "The pool of connections was exhausted because every client kept two of them open. " * 4
PAGE = f"""<html lang="en"><head><title>Pools</title><meta name="author" content="Ada Lovelace"></head><body>
<nav><a href="/">Home</a></nav><article><h1>Pools</h1><p>{STORY}</p>
<table><tr><th>size</th><th>price</th></tr><tr><td>small</td><td>1</td></tr></table><p>{STORY}</p></article>
<footer>Imprint</footer></body></html>"""


@pytest.mark.requirement("INGEST-1")
def test_trafilatura_reads_pages_and_leaves_the_rest() -> None:
    module = pytest.importorskip(
        "trafilatura", reason="the extra trafilatura is not installed"
    ) and importlib.import_module("citewell.adapters.readers.trafilatura")
    extra = module.TrafilaturaReader()
    assert isinstance(extra, Reader)
    reader = FileReader([extra])
    assert reader.version != FileReader().version
    text = reader.read(PAGE.encode(), "pools.html")
    assert text.title == "Pools"
    assert text.metadata["author"] == "Ada Lovelace"
    assert "Imprint" not in text.text
    assert STORY.strip() in text.text
    assert "| small | 1 |" in text.text
    assert reader.read(b"# Title\n", "a.md").text == "# Title\n"
    assert (
        reader.read(b"<p>Hi", "short.html").text == "Hi"
    )  # nothing that it would call a story: read by Citewell's own


@pytest.mark.requirement("INGEST-1")
def test_docling_reads_documents() -> None:
    module = pytest.importorskip("docling", reason="the extra docling is not installed") and importlib.import_module(
        "citewell.adapters.readers.docling"
    )
    from office_files import docx_file  # noqa: PLC0415 - only where there is something to read

    extra = module.DoclingReader()
    assert isinstance(extra, Reader)
    assert extra.takes("a.PDF")
    assert "Restart the gateway." in extra.read(docx_file(["Restart the gateway."]), "a.docx").text


class Shouting:
    """Takes a format of its own."""

    version = "1"

    def takes(self, name: str) -> bool:
        return name.endswith(".shout")

    def read(self, data: bytes, name: str) -> Text:
        return FileReader().read(data.upper(), "a.md")


@pytest.mark.requirement("INGEST-1")
def test_a_reader_of_ones_own_is_handed_to_the_knowledge(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("docs")
    (folder / "a.shout").write_text("quiet words", encoding="utf-8")
    with Knowledge.open("memory:", embedder=HashEmbedder(), readers=[Shouting()]) as kb:
        assert [file.status for file in kb.ingest(folder).files] == ["added"]
        assert kb.show("a.shout#chunk-0").text == "QUIET WORDS"
    with Knowledge.open("memory:", embedder=HashEmbedder()) as kb:
        assert [file.status for file in kb.ingest(folder).files] == ["skipped"]
