"""Which versions a reader may see: the head of the catalogue, and what this process knows of writes under way.

Versions are numbers of one sequence. The head says up to which number versions were committed, and which of those were
retired but still have rows. A snapshot at sequence S sees a row whose version is at most S and was not retired at S or
before. So a new version appears with one write of the head, whole, and an old one can wait for those who read it.

One State serves every store of this process that is open on the same collection. It knows no Milvus.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from citewell.adapters.milvus.bodies import reading, to_json
from citewell.adapters.milvus.filters import both

_MOST_REMOVED = 100_000
_MOST_MASKED = 1_000


@dataclass(frozen=True, slots=True)
class Head:
    """What was committed.

    Attributes:
        sequence: of the latest commit.
        documents, chunks: how many there are.
        retired: versions that were replaced or deleted, whose rows are still there.
        has_extras: whether the catalogue holds tombstones, or parts of bodies of those versions.
    """

    sequence: int = 0
    documents: int = 0
    chunks: int = 0
    retired: tuple[int, ...] = ()
    has_extras: bool = False

    def body(self) -> str:
        """As JSON."""
        return to_json([self.sequence, self.documents, self.chunks, self.retired, self.has_extras])

    @classmethod
    def read(cls, body: str) -> Head:
        """The inverse of `body`."""
        with reading("the head of the catalogue"):
            sequence, documents, chunks, retired, has_extras = json.loads(body)
            return cls(int(sequence), int(documents), int(chunks), tuple(retired), bool(has_extras))


@dataclass
class State:
    """What the stores of this process share that are open on one collection."""

    turn: threading.RLock = field(default_factory=threading.RLock)
    """Held by the one writer of this process."""
    head: Head = field(default_factory=Head)
    read_at: float = float("-inf")
    """When the head was last read or written, by the monotonic clock."""
    is_suspect: bool = True
    """Whether a write may have left rows that were never committed: true until somebody has looked."""
    failed: tuple[int, ...] = ()
    """Versions whose write failed: no later one takes their numbers, for a row of theirs may come late."""
    unflushed: int = 0
    """Rows that Lite has in memory and in its log alone; it searches those slowly."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _pins: Counter[int] = field(default_factory=Counter)
    _gone: dict[int, int] = field(default_factory=dict)
    """Retired versions that still have rows, and the sequence at which each was retired."""
    _removed: dict[int, int] = field(default_factory=dict)
    """The same of versions whose rows were removed lately."""
    _writers: int = 0

    def pin(self) -> Head:
        """Keep what is visible now for a snapshot, and return the head as it is now."""
        with self._lock:
            self._pins[self.head.sequence] += 1
            return self.head

    def unpin(self, sequence: int) -> None:
        """The snapshot has ended."""
        with self._lock:
            self._pins[sequence] -= 1
            if not self._pins[sequence]:
                del self._pins[sequence]

    def moved(self, head: Head) -> None:
        """Take over a head that was read or written; an older one than is known changes nothing."""
        with self._lock:
            self.read_at = time.monotonic()
            if head.sequence < self.head.sequence:
                return
            before, retired = self._gone, set(head.retired)
            # When a version was retired elsewhere is not known, but it was after what is known here.
            self._gone = {version: before.get(version, head.sequence) for version in retired}
            self._removed.update({version: at for version, at in before.items() if version not in retired})
            for version in list(self._removed)[:-_MOST_REMOVED]:
                del self._removed[version]
            self.head = head

    def forget(self) -> None:
        """The collection was removed and made anew: what was known of it holds no longer."""
        with self._lock:
            self.head, self._gone, self._removed, self.failed = Head(), {}, {}, ()
            self.is_suspect, self.unflushed = True, 0

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Rows of versions that are not committed may appear from now on."""
        with self._lock:
            self._writers += 1
        try:
            yield
        finally:
            with self._lock:
                self._writers -= 1

    def sees(self, version: int, sequence: int) -> bool:
        """Whether a snapshot at this sequence sees rows of this version.

        Also of one whose rows were removed: an answer may have been under way by then, or an index hold them still.
        """
        later = sequence + 1
        return version <= sequence < min(self._gone.get(version, later), self._removed.get(version, later))

    def mask(self, sequence: int, *, always: bool = False) -> str:
        """What a search must ask for so that it finds visible rows alone; blank if every row is.

        `always`: also where this process knows of no reason.
        """
        with self._lock:
            behind = always or self._writers or self.head.sequence != sequence
            known = self._gone | dict(list(self._removed.items())[-_MOST_MASKED:]) if always else self._gone
            gone = sorted(version for version, at in known.items() if at <= sequence)
        newer = f"version <= {sequence}" if behind else ""
        return both(newer, f"version not in {gone}" if gone else "")

    def purgeable(self) -> list[int]:
        """Retired versions that no snapshot of this process reads any more."""
        with self._lock:
            oldest = min(self._pins, default=None)
            return sorted(version for version, at in self._gone.items() if oldest is None or oldest >= at)

    def live(self, versions: Iterable[int]) -> set[int]:
        """These versions, and those that were retired but still have rows."""
        with self._lock:
            return {*versions, *self._gone}


_STATES: WeakValueDictionary[tuple[str, str], State] = WeakValueDictionary()
_GUARD = threading.Lock()


def shared_state(place: str, collection: str) -> State:
    """The State for this collection of this Milvus, the same for all stores of the process."""
    with _GUARD:
        state = _STATES.get((place, collection))
        if state is None:
            state = _STATES[place, collection] = State()
        return state
