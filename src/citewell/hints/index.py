"""A copy of the catalogue in memory that is searched by words (BM25) and by meaning (the mean of a document's vectors).

A new version takes a new slot and its old one goes dark, so that keeping current costs what changed, not what there is.
Slots are grouped in parts, in order, for whoever keeps the copy elsewhere. It knows neither the store nor the lock
under which it is used; scope and `where` hold inside both searches (SAFE-1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from citewell.filtering import has_all
from citewell.hints.block import SPOTS, Block, directions, make_block
from citewell.hints.by_words import Holders, best_by_words, norms
from citewell.hints.coded import CodedColumn
from citewell.hints.column import Column
from citewell.hints.metadata import fields
from citewell.hints.near import Near
from citewell.hints.postings import Postings, digests_of, merged
from citewell.hints.top import kth
from citewell.model import Filters
from citewell.model.catalogue import Catalogued
from citewell.scope import is_visible

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_] | None

_DARK = 1_000
_PART = 1_024
"""Documents up to which small parts are joined, so that a store rewrites a bounded part of its copy after a write."""

_MOST_DARK = 0.25
MOST_VECTOR_BYTES = 1 << 27
"""128 MB: 131,072 documents of 512 dimensions. Documents beyond are found by their words alone."""

_VECTOR_ITEM = np.dtype(np.float16).itemsize


class Part:
    """Stands for a run of documents; another one as soon as a document joins them or leaves them."""


class CatalogueIndex:
    """Documents by slot. Not safe for several threads: its owner takes turns."""

    def __init__(self, analyze: Callable[[str], Sequence[str]], blocks: Iterable[Block] = ()) -> None:
        self._analyze = analyze
        self._slots: dict[str, int] = {}
        self._doc_ids: list[str] = []
        self._titles: list[bytes] = []
        self._scopes, self._categories = CodedColumn(once=True), CodedColumn(once=True)
        self._metadata = CodedColumn(once=False)
        self._lengths, self._live = Column(np.float32), Column(np.bool_)
        self._centres: Column | None = None
        self._runs: list[Postings] = []
        self._parts: list[Part] = []
        self._bases: list[int] = [0]
        self._near: Near | None = None
        self._norms: NDArray[np.float32] | None = None
        self._asked: tuple[tuple[str, ...], list[tuple[str, Holders]]] | None = None
        self._seen: tuple[Filters, Mask] | None = None
        for block in blocks:
            self._append(block)
        self._runs = [merged(self._runs)] if self._runs else []

    def __len__(self) -> int:
        """Documents."""
        return len(self._slots)

    @property
    def parts(self) -> tuple[Part, ...]:
        """In the order of their slots."""
        return tuple(self._parts)

    @property
    def is_worn(self) -> bool:
        """Whether most slots are dark, so that reading everything anew is the better bargain."""
        return self._bases[-1] - len(self._slots) > len(self._slots) + _DARK

    def title(self, doc_id: str) -> str:
        """Of this document."""
        return self._titles[self._slots[doc_id]].decode("utf-8", "surrogatepass")

    def category(self, doc_id: str) -> str | None:
        """Of this document."""
        found: str | None = self._categories.values[self._categories.of[self._slots[doc_id]]]
        return found

    def put(self, rows: Sequence[Catalogued]) -> None:
        """Take these versions in the place of what is held of their documents."""
        if not rows:
            return
        known = (row.centre.size for row in rows if row.centre is not None)
        dimensions = self._dimensions or next(known, 0)
        room = MOST_VECTOR_BYTES // (dimensions * _VECTOR_ITEM) if dimensions else 0
        block = make_block(rows, self._analyze, directions(rows, dimensions, room - self._bases[-1]))
        if self._parts and self._bases[-1] - self._bases[-2] + block.size <= _PART:
            self._parts.pop()
            self._bases.pop()
        self._append(block)
        # Runs at least halve from one to the next, so that there are few, and each posting moves a few times in all.
        while len(self._runs) > 1 and 2 * self._runs[-1].places.size >= self._runs[-2].places.size:
            self._runs[-2:] = [merged(self._runs[-2:])]

    def keep_only(self, doc_ids: Collection[str]) -> None:
        """Forget every other document."""
        for doc_id in [held for held in self._slots if held not in doc_ids]:
            self._live.values[self._slots.pop(doc_id)] = False
        self._forget()

    def tidied(self) -> CatalogueIndex:
        """The same without what is deleted, and what is dark where that is much; itself if there is nothing to do."""
        mask = np.ones(self._bases[-1], np.bool_)
        for span in self._spans():
            if self._is_due(span):
                mask[span] = self._live.values[span]
        return self if mask.all() else self._kept(mask)

    def block(self, at: int) -> Block:
        """The documents of a part, with what is dark among them."""
        span = slice(self._bases[at], self._bases[at + 1])
        return Block(
            tuple(self._doc_ids[span]),
            tuple(title.decode("utf-8", "surrogatepass") for title in self._titles[span]),
            self._scopes.part(span),
            self._categories.part(span),
            self._metadata.part(span),
            self._lengths.values[span],
            merged([run.within(span.start, span.stop) for run in self._runs]),
            self._directions(span),
        )

    def by_words(self, terms: Sequence[str], k: int, filters: Filters) -> list[str]:
        """The k best documents by BM25 over title, headings, source and category that hold a term; ties by doc_id."""
        found = [holders for _, holders in self._holders(terms)] if self._slots else []
        if not found:
            return []
        if self._norms is None:
            self._norms = norms(self._lengths.values, self._mean_length())
        return self._best(*best_by_words(found, self._norms, self._within(filters), k), k)

    def by_meaning(self, vector: NDArray[np.float32], k: int, filters: Filters) -> list[str]:
        """The k documents whose centre lies closest to the direction of the vector; ties by doc_id."""
        if self._centres is None or self._dimensions != vector.size:
            return []
        centres, allowed = self._centres.values, self._within(filters)
        self._near = self._near or Near(self._dimensions)
        slots, scores = self._near.scores(centres, vector, None if allowed is None else allowed[: len(centres)])
        # A document without a centre has zeros there, and lies in no direction.
        pointing = scores != 0
        return self._best(slots[pointing], scores[pointing], k)

    def held(self, doc_ids: Sequence[str], terms: Sequence[str]) -> list[dict[str, list[str]]]:
        """Of each of these documents the terms that it holds, in order, by the first of SPOTS where each stands."""
        slots = np.array([self._slots[doc_id] for doc_id in doc_ids], np.int32)
        held: list[dict[str, list[str]]] = [{} for _ in doc_ids]
        for term, holders in self._holders(terms):
            for mine, spot in zip(held, holders.spots_at(slots), strict=True):
                if spot is not None:
                    mine.setdefault(SPOTS[spot], []).append(term)
        return held

    @property
    def _dimensions(self) -> int:
        return 0 if self._centres is None else int(self._centres.values.shape[1])

    def _forget(self) -> None:
        """Let go of what was worked out from the documents that there were."""
        self._norms = self._asked = self._seen = None

    def _append(self, block: Block) -> None:
        """Put a block behind the others, as a part that ends the last one if that was taken away."""
        start = len(self._doc_ids)
        self._live.append(np.ones(block.size, np.bool_))
        for slot, doc_id in enumerate(block.doc_ids, start):
            held = self._slots.get(doc_id)
            if held is not None:
                self._live.values[held] = False
            self._slots[doc_id] = slot
        self._doc_ids += block.doc_ids
        self._titles += [title.encode("utf-8", "surrogatepass") for title in block.titles]
        self._scopes.append(block.scopes)
        self._categories.append(block.categories)
        self._metadata.append(block.metadata)
        self._lengths.append(block.lengths)
        self._runs.append(block.postings.moved(start))
        self._parts.append(Part())
        self._bases.append(len(self._doc_ids))
        self._take_directions(block)
        self._forget()

    def _take_directions(self, block: Block) -> None:
        """Zeros for documents that came before the first direction was known; nothing where there is no room."""
        width = block.centres.shape[1]
        if self._centres is None:
            if not width:
                return
            self._centres = Column(np.float16, width)
        room = min(len(self._doc_ids), MOST_VECTOR_BYTES // (self._dimensions * _VECTOR_ITEM)) - len(self._centres)
        known = block.centres if width == self._dimensions else np.zeros((block.size, self._dimensions), np.float16)
        before = max(0, min(room, len(self._doc_ids) - block.size - len(self._centres)))
        self._centres.append(np.zeros((before, self._dimensions), np.float16))
        self._centres.append(known[: max(0, room - before)])

    def _directions(self, span: slice) -> NDArray[np.float16]:
        found = np.zeros((span.stop - span.start, self._dimensions), np.float16)
        if self._centres is not None:
            held = self._centres.values[span]
            found[: len(held)] = held
        return found

    def _kept(self, mask: NDArray[np.bool_]) -> CatalogueIndex:
        """The slots where the mask is true; parts that lose none are the same parts."""
        left = CatalogueIndex(self._analyze)
        places = np.flatnonzero(mask).tolist()
        left._doc_ids, left._titles = [self._doc_ids[at] for at in places], [self._titles[at] for at in places]
        left._slots = {doc_id: at for at, doc_id in enumerate(left._doc_ids) if self._slots.get(doc_id) == places[at]}
        left._scopes, left._categories = self._scopes.kept(mask), self._categories.kept(mask)
        left._metadata = self._metadata.kept(mask)
        left._lengths, left._live = self._lengths.kept(mask), self._live.kept(mask)
        left._centres = self._centres and self._centres.kept(mask)
        left._runs = [merged([run.kept(mask) for run in self._runs])]
        for part, span in zip(self._parts, self._spans(), strict=True):
            size = int(np.count_nonzero(mask[span]))
            if size:
                left._parts.append(part if size == span.stop - span.start else Part())
                left._bases.append(left._bases[-1] + size)
        return left

    def _is_due(self, span: slice) -> bool:
        dark = np.flatnonzero(~self._live.values[span]).tolist()
        many = len(dark) > _MOST_DARK * (span.stop - span.start)
        return many or any(self._doc_ids[span.start + place] not in self._slots for place in dark)

    def _spans(self) -> Iterator[slice]:
        return (slice(start, end) for start, end in zip(self._bases, self._bases[1:], strict=False))

    def _mean_length(self) -> float:
        """Terms in a live document, rounded as single precision has it."""
        total = self._lengths.values[self._live.values].sum(dtype=np.float64)
        return float(np.float32(total) / np.float32(len(self._slots))) if self._slots else 1.0

    def _holders(self, terms: Sequence[str]) -> list[tuple[str, Holders]]:
        """Each of these terms that a document holds, in order; remembered, for a question is asked for them twice."""
        if self._asked is None or self._asked[0] != tuple(terms):
            digests = digests_of(terms)
            runs = [run.holders(digests) for run in self._runs]
            found = ((term, [run[at] for run in runs if at in run]) for at, term in enumerate(terms))
            self._asked = tuple(terms), [(term, self._weighed(held)) for term, held in found if held]
        return self._asked[1]

    def _weighed(self, held: Sequence[tuple[NDArray[Any], ...]]) -> Holders:
        slots, counts, spots = held[0] if len(held) == 1 else map(np.concatenate, zip(*held, strict=True))
        all_live = len(self._slots) == len(self._doc_ids)
        holders = slots.size if all_live else int(np.count_nonzero(self._live.values[slots]))
        idf = math.log(1 + (len(self._slots) - holders + 0.5) / (holders + 0.5))
        return Holders(slots, counts, spots, idf)

    def _within(self, filters: Filters) -> Mask:
        """The live slots whose documents are within scope and `where`; None for all slots. Remembered likewise."""
        if self._seen is None or self._seen[0] is not filters:
            self._seen = filters, self._found_within(filters)
        return self._seen[1]

    def _found_within(self, filters: Filters) -> Mask:
        live = self._live.values
        if filters.scope is None and not filters.where:
            return None if len(self._slots) == live.size else live
        allowed: NDArray[np.bool_] = live
        if filters.scope is not None:
            seen = np.array([is_visible(labels, filters.scope) for labels in self._scopes.values], np.bool_)
            allowed = allowed & seen[self._scopes.of]
        if filters.where:
            seen = np.array([has_all(fields(each), filters.where) for each in self._metadata.values], np.bool_)
            allowed = allowed & seen[self._metadata.of]
        return allowed

    def _best(self, slots: NDArray[np.intp], scores: NDArray[np.floating], k: int) -> list[str]:
        if slots.size > k:
            best = scores >= kth(scores, k)
            slots, scores = slots[best], scores[best]
        # The best first, for a short list in order is sorted fast.
        doc_ids = [self._doc_ids[slot] for slot in slots.tolist()]
        found = sorted(zip((-scores).tolist(), doc_ids, strict=True))
        return [doc_id for _, doc_id in found[:k]]
