"""BM25 (Robertson and Zaragoza 2009) over the terms of all rows at once, as arrays; knows no row's key and no filter.

    score = sum over the query's terms of idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean length))
    idf = ln(1 + (N - n + .5) / (n + .5)), never negative

A term is known by 64 bits of its digest: among ten million different terms the chance that any two share them is one
in 370,000.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_K1 = 1.2
_B = 0.75
_MOST_COUNTED = 65_535


def number_of(term: str) -> int:
    """The 64-bit number of a term."""
    return int.from_bytes(hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def counted(terms: Sequence[str]) -> tuple[bytes, bytes]:
    """The numbers of the distinct terms (uint64) and how often each occurs (uint16), in the same order."""
    held = Counter(terms)
    numbers = np.fromiter((number_of(term) for term in held), dtype="<u8", count=len(held))
    times = np.fromiter((min(count, _MOST_COUNTED) for count in held.values()), dtype="<u2", count=len(held))
    return numbers.tobytes(), times.tobytes()


@dataclass(frozen=True, slots=True)
class Postings:
    """Which rows hold a term, and how often; rows are numbered from 0.

    Attributes:
        terms: uint64, ascending, each once; the postings of terms[i] are those from starts[i] to starts[i + 1].
        rows: int32, ascending within a term.
        counts: uint16.
        lengths: int64 [rows], terms in each row.
    """

    terms: NDArray[np.uint64]
    starts: NDArray[np.int64]
    rows: NDArray[np.int32]
    counts: NDArray[np.uint16]
    lengths: NDArray[np.int64]

    @classmethod
    def of(cls, held: Iterable[tuple[bytes, bytes]]) -> Postings:
        """From what `counted` gave for each row, in order."""
        pairs = list(held)
        numbers = np.frombuffer(b"".join(terms for terms, _ in pairs), dtype="<u8")
        counts = np.frombuffer(b"".join(times for _, times in pairs), dtype="<u2")
        rows = np.repeat(np.arange(len(pairs), dtype=np.int32), [len(times) // 2 for _, times in pairs])
        lengths = np.bincount(rows, weights=counts, minlength=len(pairs)).astype(np.int64)
        order = np.argsort(numbers, kind="stable")
        terms, starts = np.unique(numbers[order], return_index=True)
        return cls(terms, np.append(starts, numbers.size).astype(np.int64), rows[order], counts[order], lengths)

    def scores(self, terms: Sequence[str]) -> NDArray[np.float64]:
        """float64 [rows]: 0 for a row that holds none of the terms; a term that comes twice counts twice."""
        scores = np.zeros(self.lengths.size)
        if not self.lengths.any():
            return scores
        norms = _K1 * (1 - _B + _B * self.lengths / self.lengths.mean())
        for term, times in Counter(terms).items():
            rows, counts = self._of(number_of(term))
            if rows.size:
                idf = math.log(1 + (scores.size - rows.size + 0.5) / (rows.size + 0.5))
                scores[rows] += times * idf * counts * (_K1 + 1) / (counts + norms[rows])
        return scores

    def _of(self, number: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        at = int(np.searchsorted(self.terms, np.uint64(number)))
        if at == self.terms.size or int(self.terms[at]) != number:
            return self.rows[:0], np.empty(0)
        start, end = self.starts[at], self.starts[at + 1]
        return self.rows[start:end], self.counts[start:end].astype(np.float64)
