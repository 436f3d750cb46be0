"""The frozen values that pass between stages, and the words for them; no rule, no I/O, no engine.

documents   what is written: Document -> Chunk -> DocumentChange, and the reports on it
search      what crosses KnowledgeSearchPort: SearchRequest -> SearchResponse of Hits
evidence    what a lookup returns: Candidate -> EvidenceBlock, Trace, LookupOutcome, Budget
guard       what the guard says of an answer: GuardReport of Citations
stores      what a store says of itself
    texts       what a reader makes of a file
making      frozen values made quickly, where a lookup makes hundreds
"""

from citewell.model.documents import (
    Chunk,
    Document,
    DocumentChange,
    DocumentCopy,
    DocumentInfo,
    DocumentRecord,
    FileReport,
    FileStatus,
    IngestReport,
    Locator,
    RawDocument,
    Reuse,
    StoredDocument,
)
from citewell.model.evidence import (
    Budget,
    Candidate,
    Dropped,
    DropReason,
    EvidenceBlock,
    Hint,
    HintKind,
    LookupOutcome,
    LookupPolicy,
    LookupStatus,
    Reason,
    Refined,
    Role,
    Trace,
)
from citewell.model.guard import Citation, CitationPlace, GuardReport, KnownChunk, Quote, QuoteVerdict, Verdict
from citewell.model.search import (
    PATHS,
    Filters,
    Hit,
    Mode,
    Path,
    PathReport,
    PathStatus,
    Scalar,
    Scored,
    SearchPolicy,
    SearchRequest,
    SearchResponse,
    StoredChunk,
)
from citewell.model.sessions import SessionInfo, SessionPolicy, Shown
from citewell.model.stores import EmbedderIdentity, Finding, StoreBinding, StoreStatus, VerifyReport
from citewell.model.texts import Heading, Text, TextFormat

__all__ = [
    "PATHS",
    "Budget",
    "Candidate",
    "Chunk",
    "Citation",
    "CitationPlace",
    "Document",
    "DocumentChange",
    "DocumentCopy",
    "DocumentInfo",
    "DocumentRecord",
    "DropReason",
    "Dropped",
    "EmbedderIdentity",
    "EvidenceBlock",
    "FileReport",
    "FileStatus",
    "Filters",
    "Finding",
    "GuardReport",
    "Heading",
    "Hint",
    "HintKind",
    "Hit",
    "IngestReport",
    "KnownChunk",
    "Locator",
    "LookupOutcome",
    "LookupPolicy",
    "LookupStatus",
    "Mode",
    "Path",
    "PathReport",
    "PathStatus",
    "Quote",
    "QuoteVerdict",
    "RawDocument",
    "Reason",
    "Refined",
    "Reuse",
    "Role",
    "Scalar",
    "Scored",
    "SearchPolicy",
    "SearchRequest",
    "SearchResponse",
    "SessionInfo",
    "SessionPolicy",
    "Shown",
    "StoreBinding",
    "StoreStatus",
    "StoredChunk",
    "StoredDocument",
    "Text",
    "TextFormat",
    "Trace",
    "Verdict",
    "VerifyReport",
]
