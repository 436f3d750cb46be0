"""The synthetic chunks of bench/engine.py, and the plain pair of libraries that it is compared with."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from citewell.identity import format_key
from citewell.model import Chunk, DocumentChange, DocumentRecord, Locator

Vectors = NDArray[np.float32]
CHUNKS_EACH = 3
TERMS_EACH = 120
VOCABULARY = 60_000
COMMON = 100
QUERIES = 40
WIDTH = 50
LABELS = {"1%": "p1", "10%": "p10", "15%": "p15", "30%": "p30", "50%": "p50"}
TEXT = "The passage that is shown and cited, of about the size that a passage has. " * 10


class Corpus:
    """The synthetic chunks; the same for the same size and seed."""

    def __init__(self, chunks: int, dims: int) -> None:
        self.size = chunks
        self.dims = dims
        chance = np.random.default_rng(2026)
        centres = _units(chance.standard_normal((max(chunks // 50, 1), dims)))
        owner = chance.integers(0, len(centres), chunks)
        noise = chance.standard_normal((chunks, dims)).astype(np.float32) / np.float32(dims**0.5)
        self.vectors = _units(centres[owner] + noise)
        self.queries = _units(
            centres[chance.integers(0, len(centres), QUERIES)]
            + chance.standard_normal((QUERIES, dims)).astype(np.float32) / np.float32(dims**0.5)
        )
        weights = 1 / (np.arange(VOCABULARY) + 2.7) ** 1.05
        self.terms = chance.choice(VOCABULARY, size=(chunks, TERMS_EACH), p=weights / weights.sum()).astype(np.int32)
        topical = chance.random(self.terms.shape) < 0.5
        self.terms[topical] = (self.terms + (owner[:, None] % 200) * 7919)[topical] % VOCABULARY
        self._chance = chance

    @cached_property
    def words(self) -> list[str]:
        """Every term, by number."""
        return [f"t{number}" for number in range(VOCABULARY)]

    def changes(self) -> Iterator[DocumentChange]:
        """The chunks as documents of three, with labels that 1, 10, ... percent of the documents bear."""
        for number, start in enumerate(range(0, self.size, CHUNKS_EACH)):
            rows = range(start, min(start + CHUNKS_EACH, self.size))
            yield change(
                f"doc-{number}.md",
                [self.chunk(at, row) for at, row in enumerate(rows)],
                self.vectors[rows],
                bears(number),
            )

    def chunk(self, index: int, row: int) -> Chunk:
        """One chunk."""
        terms = tuple(self.words[term] for term in self.terms[row])
        text = f"{row} {TEXT}"
        digest = hashlib.sha256(text.encode()).hexdigest()  # the store refuses a text that is not the one it names
        return Chunk(index, text, "Head > Sub", (0, 9), Locator(), digest, digest, terms)

    @cached_property
    def term_queries(self) -> dict[int, list[list[str]]]:
        """Queries of 2, 6 and 15 distinct terms out of a random chunk, common ones among them."""
        queries: dict[int, list[list[str]]] = {2: [], 6: [], 15: []}
        for row in self._chance.integers(0, self.size, QUERIES):
            held = [self.words[term] for term in dict.fromkeys(self._chance.permutation(self.terms[row]).tolist())]
            for count, found in queries.items():
                found.append(held[:count])
        return queries

    @cached_property
    def common_terms(self) -> list[list[str]]:
        """The hardest queries: six of the commonest terms."""
        common = np.argsort(-np.bincount(self.terms.ravel(), minlength=VOCABULARY))[:COMMON]
        return [[self.words[term] for term in self._chance.permutation(common)[:6]] for _ in range(QUERIES)]

    def key(self, row: int) -> str:
        """The evidence key of a chunk."""
        return format_key(f"doc-{row // CHUNKS_EACH}.md", row % CHUNKS_EACH)

    def mask(self, share: str) -> NDArray[np.bool_]:
        """Which chunks bear a label."""
        documents = np.arange(self.size) // CHUNKS_EACH
        return np.array([LABELS[share] in bears(number) for number in range(documents[-1] + 1)])[documents]


def _units(rows: NDArray[np.floating]) -> Vectors:
    units: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return units


def bears(number: int) -> tuple[str, ...]:
    """The labels of a document: scattered over the corpus, not in one run."""
    place = number * 7919 % 100
    return tuple(label for label in LABELS.values() if place < int(label[1:]))


def change(
    doc_id: str, chunks: Sequence[Chunk], vectors: Vectors, scope: Sequence[str], version: int = 0
) -> DocumentChange:
    """A document; its category is one of ten."""
    category = f"c{int(''.join(filter(str.isdigit, doc_id)) or 0) * 31 % 10}"
    record = DocumentRecord(
        doc_id, "Title", doc_id, category, tuple(sorted(scope)) or None, {"page": 1}, (), doc_id, doc_id
    )
    return DocumentChange(record, tuple(chunks), tuple(vectors), version)


class Pair:
    """The plain alternative: a tantivy index over the same terms and labels, and a flat scan over the vectors."""

    def __init__(self, corpus: Corpus, folder: Path) -> None:
        import tantivy  # noqa: PLC0415 - only this bench needs it

        self.tantivy, self.corpus = tantivy, corpus
        builder = tantivy.SchemaBuilder()
        builder.add_unsigned_field("row", indexed=True, fast=True)
        builder.add_text_field("terms", tokenizer_name="whitespace", index_option="freq")
        self.schema = builder.build()
        folder.mkdir(exist_ok=True)
        self.index = tantivy.Index(self.schema, path=str(folder))
        start = time.perf_counter()
        writer = self.index.writer(128_000_000, 1)
        for row in range(corpus.size):
            document = tantivy.Document()
            document.add_unsigned("row", row)
            document.add_text("terms", " ".join(corpus.words[term] for term in corpus.terms[row]))
            writer.add_document(document)
        writer.commit()
        writer.wait_merging_threads()
        self.chunks_per_s = corpus.size / (time.perf_counter() - start)
        self.index.reload()

    def lexical(self, terms: Sequence[str]) -> object:
        """The best rows by BM25."""
        should = self.tantivy.Occur.Should
        query = self.tantivy.Query.boolean_query(
            [(should, self.tantivy.Query.term_query(self.schema, "terms", term, "freq")) for term in terms]
        )
        searcher = self.index.searcher()
        hits = searcher.search(query, WIDTH, count=False).hits
        return searcher.fast_field_values("row", [address for _, address in hits])

    def hybrid(self, pool: ThreadPoolExecutor, vector: Vectors, terms: Sequence[str], mask: NDArray[np.bool_]) -> None:
        """Three paths at once, nothing fetched."""
        paths: list[Future[object]] = [
            pool.submit(self.lexical, terms),
            pool.submit(flat, self.corpus.vectors, vector),
            pool.submit(flat, self.corpus.vectors, vector, mask),
        ]
        for path in paths:
            path.result()


def flat(vectors: Vectors, vector: Vectors, mask: NDArray[np.bool_] | None = None, k: int = WIDTH) -> NDArray[np.intp]:
    """The k nearest by scanning all, or all that the mask keeps."""
    kept = np.flatnonzero(mask) if mask is not None else None
    scores = (vectors if kept is None else vectors[kept]) @ vector
    best = np.argpartition(-scores, k)[:k]
    ordered = best[np.argsort(-scores[best])]
    return ordered if kept is None else kept[ordered]
