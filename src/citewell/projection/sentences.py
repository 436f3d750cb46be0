"""A text -> pieces of about a sentence, which together are the text again; what they are for, it does not know."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from citewell.checks import check_text
from citewell.patterns import late
from citewell.projection.cuts import good_end, grapheme_ends

_MOST_PIECES = 100
_LONGEST = 600
_SHORTEST = 8

_ABBREVIATION = (
    r"\b(?:\p{Lu}|\p{N}{1,3}|[Mm]rs?|[Dd]r|[Ff]ig|[Nn]o|[Vv]s|[Cc]f|[Ee]\.g|[Ii]\.e|etc)"  # J. Doe, 1. First
)
_STOP = r"[\p{SB=STerm}\p{SB=ATerm}…]"
_END = late(
    lambda: regex.compile(
        r"[。！？；｡．]++\p{SB=Close}*+\s*+"  # no space follows these
        rf"|(?={_STOP})(?<!{_ABBREVIATION}|{_STOP}){_STOP}++\p{{SB=Close}}*+\s++(?!\p{{Ll}})"  # a small letter goes on
        r"|\n[^\S\n]*+\n\s*+"  # a paragraph
        r"|\n(?=[ \t]*+(?:[-*+•] |\p{N}{1,3}[.)] |\#{1,6} |[|>]))"  # an item, a heading, a row of a table
    )
)
_SAYS = late(lambda: regex.compile(r"[\p{L}\p{N}]"))


def sentences(text: str) -> list[str]:
    """The text in pieces of about a sentence; `"".join(sentences(text)) == text`.

    A piece ends after a sentence, a paragraph, an item of a list or a row of a table, with the white space that
    follows. There are at most 101. Each has something to see in it, and, where there is room, a letter or a digit.
    None has more than 600 characters beside white space, or, in texts of more than 30,000, than a fiftieth of them.
    Sentences of less than 8 are joined with the next one. A text in which nothing can be seen has no pieces. Time is
    linear.

    Raises:
        InvalidRequest: it is no text.
    """
    if not check_text("the text to split", text).strip():
        return []
    least = max(_SHORTEST, -(-len(text) // _MOST_PIECES))
    most = max(_LONGEST, 2 * least)
    return _joined(list(_cut(text, least, most)), most)


def _cut(text: str, least: int, most: int) -> Iterator[str]:
    """Pieces of at least `least` characters, apart from the last one and from what is cut for its length."""
    start = 0
    for end in [*(match.end() for match in _END.finditer(text)), len(text)]:
        while end - start > most:
            cut = start + _good_cut(text[start : start + most + 1], most)
            yield text[start:cut]
            start = cut
        if end - start >= least and _SAYS.search(text, start, end):
            yield text[start:end]
            start = end
    if start < len(text):
        yield text[start:]


def _good_cut(text: str, most: int) -> int:
    """Where a text that is too long is cut: after a word if there is one near the end, else between graphemes."""
    return good_end(text, grapheme_ends(text, most)) or most


def _joined(pieces: list[str], most: int) -> list[str]:
    """Pieces that say nothing go with the one before them, and at the beginning with the next; marks if they fit."""
    joined: list[str] = []
    for piece in pieces:
        if joined and _belongs(joined[-1], piece, most):
            joined[-1] += piece
        else:
            joined.append(piece)
    return joined


def _belongs(before: str, piece: str, most: int) -> bool:
    if not (before.strip() and piece.strip()):
        return True
    return len(before) + len(piece) <= most and not (_SAYS.search(before) and _SAYS.search(piece))
