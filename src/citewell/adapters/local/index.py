"""Keeps the current view of a process: loads it when it is first needed, moves it on after each write, tidies it.

Views are made of the truth by `loading`; here it is decided when, and under which lock. Whoever holds the store's
write lock also puts segments on the shelf. It knows no query.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from citewell.adapters.local.loading import OPEN_UP_TO, advance, load
from citewell.adapters.local.segments import Segment, groups_to_join, join
from citewell.adapters.local.shelf import Shelf
from citewell.adapters.local.view import View
from citewell.errors import StoreCorrupt

_MOST_GONE = 0.3
_MOST_GONE_WHEN_COMPACT = 0.1
_RATIO = 2.0
_RATIO_WHEN_COMPACT = 8.0
_KEPT_FROM_WHEN_COMPACT = 128
_READERS_WAIT_UP_TO = 4 * OPEN_UP_TO


class Index:
    """The current view, and the shelf that its segments come from and go to."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._lock = threading.Lock()
        self._view: View | None = None
        self._edition = (0, 0)
        self._made_anew: tuple[str, ...] = ()
        self._unkept: tuple[str, ...] = ()
        self.has_made = False
        """Whether loading had to make segments that the shelf should hold."""

    @property
    def sequence(self) -> int:
        """Of the current view; -1 before the first."""
        return -1 if self._view is None else self._view.sequence

    @property
    def notes(self) -> tuple[str, ...]:
        """What was damaged and has been made anew, and what can't be kept at present; for the status."""
        return self._made_anew + self._unkept

    def view(self, connection: sqlite3.Connection, sequence: int) -> View:
        """The view at this sequence, which is that of the connection's transaction."""
        with self._lock:
            if self._view is not None and not self._shelf.is_intact(self._view.segments):
                self._view = None  # what is damaged is made anew from the truth
            if self._view is not None and self._view.sequence > sequence:
                # The transaction is older than what another thread has seen: it gets a view of its own.
                return load(connection, sequence, self._view.segments)
            if self._view is None:
                self._view = self._loaded(connection, sequence)
            elif self._view.sequence < sequence:
                self._view = self._moved_on(self._view, connection, sequence)
            return self._view

    def settle(self, connection: sqlite3.Connection, sequence: int, *, compact: bool = False) -> None:
        """Seal and join segments as is due, and keep them on the shelf; the caller holds the write lock.

        Readers go on with the view before. A shelf that can't be written costs the next opening time, nothing else.
        Where the truth lacks rows there is no view to keep; searches say so, and writing goes on, which is the way out.
        """
        try:
            before = self.view(connection, sequence)
        except StoreCorrupt:
            return
        self.has_made = False
        after = tidied(before, compact=compact)
        if not self._is_unkept(after):
            return
        try:
            kept = self._shelf.keep([segment for segment in after.segments if segment.is_sealed])
            self._unkept = ()
        except (OSError, ValueError) as error:
            self.could_not_keep(error)
            kept = tuple(segment for segment in after.segments if segment.is_sealed)
        with self._lock:
            self._view = replace(after, segments=(*kept, *after.segments[len(kept) :]))
            self._edition = self._shelf.edition()

    def could_not_keep(self, why: object) -> None:
        """Say so in the status, and let the next write try again."""
        self.has_made = False
        self._unkept = (f"the index could not be kept: {why}",)

    def rebuild(self, connection: sqlite3.Connection, sequence: int) -> None:
        """Make everything anew from the truth and keep it; the caller holds the write lock."""
        with self._lock:
            self._view = load(connection, sequence, ())
            self._edition = (-1, -1)
        self.settle(connection, sequence, compact=True)

    def figures(self) -> tuple[tuple[str, int], ...]:
        """Of the current view, for the status; nothing before the first."""
        if self._view is None:
            return ()
        gone = self._view.live.size - self._view.size
        return (("index_segments", len(self._view.segments)), ("index_rows_gone", gone))

    def _is_unkept(self, view: View) -> bool:
        names = [segment.name for segment in view.segments if segment.is_sealed]
        return not all(names) or names != self._shelf.names()

    def _loaded(self, connection: sqlite3.Connection, sequence: int) -> View:
        self._edition = self._shelf.edition()
        segments = self._shelf.segments()
        self._made_anew = tuple(f"made anew: {damage}" for damage in self._shelf.damaged)
        view = load(connection, sequence, segments)
        self.has_made = any(segment.is_sealed and not segment.name for segment in view.segments)
        return view

    def _moved_on(self, view: View, connection: sqlite3.Connection, sequence: int) -> View:
        """The next view. The writer seals segments; a process that only reads does so late, or takes the writer's."""
        after = advance(view, connection, sequence)
        if not after.segments or after.segments[-1].is_sealed or after.segments[-1].size <= _READERS_WAIT_UP_TO:
            return after
        if self._shelf.edition() != self._edition:
            return self._loaded(connection, sequence)
        return tidied(after)


def tidied(view: View, *, compact: bool = False) -> View:
    """The same view with its open segment sealed if it is long, and small segments joined; itself if nothing is due."""
    longest = _KEPT_FROM_WHEN_COMPACT if compact else OPEN_UP_TO
    is_long = bool(view.segments) and not view.segments[-1].is_sealed and view.segments[-1].size > longest
    count = len(view.segments) if is_long else sum(segment.is_sealed for segment in view.segments)
    sizes = [(span.stop - span.start, int(view.live[span].sum())) for _, span in list(view.parts())[:count]]
    due = list(
        groups_to_join(
            sizes,
            most_gone=_MOST_GONE_WHEN_COMPACT if compact else _MOST_GONE,
            ratio=_RATIO_WHEN_COMPACT if compact else _RATIO,
        )
    )
    if is_long and not any(end == count for _, end in due):
        due.append((count - 1, count))
    return _joined(view, due) if due else view


def _joined(view: View, groups: Sequence[tuple[int, int]]) -> View:
    """The view with each of these runs of segments as one sealed segment, without the rows that have gone."""
    kept = np.ones(view.live.size, dtype=np.bool_)
    segments: list[Segment] = []
    at = 0
    for start, end in [*groups, (len(view.segments), len(view.segments))]:
        segments += view.segments[at:start]
        spans = list(view.parts())[start:end]
        for _, span in spans:
            kept[span] = view.live[span]
        if any(view.live[span].any() for _, span in spans):
            segments.append(join([(segment, view.live[span]) for segment, span in spans]).sealed())
        at = end
    return replace(
        view,
        segments=tuple(segments),
        documents=view.documents[kept],
        indexes=view.indexes[kept],
        live=view.live[kept],
    )
