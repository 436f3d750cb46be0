"""Seeded damage to files: bytes flipped, cut, doubled or foreign; parts and elements of an archive lost or repeated."""

from __future__ import annotations

import io
import random
import re
import zipfile
from collections.abc import Callable, Sequence

_FOREIGN = (
    b"\x00", b"\r\n", b"\xff", b"\xed\xa0\x80", b"```\n", b"\n", b"|", b"<", b"\xef\xbb\xbf", b"---\n", b'"', b"\t",
    b"\x1b[31m", "\u200d\U0001f469".encode(), b"&#0;", b"\\ud800", b"%PDF-", b"PK\x03\x04", b"]]>", b"{" * 9,
)  # fmt: skip
_TOKEN = re.compile(rb'<[^>]+>|[^<>]+|"[^"]*"')

Change = Callable[[random.Random, bytes, int], bytes]


def _flip(chance: random.Random, data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 1 << chance.randrange(8)]) + data[place + 1 :]


def _cut(chance: random.Random, data: bytes, place: int) -> bytes:
    return data[:place]


def _lose(chance: random.Random, data: bytes, place: int) -> bytes:
    return data[:place] + data[place + chance.choice([1, 5, 50, 500]) :]


def _move(chance: random.Random, data: bytes, place: int) -> bytes:
    other = chance.randrange(len(data))
    return data[:place] + data[other : other + chance.choice([1, 10, 200])] + data[place:]


def _insert(chance: random.Random, data: bytes, place: int) -> bytes:
    return data[:place] + chance.choice(_FOREIGN) + data[place:]


def _repeat(chance: random.Random, data: bytes, place: int) -> bytes:
    return data[:place] + data[place : place + 1] * chance.choice([10, 300]) + data[place:]


_CHANGES: Sequence[Change] = (_flip, _cut, _lose, _move, _insert, _repeat)


def damaged(chance: random.Random, data: bytes) -> bytes:
    """The bytes with one to eight changes."""
    for _ in range(chance.choice([1, 1, 2, 3, 8])):
        if data:
            data = chance.choice(_CHANGES)(chance, data, chance.randrange(len(data)))
    return data


def damaged_archive(chance: random.Random, data: bytes) -> bytes:
    """The archive with one of its parts gone, damaged, or with an element lost, doubled or in the place of another."""
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        parts = {name: package.read(name) for name in package.namelist()}
    name = chance.choice([each for each in parts if each.endswith((".xml", ".rels"))])
    kind = chance.random()
    if kind < 0.1:
        del parts[name]
    elif kind < 0.6:
        parts[name] = _with_other_element(chance, parts[name])
    else:
        parts[name] = damaged(chance, parts[name])
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as package:
        for each, content in parts.items():
            package.writestr(each, content)
    return out.getvalue()


def _with_other_element(chance: random.Random, markup: bytes) -> bytes:
    tokens = [match.span() for match in _TOKEN.finditer(markup)]
    (begin, end), other = chance.choice(tokens), chance.choice(tokens)
    new = chance.choice([b"", 2 * markup[begin:end], markup[slice(*other)], b'"-1"', b'"99999999"', b'"\xe4\xbd\xa0"'])
    return markup[:begin] + new + markup[end:]
