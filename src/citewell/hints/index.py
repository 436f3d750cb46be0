"""A copy of the catalogue in memory that is searched by words (BM25) and by meaning (the mean of a document's vectors).

A new version takes a new slot and its old one goes dark, so that keeping current costs what changed, not what there is.
Slots number the documents of all blocks, in order. It knows neither the store nor the lock under which it is used;
scope and `where` hold inside both searches (SAFE-1).
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from citewell.filtering import has_all
from citewell.hints.block import Block, digest_of, directions, join, make_block
from citewell.hints.near import Axes, Sharp, products
from citewell.model import DocumentInfo, Filters
from citewell.model.catalogue import Catalogued
from citewell.scope import is_visible

if TYPE_CHECKING:
    from numpy.typing import NDArray

_K1, _B = 1.2, 0.75
_DARK = 1_000
_BLOCK = 1_024
"""Documents up to which small blocks are joined, so that a store rewrites a bounded part of its copy after a write."""

_MOST_DARK = 0.25
MOST_VECTOR_BYTES = 1 << 27
"""128 MB: 131,072 documents of 512 dimensions. Documents beyond are found by their words alone."""

_EXACT = 2_000
"""Up to so many documents each is compared; beyond, those that lie closest in a few random directions."""

_CANDIDATES = 256
_VECTOR_ITEM = np.dtype(np.float16).itemsize


class CatalogueIndex:
    """Documents by slot. Not safe for several threads: its owner takes turns."""

    def __init__(self, analyze: Callable[[str], Sequence[str]], blocks: Iterable[Block] = ()) -> None:
        self._analyze = analyze
        self._blocks: list[Block] = []
        self._bases: list[int] = [0]
        self._slots: dict[str, int] = {}
        self._live: NDArray[np.bool_] = np.empty(0, np.bool_)
        self._dimensions = 0
        self._axes: Axes | None = None
        self._sharp = Sharp()
        for block in blocks:
            self._append(block)

    def __len__(self) -> int:
        """Documents."""
        return len(self._slots)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All of them, with what is dark in them."""
        return tuple(self._blocks)

    @property
    def is_worn(self) -> bool:
        """Whether most slots are dark, so that reading everything anew is the better bargain."""
        return self._bases[-1] - len(self._slots) > len(self._slots) + _DARK

    def known(self) -> dict[str, DocumentInfo]:
        """What is held of each document."""
        return {doc_id: self.info(doc_id) for doc_id in self._slots}

    def info(self, doc_id: str) -> DocumentInfo:
        """What is held of a document."""
        block, place = self._place(self._slots[doc_id])
        return block.infos[place]

    def put(self, rows: Sequence[Catalogued]) -> None:
        """Take these versions in the place of what is held of their documents."""
        if not rows:
            return
        known = (row.centre.size for row in rows if row.centre is not None)
        self._dimensions = self._dimensions or next(known, 0)
        room = MOST_VECTOR_BYTES // (self._dimensions * _VECTOR_ITEM) if self._dimensions else 0
        block = make_block(rows, self._analyze, directions(rows, self._dimensions, room - self._bases[-1]))
        if self._blocks and self._blocks[-1].size + block.size <= _BLOCK:
            self._append(block, self._blocks.pop())
        else:
            self._append(block)

    def keep_only(self, doc_ids: Collection[str]) -> None:
        """Forget every other document."""
        for doc_id in [held for held in self._slots if held not in doc_ids]:
            self._live[self._slots.pop(doc_id)] = False

    def tidied(self) -> CatalogueIndex:
        """The same without what is deleted, and what is dark where that is much; itself if there is nothing to do."""
        masks = [self._live[span] for _, span in self._parts()]
        due = [self._is_due(block, mask) for block, mask in zip(self._blocks, masks, strict=True)]
        if not any(due):
            return self
        blocks = [b.kept(m) if is_due else b for b, m, is_due in zip(self._blocks, masks, due, strict=True)]
        return CatalogueIndex(self._analyze, [block for block in blocks if block.size])

    def by_words(self, terms: Sequence[str], k: int, filters: Filters) -> list[str]:
        """The k best documents by BM25 over title, headings, source and category that hold a term; ties by doc_id."""
        scores = np.zeros(self._bases[-1], np.float64)
        mean = self._mean_length()
        for term in terms:
            digest = digest_of(term)
            found = [(base, b, *held) for b, base in self._based() if (held := b.holders(digest))[0].size]
            holders = sum(int(np.count_nonzero(self._live[base:][places])) for base, _, places, _ in found)
            idf = math.log(1 + (len(self._slots) - holders + 0.5) / (holders + 0.5))
            for base, block, places, counts in found:
                norms = _K1 * (1 - _B + _B * block.lengths[places] / max(mean, 1.0))
                scores[base:][places] += idf * counts * (_K1 + 1) / (counts + norms)
        return self._best(scores, self._within(filters) & (scores > 0), k)

    def by_meaning(self, vector: NDArray[np.float32], k: int, filters: Filters) -> list[str]:
        """The k documents whose centre lies closest to the direction of the vector; ties by doc_id."""
        if self._dimensions != vector.size:
            return []
        allowed = self._within(filters)
        if np.count_nonzero(allowed) > _EXACT:
            allowed &= self._near(vector, allowed)
        scores = np.zeros(self._bases[-1], np.float64)
        for block, span in self._parts():
            places = np.flatnonzero(allowed[span])
            if places.size and block.centres.shape[1]:
                scores[span][places] = products(self._centres(block, places), vector)
        # A document without a centre has zeros there, and lies in no direction.
        return self._best(scores, scores != 0, k)

    def _centres(self, block: Block, places: NDArray[np.intp]) -> NDArray[np.float32]:
        """Of these places; in a small catalogue all of them are wanted each time, and kept ready."""
        if self._bases[-1] <= _EXACT:
            return self._sharp.of(block)[places] if places.size < block.size else self._sharp.of(block)
        return block.centres[places].astype(np.float32)

    def _near(self, vector: NDArray[np.float32], allowed: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which slots lie closest in a few directions."""
        self._axes = self._axes or Axes(self._dimensions)
        rough = np.concatenate([self._axes.rough(block, vector) for block in self._blocks])
        rough[~allowed] = -np.inf
        least = np.partition(rough, rough.size - _CANDIDATES)[rough.size - _CANDIDATES]
        near: NDArray[np.bool_] = rough >= least
        return near

    def _append(self, block: Block, before: Block | None = None) -> None:
        """Put a block behind the others, joined with the one that was the last."""
        if before is not None:
            self._bases.pop()
        start, joined = self._bases[-1] + (before.size if before else 0), join(before, block) if before else block
        self._live = _room(self._live, start + block.size)
        self._live[start : start + block.size] = True
        for slot, doc_id in enumerate(block.doc_ids, start):
            held = self._slots.get(doc_id)
            if held is not None:
                self._live[held] = False
            self._slots[doc_id] = slot
        self._blocks.append(joined)
        self._bases.append(start + block.size)
        self._dimensions = self._dimensions or joined.centres.shape[1]

    def _is_due(self, block: Block, live: NDArray[np.bool_]) -> bool:
        dark = np.flatnonzero(~live).tolist()
        return len(dark) > _MOST_DARK * block.size or any(block.doc_ids[place] not in self._slots for place in dark)

    def _based(self) -> Iterator[tuple[Block, int]]:
        return zip(self._blocks, self._bases[:-1], strict=True)

    def _parts(self) -> Iterator[tuple[Block, slice]]:
        for block, start in self._based():
            yield block, slice(start, start + block.size)

    def _place(self, slot: int) -> tuple[Block, int]:
        at = bisect_right(self._bases, slot) - 1
        return self._blocks[at], slot - self._bases[at]

    def _mean_length(self) -> float:
        """Terms in a live document, rounded as single precision has it."""
        total = sum(float(block.lengths[self._live[span]].sum(dtype=np.float64)) for block, span in self._parts())
        return float(np.float32(total) / np.float32(len(self._slots))) if self._slots else 1.0

    def _within(self, filters: Filters) -> NDArray[np.bool_]:
        """The live slots whose documents are within scope and `where`."""
        allowed: NDArray[np.bool_] = self._live[: self._bases[-1]].copy()
        if filters.scope is not None:
            for block, span in self._parts():
                seen = np.array([is_visible(labels, filters.scope) for labels in block.scopes], np.bool_)
                allowed[span] &= seen[block.scope_of]
        if filters.where:
            for block, span in self._parts():
                for place in np.flatnonzero(allowed[span]).tolist():
                    allowed[span.start + place] = has_all(block.infos[place].metadata, filters.where)
        return allowed

    def _best(self, scores: NDArray[np.float64], allowed: NDArray[np.bool_], k: int) -> list[str]:
        slots = np.flatnonzero(allowed)
        if slots.size > k:
            least = np.partition(scores[slots], slots.size - k)[slots.size - k]
            slots = slots[scores[slots] >= least]
        found = ((-float(scores[slot]), self._doc_id(slot)) for slot in slots.tolist())
        return [doc_id for _, doc_id in heapq.nsmallest(k, found)]

    def _doc_id(self, slot: int) -> str:
        block, place = self._place(slot)
        return block.doc_ids[place]


def _room(live: NDArray[np.bool_], size: int) -> NDArray[np.bool_]:
    """The array with room for so many slots; it grows by a quarter of itself."""
    if size <= len(live):
        return live
    grown = np.zeros(max(16, size, len(live) + len(live) // 4), np.bool_)
    grown[: len(live)] = live
    return grown
