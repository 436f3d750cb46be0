"""Tables of reStructuredText -> rows of cells: simple, `list-table` and `csv-table`."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence

from citewell.adapters.readers.rst_grid import columns_of

_GRID_BORDER = re.compile(r"\+(?:[-=]+\+)+$")
_SIMPLE_BORDER = re.compile(r"=+(?: +=+)+$")
_SIMPLE_RULE = re.compile(r"[=-]+(?: +[=-]+)*$")
_ITEM = re.compile(r"\* - ?(.*)$")
_CELL = re.compile(r"  - ?(.*)$")

Rows = list[list[str]]


def is_grid(line: str) -> bool:
    """Whether a line opens a grid table."""
    return bool(_GRID_BORDER.match(line))


def is_simple(line: str) -> bool:
    """Whether a line opens a simple table."""
    return bool(_SIMPLE_BORDER.match(line))


def simple_rows(lines: Sequence[str]) -> tuple[Rows, int] | None:
    """Cells of a simple table; a row whose first cell is blank goes on with the one above.

    None if text stands in the gap between two columns: it is no such table.
    """
    starts = [match.start() for match in re.finditer("=+", lines[0])]
    limits = [*starts[1:], None]  # counted as a terminal shows them
    rows: Rows = []
    header = 0
    borders = 0
    for line in lines:
        if _SIMPLE_RULE.match(line) and (set(line) <= {"=", " "} or rows):
            borders += set(line) <= {"=", " "}
            header = len(rows) if borders == 2 else header
            continue
        columns = columns_of(line)
        if any("".join(columns[start - 1 : start]).strip() for start in starts[1:]):
            return None
        cells = ["".join(columns[start:limit]).strip() for start, limit in zip(starts, limits, strict=True)]
        if rows and not cells[0] and any(cells):
            rows[-1] = ["\n".join(filter(None, pair)) for pair in zip(rows[-1], cells, strict=True)]
        elif any(cells):
            rows.append(cells)
    return rows, header if borders > 2 else 0


def list_rows(lines: Sequence[str]) -> Rows:
    """Cells of a list of lists."""
    rows: Rows = []
    for line in lines:
        if match := _ITEM.match(line):
            rows.append([match.group(1).strip()])
        elif rows and (match := _CELL.match(line)):
            rows[-1].append(match.group(1).strip())
        elif line.strip() and not rows:
            rows.append([line.strip()])
        elif line.strip():
            rows[-1][-1] = f"{rows[-1][-1]}\n{line.strip()}".strip()
    return rows


def csv_rows(lines: Sequence[str], delimiter: str) -> Iterator[list[str]]:
    """Cells of delimited lines; a fault leaves them as they are."""
    sign = {"tab": "\t", "space": " "}.get(delimiter, delimiter)
    try:
        yield from csv.reader(lines, delimiter=sign if len(sign) == 1 else ",", skipinitialspace=True)
    except csv.Error:
        yield from ([line] for line in lines)
