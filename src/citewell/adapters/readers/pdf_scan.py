"""The objects of a PDF, looked at before its library draws a page: how much it unpacks to, how often forms draw forms.

Two kilobytes can ask for ten billion drawings, or for a gigabyte; once it draws, the library can't be stopped. What is
encrypted or packed in a rarer way is not looked into. Knows no page and no text.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from citewell.errors import IngestError

_OBJECT = re.compile(rb"\b(\d{1,10})\s{1,9}\d{1,5}\s{1,9}obj\b")
_STREAM = re.compile(rb">>\s{0,9}stream\r?\n?")
_PACKED = re.compile(rb"/(?:FlateDecode|Fl)\b")
_FORM = re.compile(rb"/Subtype\s{0,9}/Form\b")
_PICTURE = re.compile(rb"/Subtype\s{0,9}/Image\b|/Length1\b")
_BUNDLE = re.compile(rb"/Type\s{0,9}/ObjStm\b")
_DRAWN = re.compile(rb"/XObject\s{0,9}(?:<<([^<>]{0,100000})>>|(\d{1,10})\s{1,9}\d{1,5}\s{1,9}R)")
_RESOURCES = re.compile(rb"/Resources\s{1,9}(\d{1,10})\s{1,9}\d{1,5}\s{1,9}R")
_REFERENCE = re.compile(rb"(\d{1,10})\s{1,9}\d{1,5}\s{1,9}R\b")
_DRAWS = re.compile(rb"\bDo\b")
_NUMBER = re.compile(rb"\d+")

_MOST_BYTES = 256 * 1024 * 1024
_MOST_DRAWINGS = 500_000
_TOO_MANY = 20
_DEEPEST = 40
_WAY_OUT = "Print it into a new PDF file."


@dataclass(slots=True)
class _Objects:
    """What is told apart in a file; objects by their numbers.

    Attributes:
        dictionaries: of all objects.
        forms: how many drawings each form makes by itself.
        most: how many drawings a page makes at most; `every`: how many there are in all the file.
    """

    dictionaries: dict[int, bytes] = field(default_factory=dict)
    forms: dict[int, int] = field(default_factory=dict)
    most: int = 1
    every: int = 0
    unpacked: int = 0


def refuse_bombs(data: bytes) -> None:
    """Nothing, if a PDF can be drawn in a time and memory that its size lets one expect.

    Raises:
        IngestError: it can't.
    """
    objects = _Objects()
    for number, dictionary, content in _found(data):
        objects.dictionaries[number] = dictionary
        if content is not None:
            _take(objects, number, dictionary, content)
    if objects.forms:
        _refuse_drawings(objects)


def _found(data: bytes) -> Iterator[tuple[int, bytes, bytes | None]]:
    """(number, dictionary, content of its stream or None) of each object in the file, in one pass."""
    place = 0
    while match := _OBJECT.search(data, place):
        end = data.find(b"endobj", match.end())
        end = len(data) if end < 0 else end
        stream = _STREAM.search(data, match.end(), end)
        if stream is None:
            yield int(match.group(1)), data[match.end() : end], None
            place = end
            continue
        place = data.find(b"endstream", stream.end())
        place = len(data) if place < 0 else place
        yield int(match.group(1)), data[match.end() : stream.start() + 2], data[stream.end() : place]


def _take(objects: _Objects, number: int, dictionary: bytes, content: bytes) -> None:
    if _PICTURE.search(dictionary):
        return
    text = _unpacked(content, len(_PACKED.findall(dictionary)))
    objects.unpacked += len(text)
    if objects.unpacked > _MOST_BYTES:
        raise IngestError(f"its pages unpack to more than {_MOST_BYTES:,} bytes", way_out=_WAY_OUT)
    draws = len(_DRAWS.findall(text))
    objects.every += draws
    if _FORM.search(dictionary):
        objects.forms[number] = draws
    elif _BUNDLE.search(dictionary):
        objects.dictionaries.update(_unbundled(dictionary, text))
    else:
        objects.most = max(objects.most, draws)


def _unpacked(content: bytes, times: int) -> bytes:
    """The content of a stream, at most one byte more than is bearable; damaged streams as far as they go."""
    for _ in range(min(times, 4)):
        try:
            content = zlib.decompressobj().decompress(content, _MOST_BYTES + 1)
        except zlib.error:
            return b""
    return content


def _unbundled(dictionary: bytes, text: bytes) -> Iterator[tuple[int, bytes]]:
    """The objects that a stream of objects holds: pairs of a number and a place, then the objects."""
    first = re.search(rb"/First\s{1,9}(\d{1,9})", dictionary)
    begin = int(first.group(1)) if first else 0
    head = [int(number) for number in _NUMBER.findall(text[:begin])]
    places = head[1::2]
    for number, place, end in zip(head[0::2], places, [*places[1:], len(text)], strict=False):
        yield number, text[begin + place : begin + max(end, place)]


def _refuse_drawings(objects: _Objects) -> None:
    """Forms draw forms; how many drawings one of them makes in the end, level by level."""
    inner = {number: _drawn_by(number, objects.dictionaries) & objects.forms.keys() for number in objects.forms}
    totals: Mapping[int, int] = dict.fromkeys(objects.forms, 1)
    limit = max(_MOST_DRAWINGS, _TOO_MANY * objects.every) // objects.most
    for _ in range(_DEEPEST):
        grown = {
            number: 1 + draws * max((totals[each] for each in inner[number]), default=1)
            for number, draws in objects.forms.items()
        }
        if max(grown.values()) > limit:
            raise IngestError("its pages are drawn by forms that draw one another without end", way_out=_WAY_OUT)
        if grown == totals:
            return
        totals = grown


def _drawn_by(number: int, dictionaries: Mapping[int, bytes]) -> set[int]:
    """The numbers of what a form may draw: named in its own resources or in those that it refers to."""
    dictionary = dictionaries[number]
    if resources := _RESOURCES.search(dictionary):
        dictionary = dictionaries.get(int(resources.group(1)), b"")
    found: set[int] = set()
    for match in _DRAWN.finditer(dictionary):
        names = match.group(1) if match.group(2) is None else dictionaries.get(int(match.group(2)), b"")
        found.update(int(each) for each in _REFERENCE.findall(names))
    return found - {number}
