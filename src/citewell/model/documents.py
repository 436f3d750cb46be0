"""What is written: a Document is split into Chunks, and a DocumentChange carries both into a store.

These values don't know how text was read, how it was split or how a store keeps it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FileStatus = Literal["added", "updated", "unchanged", "deleted", "skipped", "failed", "no_text"]


@dataclass(frozen=True, slots=True)
class Document:
    """One text to ingest, as a caller hands it over.

    Attributes:
        doc_id: stable across re-ingestion; NFC-normalised and stripped before use (ID-7).
        text: the whole text, in `format`.
        title: shown, embedded and analysed before each chunk; taken from the text if empty.
        source: where it comes from (a path, a URI); the doc_id if empty.
        category: what a soft filter compares with.
        scope: labels that the document bears; a bare string is one label, None is "no label".
        metadata: JSON values; what `where` compares with.
        format: how to read the text.
    """

    doc_id: str
    text: str
    title: str = ""
    source: str = ""
    category: str | None = None
    scope: str | Sequence[str] | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    format: Literal["markdown", "text"] = "markdown"


@dataclass(frozen=True, slots=True)
class RawDocument:
    """The bytes of one file to ingest, as a caller hands them over; front matter can't set the scope.

    Attributes:
        doc_id: as a Document's; the part after its last `/` is the file's name, which helps to tell the format.
        data: in any format that files are read in.
        source: the doc_id if empty.
        category: None = what the front matter says.
        scope: labels that the document bears.
    """

    doc_id: str
    data: bytes
    source: str = ""
    category: str | None = None
    scope: str | Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Locator:
    """Where a person finds the passage in the original: page and line count from 1."""

    page: int | None = None
    line: int | None = None
    url: str | None = None

    def to_dict(self) -> dict[str, object]:
        """The parts that are known."""
        known = {"page": self.page, "line": self.line, "url": self.url}
        return {name: value for name, value in known.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage of one document, as the splitter makes it and a store keeps it.

    Attributes:
        chunk_index: counted from 0 in reading order, without gaps.
        text: what is shown; a split table or fence repeats its header row or fence marks here.
        breadcrumb: headings in force at the chunk's start, joined by " > ".
        span: start and end (exclusive) in characters of the document's cleaned text. Spans of a document ascend and
            together cover all its text but white space and front matter.
        locator: where a person finds it.
        digest: SHA-256 hex of `text`.
        context_digest: SHA-256 hex of the text that is embedded (title and breadcrumb before the passage).
        terms: the analysed tokens of that same text, in order (LEX-1).
    """

    chunk_index: int
    text: str
    breadcrumb: str
    span: tuple[int, int]
    locator: Locator
    digest: str
    context_digest: str
    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """A document as a store keeps it, without its chunks.

    Attributes:
        scope: sorted labels; None if the document bears none.
        metadata: JSON values only.
        headings: the document's headings in reading order, for the catalogue.
        fingerprint: digest of everything that the stored form depends on (bytes, reader, splitter, title, category,
            scope, metadata, ...); equal fingerprints mean that nothing needs to be done.
        content_digest: SHA-256 hex of the text alone; equal under two doc_ids means the same content.
    """

    doc_id: str
    title: str = ""
    source: str = ""
    category: str | None = None
    scope: tuple[str, ...] | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    headings: tuple[str, ...] = ()
    fingerprint: str = ""
    content_digest: str = ""


@dataclass(frozen=True, slots=True)
class Reuse:
    """Take the vector of the stored version's chunk at this index; nothing is embedded."""

    chunk_index: int


@dataclass(frozen=True, slots=True)
class DocumentChange:
    """The new version of one document: replaces whatever the store holds under its doc_id, atomically.

    Attributes:
        document: the new record.
        chunks: at least one, indexes 0..n-1.
        vectors: one per chunk: a float32 vector [dimensions] of unit length, or a Reuse.
        expected_version: the version that the change was planned against; 0 = the document was absent.
    """

    document: DocumentRecord
    chunks: tuple[Chunk, ...]
    vectors: tuple[NDArray[np.float32] | Reuse, ...]
    expected_version: int


@dataclass(frozen=True, slots=True)
class DocumentCopy:
    """A stored document again under another id: same chunks, vectors and terms, nothing is read or made anew.

    Attributes:
        document: the record under the new id, which no document has.
        source: the id of the stored document.
        expected_version: of the stored document.
    """

    document: DocumentRecord
    source: str
    expected_version: int


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """What the planner needs to know of the stored version of a document.

    Attributes:
        record: as stored.
        version: grows with every write of this document; a store's own number, > 0.
        context_digests: of its chunks, by chunk index.
    """

    record: DocumentRecord
    version: int
    context_digests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """A row of the catalogue; `headings` in reading order."""

    doc_id: str
    title: str
    source: str
    category: str | None
    scope: tuple[str, ...] | None
    metadata: Mapping[str, object]
    chunks: int
    characters: int
    fingerprint: str
    content_digest: str
    headings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """JSON values, in the order of the fields; without headings and digests, which are long."""
        return {
            "doc_id": self.doc_id,
            "title": self.title,
            "source": self.source,
            "category": self.category,
            "scope": None if self.scope is None else list(self.scope),
            "metadata": dict(self.metadata),
            "chunks": self.chunks,
            "characters": self.characters,
        }


@dataclass(frozen=True, slots=True)
class FileReport:
    """What became of one file or document.

    Attributes:
        doc_id: its id; for a file that could not be read, the id that it would have had.
        status: see INGEST-6; `no_text` is a warning (INGEST-9), `failed` an error.
        chunks: how many the store now holds of it.
        embedded: how many of them were embedded in this run.
        detail: why, for skipped, failed and no_text; else a remark (encoding, broken front matter) or empty.
    """

    doc_id: str
    status: FileStatus
    chunks: int = 0
    embedded: int = 0
    detail: str = ""

    def to_dict(self) -> dict[str, object]:
        """JSON values, in the order of the fields."""
        return {
            "doc_id": self.doc_id,
            "status": self.status,
            "chunks": self.chunks,
            "embedded": self.embedded,
            "detail": self.detail,
        }


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What an ingestion did: one FileReport per file, in the order in which they were taken.

    Attributes:
        files: sorted by doc_id.
        seconds: wall time.
        ignored: files and folders that globs and ignore files left out; they have no FileReport.
    """

    files: tuple[FileReport, ...]
    seconds: float = 0.0
    ignored: int = 0

    def count(self, status: FileStatus) -> int:
        """How many files ended with this status."""
        return sum(file.status == status for file in self.files)

    @property
    def chunks(self) -> int:
        """Chunks that the store now holds of these files."""
        return sum(file.chunks for file in self.files)

    @property
    def embedded(self) -> int:
        """Chunks embedded in this run."""
        return sum(file.embedded for file in self.files)

    @property
    def ok(self) -> bool:
        """Whether no file failed."""
        return self.count("failed") == 0

    def to_dict(self) -> dict[str, object]:
        """JSON values: a summary by status, then the files."""
        statuses: tuple[FileStatus, ...] = (
            "added", "updated", "unchanged", "deleted", "skipped", "failed", "no_text",
        )  # fmt: skip
        summary: dict[str, int] = {status: self.count(status) for status in statuses}
        return {
            "summary": summary | {"ignored": self.ignored},
            "chunks": self.chunks,
            "embedded": self.embedded,
            "seconds": self.seconds,
            "files": [file.to_dict() for file in self.files],
        }
