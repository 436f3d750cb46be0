"""The copy of the catalogue between two processes: taken from the store that keeps it, and given back.

A store may keep none, or an older one, or one made by other rules; then the catalogue is read. It knows no question.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence

from citewell.attempts import attempt
from citewell.errors import StoreError
from citewell.hints.block import Block
from citewell.hints.feed import Feed
from citewell.hints.form import OtherRules, decode, encode
from citewell.hints.index import CatalogueIndex, Part
from citewell.model.catalogue import Mark

_log = logging.getLogger("citewell.hints")

_WORTH_KEEPING = 64
"""Documents written since the kept copy, up to which reading them again is cheaper than writing a part of it anew."""


class Copies:
    """Where the index of one `CatalogueHints` begins. Not safe for several threads: its owner takes turns."""

    def __init__(self, feed: Feed, analyze: Callable[[str], Sequence[str]], analysis: str) -> None:
        self._feed, self._analyze, self._analysis = feed, analyze, analysis
        self._base: Mark | None = None
        self._parts: tuple[Part, ...] = ()
        self._is_useless = False

    def none(self) -> tuple[None, CatalogueIndex]:
        """An empty index, which everything is to be read into."""
        return None, CatalogueIndex(self._analyze)

    def kept(self) -> tuple[Mark | None, CatalogueIndex]:
        """The index that the store keeps and the state that it is of; an empty one if it keeps none that is of use."""
        found, _ = attempt(self._read, StoreError, "the kept copy of the catalogue is of no use")
        self._is_useless = found is None and self._feed.kept_mark() is not None
        if found is None:
            return self.none()
        self._base, self._parts = found[0], found[1].parts
        return found

    def is_due(self) -> bool:
        """Whether the store would keep a copy, and keeps none of late, or one that was found to be of no use."""
        if not self._feed.keeps:
            return False
        held = self._feed.kept_mark()
        return held is None or self._is_useless or held[1] > _WORTH_KEEPING

    def keep(self, index: CatalogueIndex, mark: Mark) -> CatalogueIndex:
        """Have the store keep this index, a copy of its state at the mark; return it without what is gone."""
        tidied, held = index.tidied(), self._feed.kept_mark()
        base = held[0] if held else None
        if base != self._base:
            self._base, self._parts = base, ()
        if self._feed.keep(mark, base, self._changed(tidied), len(tidied.parts)):
            self._base, self._parts, self._is_useless = mark, tidied.parts, False
        return tidied

    def _read(self) -> tuple[Mark, CatalogueIndex] | None:
        found = self._feed.kept()
        if found is None:
            return None
        mark, parts = found.mark, deque(found.parts)
        del found
        try:
            return mark, CatalogueIndex(self._analyze, self._decoded(parts))
        except OtherRules:
            _log.info("the kept copy of the catalogue was made by other rules, and is made anew")
            return None

    def _decoded(self, parts: deque[bytes]) -> Iterator[Block]:
        """Each is let go of at once, so that what is made of it takes its place in memory."""
        while parts:
            yield decode(parts.popleft(), self._analysis)

    def _changed(self, index: CatalogueIndex) -> Iterator[tuple[int, bytes]]:
        for at, part in enumerate(index.parts):
            if at >= len(self._parts) or part is not self._parts[at]:
                yield at, encode(index.block(at), self._analysis)
