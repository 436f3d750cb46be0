"""Some documents of the catalogue as arrays: their terms, their places among the others, and what is said of each.

A block never changes; blocks are joined, and lose the documents that have gone. A place is an index into a block's
arrays. It knows no ranking, no store and no form outside memory.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from citewell.hints.infos import Infos
from citewell.model import DocumentInfo
from citewell.model.catalogue import Catalogued

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Centres = NDArray[np.float16]
    Labels = tuple[str, ...] | None

_TITLE_TIMES = 2
_MOST_COUNTED = 65_535


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Block:
    """A run of documents; equal to itself alone.

    Attributes:
        doc_ids: of each.
        infos: what is said of each.
        scopes: the sets of labels that occur.
        scope_of: int32 [documents], which of them each bears.
        lengths: float32 [documents], terms in each, counting repeats.
        terms: uint64 [postings], digests, ascending.
        places: int32 [postings], ascending within a term.
        counts: int64 [postings], how often the term occurs there.
        centres: float16 [documents, dimensions], of unit length; zeros for a document without a direction.
    """

    doc_ids: tuple[str, ...]
    infos: Infos
    scopes: tuple[Labels, ...]
    scope_of: NDArray[np.int32]
    lengths: NDArray[np.float32]
    terms: NDArray[np.uint64]
    places: NDArray[np.int32]
    counts: NDArray[np.int64]
    centres: Centres

    @property
    def size(self) -> int:
        """Documents."""
        return len(self.doc_ids)

    def holders(self, term: np.uint64) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The places whose documents hold the term, ascending, and how often each does."""
        start = int(self.terms.searchsorted(term))
        end = int(self.terms.searchsorted(term, side="right"))
        return self.places[start:end], self.counts[start:end]

    def kept(self, mask: NDArray[np.bool_]) -> Block:
        """The documents where the mask is true."""
        places = np.flatnonzero(mask).tolist()
        moved, stays = (np.cumsum(mask) - 1).astype(np.int32), mask[self.places]
        return Block(
            tuple(self.doc_ids[place] for place in places),
            Infos([self.infos.rows[place] for place in places]),
            self.scopes,
            self.scope_of[mask],
            self.lengths[mask],
            self.terms[stays],
            moved[self.places[stays]],
            self.counts[stays],
            self.centres[mask],
        )


def digest_of(term: str) -> np.uint64:
    """What stands for a term: 64 bits, the same in every process."""
    return np.uint64(_digest(term))


@lru_cache(maxsize=65_536)
def _digest(term: str) -> int:
    return int.from_bytes(hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def make_block(rows: Sequence[Catalogued], analyze: Callable[[str], Sequence[str]], centres: Centres) -> Block:
    """These documents, with their centres as `directions` made them."""
    infos = [row.info for row in rows]
    scopes: dict[Labels, int] = {}
    scope_of = np.array([scopes.setdefault(info.scope, len(scopes)) for info in infos], np.int32)
    texts = [_terms(info, analyze) for info in infos]
    return Block(
        tuple(info.doc_id for info in infos),
        Infos(infos),
        tuple(scopes),
        scope_of,
        np.array([len(text) for text in texts], np.float32),
        *_postings(texts),
        centres,
    )


def _terms(info: DocumentInfo, analyze: Callable[[str], Sequence[str]]) -> Sequence[str]:
    # The title twice: a heading of many says less of what the whole document is about.
    return analyze("\n".join([*[info.title] * _TITLE_TIMES, *info.headings, info.source, info.category or ""]))


def _postings(
    texts: Sequence[Sequence[str]],
) -> tuple[NDArray[np.uint64], NDArray[np.int32], NDArray[np.int64]]:
    numbers: dict[str, int] = {}
    held = np.array([numbers.setdefault(term, len(numbers)) for text in texts for term in text], np.int64)
    owners = np.repeat(np.arange(len(texts), dtype=np.int64), [len(text) for text in texts])
    pairs, times = np.unique(held << 32 | owners, return_counts=True)
    digests = np.array([_digest(term) for term in numbers], np.uint64)
    return _in_order(digests[pairs >> 32], (pairs & 0xFFFFFFFF).astype(np.int32), np.minimum(times, _MOST_COUNTED))


def _in_order(
    terms: NDArray[np.uint64], places: NDArray[np.int32], counts: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.int32], NDArray[np.int64]]:
    """By term; the order within a term stays."""
    order = np.argsort(terms, kind="stable")
    return terms[order], places[order], counts[order]


def directions(rows: Sequence[Catalogued], dimensions: int, room: int) -> Centres:
    """Float16 [rows, dimensions]: each centre as a unit vector; zeros from `room` on, and where there is none."""
    units = np.zeros((len(rows), dimensions), np.float16)
    fit = [place for place, row in enumerate(rows[: max(room, 0)]) if _has_direction(row.centre, dimensions)]
    if fit:
        vectors = np.stack([centre for place in fit if (centre := rows[place].centre) is not None])
        vectors /= np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, np.newaxis]
        units[fit] = vectors
    return units


def _has_direction(centre: NDArray[np.float32] | None, dimensions: int) -> bool:
    if centre is None or centre.shape != (dimensions,):
        return False
    square = float(np.einsum("i,i", centre, centre))
    return math.isfinite(square) and square > 0


def join(first: Block, second: Block) -> Block:
    """The documents of both, in order."""
    scopes = dict.fromkeys((*first.scopes, *second.scopes))
    number = {labels: at for at, labels in enumerate(scopes)}
    return Block(
        first.doc_ids + second.doc_ids,
        Infos(first.infos.rows + second.infos.rows),
        tuple(scopes),
        np.concatenate([_renumbered(block, number) for block in (first, second)]),
        np.concatenate([first.lengths, second.lengths]),
        *_in_order(
            np.concatenate([first.terms, second.terms]),
            np.concatenate([first.places, second.places + np.int32(first.size)]),
            np.concatenate([first.counts, second.counts]),
        ),
        np.concatenate(list(_as_wide(first.centres, second.centres))),
    )


def _renumbered(block: Block, number: dict[Labels, int]) -> NDArray[np.int32]:
    return np.array([number[labels] for labels in block.scopes], np.int32)[block.scope_of]


def _as_wide(*centres: Centres) -> Iterator[Centres]:
    """Blocks made before the first direction was known have none; they get zeros."""
    width = max(part.shape[1] for part in centres)
    for part in centres:
        yield part if part.shape[1] == width else np.zeros((len(part), width), np.float16)
