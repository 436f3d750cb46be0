"""Small documents for tests: builders that make a DocumentChange by hand, and the corpora DOCS, ZH and LEGS.

The builders stand in for reading, splitting and analysis: a text is a chunk, a term is a lower-cased word (a single
character of a script without spaces). They know neither the real analyser nor any store.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from citewell.model import (
    Chunk,
    Document,
    DocumentChange,
    DocumentRecord,
    Locator,
    Path,
    Reuse,
    StoreBinding,
)
from citewell.ports import Embedder, embedder_identity
from citewell.testing.fakes import HashEmbedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ANALYZER = "sample-words-1"
"""What a store filled by these builders is bound to."""

_TERM = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+")


def terms_of(text: str) -> tuple[str, ...]:
    """The terms that these builders index for a text, in order, with repeats; a query is cut the same way."""
    return tuple(_TERM.findall(text.lower()))


def binding_of(embedder: Embedder, *, analyzer: str = ANALYZER) -> StoreBinding:
    """What a store filled with this embedder and these builders is bound to."""
    return StoreBinding(embedder_identity(embedder), analyzer)


def change(
    doc_id: str,
    texts: Sequence[str],
    *,
    embedder: Embedder | None = None,
    vectors: Sequence[NDArray[np.float32] | Reuse] | None = None,
    terms: Sequence[Sequence[str]] | None = None,
    title: str = "",
    source: str = "",
    breadcrumb: str = "",
    category: str | None = None,
    scope: str | Sequence[str] | None = None,
    metadata: Mapping[str, object] | None = None,
    expected_version: int = 0,
) -> DocumentChange:
    """A new version of a document with one chunk per text, spans joining without a gap.

    The vectors and the terms are those given, one entry per text; else the embedder's (a `HashEmbedder` by default)
    and `terms_of`, of title, breadcrumb and text.
    """
    chunks = _chunks(texts, title, breadcrumb)
    if terms is not None:
        chunks = tuple(replace(chunk, terms=tuple(held)) for chunk, held in zip(chunks, terms, strict=True))
    if vectors is None:
        vectors = list(
            (embedder or HashEmbedder()).embed_passages([_context(title, breadcrumb, text) for text in texts])
        )
    record = DocumentRecord(
        doc_id=doc_id,
        title=title,
        source=source or doc_id,
        category=category,
        scope=labels_of(scope),
        metadata=dict(metadata or {}),
        headings=tuple(filter(None, (title, breadcrumb))),
        fingerprint=_digest(repr((tuple(texts), title, source, breadcrumb, category, labels_of(scope), metadata))),
        content_digest=_digest("".join(texts)),
    )
    return DocumentChange(record, chunks, tuple(vectors), expected_version)


def labels_of(scope: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """Labels as a record holds them: sorted, each once; a bare string is one label (SAFE-3)."""
    if scope is None:
        return None
    return (scope,) if isinstance(scope, str) else tuple(sorted(set(scope)))


def _chunks(texts: Sequence[str], title: str, breadcrumb: str) -> tuple[Chunk, ...]:
    chunks: list[Chunk] = []
    start = 0
    for index, text in enumerate(texts):
        context = _context(title, breadcrumb, text)
        span, locator = (start, start + len(text)), Locator(line=index + 1)
        chunks.append(Chunk(index, text, breadcrumb, span, locator, _digest(text), _digest(context), terms_of(context)))
        start += len(text)
    return tuple(chunks)


def _context(title: str, breadcrumb: str, text: str) -> str:
    return "\n".join(filter(None, (title, breadcrumb, text)))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Sample:
    """One document of a corpus, ready to be ingested (`document`) or written as it is (`change`)."""

    doc_id: str
    texts: tuple[str, ...]
    title: str = ""
    category: str | None = None
    scope: tuple[str, ...] | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)

    def document(self) -> Document:
        """As a caller of `ingest_documents` would hand it over: one paragraph per text."""
        text = "\n\n".join(self.texts)
        return Document(self.doc_id, text, self.title, self.doc_id, self.category, self.scope, self.metadata, "text")

    def change(self, *, embedder: Embedder | None = None, expected_version: int = 0) -> DocumentChange:
        """One chunk per text."""
        return change(
            self.doc_id,
            self.texts,
            embedder=embedder,
            title=self.title,
            category=self.category,
            scope=self.scope,
            metadata=self.metadata,
            expected_version=expected_version,
        )


DOCS: tuple[Sample, ...] = (
    Sample(
        "alpha",
        (
            "Rotating the signing key starts on a quiet day: announce it in the operations channel an hour ahead.",
            "Create the new signing key in the vault and leave the old one active beside it.",
            "Publish both public halves, then wait until every verifier has fetched the new key set.",
            "Switch the issuer to the new signing key and watch the rate of rejected tokens for ten minutes.",
            "If tokens are rejected, switch the issuer back; the old signing key is still accepted everywhere.",
            "Retire the old signing key only when the longest token lifetime has passed since the switch.",
        ),
        category="ops",
    ),
    Sample(
        "beta",
        ("A signing key is rotated twice a year; whoever is on duty writes the date of the rotation into the log.",),
        category="ops",
    ),
    Sample(
        "gamma",
        ("Who leaves the company hands in the signing key of the badge printer; rotating it is asked of the desk.",),
        category="hr",
    ),
)
"""Three documents on one subject: `alpha` (ops, 6 chunks), `beta` (ops, 1), `gamma` (hr, 1)."""

ZH: tuple[Sample, ...] = (
    Sample(
        "handbook-zh",
        (
            "值班人员收到告警后应立即确认影响范围并在群里通报进展。",
            "数据库连接池耗尽时先扩容再重启网关，扩容前记录当前连接数。",
            "若日志出现Redis连接超时，先检查网络再切换到备用节点。",
            "Ｒｅｄｉｓ主从切换完成后核对延迟指标，恢复正常才能关闭工单。",
        ),
        category="ops",
    ),
)
"""A Chinese handbook without spaces; one sentence mixes scripts, one holds full-width Latin letters."""


@dataclass(frozen=True, slots=True)
class LegHit:
    """One entry of a hand-written ranked list."""

    doc_id: str
    chunk_index: int | None
    vector_id: str
    similarity: float | None


LEGS: Mapping[Path, tuple[LegHit, ...]] = {
    "dense": (
        LegHit("alpha", 0, "v1", 0.95),
        LegHit("alpha", 1, "v2", 0.90),
        LegHit("gamma", 0, "v8", 0.70),
        LegHit("beta", 0, "v7", 0.60),
    ),
    "dense_filtered": (LegHit("alpha", 0, "v1", 0.95), LegHit("alpha", 1, "v2", 0.90), LegHit("beta", 0, "v7", 0.60)),
    "lexical": (LegHit("beta", 0, "v7", None), LegHit("alpha", 3, "v4", None), LegHit("delta", None, "v9", None)),
}
"""Three rankings as the paths would return them; `delta` lacks a chunk index, `alpha` 3 only the words find."""
