"""Texts of documents for eyes: what would act or hide in a page is shown by its code point; names are shortened.

It knows characters alone. Escaping is the templates' business, and theirs alone.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from pathlib import PurePosixPath

import regex

from citewell.errors import InvalidRequest
from citewell.identity import parse_key
from citewell.printable import code_point

_HIDDEN = regex.compile(
    r"(?:[[\p{Cc}\p{Cs}\p{Bidi_Control}]--[\n\t]]|\p{Default_Ignorable_Code_Point}{2,}|[\uFFF9-\uFFFB])+", regex.V1
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text: as it is written, or the code points of what can't be seen."""

    text: str
    hidden: bool = False


def pieces(text: str) -> tuple[Piece, ...]:
    """The text in parts; joined, those that aren't hidden are the text without what can't be seen.

    Controls (but line feed and tab), marks of direction, lone surrogates and runs of invisible characters are hidden;
    a single joiner or selector, as Persian and emoji need them, stays. A carriage return before a line feed is dropped.
    """
    found: list[Piece] = []
    at, text = 0, text.replace("\r\n", "\n")
    for match in _HIDDEN.finditer(text):
        if match.start() > at:
            found.append(Piece(text[at : match.start()]))
        found.append(Piece("".join(map(code_point, match[0])), hidden=True))
        at = match.end()
    if at < len(text):
        found.append(Piece(text[at:]))
    return tuple(found)


def visible(text: object) -> str:
    """A label on one line, with hidden characters by their code points; empty for None."""
    line = "" if text is None else " ".join(str(text).split())
    return "".join(piece.text for piece in pieces(line))


def short_key(key: str, width: int) -> str:
    """An evidence key for a narrow place: the file's name and the number of the chunk; else the key, shortened.

    `runbooks/etcd.md#chunk-2` -> `etcd.md · 2`. `width` in columns, of which a Chinese character takes two.
    """
    doc_id, index = parts_of(key)
    if doc_id is None or index is None:
        return shortened(visible(key), width)
    tail = f" · {index}"
    return shortened(visible(PurePosixPath(doc_id).name or doc_id), width - len(tail)) + tail


def parts_of(key: str) -> tuple[str | None, int | None]:
    """The document and the number of the chunk that a key names, as far as it does."""
    try:
        identity = parse_key(key)
    except InvalidRequest:
        return None, None
    return identity.doc_id, identity.chunk_index


def shortened(text: str, width: int) -> str:
    """At most `width` columns, with an ellipsis in the middle where something is left out."""
    if columns(text) <= width:
        return text
    head, tail = "", ""
    for before, after in zip(text, reversed(text), strict=True):
        if columns(head + before + tail) < width:
            head += before
        if columns(head + after + tail) < width:
            tail = after + tail
        else:
            break
    return f"{head}…{tail}"


def columns(text: str) -> int:
    """How many columns of a fixed-width font the text takes."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in text)
