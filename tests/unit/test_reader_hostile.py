"""Small files made to take hours, gigabytes or the process itself: each is read in a moment or refused (INGEST-1, 4).

Nothing here measures time: what these inputs cost before was the square of their size, which no one waits for.
"""

from __future__ import annotations

import pytest
from office_files import with_part, xlsx_file

from citewell.adapters.readers import FileReader
from citewell.errors import IngestError
from citewell.ingest.split import split

SPACES = b" " * 1_000_000
WORKBOOK = xlsx_file({"Sums": [["n", "double"], [2, 4]]})
SHEET = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">%s</worksheet>'
FAR = "its sheet 'Sums' spans 1,048,576 rows and {} columns, more than can be read"


def sheet(content: bytes) -> bytes:
    return with_part(WORKBOOK, "xl/worksheets/sheet1.xml", SHEET % content)


HOSTILE = {
    "comments before a page.md": b"<!---->" * 140 + b"no page",
    "a blank line.txt": b"a\n" + SPACES + b"\nb",
    "a blank line.json": b"{a\n" + SPACES + b"\nb",
    "a heading.md": b"# a" + SPACES + b"b",
    "a heading below.md": b"a" + SPACES + b"b\n===",
    "an anchor.md": b"# a" + b"{#" * 200_000,
    "a cell.csv": b'a,b\n"x\ny' + b" " * 100_000 + b'z",2\n',
    "a link.rst": b"x `" + SPACES + b"x",
    "references.rst": b"a+" * 200_000 + b" _",
    "a role.rst": b":foo:`" + SPACES + b"x`",
}


@pytest.mark.requirement("INGEST-1", "INGEST-4")
@pytest.mark.parametrize("name", HOSTILE)
def test_white_space_and_marks_without_end_are_read_in_one_pass(name: str) -> None:
    text = FileReader().read(HOSTILE[name], name)
    done = split(text.text, format=text.format, headings=text.headings, max_tokens=500)
    shown = "".join(passage.text for passage in done.passages)
    assert shown.strip()[:1] == HOSTILE[name].decode().strip()[:1] or name.endswith((".csv", ".rst"))
    assert all(len(passage.text) <= 2_000 for passage in done.passages)


@pytest.mark.requirement("INGEST-1")
def test_one_long_row_does_not_make_all_short_ones_as_long() -> None:
    """100,000 rows of 100,000 columns would be ten billion cells."""
    wide = ",".join(str(number) for number in range(20_000))
    text = FileReader().read(f"{wide}\n{'1,,2' * 1}\n".encode() + b"3\n" * 20_000, "wide.csv").text
    lines = text.split("\n")
    assert lines[0].startswith("| 0 | 1 | 2 |")
    assert lines[0].endswith(" | 19999 |")
    assert lines[2] == "| 1 |  | 2 |"
    assert set(lines[3:]) == {"| 3 |"}
    assert len(lines) == 20_003


@pytest.mark.requirement("INGEST-1")
def test_a_page_with_one_long_row_keeps_its_short_ones_short() -> None:
    cells = "".join(f"<td>{number}" for number in range(5_000))
    text = FileReader().read(f"<table><tr>{cells}{'<tr><td>x' * 5_000}</table>".encode(), "a.html").text
    assert text.split("\n")[2:] == ["| x |"] * 5_000


@pytest.mark.requirement("INGEST-1")
@pytest.mark.parametrize(
    ("content", "columns"),
    [
        (b"<sheetData><row r='1048576'><c r='XFD1048576'><v>1</v></c></row></sheetData>", "16,384"),
        (b'<sheetData><row r="1048576">' + b"<c><v>1</v></c>" * 9 + b"</row></sheetData>", "9"),
        (b'<sheetData><row r = "1048576" ><c r = "XFD1048576" ><v>1</v></c></row></sheetData>', "16,384"),
        (b'<sheetData><row r="1048576"><c x="A1" r="XFD1048576"><v>1</v></c></row></sheetData>', "16,384"),
    ],
    ids=["single quotes", "no references", "spaces", "other attributes"],
)
def test_a_sheet_that_reaches_far_is_refused_however_it_is_written(content: bytes, columns: str) -> None:
    """Unfolding one ends the process: the library asks for half a terabyte."""
    with pytest.raises(IngestError, match=FAR.format(columns)):
        FileReader().read(sheet(content), "far.xlsx")


@pytest.mark.requirement("INGEST-1")
def test_formulas_are_shown_however_a_sheet_is_written() -> None:
    rows = b"<row r='1'><c r='A1' t='inlineStr'><is><t>sum</t></is></c></row><row><c><f>1+1</f><v></v></c></row>"
    text = FileReader().read(sheet(b"<sheetData>" + rows + b"</sheetData>"), "a.xlsx").text
    assert text == "## Sums\n\nsum\n\n| =1+1 |\n| --- |"


@pytest.mark.requirement("INGEST-1")
def test_a_sheet_in_utf_16_is_refused_by_name_instead_of_read_as_empty() -> None:
    with pytest.raises(IngestError, match="its sheet 'Sums' is in UTF-16"):
        FileReader().read(
            with_part(WORKBOOK, "xl/worksheets/sheet1.xml", (SHEET % b"<sheetData/>").decode().encode("utf-16")),
            "a.xlsx",
        )


@pytest.mark.requirement("INGEST-1")
@pytest.mark.parametrize("cell", [b"<c ", b'<c r="A1">'])
def test_a_sheet_of_unfinished_cells_is_scanned_in_one_pass(cell: bytes) -> None:
    data = sheet(b'<sheetData><row r="1"><c r="A1"><v>1</v></c></row></sheetData><!--' + cell * 200_000 + b"<f>-->")
    assert FileReader().read(data, "a.xlsx").text == "## Sums\n\n| 1 |\n| --- |"


@pytest.mark.requirement("INGEST-1")
def test_ranges_that_are_merged_over_one_another_count_once() -> None:
    rows = b'<row r="1"><c r="A1" t="inlineStr"><is><t>x</t></is></c></row><row r="900"><c r="ZZ900"><v>1</v></c></row>'
    merged = b"<mergeCells>" + b'<mergeCell ref="A1:ZZ900"/>' * 2_000 + b"</mergeCells>"
    text = FileReader().read(sheet(b"<sheetData>" + rows + b"</sheetData>" + merged), "a.xlsx").text
    assert text.startswith("## Sums" + "\n\nx" * 899)
    assert " | 1 |\n" in text
