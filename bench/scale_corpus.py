"""The synthetic chunks of bench/scale.py, made block by block, so that a million need no more memory than ten thousand.

Documents of ten chunks: half of a document's chunks lie about one centre, the others about any; a word is drawn from a
Zipf vocabulary, every second one shifted by the chunk's centre, so that what lies close shares words. The first chunks
of a large corpus are not those of a small one, for there are as many centres as the size asks for.
"""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from citewell.adapters.local import LocalStore
from citewell.analysis import ANALYZER_VERSION, analyze
from citewell.identity import format_key
from citewell.model import Chunk, DocumentChange, DocumentRecord, Locator, StoreBinding
from citewell.ports import Embedder, embedder_identity

Vectors = NDArray[np.float32]
CHUNKS_EACH = 10
WORDS_EACH = 120
VOCABULARY = 60_000
QUERIES = 100
CATEGORIES = 10
BLOCK = 1_000
"""Documents made at once."""
BATCH = 50
"""Documents per call of `apply`: 500 chunks."""
_PER_CENTRE = 50
_TOPICS = 200
_SEED = 2026
_SYLLABLES = [consonant + vowel for consonant in "bdfghjklmnprtvz" for vowel in "aiou"]


class Corpus:
    """So many chunks; the same for the same size and dimensions."""

    def __init__(self, size: int, dims: int) -> None:
        self.size, self.dims = size, dims
        self._centres = _units(_chance(0).standard_normal((max(size // _PER_CENTRE, 2), dims), np.float32))
        weights = 1 / (np.arange(VOCABULARY) + 2.7) ** 1.05
        self._shares = np.cumsum(weights / weights.sum())

    def changes(self) -> Iterator[DocumentChange]:
        """Every document, once."""
        for start, count in self._starts():
            yield from self._block(start, count)

    def blocks(self) -> Iterator[tuple[list[str], Vectors]]:
        """The evidence keys of a block of documents and their vectors; the words are drawn too, and thrown away."""
        for start, count in self._starts():
            _, vectors = self._drawn(start, count)
            keys = [format_key(_name(start + at // CHUNKS_EACH), at % CHUNKS_EACH) for at in range(len(vectors))]
            yield keys, vectors

    @cached_property
    def queries(self) -> dict[str, Vectors]:
        """Six words out of a chunk's kind, common ones among them, and a vector near that kind's centre."""
        chance = _chance(1)
        owner = chance.integers(0, len(self._centres), QUERIES)
        words = self._words(chance, owner, 40)
        texts = [" ".join(_word(each) for each in list(dict.fromkeys(row))[:6]) for row in words.tolist()]
        return dict(zip(texts, self._vectors(chance, owner), strict=True))

    def _starts(self) -> Iterator[tuple[int, int]]:
        documents = self.size // CHUNKS_EACH
        return ((start, min(BLOCK, documents - start)) for start in range(0, documents, BLOCK))

    def _drawn(self, first: int, documents: int) -> tuple[NDArray[np.int64], Vectors]:
        chance = _chance(2 + first)
        main = chance.integers(0, len(self._centres), documents).repeat(CHUNKS_EACH)
        owner = np.where(chance.random(main.size) < 0.5, main, chance.integers(0, len(self._centres), main.size))
        return self._words(chance, owner, WORDS_EACH), self._vectors(chance, owner)

    def _block(self, first: int, documents: int) -> Iterator[DocumentChange]:
        words, vectors = self._drawn(first, documents)
        for number in range(documents):
            rows = slice(number * CHUNKS_EACH, (number + 1) * CHUNKS_EACH)
            yield _document(first + number, words[rows].tolist(), vectors[rows])

    def _words(self, chance: np.random.Generator, owner: NDArray[np.int64], count: int) -> NDArray[np.int64]:
        drawn = np.searchsorted(self._shares, chance.random((owner.size, count)))
        shifted = chance.random(drawn.shape) < 0.5
        return np.where(shifted, drawn + (owner[:, None] % _TOPICS) * 7919, drawn) % VOCABULARY

    def _vectors(self, chance: np.random.Generator, owner: NDArray[np.int64]) -> Vectors:
        noise = chance.standard_normal((owner.size, self.dims), np.float32) / np.float32(self.dims**0.5)
        return _units(self._centres[owner] + noise)


class Stored:
    """An embedder that knows the vectors of a corpus's questions: what is measured has no model in it."""

    name, fingerprint, max_tokens = "bench-scale", "1", 4_096

    def __init__(self, corpus: Corpus) -> None:
        self.dimensions = corpus.dims
        self._corpus = corpus

    def embed_query(self, text: str) -> Vectors:
        """The question's vector."""
        return self._corpus.queries[text]

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Not needed here: the chunks come with theirs."""
        raise NotImplementedError


def fill(store: Path, corpus: Corpus, embedder: Embedder) -> float:
    """Fill a store with the corpus as if this embedder had made its vectors, and return the seconds of writing.

    What a run that was stopped has left is removed; a whole store is used again, which takes 0 seconds.
    """
    whole = store.with_name(f"{store.name}.whole")
    if whole.exists():
        return 0.0
    shutil.rmtree(store, ignore_errors=True)
    opened, changes, spent = LocalStore.open(store), corpus.changes(), 0.0
    opened.bind(StoreBinding(embedder_identity(embedder), ANALYZER_VERSION))
    while batch := list(islice(changes, BATCH)):
        started = time.perf_counter()
        opened.apply(batch)
        spent += time.perf_counter() - started
    started = time.perf_counter()
    opened.compact()
    opened.close()
    whole.touch()
    return spent + time.perf_counter() - started


def _document(number: int, words: Sequence[Sequence[int]], vectors: Vectors) -> DocumentChange:
    name = _name(number)
    title, *headings = (" ".join(_word(each) for each in row[:4]) for row in words[:4])
    record = DocumentRecord(
        name, title, name, f"c{number * 31 % CATEGORIES}", None, {"page": 1}, tuple(headings), name, name
    )
    chunks = tuple(_chunk(index, row) for index, row in enumerate(words))
    return DocumentChange(record, chunks, tuple(vectors), 0)


def _name(number: int) -> str:
    return f"part-{number // BLOCK}/doc-{number}.md"


def _chunk(index: int, words: Sequence[int]) -> Chunk:
    text = " ".join(_WORDS[each] for each in words)
    terms = tuple(_TERMS[each] for each in words)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return Chunk(index, text, "Head > Sub", (0, len(text)), Locator(), digest, digest, terms)


def _word(number: int) -> str:
    """A word of three syllables for each number; no two alike."""
    parts = []
    for _ in range(3):
        number, at = divmod(number, len(_SYLLABLES))
        parts.append(_SYLLABLES[at])
    return "".join(parts)


_WORDS = [_word(number) for number in range(VOCABULARY)]
_TERMS = [analyze(word)[0] for word in _WORDS]


def _chance(number: int) -> np.random.Generator:
    return np.random.default_rng([_SEED, number])


def _units(rows: Vectors) -> Vectors:
    units: Vectors = (rows / np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]).astype(np.float32)
    return units
