"""What a store says of itself: which embedder filled it, how full it is, whether it is sound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class EmbedderIdentity:
    """What makes two embedders interchangeable (INGEST-8): all four equal.

    Attributes:
        name: such as `use-multilingual`.
        dimensions: of its vectors.
        fingerprint: digest of the model file, or what an endpoint says of itself.
        prefixes: what is put before queries and before passages.
    """

    name: str
    dimensions: int
    fingerprint: str
    prefixes: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True)
class StoreBinding:
    """What the contents of a store depend on; kept with it, and compared on opening.

    Attributes:
        embedder: what its vectors were made with.
        analyzer: version of the text analysis that its terms were made with.
    """

    embedder: EmbedderIdentity
    analyzer: str


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """How full a store is and what it is bound to.

    Attributes:
        location: as opened.
        engine: `local`, `milvus`, `memory`.
        sequence: grows with every write.
        binding: None for a store that was never written.
        details: engine-specific figures, such as sizes in bytes and index states.
    """

    location: str
    engine: str
    documents: int
    chunks: int
    sequence: int
    binding: StoreBinding | None
    details: tuple[tuple[str, str | int | float], ...] = ()

    def to_dict(self) -> dict[str, object]:
        """JSON values, in the order of the fields."""
        embedder = self.binding.embedder if self.binding else None
        return {
            "location": self.location,
            "engine": self.engine,
            "documents": self.documents,
            "chunks": self.chunks,
            "sequence": self.sequence,
            "embedder": None
            if embedder is None
            else {"name": embedder.name, "dimensions": embedder.dimensions, "fingerprint": embedder.fingerprint},
            "analyzer": self.binding.analyzer if self.binding else None,
            "details": dict(self.details),
        }


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that `verify` found.

    Attributes:
        kind: missing (in an index), orphaned (in an index alone), stale (another version there), damaged.
        where: the index or file.
        evidence_key: the chunk, or empty.
        repaired: whether it was put right.
    """

    kind: Literal["missing", "orphaned", "stale", "damaged"]
    where: str
    evidence_key: str = ""
    detail: str = ""
    repaired: bool = False

    def to_dict(self) -> dict[str, object]:
        """JSON values, in the order of the fields."""
        return {
            "kind": self.kind,
            "where": self.where,
            "evidence_key": self.evidence_key,
            "detail": self.detail,
            "repaired": self.repaired,
        }


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What `verify` looked at and what it found; sound if there are no findings left unrepaired."""

    chunks: int
    findings: tuple[Finding, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether everything is sound now."""
        return all(finding.repaired for finding in self.findings)

    def to_dict(self) -> dict[str, object]:
        """JSON values: whether it is sound, then the figures."""
        return {
            "ok": self.ok,
            "chunks": self.chunks,
            "findings": [finding.to_dict() for finding in self.findings],
        }
