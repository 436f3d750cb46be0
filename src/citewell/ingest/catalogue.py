"""What the store holds, as far as a run has to know it.

A run that touches a few documents asks for those, so that its cost doesn't grow with all the others; one that prunes,
or that asks often, reads the whole catalogue once. Knows no file, and no document that is being made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from citewell.model import StoredDocument
from citewell.ports import Store

_ONE_BY_ONE = 64
"""Documents that are asked for one by one before all are read; reading 20,000 takes as long as asking for some 500."""


@dataclass(frozen=True, slots=True)
class Head:
    """What a run compares a source with; `chunks` is how many the stored document has."""

    doc_id: str
    source: str
    fingerprint: str
    content_digest: str
    chunks: int


class Catalogue:
    """The stored documents. What the run itself writes may or may not show in what is asked for later.

    One that is `apart` never tells which other documents have a content: whoever fills it must not learn of them.
    """

    def __init__(self, store: Store, *, apart: bool = False) -> None:
        self._store, self._apart = store, apart
        self._left = _ONE_BY_ONE

    def head(self, doc_id: str) -> Head | None:
        """Of one document; None if there is none. Asked before the run writes it."""
        if self._is_whole or self._left <= 0:
            return self.whole.get(doc_id)
        self._left -= 1
        stored = self._store.stored(doc_id)
        return _head(stored) if stored else None

    @cached_property
    def whole(self) -> Mapping[str, Head]:
        """Every stored document by its id, in their order."""
        return {
            info.doc_id: Head(info.doc_id, info.source, info.fingerprint, info.content_digest, info.chunks)
            for info in self._store.documents()
        }

    def holders(self, content_digest: str) -> Iterator[str]:
        """The documents with this content, in the order of their ids."""
        if self._apart:
            return
        ask: Callable[[str], Sequence[str]] | None = getattr(self._store, "holders", None)
        if self._is_whole or ask is None:
            yield from self._by_content.get(content_digest, ())
        else:
            yield from ask(content_digest)

    @property
    def _is_whole(self) -> bool:
        return "whole" in self.__dict__

    @cached_property
    def _by_content(self) -> Mapping[str, Sequence[str]]:
        found: dict[str, list[str]] = {}
        for head in self.whole.values():
            found.setdefault(head.content_digest, []).append(head.doc_id)
        return found


def _head(stored: StoredDocument) -> Head:
    record, digests = stored.record, stored.context_digests
    # A digest is blank where a row is missing: then no source is the one that was stored.
    fingerprint = record.fingerprint if all(digests) else ""
    return Head(record.doc_id, record.source, fingerprint, record.content_digest, len(digests))
