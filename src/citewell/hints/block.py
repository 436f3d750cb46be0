"""Some documents of the catalogue as arrays: their terms and where these stand, and their directions.

A block never changes. It is what an index takes in and what a store keeps. A place is an index into a block's arrays.
It knows no ranking, no store and no form outside memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from citewell.hints.coded import Coded, coded
from citewell.hints.metadata import written
from citewell.hints.postings import Postings, postings_of
from citewell.model import DocumentInfo
from citewell.model.catalogue import Catalogued

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Centres = NDArray[np.float16]

SPOTS = ("title", "headings", "category", "source")
"""Where a term may stand; of several the first one counts."""

_TIMES = (2, 1, 1, 1)
"""How much it counts there: a heading of many says less of what the whole document is about than the title."""


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """A run of documents; equal to itself alone.

    Attributes:
        doc_ids: of each.
        titles: of each.
        scopes: the labels that each bears.
        categories: of each.
        metadata: of each, as `citewell.hints.metadata` writes it.
        lengths: float32 [documents], terms in each, counting repeats and how much they count.
        postings: of their terms.
        centres: float16 [documents, dimensions], of unit length; zeros for a document without a direction.
    """

    doc_ids: tuple[str, ...]
    titles: tuple[str, ...]
    scopes: Coded
    categories: Coded
    metadata: Coded
    lengths: NDArray[np.float32]
    postings: Postings
    centres: Centres

    @property
    def size(self) -> int:
        """Documents."""
        return len(self.doc_ids)


def make_block(rows: Sequence[Catalogued], analyze: Callable[[str], Sequence[str]], centres: Centres) -> Block:
    """These documents, with their centres as `directions` made them."""
    infos = [row.info for row in rows]
    texts = [[analyze(text) for text in _texts(info)] for info in infos]
    return Block(
        tuple(info.doc_id for info in infos),
        tuple(info.title for info in infos),
        coded([info.scope for info in infos]),
        coded([info.category for info in infos]),
        coded([written(info.metadata) for info in infos]),
        np.array([sum(n * len(terms) for n, terms in zip(_TIMES, text, strict=True)) for text in texts], np.float32),
        postings_of(texts, _TIMES),
        centres,
    )


def _texts(info: DocumentInfo) -> tuple[str, ...]:
    """What stands in each of the SPOTS."""
    return (info.title, "\n".join(info.headings), info.category or "", info.source)


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
