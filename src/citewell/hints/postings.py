"""Which documents hold a term, how often and where: arrays in the order of the terms' digests, a run per term.

It knows neither a document nor a score.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Places = NDArray[np.int32]
    Counts = NDArray[np.uint16]
    Spots = NDArray[np.uint8]

_MOST_COUNTED = 65_535


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """Of a run of documents.

    Attributes:
        terms: uint64 [terms], digests, ascending.
        starts: int64 [terms + 1], where the run of each begins, and the end of the last.
        places: int32 [postings], of the documents that hold it, ascending within a term.
        counts: uint16 [postings], how often the term occurs there, up to 65,535.
        spots: uint8 [postings], the number of the document's first text in which it does.
    """

    terms: NDArray[np.uint64]
    starts: NDArray[np.int64]
    places: Places
    counts: Counts
    spots: Spots

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Int64 [terms]: how many documents hold each."""
        return np.diff(self.starts)

    def holders(self, digests: NDArray[np.uint64]) -> dict[int, tuple[Places, Counts, Spots]]:
        """By its place among these, of each term that is held: the places that hold it, ascending, how often, where."""
        at = self.terms.searchsorted(digests)
        known = np.flatnonzero(self.terms.take(at, mode="clip") == digests) if self.terms.size else at[:0]
        at = at[known]
        runs = map(slice, self.starts[at].tolist(), self.starts[at + 1].tolist())
        return {
            which: (self.places[run], self.counts[run], self.spots[run])
            for which, run in zip(known.tolist(), runs, strict=True)
        }

    def moved(self, by: int) -> Postings:
        """The same documents, so many places further."""
        return Postings(self.terms, self.starts, self.places + np.int32(by), self.counts, self.spots) if by else self

    def within(self, start: int, end: int) -> Postings:
        """Of the places from `start` to before `end`, counted from `start`."""
        stays = np.flatnonzero((self.places >= start) & (self.places < end))
        return self._some(stays, self.places[stays] - np.int32(start))

    def kept(self, mask: NDArray[np.bool_]) -> Postings:
        """Of the places where the mask is true, moved together."""
        moved, stays = (np.cumsum(mask) - 1).astype(np.int32), np.flatnonzero(mask[self.places])
        return self._some(stays, moved[self.places[stays]])

    def _some(self, stays: NDArray[np.intp], places: Places) -> Postings:
        bounds = stays.searchsorted(self.starts)
        held = np.flatnonzero(np.diff(bounds))
        starts = np.append(bounds[held], stays.size)
        return Postings(self.terms[held], starts, places, self.counts[stays], self.spots[stays])


def digests_of(terms: Sequence[str]) -> NDArray[np.uint64]:
    """What stands for each term: 64 bits, the same in every process."""
    return np.array([_digest(term) for term in terms], np.uint64)


@lru_cache(maxsize=65_536)
def _digest(term: str) -> int:
    return int.from_bytes(hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def postings_of(documents: Sequence[Sequence[Sequence[str]]], times: Sequence[int]) -> Postings:
    """Of documents with these texts of terms, each of which counts so many times; the places in this order."""
    numbers: dict[str, int] = {}
    flat = [(at, spot, text) for at, texts in enumerate(documents) for spot, text in enumerate(texts)]
    held = np.array([numbers.setdefault(term, len(numbers)) for _, _, text in flat for term in text], np.int64)
    sizes = [len(text) for _, _, text in flat]
    owners = np.repeat(np.array([at for at, _, _ in flat], np.int64), sizes)
    spots = np.repeat(np.array([spot for _, spot, _ in flat], np.uint8), sizes)
    terms, rank = np.unique(digests_of(list(numbers)), return_inverse=True)
    # The first of equal pairs stands in the first text, for the texts come in their order.
    pairs, first, which = np.unique(rank[held] << 32 | owners, return_index=True, return_inverse=True)
    counts = np.bincount(which, weights=np.array(times)[spots], minlength=pairs.size)
    return Postings(
        terms,
        (pairs >> 32).searchsorted(np.arange(terms.size + 1)),
        (pairs & 0xFFFFFFFF).astype(np.int32),
        np.minimum(counts, _MOST_COUNTED).astype(np.uint16),
        spots[first],
    )


def merged(runs: Sequence[Postings]) -> Postings:
    """Of the documents of all of them; each one's places come after those of the one before."""
    terms = np.unique(np.concatenate([run.terms for run in runs]))
    ranks = [terms.searchsorted(run.terms) for run in runs]
    sizes = np.zeros(terms.size, np.int64)
    for run, rank in zip(runs, ranks, strict=True):
        sizes[rank] += run.sizes
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    size = int(starts[-1])
    places, counts, spots = np.empty(size, np.int32), np.empty(size, np.uint16), np.empty(size, np.uint8)
    free = starts[:-1].copy()
    for run, rank in zip(runs, ranks, strict=True):
        into = np.repeat(free[rank] - run.starts[:-1], run.sizes) + np.arange(run.places.size)
        places[into], counts[into], spots[into] = run.places, run.counts, run.spots
        free[rank] += run.sizes
    return Postings(terms, starts, places, counts, spots)
