"""JSON and JSON Lines -> lines that say where they belong (`servers[0].host: a`), records apart (INGEST-1).

Numbers stay as they are written, members of one name are all kept. What is no valid JSON stays text and is reported.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from citewell.adapters.readers.decode import clean, decode
from citewell.adapters.readers.paths import Members, on_one_line, path_lines
from citewell.errors import IngestError
from citewell.model import Heading, Locator, Text

_MOST_CHARACTERS = 128 * 1024 * 1024
_MOST_HEADINGS = 200
_MOST_NAMED = 5
_LONGEST_TITLE = 160
_DECODER = json.JSONDecoder(object_pairs_hook=Members, parse_float=str, parse_int=str, parse_constant=str, strict=False)


def read_json(data: bytes, name: str) -> Text:
    """One JSON value; of a file with one value per line, its records.

    Raises:
        IngestError: it is no text, or unfolds beyond what can be read.
    """
    decoded = decode(data)
    value, fault = parse(decoded.text)
    if fault:
        if _is_lines(decoded.text):
            return _records(decoded.text, (*decoded.remarks, "it holds one JSON value per line, and was read so"))
        return Text(decoded.text, "lines", remarks=(*decoded.remarks, f"kept as text: it is no valid JSON ({fault})"))
    return value_text(value, decoded.remarks)


def read_jsonl(data: bytes, name: str) -> Text:
    """One JSON value per line; a line that is none stays as it is and is reported.

    Raises:
        IngestError: it is no text, or unfolds beyond what can be read.
    """
    decoded = decode(data)
    return _records(decoded.text, decoded.remarks)


def parse(text: str) -> tuple[object, str]:
    """A value, and what is wrong if there is none."""
    try:
        return _DECODER.decode(text), ""
    except json.JSONDecodeError as error:
        return None, f"line {error.lineno}: {error.msg}"
    except RecursionError:
        return None, "it nests too deep"


def value_text(value: object, remarks: tuple[str, ...] = ()) -> Text:
    """A parsed value as text; its largest parts open sections."""
    parts = list(_top_parts(value))
    writer = _Writer()
    headings: list[Heading] = []
    for title, lines in parts:
        writer.write([""] if title else [])
        if title:
            headings.append(Heading(writer.length, 2, title))
        writer.write(lines)
    kept = tuple(headings) if len(headings) <= _MOST_HEADINGS else ()
    return Text(writer.text, "lines", title=_title(value), remarks=remarks, places=((0, Locator()),), headings=kept)


def _top_parts(value: object) -> Iterator[tuple[str, Iterator[str]]]:
    """The members of an object, those with members of their own under their names; or all of any other value."""
    if not isinstance(value, Members):
        yield "", path_lines(value)
        return
    for name, part in value:
        title = "" if on_one_line(part) is not None else " ".join(name.split())[:_LONGEST_TITLE]
        yield title, path_lines(Members([(name, part)]))


def _title(value: object) -> str | None:
    if not isinstance(value, Members):
        return None
    members = dict(value)
    info = members.get("info")
    nested = dict(info).get("title") if isinstance(info, Members) else None
    title = members.get("title") or nested or members.get("name")
    return " ".join(clean(title).split())[:_LONGEST_TITLE] or None if isinstance(title, str) else None


class _Writer:
    """Lines, no two blank ones in a row, within bounds."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._blank = True
        self.length = 0

    @property
    def text(self) -> str:
        return "".join(self._parts).rstrip("\n")

    def write(self, lines: Iterator[str] | Sequence[str]) -> None:
        for line in lines:
            if line or not self._blank:
                self._add(f"{clean(line)}\n")
            self._blank = not line

    def _add(self, line: str) -> None:
        self._parts.append(line)
        self.length += len(line)
        if self.length > _MOST_CHARACTERS:
            raise IngestError(
                f"it unfolds to more than {_MOST_CHARACTERS:,} characters", way_out="Split it into several files."
            )


def _is_lines(text: str) -> bool:
    lines = [line for line in text[:1_000_000].split("\n", 3)[:3] if line.strip()]
    return len(lines) > 1 and all(not parse(line)[1] for line in lines[:2]) and lines[0].lstrip()[:1] in "{["


def _records(text: str, remarks: tuple[str, ...]) -> Text:
    writer = _Writer()
    places: list[tuple[int, Locator]] = []
    broken: list[str] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        value, fault = parse(line)
        writer.write([""])
        places.append((writer.length, Locator(line=number)))
        writer.write([line] if fault else path_lines(value))
        if fault:
            broken.append(str(number))
    if broken:
        more = f" and {len(broken) - _MOST_NAMED} more" if len(broken) > _MOST_NAMED else ""
        which = f"lines {', '.join(broken[:_MOST_NAMED])}{more} are" if len(broken) > 1 else f"line {broken[0]} is"
        remarks = (*remarks, f"{which} no valid JSON and kept as text")
    return Text(writer.text, "lines", remarks=remarks, places=tuple(places))
