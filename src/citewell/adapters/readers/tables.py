"""Rows of cells -> a Markdown table, which the splitter repeats the header of. Knows no format that rows come from."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

_MORE_SPACE = re.compile(r"[ \t\f\v]+")
_WIDEST_SPAN = 100
_TALLEST_SPAN = 1_000
_FILL = 2
_SMALL = 10_000


def markdown_table(rows: Iterable[Sequence[str]]) -> str:
    """The rows as one table whose first row is the header; rows without any text are left out. Empty without rows.

    Shorter rows are filled up to the longest, see `is_filled_up`; columns without any text are left out.
    """
    cells = [[cell_text(cell) for cell in row] for row in rows]
    cells = [row for row in cells if any(row)]
    used = sorted({index for row in cells for index, cell in enumerate(row) if cell})
    if not used:
        return ""
    filled_up = is_filled_up(len(cells), len(used), sum(map(len, cells)))
    lines = [table_line(row, used, filled_up=filled_up) for row in cells]
    return "\n".join([lines[0], f"|{' --- |' * len(used)}", *lines[1:]])


def cell_text(text: str) -> str:
    """A cell's text on one line, pipes escaped."""
    text = text.strip()
    if "\n" in text:
        text = "<br>".join(line for each in text.split("\n") if (line := each.strip()))
    if "|" in text:
        text = text.replace("\\|", "|").replace("|", "\\|")
    return _MORE_SPACE.sub(" ", text)


def is_filled_up(rows: int, columns: int, cells: int) -> bool:
    """Whether short rows are filled up: not where one long row would make a small file an endless table."""
    return rows * columns <= _FILL * cells + _SMALL


def table_line(cells: Sequence[str], columns: Sequence[int], *, filled_up: bool) -> str:
    """These columns of a row as a line; blank cells at its end only if it is to be filled up."""
    width = len(cells)
    shown = [cells[index] for index in columns[: bisect_left(columns, width)]]
    if filled_up:
        shown += [""] * (len(columns) - len(shown))
    while len(shown) > 1 and not filled_up and not shown[-1]:
        shown.pop()
    return f"| {' | '.join(shown)} |"


@dataclass(slots=True)
class Allowance:
    """How many cells and characters may still be repeated."""

    left: int = 2_000_000

    def take(self, amount: int) -> bool:
        """Whether there was so much left; then it is gone."""
        if amount > self.left:
            return False
        self.left -= amount
        return True


class Spans:
    """Lays cells out in a grid, where each may cover several rows and columns; what it covers gets its text too.

    A few bytes can claim to cover millions of cells: what is repeated is taken from an allowance, which all tables of
    a document share.
    """

    def __init__(self, allowance: Allowance) -> None:
        self._rows: list[dict[int, str]] = []
        self._below: dict[int, tuple[int, str]] = {}
        self._allowance = allowance

    def add_row(self, cells: Iterable[tuple[str, int, int]]) -> None:
        """The next row: (text, columns, rows) of each cell that begins in it, left to right."""
        row = self._from_above()
        column = 0
        for text, columns, rows in cells:
            while column in row:
                column += 1
            width, height = self._bounded(columns, rows)
            for place in range(column, column + width):
                row[place] = text if place == column else self._again(text)
                if height > 1:
                    self._below[place] = (height - 1, text)
            column += width
        self._rows.append(row)

    def rows(self) -> list[list[str]]:
        """All rows, each as long as its last cell demands."""
        return [[row.get(column, "") for column in range(max(row, default=-1) + 1)] for row in self._rows]

    def _bounded(self, columns: int, rows: int) -> tuple[int, int]:
        width, height = min(max(columns, 1), _WIDEST_SPAN), min(max(rows, 1), _TALLEST_SPAN)
        return (width, height) if self._allowance.take(width * height - 1) else (1, 1)

    def _from_above(self) -> dict[int, str]:
        row = {column: self._again(text) for column, (_, text) in self._below.items()}
        self._below = {column: (left - 1, text) for column, (left, text) in self._below.items() if left > 1}
        return row

    def _again(self, text: str) -> str:
        return text if self._allowance.take(len(text)) else ""


def one_header(rows: Sequence[Sequence[str]], header_rows: int) -> Iterator[Sequence[str]]:
    """The same rows with several header rows joined into one: `Region / North`."""
    if header_rows < 2 or header_rows >= len(rows):
        yield from rows
        return
    width = max(len(row) for row in rows[:header_rows])
    columns = ([row[index] for row in rows[:header_rows] if index < len(row)] for index in range(width))
    yield [" / ".join(dict.fromkeys(part for part in column if part)) for column in columns]
    yield from rows[header_rows:]
