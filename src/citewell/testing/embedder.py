"""The contract that every embedder keeps: subclass, override one fixture, run pytest (PORT-6).

    from citewell.testing import EmbedderContract

    class TestMyEmbedder(EmbedderContract):
        @pytest.fixture(scope="class")
        def embedder(self):
            return MyEmbedder()

It asks for shapes, lengths and repeatability; that near texts get near vectors is a matter of measuring, not of tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pytest

from citewell.ports import Embedder, embedder_identity
from citewell.testing.requirement import requirement

if TYPE_CHECKING:
    from numpy.typing import NDArray

PATIENCE_S = 300.0

TEXTS = (
    "Rotate the signing key on a quiet day.",
    "数据库连接池耗尽时先扩容再重启网关。",
    "Redis连接超时 and ordinary words in one line",
    "KB-4471 max_conn fetchTableRow CVE-2031-0042",
    "short",
    "A longer passage with several sentences. It speaks of nothing in particular. It only has to be long.",
)

ODD_TEXTS = (
    "", " ", "\n\t", "?!", "\u200b", "\ufeff", "😀👩‍👩‍👧🏳️‍🌈", "e\u0301\u0301\u0301", "\u202eabc\u202c", "\U0010ffff",
    "\ufffd", "\x01\x1b[0m\x7f", "ｆｕｌｌ　ｗｉｄｔｈ", "العربية", "ไทยไม่มีช่องว่าง",
    "<|endoftext|>[CLS][SEP]<s></s>", "a" * 5_000,
)  # fmt: skip

LONG_TEXTS = ("word " * 20_000, "x" * 100_000, "文" * 100_000)


class EmbedderContract:
    """Every sentence of `citewell.ports.Embedder`, as tests. Override the fixture `embedder`."""

    unit_tolerance: ClassVar[float] = 1e-4
    """How far the length of a vector may be from 1."""

    @pytest.fixture
    def embedder(self) -> Iterator[Embedder]:
        """The embedder; a fixture of scope `class` spares loading a model for each test."""
        raise NotImplementedError("override the fixture `embedder` and return an embedder")

    @requirement("PORT-6")
    def test_it_is_an_embedder(self, embedder: Embedder) -> None:
        assert isinstance(embedder, Embedder)

    @requirement("INGEST-8")
    def test_it_says_who_it_is_and_says_the_same_again(self, embedder: Embedder) -> None:
        identity = embedder_identity(embedder)
        assert identity.name.strip()
        assert identity.fingerprint.strip()
        assert identity.dimensions >= 1
        assert embedder.max_tokens >= 1
        assert len(identity.prefixes) == 2
        embedder.embed_query("anything")
        assert embedder_identity(embedder) == identity

    @requirement("PORT-6", "SCORE-2")
    @pytest.mark.parametrize("count", [1, 2, len(TEXTS)])
    def test_passages_become_float32_rows_of_unit_length(self, embedder: Embedder, count: int) -> None:
        vectors = embedder.embed_passages(list(TEXTS[:count]))
        assert vectors.shape == (count, embedder.dimensions)
        self._assert_unit(vectors)

    @requirement("PORT-6", "SCORE-2")
    def test_a_query_becomes_one_float32_vector_of_unit_length(self, embedder: Embedder) -> None:
        for text in TEXTS:
            vector = embedder.embed_query(text)
            assert vector.shape == (embedder.dimensions,)
            self._assert_unit(vector[np.newaxis])

    @requirement("INGEST-5", "PORT-6")
    def test_a_passage_gets_the_same_bytes_alone_and_in_any_batch(self, embedder: Embedder) -> None:
        """So the vectors of a store don't depend on how its documents came, and reused ones equal new ones."""
        alone = [bytes_of(embedder.embed_passages([text])) for text in TEXTS]
        together = embedder.embed_passages(list(TEXTS))
        backwards = embedder.embed_passages(list(reversed(TEXTS)))[::-1]
        padded = embedder.embed_passages([LONG_TEXTS[0][:3000], *TEXTS])[1:]
        for batch in (together, backwards, padded):
            assert [bytes_of(row) for row in batch] == alone

    @requirement("PORT-6")
    def test_the_same_text_twice_in_a_batch_gets_the_same_bytes(self, embedder: Embedder) -> None:
        first, _, second = embedder.embed_passages([TEXTS[0], TEXTS[1], TEXTS[0]])
        assert bytes_of(first) == bytes_of(second)

    @requirement("PORT-6")
    def test_rows_keep_the_order_of_the_texts(self, embedder: Embedder) -> None:
        """Whatever the order of lengths: an embedder that sorts its batch must sort it back."""
        texts = sorted(TEXTS, key=len, reverse=True)
        texts = texts[::2] + texts[1::2]
        batch = embedder.embed_passages(texts)
        assert [bytes_of(row) for row in batch] == [bytes_of(embedder.embed_passages([text])) for text in texts]
        assert len({bytes_of(row) for row in batch}) == len(texts)

    @requirement("PORT-6")
    def test_a_query_gets_the_same_bytes_again(self, embedder: Embedder) -> None:
        first = bytes_of(embedder.embed_query(TEXTS[0]))
        embedder.embed_passages([TEXTS[1]])
        embedder.embed_query(TEXTS[2])
        assert bytes_of(embedder.embed_query(TEXTS[0])) == first

    @requirement("PORT-6")
    def test_embedding_does_not_change_the_texts_it_was_given(self, embedder: Embedder) -> None:
        texts = list(TEXTS)
        embedder.embed_passages(texts)
        assert texts == list(TEXTS)

    @requirement("PORT-6")
    def test_what_the_caller_does_with_a_vector_changes_no_later_one(self, embedder: Embedder) -> None:
        first = embedder.embed_query(TEXTS[0])
        kept = bytes_of(first)
        if first.flags.writeable:
            first[:] = 0
        assert bytes_of(embedder.embed_query(TEXTS[0])) == kept

    @requirement("PORT-6", "SAFE-4")
    @pytest.mark.parametrize("text", ODD_TEXTS, ids=lambda text: ascii(text[:12]))
    def test_odd_texts_are_embedded_like_any_other(self, embedder: Embedder, text: str) -> None:
        self._assert_unit(embedder.embed_passages([text, TEXTS[0]]))
        self._assert_unit(embedder.embed_query(text)[np.newaxis])

    @requirement("INGEST-4", "PORT-6")
    @pytest.mark.parametrize("text", LONG_TEXTS, ids=["words", "one word", "no spaces"])
    def test_a_text_far_beyond_the_limit_is_embedded_too(self, embedder: Embedder, text: str) -> None:
        """I108: what happens to the rest is the embedder's business; failing for ever is not."""
        assert len(text) >= 100_000
        self._assert_unit(embedder.embed_passages([text]))
        self._assert_unit(embedder.embed_query(text)[np.newaxis])

    @requirement("PORT-6")
    def test_four_threads_get_what_one_gets(self, embedder: Embedder) -> None:
        def embed_all(start: int) -> list[bytes]:
            turned = TEXTS[start:] + TEXTS[:start]
            passages = [bytes_of(row) for row in embedder.embed_passages(list(turned))]
            queries = [bytes_of(embedder.embed_query(text)) for text in turned]
            back = -start % len(TEXTS)
            return passages[back:] + passages[:back] + queries[back:] + queries[:back]

        expected = embed_all(0)
        with ThreadPoolExecutor(4) as pool:
            futures = [pool.submit(embed_all, start) for start in (0, 1, 2, 3) for _ in range(2)]
            assert all(future.result(PATIENCE_S) == expected for future in futures)

    @requirement("INGEST-4")
    def test_count_tokens_grows_with_the_text_and_is_never_zero_for_words(self, embedder: Embedder) -> None:
        count_tokens = getattr(embedder, "count_tokens", None)
        if count_tokens is None:
            pytest.skip("the embedder counts no tokens")
        for text in TEXTS:
            counts = [count_tokens(text * times) for times in (1, 2, 8, 64)]
            assert counts[0] >= 1
            assert counts == sorted(counts)
            assert counts[-1] > counts[0]
            assert count_tokens(text) == counts[0]
        assert all(count_tokens(text) >= 0 for text in ODD_TEXTS)

    def _assert_unit(self, vectors: NDArray[np.float32]) -> None:
        assert vectors.dtype == np.float32
        assert np.isfinite(vectors).all()
        lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
        assert np.abs(lengths - 1).max() <= self.unit_tolerance


def bytes_of(vector: NDArray[np.float32]) -> bytes:
    """A vector as its bytes, for comparison to the last bit."""
    return np.ascontiguousarray(vector).tobytes()
