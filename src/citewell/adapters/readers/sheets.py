"""Numbered rows of cells -> tables in one text, with the place of every row; for workbooks and delimited files alike.

The first row of a table is its header, which the splitter repeats in every chunk.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from citewell.adapters.readers import blocks
from citewell.adapters.readers.tables import cell_text, is_filled_up, table_line
from citewell.model import Locator

_EVERY_ROW = 50_000
_THEN_EVERY = 20
_LONGEST_HEADER = 600
_PER_COLUMN = 9
_LONGEST_NAME = 80
_MOST_REPEATED = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Row:
    """One row: the number by which a person finds it, and its cells from the first column on."""

    number: int
    cells: Sequence[str]

    @property
    def used(self) -> list[int]:
        """The columns that hold something."""
        return [index for index, cell in enumerate(self.cells) if cell]


class TableWriter:
    """Collects headings, paragraphs and tables, and where each row stands."""

    def __init__(self) -> None:
        self._out = io.StringIO()
        self._length = self._rows = 0
        self._heading = ""
        self.places: list[tuple[int, Locator]] = []

    @property
    def text(self) -> str:
        """Everything so far."""
        return self._out.getvalue().rstrip("\n")

    def heading(self, title: str) -> None:
        """A heading of level 2; it is left out if nothing follows it."""
        self._heading = blocks.heading(2, title).text

    def paragraph(self, text: str, number: int) -> None:
        """A row that stands on its own."""
        self._place(number)
        self._write(f"{blocks.paragraph(blocks.inline(text)).text}\n\n")

    def table(self, rows: Iterable[Row]) -> None:
        """Rows, the header first; columns and rows without any text are left out. They are gone through twice."""
        used: set[int] = set()
        height = size = 0
        for row in rows:
            used.update(index for index, cell in enumerate(row.cells) if cell and not cell.isspace())
            height, size = height + 1, size + len(row.cells)
        columns = sorted(used)
        filled_up = is_filled_up(height, len(columns), size)
        names: Mapping[int, str] | None = None
        for row in rows if columns else ():
            cells = [cell_text(cell) for cell in row.cells]
            if not any(cells):
                continue
            self._place(row.number)
            if names:
                self._write(_record(names, cells))
                continue
            self._write(f"{table_line(cells, columns, filled_up=filled_up)}\n")
            if names is None:
                self._write(f"|{' --- |' * len(columns)}\n")
                names = _names(cells, columns, height)
        if columns:
            self._write("\n")

    def _place(self, number: int) -> None:
        if self._heading:
            self.places.append((self._length, Locator()))
            heading, self._heading = self._heading, ""
            self._write(f"{heading}\n\n")
        self._rows += 1
        if self._rows <= _EVERY_ROW or self._rows % _THEN_EVERY == 0:
            self.places.append((self._length, Locator(line=number)))

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._length += len(text)


def _names(header: Sequence[str], columns: Sequence[int], height: int) -> Mapping[int, str]:
    """The columns' names, where the header is too long to stand in every chunk and each value needs its own."""
    shown = {column: header[column] if column < len(header) else "" for column in columns}
    names = {column: name[:_LONGEST_NAME] or f"column {column + 1}" for column, name in shown.items()}
    length = sum(len(name) + _PER_COLUMN for name in shown.values())
    is_long = len(columns) > 1 and length > _LONGEST_HEADER
    return names if is_long and height * sum(map(len, names.values())) <= _MOST_REPEATED else {}


def _record(names: Mapping[int, str], cells: Sequence[str]) -> str:
    """A row as lines `name: value`."""
    given = (place for place in names if place < len(cells) and cells[place])
    lines = [blocks.literal(f"{names[place]}: {cells[place]}") for place in given]
    return "\n" + "\n".join(lines) + "\n"


def write_sheet(writer: TableWriter, rows: Iterable[Row]) -> None:
    """Rows of a sheet as a person laid them out: lines above a table, and several tables between blank rows."""
    table: list[Row] = []
    for row in _regions(rows):
        if row is None:
            writer.table(table)
            table = []
        elif not table and _is_line(row):
            writer.paragraph(row.cells[row.used[0]], row.number)
        else:
            table.append(row)
    writer.table(table)


def _is_line(row: Row) -> bool:
    """One text, perhaps repeated where cells were merged."""
    return len({row.cells[index] for index in row.used}) == 1 and any(
        letter.isalpha() for letter in row.cells[row.used[0]]
    )


def _regions(rows: Iterable[Row]) -> Iterator[Row | None]:
    """The rows that hold something; None where another table begins: behind a blank row, at other columns."""
    before: Row | None = None
    extent: tuple[int, int] | None = None
    for row in rows:
        if not row.used:
            continue
        ends = (row.used[0], row.used[-1])
        if before is not None and row.number > before.number + 1 and extent is not None and not _within(ends, extent):
            yield None
            extent = None
        extent = ends if extent is None else (min(ends[0], extent[0]), max(ends[1], extent[1]))
        before = row
        yield row


def _within(inner: tuple[int, int], outer: tuple[int, int]) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1] and inner[1] - inner[0] > 0
