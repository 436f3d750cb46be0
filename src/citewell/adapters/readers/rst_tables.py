"""Tables of reStructuredText -> rows of cells: grid, simple, `list-table` and `csv-table`."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from citewell.adapters.readers.tables import Allowance, Spans

_GRID_BORDER = re.compile(r"\+(?:[-=]+\+)+$")
_GRID_LINE = re.compile(r"[+|]")
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


def grid_rows(lines: Sequence[str]) -> tuple[Rows, int]:
    """Cells of a grid table, those that cover several columns or rows repeated; and how many rows are headers."""
    edges = sorted(
        {index for line in lines if _GRID_BORDER.match(line) for index, sign in enumerate(line) if sign == "+"}
    )
    if len(edges) < 2:
        return [], 0
    columns = {edge: number for number, edge in enumerate(edges)}
    spans = Spans(Allowance())
    header = 0
    count = 0
    row: list[tuple[int, int, list[str]]] = []
    for line in [*lines, ""]:
        if line[:1] == "|" and "+--" not in line and "--+" not in line:
            _extend(row, line, columns)
            continue
        if row:
            spans.add_row(("\n".join(text).strip(), end - begin, 1) for begin, end, text in row)
            row = []
            count += 1
        if "=" in line and _GRID_BORDER.match(line):
            header = count
    return spans.rows(), header


def _extend(row: list[tuple[int, int, list[str]]], line: str, columns: dict[int, int]) -> None:
    """One line's share of the cells of a row; bars that stand on no column's edge are text."""
    bars = [index for index, sign in enumerate(line) if sign in "|+" and index in columns]
    for place, (left, right) in enumerate(pairwise(bars)):
        text = line[left + 1 : right].strip()
        if place < len(row):
            row[place][2].append(text)
        else:
            row.append((columns[left], columns[right], [text]))


def simple_rows(lines: Sequence[str]) -> tuple[Rows, int]:
    """Cells of a simple table; a row whose first cell is blank goes on with the one above."""
    starts = [match.start() for match in re.finditer("=+", lines[0])]
    limits = [*starts[1:], None]
    rows: Rows = []
    header = 0
    borders = 0
    for line in lines:
        if _SIMPLE_RULE.match(line) and (set(line) <= {"=", " "} or rows):
            borders += set(line) <= {"=", " "}
            header = len(rows) if borders == 2 else header
            continue
        cells = [line[start:limit].strip() for start, limit in zip(starts, limits, strict=True)]
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
        elif rows and line.strip():
            rows[-1][-1] = f"{rows[-1][-1]}\n{line.strip()}".strip()
    return rows


def csv_rows(lines: Sequence[str], delimiter: str) -> Iterator[list[str]]:
    """Cells of delimited lines; a fault leaves them as they are."""
    sign = {"tab": "\t", "space": " "}.get(delimiter, delimiter)
    try:
        yield from csv.reader(lines, delimiter=sign if len(sign) == 1 else ",", skipinitialspace=True)
    except csv.Error:
        yield from ([line] for line in lines)
