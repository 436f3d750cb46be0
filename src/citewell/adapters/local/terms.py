"""The dictionary of a store: every term has a number, for ever. Numbers of committed terms are remembered.

Terms are compared by their bytes; nothing in them is syntax. It knows no document.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, pairwise

import numpy as np

_REMEMBERED = 500_000
_ASKED_AT_ONCE = 500
_MOST_COUNTED = 65_535
"""How often a term counts within one chunk; BM25 is flat long before."""


class Dictionary:
    """Terms and their numbers, as far as this process has met them; for the holder of the write lock alone."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}
        self._new: list[str] = []

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """What was entered in the body is forgotten if it fails: numbers rolled back go to other terms."""
        self._new = []
        try:
            yield
        except BaseException:
            for term in self._new:
                self._known.pop(term, None)
            raise

    def forget(self) -> None:
        """Ask the table again: something is wrong with it, or was."""
        self._known.clear()

    def numbers(self, connection: sqlite3.Connection, terms: Iterable[str]) -> Mapping[str, int]:
        """Numbers of these terms, and of others; new terms enter the dictionary, in the caller's transaction."""
        if len(self._known) > _REMEMBERED:
            self._known.clear()
        self._new = [term for term in dict.fromkeys(terms) if term not in self._known]
        words = [term.encode() for term in self._new]
        connection.executemany("INSERT OR IGNORE INTO terms (term) VALUES (?)", ((word,) for word in words))
        found = find_terms(connection, words)
        self._known.update((term, found[word]) for term, word in zip(self._new, words, strict=True))
        return self._known


def find_terms(connection: sqlite3.Connection, words: Sequence[bytes]) -> dict[bytes, int]:
    """The numbers of those of these terms that the dictionary holds; a term is given by its UTF-8 bytes."""
    found: dict[bytes, int] = {}
    for start in range(0, len(words), _ASKED_AT_ONCE):
        some = words[start : start + _ASKED_AT_ONCE]
        places = ",".join("?" * len(some))
        sql = f"SELECT term, id FROM terms WHERE term IN ({places})"  # noqa: S608 - placeholders only
        found.update(connection.execute(sql, some))
    return found


def counted(texts: Sequence[Sequence[str]], numbers: Mapping[str, int]) -> list[tuple[bytes, bytes]]:
    """Per sequence of terms, the numbers of the distinct ones (int32, ascending) and how often each occurs (uint16)."""
    lengths = [len(text) for text in texts]
    held = np.fromiter(map(numbers.__getitem__, chain.from_iterable(texts)), dtype=np.int64, count=sum(lengths))
    owners = np.repeat(np.arange(len(texts), dtype=np.int64), lengths)
    pairs, times = np.unique(owners << 32 | held, return_counts=True)
    distinct = (pairs & 0xFFFFFFFF).astype("<i4")
    counts = np.minimum(times, _MOST_COUNTED).astype("<u2")
    edges = np.searchsorted(pairs >> 32, np.arange(len(texts) + 1)).tolist()
    return [(distinct[start:end].tobytes(), counts[start:end].tobytes()) for start, end in pairwise(edges)]
