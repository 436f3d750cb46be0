"""Which document has which text while a run goes on, so that moved and doubled texts are said and not embedded again.

Pure bookkeeping over the catalogue as it was at the start; knows no file and no store.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from citewell.model import DocumentInfo, DocumentRecord


@dataclass(frozen=True, slots=True)
class Twin:
    """Another document with the same text, and what is to be said of it."""

    doc_id: str
    remark: str


class Contents:
    """The texts of the stored documents, those that are `leaving` apart, and of the new versions as they come."""

    def __init__(self, heads: Mapping[str, DocumentInfo], leaving: Collection[str] = ()) -> None:
        self._heads = heads
        self._staying: dict[str, str] = {}
        self._leaving: dict[str, deque[str]] = {}
        self.moved: dict[str, str] = {}
        """Of those that are leaving: the document that has taken the text over."""
        gone = set(leaving)
        for doc_id in sorted(heads):
            content = heads[doc_id].content_digest
            if doc_id in gone:
                self._leaving.setdefault(content, deque()).append(doc_id)
            else:
                self._staying.setdefault(content, doc_id)

    def twin(self, record: DocumentRecord) -> Twin | None:
        """The document whose text this new version has; None if no other has it.

        A text that left one place and came up at another has moved; of several places the first one by document id
        takes it.
        """
        head, content = self._heads.get(record.doc_id), record.content_digest
        if head and head.content_digest != content and self._staying.get(head.content_digest) == record.doc_id:
            del self._staying[head.content_digest]
        first = self._staying.setdefault(content, record.doc_id)
        if self._leaving.get(content) and not (head and head.content_digest == content):
            old = self._leaving[content].popleft()
            self.moved[old] = record.doc_id
            return Twin(old, f"moved from {old!r}")
        return None if first == record.doc_id else Twin(first, f"same text as {first!r}")
