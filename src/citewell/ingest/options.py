"""What a caller may ask of an ingestion of paths, and what it is told while it runs; values alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypedDict


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come.

    Attributes:
        files_done: files or documents whose outcome is known.
        files_total: None where it is not known beforehand.
        embedded: chunks embedded so far.
        doc_id: of the source that was taken last; empty once the run is at its end.
        changed: documents that the store holds anew, or no longer, because of this run.
        stopping: whether the run was interrupted and ends with the writes that are due.
    """

    files_done: int
    files_total: int | None
    embedded: int
    doc_id: str = ""
    changed: int = 0
    stopping: bool = False


OnProgress = Callable[[Progress], None]


class IngestOptions(TypedDict, total=False):
    """The arguments of `citewell.ingest.Ingestion.paths` after the paths; said there."""

    category: str | None
    scope: str | Sequence[str] | None
    prefix: str
    prune: bool
    include: str | Sequence[str]
    exclude: str | Sequence[str]
    respect_gitignore: bool
    progress: OnProgress | None
