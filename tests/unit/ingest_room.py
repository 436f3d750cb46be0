"""A store, an embedder and an ingestion over them for the tests of the write path."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from citewell.adapters.memory import MemoryStore
from citewell.adapters.readers import TEXTS, FileReader
from citewell.analysis import analyze
from citewell.errors import EmbedderError
from citewell.ingest import Ingestion
from citewell.model import DocumentChange, DocumentInfo, Filters, IngestReport, StoreBinding, StoredChunk
from citewell.ports import Snapshot, Store, embedder_identity
from citewell.testing.fakes import HashEmbedder


class FussyEmbedder(HashEmbedder):
    """Fails on a text that holds one of the words, with the error that stands for it."""

    def __init__(self, faults: Mapping[str, BaseException]) -> None:
        super().__init__()
        self.faults = faults

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        for word, error in self.faults.items():
            if any(word in text for text in texts):
                raise error
        return super().embed_passages(texts)


def fussy(word: str, error: BaseException | None = None) -> FussyEmbedder:
    """An embedder that fails on texts that hold the word."""
    return FussyEmbedder({word: error or EmbedderError(f"it can't embed {word!r}")})


class HookedStore(MemoryStore):
    """Calls `before` with each batch that is about to be written, and counts what was written and compacted."""

    def __init__(self, before: Callable[[Sequence[DocumentChange]], None] = lambda _: None) -> None:
        super().__init__()
        self.before = before
        self.batches: list[list[str]] = []
        self.compacted = 0

    def apply(self, changes: Sequence[DocumentChange]) -> None:
        self.before(changes)
        super().apply(changes)
        self.batches.append([change.document.doc_id for change in changes])

    def compact(self) -> None:
        self.compacted += 1


class ForgetfulStore(HookedStore):
    """Acknowledges every write and keeps none (trial I102)."""

    def apply(self, changes: Sequence[DocumentChange]) -> None:
        self.batches.append([change.document.doc_id for change in changes])

    def snapshot(self) -> AbstractContextManager[Snapshot]:  # type: ignore[override]  # a plainer view than its parent's
        return nullcontext(_Nothing())


class _Nothing:
    size = 0

    def dense(self, vector: NDArray[np.float32], k: int, filters: Filters) -> tuple[()]:
        return ()

    def lexical(self, terms: Sequence[str], k: int, filters: Filters) -> tuple[()]:
        return ()

    def similarities(self, vector: NDArray[np.float32], keys: Sequence[str]) -> Mapping[str, float]:
        return {}

    def fetch(self, keys: Sequence[str]) -> Mapping[str, StoredChunk]:
        return {}


@dataclass
class Room:
    """What a test of the write path works with."""

    folder: Path
    store: Store = field(default_factory=HookedStore)
    embedder: HashEmbedder = field(default_factory=HashEmbedder)
    analyzer: str = "1"

    @property
    def ingestion(self) -> Ingestion:
        binding = StoreBinding(embedder_identity(self.embedder), self.analyzer)
        return Ingestion(self.store, self.embedder, analyze=analyze, binding=binding, reader=FileReader(), texts=TEXTS)

    def write(self, **texts: str) -> None:
        """Write files; `a__b` is the file `a/b.md`."""
        for name, text in texts.items():
            path = self.folder / f"{name.replace('__', '/')}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def ingest(self, *paths: Path, **options: object) -> IngestReport:
        return self.ingestion.paths(paths or (self.folder,), **options)  # type: ignore[arg-type]  # by name

    def embedded(self) -> list[str]:
        """What was embedded since the last call."""
        texts = list(self.embedder.embedded)
        self.embedder.embedded.clear()
        return texts

    def infos(self) -> dict[str, DocumentInfo]:
        return {info.doc_id: info for info in self.store.documents()}

    def texts(self, doc_id: str) -> list[str]:
        """The stored chunks of a document, in order."""
        return [chunk.text for chunk in self.chunks(doc_id)]

    def chunks(self, doc_id: str) -> list[StoredChunk]:
        keys = [f"{doc_id}#chunk-{index}" for index in range(200)]
        with self.store.snapshot() as view:
            found = view.fetch(keys)
        return [found[key] for key in keys if key in found]

    def lexical(self, term: str) -> list[str]:
        """The keys of the chunks that hold a term."""
        with self.store.snapshot() as view:
            return [hit.key for hit in view.lexical([term], 50, Filters())]


def statuses(report: IngestReport) -> dict[str, str]:
    """Document id -> status."""
    return {file.doc_id: file.status for file in report.files}


def ingest_threads() -> list[str]:
    """Threads that a run left behind."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("citewell-ingest")]


def sections(count: int, *, word: str = "topic") -> str:
    """Markdown with so many sections, each a chunk of its own."""
    return "# Guide\n\n" + "\n\n".join(
        f"## Part {n}\n\n{word} {n} " + "some words of text. " * 40 for n in range(count)
    )
