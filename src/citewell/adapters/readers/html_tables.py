"""A table of a page, cell by cell -> a Markdown table, or its cells' blocks where it only lays the page out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from citewell.adapters.readers.blocks import Block, joined
from citewell.adapters.readers.tables import Allowance, Spans, markdown_table, one_header

_LONGEST_CELL = 2_000


@dataclass(slots=True)
class _Cell:
    blocks: list[Block]
    columns: int
    rows: int


@dataclass(slots=True)
class _Row:
    in_head: bool
    cells: list[_Cell] = field(default_factory=list)
    data_cells: int = 0


class Table:
    """Collects the rows of one table; the allowance bounds what its spans repeat."""

    def __init__(self, allowance: Allowance, *, is_layout: bool) -> None:
        self._rows: list[_Row] = []
        self._allowance = allowance
        self._is_layout = is_layout
        self.in_head = False

    def start_row(self) -> None:
        """A row begins."""
        self._rows.append(_Row(self.in_head))

    def add_cell(self, blocks: list[Block], *, columns: int, rows: int, is_header: bool) -> None:
        """The next cell of the row that has begun."""
        if not self._rows:
            self.start_row()
        row = self._rows[-1]
        row.cells.append(_Cell(blocks, columns, rows))
        row.data_cells += not is_header
        self._is_layout = self._is_layout or any(block.heading for block in blocks)

    def nest(self) -> None:
        """A table of its own stands in one of the cells."""
        self._is_layout = True

    def blocks(self) -> Iterator[Block]:
        """What stands for the table."""
        rows = [row for row in self._rows if row.cells]
        if self._lays_out(rows):
            for row in rows:
                for cell in row.cells:
                    yield from cell.blocks
            return
        spans = Spans(self._allowance)
        for row in rows:
            spans.add_row((_cell_text(cell), cell.columns, cell.rows) for cell in row.cells)
        table = markdown_table(list(one_header(spans.rows(), _header_rows(rows))))
        if table:
            yield Block(table)

    def _lays_out(self, rows: list[_Row]) -> bool:
        widest = max((sum(cell.columns for cell in row.cells) for row in rows), default=0)
        if self._is_layout or widest < 2:
            return True
        return len(rows) == 1 and any(len(_cell_text(cell)) > _LONGEST_CELL for cell in rows[0].cells)


def _header_rows(rows: list[_Row]) -> int:
    """How many rows at the top are headers: those in the head, else those with header cells alone."""
    in_head = sum(row.in_head for row in rows)
    if in_head:
        return in_head
    return next((index for index, row in enumerate(rows) if row.data_cells), len(rows))


def _cell_text(cell: _Cell) -> str:
    return joined(Block(block.text if block.code is None else block.code, tight=True) for block in cell.blocks)
