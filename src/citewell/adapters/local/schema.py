"""The tables that hold the truth: how an empty database gets them, and how a store is told from anything else.

    meta        sequence (grows with every write), next_row, removed_floor, dimensions, binding
    documents   one row per document; `version` is the sequence of its last write; its chunks are the rows
                first_row .. first_row + chunks - 1
    chunks      what is shown and cited
    features    what is searched: the vector (float32), the ids of the terms and how often each occurs
    terms       the dictionary: a term's bytes and its id
    marks       what filters compare with, as digests (see marks.py), and a document's seal (see seals.py)
    ..._by_row  row numbers alone, so that rows can be counted without reading them
    removed     rows that went, with the sequence at which they went, for readers that catch up

A row number is used once, ever. Whatever else a store's directory holds is derived from these tables.
This module knows no document and no search.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from citewell.adapters.local.faults import RESTORE
from citewell.adapters.local.files import transaction
from citewell.errors import StoreCorrupt, StoreUnreachable, StoreVersion

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
CREATE INDEX documents_by_content ON documents (content_digest, doc_id);
CREATE TABLE chunks (
    row INTEGER PRIMARY KEY, document INTEGER NOT NULL, chunk_index INTEGER NOT NULL, text TEXT NOT NULL,
    breadcrumb TEXT NOT NULL, span_start INTEGER NOT NULL, span_end INTEGER NOT NULL,
    page INTEGER, line INTEGER, url TEXT, digest TEXT NOT NULL, context_digest TEXT NOT NULL);
CREATE TABLE features (row INTEGER PRIMARY KEY, vector BLOB NOT NULL, terms BLOB NOT NULL, counts BLOB NOT NULL);
CREATE INDEX chunks_by_row ON chunks (row);
CREATE INDEX features_by_row ON features (row);
CREATE TABLE terms (id INTEGER PRIMARY KEY, term BLOB NOT NULL UNIQUE);
CREATE TABLE marks (mark BLOB NOT NULL, document INTEGER NOT NULL, PRIMARY KEY (mark, document)) WITHOUT ROWID;
CREATE INDEX marks_by_document ON marks (document);
CREATE TABLE removed (
    sequence INTEGER NOT NULL, first_row INTEGER NOT NULL, chunks INTEGER NOT NULL,
    PRIMARY KEY (sequence, first_row)) WITHOUT ROWID;
INSERT INTO meta VALUES ('sequence', 0), ('next_row', 1), ('removed_floor', 0), ('dimensions', 0), ('binding', NULL);
"""


def check_made(connection: sqlite3.Connection, file: Path) -> None:
    """Refuse a database that is no store of this version.

    Raises:
        StoreVersion: it was made by another version of Citewell.
        StoreUnreachable: it is some other program's.
        StoreCorrupt: it holds nothing, and a store is never made without its tables.
    """
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application == _APPLICATION_ID and version == SCHEMA_VERSION:
        return
    if application == _APPLICATION_ID:
        raise StoreVersion(
            f"{file} has schema version {version}, and this Citewell reads version {SCHEMA_VERSION}",
            way_out="Use the Citewell that wrote it, or ingest the sources into a new directory.",
        )
    if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] or application:
        raise StoreUnreachable(f"{file} is no Citewell store", way_out="Name another directory.")
    raise StoreCorrupt(f"{file} has lost everything that it held", way_out=RESTORE)


def fill(connection: sqlite3.Connection) -> None:
    """Create the tables in an empty database."""
    # A vector and its terms take 2 to 3 kB: small pages would hold one of them and waste the rest.
    connection.execute("PRAGMA page_size = 8192")
    with transaction(connection):
        for statement in _TABLES.split(";\n"):
            if statement.strip():
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    # Only now, so that everything is in the file itself already.
    connection.execute("PRAGMA journal_mode = WAL")
