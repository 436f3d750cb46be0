"""What is prepared and what comes of it: a source; its new version, or that it only moved or is gone. Values alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from citewell.ingest.embed import Input
from citewell.ingest.plan import Plan, diff
from citewell.model import DocumentCopy, FileReport, FileStatus, StoredDocument, Text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = Mapping[str, NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Source:
    """Something to ingest.

    Attributes:
        load: its bytes; raises OSError, Unsettled or IngestError.
        read: bytes -> Text; raises IngestError.
        title: wins over what the text says of itself; `fallback_title` gives way to it.
        category: wins over the text's own.
        metadata: wins over the text's own, field by field.
        root: of a file, see `citewell.ingest.walk`.
        path: of a file, relative to the root.
    """

    doc_id: str
    load: Callable[[], bytes]
    read: Callable[[bytes], Text]
    title: str = ""
    fallback_title: str = ""
    source: str = ""
    category: str | None = None
    scope: tuple[str, ...] | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    root: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A new version of a document, ready to be embedded and written.

    Attributes:
        plan: against the stored version.
        subjects: what is embedded beside each chunk.
        remarks: for the report.
        others: vectors of a document with the same text, by context digest.
    """

    plan: Plan
    subjects: tuple[str, ...]
    remarks: tuple[str, ...]
    others: Vectors = field(default_factory=dict)

    @property
    def doc_id(self) -> str:
        """Of the document."""
        return self.plan.record.doc_id

    @property
    def inputs(self) -> list[Input]:
        """What is to be embedded, in the order of `plan.fresh`."""
        return [(self.subjects[index], self.plan.chunks[index].text) for index in self.plan.fresh]

    def planned_anew(self, stored: StoredDocument | None) -> Prepared:
        """The same version against what is stored by now."""
        return replace(self, plan=diff(stored, self.plan.record, self.plan.chunks, self.others))

    def report(self, status: FileStatus | None = None, detail: str = "") -> FileReport:
        """What became of it; without a status, that it was written."""
        if status is not None:
            return FileReport(self.doc_id, status, detail=detail)
        written: FileStatus = "added" if self.plan.kind == "added" else "updated"
        detail = "; ".join(self.remarks)
        return FileReport(self.doc_id, written, len(self.plan.chunks), len(self.plan.fresh), detail)


@dataclass(frozen=True, slots=True)
class Gone:
    """A stored document whose source has no text any more."""

    doc_id: str
    detail: str


@dataclass(frozen=True, slots=True)
class Moved:
    """A file that moved and is the same in all else: the stored document is taken along as it is.

    Attributes:
        source: to be prepared as any other if the stored document turns out to have changed.
        copy: what is written instead of a new version.
        chunks: that it has.
    """

    source: Source
    copy: DocumentCopy
    chunks: int

    @property
    def doc_id(self) -> str:
        """Of the document."""
        return self.source.doc_id

    def report(self) -> FileReport:
        """That it was written."""
        return FileReport(self.doc_id, "added", self.chunks)


Outcome = Prepared | Moved | Gone | FileReport
