"""Which document has which text while a run goes on, so that moved and doubled texts are said and not embedded again.

Bookkeeping over the catalogue and the new versions as they come; knows no file and no store.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from citewell.ingest.catalogue import Catalogue, Head
from citewell.model import DocumentRecord

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = Mapping[str, NDArray[np.float32]]

_KEPT = 4_096
"""Vectors of given-up texts: a few MB."""


class Contents:
    """The texts of the stored documents, those that are `leaving` apart, and of the new versions as they come."""

    def __init__(self, catalogue: Catalogue, leaving: Collection[str] = ()) -> None:
        self._catalogue = catalogue
        self._gone = frozenset(leaving)
        self._leaving: dict[str, deque[str]] = {}
        self._brought: set[str] = set()
        """Documents that get another text than the one that is stored, or none, or have none there yet."""
        self._first: dict[str, str] = {}
        """By content: the first of them that has it."""
        self._twins: dict[str, tuple[str, str]] = {}
        """By document: the other one, and the content that both have."""
        self._arrived: dict[str, str] = {}
        self.moved: dict[str, str] = {}
        """Of those that are leaving: the document that has taken the text over."""
        self._by_name: dict[str, dict[str, Head]] = {}
        """Those that are leaving, by the name of their file and by their id."""
        for doc_id in sorted(self._gone):
            head = catalogue.whole[doc_id]
            self._leaving.setdefault(head.content_digest, deque()).append(doc_id)
            self._by_name.setdefault(_name(head.source), {})[doc_id] = head

    def twin(self, record: DocumentRecord, head: Head | None) -> str | None:
        """The document whose text this new version has; None if no other has it. `head` is the stored version's.

        A text that left one place and came up at another has moved; of several places the first one that asks takes it.
        """
        doc_id, content = record.doc_id, record.content_digest
        if doc_id in self._arrived:
            return self._arrived[doc_id]
        if head is None or head.content_digest != content:
            self._brought.add(doc_id)
            if self._leaving.get(content):
                return self._move(self._leaving[content].popleft(), doc_id, content)
        other = self._other(doc_id, content)
        if other is not None:
            self._twins[doc_id] = (other, content)
        return other

    def leaving_with(self, path: str) -> list[Head]:
        """Documents that are leaving, not taken over yet, whose file had the same name as the one at this path."""
        return list(self._by_name.get(_name(path), {}).values())

    def take_over(self, old: Head, new: str) -> None:
        """A new document is what another one was, which is leaving."""
        self._brought.add(new)
        self._leaving[old.content_digest].remove(old.doc_id)
        self._move(old.doc_id, new, old.content_digest)

    def went(self, doc_id: str) -> None:
        """A document that has no text any more."""
        self._brought.add(doc_id)

    def _move(self, old: str, new: str, content: str) -> str:
        self.moved[old], self._arrived[new] = new, old
        self._first.setdefault(content, new)
        del self._by_name[_name(self._catalogue.whole[old].source)][old]
        return old

    def _other(self, doc_id: str, content: str) -> str | None:
        for holder in self._catalogue.holders(content):
            if holder not in self._brought and holder not in self._gone:
                return holder if holder != doc_id else None
        first = self._first.setdefault(content, doc_id)
        return first if first != doc_id else None

    def remark(self, doc_id: str, lost: Collection[str]) -> str:
        """What is to be said of a document's text at the end of the run; empty if no other has it.

        What got another text later in the run is no twin any more, nor is a new one that is `lost`: not stored.
        """
        if doc_id in self._arrived:
            return f"moved from {self._arrived[doc_id]!r}"
        other, content = self._twins.get(doc_id, ("", ""))
        is_new = self._first.get(content) == other
        has_it = other not in lost if is_new else other not in self._brought
        return f"same text as {other!r}" if other and has_it else ""


def _name(path: str) -> str:
    return path.rpartition("/")[2]


class GivenUp:
    """Vectors of texts that documents gave up lately, for names that change places: 1 becomes 2, and 2 becomes 3."""

    def __init__(self) -> None:
        self._held: OrderedDict[str, Vectors] = OrderedDict()
        self._count = 0

    def keep(self, content: str, vectors: Vectors) -> None:
        """Keep these for a while, by the digest of the text that they belong to; the oldest go first."""
        if content not in self._held:
            self._held[content] = vectors
            self._count += len(vectors)
        while self._count > _KEPT:
            self._count -= len(self._held.popitem(last=False)[1])

    def of(self, content: str) -> Vectors:
        """Those of a text, by the context digest of their chunk; none if it was not given up."""
        return self._held.get(content, {})
