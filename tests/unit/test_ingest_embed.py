"""A chunk's vector is made of its passage and what stands above it, and checked (INGEST-4, INGEST-6)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from citewell.errors import EmbedderError, EmbedderUnavailable
from citewell.ingest.embed import ChunkEmbedder, embedding_digest
from citewell.testing.fakes import HashEmbedder, TableEmbedder


class Broken(HashEmbedder):
    """Gives whatever it was made with."""

    def __init__(self, answer: object) -> None:
        super().__init__(2)
        self.answer = answer

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer  # type: ignore[return-value]  # that is the fault


@pytest.mark.requirement("INGEST-4")
def test_the_vector_is_the_direction_of_the_passage_plus_half_the_heading() -> None:
    embedder = TableEmbedder({"Guide": [0, 1], "restart": [1, 0]})
    (vector,) = ChunkEmbedder(embedder).embed([("Guide", "restart it")])
    assert vector.dtype == np.float32
    assert vector.tolist() == pytest.approx([1 / math.sqrt(1.25), 0.5 / math.sqrt(1.25)])


@pytest.mark.requirement("INGEST-4")
def test_without_a_heading_it_is_the_embedders_own_vector_to_the_last_bit() -> None:
    embedder = HashEmbedder()
    (vector,) = ChunkEmbedder(embedder).embed([("", "restart the gateway")])
    assert vector.tobytes() == embedder.embed_query("restart the gateway").tobytes()


@pytest.mark.requirement("INGEST-5")
def test_a_heading_is_embedded_once_for_all_its_passages_and_batches() -> None:
    embedder = HashEmbedder()
    chunks = ChunkEmbedder(embedder)
    first = chunks.embed([("A", "one"), ("A", "two"), ("B", "three")])
    again = chunks.embed([("B", "three"), ("A", "one")])
    assert embedder.embedded == ["A", "B", "one", "two", "three", "three", "one"]
    assert [each.tobytes() for each in again] == [first[2].tobytes(), first[0].tobytes()]


@pytest.mark.requirement("INGEST-5")
def test_the_embedder_is_not_called_with_nothing() -> None:
    """Trial I94; the fake raises on an empty list."""
    assert ChunkEmbedder(HashEmbedder()).embed([]) == []


@pytest.mark.requirement("INGEST-6")
@pytest.mark.parametrize(
    "answer",
    [
        np.ones((2, 2), np.float32),
        np.ones((1, 3), np.float32),
        np.ones(2, np.float32),
        np.zeros((1, 2), np.float32),
        np.array([[1, math.nan]], np.float32),
        np.array([[1, math.inf]], np.float32),
        np.array([["a", "b"]]),
        None,
        ValueError("no such token"),
    ],
    ids=repr,
)
def test_vectors_that_are_none_are_an_error_that_names_the_embedder(answer: object) -> None:
    with pytest.raises(EmbedderError, match="the embedder 'hash-words'"):
        ChunkEmbedder(Broken(answer)).embed([("", "text")])


@pytest.mark.requirement("INGEST-6")
def test_an_embedder_that_is_not_there_stays_that_error() -> None:
    with pytest.raises(EmbedderUnavailable, match="down"):
        ChunkEmbedder(Broken(EmbedderUnavailable("the endpoint is down"))).embed([("", "text")])


@pytest.mark.requirement("INGEST-4")
def test_vectors_of_another_length_are_scaled() -> None:
    (vector,) = ChunkEmbedder(Broken(np.array([[3, 4]]))).embed([("", "text")])
    assert vector.tolist() == pytest.approx([0.6, 0.8])


@pytest.mark.requirement("INGEST-5")
def test_equal_digests_mean_equal_inputs() -> None:
    digests = {embedding_digest("A", "b"), embedding_digest("A\n", "b"), embedding_digest("", "A\n\nb")}
    assert len(digests) == 3
