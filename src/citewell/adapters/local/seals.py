"""A document's seal: a digest over all that is shown of it beside its texts, so that a bit that flips there is noticed.

It lies among the document's marks and is longer than any of them, so that no filter meets it. A document that an
earlier Citewell wrote has none. Texts have digests of their own, and what is searched has the document's stamp.
This module knows no filter and no search.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from typing import Final

_BYTES: Final = 24
_RECORD = (
    "SELECT doc_id, chunks, characters, title, source, category, scope, metadata, headings FROM documents"
    " WHERE id = :id"
)
_CHUNKS = (
    "SELECT chunk_index, breadcrumb, span_start, span_end, page, line, url, digest FROM chunks WHERE row BETWEEN"
    " (SELECT first_row FROM documents WHERE id = :id)"
    " AND (SELECT first_row + chunks - 1 FROM documents WHERE id = :id) ORDER BY row"
)


def seal(connection: sqlite3.Connection, document: int) -> None:
    """Put a seal on a document that was just written, its chunks included."""
    connection.execute("INSERT INTO marks VALUES (?, ?)", (seal_of(connection, document), document))


def seal_of(connection: sqlite3.Connection, document: int) -> bytes:
    """The seal that fits what the tables say of a document, by its number."""
    named = {"id": document}
    held = [
        connection.execute(_RECORD, named).fetchone(),
        connection.execute(_CHUNKS, named).fetchall(),
    ]
    # JSON tells 1 from "1" and from null, and where one value ends. Damage may have left bytes that are no text.
    return hashlib.blake2b(json.dumps(held, default=repr).encode(), digest_size=_BYTES).digest()


def is_seal(mark: bytes) -> bool:
    """Whether it is one, and no mark that filters compare with."""
    return len(mark) == _BYTES
