"""Readers that come as extras stand behind the same port (INGEST-1)."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace

import pytest
from office_files import docx_file, zip_file
from pdf_files import encrypted, pdf_file

from citewell import Knowledge
from citewell.adapters.readers import FileReader
from citewell.errors import IngestError
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


@dataclass
class FakeDocument:
    """As docling's, of these pages; an empty one says what a picture leaves."""

    pages: dict[int, str]
    whole: str = ""

    def export_to_markdown(self, *, image_placeholder: str = "<!-- image -->", page_no: int = 0) -> str:
        return (self.pages[page_no] if page_no else self.whole) or image_placeholder


@dataclass
class FakeResult:
    document: FakeDocument
    status: str = "success"
    errors: list[SimpleNamespace] = field(default_factory=list)


@pytest.fixture
def converts(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[FakeResult | None], Reader]]:
    """Puts a docling in place that converts everything to a result, or nothing."""
    results: list[FakeResult | None] = []

    class Converter:
        def convert(self, stream: object) -> FakeResult:
            if results[0] is None:
                raise RuntimeError("no such\nmodel")
            return results[0]

    names: dict[str, dict[str, object]] = {
        "docling": {},
        "docling.datamodel": {},
        "docling.datamodel.base_models": {
            "ConversionStatus": SimpleNamespace(SUCCESS="success"),
            "DocumentStream": SimpleNamespace,
        },
        "docling.datamodel.document": {"ConversionResult": FakeResult},
        "docling.document_converter": {"DocumentConverter": Converter},
        "docling_core": {},
        "docling_core.types": {},
        "docling_core.types.doc": {"DoclingDocument": FakeDocument},
    }
    for name, members in names.items():
        module = ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "citewell.adapters.readers.docling", raising=False)

    def reader(result: FakeResult | None) -> Reader:
        results[:] = [result]
        found: Reader = importlib.import_module("citewell.adapters.readers.docling").DoclingReader()
        return found

    yield reader
    sys.modules.pop("citewell.adapters.readers.docling", None)


@pytest.mark.requirement("INGEST-1")
def test_a_document_by_docling_has_its_pages_and_no_marks_of_pictures(
    converts: Callable[[FakeResult | None], Reader],
) -> None:
    text = converts(FakeResult(FakeDocument({1: "one", 2: "", 3: "three"}))).read(pdf_file([[]]), "a.pdf")
    assert text.text == "one\n\nthree"
    assert [(start, place.page) for start, place in text.places] == [(0, 1), (5, 3)]
    assert converts(FakeResult(FakeDocument({1: ""}))).read(pdf_file([[]]), "scan.pdf").text == ""
    assert converts(FakeResult(FakeDocument({}, "all"))).read(docx_file(["x"]), "a.docx").text == "all"


@pytest.mark.requirement("INGEST-1", "INGEST-6")
def test_what_docling_reads_in_part_is_said(converts: Callable[[FakeResult | None], Reader]) -> None:
    errors = [SimpleNamespace(error_message="page 2\ntimed out")]
    text = converts(FakeResult(FakeDocument({1: "one"}), "partial", errors)).read(pdf_file([[]]), "a.pdf")
    assert text.remarks == ("docling read it in part only: page 2 timed out",)


@pytest.mark.requirement("INGEST-1", "INGEST-9")
def test_what_docling_cannot_convert_is_read_without_it(converts: Callable[[FakeResult | None], Reader]) -> None:
    remark = "read without docling, which can't convert it: no such model"
    text = converts(None).read(docx_file(["One."]), "a.docx")
    assert (text.text, text.remarks) == ("One.", (remark,))
    locked = converts(None).read(encrypted(pdf_file([[]]), "key"), "a.pdf")
    assert locked.remarks == (remark, "it is a PDF file protected by a password; save it without one")


@pytest.mark.requirement("INGEST-1")
def test_docling_gets_nothing_that_is_unsafe_to_unpack(converts: Callable[[FakeResult | None], Reader]) -> None:
    bomb = zip_file({"word/document.xml": b"<w>" + b" " * 20_000_000 + b"</w>"})
    with pytest.raises(IngestError, match="it unpacks to 20,000,007 bytes"):
        converts(FakeResult(FakeDocument({}, "all"))).read(bomb, "a.docx")
