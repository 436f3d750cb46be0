"""Documents that an answer cites without a chunk: by their id in brackets, or by an id and a number put together.

    [docA.md]  【docA.md】  (docA.md)  [source: docA.md]  [^1]: docA.md      a document without a chunk
    [docA chunk 2]  [docA:2]  [docA#section]  [docZ chunk 2]            a key put together instead of copied
    docA.md  (etcd)  [sic]                                              no citation: words of running text

In round brackets an id counts only if it has a label or holds anything but letters. The id of a document of which
nothing was shown is told from a word by its existence alone, so that it is a citation only if there is such a document.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from citewell.guard.borders import after_labels
from citewell.guard.brackets import SEPARATED, Pair, covers
from citewell.guard.occurrences import Span
from citewell.guard.page import Page
from citewell.guard.written import Written
from citewell.identity import format_key

_BUILT = re.compile(r"[\s#:_/\-–]+(?:chunk|part|块|段|节)?[\s#:_\-–]*(\d{1,18})|#.*", re.IGNORECASE | re.DOTALL)
_CHUNK_OF = re.compile(r"\w.*?[\s#:_/\-–]chunks?[\s#:_\-–]*(\d{1,18})", re.IGNORECASE)
_LONGEST = 600


def documents(page: Page, taken: Sequence[Span]) -> Iterator[Written]:
    """Citations of documents; none of them overlaps what is taken, which is sorted."""
    for start, end, square in _pieces(page):
        if end - start <= _LONGEST and not _overlaps(taken, start, end):
            yield from _cited(page, start, end, square=square)


def _pieces(page: Page) -> Iterator[tuple[int, int, bool]]:
    """What stands in brackets, whole or piece by piece, and what footnotes say; whether the brackets are square."""
    passive = _passive(page)
    following = [*(pair.start for pair in page.brackets[1:]), len(page.view.text)]
    for pair, further in zip(page.brackets, following, strict=False):
        start, end = pair.inner
        if pair in passive:
            continue
        if end - start <= _LONGEST and page.view.text[start:end].strip() in page.ledger.documents:
            yield start, end, pair.square
        elif further >= end:  # brackets around brackets say nothing themselves
            yield from ((*match.span(), pair.square) for match in SEPARATED.finditer(page.view.text, start, end))
    for definition in page.structure.definitions.values():
        yield definition.body, definition.end, True


def _passive(page: Page) -> set[Pair]:
    """Brackets that cite nothing themselves: texts of links, labels of definitions and their uses."""
    structure = page.structure
    uses = {pair for uses in structure.uses.values() for both in uses for pair in both if pair is not None}
    labels = sorted((definition.start, definition.body) for definition in structure.definitions.values())
    return (
        uses
        | {link.text for link in structure.links}
        | {pair for pair in page.brackets if covers(labels, pair.start, pair.end)}
    )


def _overlaps(taken: Sequence[Span], start: int, end: int) -> bool:
    at = bisect_left(taken, (start, start))
    return (at > 0 and taken[at - 1][1] > start) or (at < len(taken) and taken[at][0] < end)


def _cited(page: Page, start: int, end: int, *, square: bool) -> Iterator[Written]:
    text = page.view.text
    begins = start + len(text[start:end]) - len(text[start:end].lstrip())
    if text[begins:end].rstrip() not in page.ledger.documents:
        begins = after_labels(text, start, end)
    ends = begins + len(text[begins:end].rstrip(" \t\n*_`~.。"))
    if begins >= ends:
        return
    named, raw = text[begins:ends], page.view.written(begins, ends)
    keys = page.ledger.documents.get(named, ())
    counts = square or bool(text[start:begins].strip()) or not named.isalpha()
    if keys and counts:
        yield Written(begins, ends, raw, document=keys)
    elif square and not keys and (guess := _built(page, named)) is not None:
        yield Written(begins, ends, raw, guess=guess)
    elif counts and not keys and (first := first_chunks(raw, named)):
        yield Written(begins, ends, raw, first=first)


def first_chunks(*forms: str) -> tuple[str, ...]:
    """The first chunks of the documents that these forms of an id may name; a letter or a number alone names none."""
    names = [form for form in forms if 1 < len(form) <= _LONGEST and any(map(str.isalpha, form))]
    return tuple(dict.fromkeys(format_key(name, 0) for name in names))


def _built(page: Page, text: str) -> str | None:
    """The key that a document's id and a number would make, its first without a number; None if it is neither.

    Without the word `chunk` between them, it must be a shown document.
    """
    for at in range(len(text) - 1, 0, -1):
        match = _BUILT.fullmatch(text, at) if text[:at].rstrip() in page.ledger.documents else None
        if match is not None:
            return format_key(text[:at].rstrip(), int(match[1] or 0))
    other = _CHUNK_OF.fullmatch(text)
    return format_key(text[: other.start(1)], int(other[1])) if other else None
