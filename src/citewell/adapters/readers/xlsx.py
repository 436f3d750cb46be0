"""Excel workbooks -> Markdown tables, each sheet under its name (INGEST-1).

A formula shows its value as last calculated, or itself if it never was; dates are ISO; merged cells repeat their value.
Rows and columns without any text are left out, and the locator's line is the row.
"""

from __future__ import annotations

import datetime
import io
from collections.abc import Iterator, Mapping

from python_calamine import CalamineError, CalamineSheet, CalamineWorkbook, PasswordError, SheetTypeEnum

from citewell.adapters.readers import archive
from citewell.adapters.readers.decode import clean
from citewell.adapters.readers.office import office_properties
from citewell.adapters.readers.sheets import Row, TableWriter, write_sheet
from citewell.adapters.readers.tables import Allowance
from citewell.adapters.readers.xlsx_scan import Sheet, scan_sheets
from citewell.errors import IngestError
from citewell.model import Text

_MOST_CELLS = 5_000_000
_PANIC = "PanicException"
"""What an error that Rust code gives up on becomes in Python; it is no `Exception`, and cannot be imported."""

_WAY_OUT = "Save the sheet as CSV, or split it."


def read_xlsx(data: bytes, name: str) -> Text:
    """A workbook of Excel 2007 or later.

    Raises:
        IngestError: it is damaged or unsafe, or a sheet is too large.
    """
    properties = office_properties(data)
    with archive.open_package(data) as package:
        scanned = scan_sheets(package)
    _refuse_huge(scanned)
    writer = TableWriter()
    allowance = Allowance()
    try:
        with CalamineWorkbook.from_filelike(io.BytesIO(data)) as book:
            for sheet in _worksheets(book):
                writer.heading(clean(sheet.name))
                write_sheet(writer, _rows(sheet, scanned.get(sheet.name, Sheet()), allowance))
    except PasswordError:
        return Text("", "text", remarks=("it is protected by a password; save it without one",))
    except BaseException as error:
        if not isinstance(error, CalamineError) and type(error).__name__ != _PANIC:
            raise
        raise IngestError(f"the workbook is damaged: {error}", way_out="Open it in Excel and save it again.") from None
    title = properties.pop("title", None)
    return Text(writer.text, title=title, metadata=properties, places=tuple(writer.places))


def _refuse_huge(sheets: Mapping[str, Sheet]) -> None:
    for name, sheet in sheets.items():
        if sheet.rows * sheet.columns > _MOST_CELLS:
            size = f"{sheet.rows:,} rows and {sheet.columns:,} columns"
            raise IngestError(f"its sheet {name!r} spans {size}, more than can be read", way_out=_WAY_OUT)


def _worksheets(book: CalamineWorkbook) -> Iterator[CalamineSheet]:
    for index, metadata in enumerate(book.sheets_metadata):
        if metadata.typ == SheetTypeEnum.WorkSheet:
            yield book.get_sheet_by_index(index)


def _rows(sheet: CalamineSheet, scanned: Sheet, allowance: Allowance) -> Iterator[Row]:
    """Rows from the first one on, numbered from 1; cells from column A on."""
    merged = _Merged(sheet, scanned, allowance)
    values = sheet.to_python(skip_empty_area=False)
    height = max(len(values), *(row + 1 for row, _ in scanned.formulas), 0) if scanned.formulas else len(values)
    formulas: dict[int, dict[int, str]] = {}
    for (row, column), formula in scanned.formulas.items():
        formulas.setdefault(row, {})[column] = formula
    for index in range(height):
        cells = [_shown(value) for value in values[index]] if index < len(values) else []
        for column, formula in formulas.get(index, {}).items():
            cells += [""] * (column + 1 - len(cells))
            cells[column] = cells[column] or formula
        yield Row(index + 1, [clean(cell) for cell in merged.fill(index, cells)])


class _Merged:
    """Ranges that show the value of their first cell in all of them."""

    def __init__(self, sheet: CalamineSheet, scanned: Sheet, allowance: Allowance) -> None:
        self._starting: dict[int, list[tuple[int, int, int]]] = {}
        self._open: list[tuple[int, int, int, str]] = []
        self._taken: set[int] = set()
        self._allowance = allowance
        bottom, right = scanned.rows, max(scanned.columns, 1)
        for (row, column), (last_row, last_column) in sorted(sheet.merged_cell_ranges or ()):
            last_row = min(last_row, max(bottom - 1, row))
            last_column = min(last_column, max(right - 1, column))
            if (last_row - row + 1) * (last_column - column + 1) > 1:
                self._starting.setdefault(row, []).append((column, last_column, last_row))

    def fill(self, index: int, cells: list[str]) -> list[str]:
        """A row's cells with those that a range covers filled."""
        for column, last_column, last_row in self._starting.get(index, ()):
            value = cells[column] if column < len(cells) else ""
            if value and self._take(column, last_column):
                self._open.append((column, last_column, last_row, value))
        for column, last_column, _, value in self._open:
            self._cover(cells, column, last_column, value)
        for column, last_column, last_row, _ in self._open:
            if last_row <= index:
                self._taken.difference_update(range(column, last_column + 1))
        self._open = [each for each in self._open if each[2] > index]
        return cells

    def _take(self, column: int, last_column: int) -> bool:
        """Whether no open range covers any of these columns, as in every workbook that a program wrote."""
        if column in self._taken or last_column in self._taken or not self._allowance.take(last_column + 1 - column):
            return False
        columns = range(column, last_column + 1)
        is_free = self._taken.isdisjoint(columns)
        self._taken.update(columns if is_free else ())
        return is_free

    def _cover(self, cells: list[str], column: int, last_column: int, value: str) -> None:
        cells += [""] * (last_column + 1 - len(cells))
        for place in range(column, last_column + 1):
            if not cells[place] and self._allowance.take(len(value) + 1):
                cells[place] = value


def _shown(value: object) -> str:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return f"{value:.15g}"
    if isinstance(value, datetime.datetime):
        whole_day = value.time() == datetime.time()
        return value.date().isoformat() if whole_day else value.isoformat(timespec="seconds")
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return str(value)
