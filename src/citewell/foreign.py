"""Collections that someone else filled, and the way from one store to another: `attach` and `reindex` (ENGINE-3).

Both know the order of steps alone; what a collection holds is known by an adapter, how documents are copied by
`citewell.ingest`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from citewell.analysis import ANALYZER_VERSION, analyze
from citewell.config import Settings
from citewell.errors import InvalidRequest
from citewell.model import IngestReport, StoreBinding
from citewell.ports import Embedder, Store, embedder_identity
from citewell.wiring import attach_collection, open_embedder, open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from citewell.ingest import OnProgress


@dataclass(frozen=True, slots=True)
class Attached:
    """What was attached.

    Attributes:
        location: the directory that can be opened from now on.
        preset: the layout that the fields have; empty for none.
        mapping: role -> paths, in the order in which they are tried.
        metric: by which the engine compares vectors, such as `L2`.
        unit: whether the vectors have length 1, as far as rows were looked at.
        lexical: what the lexical path searches.
        rows: of the collection.
        notes: what a person should know.
    """

    location: str
    uri: str
    collection: str
    preset: str
    mapping: dict[str, tuple[str, ...]]
    metric: str
    unit: bool
    dimensions: int
    lexical: str
    rows: int
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, object]:
        """JSON values, in the order of the fields."""
        return {
            "location": self.location,
            "uri": self.uri,
            "collection": self.collection,
            "preset": self.preset,
            "mapping": {role: list(paths) for role, paths in self.mapping.items()},
            "metric": self.metric,
            "unit": self.unit,
            "dimensions": self.dimensions,
            "lexical": self.lexical,
            "rows": self.rows,
            "notes": list(self.notes),
        }


def attach(
    uri: str,
    collection: str,
    location: str | Path,
    *,
    mapping: Sequence[str] = (),
    preset: str = "",
    index: bool = True,
    settings: Settings | None = None,
    embedder: Embedder | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Attached:
    """Record how a Milvus collection is to be read, in a directory that `Knowledge.open` then takes.

    Args:
        uri: `milvus:PATH.db` or `http://HOST:PORT`; a token comes from `store.token`.
        collection: its name; it is never written to.
        location: the directory; made if there is none.
        mapping: `ROLE=FIELD` each, such as `docId=metadata.source`; wins over the preset.
        preset: `langchain`, `llama-index`, `haystack` or `spring-ai`; empty = the one that the fields fit exactly.
        index: whether to scan the collection now for words, keys and documents; otherwise the first call that needs
            them does.
        settings: None = defaults and the environment.
        embedder: the one that filled the collection; None = the one that the settings name.
        progress: called with rows scanned and rows in all.

    Raises:
        InvalidRequest: a field, a preset or the collection is not there; names it and what there is.
        EmbedderMismatch: the embedder's vectors have another dimension than the collection's.
        StoreError: the Milvus can't be used, or the directory not be written.
    """
    settings = settings or Settings.load()
    with _embedder(settings, embedder, None) as chosen:
        look, store = attach_collection(uri, collection, Path(location), mapping, preset, chosen, settings.store)
        try:
            notes = look.notes
            if index and look.rows <= store.most_derived:
                store.refresh(progress)
            elif index:
                notes += (f"more than {store.most_derived:,} rows: no words are derived; use dense mode, or reindex",)
            found = look.attachment
            return Attached(
                location=str(location),
                uri=found.uri,
                collection=found.collection,
                preset=found.preset,
                mapping=dict(found.fields.paths),
                metric=found.metric,
                unit=found.unit,
                dimensions=found.embedder.dimensions,
                lexical=store.lexical,
                rows=look.rows,
                notes=notes,
            )
        finally:
            store.close()


def reindex(
    source: str | Path,
    target: str | Path,
    *,
    settings: Settings | None = None,
    embedder: Embedder | None = None,
    progress: OnProgress | None = None,
) -> IngestReport:
    """Copy a store, or an attached collection, into another store; what the target holds already is passed over.

    The way out of another embedder, analyser or engine (INGEST-8): texts are analysed anew, and embedded anew unless
    the source's vectors are of the same embedder.

    Args:
        source: a location; only read.
        target: a location; made if there is none, and filled beside what it holds.
        settings: None = defaults and the environment.
        embedder: of the target; None = the one that the settings name.
        progress: called now and then with what has been done.

    Raises:
        InvalidRequest: source and target are the same.
        EmbedderMismatch, StoreVersion: the target was filled by another embedder or analyser.
        StoreError, EmbedderError: the run could not go on; the next one goes on from there.
    """
    settings = settings or Settings.load()
    if _place(source) == _place(target):
        raise InvalidRequest(f"{str(source)!r} can't be copied into itself", way_out="Name another target with --to.")
    with contextlib.ExitStack() as stack:
        origin = stack.enter_context(_opened(open_store(str(source), settings.store, create=False)))
        copy = stack.enter_context(_opened(open_store(str(target), settings.store, create=True)))
        chosen = stack.enter_context(_embedder(settings, embedder, copy.binding()))
        from citewell.ingest.reindex import Reindexing  # noqa: PLC0415 - attaching splits nothing

        binding = StoreBinding(embedder_identity(chosen), ANALYZER_VERSION)
        return Reindexing(copy, chosen, analyze=analyze, binding=binding).run(origin, progress=progress)


def _place(location: str | Path) -> str:
    name = str(location)
    if name.startswith("milvus:"):
        return f"milvus:{Path(name.removeprefix('milvus:')).expanduser().resolve()}"
    return name if "://" in name or name == "memory:" else str(Path(name).resolve())


@contextlib.contextmanager
def _opened(store: Store) -> Iterator[Store]:
    try:
        yield store
    finally:
        store.close()


@contextlib.contextmanager
def _embedder(settings: Settings, given: Embedder | None, bound: StoreBinding | None) -> Iterator[Embedder]:
    """The caller's embedder, which stays open, or one of our own, which is closed."""
    chosen = given if given is not None else open_embedder(settings.embedder, bound)
    try:
        yield chosen
    finally:
        close = getattr(chosen, "close", None)
        if given is None and callable(close):
            close()
