"""An attached collection as a `citewell.ports.Store` that is only read: its directory holds what is ours.

    attachment.toml   what is attached, and what its fields mean
    derived.db        keys, documents and words, made from a scan; may be deleted at any time

Whatever would write is refused, with the way out. Sessions are kept by the store that is handed in.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from citewell.adapters.milvus.client import Client
from citewell.adapters.milvus.foreign.attachment import Attachment, check_there, read_attachment
from citewell.adapters.milvus.foreign.behind import WAITED_FOR, Behind
from citewell.adapters.milvus.foreign.collection import Collection
from citewell.adapters.milvus.foreign.conditions import Conditions
from citewell.adapters.milvus.foreign.derived import FILE_NAME, MOST_ROWS, Derived, Told
from citewell.adapters.milvus.foreign.export import exported
from citewell.adapters.milvus.foreign.inspect import check_fields
from citewell.adapters.milvus.foreign.rows import RowReader
from citewell.adapters.milvus.foreign.schema import Schema, read_schema
from citewell.adapters.milvus.foreign.similarity import similarity_of
from citewell.adapters.milvus.foreign.snapshot import AttachedSnapshot
from citewell.analysis import ANALYZER_VERSION, analyze, analyze_query
from citewell.errors import StoreError, StoreUnreachable, StoreVersion
from citewell.model import (
    DocumentChange,
    DocumentInfo,
    DocumentRecord,
    Finding,
    StoreBinding,
    StoredDocument,
    StoreStatus,
    VerifyReport,
)
from citewell.model.catalogue import Mark
from citewell.model.exports import ExportedDocument
from citewell.ports import SessionStore

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MOST_SHARED = 100


class AttachedStore:
    """Make one with `AttachedStore.open`; safe to call from several threads.

    Args:
        directory: of the attachment.
        attachment: what it says.
        client: connected to its Milvus; closed with the store.
        sessions: what sessions were shown; closed with the store.
    """

    def __init__(self, directory: Path, attachment: Attachment, client: Client, sessions: SessionStore) -> None:
        self._directory, self._attachment, self._client, self._sessions = directory, attachment, client, sessions
        self._schema = read_schema(client, attachment.collection)
        _check_unchanged(self._schema, attachment)
        vectors = tuple(self._schema.of_kind("vector") + self._schema.of_kind("sparse"))
        self._reader = RowReader(
            attachment.fields, primary=self._schema.primary, vectors=vectors, absent=attachment.absent
        )
        self._conditions = Conditions(self._schema, attachment.fields, attachment.json_text)
        self._collection = Collection(client, self._schema, attachment.vector)
        self._collection.load()
        self._derived = Derived(directory / FILE_NAME, self._collection, self._reader, analyze, _edition(attachment))
        self._similarity = similarity_of(attachment.metric, unit=attachment.unit)
        self._bm25 = native_bm25(self._schema, attachment)
        self._behind = Behind(self._derived)
        self._turn = threading.Lock()
        self._closed = False

    @classmethod
    def open(
        cls, directory: Path, sessions: SessionStore, *, token: str | None = None, timeout_s: float = 10.0
    ) -> AttachedStore:
        """Open what `citewell attach` recorded in this directory.

        Raises:
            StoreCorrupt, StoreVersion: the record, or the collection, is not what it was.
            StoreUnreachable, StoreLocked: the Milvus can't be used.
        """
        attachment = read_attachment(directory)
        check_there(attachment.uri)
        client = Client(attachment.uri, token=token, timeout_s=timeout_s)
        try:
            return cls(directory, attachment, client, sessions)
        except BaseException:
            client.close()
            raise

    @property
    def most_derived(self) -> int:
        """Rows up to which words, keys and documents are derived."""
        return MOST_ROWS

    @property
    def lexical(self) -> str:
        """What the lexical path searches, for people."""
        if self._bm25:
            return f"the engine's BM25 over {self._schema.bm25[self._bm25]} ({self._bm25})"
        foreign = [name for name in self._schema.of_kind("sparse") if name not in self._schema.bm25]
        said = "derived words"
        return f"{said}; {', '.join(foreign)} holds vectors of an encoder that Citewell has not" if foreign else said

    def query_terms(self, text: str) -> Sequence[str]:
        """What `Snapshot.lexical` takes for a query: its terms, or itself where the engine's BM25 analyses it."""
        return ([text] if analyze_query(text) else []) if self._bm25 else analyze_query(text)

    @contextmanager
    def snapshot(self) -> Iterator[AttachedSnapshot]:
        """A view of the collection as it is at each call."""
        self._check_open()
        yield AttachedSnapshot(
            self._collection,
            self._reader,
            self._conditions,
            self._for_search,
            vector=(self._attachment.vector, self._schema.fields[self._attachment.vector].dimensions),
            similarity=self._similarity,
            bm25=self._bm25,
        )

    def binding(self) -> StoreBinding:
        """The embedder that the attachment names; the derived words are always of this version's analyser."""
        return StoreBinding(self._attachment.embedder, ANALYZER_VERSION)

    def bind(self, binding: StoreBinding) -> None:
        """Refused: it is read only."""
        self._refuse()

    def apply(self, changes: Sequence[DocumentChange]) -> None:
        """Refused: it is read only."""
        self._refuse()

    def delete(self, doc_ids: Sequence[str]) -> int:
        """Refused: it is read only."""
        self._refuse()

    def mark(self) -> Mark:
        """Which scan the catalogue is of; the collection itself is not asked."""
        self._check_open()
        return Mark(None, self._derived.generation())

    def documents(self) -> Iterator[DocumentInfo]:
        """What belongs together by document id, ordered by it; chunks without one are in none."""
        return self._up_to_date().documents()

    def stored(self, doc_id: str) -> StoredDocument | None:
        """What is known of a document as a whole; its version is always 1."""
        info = next((info for info in self.documents() if info.doc_id == doc_id), None)
        if info is None:
            return None
        record = DocumentRecord(
            info.doc_id, info.title, info.source, info.category, info.scope, info.metadata,
            content_digest=info.content_digest,
        )  # fmt: skip
        return StoredDocument(record, 1, ())

    def export(self) -> Iterator[ExportedDocument]:
        """Every document with its chunks and vectors, for `reindex`; a row without a document is one by itself."""
        return exported(self._scanned(), self._collection, self._reader, self._attachment)

    def export_size(self) -> int:
        """How many documents `export` gives."""
        documents, orphans, _ = self._scanned().counts()
        return documents + orphans

    def vectors(self, doc_id: str) -> dict[str, NDArray[np.float32]]:
        """None by context digest: the collection does not say what its vectors were made from."""
        return {}

    def sessions(self) -> SessionStore:
        """What sessions were shown, kept beside the attachment."""
        return self._sessions

    def refresh(self, tell: Told | None = None) -> None:
        """Bring what is derived up to date; `tell` hears how many rows of how many have been scanned."""
        self._check_open()
        self._derived.bring_up_to_date(tell)

    def status(self) -> StoreStatus:
        """Figures of the collection and of what is derived from it, without a scan."""
        self._check_open()
        rows, known = self._collection.count(), self._derived.known()
        documents, orphans, shared = self._derived.counts() if known else (0, 0, 0)
        metric = f"{self._attachment.metric}, {'unit' if self._attachment.unit else 'vectors of any length'}"
        details: tuple[tuple[str, str | int | float], ...] = (
            ("attached", f"{self._attachment.uri} {self._attachment.collection}"),
            ("server", self._client.server.text),
            ("preset", self._attachment.preset or "none"),
            ("vectors", f"{self._attachment.vector} ({metric})"),
            ("lexical", self.lexical),
            ("derived", _state(rows, known)),
            ("rows_without_document", orphans),
            ("rows_that_share_a_key", shared),
        )
        location = str(self._directory)
        return StoreStatus(
            location, "milvus (attached)", documents, rows, self._derived.generation(), self.binding(), details
        )

    def verify(self, *, repair: bool = False) -> VerifyReport:
        """Compare what is derived with every row of the collection; with `repair`, take in what differs.

        Rows that share an evidence key are damage in the collection, which nobody repairs here.
        """
        self._check_open()
        known = self._derived.known()
        if known is None:
            self._derived.bring_up_to_date()
        found = self._derived.difference()
        where = FILE_NAME
        findings = [Finding("missing", where, key, repaired=repair) for key in found.missing]
        findings += [Finding("orphaned", where, key, repaired=repair) for key in found.gone]
        findings += [Finding("stale", where, key, repaired=repair) for key in found.changed]
        if repair and findings:
            self._derived.bring_up_to_date(thorough=True)
        findings += [
            Finding("damaged", self._attachment.collection, key, f"{count} rows have this key")
            for key, count in self._derived.shared_keys(_MOST_SHARED)
        ]
        return VerifyReport(self._collection.count(), tuple(findings))

    def close(self) -> None:
        """Let go of the connection and the sessions. Idempotent."""
        with self._turn:
            if self._closed:
                return
            self._closed = True
        self._behind.close()
        self._client.close()
        close_sessions = getattr(self._sessions, "close", None)
        if callable(close_sessions):
            close_sessions()

    def _up_to_date(self) -> Derived:
        self._check_open()
        self._derived.bring_up_to_date()
        return self._derived

    def _scanned(self) -> Derived:
        """As `_up_to_date`, however many rows there are: to be copied, documents must be known, words need not."""
        self._check_open()
        self._derived.bring_up_to_date(of_any_size=True)
        return self._derived

    def _for_search(self) -> Derived:
        """What a search uses: up to date where a scan is quick, else as it is while a thread brings it up to date."""
        self._check_open()
        known, there = self._derived.known(), self._collection.count()
        if known is None or known == there or max(known, there) <= WAITED_FOR:
            self._derived.bring_up_to_date(there=there)
        else:
            self._behind.catch_up(known, there)
        return self._derived

    def _check_open(self) -> None:
        if self._closed:
            raise StoreUnreachable(f"the attachment {self._directory} is closed", way_out="Open it again.")

    def _refuse(self) -> NoReturn:
        raise StoreError(
            f"{self._directory} is attached to the collection {self._attachment.collection!r}, which is read only",
            way_out="`citewell reindex --to LOCATION` copies it into a store of Citewell's own, which can be written.",
        )


def native_bm25(schema: Schema, attachment: Attachment) -> str:
    """The sparse field that the engine makes of the text that is shown; empty if there is none."""
    named = attachment.fields.of("sparse")
    if named:
        return named[0]
    text = attachment.fields.one("text")
    return next((field for field, source in schema.bm25.items() if source == text), "")


def _state(rows: int, known: int | None) -> str:
    if known is None:
        return "not made yet" if rows <= MOST_ROWS else f"not made: more than {MOST_ROWS:,} rows"
    return "up to date by the number of rows" if known == rows else f"stale: made of {known:,} rows, {rows:,} are there"


def _edition(attachment: Attachment) -> str:
    """Differs when the same rows would be read otherwise."""
    said = repr(
        (attachment.uri, attachment.collection, sorted(attachment.fields.paths.items()), attachment.fields.hidden)
    )
    whole = f"{said}\x1f{attachment.absent}\x1f{ANALYZER_VERSION}\x1f1"
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()


def _check_unchanged(schema: Schema, attachment: Attachment) -> None:
    """The fields that the attachment names are still there, the vector as long and compared as it was."""
    check_fields(schema, attachment.fields)
    field, index = schema.fields[attachment.vector], schema.indexes.get(attachment.vector)
    now = (index.metric if index else attachment.metric, field.dimensions)
    then = (attachment.metric, attachment.embedder.dimensions)
    if now != then:
        raise StoreVersion(
            f"{attachment.vector!r} of {attachment.collection!r} was {then[0]} with {then[1]} dimensions when it was"
            f" attached, and is {now[0]} with {now[1]} now",
            way_out="Run `citewell attach` again.",
        )
