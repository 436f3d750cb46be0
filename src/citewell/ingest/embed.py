"""Subjects and passages -> one checked vector per chunk; the door between ingestion and any embedder.

A chunk's vector is the direction of `embed(passage) + 0.5 * embed(subject)`: the document's title says what a passage
is about, and put before the text it drowns in a long one. Measured in `citewell.ingest.split.context`.
Knows no document and no store.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from citewell.errors import CitewellError, EmbedderError
from citewell.ingest.fingerprint import digest
from citewell.ports import Embedder

SUBJECT_WEIGHT = 0.5
_REMEMBERED = 4_096
_UNIT_TOLERANCE = 1e-3

Input = tuple[str, str]
"""The subject, which may be empty, and the passage."""


def embedding_digest(subject: str, text: str) -> str:
    """SHA-256 hex of what a chunk's vector is made from; equal digests mean equal vectors."""
    return digest(f"{SUBJECT_WEIGHT}\x1f{subject}\x1f{text}")


class ChunkEmbedder:
    """An embedder with the subject vectors that it made lately; used by one thread at a time."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._subjects: OrderedDict[str, NDArray[np.float32]] = OrderedDict()

    def embed(self, inputs: Sequence[Input]) -> list[NDArray[np.float32]]:
        """One float32 vector [dimensions] of unit length per input, in their order; at most one call of the embedder.

        Raises:
            EmbedderUnavailable: the model or its endpoint can't be had.
            EmbedderError: it failed on these texts, or gave no usable vectors.
        """
        if not inputs:
            return []
        subjects = dict.fromkeys(subject for subject, _ in inputs if subject)
        missing = [subject for subject in subjects if subject not in self._subjects]
        vectors = self._call([*missing, *(text for _, text in inputs)])
        known = {subject: self._subjects[subject] for subject in subjects if subject in self._subjects}
        # Copies, for what is remembered must not keep all the vectors of a call in memory.
        known |= {subject: vector.copy() for subject, vector in zip(missing, vectors, strict=False)}
        self._remember(known)
        return list(_together(vectors[len(missing) :], [known.get(subject) for subject, _ in inputs]))

    def _remember(self, subjects: dict[str, NDArray[np.float32]]) -> None:
        for subject, vector in subjects.items():
            self._subjects[subject] = vector
            self._subjects.move_to_end(subject)
        while len(self._subjects) > _REMEMBERED:
            self._subjects.popitem(last=False)

    def _call(self, texts: Sequence[str]) -> NDArray[np.float32]:
        try:
            vectors = self._embedder.embed_passages(texts)
        except CitewellError:
            raise
        except Exception as error:  # the one translating edge: a caller's own embedder may raise anything
            raise EmbedderError(
                f"the embedder {self._embedder.name!r} failed: {type(error).__name__}: {error}"
            ) from error
        return _checked(vectors, len(texts), self._embedder)


def _checked(vectors: object, count: int, embedder: Embedder) -> NDArray[np.float32]:
    array = np.asarray(vectors)
    if array.shape != (count, embedder.dimensions) or array.dtype.kind not in "fiu":
        raise EmbedderError(
            f"the embedder {embedder.name!r} gave an array of shape {array.shape} and type {array.dtype}, not"
            f" {count} vectors of {embedder.dimensions} dimensions",
        )
    lengths = np.linalg.norm(array.astype(np.float64), axis=1, keepdims=True)
    if not np.isfinite(array).all() or not lengths.all():
        raise EmbedderError(f"the embedder {embedder.name!r} gave a vector that is zero, NaN or infinite")
    close = abs(lengths - 1) <= _UNIT_TOLERANCE
    return (array if close.all() else np.where(close, array, array / lengths)).astype(np.float32, order="C")


def _together(passages: NDArray[np.float32], subjects: Sequence[NDArray[np.float32] | None]) -> NDArray[np.float32]:
    """Each passage with its subject, at once for all: one by one it takes more than twice as long."""
    under = [place for place, subject in enumerate(subjects) if subject is not None]
    if under:
        above = np.stack([subject for subject in subjects if subject is not None])
        total = passages[under].astype(np.float64) + SUBJECT_WEIGHT * above.astype(np.float64)
        # The weight is below 1, so that the sum of two unit vectors is never zero.
        passages[under] = total / np.sqrt(np.square(total).sum(axis=1, keepdims=True))
    return passages
