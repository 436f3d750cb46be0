"""A table beside the attachment of what the engine can't answer: evidence keys, documents, words of every row.

Made from a scan of the collection, and scanned anew when the number of rows has changed: a foreign collection has no
sequence number. A row that is replaced by one of the same primary key changes no number; `verify` finds such rows, and
`verify --repair` takes them in. The table may be deleted at any time. It is never what an answer is made of: rows are
read from the collection, and one that has gone, or has another key by now, is no hit.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from citewell.adapters.milvus.foreign.postings import Postings, counted
from citewell.checks import HALF
from citewell.errors import StoreError, StoreLocked, StoreUnreachable
from citewell.model import DocumentInfo, StoredChunk

if TYPE_CHECKING:
    from citewell.adapters.milvus.foreign.collection import Collection
    from citewell.adapters.milvus.foreign.rows import PrimaryKey, Row, RowReader

FILE_NAME = "derived.db"
MOST_ROWS = 500_000
"""Rows of a collection up to which words are searched: about 250 bytes of memory per row and 100 terms of it."""
_PATIENCE_S = 60.0
_ASKED_AT_ONCE = 500
_TABLES = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS rows (
    id INTEGER PRIMARY KEY, pk UNIQUE, evidence_key TEXT NOT NULL, doc_id TEXT, facts TEXT NOT NULL,
    characters INTEGER NOT NULL, state BLOB NOT NULL, terms BLOB NOT NULL, counts BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS by_key ON rows (evidence_key);
CREATE INDEX IF NOT EXISTS by_document ON rows (doc_id);
"""

Told = Callable[[int, int], None]
"""Called with how many rows have been scanned, and how many there are."""


@dataclass(frozen=True, slots=True)
class Difference:
    """How the table differs from the collection, by evidence key."""

    missing: tuple[str, ...]
    gone: tuple[str, ...]
    changed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the table: where it is among the postings, its primary key, its evidence key."""

    place: int
    pk: PrimaryKey
    evidence_key: str


class Derived:
    """The table; safe to use from several threads and processes.

    Args:
        file: made when it is first needed.
        collection: what it is made from.
        reader: of its rows.
        analyze: text -> terms.
        edition: whatever else the contents depend on; another one means that all is made anew.
    """

    def __init__(
        self,
        file: Path,
        collection: Collection,
        reader: RowReader,
        analyze: Callable[[str], Sequence[str]],
        edition: str,
    ) -> None:
        self._file, self._collection, self._reader = file, collection, reader
        self._analyze, self._edition = analyze, edition
        self._scanning, self._turn = threading.Lock(), threading.Lock()
        self._postings: tuple[int, Postings, list[Entry]] | None = None

    def bring_up_to_date(
        self, tell: Told | None = None, *, there: int | None = None, thorough: bool = False, of_any_size: bool = False
    ) -> None:
        """Scan the collection if it has another number of rows than the table, or in any case if `thorough`.

        Args:
            tell: hears how far the scan is; what it raises ends the scan, and the table stays as it was.
            there: the number of rows, if it is known already.
            thorough: scan in any case.
            of_any_size: also where there are more rows than are searched: the table lies on a disk.

        Raises:
            StoreError: there are more rows than are searched.
            StoreUnreachable: the table can't be written, or the collection not be read.
        """
        there = self._collection.count() if there is None else there
        with self._scanning, self._connected() as connection:
            if not thorough and self._is_current(connection, there):
                return
            if there > MOST_ROWS and not of_any_size:
                raise _too_many(there)
            connection.execute("BEGIN IMMEDIATE")
            if thorough or not self._is_current(connection, there):
                self._take_in(connection, there, tell)
            connection.execute("COMMIT")

    def known(self) -> int | None:
        """How many rows the table holds; None before the first scan. Asks nobody."""
        if not self._file.exists():
            return None
        with self._connected() as connection:
            return int(_read(connection, "rows")) if _read(connection, "edition") == self._edition else None

    def generation(self) -> int:
        """Grows with every scan that was taken in; 0 before the first. Asks nobody."""
        if not self._file.exists():
            return 0
        with self._connected() as connection:
            return int(_read(connection, "generation") or 0)

    def difference(self) -> Difference:
        """Compare the table with every row of the collection."""
        with self._connected() as connection:
            held = {
                pk: (key, state) for pk, key, state in connection.execute("SELECT pk, evidence_key, state FROM rows")
            }
        missing, changed = [], []
        for page in self._collection.scan():
            for row in map(self._reader.read, page):
                key, state = held.pop(row.pk, (None, b""))
                if key is None:
                    missing.append(row.chunk.evidence_key)
                elif state != _state(row):
                    changed.append(row.chunk.evidence_key)
        return Difference(tuple(missing), tuple(key for key, _ in held.values()), tuple(changed))

    def pks_of(self, keys: Sequence[str]) -> dict[str, list[PrimaryKey]]:
        """The primary keys that the table has for these evidence keys, smallest first."""
        found: dict[str, list[PrimaryKey]] = {}
        with self._connected() as connection:
            for start in range(0, len(keys), _ASKED_AT_ONCE):
                some = [key for key in keys[start : start + _ASKED_AT_ONCE] if key.isprintable() or _is_storable(key)]
                places = ",".join("?" * len(some))
                sql = f"SELECT evidence_key, pk FROM rows WHERE evidence_key IN ({places}) ORDER BY pk"  # noqa: S608 - placeholders only
                for key, pk in connection.execute(sql, some):
                    found.setdefault(key, []).append(pk)
        return found

    def ranked(self, terms: Sequence[str]) -> Iterator[tuple[Entry, float]]:
        """Every row that holds one of the terms, best first, equal scores by evidence key."""
        postings, entries = self._loaded()
        scores = postings.scores(terms)
        places = scores.nonzero()[0]
        places = places[np.argsort(-scores[places], kind="stable")]
        for score, group in groupby(places.tolist(), key=lambda place: float(scores[place])):
            alike = sorted((entries[place] for place in group), key=lambda each: (each.evidence_key, str(each.pk)))
            yield from ((entry, score) for entry in alike)

    def documents(self) -> Iterator[DocumentInfo]:
        """What belongs together by document id, ordered by it; rows without one are in none."""
        with self._connected() as connection:
            rows = connection.execute(
                "SELECT doc_id, facts, characters FROM rows WHERE doc_id IS NOT NULL ORDER BY doc_id, id"
            ).fetchall()
        for doc_id, group in groupby(rows, key=lambda row: str(row[0])):
            yield _info(doc_id, [(json.loads(facts), characters) for _, facts, characters in group])

    def members(self) -> Iterator[tuple[str | None, list[PrimaryKey]]]:
        """The primary keys of each document, by document id; then each row without one, alone."""
        with self._connected() as connection:
            rows = connection.execute("SELECT doc_id, pk FROM rows ORDER BY doc_id IS NULL, doc_id, id").fetchall()
        for doc_id, group in groupby(rows, key=lambda row: row[0]):
            pks = [pk for _, pk in group]
            if doc_id is None:
                yield from ((None, [pk]) for pk in pks)
            else:
                yield str(doc_id), pks

    def counts(self) -> tuple[int, int, int]:
        """Documents, rows without one, and rows whose evidence key another row has too."""
        with self._connected() as connection:
            documents, orphans, distinct, rows = connection.execute(
                "SELECT count(DISTINCT doc_id), sum(doc_id IS NULL), count(DISTINCT evidence_key), count(*) FROM rows"
            ).fetchone()
        return int(documents), int(orphans or 0), int(rows) - int(distinct)

    def shared_keys(self, most: int) -> list[tuple[str, int]]:
        """Evidence keys that several rows have, and how many."""
        with self._connected() as connection:
            return connection.execute(
                "SELECT evidence_key, count(*) AS n FROM rows GROUP BY evidence_key HAVING n > 1 ORDER BY 1 LIMIT ?",
                (most,),
            ).fetchall()

    def _take_in(self, connection: sqlite3.Connection, there: int, tell: Told | None) -> None:
        if _read(connection, "edition") != self._edition:
            connection.execute("DELETE FROM rows")
        held = dict(connection.execute("SELECT pk, state FROM rows"))
        done = 0
        for page in self._collection.scan():
            rows = list(map(self._reader.read, page))
            fresh = [row for row in rows if held.pop(row.pk, None) != _state(row)]
            connection.executemany(_PUT, map(self._values, fresh))
            done += len(rows)
            if tell:
                tell(done, max(there, done))
        connection.executemany("DELETE FROM rows WHERE pk = ?", ((pk,) for pk in held))
        generation = int(_read(connection, "generation") or 0) + 1
        for name, value in (("edition", self._edition), ("rows", done), ("generation", generation)):
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    def _values(self, row: Row) -> tuple[Any, ...]:
        chunk = row.chunk
        heading = "\n".join(filter(None, (chunk.title, chunk.breadcrumb)))
        terms, counts = counted(self._analyze(f"{heading}\n\n{chunk.text}" if heading else chunk.text))
        return row.pk, chunk.evidence_key, chunk.doc_id, _facts(chunk), len(chunk.text), _state(row), terms, counts

    def _is_current(self, connection: sqlite3.Connection, there: int) -> bool:
        return bool(_read(connection, "edition") == self._edition and _read(connection, "rows") == there)

    def _loaded(self) -> tuple[Postings, list[Entry]]:
        with self._turn, self._connected() as connection:
            generation = int(_read(connection, "generation") or 0)
            if self._postings is None or self._postings[0] != generation:
                count = int(_read(connection, "rows") or 0)
                if count > MOST_ROWS:
                    raise _too_many(count)
                rows = connection.execute("SELECT pk, evidence_key, terms, counts FROM rows ORDER BY id").fetchall()
                entries = [Entry(place, pk, key) for place, (pk, key, _, _) in enumerate(rows)]
                self._postings = generation, Postings.of((terms, counts) for *_, terms, counts in rows), entries
            return self._postings[1], self._postings[2]

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """A connection of its own; what SQLite raises comes out as the store's."""
        try:
            with closing(sqlite3.connect(self._file, timeout=_PATIENCE_S, isolation_level=None)) as connection:
                connection.execute("PRAGMA journal_mode=WAL")
                connection.executescript(_TABLES)
                yield connection
        except sqlite3.Error as error:
            if "locked" in str(error):
                raise StoreLocked(
                    f"another process has scanned the collection for {self._file} for longer than {_PATIENCE_S:.0f} s",
                    way_out="Wait until it is done; lookups in dense mode go on meanwhile.",
                ) from error
            raise StoreUnreachable(
                f"{self._file}, which is derived from the collection, can't be used: {error}",
                way_out="Check who may write there, and the space; it may be moved away at any time and is made anew.",
            ) from error


_PUT = """
INSERT INTO rows (pk, evidence_key, doc_id, facts, characters, state, terms, counts) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (pk) DO UPDATE SET evidence_key = excluded.evidence_key, doc_id = excluded.doc_id, facts = excluded.facts,
    characters = excluded.characters, state = excluded.state, terms = excluded.terms, counts = excluded.counts
"""


def _too_many(rows: int) -> StoreError:
    return StoreError(
        f"the collection holds {rows:,} rows, and words, keys and documents are derived for {MOST_ROWS:,} at most",
        way_out="Copy it into a store of Citewell's own with `citewell reindex`, or use dense mode.",
    )


def _read(connection: sqlite3.Connection, name: str) -> Any:  # noqa: ANN401 - as SQLite has it
    found = connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return found[0] if found else None


def _is_storable(key: str) -> bool:
    return HALF.search(key) is None


def _facts(chunk: StoredChunk) -> str:
    """What the catalogue needs of a chunk, as JSON."""
    return json.dumps(
        {
            "title": chunk.title,
            "source": chunk.source,
            "category": chunk.category,
            "scope": chunk.scope,
            "metadata": chunk.metadata,
            "breadcrumb": chunk.breadcrumb,
        },
        ensure_ascii=False,
        default=str,
    )


def _state(row: Row) -> bytes:
    """Differs when anything of the row does that the table holds."""
    said = f"{row.chunk.evidence_key}\x1f{row.chunk.doc_id}\x1f{_facts(row.chunk)}\x1f{row.chunk.digest}"
    return hashlib.blake2b(said.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _info(doc_id: str, members: Sequence[tuple[dict[str, Any], int]]) -> DocumentInfo:
    """A document is what its first chunk says of it, with the metadata that all its chunks share."""
    first = members[0][0]
    digest = hashlib.sha256("\x1f".join(json.dumps(facts, sort_keys=True) for facts, _ in members).encode()).hexdigest()
    return DocumentInfo(
        doc_id=doc_id,
        title=first["title"],
        source=first["source"],
        category=first["category"],
        scope=None if first["scope"] is None else tuple(first["scope"]),
        metadata=shared(facts["metadata"] for facts, _ in members),
        chunks=len(members),
        characters=sum(characters for _, characters in members),
        fingerprint="",
        content_digest=digest,
    )


def shared(all_metadata: Iterable[dict[str, object]]) -> dict[str, object]:
    """The entries that all of these have."""
    held = list(all_metadata)
    return {
        name: value
        for name, value in held[0].items()
        if all(name in other and other[name] == value for other in held[1:])
    }
