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
from citewell.errors import IngestError

# A cell as programs write it; whatever is a cell and looks otherwise is left to the parser.
_ANY_CELL = re.compile(rb"<(?:\w+:)?c(?=[\s/>])")
_OTHERS = rb"(?:\s(?:s|t|cm|vm|ph)=\"[^\"<>]*\")*+"
_CELL = re.compile(rb"<(?:\w+:)?c" + _OTHERS + rb"\sr=\"([A-Z]{1,3})(\d{1,7})\"" + _OTHERS + rb"\s?(/?)>")
_FORMULA = re.compile(
    rb"<(?:\w+:)?c" + _OTHERS + rb"\sr=\"([A-Z]{1,3})(\d{1,7})\"" + _OTHERS + rb">\s*+"
    rb"<(?:\w+:)?f(?:\s[^<>]*)?>([^<]*+)</(?:\w+:)?f>\s*+"
    rb"(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*+</(?:\w+:)?v>)?\s*+</(?:\w+:)?c>"
)
_REFERENCE = re.compile(r"([A-Z]{1,3})(\d{1,7})")
_WIDE = (b"\xff\xfe", b"\xfe\xff")


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
    """The sheets of a workbook by their names.

    Raises:
        IngestError: a part is missing, damaged or in UTF-16.
    """
    return {name: _scan(archive.part(package, path), name) for name, path in _sheet_parts(package)}


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


def _scan(markup: bytes, name: str) -> Sheet:
    if markup.startswith(_WIDE):
        raise IngestError(f"its sheet {name!r} is in UTF-16, which can't be read", way_out="Save the workbook again.")
    found = _CELL.findall(markup)
    if len(found) < len(_ANY_CELL.findall(markup)):
        return _parsed(markup)
    filled = [(letters, row) for letters, row, is_empty in found if not is_empty]
    rows = max((int(row) for _, row in filled), default=0)
    columns = max((column_number(letters) for letters in {letters for letters, _ in filled}), default=0)
    return Sheet(rows, columns, dict(_uncalculated(markup)) if b"<f" in markup or b":f" in markup else {})


def _uncalculated(markup: bytes) -> Iterator[tuple[tuple[int, int], str]]:
    for match in _FORMULA.finditer(markup):
        formula = unescape(match.group(3).decode("utf-8", "replace")).strip()
        if formula:
            yield (int(match.group(2)) - 1, column_number(match.group(1)) - 1), f"={formula}"


def _parsed(markup: bytes) -> Sheet:
    cells = _Cells()
    etree.fromstring(markup, etree.XMLParser(target=cells, resolve_entities=False, no_network=True, huge_tree=True))
    return Sheet(cells.rows, cells.columns, cells.formulas)


class _Cells:
    """A target of lxml's parser, for sheets whose cells are written in another way; builds no tree.

    A cell without a reference stands behind the one before it, and a row below the one before it.
    """

    def __init__(self) -> None:
        self.rows = self.columns = 0
        self.formulas: dict[tuple[int, int], str] = {}
        self._row = self._column = 0
        self._place: tuple[int, int] | None = None
        self._texts: dict[str, list[str]] = {}
        self._caught: list[str] | None = None

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """An element begins."""
        name = tag.rpartition("}")[2]
        reference = attributes.get("r", "").strip()
        if name == "row":
            self._row = int(reference) if reference.isascii() and reference.isdigit() else self._row + 1
            self._column = 0
        elif name == "c":
            self._start_cell(_REFERENCE.fullmatch(reference))
        elif self._place is not None:
            self._caught = self._texts.setdefault(name, [])

    def _start_cell(self, reference: re.Match[str] | None) -> None:
        self._column = column_number(reference.group(1).encode()) if reference else self._column + 1
        self._place = int(reference.group(2)) if reference else self._row, self._column
        self._texts = {}

    def data(self, text: str) -> None:
        """Text, in pieces of any size."""
        if self._caught is not None:
            self._caught.append(text)

    def end(self, tag: str) -> None:
        """An element ends."""
        self._caught = None
        if tag.rpartition("}")[2] != "c" or self._place is None:
            return
        (row, column), self._place = self._place, None
        if self._texts:
            self.rows, self.columns = max(self.rows, row), max(self.columns, column)
        formula = "".join(self._texts.get("f", ())).strip()
        if formula and not "".join(self._texts.get("v", ())).strip():
            self.formulas[row - 1, column - 1] = f"={formula}"

    def close(self) -> None:
        """The sheet has ended."""


def column_number(letters: bytes) -> int:
    """`A` -> 1, `Z` -> 26, `AA` -> 27."""
    number = 0
    for letter in letters:
        number = number * 26 + letter - 64
    return number
