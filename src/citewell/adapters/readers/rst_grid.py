"""Grid tables of reStructuredText -> rows of cells, whatever rows and columns they cover.

A cell is the smallest frame that begins at a corner. Columns are counted as a terminal shows them: Chinese characters
take two, combining marks none. What is no complete grid of frames is None, and stays as it is drawn.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from citewell.adapters.readers.tables import Allowance, Spans

_HEADER = re.compile(r"\+=[=+]*=\+\s*")
_MOST_STEPS = 2_000_000

Drawing = list[list[str]]


def columns_of(line: str) -> list[str]:
    """A line column by column, as a terminal shows it; the second column of a wide character is empty."""
    columns: list[str] = []
    for character in line:
        if columns and (unicodedata.combining(character) or unicodedata.category(character) in {"Cf", "Me"}):
            columns[-1] += character
        else:
            columns += [character, ""] if unicodedata.east_asian_width(character) in "WF" else [character]
    return columns


@dataclass(frozen=True, slots=True)
class _Cell:
    top: int
    left: int
    bottom: int
    right: int

    def text(self, drawing: Drawing) -> str:
        lines = ("".join(drawing[row][self.left + 1 : self.right]).strip() for row in range(self.top + 1, self.bottom))
        return "\n".join(lines).strip()


def grid_rows(lines: Sequence[str]) -> tuple[list[list[str]], int] | None:
    """The cells, those that cover several columns or rows repeated, and how many rows are headers."""
    header = next((number for number, line in enumerate(lines) if _HEADER.fullmatch(line)), -1)
    drawing = [columns_of(line.replace("=", "-") if number == header else line) for number, line in enumerate(lines)]
    width = max(map(len, drawing))
    drawing = [line + [" "] * (width - len(line)) for line in drawing]
    cells = sorted(_Finder(drawing).cells(), key=lambda cell: (cell.top, cell.left))
    tops = sorted({cell.top for cell in cells})
    lefts = sorted({cell.left for cell in cells})
    rows = {top: number for number, top in enumerate([*tops, len(drawing) - 1])}
    columns = {left: number for number, left in enumerate([*lefts, width - 1])}
    if tops[:1] != [0] or lefts[:1] != [0] or not all(cell.bottom in rows and cell.right in columns for cell in cells):
        return None
    sizes = [(columns[cell.right] - columns[cell.left], rows[cell.bottom] - rows[cell.top]) for cell in cells]
    if sum(across * down for across, down in sizes) != len(tops) * len(lefts):
        return None
    return _laid_out(drawing, cells, sizes), rows.get(header, 0)


def _laid_out(drawing: Drawing, cells: Sequence[_Cell], sizes: Sequence[tuple[int, int]]) -> list[list[str]]:
    spans = Spans(Allowance())
    by_top: dict[int, list[tuple[str, int, int]]] = {}
    for cell, (across, down) in zip(cells, sizes, strict=True):
        by_top.setdefault(cell.top, []).append((cell.text(drawing), across, down))
    for top in sorted(by_top):
        spans.add_row(by_top[top])
    return spans.rows()


class _Finder:
    """Finds the frames of a drawing within a bounded number of steps."""

    def __init__(self, drawing: Drawing) -> None:
        self._drawing = drawing
        self._steps = _MOST_STEPS

    def cells(self) -> Iterator[_Cell]:
        """Each frame once, from its upper left corner; none of a drawing that takes too long."""
        found: list[_Cell] = []
        for top, line in enumerate(self._drawing[:-1]):
            for left, sign in enumerate(line):
                if sign == "+" and (cell := self._from(top, left)):
                    found.append(cell)
        return iter(found if self._steps > 0 else [])

    def _from(self, top: int, left: int) -> _Cell | None:
        line = self._drawing[top]
        if self._at(top + 1, left) not in {"|", "+"}:
            return None
        for right in range(left + 1, len(line)):
            self._steps -= 1
            if self._steps < 0 or line[right] not in {"-", "+"}:
                return None
            if line[right] == "+" and (bottom := self._bottom(top, left, right)):
                return _Cell(top, left, bottom, right)
        return None

    def _bottom(self, top: int, left: int, right: int) -> int:
        """The row of the frame's lower border; 0 if none closes it."""
        for row in range(top + 1, len(self._drawing)):
            self._steps -= 1
            signs = self._at(row, left), self._at(row, right)
            if self._steps < 0 or not {*signs} <= {"|", "+"}:
                return 0
            if signs == ("+", "+") and self._is_border(row, left, right):
                return row
        return 0

    def _is_border(self, row: int, left: int, right: int) -> bool:
        self._steps -= right - left
        return self._steps > 0 and {*self._drawing[row][left : right + 1]} <= {"-", "+"}

    def _at(self, row: int, column: int) -> str:
        return self._drawing[row][column]
