"""One writer at a time on a server, where Milvus has no lock: rows in the catalogue that say who writes.

Who wants to write says so in a row of its own, then looks for the rows of others, waiting for whatever was written
before. Two who come at once both see each other and both step back for a random while; nobody goes on who sees another.
A row whose owner has died no longer changes; after LEASE_S it is removed. An owner that was only asleep so long looks
whether its row is still there before it commits. Clocks of different machines are never compared.
"""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from citewell.adapters.milvus.catalogue import Row
from citewell.errors import StoreError, StoreLocked

if TYPE_CHECKING:
    from citewell.adapters.milvus.catalogue import Catalogue

LEASE_S = 15.0
_KEPT_S = 2.0
"""How long a lease is kept after a write: the next one is usually near."""


class NoLease:
    """On Lite: the engine itself lets in one process alone."""

    @contextmanager
    def held(self, patience_s: float) -> Iterator[bool]:
        """At once."""
        yield False

    def beat(self) -> None:
        """Nothing to say."""

    def release(self) -> None:
        """Nothing to give back."""


class Lease:
    """The right to write, of one store of this process; callers hold the process's own turn."""

    def __init__(self, catalogue: Catalogue, location: str) -> None:
        self._catalogue, self._location = catalogue, location
        self._id = f"l:{uuid.uuid4().hex}"
        self._guard = threading.RLock()
        self._beats = 0
        self._said_at = float("-inf")
        self._timer: threading.Timer | None = None
        self._is_held = False

    @contextmanager
    def held(self, patience_s: float) -> Iterator[bool]:
        """Hold it; yields whether it was taken just now, so that others may have written meanwhile.

        Raises:
            StoreLocked: another writer has it for longer than `patience_s`.
        """
        with self._guard:
            if self._timer is not None:
                self._timer.cancel()
            is_new = not (self._is_held and self._is_mine())
            if is_new:
                self._take(patience_s)
        try:
            yield is_new
        finally:
            self._keep_for_a_while()

    def beat(self) -> None:
        """Say that the owner lives.

        Raises:
            StoreLocked: it was given to another, because this process was silent for too long.
        """
        if time.monotonic() - self._said_at < LEASE_S / 5:
            return
        if not self._is_mine():
            raise StoreLocked(
                f"another writer has taken over the store {self._location}", way_out="Run the ingestion again."
            )
        self._say()

    def release(self) -> None:
        """Give it back. Idempotent."""
        with self._guard:
            if self._timer is not None:
                self._timer.cancel()
            if self._is_held:
                self._is_held = False
                self._catalogue.remove_ids([self._id])

    def _is_mine(self) -> bool:
        """Nobody takes a lease that was beating a moment ago, so only after a longer silence is that asked."""
        return time.monotonic() - self._said_at < LEASE_S / 2 or self._id in self._catalogue.get(
            [self._id], strong=True
        )

    def _take(self, patience_s: float) -> None:
        deadline = time.monotonic() + patience_s
        heard: dict[str, tuple[int, float]] = {}
        while True:
            self._say()
            if not self._others(heard):
                self._is_held = True
                return
            self._catalogue.remove_ids([self._id])
            if time.monotonic() >= deadline:
                raise StoreLocked(
                    f"another writer has held the store {self._location} for {patience_s:g} s", way_out="Try again."
                )
            time.sleep(random.uniform(0.05, 0.4))  # noqa: S311 - so that two do not step back in step

    def _say(self) -> None:
        self._beats += 1
        self._catalogue.put([Row(self._id, "lease", self._beats)])
        self._said_at = time.monotonic()

    def _others(self, heard: dict[str, tuple[int, float]]) -> bool:
        """Whether another writer lives; `heard` remembers the beats of each and since when there was none."""
        now = time.monotonic()
        rows = [row for row in self._catalogue.of_kind("lease") if row.id != self._id]
        dead = []
        for row in rows:
            beats, since = heard.get(row.id, (-1, now))
            heard[row.id] = (row.version, since if beats == row.version else now)
            if now - heard[row.id][1] > LEASE_S:
                dead.append(row.id)
        self._catalogue.remove_ids(dead)
        return len(rows) > len(dead)

    def _keep_for_a_while(self) -> None:
        with self._guard:
            self._timer = threading.Timer(_KEPT_S, self._release_quietly)
            self._timer.daemon = True
            self._timer.start()

    def _release_quietly(self) -> None:
        try:
            self.release()
        except StoreError:
            self._is_held = False  # others find out by its silence
