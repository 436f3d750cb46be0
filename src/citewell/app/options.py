"""The arguments of `Knowledge.lookup` after the query, as a type, for whoever hands them on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict

from citewell.model import Mode, Scalar

Labels = str | Sequence[str] | None


class LookupOptions(TypedDict, total=False):
    """The arguments of `Knowledge.lookup` after the query."""

    category: str | None
    scope: Labels
    where: Mapping[str, Scalar] | None
    mode: Mode | None
    retrieve_k: int | None
    return_n: int | None
    min_similarity: float | Literal["off"] | None
    max_chunks_per_document: int | None
    session: str | None
    neighbours: int
    repeat: bool
