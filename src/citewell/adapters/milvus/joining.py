"""Finds a store's collections, or makes them; refuses what is somebody else's, another version's or not there.

Where a store is bound there is a Bound: the collections, and who works on them. It knows no document.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal

from citewell.adapters.milvus import bodies
from citewell.adapters.milvus.catalogue import BINDING, HEAD, Catalogue, Row
from citewell.adapters.milvus.chunks import Chunks
from citewell.adapters.milvus.client import Client
from citewell.adapters.milvus.derived import Derived
from citewell.adapters.milvus.lease import Lease, NoLease
from citewell.adapters.milvus.lite import lite_path
from citewell.adapters.milvus.schema import (
    SCHEMA_VERSION,
    Index,
    Names,
    complete_indexes,
    index_of,
    is_indexed,
    make_collections,
)
from citewell.adapters.milvus.state import Head, State
from citewell.adapters.milvus.writing import Writer
from citewell.errors import StoreCorrupt, StoreUnreachable, StoreVersion
from citewell.model import StoreBinding

_OURS = {"evidence", "tenant", "version", "context"}


@dataclass(frozen=True, slots=True)
class Bound:
    """What there is once a store is bound.

    Attributes:
        derived: the lexical index of this process, where Milvus has no BM25 or its own is not wanted.
        how: vectors are searched.
    """

    binding: StoreBinding
    chunks: Chunks
    catalogue: Catalogue
    lease: Lease | NoLease
    writer: Writer
    derived: Derived | None
    how: Index


Lexical = Literal["native", "memory"]
"""Who ranks by terms: Milvus, where it can, or an index in this process's memory."""


def join(
    client: Client,
    names: Names,
    state: State,
    turn: Callable[[], AbstractContextManager[None]],
    lexical: Lexical,
    how: Index = "exact",
) -> Bound | None:
    """The collections; None if there are none yet, or they are not bound.

    Args:
        client: connected.
        names: of the collections.
        state: of the process; takes over the head.
        turn: makes this thread the one writer of the process.
        lexical: who is to rank by terms.
        how: vectors are to be searched, if whoever made the collections was cut short before saying so.

    Raises:
        StoreVersion: the collection is none of Citewell's, or of another version.
        StoreCorrupt: a part of the store is gone: it is no new one, and nothing may be written over it.
    """
    if not client.has(names.catalogue):
        _check_ours(client, names)
        _check_empty(client, names)
        return None
    if not client.has(names.chunks):
        raise _damaged(client, names, "has a catalogue and no chunks")
    complete_indexes(client, names, how)
    client.load(names.catalogue, names.chunks)
    held = Catalogue(client, names.catalogue, 0).get([BINDING, HEAD], strong=True)
    if not held:
        _check_empty(client, names)
        return None
    if len(held) < 2:
        raise _damaged(client, names, f"has lost {HEAD if BINDING in held else BINDING!r} of its catalogue")
    binding, schema = bodies.read_binding(held[BINDING].body)
    if schema != SCHEMA_VERSION:
        raise StoreVersion(
            f"the collections {names.chunks!r} are of version {schema}, and this Citewell reads {SCHEMA_VERSION}",
            way_out="Open them with the version of Citewell that filled them.",
        )
    bound = _bound(client, names, state, binding, lexical)
    _take_over(bound.catalogue, state, Head.read(held[HEAD].body), turn)
    return bound


def make(client: Client, names: Names, binding: StoreBinding, how: Index) -> None:
    """Make the collections, and bind them, as far as nobody has; `how`: their vectors are searched."""
    make_collections(client, names, binding.embedder.dimensions, how)
    client.load(names.catalogue, names.chunks)
    catalogue = Catalogue(client, names.catalogue, binding.embedder.dimensions)
    if catalogue.get([BINDING, HEAD], strong=True):
        return
    held = Row(BINDING, "meta", body=bodies.binding_body(binding, SCHEMA_VERSION))
    catalogue.put([held, Row(HEAD, "meta", body=Head().body())])


def counted(client: Client, bound: Bound, state: State) -> StoreCorrupt | None:
    """Lite opens damaged files with rows missing, and says nothing: so what should be there is counted."""
    if not client.is_lite:
        return None
    head = state.pin()  # while it is counted, another store of this process may replace what it counts
    try:
        there = bound.chunks.count(state.mask(head.sequence, always=True))
    finally:
        state.unpin(head.sequence)
    if there >= head.chunks:
        return None
    return StoreCorrupt(
        f"the store {client.location} holds {there} of {head.chunks} chunks: its files are damaged",
        way_out="Restore them from a backup, or run `citewell verify --repair` and ingest again: it writes what is"
        " missing.",
    )


def check_there(location: str, *, create: bool) -> None:
    """Refuse a Lite store that is not there, before one is made by opening it.

    Raises:
        StoreUnreachable: there is none, and none may be made.
    """
    if location.startswith("milvus:"):
        path = lite_path(location)
        if not create and not path.exists():
            raise no_store(str(path))


def no_store(where: str) -> StoreUnreachable:
    """There is none, and none may be made."""
    return StoreUnreachable(
        f"there is no store at {where}", way_out="Check the location, or ingest something into it first."
    )


def _bound(client: Client, names: Names, state: State, binding: StoreBinding, lexical: Lexical) -> Bound:
    dimensions = binding.embedder.dimensions
    how = index_of(client, names)
    chunks, catalogue = Chunks(client, names.chunks, how), Catalogue(client, names.catalogue, dimensions)
    lease = NoLease() if client.is_lite else Lease(catalogue, client.location)
    is_native = client.server.has_bm25 and lexical == "native"
    derived = None if is_native else Derived(chunks, catalogue, state)
    return Bound(binding, chunks, catalogue, lease, Writer(chunks, catalogue, state, lease, dimensions), derived, how)


def _take_over(
    catalogue: Catalogue, state: State, head: Head, turn: Callable[[], AbstractContextManager[None]]
) -> None:
    """A head behind the one known: unless a writer of this process has just moved it, it is another store's."""
    if head.sequence < state.head.sequence:
        with turn():
            held = catalogue.get([HEAD], strong=True)
            if HEAD in held and Head.read(held[HEAD].body).sequence < state.head.sequence:
                state.forget()
    state.moved(head)


def _check_empty(client: Client, names: Names) -> None:
    """Without a binding there are no chunks, for it is written first: where there are some, it was lost."""
    if not client.has(names.chunks) or not is_indexed(client, names.chunks):
        return
    client.load(names.chunks)
    if Chunks(client, names.chunks, "exact").count(""):
        raise _damaged(client, names, "has chunks and no catalogue of them")


def _damaged(client: Client, names: Names, what: str) -> StoreCorrupt:
    return StoreCorrupt(
        f"the store {client.location} ({names.chunks}) {what}: it is damaged",
        way_out="Restore it from a backup, or ingest the documents into a new store; keep this one until then.",
    )


def _check_ours(client: Client, names: Names) -> None:
    """A collection without a catalogue is somebody else's, unless a store was being made when it was cut short."""
    if not client.has(names.chunks):
        return
    fields = {field["name"] for field in client.call("describe_collection", names.chunks)["fields"]}
    if not fields >= _OURS:
        raise StoreVersion(
            f"the collection {names.chunks!r} at {client.location} was not made by Citewell",
            way_out="Attach it (`citewell attach`), or set store.collection to another name.",
        )
