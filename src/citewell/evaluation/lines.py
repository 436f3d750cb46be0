"""Files of one record a line: JSON objects and tab-separated rows, each with its line number.

A line that can't be used is refused by file and number. It knows how lines are written, never what they are for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from citewell.checks import shown
from citewell.errors import InvalidRequest

Record = Mapping[str, Any]


def objects(path: Path) -> Iterator[tuple[int, Record]]:
    """The JSON objects of a JSONL file with their line numbers, from 1; blank lines are left out.

    Raises:
        InvalidRequest: the file can't be read, or a line is no JSON object.
    """
    for number, line in _lines(path):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise malformed(path, number, f"is no JSON ({error})", line) from error
        if not isinstance(record, dict):
            raise malformed(path, number, "is no JSON object", line)
        yield number, record


def rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The cells of a tab-separated file with their line numbers, from 1; blank lines are left out.

    Raises:
        InvalidRequest: the file can't be read.
    """
    for number, line in _lines(path):
        yield number, [cell.strip() for cell in line.split("\t")]


def first_of(record: Record, names: Sequence[str]) -> object:
    """The value under the first of these names that the record has; None if it has none."""
    return next((record[name] for name in names if record.get(name) is not None), None)


def malformed(path: Path, number: int, what: str, line: object) -> InvalidRequest:
    """The error for a line that can't be used: the file's name, the line's number, what is wrong, and the line."""
    return InvalidRequest(
        f"{path.name}, line {number}, {what}: {shown(line)}", way_out="Mend the line, or take it out."
    )


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines that are not blank; a byte order mark is no part of the first."""
    number = 0
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip("\r\n")
                if line.strip():
                    yield number, line
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"{path.name}, line {number}, is no UTF-8", way_out="Save the file as UTF-8.") from error
    except OSError as error:
        raise InvalidRequest(f"{path} can't be read: {error.strerror}", way_out="Name a folder of your own.") from error
