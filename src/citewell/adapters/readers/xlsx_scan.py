"""The parts of a workbook, read as text: how far a sheet reaches, and formulas that were never calculated.

A sheet of two cells can reach over billions; whoever unfolds it needs to know before. Knows no values.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import unescape

from lxml import etree

from citewell.adapters.readers import archive

_ROW = re.compile(rb"<(?:\w+:)?row\s[^>]*?\br=\"(\d{1,9})\"")
_CELL = re.compile(rb"<(?:\w+:)?c\s[^>]*?\br=\"([A-Z]{1,4})(\d{1,9})\"[^>]*?(?<!/)>")
_FORMULA = re.compile(
    rb"<(?:\w+:)?c\s[^>]*?\br=\"([A-Z]{1,4})(\d{1,9})\"[^>]*>\s*<(?:\w+:)?f(?:\s[^>]*)?>([^<]*)</(?:\w+:)?f>\s*"
    rb"(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)


@dataclass(frozen=True, slots=True)
class Sheet:
    """What a sheet's markup shows.

    Attributes:
        rows, columns: how many the filled cells span.
        formulas: (row, column), both counted from 0 -> the formula of a cell without a value.
    """

    rows: int = 0
    columns: int = 0
    formulas: Mapping[tuple[int, int], str] = field(default_factory=dict)


def scan_sheets(package: zipfile.ZipFile) -> dict[str, Sheet]:
    """The sheets of a workbook by their names."""
    return {name: _scan(archive.part(package, path)) for name, path in _sheet_parts(package)}


def _sheet_parts(package: zipfile.ZipFile) -> Iterator[tuple[str, str]]:
    known = {name.lower(): name for name in package.namelist()}
    book = next(
        (name for lower, name in known.items() if lower.startswith("xl/workbook") and lower.endswith(".xml")), ""
    )
    if not book:
        return
    folder, _, file = book.rpartition("/")
    relations = known.get(f"{folder}/_rels/{file}.rels".lower())
    if relations is None:
        return
    targets = {
        node.get("Id"): node.get("Target", "")
        for node in _xml(archive.part(package, relations)).iter("{*}Relationship")
    }
    for node in _xml(archive.part(package, book)).iter("{*}sheet"):
        identifier = next((value for key, value in node.attrib.items() if str(key).endswith("}id")), "")
        target = str(targets.get(identifier, ""))
        path = target.lstrip("/") if target.startswith("/") else posixpath.normpath(posixpath.join(folder, target))
        if path.lower() in known:
            yield str(node.get("name", "")), known[path.lower()]


def _xml(data: bytes) -> etree._Element:
    return etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True))


def _scan(markup: bytes) -> Sheet:
    rows = columns = 0
    seen: set[bytes] = set()
    for match in _CELL.finditer(markup):
        rows = max(rows, int(match.group(2)))
        seen.add(match.group(1))
    columns = max((column_number(letters) for letters in seen), default=0)
    return Sheet(rows, columns, dict(_uncalculated(markup)) if b"<f" in markup or b":f" in markup else {})


def _uncalculated(markup: bytes) -> Iterator[tuple[tuple[int, int], str]]:
    for match in _FORMULA.finditer(markup):
        formula = unescape(match.group(3).decode("utf-8", "replace")).strip()
        if formula:
            yield (int(match.group(2)) - 1, column_number(match.group(1)) - 1), f"={formula}"


def column_number(letters: bytes) -> int:
    """`A` -> 1, `Z` -> 26, `AA` -> 27."""
    number = 0
    for letter in letters:
        number = number * 26 + letter - 64
    return number
