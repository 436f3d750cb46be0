"""Puts what pymilvus and Milvus Lite raise into Citewell's errors, once; knows no call and no schema.

Milvus says most things in the text of its errors, so that is what is looked at: codes differ between Lite and servers.
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

from citewell.errors import CitewellError, StoreCorrupt, StoreError, StoreLocked, StoreUnreachable

_MOST_SHOWN = 300
_ADDRESS = re.compile(r"[\w.\-]+:\d{1,5}\b")
"""A host and its port, as gRPC names whom it asked."""

_SIGNS: tuple[tuple[tuple[str, ...], type[StoreError], str, str], ...] = (
    (
        ("holds the lock", "datadirlocked"),
        StoreLocked,
        "another process has the store {where} open",
        "End that process, or let both use a server: Milvus, or `milvus-lite server --host 127.0.0.1 --data-dir PATH`.",
    ),
    (
        ("no space left", "enospc", "disk quota"),
        StoreUnreachable,
        "there is no space left for the store {where}",
        "Free some, then run the ingestion again: it writes what is missing.",
    ),
    (
        (
            "permission denied", "read-only file system", "not exists", "file exists", "not a directory",
            "no such file",
        ),
        StoreUnreachable,
        "the store {where} can't be opened: {said}",
        "Name a path in a directory that exists and can be written.",
    ),
    (
        ("auth check failure", "unauthenticated", "permissiondenied", "privilege", "401"),
        StoreUnreachable,
        "the server {where} refuses the token: {said}",
        "Set store.token to one that may read and write, such as 'user:password' or an API key.",
    ),
    (
        ("unimplemented", "http2 header"),
        StoreUnreachable,
        "what answers at {where} is no Milvus: {said}",
        "Name the gRPC port of Milvus, usually 19530.",
    ),
    (
        (
            "fail connecting", "unavailable", "deadline", "timeout", "timed out", "connection refused", "goaway",
            "socket closed", "closed channel", "channel is closed", "not ready", "node offline", "cancelled",
        ),
        StoreUnreachable,
        "the Milvus at {where} does not answer: {said}",
        "Start it, or correct store.location; nothing that was acknowledged is lost. Then try again.",
    ),
    (
        ("corrupt", "manifest", "footer", "magic bytes", "parquet", "arrowinvalid"),
        StoreCorrupt,
        "files of the store {where} are damaged: {said}",
        "Restore them from a backup, or ingest the documents into a new store; keep the damaged one until then.",
    ),
)  # fmt: skip


def translated(error: BaseException, where: str) -> CitewellError:
    """The error as Citewell's own; one of its own stays as it is. `where` is the location as the user gave it."""
    if isinstance(error, CitewellError):
        return error
    said = _said(error)
    spoken = _without_address(f"{said} {type(error).__name__} {error.__cause__!r}", where).lower()
    for signs, kind, message, way_out in _SIGNS:
        if any(sign in spoken for sign in signs):
            return kind(message.format(where=where, said=said), way_out=way_out)
    return StoreError(f"the Milvus at {where} failed: {said}", way_out="Look into its log; try again.")


def _without_address(text: str, where: str) -> str:
    """What was said, but for the address: a port or a folder may look like a sign of something."""
    own = where.removeprefix("milvus:") if "://" not in where else urlsplit(where).netloc
    for address in (own, str(Path(own).absolute()), Path(own).name):
        text = text.replace(address, " ") if address else text
    return _ADDRESS.sub(" ", text)


def _said(error: BaseException) -> str:
    text = " ".join((getattr(error, "message", "") or str(error) or type(error).__name__).split())
    return text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + "…"
