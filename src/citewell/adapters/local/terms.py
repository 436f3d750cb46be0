"""The dictionary of a store: every term has a number, for ever. Numbers of committed terms are remembered.

Terms are compared by their bytes; nothing in them is syntax. It knows no document.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, pairwise

import numpy as np

_REMEMBERED = 500_000
_MOST_ASKED = 50_000
"""Terms of questions that are remembered, at some 150 bytes each."""
_UNKNOWN = -1
_ASKED_AT_ONCE = 500
_ENTERED_AT_ONCE = 250
_MOST_COUNTED = 65_535
"""How often a term counts within one chunk; BM25 is flat long before."""

Counted = list[tuple[bytes, bytes]]


class _Known(dict[str, int]):
    """Numbers by term. Where nothing else can have a number, a term that is asked for and missing gets the next one."""

    def __init__(self) -> None:
        super().__init__()
        self.new: list[str] = []
        self.next = 1

    def __missing__(self, term: str) -> int:
        number = self[term] = self.next
        self.next += 1
        self.new.append(term)
        return number


class Dictionary:
    """Terms and their numbers, as far as this process has met them; for the holder of the write lock alone."""

    def __init__(self) -> None:
        self._known = _Known()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """What was entered in the body is forgotten if it fails: numbers rolled back go to other terms."""
        self._known.new = []
        try:
            yield
        except BaseException:
            for term in self._known.new:
                self._known.pop(term, None)
            raise

    def forget(self) -> None:
        """Ask the table again: something is wrong with it, or was."""
        self._known.clear()

    def count(self, connection: sqlite3.Connection, texts: Sequence[Sequence[str]]) -> Counted:
        """What `counted` says of these; new terms enter the dictionary, in the caller's transaction."""
        known = self._known
        if len(known) > _REMEMBERED:
            known.clear()
        last = connection.execute("SELECT coalesce(max(id), 0) FROM terms").fetchone()[0]
        known.next = last + 1
        # Numbers differ and begin at 1: who knows as many as the highest one knows them all, and need not ask.
        if len(known) != last:
            self._ask(connection, texts)
        found = counted(texts, known)
        _enter(connection, known.new, known.next - len(known.new))
        return found

    def _ask(self, connection: sqlite3.Connection, texts: Sequence[Sequence[str]]) -> None:
        """Learn the numbers that the table has for terms that were not met yet."""
        terms = [term for term in dict.fromkeys(chain.from_iterable(texts)) if term not in self._known]
        words = [term.encode() for term in terms]
        found = find_terms(connection, words)
        self._known.update((term, found[word]) for term, word in zip(terms, words, strict=True) if word in found)


def _enter(connection: sqlite3.Connection, terms: Sequence[str], first: int) -> None:
    """Give these terms the numbers from `first` on; many rows a statement, which is half the work of one each."""
    for start in range(0, len(terms), _ENTERED_AT_ONCE):
        some = terms[start : start + _ENTERED_AT_ONCE]
        rows = ",".join(["(?, ?)"] * len(some))
        values = chain.from_iterable((number, term.encode()) for number, term in enumerate(some, first + start))
        connection.execute(f"INSERT INTO terms (id, term) VALUES {rows}", tuple(values))  # noqa: S608 - placeholders only


def find_terms(connection: sqlite3.Connection, words: Sequence[bytes]) -> dict[bytes, int]:
    """The numbers of those of these terms that the dictionary holds; a term is given by its UTF-8 bytes."""
    found: dict[bytes, int] = {}
    for start in range(0, len(words), _ASKED_AT_ONCE):
        some = words[start : start + _ASKED_AT_ONCE]
        places = ",".join("?" * len(some))
        sql = f"SELECT term, id FROM terms WHERE term IN ({places})"  # noqa: S608 - placeholders only
        found.update(connection.execute(sql, some))
    return found


def numbers_of(connection: sqlite3.Connection, terms: Sequence[str], known: dict[str, int]) -> dict[str, int]:
    """The number of each of these terms, 0 for those that the dictionary lacks.

    `known` holds those of some terms in the same state; what it lacks is asked of the table and added.
    """
    numbers = {term: known.get(term, _UNKNOWN) for term in terms}
    unknown = [term for term, number in numbers.items() if number == _UNKNOWN]
    if unknown:
        words = [term.encode("utf-8", "surrogatepass") for term in unknown]
        found = find_terms(connection, words)
        learnt = {term: found.get(word, 0) for term, word in zip(unknown, words, strict=True)}
        if len(known) > _MOST_ASKED:
            known.clear()
        known.update(learnt)
        numbers |= learnt
    return numbers


def counted(texts: Sequence[Sequence[str]], numbers: Mapping[str, int]) -> Counted:
    """Per sequence of terms, the numbers of the distinct ones (int32, ascending) and how often each occurs (uint16)."""
    lengths = [len(text) for text in texts]
    held = np.fromiter(map(numbers.__getitem__, chain.from_iterable(texts)), dtype=np.int64, count=sum(lengths))
    owners = np.repeat(np.arange(len(texts), dtype=np.int64), lengths)
    pairs, times = np.unique(owners << 32 | held, return_counts=True)
    distinct = (pairs & 0xFFFFFFFF).astype("<i4")
    counts = np.minimum(times, _MOST_COUNTED).astype("<u2")
    edges = np.searchsorted(pairs >> 32, np.arange(len(texts) + 1)).tolist()
    return [(distinct[start:end].tobytes(), counts[start:end].tobytes()) for start, end in pairwise(edges)]
