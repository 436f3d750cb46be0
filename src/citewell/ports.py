"""The seams: what Citewell asks of a search, a store, models and readers; each Protocol states its semantics.

Ports know no engine, no vendor and no policy. Each has a contract suite in `citewell.testing` that every
implementation passes; whoever writes one subclasses the suite and overrides one fixture.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from citewell.bindings import check_binding as check_binding
from citewell.bindings import check_embedder as check_embedder
from citewell.model import (
    DocumentChange,
    DocumentInfo,
    EmbedderIdentity,
    Filters,
    Scored,
    SearchRequest,
    SearchResponse,
    SessionInfo,
    SessionPolicy,
    Shown,
    StoreBinding,
    StoredChunk,
    StoredDocument,
    StoreStatus,
    Text,
    VerifyReport,
)
from citewell.model.catalogue import Hinted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class KnowledgeSearchPort(Protocol):
    """The one door through which a lookup gets candidates (PORT-1). Safe to call from several threads.

    Two methods are optional. `session() -> context manager of a KnowledgeSearchPort`: searches made within one session
    see one state of the store; without it a refill may see a newer one than the search before it.
    `fetch(keys) -> Mapping[str, StoredChunk]`: the chunks with these evidence keys, those that there are; without it
    a lookup shows no neighbours (CONTEXT-1).
    """

    def search(self, request: SearchRequest) -> SearchResponse:
        """Find candidates.

        `dense`: one dense vector search, filtered by the category if one is given (PORT-4). `hybrid`: the paths
        `dense` (never filtered by category), `dense_filtered` (only with a category) and `lexical`, each asked for
        `retrieve_k`, run concurrently (on a store at hand, beside the embedding alone) and fused (PORT-5). Scope,
        `where` and `exclude_documents` hold on every path. Every hit is reported once, with a Reason per path that
        found it, ranks from 1 without gaps.

        Raises:
            StoreError, EmbedderError: every path that should have run failed. One failing path is a degraded
                response instead.
        """
        ...


class Snapshot(Protocol):
    """One consistent view of a store: every call sees the same committed version of each document.

    Safe to call from several threads. Valid until its context manager ends.
    """

    @property
    def size(self) -> int:
        """Chunks in the store, whatever the filters."""
        ...

    def dense(self, vector: NDArray[np.float32], k: int, filters: Filters) -> tuple[Scored, ...]:
        """The k nearest chunks within the filters, best first.

        `vector` is float32 [dimensions] of unit length. Scores are similarities (SCORE-2): for unit vectors the
        cosine in [-1, 1]. Equal scores are ordered by evidence key, at the cut too (RRF-3). An engine may search
        approximately, but within filters as well as without, at recall@20 >= 0.99 against exact.
        """
        ...

    def lexical(self, terms: Sequence[str], k: int, filters: Filters) -> tuple[Scored, ...]:
        """The k best chunks by BM25 that hold at least one of the terms, within the filters, best first.

        Terms are tokens of the store's analyser, compared exactly; nothing in them is syntax. Filters don't change
        scores. Scores are > 0, higher is better; ties as in `dense`. No terms -> no hits.
        """
        ...

    def similarities(self, vector: NDArray[np.float32], keys: Sequence[str]) -> Mapping[str, float]:
        """The similarity of each of these chunks to the vector, exactly as `dense` would score it (SCORE-3, SCORE-4).

        Keys that the store doesn't hold are left out.
        """
        ...

    def fetch(self, keys: Sequence[str]) -> Mapping[str, StoredChunk]:
        """The chunks with these evidence keys; those that the store doesn't hold are left out."""
        ...


class Store(Protocol):
    """Documents, their chunks and the indexes over them. Safe to call from several threads.

    One writer at a time, across processes: a second one waits for a bounded time. Readers never wait for writers.

    Some methods are optional and save work. `vectors(doc_id)`: a document's stored vectors by their context digest, so
    that a text under another name is not embedded again. `holders(content_digest)`: the documents with this content,
    ordered by doc_id, so that a small ingestion needs no catalogue. `copy(Sequence[DocumentCopy])`: as `apply`, all or
    none, so that a folder that moved is not split again. `compact()`: called after an ingestion. `query_terms(text)`:
    what `Snapshot.lexical` takes for a question, if that is not what Citewell's own analysis makes of it. `export() ->
    Iterator[ExportedDocument]` and `export_size() -> int`: for `reindex`, where documents aren't Citewell's own.

    More are for who keeps a copy of the catalogue, as hints do; without them it is read whole after each write.
    `mark() -> Mark`: the state of the store, cheap enough to be asked before every lookup. `changes(since: Mark | None)
    -> CatalogueChanges`: what was written after a mark, in portions (`citewell.model.catalogue`). `doc_ids() ->
    set[str]`: every document, where that is cheaper than `documents()`. `kept_copy() -> KeptCopy | None`,
    `kept_mark() -> tuple[Mark, int] | None` (how many documents were written since) and `keep_copy(mark, base, parts,
    count) -> bool`: the copy itself, for the next process; it is derived, moves no mark and may be lost at any time.
    `at_hand: bool`: whether this process itself answers, out of memory or files, so that no network can keep a caller.
    Such a store is asked in the caller's thread, for `mark` and for all that a snapshot answers, one call after another
    and however long they take. Any other is asked in threads that can be left behind, for hints as well.

    `doubt() -> str`: why the contents may not be all that was acknowledged, said with every answer; empty = they are.
    """

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """A view of everything that was acknowledged before the call (read-your-writes)."""
        ...

    def binding(self) -> StoreBinding | None:
        """What the contents were made with; None for a store that was never written."""
        ...

    def bind(self, binding: StoreBinding) -> None:
        """Record what the contents are made with, before the first write. Idempotent.

        Raises:
            EmbedderMismatch: the store is bound to another embedder; names both.
            StoreVersion: the store is bound to another analyser.
        """
        ...

    def apply(self, changes: Sequence[DocumentChange]) -> None:
        """Write these new versions, each atomically: a reader sees the old or the new one, never a mixture.

        When it returns, they are durable and found on every path, and old chunks are found on none. A `Reuse`
        takes the vector of the stored version.

        Raises:
            StoreConflict: the stored version of a document is not the expected one, or the batch holds one document
                twice; no document of this call was written.
            StoreLocked: another writer holds the store for too long.
            StoreUnreachable: no space, no permission. Documents not written keep their old version.
        """
        ...

    def delete(self, doc_ids: Sequence[str]) -> int:
        """Remove these documents from every path and return how many chunks went. Unknown ids are ignored."""
        ...

    def documents(self) -> Iterator[DocumentInfo]:
        """The catalogue, ordered by doc_id."""
        ...

    def stored(self, doc_id: str) -> StoredDocument | None:
        """What the planner needs of the stored version; None if there is none."""
        ...

    def sessions(self) -> SessionStore:
        """What sessions were shown, kept with the documents; the same object each time, closed with the store."""
        ...

    def status(self) -> StoreStatus:
        """Figures and binding."""
        ...

    def verify(self, *, repair: bool = False) -> VerifyReport:
        """Compare the truth with every derived index; with `repair`, put right what differs."""
        ...

    def close(self) -> None:
        """Release files, locks and threads. Idempotent; the store can't be used afterwards."""
        ...


class SessionStore(Protocol):
    """What sessions were shown (SESSION-1, SESSION-2). Safe to call from several threads and processes.

    A session is named by its id AND its scope: the same id with other labels is another session. Labels come sorted.
    It has no clock and no policy; callers bring both. Nothing here waits for a writer of documents.
    """

    def shown(self, session: str, scope: tuple[str, ...] | None, *, since: float) -> Mapping[str, Shown]:
        """What this session was shown at `since` or later (seconds since 1970), by evidence key; perhaps nothing."""
        ...

    def record(
        self, session: str, scope: tuple[str, ...] | None, shown: Sequence[Shown], *, policy: SessionPolicy
    ) -> None:
        """Remember these, each in place of what was known of its key; of two with one key, the later.

        Then forget what is beyond the policy, counted from the latest `at` of this call: entries older than
        `max_age_s`, all but the latest `max_items` of this session, all but the `max_sessions` sessions used latest.
        Equal times are ordered by evidence key, and by session id and scope as `sessions` has them; the first stay.
        When it returns, a kill of the process loses nothing. No entries: nothing is done.

        Raises:
            StoreError: it can't be kept.
        """
        ...

    def sessions(self) -> Iterator[SessionInfo]:
        """All of them, ordered by session id, then scope (None first)."""
        ...

    def forget(self, session: str) -> int:
        """Forget the session in every scope, and return how many pieces of evidence it remembered; 0 if none."""
        ...


@runtime_checkable
class Reranker(Protocol):
    """(query, texts) -> how well each answers it (RERANK-1). Safe to call from several threads."""

    @property
    def name(self) -> str:
        """Such as `BAAI/bge-reranker-base`."""
        ...

    def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """One finite score per text, in the order of the texts; higher is better, on whatever scale.

        Raises:
            RerankerError: it failed, or took too long; the lookup then keeps the fused order and says so.
        """
        ...


class HintSource(Protocol):
    """A question -> pointers into the catalogue (L0-1). Safe to call from several threads.

    `begin(request) -> Callable[[], Hinted]` is optional: it begins to look and returns what waits for the hints, so
    that the search goes on meanwhile; both raise as `hints` does.
    """

    def hints(self, request: SearchRequest) -> Hinted:
        """A few hints, best first, of documents within the request's scope and `where` alone; perhaps none.

        While the catalogue is still being read it may answer with a note alone.

        Raises:
            StoreError, EmbedderError: the catalogue can't be searched; the lookup goes on without hints and says so.
        """
        ...


@runtime_checkable
class Embedder(Protocol):
    """Text -> unit vector. Safe to call from several threads. Same text, same bytes, whatever the batch.

    Two methods are optional. `count_tokens(text) -> int`; without it Citewell uses a bound by script that is never too
    low. `begin_query(text)`: begins what `embed_query` does, beside the caller; what it returns waits for the vector
    and the milliseconds that it took. `Knowledge` gives it to every embedder.

    `at_hand`, if it is there and true, says that a query's vector is had out of memory, such as one worked out before:
    it is asked in the caller's thread, for to hand it to another takes longer, and is not waited for so long and no
    longer.
    """

    @property
    def name(self) -> str:
        """Such as `use-multilingual`."""
        ...

    @property
    def dimensions(self) -> int:
        """Of its vectors."""
        ...

    @property
    def fingerprint(self) -> str:
        """Differs when the model differs (INGEST-8)."""
        ...

    @property
    def max_tokens(self) -> int:
        """The longest passage that it takes whole, in its own tokens."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Float32 [len(texts), dimensions], rows of unit length, in the order of the texts.

        Raises:
            EmbedderUnavailable: the model or its endpoint can't be had.
            EmbedderError: it failed on these texts.
        """
        ...

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Float32 [dimensions] of unit length; raises as `embed_passages`."""
        ...


@runtime_checkable
class Reader(Protocol):
    """Bytes of a file -> Text. Safe to call from several threads. Same bytes and name, same Text.

    Pure: it opens no file, follows no link and asks no network. Time is linear in the bytes and memory bounded,
    whatever they hold.
    """

    @property
    def version(self) -> str:
        """Differs when the same bytes would be read otherwise; part of every document's fingerprint."""
        ...

    def takes(self, name: str) -> bool:
        """Whether a file of this name is worth reading; what it holds decides how."""
        ...

    def read(self, data: bytes, name: str) -> Text:
        """The text of a file; blank, with a remark that says why, if it holds none (INGEST-9).

        Raises:
            IngestError: it is damaged, of another kind, in no encoding that can be told, or needs a library that is
                not installed.
        """
        ...


def embedder_identity(embedder: Embedder) -> EmbedderIdentity:
    """What a store remembers of an embedder (INGEST-8)."""
    prefixes = getattr(embedder, "prefixes", ("", ""))
    return EmbedderIdentity(embedder.name, embedder.dimensions, embedder.fingerprint, tuple(prefixes))
