"""The tables that hold the truth: how a store's database is made, recognised and connected to.

    meta        sequence (grows with every write), next_row, removed_floor, dimensions, binding
    documents   one row per document; `version` is the sequence of its last write; its chunks are the rows
                first_row .. first_row + chunks - 1
    chunks      what is shown and cited
    features    what is searched: the vector (float32), the ids of the terms and how often each occurs
    terms       the dictionary: a term's bytes and its id
    marks       what filters compare with, as digests (see marks.py)
    removed     rows that went, with the sequence at which they went, for readers that catch up

A row number is used once, ever. Whatever else a store's directory holds is derived from these tables.
This module knows no document and no search.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from citewell.errors import StoreUnreachable, StoreVersion

FILE_NAME = "citewell.db"
SCHEMA_VERSION = 1
_APPLICATION_ID = 0x43495445  # "CITE"

_TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT, doc_id TEXT NOT NULL UNIQUE, version INTEGER NOT NULL,
    first_row INTEGER NOT NULL, chunks INTEGER NOT NULL, stamp INTEGER NOT NULL, characters INTEGER NOT NULL,
    title TEXT NOT NULL, source TEXT NOT NULL, category TEXT, scope TEXT, metadata TEXT NOT NULL,
    headings TEXT NOT NULL, fingerprint TEXT NOT NULL, content_digest TEXT NOT NULL);
CREATE INDEX documents_by_version ON documents (version, first_row, chunks, stamp);
CREATE TABLE chunks (
    row INTEGER PRIMARY KEY, document INTEGER NOT NULL, chunk_index INTEGER NOT NULL, text TEXT NOT NULL,
    breadcrumb TEXT NOT NULL, span_start INTEGER NOT NULL, span_end INTEGER NOT NULL,
    page INTEGER, line INTEGER, url TEXT, digest TEXT NOT NULL, context_digest TEXT NOT NULL);
CREATE TABLE features (row INTEGER PRIMARY KEY, vector BLOB NOT NULL, terms BLOB NOT NULL, counts BLOB NOT NULL);
CREATE TABLE terms (id INTEGER PRIMARY KEY, term BLOB NOT NULL UNIQUE);
CREATE TABLE marks (mark BLOB NOT NULL, document INTEGER NOT NULL, PRIMARY KEY (mark, document)) WITHOUT ROWID;
CREATE INDEX marks_by_document ON marks (document);
CREATE TABLE removed (
    sequence INTEGER NOT NULL, first_row INTEGER NOT NULL, chunks INTEGER NOT NULL,
    PRIMARY KEY (sequence, first_row)) WITHOUT ROWID;
INSERT INTO meta VALUES ('sequence', 0), ('next_row', 1), ('removed_floor', 0), ('dimensions', 0), ('binding', NULL);
"""


def connect(file: Path, *, read_only: bool, timeout_s: float) -> sqlite3.Connection:
    """A connection in autocommit mode, usable from any thread by one at a time.

    Readers never wait for a writer (WAL). A commit is on the disk when it returns (`synchronous=FULL`): what was
    acknowledged survives a power failure, too.
    """
    uri = f"{file.absolute().as_uri()}?mode={'ro' if read_only else 'rw'}"
    try:
        connection = _open(uri, timeout_s)
    except sqlite3.OperationalError:
        if not read_only or _has_log(file):
            raise
        # Where nothing can be written there is no shared memory either, which WAL needs; and nobody changes the file.
        connection = _open(f"{uri}&immutable=1", timeout_s)
    if not read_only:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA wal_autocheckpoint = 4000")
    connection.execute("PRAGMA cache_size = -16000")
    return connection


def _open(uri: str, timeout_s: float) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, timeout=timeout_s, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _has_log(file: Path) -> bool:
    """Whether commits lie in the write-ahead log alone, so that the file by itself is not the truth."""
    log = file.with_name(f"{file.name}-wal")
    return log.exists() and log.stat().st_size > 0


def is_made(connection: sqlite3.Connection, file: Path) -> bool:
    """Whether the database holds a store of this version; False if it is still empty.

    Raises:
        StoreVersion: it was made by another version of Citewell.
        StoreUnreachable: it is some other program's.
    """
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application == _APPLICATION_ID and version == SCHEMA_VERSION:
        return True
    if application == _APPLICATION_ID:
        raise StoreVersion(
            f"{file} has schema version {version}, and this Citewell reads version {SCHEMA_VERSION}",
            way_out="Use the Citewell that wrote it, or ingest the sources into a new directory.",
        )
    if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] or application:
        raise StoreUnreachable(f"{file} is no Citewell store", way_out="Name another directory.")
    return False


def make(connection: sqlite3.Connection) -> None:
    """Create the tables in an empty database, all or none; the caller holds the write lock."""
    # A vector and its terms take 2 to 3 kB: small pages would hold one of them and waste the rest.
    connection.execute("PRAGMA page_size = 8192")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statement in _TABLES.split(";\n"):
            if statement.strip():
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
