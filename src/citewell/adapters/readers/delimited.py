"""CSV and TSV -> one Markdown table whose header every chunk repeats (INGEST-1); the locator's line is the file's.

The delimiter is the one that cuts the first lines into the most regular rows. Quotes follow RFC 4180; a file whose
quotes don't add up is read line by line.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator

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
    rows, remark = _read(text, delimiter, skipped)
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


def _read(text: str, delimiter: str, skipped: int) -> tuple[list[Row], str]:
    """The rows, and a remark if the quotes had to be taken as text."""
    try:
        return list(_rows(text, delimiter, skipped)), ""
    except csv.Error as error:
        # An open quote swallows the rest of a file; a field beyond the module's limit ends it.
        lines = enumerate(text.split("\n"), start=1 + skipped)
        return [Row(number, line.split(delimiter)) for number, line in lines], f"quotes kept as text: {error}"


def _rows(text: str, delimiter: str, skipped: int) -> Iterator[Row]:
    reader = csv.reader(io.StringIO(text, newline="\n"), delimiter=delimiter, strict=True)
    line = 1
    for cells in reader:
        yield Row(line + skipped, cells)
        line = reader.line_num + 1
