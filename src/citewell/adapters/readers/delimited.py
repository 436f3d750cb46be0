"""CSV and TSV -> one Markdown table whose header every chunk repeats (INGEST-1); the locator's line is the file's.

The delimiter is the one that cuts the first lines into the most regular rows. Quotes follow RFC 4180; a file whose
quotes don't add up is read line by line.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from citewell.adapters.readers.decode import decode
from citewell.adapters.readers.sheets import Row, TableWriter
from citewell.model import Text

_DELIMITERS = (",", ";", "\t", "|")
_SAMPLE_LINES = 60
_SAMPLE = 65_536
_SEPARATOR_LINE = "sep="


def read_delimited(data: bytes, name: str) -> Text:
    """A table of values, one record per row.

    Raises:
        IngestError: its encoding can't be told.
    """
    decoded = decode(data)
    text, skipped, delimiter = _announced(decoded.text)
    delimiter = delimiter or _delimiter(text, name)
    rows, remark = _checked(_Rows(text, delimiter, skipped))
    writer = TableWriter()
    writer.table(rows)
    remarks = (*decoded.remarks, remark) if remark else decoded.remarks
    return Text(writer.text, remarks=remarks, places=tuple(writer.places))


def _announced(text: str) -> tuple[str, int, str]:
    """Excel's first line `sep=;` names the delimiter: (the rest, lines taken, delimiter)."""
    first, _, rest = text.partition("\n")
    if first.lower().startswith(_SEPARATOR_LINE) and len(first) == len(_SEPARATOR_LINE) + 1:
        return rest, 1, first[-1]
    return text, 0, ""


def _delimiter(text: str, name: str) -> str:
    sample = "\n".join(text[:_SAMPLE].split("\n")[:_SAMPLE_LINES])
    order = ("\t", *_DELIMITERS) if name.lower().endswith((".tsv", ".tab")) else _DELIMITERS
    return max(order, key=lambda delimiter: _regularity(sample, delimiter))


def _regularity(sample: str, delimiter: str) -> tuple[float, int]:
    """(share of rows as wide as most are, that width); nothing for one column."""
    try:
        widths = Counter(len(row) for row in csv.reader(io.StringIO(sample), delimiter=delimiter) if row)
    except csv.Error:
        return (0.0, 0)
    if not widths:
        return (0.0, 0)
    width, count = max(widths.items(), key=lambda item: (item[1], item[0]))
    return (count / widths.total(), width) if width > 1 else (0.0, 0)


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of a text, parsed anew each time that they are gone through; `skipped` lines stand above it."""

    text: str
    delimiter: str
    skipped: int
    quoted: bool = True

    def __iter__(self) -> Iterator[Row]:
        return self._parsed() if self.quoted else self._split()

    def _parsed(self) -> Iterator[Row]:
        reader = csv.reader(io.StringIO(self.text, newline="\n"), delimiter=self.delimiter, strict=True)
        line = 1
        for cells in reader:
            yield Row(line + self.skipped, cells)
            line = reader.line_num + 1

    def _split(self) -> Iterator[Row]:
        for number, line in enumerate(self.text.split("\n"), start=1 + self.skipped):
            yield Row(number, line.split(self.delimiter))


def _checked(rows: _Rows) -> tuple[_Rows, str]:
    """The rows, and a remark if their quotes have to be taken as text.

    An open quote would swallow the rest of a file, and a field beyond the parser's limit ends it.
    """
    try:
        for _ in rows:
            pass
    except csv.Error as error:
        return replace(rows, quoted=False), f"quotes kept as text: {error}"
    return rows, ""
