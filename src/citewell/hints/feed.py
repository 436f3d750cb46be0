"""What changed in a store's catalogue since it was looked at last; the one place that asks the store.

A store that tells its changes is asked for them, in portions; of any other the whole catalogue is compared. It knows no
index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from citewell.model import DocumentInfo
from citewell.model.catalogue import CatalogueChanges, Catalogued, KeptCopy, Mark
from citewell.ports import Store

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_PORTION = 1_000
_Keep = Callable[["Mark", "Mark | None", "Iterable[tuple[int, bytes]]", int], bool]
_Vectors = Callable[[str], "Mapping[str, NDArray[np.float32]]"]


class Feed:
    """Reads one store's catalogue; safe to call from several threads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._compared_with: Mapping[str, DocumentInfo] = {}
        self._mark: Callable[[], Mark] | None = getattr(store, "mark", None)
        self._changes: Callable[[Mark | None], CatalogueChanges] | None = getattr(store, "changes", None)
        self._doc_ids: Callable[[], set[str]] | None = getattr(store, "doc_ids", None)
        self._vectors: _Vectors | None = getattr(store, "vectors", None)
        self._kept: Callable[[], KeptCopy | None] | None = getattr(store, "kept_copy", None)
        self._kept_mark: Callable[[], tuple[Mark, int] | None] | None = getattr(store, "kept_mark", None)
        self._keep: _Keep | None = getattr(store, "keep_copy", None)

    @property
    def is_at_hand(self) -> bool:
        """Whether the store answers without a trip over a network."""
        return bool(getattr(self._store, "at_hand", False))

    def mark(self) -> Mark:
        """The state of the store."""
        return self._mark() if self._mark is not None else Mark(None, self._store.status().sequence)

    def since(self, mark: Mark | None) -> Iterator[CatalogueChanges]:
        """Portions of what was written after the mark, which the last reading reached; everything, if it is None."""
        if self._changes is None:
            yield from self._compared({} if mark is None else self._compared_with)
            return
        while True:
            told = self._changes(mark)
            yield told
            if told.complete:
                return
            mark = told.mark

    def doc_ids(self) -> set[str]:
        """Every document that there is."""
        if self._doc_ids is not None:
            return self._doc_ids()
        return {info.doc_id for info in self._store.documents()}

    @property
    def keeps(self) -> bool:
        """Whether the store keeps copies."""
        return self._kept is not None and self._kept_mark is not None and self._keep is not None

    def kept(self) -> KeptCopy | None:
        """The copy that the store keeps; None if there is none."""
        return self._kept() if self._kept is not None else None

    def kept_mark(self) -> tuple[Mark, int] | None:
        """The state that the kept copy is of, and how many documents were written since; None if there is none."""
        return self._kept_mark() if self._kept_mark is not None else None

    def keep(self, mark: Mark, base: Mark | None, parts: Iterable[tuple[int, bytes]], count: int) -> bool:
        """Have the store keep a copy of its state at the mark, in so many parts of which these differ from the base's.

        False if it keeps none, something else than the base by now, or can't at present.
        """
        return self._keep(mark, base, parts, count) if self._keep is not None else False

    def _compared(self, known: Mapping[str, DocumentInfo]) -> Iterator[CatalogueChanges]:
        # The mark first: what is written while the catalogue is read is then read once more, not missed.
        mark, infos = self.mark(), list(self._store.documents())
        new = [info for info in infos if known.get(info.doc_id) != info]
        for start in range(0, max(len(new), 1), _PORTION):
            part = tuple(Catalogued(info, self._centre(info.doc_id)) for info in new[start : start + _PORTION])
            yield CatalogueChanges(mark, part, len(infos), start + _PORTION >= len(new))
        self._compared_with = {info.doc_id: info for info in infos}

    def _centre(self, doc_id: str) -> NDArray[np.float32] | None:
        held = list(self._vectors(doc_id).values()) if self._vectors is not None else []
        total = sum(held[1:], start=held[0]) if held else None
        return None if total is None else (total / len(held)).astype("float32")
