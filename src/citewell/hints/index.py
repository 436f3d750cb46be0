"""A copy of the catalogue in memory that is searched by words (BM25) and by meaning (the mean of a document's vectors).

A new version takes a new slot and its old one goes dark, so that keeping current costs what changed, not what there is.
It knows neither the store nor the lock under which it is used; scope and `where` hold inside both searches (SAFE-1).
"""

from __future__ import annotations

import heapq
import math
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from citewell.filtering import has_all
from citewell.model import DocumentInfo, Filters
from citewell.model.catalogue import Catalogued
from citewell.scope import is_visible

if TYPE_CHECKING:
    from numpy.typing import NDArray

_Row = TypeVar("_Row", np.int32, np.float16, np.float32, np.bool_)
_K1, _B = 1.2, 0.75
_TITLE_TIMES = 2
_DARK = 1_000
MOST_VECTOR_BYTES = 1 << 27
"""128 MB: 131,072 documents of 512 dimensions. Documents beyond are found by their words alone."""

_EXACT = 2_000
"""Up to so many documents each is compared; beyond, those that lie closest in a few random directions."""

_COARSE, _CANDIDATES = 64, 256
_COUNTS = 1 << 16
_VECTOR_ITEM = np.dtype(np.float16).itemsize


class CatalogueIndex:
    """Documents by slot. Not safe for several threads: its owner takes turns."""

    def __init__(self, analyze: Callable[[str], Sequence[str]]) -> None:
        self._analyze = analyze
        self._infos: list[DocumentInfo] = []
        self._slots: dict[str, int] = {}
        self._postings: dict[str, array[int]] = {}  # slot * 65,536 + how often it holds the term
        self._scopes: dict[tuple[str, ...] | None, int] = {}
        self._scope_of: NDArray[np.int32] = np.empty(0, np.int32)
        self._lengths: NDArray[np.float32] = np.empty(0, np.float32)
        self._live: NDArray[np.bool_] = np.empty(0, np.bool_)
        self._vectors: NDArray[np.float16] = np.empty((0, 0), np.float16)
        self._axes: NDArray[np.float32] = np.empty((0, 0), np.float32)
        self._coarse: NDArray[np.float32] = np.empty((0, 0), np.float32)

    def __len__(self) -> int:
        """Documents."""
        return len(self._slots)

    @property
    def is_worn(self) -> bool:
        """Whether most slots are dark, so that reading everything anew is the better bargain."""
        return len(self._infos) - len(self._slots) > len(self._slots) + _DARK

    def known(self) -> dict[str, DocumentInfo]:
        """What is held of each document."""
        return {doc_id: self._infos[slot] for doc_id, slot in self._slots.items()}

    def info(self, doc_id: str) -> DocumentInfo:
        """What is held of a document."""
        return self._infos[self._slots[doc_id]]

    def put(self, rows: Sequence[Catalogued]) -> None:
        """Take these versions in the place of what is held of their documents."""
        size = len(self._infos) + len(rows)
        self._live, self._lengths = _room(self._live, size), _room(self._lengths, size)
        self._scope_of = _room(self._scope_of, size)
        for row in rows:
            self._darken(row.info.doc_id)
            self._add(row.info)
        self._place([row for row in rows if self._infos[self._slots[row.info.doc_id]] is row.info])

    def keep_only(self, doc_ids: Collection[str]) -> None:
        """Forget every other document."""
        for doc_id in [held for held in self._slots if held not in doc_ids]:
            self._darken(doc_id)

    def by_words(self, terms: Sequence[str], k: int, filters: Filters) -> list[str]:
        """The k best documents by BM25 over title, headings, source and category that hold a term; ties by doc_id."""
        scores = np.zeros(len(self._infos), np.float64)
        mean = float(self._lengths[: scores.size][self._live[: scores.size]].mean()) if self._slots else 1.0
        for term in terms:
            postings = self._postings.get(term)
            if postings is not None:
                slots, counts = np.divmod(np.array(postings), _COUNTS)
                holders = int(np.count_nonzero(self._live[slots]))
                idf = math.log(1 + (len(self._slots) - holders + 0.5) / (holders + 0.5))
                norms = _K1 * (1 - _B + _B * self._lengths[slots] / max(mean, 1.0))
                scores[slots] += idf * counts * (_K1 + 1) / (counts + norms)
        return self._best(scores, self._within(filters) & (scores > 0), k)

    def by_meaning(self, vector: NDArray[np.float32], k: int, filters: Filters) -> list[str]:
        """The k documents whose centre lies closest to the direction of the vector; ties by doc_id."""
        count = min(len(self._infos), len(self._vectors))
        if not count or self._vectors.shape[1] != vector.size:
            return []
        slots = np.flatnonzero(self._within(filters)[:count])
        if slots.size > _EXACT:
            rough = _products(self._coarse[:count], vector @ self._axes)[slots]
            slots = slots[np.argpartition(-rough, _CANDIDATES)[:_CANDIDATES]]
        scores = np.zeros(len(self._infos), np.float64)
        scores[slots] = _products(self._vectors[slots].astype(np.float32), vector)
        # A document without a centre has zeros there, and lies in no direction.
        return self._best(scores, scores != 0, k)

    def _add(self, info: DocumentInfo) -> None:
        slot = len(self._infos)
        self._infos.append(info)
        self._slots[info.doc_id] = slot
        counts = Counter(self._terms(info))
        for term, count in counts.items():
            entry, postings = slot * _COUNTS + min(count, _COUNTS - 1), self._postings.get(term)
            if postings is None:
                self._postings[term] = array("q", (entry,))
            else:
                postings.append(entry)
        self._live[slot], self._lengths[slot] = True, counts.total()
        self._scope_of[slot] = self._scopes.setdefault(info.scope, len(self._scopes))

    def _terms(self, info: DocumentInfo) -> list[str]:
        # The title twice: a heading of many says less of what the whole document is about.
        text = "\n".join([*[info.title] * _TITLE_TIMES, *info.headings, info.source, info.category or ""])
        return list(self._analyze(text))

    def _place(self, rows: Sequence[Catalogued]) -> None:
        """Take in the directions of these documents, all at once."""
        centres = [(self._slots[row.info.doc_id], row.centre) for row in rows if row.centre is not None]
        if centres and not self._vectors.shape[1]:
            self._begin(centres[0][1].size)
        fit = [(slot, centre) for slot, centre in centres if self._fits(slot, centre)]
        if fit:
            slots, vectors = [slot for slot, _ in fit], np.stack([centre for _, centre in fit])
            vectors /= np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, np.newaxis]
            self._vectors = _room(self._vectors, max(slots) + 1)
            self._coarse = _room(self._coarse, max(slots) + 1)
            self._vectors[slots], self._coarse[slots] = vectors, vectors @ self._axes

    def _fits(self, slot: int, centre: NDArray[np.float32]) -> bool:
        """Whether there is room for it, and it has a direction."""
        room = (slot + 1) * centre.size * _VECTOR_ITEM <= MOST_VECTOR_BYTES and centre.shape == self._vectors.shape[1:]
        square = float(np.einsum("i,i", centre, centre)) if room else 0.0
        return math.isfinite(square) and square > 0

    def _begin(self, dimensions: int) -> None:
        """Room for vectors of so many dimensions, and random directions, the same each time, at right angles."""
        self._vectors = np.empty((0, dimensions), np.float16)
        drawn = np.random.default_rng(0).normal(size=(dimensions, min(_COARSE, dimensions)))
        self._axes = np.linalg.qr(drawn)[0].astype(np.float32)
        self._coarse = np.empty((0, self._axes.shape[1]), np.float32)

    def _darken(self, doc_id: str) -> None:
        slot = self._slots.pop(doc_id, None)
        if slot is not None:
            self._live[slot] = False

    def _within(self, filters: Filters) -> NDArray[np.bool_]:
        """The live slots whose documents are within scope and `where`."""
        count = len(self._infos)
        seen = np.array([is_visible(scope, filters.scope) for scope in self._scopes], np.bool_)
        allowed: NDArray[np.bool_] = self._live[:count].copy()
        if not seen.all():
            allowed &= seen[self._scope_of[:count]]
        if filters.where:
            for slot in np.flatnonzero(allowed).tolist():
                allowed[slot] = has_all(self._infos[slot].metadata, filters.where)
        return allowed

    def _best(self, scores: NDArray[np.float64], allowed: NDArray[np.bool_], k: int) -> list[str]:
        slots = np.flatnonzero(allowed)
        if slots.size > k:
            least = np.partition(scores[slots], slots.size - k)[slots.size - k]
            slots = slots[scores[slots] >= least]
        found = ((-float(scores[slot]), self._infos[slot].doc_id) for slot in slots.tolist())
        return [doc_id for _, doc_id in heapq.nsmallest(k, found)]


def _products(rows: NDArray[np.float32], vector: NDArray[np.float32]) -> NDArray[np.float32]:
    # Not `@`: its threads wait for each other where other work has the cores, which took a hundred times as long.
    products: NDArray[np.float32] = np.einsum("ij,j->i", rows, vector)
    return products


def _room(rows: NDArray[_Row], size: int) -> NDArray[_Row]:
    """The array with room for so many rows; it grows by a quarter of itself, filled with zeros."""
    if size <= len(rows):
        return rows
    grown = np.zeros((max(16, size, len(rows) + len(rows) // 4), *rows.shape[1:]), rows.dtype)
    grown[: len(rows)] = rows
    return grown
