"""Tables of AsciiDoc -> rows of cells. Knows the lines between two `|===` and the attributes above them."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence

from citewell.adapters.readers.tables import Allowance, Spans

_CELL = r"(?:^|(?<=\s))((?:\d+(?:\.\d+)?|\.\d+)?[+*])?([<^>.]{0,4}[adehlmsv]?)(?<!\\)"
_COLUMNS = re.compile(r"(\d+)\*")
_MOST_COLUMNS = 200

Rows = list[list[str]]


def table_rows(lines: Sequence[str], attributes: Mapping[str, str], options: str) -> tuple[Rows, int]:
    """The cells of a table, those that cover several columns or rows repeated; and how many rows are headers."""
    separated = attributes.get("format", "")
    if separated in {"csv", "tsv", "dsv"}:
        sign = {"csv": ",", "tsv": "\t", "dsv": ":"}[separated]
        written = attributes.get("separator", "|")
        sign = written if len(written) == 1 and written != "|" else sign
        rows = [row for row in _csv(lines, sign) if row]
        return rows, int("header" in options)
    separator = (attributes.get("separator") or "|")[:1]
    cells = _cells(lines, separator)
    first = next((index for index, line in enumerate(lines) if line.strip()), 0)
    columns = _column_count(attributes.get("cols", "")) or _on_first_line(cells)
    header = "header" in options or (_has_gap(lines, first, separator) and "noheader" not in options)
    return _laid_out(cells, max(columns, 1)), int(header)


def _csv(lines: Sequence[str], sign: str) -> list[list[str]]:
    """Cells of delimited lines; a fault leaves them as they are."""
    try:
        return list(csv.reader(lines, delimiter=sign, strict=False))
    except csv.Error:
        return [[line] for line in lines]


def _cells(lines: Sequence[str], separator: str) -> list[tuple[int, int, int, list[str]]]:
    """(line, columns, rows, lines of text) of each cell in order; a cell goes on until the next bar."""
    pattern = re.compile(_CELL + re.escape(separator))
    cells: list[tuple[int, int, int, list[str]]] = []
    for number, line in enumerate(lines):
        matches = list(pattern.finditer(line))
        lead = line[: matches[0].start()] if matches else line
        if cells and (lead.strip() or not matches):
            cells[-1][3].append(lead.strip())
        elif lead.strip():
            cells.append((number, 1, 1, [lead.strip()]))
        ends = [*(each.start() for each in matches[1:]), len(line)] if matches else []
        for match, end in zip(matches, ends, strict=True):
            columns, rows, copies = _spans(match.group(1) or "")
            text = line[match.end() : end].strip().replace(f"\\{separator}", separator)
            cells += [(number, columns, rows, [text]) for _ in range(copies)]
    return cells


def _spans(written: str) -> tuple[int, int, int]:
    """`2+` covers two columns, `.3+` three rows, `4*` stands for four cells: (columns, rows, copies)."""
    if not written:
        return 1, 1, 1
    across, _, down = written[:-1].partition(".")
    number = min(int(across or 1), _MOST_COLUMNS)
    return (1, 1, number) if written.endswith("*") else (number, min(int(down or 1), 1_000), 1)


def _column_count(written: str) -> int:
    count = 0
    for part in re.split(r"[,;]", written.strip('"')) if written else ():
        match = _COLUMNS.match(part.strip())
        count += int(match.group(1)) if match and len(match.group(1)) < 4 else 1
    return min(count, _MOST_COLUMNS)


def _on_first_line(cells: Sequence[tuple[int, int, int, list[str]]]) -> int:
    return sum(columns for line, columns, _, _ in cells if cells and line == cells[0][0])


def _has_gap(lines: Sequence[str], first: int, separator: str) -> bool:
    """A blank line below the first row alone makes that row the header."""
    return first + 2 < len(lines) and not lines[first + 1].strip() and lines[first].lstrip().startswith(separator)


def _laid_out(cells: Sequence[tuple[int, int, int, list[str]]], columns: int) -> Rows:
    spans = Spans(Allowance())
    row: list[tuple[str, int, int]] = []
    covered: dict[int, int] = {}
    width = number = 0
    for _, across, down, text in cells:
        row.append(("\n".join(filter(None, text)), across, down))
        width += across
        for below in range(number + 1, number + min(down, len(cells))):
            covered[below] = covered.get(below, 0) + across
        if width + covered.get(number, 0) >= columns:
            spans.add_row(row)
            row, width, number = [], 0, number + 1
    if row:
        spans.add_row(row)
    return spans.rows()
