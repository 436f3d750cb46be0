"""Office documents made by the libraries that write them."""

from __future__ import annotations

import datetime
import io
import zipfile
from collections.abc import Callable, Sequence

import docx
import openpyxl
from docx.document import Document
from openpyxl.worksheet.worksheet import Worksheet
from pptx import Presentation
from pptx.util import Inches

Cell = str | float | bool | datetime.date | datetime.datetime | None


def docx_file(write: Callable[[Document], None] | Sequence[str]) -> bytes:
    """A Word document: as a function writes it, or of these paragraphs."""
    document = docx.Document()
    if callable(write):
        write(document)
    else:
        for text in write:
            document.add_paragraph(text)
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def xlsx_file(sheets: dict[str, Sequence[Sequence[Cell]]], edit: Callable[[Worksheet], None] | None = None) -> bytes:
    """A workbook; `edit` gets the first sheet."""
    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    if edit:
        edit(book.worksheets[0])
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def pptx_file(
    slides: Sequence[tuple[str, Sequence[tuple[int, str]], str]], table: Sequence[Sequence[str]] = ()
) -> bytes:
    """A presentation of (title, paragraphs with their levels, notes); the table goes on the last slide."""
    presentation = Presentation()
    slide = None
    for title, paragraphs, notes in slides:
        slide = presentation.slides.add_slide(presentation.slide_layouts[1 if title else 6])
        if title:
            slide.shapes.title.text_frame.text = title
            frame = slide.placeholders[1].text_frame
            for index, (level, text) in enumerate(paragraphs):
                paragraph = frame.paragraphs[0] if index == 0 else frame.add_paragraph()
                paragraph.text, paragraph.level = text, level
        if notes:
            slide.notes_slide.notes_text_frame.text = notes
    if table and slide is not None:
        shape = slide.shapes.add_table(len(table), len(table[0]), Inches(1), Inches(1), Inches(4), Inches(1))
        for row, cells in enumerate(table):
            for column, text in enumerate(cells):
                shape.table.cell(row, column).text = text
    out = io.BytesIO()
    presentation.save(out)
    return out.getvalue()


def zip_file(parts: dict[str, bytes]) -> bytes:
    """A ZIP archive of these files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return out.getvalue()


def with_part(data: bytes, name: str, content: bytes) -> bytes:
    """The same archive with one part replaced or added."""
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        parts = {each: package.read(each) for each in package.namelist()}
    return zip_file({**parts, name: content})
