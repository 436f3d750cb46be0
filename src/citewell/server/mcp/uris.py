"""Evidence keys and document ids as URIs, and back: any Unicode text comes back as it was (API-3).

    citewell://evidence/etcd.md%23chunk-2
    citewell://document/runbooks%2Fetcd.md

It knows neither what the names mean nor whether there is such a thing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import quote, unquote

from citewell.checks import check_text, shown
from citewell.errors import InvalidRequest

Kind = Literal["evidence", "document"]

EVIDENCE: Final = "citewell://evidence/"
DOCUMENT: Final = "citewell://document/"

_PREFIXES: tuple[tuple[str, Kind], ...] = ((EVIDENCE, "evidence"), (DOCUMENT, "document"))


@dataclass(frozen=True, slots=True)
class Place:
    """What a URI names: a chunk by its evidence key, or a document by its id."""

    kind: Kind
    name: str


def evidence_uri(key: str) -> str:
    """The URI of a chunk; every character but ASCII letters, digits and `-._~` is percent-encoded."""
    return EVIDENCE + quote(key, safe="", errors="surrogatepass")


def document_uri(doc_id: str) -> str:
    """The URI of a document, as `evidence_uri`."""
    return DOCUMENT + quote(doc_id, safe="", errors="surrogatepass")


def place_of(uri: object) -> Place:
    """What a URI names; characters that need no encoding to be told apart may stand as they are (`/`, `#`, `?`).

    Raises:
        InvalidRequest: it is none of ours.
    """
    text = check_text("uri", uri)
    for prefix, kind in _PREFIXES:
        if text.startswith(prefix) and len(text) > len(prefix):
            try:
                return Place(kind, unquote(text.removeprefix(prefix), errors="surrogatepass"))
            except UnicodeDecodeError:
                break
    raise InvalidRequest(f"{shown(text)} names nothing here", way_out=f"URIs are {EVIDENCE}KEY and {DOCUMENT}ID.")
