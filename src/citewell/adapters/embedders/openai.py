"""Any OpenAI-compatible `/v1/embeddings` endpoint as an Embedder: OpenAI, vLLM, TEI, Ollama, llama.cpp, a proxy.

Knows batches, prefixes and dimensions; `adapters.http` the network, `answers` the answer's form. What the endpoint
computes is its own affair: if its vectors depend on the batch, set `batch_size=1`.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import httpx2
import numpy as np

from citewell.adapters.embedders.answers import read_answer
from citewell.adapters.embedders.texts import clean
from citewell.adapters.embedders.vectors import unit_rows
from citewell.adapters.http import Endpoint, Patience, Refused, Voice
from citewell.errors import ConfigError, EmbedderError, EmbedderUnavailable

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BATCH_CHARACTERS = 100_000
_ANSWER_BYTES = 1 << 20
_VECTOR_BYTES = 1 << 19  # 16,384 dimensions written with 30 digits each
_PROBE = "dimensions"
_MARKS = 8  # tokens that a model puts around a text
_VOICE = Voice(
    what="embedding endpoint",
    closed="the embedder is closed",
    section="embedder",
    speaks="an OpenAI-compatible endpoint",
    refused="Check embedder.name and embedder.dimensions, and that texts are within the model's limit.",
    error=EmbedderError,
    unavailable=EmbedderUnavailable,
)


class OpenAIEmbedder:
    """An embedding model behind HTTP. Safe to call from several threads; close it, or use it as a context manager."""

    def __init__(
        self,
        url: str,
        model: str,
        *,
        api_key: str | None = None,
        dimensions: int | None = None,
        expected_dimensions: int | None = None,
        query_prefix: str = "",
        passage_prefix: str = "",
        batch_size: int = 64,
        timeout_s: float = 30.0,
        patience_s: float = 120.0,
        query_patience_s: float = 5.0,
        rest_s: float = 15.0,
        retries: int = 4,
        max_tokens: int = 8_192,
        name: str | None = None,
        proxy: str | None = None,
        trust_env: bool = False,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Nothing is sent before the first text, or the first question for `dimensions`.

        Args:
            url: where the endpoint is; `endpoint_url` says how it is completed.
            model: its name there.
            api_key: sent as a bearer token.
            dimensions: asked of the endpoint, and checked; None = the model's own, learnt from its first answer. Not
                every model lets itself be asked.
            expected_dimensions: what a store that it filled says of it; checked, but not asked for. It saves asking the
                endpoint who it is.
            query_prefix: put before every query, such as "query: ".
            passage_prefix: put before every passage.
            batch_size: texts per request, at most; a request holds at most 100,000 characters unless one text has more.
            timeout_s: for one request.
            patience_s: for one batch of passages, retries and waits included.
            query_patience_s: the same for a query, for which somebody waits.
            rest_s: for how long queries fail at once after one that found nobody there; a lookup can't wait each time.
            retries: after a time-out, a broken connection, 429 or 5xx; other refusals are final.
            max_tokens: the longest text that the model takes, in its own tokens. A longer one that the endpoint
                refuses is embedded by its first `max_tokens` bytes, which are hardly ever more tokens than that.
            name: what a store remembers it by; None = the model's name.
            proxy: such as http://host:port.
            trust_env: whether proxies and certificates named by the environment are used too (HTTPS_PROXY and the
                like). Off, because whoever runs a proxy reads every passage: name it.
            clock: seconds that only grow.
            sleep: waits so many seconds.

        Raises:
            ConfigError: one of these can't be used.
        """
        _check(
            model=model,
            dimensions=dimensions,
            batch_size=batch_size,
            timeout_s=timeout_s,
            patience_s=patience_s,
            query_patience_s=query_patience_s,
            rest_s=rest_s,
            max_tokens=max_tokens,
            attempts=retries + 1,
        )
        self.name = name or model
        self.max_tokens = max_tokens
        self.prefixes = (query_prefix, passage_prefix)
        self._model = model
        self._batch_size = batch_size
        self._asked_dimensions = dimensions
        self._dimensions = dimensions if dimensions is not None else expected_dimensions
        self._clock, self._rest_s = clock, rest_s
        self._resting: tuple[float, EmbedderUnavailable] | None = None
        self._lock = threading.Lock()
        self._patience = Patience(timeout_s, patience_s, retries)
        self._query_patience = Patience(timeout_s, query_patience_s, retries)
        self._endpoint = Endpoint(
            endpoint_url(url), _VOICE, api_key=api_key, proxy=proxy, trust_env=trust_env, clock=clock, sleep=sleep
        )

    def __repr__(self) -> str:
        return f"OpenAIEmbedder({str(self._endpoint)!r}, {self._model!r})"

    @property
    def dimensions(self) -> int:
        """Of its vectors; asks the endpoint once if nobody said so, and then raises as `embed_query`."""
        known = self._dimensions
        return known if known is not None else self._embed([_PROBE], self._query_patience).shape[1]

    @property
    def fingerprint(self) -> str:
        """The model's name and its dimensions: all that an endpoint lets one know."""
        return f"{self._model}/{self.dimensions}"

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Float32 [len(texts), dimensions], rows of unit length, in the order of the texts.

        Raises:
            EmbedderUnavailable: nobody there, too slow, out of order, over the rate or not allowed; after the retries.
            EmbedderError: it refuses a text, or answers with what are no such vectors.
        """
        prefixed = [_filled(clean(self.prefixes[1] + text)) for text in texts]
        rows = [self._embed(batch, self._patience) for batch in _batches(prefixed, self._batch_size)]
        return np.concatenate(rows) if rows else np.empty((0, self.dimensions), np.float32)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Float32 [dimensions] of unit length; raises as `embed_passages`."""
        resting = self._resting
        if resting is not None and self._clock() < resting[0]:
            raise EmbedderUnavailable(f"{resting[1].message} (a moment ago)", way_out=resting[1].way_out)
        try:
            asked = [_filled(clean(self.prefixes[0] + text))]
            vector: NDArray[np.float32] = self._embed(asked, self._query_patience)[0]
        except EmbedderUnavailable as error:
            self._resting = (self._clock() + self._rest_s, error)
            raise
        self._resting = None
        return vector

    def close(self) -> None:
        """Close every connection. Idempotent; the embedder can't be used afterwards."""
        self._endpoint.close()

    def __enter__(self) -> OpenAIEmbedder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _embed(self, batch: Sequence[str], patience: Patience) -> NDArray[np.float32]:
        """One request; if that is refused, smaller ones: endpoints differ in how much they take at once."""
        payload: dict[str, object] = {"model": self._model, "input": list(batch), "encoding_format": "float"}
        if self._asked_dimensions is not None:
            payload["dimensions"] = self._asked_dimensions
        answer = self._endpoint.post(payload, patience, limit=_ANSWER_BYTES + _VECTOR_BYTES * len(batch))
        if isinstance(answer, Refused):
            smaller = _smaller(batch, self.max_tokens)
            if not smaller:
                raise answer.error
            return np.concatenate([self._embed(part, patience) for part in smaller])
        origin = f"the embedding endpoint {self._endpoint}"
        rows = read_answer(answer, len(batch), origin)
        self._agree(rows.shape[1], origin)
        return unit_rows(rows, origin)

    def _agree(self, dimensions: int, origin: str) -> None:
        with self._lock:
            if self._dimensions is None:
                self._dimensions = dimensions
            if self._dimensions != dimensions:
                raise EmbedderError(
                    f"{origin} gave vectors of {dimensions} dimensions instead of {self._dimensions}",
                    way_out="Set embedder.dimensions to what the model gives, or leave it unset.",
                )


def endpoint_url(url: str) -> httpx2.URL:
    """The address that is asked: `url` up to and including `/embeddings`.

    One that ends in `/embeddings` is taken as it is; one without a path gets `/v1/embeddings`; any other is a base, as
    clients of these endpoints call it, and gets `/embeddings`. A query stays.

        http://host:8080                   -> http://host:8080/v1/embeddings
        http://host/v1                     -> http://host/v1/embeddings
        http://host/v1/embeddings          -> http://host/v1/embeddings

    Raises:
        ConfigError: it is no HTTP address.
    """
    try:
        parsed = httpx2.URL(url.strip())
    except httpx2.InvalidURL as error:
        raise _no_address(url, str(error)) from None
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise _no_address(url, "it must begin with http:// or https:// and name a host")
    path = parsed.path.rstrip("/")
    if not path.endswith("/embeddings"):
        path = (path or "/v1") + "/embeddings"
    return parsed.copy_with(path=path, fragment=None)


def _no_address(url: str, why: str) -> ConfigError:
    shown = re.sub(r"//[^/]*@", "//", url)  # a message must not carry a password
    return ConfigError(
        f"embedder.url is {shown!r}, which is no address: {why}", way_out="Name it like http://127.0.0.1:8080/v1."
    )


def _check(*, model: str, dimensions: int | None, **positive: float) -> None:
    if not model.strip():
        raise ConfigError("the embedding endpoint needs the name of a model", way_out="Set embedder.name.")
    if dimensions is not None and dimensions < 1:
        raise ConfigError(
            f"an embedder can't have {dimensions} dimensions", way_out="Use 1 or more, or leave it unset."
        )
    for name, value in positive.items():
        if not value > 0:
            raise ConfigError(f"{name} can't be {value}", way_out="It must be more than 0.")


def _filled(text: str) -> str:
    """The text, or one space: endpoints refuse an empty string, and with it the whole batch."""
    return text or " "


def _batches(texts: Sequence[str], size: int) -> Iterator[list[str]]:
    """Runs of at most `size` texts and 100,000 characters, in order; a longer text is a run of its own."""
    batch: list[str] = []
    characters = 0
    for text in texts:
        if batch and (len(batch) == size or characters + len(text) > _BATCH_CHARACTERS):
            yield batch
            batch, characters = [], 0
        batch.append(text)
        characters += len(text)
    if batch:
        yield batch


def _smaller(batch: Sequence[str], max_tokens: int) -> list[list[str]]:
    """What to ask instead of a refused batch: its halves, or one long text's beginning; nothing if it is short."""
    if len(batch) > 1:
        half = len(batch) // 2
        return [list(batch[:half]), list(batch[half:])]
    whole = batch[0].encode()
    most = max(1, max_tokens - _MARKS)
    return [[_filled(whole[:most].decode("utf-8", "ignore"))]] if len(whole) > most else []
