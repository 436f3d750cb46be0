"""Word, PowerPoint and Excel files become Markdown with their tables whole (INGEST-1)."""

from __future__ import annotations

import contextlib
import datetime
import io
import zipfile
from typing import Any

import pytest
from docx.document import Document
from office_files import Cell, docx_file, pptx_file, with_part, xlsx_file, zip_file
from openpyxl.worksheet.worksheet import Worksheet
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from citewell.adapters.readers import FileReader, archive, xlsx
from citewell.adapters.readers.docx import read_docx
from citewell.adapters.readers.pptx import read_pptx
from citewell.adapters.readers.xlsx import read_xlsx
from citewell.errors import IngestError
from citewell.model import Locator

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"


def _report(document: Document) -> None:
    document.core_properties.title = "Template"
    document.core_properties.author = "Ada"
    document.core_properties.created = datetime.datetime(2024, 5, 1, 8, 30)
    document.add_heading("Pool report", 0)
    document.add_heading("Causes", 1)
    document.add_paragraph("Too many clients.")
    document.add_paragraph("first", style="List Bullet")
    document.add_paragraph("second", style="List Bullet")
    document.add_paragraph("then", style="List Number")
    document.add_heading("Numbers", 2)


@pytest.mark.requirement("INGEST-1")
def test_a_word_document_keeps_titles_headings_and_lists() -> None:
    text = read_docx(docx_file(_report), "a.docx")
    assert text.text == ("# Pool report\n\n# Causes\n\nToo many clients.\n\n- first\n- second\n\n1. then\n\n## Numbers")
    assert text.title is None  # the text begins with its own
    assert text.metadata == {"author": "Ada", "date": "2024-05-01T08:30:00Z"}
    assert text.places == ((0, Locator()),)


@pytest.mark.requirement("INGEST-1")
def test_the_title_in_the_properties_serves_where_the_text_has_none() -> None:
    def write(document: Document) -> None:
        document.core_properties.title = "Pool report"
        document.add_paragraph("Text.")

    assert read_docx(docx_file(write), "a.docx").title == "Pool report"


def _merged(document: Document) -> None:
    table = document.add_table(4, 3)
    for row in range(4):
        for column in range(3):
            table.cell(row, column).text = f"{row}{column}"
    for first, last in (((0, 0), (0, 1)), ((1, 2), (3, 2))):
        merged = table.cell(*first).merge(table.cell(*last))
        merged.text = "all|of it"


@pytest.mark.requirement("INGEST-1")
def test_merged_cells_of_a_word_table_say_their_text_in_each_row_and_column() -> None:
    assert read_docx(docx_file(_merged), "a.docx").text.split("\n") == [
        "| all\\|of it | all\\|of it | 02 |",
        "| --- | --- | --- |",
        "| 10 | 11 | all\\|of it |",
        "| 20 | 21 | all\\|of it |",
        "| 30 | 31 | all\\|of it |",
    ]


def _billion_laughs() -> bytes:
    entities = b'<!ENTITY a "ha">' + b"".join(
        b'<!ENTITY %c "%s">' % (98 + step, b"&%c;" % (97 + step) * 10) for step in range(12)
    )
    return b'<?xml version="1.0"?><!DOCTYPE x [' + entities + b"]><x>&m;</x>"


@pytest.mark.requirement("INGEST-6")
@pytest.mark.timeout(20)
def test_entities_that_unfold_without_end_are_refused_or_passed_over() -> None:
    plain = docx_file(["Text."])
    with pytest.raises(IngestError, match="Maximum entity amplification factor exceeded"):
        FileReader().read(with_part(plain, "word/document.xml", _billion_laughs()), "a.docx")
    assert FileReader().read(with_part(plain, "docProps/core.xml", _billion_laughs()), "a.docx").text == "Text."


@pytest.mark.requirement("INGEST-6")
@pytest.mark.timeout(20)
def test_an_archive_that_unpacks_to_far_more_is_refused_before_it_does() -> None:
    bomb = zip_file({"word/document.xml": b"<x>" + b" " * 80_000_000 + b"</x>"})
    assert len(bomb) < 100_000
    for read in (read_docx, read_pptx, read_xlsx):
        with pytest.raises(IngestError, match=r"it unpacks to 80,000,007 bytes, \d+ times its size"):
            read(bomb, "a.docx")


@pytest.mark.requirement("INGEST-1")
def test_slides_come_in_order_with_their_numbers_as_pages() -> None:
    data = pptx_file(
        [
            ("Pools", [(0, "Grow them"), (1, "slowly"), (1, "surely"), (0, "# one")], "Say hello."),
            ("", [], ""),
            ("Figures", [(0, "Last quarter")], ""),
        ],
        table=[["month", "sales"], ["May", "3|4"]],
    )
    text = read_pptx(data, "a.pptx")
    first = "## Pools\n\nGrow them\n\n- slowly\n- surely\n\n\\# one\n\nNotes:\n\nSay hello.\n\n"
    third = "## Figures\n\nLast quarter\n\n| month | sales |\n| --- | --- |\n| May | 3\\|4 |"
    assert text.text == first + third
    assert text.places == ((0, Locator(page=1)), (len(first), Locator(page=3)))
    assert text.title == "Pools"


@pytest.mark.requirement("INGEST-1")
def test_footnotes_stand_below_and_comments_nowhere() -> None:
    notes = (
        f'<w:footnotes xmlns:w="{W}"><w:footnote w:id="2"><w:p><w:r><w:footnoteRef/></w:r>'
        "<w:r><w:t>As of May.</w:t></w:r></w:p></w:footnote></w:footnotes>"
    )
    comment = '<w:comment w:id="0"><w:p><w:r><w:t>Really?</w:t></w:r></w:p></w:comment>'
    comments = f'<w:comments xmlns:w="{W}">{comment}</w:comments>'
    body = (
        f'<w:document xmlns:w="{W}"><w:body><w:p><w:r><w:t>The price</w:t></w:r>'
        '<w:r><w:footnoteReference w:id="2"/></w:r><w:r><w:commentReference w:id="0"/></w:r>'
        "<w:r><w:t> rose.</w:t></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del></w:p></w:body></w:document>"
    )
    relations = "".join(
        f'<Relationship Id="r{name}" Type="{RELATIONS}/{name}" Target="{name}.xml"/>'
        for name in ("footnotes", "comments")
    )
    data = docx_file(["x"])
    for name, part in (
        ("word/document.xml", body),
        ("word/footnotes.xml", notes),
        ("word/comments.xml", comments),
        ("word/_rels/document.xml.rels", f'<Relationships xmlns="{PACKAGE}">{relations}</Relationships>'),
    ):
        data = with_part(data, name, part.encode())
    assert read_docx(data, "a.docx").text == "The price[1] rose.\n\n1. As of May."


@pytest.mark.requirement("INGEST-1")
def test_charts_show_their_figures_and_groups_what_they_hold() -> None:
    presentation = Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    figures: Any = CategoryChartData()  # type: ignore[no-untyped-call]
    figures.categories = ["May", "June"]
    figures.add_series("sales", (1.5, None))
    figures.add_series("cost", (2, 3))
    slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, Inches(3), Inches(2), figures)
    group = slide.shapes.add_group_shape()
    group.shapes.add_textbox(0, 0, Inches(1), Inches(1)).text_frame.text = "within\vthe group"
    out = io.BytesIO()
    presentation.save(out)
    assert read_pptx(out.getvalue(), "a.pptx").text == (
        "## Slide 1\n\n|  | sales | cost |\n| --- | --- | --- |\n| May | 1.5 | 2 |\n| June |  | 3 |\n\n"
        "within\nthe group"
    )


@pytest.mark.requirement("INGEST-1")
def test_each_sheet_is_a_table_under_its_name() -> None:
    data = xlsx_file(
        {
            "Stock": [
                ["id", "name", "since", "checked", "price", "ok"],
                [1, "tea|green", datetime.date(2024, 5, 1), datetime.datetime(2024, 5, 1, 8, 30), 2.5, True],
                [2, "two\nlines", None, None, 3.0, False],
            ],
            "Empty": [],
            "Rest": [["a", "b"], [0.1 + 0.2, 10**15]],
        }
    )
    text = read_xlsx(data, "a.xlsx")
    assert text.text.split("\n") == [
        "## Stock",
        "",
        "| id | name | since | checked | price | ok |",
        "| --- | --- | --- | --- | --- | --- |",
        "| 1 | tea\\|green | 2024-05-01 | 2024-05-01T08:30:00 | 2.5 | TRUE |",
        "| 2 | two<br>lines |  |  | 3 | FALSE |",
        "",
        "## Rest",
        "",
        "| a | b |",
        "| --- | --- |",
        "| 0.3 | 1e+15 |",
    ]
    assert [place.line for _, place in text.places] == [None, 1, 2, 3, None, 1, 2]


@pytest.mark.requirement("INGEST-1")
def test_a_formula_shows_its_value_or_itself() -> None:
    data = xlsx_file({"Sums": [["n", "double"], [1, "=A2*2"], [2, "=IF(A3<3,1,2)"]]})
    assert read_xlsx(data, "a.xlsx").text.endswith("| 1 | =A2*2 |\n| 2 | =IF(A3<3,1,2) |")
    calculated = b'<row r="2"><c r="A2"><v>1</v></c><c r="B2"><f>A2*2</f><v>2</v></c></row></sheetData>'
    sheet = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    texts = [b'<c r="%s1" t="inlineStr"><is><t>%s</t></is></c>' % cell for cell in ((b"A", b"n"), (b"B", b"double"))]
    head = b'<row r="1">' + b"".join(texts) + b"</row>"
    cached = with_part(data, "xl/worksheets/sheet1.xml", sheet + head + calculated + b"</worksheet>")
    assert read_xlsx(cached, "a.xlsx").text == "## Sums\n\n| n | double |\n| --- | --- |\n| 1 | 2 |"


@pytest.mark.requirement("INGEST-1")
def test_merged_cells_of_a_sheet_repeat_their_value() -> None:
    def merge(sheet: Worksheet) -> None:
        sheet.merge_cells("A2:A3")
        sheet.merge_cells("B1:C1")

    rows: list[list[Cell]] = [["region", "sales", None], ["North", 1, 2], [None, 3, 4]]
    assert read_xlsx(xlsx_file({"S": rows}, merge), "a.xlsx").text.split("\n")[2:] == [
        "| region | sales | sales |",
        "| --- | --- | --- |",
        "| North | 1 | 2 |",
        "| North | 3 | 4 |",
    ]


@pytest.mark.requirement("INGEST-1")
def test_lines_above_a_table_and_tables_beside_blank_rows_are_told_apart() -> None:
    rows: list[list[Cell]] = [
        ["Report of May"],
        [],
        ["id", "n"],
        [1, 2],
        [],
        [3, 4],
        [],
        [None, None, "x", "y"],
        [None, None, 5, 6],
    ]
    assert read_xlsx(xlsx_file({"S": rows}), "a.xlsx").text == (
        "## S\n\nReport of May\n\n| id | n |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |\n\n"
        "| x | y |\n| --- | --- |\n| 5 | 6 |"
    )


@pytest.mark.requirement("INGEST-6")
@pytest.mark.timeout(20)
def test_two_cells_that_span_billions_are_refused() -> None:
    def far(sheet: Worksheet) -> None:
        sheet["XFD1048576"] = 1

    with pytest.raises(IngestError, match="its sheet 'S' spans 1,048,576 rows and 16,384 columns"):
        read_xlsx(xlsx_file({"S": [["a"]]}, far), "a.xlsx")


@pytest.mark.requirement("INGEST-6")
@pytest.mark.timeout(20)
def test_a_merge_over_all_of_a_sheet_fills_no_more_than_its_used_part() -> None:
    sheet = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData><row r="1">'
    cell = b'<c r="A1" t="inlineStr"><is><t>title</t></is></c></row></sheetData>'
    merge = b'<mergeCells count="1"><mergeCell ref="A1:XFD1048576"/></mergeCells></worksheet>'
    data = with_part(xlsx_file({"S": [["x"]]}), "xl/worksheets/sheet1.xml", sheet + cell + merge)
    assert read_xlsx(data, "a.xlsx").text == "## S\n\ntitle"


@pytest.mark.requirement("INGEST-1")
@pytest.mark.timeout(30)
def test_a_sheet_of_five_thousand_rows_has_a_place_for_each() -> None:
    rows: list[list[Cell]] = [["id", "name"]]
    rows += [[number, f"n{number}"] for number in range(5_000)]
    text = read_xlsx(xlsx_file({"S": rows}), "a.xlsx")
    assert text.text.count("\n") == 5_003
    assert text.places[-1][1] == Locator(line=5_001)


@pytest.mark.requirement("INGEST-6")
@pytest.mark.parametrize("name", ["a.docx", "a.xlsx"])
def test_damaged_properties_cost_nothing_but_themselves(name: str) -> None:
    make = {
        "a.docx": docx_file(["Text."]),
        "a.pptx": pptx_file([("Text.", [], "")]),
        "a.xlsx": xlsx_file({"Text.": [["a"]]}),
    }
    text = FileReader().read(with_part(make[name], "docProps/core.xml", b"<broken"), name)
    assert "Text." in text.text
    assert text.metadata == {}


class PanicException(BaseException):
    """As Rust code raises it."""


@pytest.mark.requirement("INGEST-6")
@pytest.mark.parametrize(("raised", "becomes"), [(PanicException, IngestError), (KeyboardInterrupt, KeyboardInterrupt)])
def test_a_panic_of_the_library_is_a_damaged_workbook_and_ctrl_c_is_none(
    monkeypatch: pytest.MonkeyPatch, raised: type[BaseException], becomes: type[BaseException]
) -> None:
    def fail(*_: object) -> None:
        raise raised("index out of bounds")

    monkeypatch.setattr(xlsx, "_worksheets", fail)
    with pytest.raises(becomes, match="index out of bounds"):
        read_xlsx(xlsx_file({"S": [["a"]]}), "a.xlsx")


@pytest.mark.requirement("INGEST-6")
@pytest.mark.parametrize("read", [read_docx, read_pptx, read_xlsx])
def test_an_archive_whose_parts_are_damaged_is_no_document(read: object) -> None:
    assert callable(read)
    with pytest.raises(Exception):  # noqa: B017, PT011 - whatever it is, the registry translates it
        read(zip_file({"word/document.xml": b"<x/>", "ppt/presentation.xml": b"<x/>", "xl/workbook.xml": b"<x/>"}), "a")


@pytest.mark.requirement("INGEST-1")
@pytest.mark.parametrize(
    ("sizes", "packed", "refused"),
    [
        ({"word/media/film.avi": 256 * 1024 * 1024}, 200_000_000, False),
        ({"word/media/film.avi": 256 * 1024 * 1024 + 1}, 200_000_000, True),
        ({"word/document.xml": 96 * 1024 * 1024}, 50_000_000, False),
        ({"word/document.xml": 96 * 1024 * 1024, "word/_rels/a.rels": 1}, 50_000_000, True),
    ],
)
def test_an_archive_that_unpacks_to_more_than_can_be_held_is_refused_however_little_it_is_packed(
    sizes: dict[str, int], packed: int, refused: bool
) -> None:
    entries = [zipfile.ZipInfo(name) for name in sizes]
    for entry in entries:
        entry.file_size = sizes[entry.filename]
    with pytest.raises(IngestError, match="more than can be read safely") if refused else contextlib.nullcontext():
        archive._refuse_bombs(entries, packed)
