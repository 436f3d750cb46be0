"""The copy of the catalogue between two processes: taken from the store that keeps it, and given back.

A store may keep none, or an older one, or one made by other rules; then the catalogue is read. It knows no question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from citewell.attempts import attempt
from citewell.errors import StoreError
from citewell.hints.block import Block
from citewell.hints.feed import Feed
from citewell.hints.form import decode, encode
from citewell.hints.index import CatalogueIndex
from citewell.model.catalogue import Mark

_WORTH_KEEPING = 64
"""Documents written since the kept copy, up to which reading them again is cheaper than writing a part of it anew."""


class Copies:
    """Where the index of one `CatalogueHints` begins. Not safe for several threads: its owner takes turns."""

    def __init__(self, feed: Feed, analyze: Callable[[str], Sequence[str]], analysis: str) -> None:
        self._feed, self._analyze, self._analysis = feed, analyze, analysis
        self._base: Mark | None = None
        self._blocks: tuple[Block, ...] = ()

    def none(self) -> tuple[None, CatalogueIndex]:
        """An empty index, which everything is to be read into."""
        return None, CatalogueIndex(self._analyze)

    def kept(self) -> tuple[Mark | None, CatalogueIndex]:
        """The index that the store keeps and the state that it is of; an empty one if it keeps none that is of use."""
        found, _ = attempt(self._read, StoreError, "the kept copy of the catalogue is of no use")
        if found is None:
            return self.none()
        self._base, self._blocks = found
        return self._base, CatalogueIndex(self._analyze, self._blocks)

    def is_due(self) -> bool:
        """Whether the store would keep a copy, and keeps none of late."""
        if not self._feed.keeps:
            return False
        held = self._feed.kept_mark()
        return held is None or held[1] > _WORTH_KEEPING

    def keep(self, index: CatalogueIndex, mark: Mark) -> CatalogueIndex:
        """Have the store keep this index, a copy of its state at the mark; return it without what is gone."""
        tidied, held = index.tidied(), self._feed.kept_mark()
        base = held[0] if held else None
        if base != self._base:
            self._base, self._blocks = base, ()
        if self._feed.keep(mark, base, self._changed(tidied.blocks), len(tidied.blocks)):
            self._base, self._blocks = mark, tidied.blocks
        return tidied

    def _read(self) -> tuple[Mark, tuple[Block, ...]] | None:
        found = self._feed.kept()
        return None if found is None else (found.mark, tuple(decode(part, self._analysis) for part in found.parts))

    def _changed(self, blocks: Sequence[Block]) -> Iterator[tuple[int, bytes]]:
        for at, block in enumerate(blocks):
            if at >= len(self._blocks) or block is not self._blocks[at]:
                yield at, encode(block, self._analysis)
