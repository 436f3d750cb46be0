"""Small PDF files that ask for billions of drawings or gigabytes are refused before a page is drawn (INGEST-1)."""

from __future__ import annotations

import zlib

import pytest
from pdf_files import paragraph, pdf_file

from citewell.adapters.readers import pdf, pdf_scan
from citewell.adapters.readers.pdf import read_pdf
from citewell.errors import IngestError


def stream(content: bytes, entries: bytes = b"", *, packed: int = 0) -> bytes:
    for _ in range(packed):
        content = zlib.compress(content, 9)
    filters = b"/Filter [%s]" % (b"/FlateDecode " * packed) if packed else b""
    return b"<< %s %s /Length %d >>\nstream\n%s\nendstream" % (entries, filters, len(content), content)


def file(content: bytes, *others: bytes, resources: bytes = b"") -> bytes:
    """A PDF of one page with this content; the objects behind it count from 6."""
    bodies = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R"
        b" /Resources << /Font << /F 5 0 R >> %s >> >>" % resources,
        content,
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Courier >>",
        *others,
    ]
    out, places = b"%PDF-1.5\n", []
    for number, body in enumerate(bodies, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(bodies) + 1)
    return (
        out
        + head
        + table
        + b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(bodies) + 1, len(out))
    )


DRAWN = b"BT /F 9 Tf 10 10 Td (Restart) Tj ET "


def forms(depth: int, each: int, *, packed: int = 0, shared: bool = False) -> bytes:
    """Forms that draw one another: the innermost says something, the others draw the next one several times."""
    count = 2 if shared else 1
    bodies = []
    for level in range(depth):
        content = b"/X Do " * each if level < depth - 1 else DRAWN
        named = b"/Font << /F 5 0 R >> /XObject << /X %d 0 R >>" % (6 + count * (level + 1))
        own = b"%d 0 R" % (7 + count * level) if shared else b"<< %s >>" % named
        entries = b"/Type /XObject /Subtype /Form /BBox [0 0 600 800] /Resources " + own
        bodies += [stream(content, entries, packed=packed), *([b"<< %s >>" % named] if shared else [])]
    return file(stream(b"/X Do"), *bodies, resources=b"/XObject << /X 6 0 R >>")


ENDLESS = "its pages are drawn by forms that draw one another without end"


@pytest.mark.requirement("INGEST-1")
@pytest.mark.parametrize("packed", [0, 1, 2])
@pytest.mark.parametrize("shared", [False, True])
def test_forms_that_draw_one_another_without_end_are_refused(packed: int, shared: bool) -> None:
    """Twelve of them in three kilobytes ask for 100,000,000,000 drawings; the library can't be stopped."""
    with pytest.raises(IngestError, match=ENDLESS):
        read_pdf(forms(12, 10, packed=packed, shared=shared), "a.pdf")


@pytest.mark.requirement("INGEST-1")
@pytest.mark.parametrize(("depth", "each"), [(1, 1), (3, 2), (2, 500), (12, 1)])
def test_forms_as_programs_write_them_are_read(depth: int, each: int) -> None:
    assert "Restart" in read_pdf(forms(depth, each, packed=1, shared=True), "a.pdf").text


@pytest.mark.requirement("INGEST-1")
def test_a_page_that_draws_a_costly_form_often_is_refused() -> None:
    data = forms(5, 10).replace(
        b"<<   /Length 5 >>\nstream\n/X Do\n", b"<<   /Length 600 >>\nstream\n" + b"/X Do " * 100 + b"\n"
    )
    assert b"/X Do " * 100 in data
    with pytest.raises(IngestError, match=ENDLESS):
        read_pdf(data, "a.pdf")


@pytest.mark.requirement("INGEST-1")
@pytest.mark.parametrize("packed", [1, 2])
def test_a_page_that_unpacks_to_more_than_can_be_held_is_refused(packed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf_scan, "_MOST_BYTES", 1_000_000)
    with pytest.raises(IngestError, match="its pages unpack to more than 1,000,000 bytes"):
        read_pdf(file(stream(b"q Q " * 300_000, packed=packed)), "a.pdf")


@pytest.mark.requirement("INGEST-1")
def test_a_form_named_in_a_stream_of_objects_is_found() -> None:
    first, second = b"<< /XObject 10 0 R >>", b"<< /X 6 0 R >>"
    head = b"9 0 10 %d " % len(first)
    objects = dict(pdf_scan._unbundled(b"<< /Type /ObjStm /N 2 /First %d >>" % len(head), head + first + second))
    assert objects == {9: first, 10: second}


@pytest.mark.requirement("INGEST-1")
def test_a_file_whose_pages_take_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "_LONGEST", -1.0)
    with pytest.raises(IngestError, match="its first 0 pages took longer than -1 seconds"):
        read_pdf(pdf_file([paragraph("Restart.")]), "a.pdf")
