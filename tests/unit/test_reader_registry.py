"""A file goes to the reader that its content asks for; faults become an IngestError with a way out (INGEST-1, 9)."""

from __future__ import annotations

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from office_files import docx_file, xlsx_file, zip_file
from pdf_files import encrypted, paragraph, pdf_file

from citewell.adapters.readers import TEXTS, FileReader
from citewell.adapters.readers.kinds import is_known, kind_of
from citewell.errors import IngestError
from citewell.model import Text
from citewell.ports import Reader

PDF = pdf_file([paragraph("Restart the gateway.")])
DOCX = docx_file(["Restart the gateway."])


@pytest.fixture
def reader() -> FileReader:
    return FileReader()


@pytest.mark.requirement("INGEST-1")
def test_it_satisfies_the_port(reader: FileReader) -> None:
    port: Reader = reader
    assert isinstance(port, Reader)
    assert port.version


@pytest.mark.requirement("INGEST-1")
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.md", "markdown"), ("A.MD", "markdown"), ("a.txt", "plain"), ("README", "plain"), ("a.html", "html"),
        ("a.rst", "rst"),
        ("a.adoc", "asciidoc"), ("a.json", "json"), ("a.jsonl", "jsonl"), ("a.yml", "yaml"), ("a.ipynb", "notebook"),
        ("a.eml", "mail"), ("a.csv", "delimited"), ("a.py", "code"), ("Makefile", "code"), ("dir/Dockerfile", "code"),
        ("dir\\Makefile", "code"),
    ],
)  # fmt: skip
def test_text_is_read_by_its_name(name: str, kind: str) -> None:
    assert kind_of(b"plain words", name).reader == kind
    assert is_known(name)


@pytest.mark.requirement("INGEST-1")
@pytest.mark.parametrize("name", ["a.bin", "a.png", "a.exe", "noname", "a.zip", "a.md.bak", ".env"])
def test_other_names_are_not_taken(reader: FileReader, name: str) -> None:
    assert not reader.takes(name)


@pytest.mark.requirement("INGEST-1")
@pytest.mark.parametrize(
    ("data", "name", "start", "remark"),
    [
        (PDF, "notes.md", "Restart the gateway.", "it is a PDF file, not Markdown, and read as such"),
        (DOCX, "notes.txt", "Restart the gateway.", "it is a Word document, not plain text, and read as such"),
        (DOCX, "notes.pdf", "Restart the gateway.", "it is a Word document, not a PDF file, and read as such"),
        (b"<!DOCTYPE html><p>Hello", "a.txt", "Hello", "it is an HTML page, not plain text, and read as such"),
        (b"<html><p>Hello", "a.docx", "Hello", "it is an HTML page, not a Word document, and read as such"),
        (b"just words", "a.pdf", "just words", "it is plain text, not a PDF file, and read as such"),
        (b"just words", "a.xlsx", "just words", "it is plain text, not an Excel workbook, and read as such"),
    ],
)
def test_content_decides_over_the_name_and_the_report_says_so(
    reader: FileReader, data: bytes, name: str, start: str, remark: str
) -> None:
    text = reader.read(data, name)
    assert text.text == start
    assert text.remarks == (remark,)


@pytest.mark.requirement("INGEST-1")
@pytest.mark.parametrize(
    ("data", "name", "cause"),
    [
        (zip_file({"a.txt": b"x"}), "a.docx", "it is a ZIP archive, which can't be read"),
        (zip_file({"mimetype": b"application/epub+zip"}), "a.docx", "it is an EPUB book, which can't be read"),
        (b"PK\x03\x04 torn", "a.docx", "it is a damaged ZIP archive or Office document"),
        (b"\x89PNG\r\n\x1a\n", "a.md", "it is a PNG image"),
        (b"\xff\xd8\xff\xe0", "a.txt", "it is a JPEG image"),
        (b"{\\rtf1 text}", "a.docx", "it is a Rich Text document"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 600, "a.docx", "an Office document of the time before 2007"),
        (b"\x00\x01\x02\x03binary" * 30, "a.md", "it is binary"),
        (b"\x00\x01\x02\x03binary" * 30, "a.pdf", "it is binary"),
        (PDF[: len(PDF) // 2], "a.md", "the PDF is damaged or cut short"),
        (DOCX[: len(DOCX) // 2], "a.docx", "it is a damaged ZIP archive or Office document"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(reader: FileReader, data: bytes, name: str, cause: str) -> None:
    with pytest.raises(IngestError, match=cause) as caught:
        reader.read(data, name)
    assert caught.value.way_out or "binary" in str(caught.value)


@pytest.mark.requirement("INGEST-9")
@pytest.mark.parametrize(
    ("data", "name", "reason"),
    [
        (b"", "a.pdf", "it is empty"),
        (b" \n\t\r\n", "a.md", "it is empty"),
        (b"\x00" * 64, "a.docx", "it is empty"),
        (encrypted(PDF, "secret"), "a.pdf", "it is a PDF file protected by a password; save it without one"),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"),
            "a.xlsx",
            "it is an Office document protected by a password; save it without one",
        ),
        (pdf_file([[], []], picture=True), "a.pdf", "its 2 pages hold no text, perhaps images of it; it needs OCR"),
    ],
)
def test_a_file_without_text_says_why(reader: FileReader, data: bytes, name: str, reason: str) -> None:
    """Trial I116."""
    text = reader.read(data, name)
    assert not text.text
    assert text.remarks == (reason,)


@pytest.mark.requirement("INGEST-1", "INGEST-6")
def test_a_missing_library_is_named_with_the_way_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    monkeypatch.delitem(sys.modules, "citewell.adapters.readers.pdf", raising=False)
    with pytest.raises(IngestError, match="reading a PDF file needs pypdfium2, which is not installed") as caught:
        FileReader().read(PDF, "a.pdf")
    assert caught.value.way_out == 'pip install "citewell[docs]"'


@pytest.mark.requirement("INGEST-6")
def test_whatever_a_library_throws_becomes_an_ingest_error(reader: FileReader) -> None:
    data = zip_file({"word/document.xml": b"<not-word/>", "[Content_Types].xml": b"<x"})
    with pytest.raises(IngestError, match="it can't be read as a Word document: "):
        reader.read(data, "a.docx")


@pytest.mark.requirement("INGEST-1")
def test_no_library_loads_before_its_first_file() -> None:
    program = (
        "import sys\nfrom citewell.adapters.readers import FileReader\nreader = FileReader()\n"
        "for name in ('a.md', 'a.txt', 'a.csv', 'a.rst', 'a.adoc', 'a.json', 'a.py', 'a.eml'):\n"
        "    reader.read(b'From: a@b\\n\\nwords', name)\n"
        "print({'lxml', 'chardet', 'pypdfium2', 'mammoth', 'pptx', 'python_calamine'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


class Shouting:
    """An extra for text files."""

    version = "shout-1"

    def takes(self, name: str) -> bool:
        return name.endswith((".txt", ".shout"))

    def read(self, data: bytes, name: str) -> Text:
        return Text(data.decode().upper(), "text")


@pytest.mark.requirement("INGEST-1")
def test_an_extra_is_asked_first_for_what_it_takes() -> None:
    reader = FileReader([Shouting()])
    assert reader.read(b"words", "a.txt").text == "WORDS"
    assert reader.read(b"words", "a.md").text == "words"
    assert reader.read(PDF, "a.txt").text == "Restart the gateway."  # a PDF is nothing for it
    assert reader.takes("a.shout")
    assert reader.version != FileReader().version


@pytest.mark.requirement("INGEST-1")
def test_texts_that_a_caller_hands_over_are_cleaned() -> None:
    assert TEXTS["text"]("a\r\nb\x00\ud800").text == "a\nb\ufffd"
    assert TEXTS["markdown"]("---\ntitle: T\n---\r\nbody").title == "T"


@pytest.mark.requirement("INGEST-2")
@pytest.mark.parametrize(
    ("name", "data", "text", "title"),
    [
        (
            "a.html",
            b"<title>a&#13;&#xD800;</title><p>b&#13;c</p><pre>d&#13;&#10;e</pre>",
            "b c\n\n```\nd\ne\n```",
            "a\ufffd",
        ),
        ("a.json", b'{"title": "a\\u0000\\rb", "k\\ud800": {"c": "\\r\\u0000"}}', "title: a\nb\n\nk\ufffd.c:", "a b"),
        ("a.ipynb", b'{"cells": [{"cell_type": "markdown", "source": "a\\u0000\\rb"}]}', "a\nb", None),
        ("a.md", b'---\ntitle: "a\\0\\rb"\n---\nc\n', '---\ntitle: "a\\0\\rb"\n---\nc\n', "a b"),
    ],
)
def test_escapes_bring_no_unclean_character_in(name: str, data: bytes, text: str, title: str | None) -> None:
    read = FileReader().read(data, name)
    assert (read.text.rstrip(" ") if name == "a.json" else read.text, read.title) == (text, title)
    assert not re.search(r"[\r\x00\ud800-\udfff]", repr((read.metadata, [each.title for each in read.headings])))


@pytest.mark.requirement("INGEST-1")
def test_many_threads_read_at_once_as_one_does(reader: FileReader) -> None:
    book = xlsx_file({"Prices": [["item", "price"], ["tea", 3]]})
    pages = pdf_file([paragraph(f"Page {number} says something.") for number in range(20)])
    files = [(PDF, "a.pdf"), (DOCX, "b.docx"), (book, "c.xlsx"), (pages, "d.pdf"), (b"<p>x<p>y", "e.html")] * 6
    alone = [reader.read(data, name) for data, name in files]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda file: FileReader().read(*file), files))
    assert together == alone


NAMES = ["a.md", "a.txt", "a.html", "a.pdf", "a.docx", "a.csv", "a.rst", "a.adoc", "a.json", "a.jsonl", "a.yaml"]
NAMES += ["a.ipynb", "a.eml", "a.py", "a.ts", "a.xlsx", "a.pptx"]
MARKUP = st.text(st.sampled_from("ab#*_-=|:`.<>[](){}+\\/\"'\n\n 1é数\t&;,$@!"), max_size=120)


@pytest.mark.requirement("INGEST-1", "INGEST-2", "INGEST-6")
@given(st.one_of(MARKUP.map(str.encode), st.binary(max_size=120)), st.sampled_from(NAMES))
def test_any_bytes_become_a_sound_text_or_an_ingest_error(data: bytes, name: str) -> None:
    try:
        text = FileReader().read(data, name)
    except IngestError:
        return
    assert not {"\r", "\x00"} & set(text.text)
    text.text.encode("utf-8")
    assert [start for start, _ in text.places] == sorted({start for start, _ in text.places})
    starts = [heading.start for heading in text.headings]
    assert starts == sorted(set(starts))
    assert all(start == 0 or text.text[start - 1] == "\n" for start in starts)
    assert all(heading.title.strip() and "\n" not in heading.title for heading in text.headings)
    assert all(1 <= heading.level <= 6 for heading in text.headings)
    assert text.text.strip() or text.remarks or not data.strip() or not text.text


@pytest.mark.requirement("INGEST-1")
@pytest.mark.parametrize(
    "text", ["ID3 tags hold titles.", "GIF89a is a format.", "BZhang wrote this.", "OggS begins each page."]
)
def test_a_text_that_begins_with_the_word_of_a_binary_format_is_a_text(reader: FileReader, text: str) -> None:
    assert reader.read(text.encode(), "a.md").text == text


@pytest.mark.requirement("INGEST-1")
@pytest.mark.parametrize(
    ("head", "what"),
    [
        (b"ID3\x03\x00\x00", "an audio file"),
        (b"GIF89a\x10\x00\x10\x00", "a GIF image"),
        (b"BZh91AY&SY\x01", "a bzip2 archive"),
    ],
)
def test_a_binary_format_that_begins_with_a_word_is_refused_by_name(reader: FileReader, head: bytes, what: str) -> None:
    with pytest.raises(IngestError, match=f"it is {what}"):
        reader.read(head + b" text", "a.md")
